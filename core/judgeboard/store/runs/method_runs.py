"""Where `start_or_continue_method_run` stood; it is in `judgeboard.store.runs.runs` now."""

from judgeboard.store.runs.runs import start_or_continue_method_run

__all__ = ["start_or_continue_method_run"]

"""The command line. ``app.GROUPS`` names the file of each command."""

import gc
import sys

# New objects between two searches for garbage. Python's default costs a short command 40 % more processor time.
_LOADING, _RUNNING = 500_000, 50_000


def main() -> None:
    """Run ``judgeboard`` and exit. An error is one line on stderr; only ``--debug`` shows a traceback."""
    gc.set_threshold(_LOADING)  # modules are no garbage
    from judgeboard.cli.app import run

    sys.exit(run(sys.argv[1:]))


def end_loading() -> None:
    """Search for garbage more often, but never among the modules that are loaded by now.

    Changes nothing in a program that calls a command itself: its objects may become garbage.
    """
    if gc.get_threshold()[0] == _LOADING:
        gc.freeze()
        gc.set_threshold(_RUNNING)

"""The progress bar of a judging run: done, rate, failures, cost, time left."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from judgeboard.cli.amounts import cost_text
from judgeboard.cli.terminal import progress_bar
from judgeboard.runner import Tally


@contextmanager
def judging_progress() -> Iterator[Callable[[Tally, int], None] | None]:
    """Give a callback ``(tally, selected)``, or None where nobody watches."""
    with progress_bar("{task.fields[more]}") as bar:
        if bar is None:
            yield None
            return
        task = bar.add_task("judging", total=None, more="")

        def show(tally: Tally, selected: int) -> None:
            more = f"{tally.rate:.1f}/s  {tally.asked - tally.ok} failed  {cost_text(tally.cost_micro)}"
            bar.update(task, completed=tally.asked, total=selected, more=more)

        yield show

"""The terminal or notebook of a person: the name of the user, and the progress of work."""

import getpass
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from judgeboard.text import money, storable

if TYPE_CHECKING:
    from judgeboard.store.runs import Counts

MAX_USER = 76  # characters; "cli:" with this many is the longest name of a reviewer


def local_user() -> str:
    """Return the user of this machine who runs the process, as ``cli:USER``."""
    try:
        return f"cli:{storable(getpass.getuser())[0][:MAX_USER]}"
    except (KeyError, OSError):
        return "cli:unknown"


class Update(Protocol):
    """Updates a progress bar."""

    def __call__(
        self,
        *,
        completed: float,
        total: float | None = None,
        more: str = "",
        units: int | None = None,
    ) -> None:
        """Show the completed part of a ``total``, and the further columns."""


@contextmanager
def progress(
    title: str, *columns: str, more: str = "", units: int | None = None
) -> Iterator[Update]:
    """Yield a function that updates a progress bar on stderr, in a terminal; in a notebook, a line that is replaced.

    The bar has the rate and, with a total, the time left. ``columns`` are further columns, as rich
    format strings over ``task.fields``, which has ``more``, ``units`` and ``rate`` (as of the last
    update). With ``units``, the rate is of these units, and ``completed`` is the share that is done.
    """
    if not sys.stderr.isatty():
        yield (
            _line(title)
            if type(sys.stderr).__module__.startswith("ipykernel.")
            else lambda **_fields: None
        )
        return
    from rich import console  # rich loads slowly
    from rich import progress as bars  # as above

    count = bars.MofNCompleteColumn() if units is None else bars.TaskProgressColumn()
    texts = [bars.TextColumn(column) for column in ("{task.fields[rate]}", *columns)]
    bar = bars.Progress(
        *(bars.TextColumn("{task.description}", markup=False), bars.BarColumn(), count, *texts),
        bars.TimeRemainingColumn(),
        console=console.Console(stderr=True),
        transient=True,
    )
    task = bar.add_task(title, total=None, more=more, units=units, rate="")

    def update(
        *, completed: float, total: float | None = None, more: str = "", units: int | None = None
    ) -> None:
        bar.start()  # at the first update: a question may come before
        done, seconds = completed if units is None else units, bar.tasks[task].elapsed
        rate = f"{done / seconds:,.1f}/s" if done and seconds else ""
        bar.update(task, completed=completed, total=total, more=more, units=units, rate=rate)

    try:
        yield update
    finally:
        bar.stop()


@contextmanager
def judging_progress() -> Iterator[Callable[["Counts", int], None]]:
    """Yield a function that shows how many of all steps are complete, how many failed, and the cost."""
    with progress("judging", "{task.fields[more]}") as update:

        def show(counts: "Counts", total: int) -> None:
            more = f"{counts.asked - counts.ok} failed  {money(counts.total_cost_micro)}"
            update(completed=counts.asked, total=total, more=more)

        yield show


def _line(title: str) -> Update:
    def update(
        *, completed: float, total: float | None = None, more: str = "", units: int | None = None
    ) -> None:
        share = f"{completed / total:.0%}" if total else ""
        count = f"{completed if units is None else units:,}"
        sys.stderr.write(f"\r{title} {count} {share} {more}".ljust(80))
        sys.stderr.flush()

    return update

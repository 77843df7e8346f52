"""A progress bar with its rate, as rich draws it."""

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text


class Rate(ProgressColumn):
    """The rate of the steps, or of the ``units`` of a task with units."""

    def render(self, task: Task) -> Text:
        """Return the rate as a text."""
        steps = task.completed if task.fields["units"] is None else task.fields["units"]
        return Text(f"{steps / task.elapsed:,.1f}/s" if steps and task.elapsed else "")


def progress_bar(*columns: str, units: int | None) -> Progress:
    """Return a bar on stderr that disappears at its end (`judgeboard.reports.terminal.progress`)."""
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn() if units is None else TaskProgressColumn(),
        Rate(),
        *(TextColumn(column) for column in columns),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )

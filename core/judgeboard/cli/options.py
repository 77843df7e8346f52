"""Options and terminal output that every command shares."""

import getpass
import math
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from judgeboard.runs.runner import Tally
from judgeboard.store.filters import WHERE_FIELDS
from judgeboard.text import storable

if TYPE_CHECKING:
    from rich.progress import Progress

    from judgeboard.store.engine import Store
    from judgeboard.store.hidden_rows import Seen
    from judgeboard.store.reviewers import Reviewer


_HELP_COLUMNS = 44  # what the longest option of a command leaves of 80 columns


class FiniteRange(click.FloatRange):
    """A number within bounds; nan and inf, which pass any comparison with them, are none."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number, or fail with the option's name."""
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return float(number)


# The id of a row, as both engines can hold it.
ROW_ID = click.IntRange(1, 2**63 - 1)

database = click.option(
    "--db",
    metavar="PATH|URL",
    help="The database: a file (SQLite) or an SQLAlchemy URL. Default: JUDGEBOARD_DB, else data/judgeboard.db.",
)


def _field_lines() -> str:
    """The fields of --where as a paragraph that click leaves as it is: a line each, its further lines set in."""
    lines = (
        textwrap.fill(f"{field}: {words}", _HELP_COLUMNS, subsequent_indent="  ", break_on_hyphens=False)
        for field, words in WHERE_FIELDS.items()
    )
    return "\n".join(("\b", *lines))


where = click.option(
    "--where",
    multiple=True,
    metavar="FIELD=VALUE",
    help=f"Only these answers; repeat to narrow. Fields:\n\n{_field_lines()}",
)

host = click.option(
    "--host",
    default="localhost",
    show_default=True,
    help="The address to listen on. Anything but localhost lets others on the network in.",
)

port = click.option("--port", default=8501, show_default=True, type=click.IntRange(1, 65535), help="The port.")


def example(*lines: str) -> str:
    """The closing lines of a command's help."""
    return "\b\nExample:\n" + "\n".join(f"  {line}" for line in lines)


def listed(names: str) -> list[str]:
    """Return the names in a list with commas."""
    return [name.strip() for name in names.split(",") if name.strip()]


def cost_text(cost_micro: int | None) -> str:
    """Return a cost in dollars from millionths; None is unknown, never 0."""
    if cost_micro is None:
        return "unknown"
    return f"$ {cost_micro / 1e6:.4f}" if cost_micro else "$ 0"


MAX_USER = 76  # characters, with "cli:" as long as the name of a reviewer may be; environments may say anything


def actor() -> str:
    """Who acts in a terminal: ``cli:USER``."""
    try:
        return f"cli:{storable(getpass.getuser())[0][:MAX_USER]}"
    except (KeyError, OSError):
        return "cli:unknown"


def reviewer(store: "Store") -> "Reviewer":
    """Return whoever types, as a person who reviews: a new one is stored."""
    from judgeboard.reviews.checks import ensure_reviewer

    return ensure_reviewer(store, "cli", actor())


def seen(store: "Store") -> "Seen":
    """Return the database as whoever types may see it, without what they are to review blind; say how much that is.

    It is said on stderr, once a command: what goes into another program stays as it is.
    """
    from judgeboard.store.hidden_rows import Seen, count_hidden
    from judgeboard.store.reviewers import find_reviewer

    with store.reading() as connection:
        known = find_reviewer(connection, "cli", actor())
    desk = Seen(store, None if known is None else known.id)
    with desk.reading() as connection:
        hidden = count_hidden(connection)
    if hidden:
        answers = "1 answer" if hidden == 1 else f"{hidden:,} answers"
        click.echo(f"left out: {answers} that you are to review blind and have not", err=True)
    return desk


@contextmanager
def progress_bar(*columns: str) -> Iterator["Progress | None"]:
    """Give a progress bar on stderr, or None where stderr is no terminal.

    Args:
        columns: further columns, as rich format strings over ``task.fields``.
    """
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        *(TextColumn(column) for column in columns),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    ) as bar:
        yield bar


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

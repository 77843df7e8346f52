"""The terminal a command runs in: who types, and a progress bar where a person watches."""

import getpass
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from judgeboard.storable_text import storable

if TYPE_CHECKING:
    from rich.progress import Progress

    from judgeboard.store.engine import Store
    from judgeboard.store.hidden_rows import Seen
    from judgeboard.store.reviews.reviewers import Reviewer

MAX_USER = 76  # characters, with "cli:" as long as the name of a reviewer may be; environments may say anything


def actor() -> str:
    """Who acts in a terminal: ``cli:USER``."""
    try:
        return f"cli:{storable(getpass.getuser())[0][:MAX_USER]}"
    except (KeyError, OSError):
        return "cli:unknown"


def reviewer(store: "Store") -> "Reviewer":
    """Return whoever types, as a person who reviews: a new one is stored."""
    from judgeboard.review.people import ensure_reviewer

    return ensure_reviewer(store, "cli", actor())


def seen(store: "Store") -> "Seen":
    """Return the database as whoever types may see it, without what they are to review blind; say how much that is.

    It is said on stderr, once a command: what goes into another program stays as it is.
    """
    from judgeboard.store.hidden_rows import Seen, count_hidden
    from judgeboard.store.reviews.reviewers import find_reviewer

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

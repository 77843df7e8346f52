"""The terminal a command runs in: who types, and a progress bar where a person watches."""

import getpass
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from judgeboard.storable_text import storable

if TYPE_CHECKING:
    from rich.progress import Progress

MAX_USER = 100  # characters; environments may say anything


def actor() -> str:
    """Who acts in a terminal: ``cli:USER``."""
    try:
        return f"cli:{storable(getpass.getuser())[0][:MAX_USER]}"
    except (KeyError, OSError):
        return "cli:unknown"


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

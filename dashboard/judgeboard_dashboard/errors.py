"""Turns what goes wrong on a page into a sentence with a number; the traceback goes to the server's log."""

import logging
import secrets
from collections.abc import Iterator
from contextlib import contextmanager

from judgeboard.errors import JudgeboardError
from judgeboard_dashboard.evidence import show, tag

_log = logging.getLogger("judgeboard.dashboard")


@contextmanager
def caught() -> Iterator[None]:
    """Show expected errors as they are, all others as a number that stands in the log beside the traceback."""
    try:
        yield
    except JudgeboardError as error:
        problem(str(error))
    except Exception as error:  # noqa: BLE001 - the last handler of a page: the number leads to the traceback
        problem(f"Something went wrong here: error {numbered(error)}. The server's log has the details.")


def numbered(error: Exception) -> str:
    """Write an unexpected error to the server's log and return the number it stands under."""
    number = secrets.token_hex(3).upper()
    _log.error("error %s", number, exc_info=error)
    return number


def problem(sentence: str) -> None:
    """Show one sentence with the amber bar at its left."""
    show(tag("div", sentence, cls="jb-note", role="alert"))

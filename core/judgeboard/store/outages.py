"""Outages of a database: the reason in words, and how long a run waits."""

import functools
import logging
import time
from collections.abc import Callable
from threading import Event, Lock
from typing import ParamSpec, TypeVar

from sqlalchemy.exc import OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from judgeboard.settings.masking import masked

CANNOT_WRITE = (
    "unable to open database file",
    "attempt to write a readonly database",
)  # messages of SQLite
LOCKED = "database is locked"
FULL = "database or disk is full"
_ADVICE = {
    **dict.fromkeys(
        CANNOT_WRITE,
        "this user needs write access to the file and its folder; grant it, or use --db with a copy",
    ),
    LOCKED: "another process writes to it; try again when it has finished",
    FULL: "free some disk space and try again",
}
_NO_SPACE = "No space left on device"  # the end of PostgreSQL's message
WAIT_SECONDS = 60.0  # for a database that cannot be used
AWAY_PAUSE_SECONDS = 1.0  # between two tries while the database is away
# Pauses before another try if the database is locked, full or restarting: the replies are paid for
# and must not be lost.
TRY_AGAIN_SECONDS = (1.0, 5.0)
_log = logging.getLogger("judgeboard.store")
P = ParamSpec("P")
R = TypeVar("R")


def is_outage(error: BaseException) -> bool:
    """Return whether the database cannot be used now, so that the same data may be stored later."""
    # The engine of jobs raises errors of the driver itself, which a process with SQLite never
    # loads.
    names = {kind.__name__ for kind in type(error).__mro__}
    return (
        OperationalError.__name__ in names
        or isinstance(error, PoolTimeout | TimeoutError)
        or isinstance(error.__cause__, OperationalError)
    )


def reason_of(error: BaseException) -> str:
    """Return the first line of a driver's message, without SQL and secrets, with the known remedy in brackets."""
    lines = str(getattr(error, "orig", None) or error).strip().splitlines()
    if not lines:
        return type(error).__name__
    advice = _ADVICE[FULL] if _NO_SPACE in lines[0] else _ADVICE.get(lines[0])
    return masked(lines[0]) if advice is None else f"{lines[0]} ({advice})"


def outage_words(error: Exception) -> str | None:
    """Return in words for a person why the database could not be used now; None if the error has another cause."""
    if not isinstance(error, OperationalError | PoolTimeout):
        return None
    words = str(getattr(error, "orig", None) or error)
    if _NO_SPACE in words or words == FULL:
        return "The disk of the server is full"
    if words == LOCKED:
        return "Another process has been writing to the database for too long"
    return "The database cannot be used at the moment"


class Outage:
    """Logs the start and the end of an outage once each, for all threads of a process.

    A try shows the state of the database only since the start of the try (``began``, monotonic
    clock). A try that began before an outage does not show the end of the outage. A try that began
    before this end shows no new outage.
    """

    def __init__(self) -> None:
        self._guard = Lock()
        self._away_since: float | None = None
        self._back_since = 0.0

    def note(self, error: BaseException, began: float, then: str) -> float | None:
        """Note a failed try, and return since when the database is away; None if the database is back already.

        ``then`` says in the log what is done now.
        """
        with self._guard:
            if self._away_since is None and began >= self._back_since:
                self._away_since = time.monotonic()
                _log.warning("the database cannot be used: %s; %s", reason_of(error), then)
            return self._away_since

    def end(self, began: float) -> None:
        """Note that the database can be used."""
        with self._guard:
            if self._away_since is not None and began >= self._away_since:
                self._back_since = time.monotonic()
                _log.warning(
                    "the database can be used again, after %.0f s",
                    self._back_since - self._away_since,
                )
                self._away_since = None


class Patience:
    """How long the threads of a run wait together for a database that cannot be used: ``seconds`` for each outage.

    For a SQLite database that another process has locked, the wait has no end. `give_up` ends all
    waiting. ``began`` has the same meaning as in `Outage`.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.given_up = Event()
        self._outage = Outage()

    def give_up(self) -> None:
        """Wait no more, for example because the user wants to stop."""
        self.given_up.set()

    def wait(self, error: Exception, began: float) -> bool:
        """Wait before another try; return False if no other try is useful."""
        if self.given_up.is_set():
            return False
        away_since = self._outage.note(error, began, f"waiting up to {self.seconds:g} s")
        if away_since is None:
            return True
        seconds_left = away_since + self.seconds - time.monotonic()
        if seconds_left <= 0:
            self.given_up.set()
        return not self.given_up.wait(max(0.0, min(seconds_left, AWAY_PAUSE_SECONDS)))

    def end_wait(self, began: float) -> None:
        """Note that the database can be used."""
        self._outage.end(began)


def tried_again(do: Callable[P, R]) -> Callable[P, R]:
    """Return a blocking function that tries again if the database is locked or restarting."""

    @functools.wraps(do)
    def tried(*args: P.args, **kwargs: P.kwargs) -> R:
        for pause in TRY_AGAIN_SECONDS:
            try:
                return do(*args, **kwargs)
            except OperationalError as error:
                _log.info(
                    "%s; trying again", str(error.orig).partition("\n")[0]
                )  # the store or the worker warns
                time.sleep(pause)
        return do(*args, **kwargs)

    return tried

"""Lets the writers of one process take turns at a SQLite file, in the order in which they came.

SQLite's own waiting sleeps longer and longer, so that of many threads some never get in; and it wakes nobody.
"""

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock


class Turns:
    """A lock that is handed on to whoever has waited longest."""

    def __init__(self) -> None:
        self._guard = Lock()
        self._waiting: deque[Lock] = deque()
        self._taken = False

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Wait for one's turn, and hand it on at the end."""
        mine = Lock()
        with self._guard:
            waits = self._taken
            self._taken = True
            if waits:
                mine.acquire()
                self._waiting.append(mine)
        if waits:
            self._wait(mine)
        try:
            yield
        finally:
            self._hand_on()

    def _wait(self, mine: Lock) -> None:
        try:
            mine.acquire()  # released by the one before
        except BaseException:  # interrupted while waiting: whoever comes next must not wait for us
            with self._guard:
                if mine in self._waiting:
                    self._waiting.remove(mine)
                    raise
            self._hand_on()
            raise

    def _hand_on(self) -> None:
        with self._guard:
            if self._waiting:
                self._waiting.popleft().release()
            else:
                self._taken = False


_TURNS: dict[str, Turns] = {}
_TURNS_GUARD = Lock()


def turns_at(database: str) -> Turns:
    """Return the turns at a file, the same for every store that this process opens on it."""
    with _TURNS_GUARD:
        return _TURNS.setdefault(database, Turns())

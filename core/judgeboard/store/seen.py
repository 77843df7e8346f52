"""The database as one person may see it: read only, without what they are to review blind."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

from sqlalchemy import Connection

from judgeboard.store.engine import Store
from judgeboard.store.queues.hidden_rows import hide_rows

Reading = AbstractContextManager[Connection]
"""A transaction that only reads."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A database for the eyes of ``viewer``, a reviewer's id; None sees everything.

    Whatever is read through it leaves out the answers and pairs that the viewer is to review blind and has not, and
    all that was said of them; see `hidden_rows`. Programs that act (judge, flag, import, hand out) need the `Store`:
    what they do must not depend on who asked for it.
    """

    store: Store
    viewer: int | None

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that only reads what the viewer may see."""
        with self.store.reading() as connection:
            hide_rows(connection, self.viewer)
            yield connection

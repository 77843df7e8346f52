"""The connection of the engine to PostgreSQL."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import psycopg
from pgqueuer.adapters.drivers.psycopg import PsycopgDriver
from psycopg.types.string import TextLoader

from judgeboard.store.engine import Store

NOTICE_SECONDS = 0.05  # between two looks for notices
ERRORS = (psycopg.Error,)
LostError = psycopg.OperationalError

_log = logging.getLogger("judgeboard.jobs")


@asynccontextmanager
async def connected(store: Store) -> "AsyncIterator[NoticesWithoutWait]":
    """Connect to the database of a store; yields the driver of the connection, which is closed at the end."""
    arguments, keywords = store.engine.dialect.create_connect_args(store.engine.url)
    keywords = {"application_name": "judgeboard worker", **keywords, "autocommit": True}
    async with await psycopg.AsyncConnection.connect(*arguments, **keywords) as connection:
        connection.adapters.register_loader("jsonb", TextLoader)  # PgQueuer reads JSON itself
        yield NoticesWithoutWait(connection)


class NoticesWithoutWait(PsycopgDriver):
    """The driver of a connection, which looks for notices without waiting.

    A wait for a notice occupies the connection, and PgQueuer waits a second each time: an entry
    would wait a second until a worker takes the entry, and again until the end is stored. A look
    sends nothing to the server.
    """

    @property
    def is_closed(self) -> bool:
        """Whether the connection has ended."""
        return self._connection.closed

    async def watch_notifies(self) -> None:
        """Hand each notice to the callbacks of its channel."""
        while not self.shutdown.is_set():
            async for notice in self._connection.notifies(timeout=0):
                for callback in list(self._listeners.get(notice.channel, [])):
                    try:
                        callback(notice.payload)
                    except Exception:  # noqa: BLE001 - no callback may end the watch
                        _log.exception("a notice of %s", notice.channel)
            await asyncio.sleep(NOTICE_SECONDS)

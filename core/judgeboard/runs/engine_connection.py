"""The connection of the engine to PostgreSQL, imported where a worker starts."""

import asyncio
import logging

from pgqueuer.adapters.drivers.psycopg import PsycopgDriver

LOOK_SECONDS = 0.05

_log = logging.getLogger("judgeboard.jobs")


class EngineConnection(PsycopgDriver):
    """Looks for notices without waiting for them.

    Whoever waits for a notice keeps the connection for so long, and PgQueuer waits a second each time: an entry would
    wait as long until it is taken, and again until its end is stored. To look sends nothing to the server.
    """

    async def watch_notifies(self) -> None:
        """Hand each notice to the callbacks of its channel."""
        while not self.shutdown.is_set():
            async for notice in self._connection.notifies(timeout=0):
                for callback in list(self._listeners.get(notice.channel, [])):
                    try:
                        callback(notice.payload)
                    except Exception:  # noqa: BLE001 - no callback may end the watch
                        _log.exception("a notice of %s", notice.channel)
            await asyncio.sleep(LOOK_SECONDS)

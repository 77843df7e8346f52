"""Databases of TruLens (SQLite), which have a table of events."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing

from judgeboard.domain import Rejected
from judgeboard.formats.files import ByteSource, Row, Unreadable

_JOURNAL = slice(18, 20)  # the bytes of a SQLite file with the version of its journal


def recognises(source: ByteSource) -> bool:
    """Whether a SQLite database has the table of events."""
    try:
        with closing(_opened(source)) as connection:
            found = connection.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'trulens_events'")
            return found.fetchone() is not None
    except sqlite3.Error:
        return False


def read(source: ByteSource) -> Iterator[Row | Rejected]:
    """Yield the events as rows."""
    with closing(_opened(source)) as connection:
        connection.row_factory = sqlite3.Row
        try:
            events = connection.execute("SELECT * FROM trulens_events ORDER BY start_timestamp, event_id")
            for number, event in enumerate(events, start=1):
                yield Row(number, dict(event))
        except sqlite3.Error as error:
            raise Unreadable(f"the database is damaged ({error})") from error


def _opened(source: ByteSource) -> sqlite3.Connection:
    """Open the database in memory, so that the file is neither locked nor changed."""
    content = bytearray(source.seekable().read())
    content[_JOURNAL] = b"\x01\x01"  # a write-ahead log is another file, without which SQLite does not open this one
    connection = sqlite3.connect(":memory:")
    connection.deserialize(bytes(content))
    connection.execute("PRAGMA trusted_schema = OFF")
    return connection

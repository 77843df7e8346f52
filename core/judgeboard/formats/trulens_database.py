"""Databases of TruLens (SQLite), which have a table of events."""

import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from judgeboard.domain import Rejected
from judgeboard.formats.files import ByteSource, Row, Unreadable

_JOURNAL = 18  # the first of the two bytes of a SQLite file with the version of the journal


def recognises(source: ByteSource) -> bool:
    """Whether a SQLite database has the table of events."""
    try:
        with _opened(source) as connection:
            tables = connection.execute(
                "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'trulens_events'"
            )
            return tables.fetchone() is not None
    except sqlite3.Error:
        return False


def read(source: ByteSource) -> Iterator[Row | Rejected]:
    """Yield the events as rows."""
    with _opened(source) as connection:
        connection.row_factory = sqlite3.Row
        try:
            events = connection.execute(
                "SELECT * FROM trulens_events ORDER BY start_timestamp, event_id"
            )
            for number, event in enumerate(events, start=1):
                source.note(sum(len(value) for value in event if isinstance(value, str | bytes)))
                yield Row(number, dict(event))
        except sqlite3.Error as error:
            raise Unreadable(f"the database is damaged ({error})") from error


@contextmanager
def _opened(source: ByteSource) -> Iterator[sqlite3.Connection]:
    """Open a copy of the database, so that the file is neither locked nor changed. A row has a limited length."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy.db"
        with copy.open("w+b") as stream:
            shutil.copyfileobj(source.seekable(), stream)
            stream.seek(
                _JOURNAL
            )  # the write-ahead log is another file, without which SQLite does not open the copy
            stream.write(b"\x01\x01")
        connection = sqlite3.connect(copy)
        try:
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, source.most_row)
            connection.execute("PRAGMA trusted_schema = OFF")
            yield connection
        finally:
            connection.close()

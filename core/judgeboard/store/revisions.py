"""Reads which schema revision a database has."""

import shutil
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sqlalchemy import URL

from judgeboard.errors import DamagedDatabase, JudgeboardError, UnusableDatabase
from judgeboard.formats.files import is_database
from judgeboard.store.engine import BESIDE, BUSY_SECONDS, DAMAGE, Store, damaged
from judgeboard.store.outages import reason_of


def current_revision(store: Store) -> str | None:
    """Return the schema's revision, or None without a schema. The files of a SQLite database stay unchanged.

    Raises UnusableDatabase if the database cannot be read, or has the tables of another program.
    """
    try:
        if store.is_sqlite:
            return _file_revision(store.engine.url, Path(str(store.engine.url.database)))
        with store.reading() as connection:
            return _revision(connection.exec_driver_sql, _SERVED_TABLES, store.shown_url)
    except Exception as error:
        if isinstance(error, JudgeboardError):
            raise
        raise UnusableDatabase(f"cannot open {store.shown_url}: {reason_of(error)}") from error


# Tables and views, without tables and views of an extension of PostgreSQL.
_SERVED_TABLES = """
    SELECT relname FROM pg_class
    WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p', 'v', 'm')
    AND NOT EXISTS (SELECT 1 FROM pg_depend WHERE objid = pg_class.oid AND deptype = 'e')
"""
_OURS = {
    "alembic_version",
    "response",
    "judgment",
}  # of every revision; another program may use Alembic, too


def _revision(execute: Callable[[str], Iterable[Any]], tables: str, place: str) -> str | None:
    names = {name for (name,) in execute(tables)}
    if names >= _OURS:
        return next(
            (str(revision) for (revision,) in execute("SELECT version_num FROM alembic_version")),
            None,
        )
    if names:
        raise UnusableDatabase(f"{place} has the tables of another program: use another database")
    return None


def _file_revision(url: URL, path: Path) -> str | None:
    log, index = (path.with_name(f"{path.name}{end}") for end in BESIDE)
    # SQLite reads the log only with an index file, and would create a missing index.
    way = "mode=ro" if index.exists() else "immutable=1"
    try:
        with closing(
            sqlite3.connect(f"{path.absolute().as_uri()}?{way}", uri=True, timeout=BUSY_SECONDS)
        ) as file:
            revision = _revision(file.execute, "SELECT name FROM sqlite_master", str(url.database))
    except sqlite3.DatabaseError as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF not in DAMAGE:
            raise
        message = f"{url.database} is damaged, or it is not a SQLite database: use another file"
        raise DamagedDatabase(damaged(url) if is_database(path) else message) from None
    if revision is None and not index.exists() and log.exists() and log.stat().st_size:
        with TemporaryDirectory() as folder:  # all tables may be in the log
            copies = [Path(shutil.copy(each, folder)) for each in (path, log)]
            copies[0].with_name(f"{path.name}{BESIDE[1]}").touch()
            return _file_revision(url, copies[0])
    return revision

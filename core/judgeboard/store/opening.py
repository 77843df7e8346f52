"""Opens databases: creates a missing one, checks the revision of the schema, upgrades an older one."""

import re
import shutil
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sqlalchemy import URL
from sqlalchemy.exc import OperationalError, ProgrammingError

from judgeboard.errors import (
    BadInput,
    DamagedDatabase,
    JudgeboardError,
    MissingDatabase,
    SchemaMismatch,
    UnusableDatabase,
)
from judgeboard.formats.files import is_database
from judgeboard.registry.plugins import metadata_of_packages
from judgeboard.store.answer_facts import are_current, refresh_facts
from judgeboard.store.engine import (
    BESIDE,
    BUSY_SECONDS,
    DAMAGE,
    ONE_PAGE,
    Store,
    connect,
    damaged,
    database_url,
    missing,
)
from judgeboard.store.migrations import HEAD, OLDEST
from judgeboard.store.outages import reason_of
from judgeboard.store.responses import last_response_id

_REVISION = re.compile(r"\d{4}", re.ASCII)
UNFINISHED = "copy "  # begins the revision of a database to which another one is being copied


def open_store(database: str | Path | None = None, *, create: bool = False) -> Store:
    """Open the database; with ``create``, create a missing one, and the folder of a SQLite file.

    Raises MissingDatabase, SchemaMismatch if the schema has another revision, or BadInput if it
    cannot be opened.
    """
    url = database_url(database)
    is_new = url.get_backend_name() == "sqlite" and not Path(url.database or "").exists()
    store = Store(connect(url, create=create))
    try:
        if create and current_revision(store) is None:
            upgrade(store)
        else:
            check_usable(store)
    except BaseException:
        if is_new:
            # Remove a SQLite file that has no schema, as after a full disk; another process may
            # have given it one.
            path = Path(str(store.engine.url.database))
            files = (path, *(path.with_name(f"{path.name}{end}") for end in BESIDE))
            try:
                has_schema = current_revision(store) is not None
            except JudgeboardError:
                sizes = [file.stat().st_size if file.exists() else 0 for file in files[:2]]
                has_schema = sizes[0] > ONE_PAGE or sizes[1] > 0
            if not has_schema:
                store.engine.dispose()
                for file in files:
                    file.unlink(missing_ok=True)
        store.close()
        raise
    return store


def check_usable(store: Store) -> None:
    """Raise MissingDatabase, SchemaMismatch if the schema has another revision, or BadInput if it cannot be read.

    It is also SchemaMismatch if an answer lacks its facts, as after an upgrade that was killed.
    """
    url = store.engine.url
    # To open a missing SQLite file would create it.
    gone = store.is_sqlite and not Path(str(url.database)).exists()
    revision = None if gone else current_revision(store)
    if revision is None:
        raise MissingDatabase(missing(url))
    if revision != HEAD:
        raise SchemaMismatch(_mismatch(store, revision))
    with store.reading() as connection:
        if not are_current(connection):
            raise SchemaMismatch(
                f"{_place(store)} lacks facts about answers that this program reads: "
                f"run `judgeboard db migrate --db {_place(store)}`"
            )


def current_revision(store: Store) -> str | None:
    """Return the schema's revision, or None without a schema. A SQLite file and what stands beside it stay unchanged.

    Raises UnusableDatabase if the database has the tables of another program, or if it cannot be
    read.
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


# Tables and views, but not those of an extension of PostgreSQL.
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


def _revision(execute: Callable[[str], Iterable[Any]], tables: str, shown: str) -> str | None:
    names = {name for (name,) in execute(tables)}
    if names >= _OURS:
        return next(
            (str(revision) for (revision,) in execute("SELECT version_num FROM alembic_version")),
            None,
        )
    if names:
        raise UnusableDatabase(f"{shown} has the tables of another program: use another database")
    return None


def _file_revision(url: URL, path: Path) -> str | None:
    log, index = (path.with_name(f"{path.name}{end}") for end in BESIDE)
    # SQLite reads its log only with the index beside it, which it would create.
    way = "mode=ro" if index.exists() else "immutable=1"
    try:
        with closing(
            sqlite3.connect(f"{path.absolute().as_uri()}?{way}", uri=True, timeout=BUSY_SECONDS)
        ) as file:
            revision = _revision(file.execute, "SELECT name FROM sqlite_master", str(url.database))
    except sqlite3.DatabaseError as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF not in DAMAGE:
            raise
        other = f"{url.database} is damaged, or it is not a SQLite database: use another file"
        raise DamagedDatabase(damaged(url) if is_database(path) else other) from None
    if revision is None and not index.exists() and log.exists() and log.stat().st_size:
        with TemporaryDirectory() as folder:  # all tables may be in the log
            copies = [Path(shutil.copy(each, folder)) for each in (path, log)]
            copies[0].with_name(f"{path.name}{BESIDE[1]}").touch()
            return _file_revision(url, copies[0])
    return revision


def upgrade(store: Store, progress: Callable[[int, float], None] = lambda *_: None) -> str | None:
    """Create or upgrade the schema in one transaction; return its previous revision.

    Then compute the facts that answers lack, in batches that are transactions of their own: an
    upgrade that was killed continues where it stopped. ``progress`` gets the number of answers so
    far, and the share of the log that is done.

    Raises SchemaMismatch if the schema is too old or newer than this program, BadInput if the
    database refuses.
    """
    metadata_of_packages()  # Alembic reads the entry points of all packages
    from judgeboard.store.migrations.run import run_upgrade  # Alembic loads slowly

    before = current_revision(store)
    if before is not None and not OLDEST <= before <= HEAD:
        raise SchemaMismatch(_mismatch(store, str(before)))
    try:
        with store.writing() as connection:
            run_upgrade(connection)
    except (OperationalError, ProgrammingError) as error:
        raise BadInput(f"cannot migrate {store.shown_url}: {reason_of(error)}") from error
    with store.reading() as connection:
        newest = last_response_id(connection)
    refreshed = last_id = 0
    while last_id < newest:
        with store.writing() as connection:
            ids = refresh_facts(connection, last_id)
        if not ids:
            break
        refreshed, last_id = refreshed + len(ids), ids[-1]
        progress(refreshed, last_id / newest)
    return before


def _place(store: Store) -> str:
    return str(store.engine.url.database) if store.is_sqlite else store.shown_url


def _mismatch(store: Store, revision: str) -> str:
    place = _place(store)
    if revision.startswith(UNFINISHED):
        return f"{place} is an unfinished copy of another database: repeat `judgeboard db copy`, which goes on"
    if not _REVISION.fullmatch(revision):
        return f"{place} belongs to another program (its schema revision is {revision!r}): use another database"
    if revision > HEAD:
        what = f"supports revisions up to {HEAD}: a newer Judgeboard created this database, install that version"
    elif revision >= OLDEST:
        what = f"needs {HEAD}: make a backup (`judgeboard db backup FILE`) and run `judgeboard db migrate --db {place}`"
    else:
        what = (
            f"needs {HEAD}: export it with the version that created it (`judgeboard export all -o FOLDER`) "
            "and import the files into a new database with this version"
        )
    return f"{place} has schema revision {revision}, but this program {what}"

"""Opens databases: creates a missing one, checks the revision of the schema, upgrades an older one."""

import re
from pathlib import Path

from sqlalchemy import inspect, text
from sqlalchemy.exc import OperationalError, ProgrammingError

from judgeboard.errors import BadInput, JudgeboardError, MissingDatabase, SchemaMismatch, UnusableDatabase
from judgeboard.store.engine import BESIDE, ONE_PAGE, Store, connect, database_url, missing
from judgeboard.store.migrations import HEAD, OLDEST
from judgeboard.store.outages import reason_of

_REVISION = re.compile(r"\d{4}", re.ASCII)


def open_store(database: str | Path | None = None, *, create: bool = False) -> Store:
    """Open the database; with ``create``, create a missing one, and the folder of a SQLite file.

    Raises MissingDatabase, SchemaMismatch if the schema has another revision, or BadInput if it cannot be opened.
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
            _remove_without_schema(store)
        store.close()
        raise
    return store


def _remove_without_schema(store: Store) -> None:
    """Remove a SQLite file that has no schema, as after a full disk; another process may have given it one."""
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


def check_usable(store: Store) -> None:
    """Raise MissingDatabase, SchemaMismatch if the schema has another revision, or BadInput if it cannot be read."""
    url = store.engine.url
    # To open a missing SQLite file would create it.
    gone = store.is_sqlite and not Path(str(url.database)).exists()
    revision = None if gone else current_revision(store)
    if revision is None:
        raise MissingDatabase(missing(url))
    if revision != HEAD:
        raise SchemaMismatch(_mismatch(store, revision))


def current_revision(store: Store) -> str | None:
    """Return the schema's revision, or None without a schema; raise BadInput if the database cannot be read."""
    try:
        with store.reading() as connection:
            revision = None
            if inspect(connection).has_table("alembic_version"):
                revision = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
            # Another program may share a schema on a server, but not a SQLite file.
            if revision is None and store.is_sqlite and inspect(connection).get_table_names():
                raise UnusableDatabase(f"{store.shown_url} has the tables of another program: use another file")
            return revision
    except Exception as error:
        if isinstance(error, JudgeboardError):
            raise
        raise UnusableDatabase(f"cannot open {store.shown_url}: {reason_of(error)}") from error


def upgrade(store: Store) -> str | None:
    """Create or upgrade the schema in one transaction; return its previous revision.

    Raises SchemaMismatch if the schema is too old or newer than this program, BadInput if the database refuses.
    """
    from judgeboard.store.migrations.run import run_upgrade  # Alembic loads slowly

    before = current_revision(store)
    if before is not None and not OLDEST <= before <= HEAD:
        raise SchemaMismatch(_mismatch(store, str(before)))
    try:
        with store.writing() as connection:
            run_upgrade(connection)
    except (OperationalError, ProgrammingError) as error:
        raise BadInput(f"cannot migrate {store.shown_url}: {reason_of(error)}") from error
    return before


def _mismatch(store: Store, revision: str) -> str:
    place = store.engine.url.database if store.is_sqlite else store.shown_url
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

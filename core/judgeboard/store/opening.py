"""Opens databases: creates a missing one, checks the revision of the schema, upgrades an older one."""

import logging
import math
import os
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from sqlalchemy.exc import OperationalError, ProgrammingError

from judgeboard.errors import BadInput, JudgeboardError, MissingDatabase, SchemaMismatch
from judgeboard.registry.plugins import metadata_of_packages
from judgeboard.store.answer_facts import are_current, refresh_facts
from judgeboard.store.backups import copy_before_upgrade, used_by_nobody_else
from judgeboard.store.engine import BESIDE, ONE_PAGE, Store, connect, database_url, missing
from judgeboard.store.file_locks import FileLock
from judgeboard.store.migrations import HEAD, OLDEST
from judgeboard.store.outages import reason_of
from judgeboard.store.responses import last_response_id
from judgeboard.store.revisions import current_revision

_log = logging.getLogger("judgeboard.store")

_REVISION = re.compile(r"\d{4}", re.ASCII)
UNFINISHED = "copy "  # begins the revision of the target of an unfinished copy


def open_store(database: str | Path | None = None, *, create: bool = False) -> Store:
    """Open the database; with ``create``, create a missing one, and the folder of a SQLite file.

    A SQLite file of an older release is upgraded, after a copy beside the file, and a warning is
    logged. If another process upgrades the file, this process waits.

    Raises MissingDatabase, SchemaMismatch if the schema has another revision, or BadInput if the
    database cannot be opened.
    """
    url = database_url(database)
    is_new = url.get_backend_name() == "sqlite" and not Path(url.database or "").exists()
    store = Store(connect(url, create=create))
    try:
        if create and current_revision(store) is None:
            upgrade(store)
        else:
            _make_usable(store)
    except BaseException:
        if is_new:
            # Remove a SQLite file without a schema, for example after a full disk. Another process
            # may have created the schema.
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


def _make_usable(store: Store) -> None:
    """Check a database. An older SQLite file is upgraded first, after a copy beside the file."""
    try:
        check_usable(store)
    except SchemaMismatch as error:
        if not store.is_sqlite or not OLDEST <= str(current_revision(store)) <= HEAD:
            raise
        path = Path(str(store.engine.url.database))
        for each in (path, path.absolute().parent):
            if not os.access(each, os.W_OK):
                raise SchemaMismatch(
                    f"{path} has an older schema and cannot be upgraded: this user cannot write {each}. Grant write "
                    "access, or copy the database to another folder and name the copy with --db"
                ) from error
    else:
        return
    store.engine.dispose()  # open connections would keep others, and this process, from the upgrade
    # Upgrade the file, or wait until another process has upgraded the file.
    try:
        lock = FileLock.take(lock_file := path.with_name(f"{path.name}.upgrade.lock"))
        if lock is None:
            _log.warning("another process upgrades %s: waiting for it", path)
            lock = FileLock.take(lock_file, seconds=math.inf)
    except OSError as error:
        raise BadInput(f"cannot upgrade {path}: {error.strerror}") from error
    try:
        with suppress(SchemaMismatch):
            check_usable(store)
            return  # another process has upgraded the file
        revision = str(current_revision(store))
        if revision != HEAD:
            store.engine.dispose()
            with used_by_nobody_else(path):
                pass  # a server of the earlier version would not know the new tables
            copy = copy_before_upgrade(path, revision)
            _log.warning(
                "upgrading %s from schema %s to %s; a copy of before is %s",
                path,
                revision,
                HEAD,
                copy,
            )
        upgrade(store)
    finally:
        if lock is not None:
            lock.release()
    check_usable(store)


def check_usable(store: Store) -> None:
    """Raise MissingDatabase, SchemaMismatch if the schema has another revision, or BadInput if it is unreadable.

    Raises SchemaMismatch also if an answer lacks facts, as after an upgrade that was killed.
    """
    url = store.engine.url
    # An attempt to open a missing SQLite file would create the file.
    is_missing = store.is_sqlite and not Path(str(url.database)).exists()
    revision = None if is_missing else current_revision(store)
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


def upgrade(store: Store, progress: Callable[[int, float], None] = lambda *_: None) -> str | None:
    """Create or upgrade the schema in one transaction; return the previous revision.

    Then compute the missing facts of answers, in batches with one transaction each: after an
    upgrade was killed, the next upgrade continues there. ``progress`` gets the number of answers so
    far, and the share of the log that is done.

    Raises SchemaMismatch if the schema is too old or newer than this program, BadInput if the
    database refuses.
    """
    metadata_of_packages()  # Alembic reads the entry points of all packages
    from judgeboard.store.migrations.run import run_upgrade  # Alembic loads slowly

    previous_revision = current_revision(store)
    if previous_revision is not None and not OLDEST <= previous_revision <= HEAD:
        raise SchemaMismatch(_mismatch(store, str(previous_revision)))
    try:
        with store.writing() as connection:
            run_upgrade(connection)
    except (OperationalError, ProgrammingError) as error:
        raise BadInput(f"cannot migrate {store.shown_url}: {reason_of(error)}") from error
    with store.reading() as connection:
        newest = last_response_id(connection)
    answer_count = last_id = 0
    while last_id < newest:
        with store.writing() as connection:
            ids = refresh_facts(connection, last_id)
        if not ids:
            break
        answer_count, last_id = answer_count + len(ids), ids[-1]
        progress(answer_count, last_id / newest)
    return previous_revision


def _place(store: Store) -> str:
    return str(store.engine.url.database) if store.is_sqlite else store.shown_url


def _mismatch(store: Store, revision: str) -> str:
    place = _place(store)
    if revision.startswith(UNFINISHED):
        return f"{place} is an unfinished copy of another database: repeat the `db copy` that made it, which goes on"
    if not _REVISION.fullmatch(revision):
        return f"{place} belongs to another program (its schema revision is {revision!r}): use another database"
    if revision > HEAD:
        what = f"supports revisions up to {HEAD}: a newer Judgeboard created this database, install that version"
    elif revision >= OLDEST:
        what = f"needs {HEAD}: stop servers and workers, make a backup, and run `judgeboard db migrate --db {place}`"
    else:
        what = (
            f"needs {HEAD}: export it with the version that created it (`judgeboard export all -o FOLDER`) "
            "and import the files into a new database with this version"
        )
    return f"{place} has schema revision {revision}, but this program {what}"

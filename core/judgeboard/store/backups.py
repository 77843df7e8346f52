"""Backs up and restores SQLite databases, also before an upgrade: a backup is one whole, checked file."""

import os
import shutil
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from glob import escape
from pathlib import Path
from typing import Any, BinaryIO

from sqlalchemy import URL

from judgeboard.errors import BadInput, DamagedDatabase, MissingDatabase, SchemaMismatch
from judgeboard.formats.files import write_whole
from judgeboard.store.clock import utc_now
from judgeboard.store.engine import BESIDE, Store, connect
from judgeboard.store.integrity import check_integrity
from judgeboard.store.migrations import HEAD, OLDEST
from judgeboard.store.revisions import current_revision

_SECONDS = 2.0  # to wait for other processes that use the database
_PART = 2**20  # bytes
_HEADER = 100  # bytes of a SQLite file, in which SQLite counts changes


def back_up(url: URL, file: Path) -> str:
    """Write the database to a new file while others use it, check the file, and return the schema revision.

    Raises BadInput if the file exists, or if the database is on a server.
    """
    _refuse_server(url, "pg_dump --format=custom --file={file} {address}", file)
    path = Path(str(url.database))
    if file.is_dir():
        example = file / f"{path.stem}-{utc_now():%Y-%m-%d}{path.suffix or '.db'}"
        raise BadInput(f"{file} is a folder: name the file, for example {example}")
    if file.exists():
        raise BadInput(f"{file} exists already: choose another name, for example with the day")
    store = Store(connect(url, create=False))
    try:
        revision = _supported_revision(store)
        with closing(store.engine.raw_connection()) as pooled:
            original: Any = pooled.driver_connection
            write_whole(file, lambda part: _copy_checked(original, path, part))
        return revision
    finally:
        store.close()


def copy_before_upgrade(path: Path, revision: str) -> Path:
    """Copy a SQLite file that no process uses to a new file in the same folder, named after revision and time.

    If an upgrade failed before, that copy is kept: there is no second copy of the same content.
    Raises BadInput if the disk has no room for the copy and the upgrade.
    """
    name = f"{path.stem}-revision-{revision}-"
    for earlier in path.parent.glob(f"{escape(name)}*{path.suffix}"):
        if earlier.stat().st_size != path.stat().st_size:
            continue
        # Neither file has a write-ahead log: both have the same content if all pages are equal.
        with earlier.open("rb") as left, path.open("rb") as right:
            left.seek(_HEADER)
            right.seek(_HEADER)
            while (content := left.read(_PART)) == right.read(_PART):
                if not content:
                    return earlier
    for part in path.parent.glob(f".{escape(name)}*.part"):  # of a process that was killed
        part.unlink()
    size, space = 2 * path.stat().st_size, shutil.disk_usage(path.absolute().parent).free
    if space < size:
        raise BadInput(
            f"cannot upgrade {path}: a copy and the upgrade need {size / 2**20:,.0f} MiB, and the disk has only "
            f"{space / 2**20:,.0f} MiB. Make room, or keep a copy on another disk with `judgeboard db backup FILE` and "
            f"upgrade without one: `judgeboard db migrate --db {path}`"
        )
    copy = path.with_name(f"{name}{utc_now():%Y%m%dT%H%M%SZ}{path.suffix}")
    back_up(URL.create("sqlite", database=str(path)), copy)
    return copy


@dataclass(frozen=True, slots=True)
class Restored:
    """The schema ``revision`` of a restored database, and the file in which the earlier database is ``kept``."""

    revision: str
    kept: Path | None


def restore(url: URL, file: Path) -> Restored:
    """Put the state of a backup in the place of the database.

    The backup may have an older schema. Raises BadInput if another process uses the database, or if
    the file is not a backup of Judgeboard; then nothing is changed.
    """
    _refuse_server(url, "pg_restore --clean --if-exists --dbname={address} {file}", file)
    path = Path(str(url.database)).resolve()
    if not file.is_file():
        raise BadInput(f"there is no file {file}")
    if path.exists() and file.samefile(path):
        raise BadInput(f"{file} is the database itself: name a backup")
    if not path.parent.is_dir():
        raise BadInput(f"there is no folder {path.parent}")
    revision = _supported_revision(
        Store(connect(URL.create("sqlite", database=str(file)), create=False))
    )
    if path.exists():
        with suppress(DamagedDatabase):  # a backup mends that; a file of another program is refused
            current_revision(Store(connect(url, create=False)))
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with _read_alone(file) as original:
            write_whole(part, lambda stream: _copy_checked(original, file, stream))
        if not path.exists():
            part.replace(path)
            earlier_file = None
        else:
            part.chmod(path.stat().st_mode & 0o777)  # a database that is shared stays shared
            earlier_file = path.with_name(
                f"{path.stem}-before-restore-{utc_now():%Y%m%dT%H%M%SZ}{path.suffix}"
            )
            with used_by_nobody_else(path):
                # Keep the database under another name, and put the new file in its place in one
                # step.
                for end in (
                    BESIDE
                ):  # a log that a damaged database left must not be applied to the new database
                    with suppress(FileNotFoundError):
                        path.with_name(f"{path.name}{end}").rename(
                            earlier_file.with_name(f"{earlier_file.name}{end}")
                        )
                try:
                    os.link(path, earlier_file)
                except OSError:  # not every file system has links
                    path.rename(earlier_file)
                part.replace(path)
    except OSError as error:
        raise BadInput(
            f"cannot restore {path}: {error.strerror or error}; it is unchanged"
        ) from error
    finally:
        part.unlink(missing_ok=True)
    # Write the names of a folder to the disk, where the system can.
    with suppress(OSError):
        descriptor = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    return Restored(revision, earlier_file)


def _refuse_server(url: URL, command: str, file: Path) -> None:
    if url.get_backend_name() == "sqlite":
        return
    parts = (url.username, None, url.host, url.port, url.database, url.query)
    address = URL.create(url.get_backend_name(), *parts).render_as_string()
    tool = command.format(file=file, address=address)
    raise BadInput(f"this database is on a server, which has its own tool: {tool}")


@contextmanager
def _read_alone(file: Path) -> Iterator[sqlite3.Connection]:
    """Open a backup without changing the backup, and create no file beside the backup."""
    has_log = any(file.with_name(f"{file.name}{end}").exists() for end in BESIDE)
    way = "mode=ro" if has_log else "immutable=1"
    with closing(sqlite3.connect(f"{file.resolve().as_uri()}?{way}", uri=True)) as connection:
        yield connection


def _supported_revision(store: Store) -> str:
    """Return the revision of a SQLite file, which stays unchanged; raise an error if the revision is not supported."""
    file, revision = store.engine.url.database, current_revision(store)
    if revision is None:
        raise MissingDatabase(f"{file} has no tables of Judgeboard")
    if not OLDEST <= revision <= HEAD:
        supported = f"from {OLDEST} to {HEAD}"
        raise SchemaMismatch(
            f"{file} has schema revision {revision}, but this program supports those {supported}"
        )
    return revision


def _copy_checked(original: sqlite3.Connection, source: Path, part: BinaryIO) -> None:
    """Copy a database into an empty file in one transaction, and check the copy."""
    copy = Path(part.name)
    try:
        with closing(sqlite3.connect(copy)) as target:
            original.backup(
                target
            )  # all pages in one step: writers go on, and the copy has one state
    except sqlite3.OperationalError as error:
        raise BadInput(f"{source} cannot be copied: {error}") from error
    except sqlite3.DatabaseError:
        raise DamagedDatabase(f"{source} is damaged, or it is not a SQLite database") from None
    store = Store(connect(URL.create("sqlite", database=str(copy)), create=False))
    try:
        faults = check_integrity(store.engine).faults
    finally:
        store.close()
    if faults:
        raise DamagedDatabase(f"{source} is damaged: {faults[0]}")
    with closing(sqlite3.connect(copy)) as connection:
        connection.execute(
            "PRAGMA journal_mode = DELETE"
        )  # one file, which can also be read where nobody may write


@contextmanager
def used_by_nobody_else(path: Path) -> Iterator[None]:
    """Hold a SQLite file alone; raise BadInput if another connection uses the file. A damaged file cannot be held."""
    with closing(sqlite3.connect(path, timeout=_SECONDS, isolation_level=None)) as connection:
        deadline = time.monotonic() + _SECONDS
        with suppress(sqlite3.DatabaseError):
            while True:
                try:
                    # Ends the write-ahead log, which SQLite allows to the only connection. SQLite
                    # does not wait for a connection that only looks at the revision.
                    (mode,) = connection.execute("PRAGMA journal_mode = DELETE").fetchone()
                    if mode != "delete":
                        raise sqlite3.OperationalError(mode)
                    connection.execute("BEGIN EXCLUSIVE")
                    break
                except sqlite3.OperationalError as error:
                    if time.monotonic() > deadline:
                        raise BadInput(
                            f"another process uses {path}: stop the servers and workers on it, then try again"
                        ) from error
                    time.sleep(0.02)
        yield

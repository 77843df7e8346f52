"""Opens SQLite and PostgreSQL databases and their transactions; SQLite writes one transaction at a time."""

import logging
import re
from collections import deque
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Condition, Event, Lock
from typing import Any, Protocol

from sqlalchemy import URL, Connection, Engine, create_engine, event, inspect, make_url, text
from sqlalchemy.exc import ArgumentError, DataError, NoSuchModuleError, OperationalError, ProgrammingError

from judgeboard.errors import BadInput, JudgeboardError, MissingDatabase, SchemaMismatch
from judgeboard.formats.files import owner_only
from judgeboard.settings import load_settings, masked
from judgeboard.store.migrations import HEAD, OLDEST
from judgeboard.store.row_filter import prepare_compiler

CANNOT_WRITE = ("unable to open database file", "attempt to write a readonly database")  # messages of SQLite
_LOCKED = "database is locked"
_ADVICE = {
    **dict.fromkeys(
        CANNOT_WRITE, "this user needs write access to the file and its folder; grant it, or use --db with a copy"
    ),
    _LOCKED: "another process writes to it; try again when it has finished",
    "database or disk is full": "free some disk space and try again",
}
_log = logging.getLogger("judgeboard.store")
_TOO_LARGE = "Python int too large to convert to SQLite INTEGER"
_NO_SPACE = "No space left on device"  # the end of PostgreSQL's message


def with_advice(words: str) -> str:
    """Return the message of a driver, with the known remedy in brackets."""
    advice = _ADVICE["database or disk is full"] if _NO_SPACE in words else _ADVICE.get(words)
    return words if advice is None else f"{words} ({advice})"


class Turns:
    """A lock that threads get in the order in which they requested it."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._waiting: deque[object] = deque()  # the first has the lock

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Hold the lock for the duration of the context."""
        mine = object()
        with self._changed:
            self._waiting.append(mine)
        try:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting[0] is mine)
            yield
        finally:  # also if the thread is interrupted while it waits
            with self._changed:
                self._waiting.remove(mine)
                self._changed.notify_all()


_TURNS: dict[str, Turns] = {}
_TURNS_GUARD = Lock()


def turns_at(database: str) -> Turns:
    """Return the lock of a database file; all stores of this process share it."""
    with _TURNS_GUARD:
        return _TURNS.setdefault(database, Turns())


DEFAULT_DATABASE = "data/judgeboard.db"
BUSY_SECONDS = 30.0
_HALF_A_URL = re.compile(r"(?:postgres|postgresql|sqlite)(?:\+\w+)?:(?!//)", re.IGNORECASE)
_REVISION = re.compile(r"\d{4}", re.ASCII)
_NO_ADDRESS = "--db needs a path or a database URL (postgresql://user@host/name)"


class Readable(Protocol):
    """A `Store`, or the part of a store that a person may see (`hidden_rows.Seen`)."""

    def reading(self) -> AbstractContextManager[Connection]:
        """A transaction that only reads."""


@dataclass(frozen=True, slots=True)
class Store:
    """An open database. Functions of the store take a ``Connection`` and return no row objects.

    If another process locks a SQLite database for more than 30 seconds, `writing` raises OperationalError. With
    ``given_up``, it waits on until this event is set.
    """

    engine: Engine
    given_up: Event | None = None

    @property
    def is_sqlite(self) -> bool:
        """Whether this is SQLite."""
        return self.engine.dialect.name == "sqlite"

    def lives_in(self, file: Path) -> bool:
        """Return whether a file is this database."""
        return self.is_sqlite and file.exists() and file.samefile(str(self.engine.url.database))

    @property
    def shown_url(self) -> str:
        """The address with its password masked."""
        return _shown(self.engine.url)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that only reads; on SQLite it waits for no writer. Raises BadInput for ids above 2**63 - 1."""
        with _values_that_fit(), self.engine.connect() as connection:
            yield connection
            connection.rollback()

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that writes, committed at the end of the context.

        On SQLite it locks the database at once (BEGIN IMMEDIATE), so a thread must not open a second one inside it.
        Raises BadInput if the database file is read-only or the database cannot store a value.
        """
        turn = turns_at(str(Path(self.engine.url.database or "").resolve())).turn() if self.is_sqlite else nullcontext()
        try:
            with (
                turn,  # comes before the connection: there may be more writers than connections in the pool
                _values_that_fit(),
                self.engine.connect().execution_options(
                    judgeboard_write=True, judgeboard_given_up=self.given_up
                ) as connection,
                connection.begin(),
            ):
                yield connection
        except OperationalError as error:
            if str(error.orig) in CANNOT_WRITE:
                raise BadInput(f"cannot write to {self.shown_url}: {_reason(error)}") from error
            raise

    def close(self) -> None:
        """Close every connection."""
        self.engine.dispose()


@contextmanager
def _values_that_fit() -> Iterator[None]:
    try:
        yield
    except DataError as error:
        raise BadInput(f"the database cannot hold a value: {str(error.orig).partition(chr(10))[0]}") from error
    except OverflowError as error:
        if _TOO_LARGE not in str(error):
            raise
        raise BadInput("the database cannot hold a value: a whole number must be below 2**63") from error


def database_url(database: str | Path | None = None) -> URL:
    """Return the URL from ``--db`` (a path means SQLite), otherwise ``JUDGEBOARD_DB``, otherwise the default file."""
    if database == "":  # for example from an unset shell variable: the user did not mean the default file
        raise BadInput("the database is an empty text: give a path or URL to --db, or leave the option out")
    text_ = str(database or load_settings().db or DEFAULT_DATABASE)
    if _HALF_A_URL.match(text_):
        raise BadInput(_NO_ADDRESS)
    if "://" not in text_:
        return URL.create("sqlite", database=str(Path(text_).expanduser()))
    try:
        url = make_url(text_)
    except (ArgumentError, ValueError) as error:  # the text is not shown: it may contain a password
        raise BadInput(_NO_ADDRESS) from error
    if url.drivername in {"postgres", "postgresql"}:
        url = url.set(drivername="postgresql+psycopg")
    return url


def open_store(database: str | Path | None = None, *, create: bool = False) -> Store:
    """Open the database; with ``create``, create a missing one, and the folder of a SQLite file.

    Raises MissingDatabase, SchemaMismatch if the schema has another revision, or BadInput if it cannot be opened.
    """
    store = Store(connect(database_url(database), create=create))
    try:
        if create and current_revision(store) is None:
            upgrade(store)
        else:
            check_usable(store)
    except BaseException:
        store.close()
        raise
    return store


def check_usable(store: Store) -> None:
    """Raise MissingDatabase, SchemaMismatch if the schema has another revision, or BadInput if it cannot be read."""
    url = store.engine.url
    # To open a missing SQLite file would create it.
    gone = store.is_sqlite and not Path(str(url.database)).exists()
    revision = None if gone else current_revision(store)
    if revision is None:
        raise MissingDatabase(_missing(url))
    if revision != HEAD:
        raise SchemaMismatch(_mismatch(url, revision))


def connect(url: URL, *, create: bool) -> Engine:
    """Return an engine; with ``create``, a missing SQLite file is created, for its owner alone."""
    if url.get_backend_name() != "sqlite":
        return _served_engine(url)
    if url.query:
        raise BadInput(f"a SQLite URL takes no options (?{next(iter(url.query))}=…): use the path alone")
    path = Path(url.database or "")
    if not url.database or str(path) == ":memory:":
        raise BadInput("Judgeboard needs a database file, not an in-memory database. Use --db PATH.")
    if path.is_dir():
        raise BadInput(f"{path} is a folder: use --db with the path of a database file")
    if not path.exists():
        if not create:
            raise MissingDatabase(_missing(url))
        try:
            path.parent.mkdir(exist_ok=True)
        except FileNotFoundError as error:  # only one folder is made: a path with more is often a typing error
            raise BadInput(
                f"cannot create {path}: there is no folder {path.parent.parent}. Create it, or change --db"
            ) from error
        except OSError as error:
            raise BadInput(f"cannot create the folder of {path}: {error.strerror}") from error
        with suppress(OSError):  # SQLite names the cause. Its -wal and -shm files get the mode of the database.
            open(path, "ab", opener=owner_only).close()
    engine = create_engine(url, connect_args={"timeout": BUSY_SECONDS, "check_same_thread": False})
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    prepare_compiler(engine)
    return engine


def _served_engine(url: URL) -> Engine:
    try:
        engine = create_engine(url, pool_pre_ping=True, pool_size=10, max_overflow=20)
    except (NoSuchModuleError, ModuleNotFoundError) as error:
        raise BadInput(f"no driver for {url.drivername}: use a path (SQLite) or postgresql://user@host/name") from error
    prepare_compiler(engine)
    return engine


def current_revision(store: Store) -> str | None:
    """Return the schema's revision, or None without a schema; raise BadInput if the database cannot be read."""
    try:
        with store.reading() as connection:
            revision = None
            if inspect(connection).has_table("alembic_version"):
                revision = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
            # Another program may share a schema on a server, but not a SQLite file.
            if revision is None and store.is_sqlite and inspect(connection).get_table_names():
                raise BadInput(f"{store.shown_url} has the tables of another program: use another file")
            return revision
    except Exception as error:
        if isinstance(error, JudgeboardError):
            raise
        raise BadInput(f"cannot open {store.shown_url}: {_reason(error)}") from error


def upgrade(store: Store) -> str | None:
    """Create or upgrade the schema in one transaction; return its previous revision.

    Raises SchemaMismatch if the schema is too old or newer than this program, BadInput if the database refuses.
    """
    from judgeboard.store.migrations.run import run_upgrade

    before = current_revision(store)
    if before is not None and not OLDEST <= before <= HEAD:
        raise SchemaMismatch(_mismatch(store.engine.url, str(before)))
    try:
        with store.writing() as connection:
            run_upgrade(connection)
    except (OperationalError, ProgrammingError) as error:
        raise BadInput(f"cannot migrate {store.shown_url}: {_reason(error)}") from error
    return before


def _reason(error: Exception) -> str:
    lines = str(getattr(error, "orig", error)).strip().splitlines()
    return with_advice(masked(lines[0]) if lines else type(error).__name__)


def _prepare_sqlite(dbapi_connection: Any, _record: Any) -> None:
    dbapi_connection.isolation_level = None  # _begin_sqlite starts transactions, not the driver
    cursor = dbapi_connection.cursor()
    for pragma in (
        "journal_mode=WAL",
        "synchronous=FULL",
        "foreign_keys=ON",
        "recursive_triggers=ON",  # otherwise INSERT OR REPLACE deletes rows without firing the guard triggers
        "temp_store=MEMORY",
    ):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    options = connection.get_execution_options()
    given_up = options.get("judgeboard_given_up")
    while True:
        try:
            connection.exec_driver_sql("BEGIN IMMEDIATE" if options.get("judgeboard_write") else "BEGIN")
        except OperationalError as error:
            if given_up is None or given_up.is_set() or str(error.orig) != _LOCKED:
                raise
            _log.warning("%s: another process writes to it; waiting", _LOCKED)
        else:
            return


def _shown(url: URL) -> str:
    return masked(url.render_as_string(hide_password=True))


def _missing(url: URL) -> str:
    place = url.database if url.get_backend_name() == "sqlite" else _shown(url)
    return (
        f"no database at {place}. Create one with `judgeboard import FILE --db {place}`, "
        "or try the sample with `judgeboard demo`"
    )


def _mismatch(url: URL, revision: str) -> str:
    place = url.database if url.get_backend_name() == "sqlite" else _shown(url)
    if not _REVISION.fullmatch(revision):
        return f"{place} belongs to another program (its schema revision is {revision!r}): use another database"
    if revision > HEAD:
        what = f"supports revisions up to {HEAD}: a newer Judgeboard created this database, install that version"
    elif revision >= OLDEST:
        what = f"needs {HEAD}: make a backup and run `judgeboard migrate --db {place}`"
    else:
        what = (
            f"needs {HEAD}: export it with the version that created it (`judgeboard export all -o FOLDER`) "
            "and import the files into a new database with this version"
        )
    return f"{place} has schema revision {revision}, but this program {what}"

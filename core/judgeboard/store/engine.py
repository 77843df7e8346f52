"""Opens the database: one way for SQLite and PostgreSQL, short transactions, one write at a time on SQLite."""

import re
from collections import deque
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any, Protocol

from sqlalchemy import URL, Connection, Engine, create_engine, event, inspect, make_url, text
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, OperationalError, ProgrammingError

from judgeboard.errors import BadInput, JudgeboardError, MissingDatabase, SchemaMismatch
from judgeboard.settings import load_settings, masked
from judgeboard.store.migrations import HEAD
from judgeboard.store.row_filter import prepare_compiler

CANNOT_WRITE = ("unable to open database file", "attempt to write a readonly database")  # as SQLite says it
_ADVICE = {
    **dict.fromkeys(
        CANNOT_WRITE, "this user must be able to write the file and its folder; give the rights, or --db a copy"
    ),
    "database is locked": "another process writes to it; try again when that one is done",
    "database or disk is full": "free some disk space, then do it again",
}
_NO_SPACE = "No space left on device"  # as PostgreSQL ends its line


def with_advice(words: str) -> str:
    """Return what a driver says of a fault, with what to do about it in brackets where that is known."""
    advice = _ADVICE["database or disk is full"] if _NO_SPACE in words else _ADVICE.get(words)
    return words if advice is None else f"{words} ({advice})"


class Turns:
    """A lock that is handed on to whoever has waited longest."""

    def __init__(self) -> None:
        self._guard = Lock()
        self._waiting: deque[Lock] = deque()
        self._taken = False

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Wait for one's turn, and hand it on at the end."""
        mine = Lock()
        with self._guard:
            waits = self._taken
            self._taken = True
            if waits:
                mine.acquire()
                self._waiting.append(mine)
        if waits:
            self._wait(mine)
        try:
            yield
        finally:
            self._hand_on()

    def _wait(self, mine: Lock) -> None:
        try:
            mine.acquire()  # released by the one before
        except BaseException:  # interrupted while waiting: whoever comes next must not wait for us
            with self._guard:
                if mine in self._waiting:
                    self._waiting.remove(mine)
                    raise
            self._hand_on()
            raise

    def _hand_on(self) -> None:
        with self._guard:
            if self._waiting:
                self._waiting.popleft().release()
            else:
                self._taken = False


_TURNS: dict[str, Turns] = {}
_TURNS_GUARD = Lock()


def turns_at(database: str) -> Turns:
    """Return the turns at a file, the same for every store that this process opens on it."""
    with _TURNS_GUARD:
        return _TURNS.setdefault(database, Turns())


DEFAULT_DATABASE = "data/judgeboard.db"
BUSY_SECONDS = 30.0
_HALF_A_URL = re.compile(r"(?:postgres|postgresql|sqlite)(?:\+\w+)?:(?!//)", re.IGNORECASE)
_NO_ADDRESS = "--db is neither a path nor a database URL (postgresql://user@host/name)"


class Readable(Protocol):
    """What can be read: a `Store`, or a store as one person may see it (`hidden_rows.Seen`)."""

    def reading(self) -> AbstractContextManager[Connection]:
        """A transaction that only reads."""


@dataclass(frozen=True, slots=True)
class Store:
    """An open database. No row object leaves a transaction; every function of the store takes a ``Connection``."""

    engine: Engine

    @property
    def is_sqlite(self) -> bool:
        """Whether the embedded engine is in use."""
        return self.engine.dialect.name == "sqlite"

    def lives_in(self, file: Path) -> bool:
        """Whether a file is the one that holds this database."""
        return self.is_sqlite and file.exists() and file.samefile(str(self.engine.url.database))

    @property
    def shown_url(self) -> str:
        """The address with its password masked."""
        return _shown(self.engine.url)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that only reads; it never waits for a writer on SQLite (WAL)."""
        with self.engine.connect() as connection:
            yield connection
            connection.rollback()

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that writes: taken at once on SQLite (BEGIN IMMEDIATE), committed at the end or not at all.

        On SQLite the threads of a process take turns, so one must not open a second one inside.

        Raises:
            BadInput: The file of the database can only be read.
        """
        turn = turns_at(str(Path(self.engine.url.database or "").resolve())).turn() if self.is_sqlite else nullcontext()
        try:
            with turn, self.engine.connect().execution_options(judgeboard_write=True) as connection, connection.begin():
                yield connection
        except OperationalError as error:
            if str(error.orig) in CANNOT_WRITE:
                raise BadInput(f"cannot write to {self.shown_url}: {_reason(error)}") from error
            raise

    def close(self) -> None:
        """Give back every connection."""
        self.engine.dispose()


def database_url(given: str | Path | None = None) -> URL:
    """Return the address meant by ``--db``, else ``JUDGEBOARD_DB``, else the default file; a bare path is SQLite.

    Raises:
        BadInput: the text is no address that SQLAlchemy understands.
    """
    text_ = str(given or load_settings().db or DEFAULT_DATABASE)
    if _HALF_A_URL.match(text_):
        raise BadInput(_NO_ADDRESS)
    if "://" not in text_:
        return URL.create("sqlite", database=str(Path(text_).expanduser()))
    try:
        url = make_url(text_)
    except (ArgumentError, ValueError) as error:  # never with the text itself: it may hold a password
        raise BadInput(_NO_ADDRESS) from error
    if url.drivername in {"postgres", "postgresql"}:
        url = url.set(drivername="postgresql+psycopg")
    return url


def open_store(given: str | Path | None = None, *, create: bool = False) -> Store:
    """Open the database, migrating a fresh one when ``create`` is set.

    Raises:
        MissingDatabase: nothing is there and ``create`` is not set.
        SchemaMismatch: it was made by another revision.
        BadInput: it cannot be reached or is not a database.
    """
    url = database_url(given)
    store = Store(connect(url, create=create))
    try:
        revision = current_revision(store)
        if revision is None:
            if not create:
                raise MissingDatabase(_missing(url))
            upgrade(store)
        elif revision != HEAD:
            raise SchemaMismatch(_mismatch(url, revision))
    except BaseException:
        store.close()
        raise
    return store


def connect(url: URL, *, create: bool) -> Engine:
    """Return an engine with the settings both engines need; a SQLite file is made only when ``create`` is set."""
    if url.get_backend_name() != "sqlite":
        return _served_engine(url)
    if url.query:
        raise BadInput(f"a SQLite address takes no options (?{next(iter(url.query))}=…): give the path alone")
    path = Path(url.database or "")
    if not url.database or str(path) == ":memory:":
        raise BadInput("Judgeboard needs a file: an in-memory database is gone with its connection. Use --db PATH.")
    if not path.exists():
        if not create:
            raise MissingDatabase(_missing(url))
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise BadInput(f"cannot make the folder of {path}: {error.strerror}") from error
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
    """Return the revision of the schema, None where no schema is.

    Raises:
        BadInput: the database cannot be opened (no server, no rights, not a database, another program's file).
    """
    try:
        with store.reading() as connection:
            if not inspect(connection).has_table("alembic_version"):
                # A file is one program's; a schema of a server may be shared.
                if store.is_sqlite and inspect(connection).get_table_names():
                    raise BadInput(f"{store.shown_url} holds the tables of another program: name another file")
                return None
            return connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    except Exception as error:
        if isinstance(error, JudgeboardError):
            raise
        raise BadInput(f"cannot open {store.shown_url}: {_reason(error)}") from error


def upgrade(store: Store) -> str | None:
    """Bring the schema to the newest revision in one transaction; return the revision it had before.

    Raises:
        SchemaMismatch: it was made by an older or newer Judgeboard, or by another program.
        BadInput: the database refuses.
    """
    from judgeboard.store.migrations.run import run_upgrade

    before = current_revision(store)
    if before not in {None, HEAD}:
        raise SchemaMismatch(_mismatch(store.engine.url, str(before)))
    try:
        with store.writing() as connection:
            run_upgrade(connection)
    except (OperationalError, ProgrammingError) as error:
        raise BadInput(f"cannot migrate {store.shown_url}: {error.orig}") from error
    return before


def _reason(error: Exception) -> str:
    """What the database says in its first line, without a password, and what to do about it."""
    said = str(getattr(error, "orig", error)).strip().splitlines()
    return with_advice(masked(said[0]) if said else type(error).__name__)


def _prepare_sqlite(dbapi_connection: Any, _record: Any) -> None:
    dbapi_connection.isolation_level = None  # transactions are begun by _begin_sqlite, not guessed by the driver
    cursor = dbapi_connection.cursor()
    for pragma in (
        "journal_mode=WAL",
        "synchronous=FULL",
        "foreign_keys=ON",
        "recursive_triggers=ON",  # else INSERT OR REPLACE deletes without firing the guards
        "temp_store=MEMORY",
    ):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    write = connection.get_execution_options().get("judgeboard_write", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")


def _shown(url: URL) -> str:
    return masked(url.render_as_string(hide_password=True))


def _missing(url: URL) -> str:
    place = url.database if url.get_backend_name() == "sqlite" else _shown(url)
    return (
        f"no database at {place}. Make one with `judgeboard import FILE --db {place}` "
        "or try the sample: `judgeboard demo`"
    )


def _mismatch(url: URL, revision: str) -> str:
    place = url.database if url.get_backend_name() == "sqlite" else _shown(url)
    if revision > HEAD:
        return (
            f"{place} is at schema revision {revision}, this program knows those up to {HEAD}: "
            "this database was made by a newer Judgeboard, install that version"
        )
    return (
        f"{place} is at schema revision {revision}, this program needs {HEAD}: export it with the version "
        "that made it (`judgeboard export all -o FOLDER`) and import the files into a new database with this one"
    )

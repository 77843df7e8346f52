"""Connections to SQLite and PostgreSQL, and their transactions; SQLite writes one transaction at a time."""

import logging
import os
import re
import shlex
import shutil
import sqlite3
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum, unique
from functools import wraps
from inspect import signature
from pathlib import Path
from threading import Condition, Lock
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, cast

from sqlalchemy import URL, Connection, Engine, create_engine, event, func, make_url, select, text
from sqlalchemy.exc import (
    ArgumentError,
    DataError,
    NoSuchModuleError,
    OperationalError,
    SQLAlchemyError,
)
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.pool import QueuePool

from judgeboard.errors import (
    BadInput,
    DamagedDatabase,
    DatabaseAway,
    MissingDatabase,
)
from judgeboard.formats.files import owner_only
from judgeboard.settings.masking import masked, register_secret
from judgeboard.settings.model import DEFAULT_DATABASE, load_settings
from judgeboard.store.clock import database_clock
from judgeboard.store.outages import CANNOT_WRITE, FULL, LOCKED, Patience, is_outage, reason_of
from judgeboard.store.sql_compiler import prepare_compiler

_log = logging.getLogger("judgeboard.store")
DAMAGE = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_NO_DAMAGE = {
    *(sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL, sqlite3.SQLITE_READONLY),
    *(
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_CONSTRAINT,
        sqlite3.SQLITE_PERM,
        sqlite3.SQLITE_INTERRUPT,
    ),
}
_UNDECODABLE = "Could not decode to UTF-8"
_OF_VALUES = (
    ArithmeticError,
    AttributeError,
    LookupError,
    TypeError,
    ValueError,
)  # raised by a wrong type of a value
LOOK_SECONDS = 5.0  # for damage, after an error that damage may have caused
ONE_PAGE = 4096  # bytes of a SQLite file without tables
LEAST_SPACE = 64 * 1024  # bytes on a disk that SQLite needs to open a database
_TOO_LARGE = "Python int too large to convert to SQLite INTEGER"


class Turns:
    """A lock that threads get in the order of the requests."""

    def __init__(self) -> None:
        self._condition = Condition()
        self._queue: deque[object] = deque()  # the first has the lock

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Hold the lock for the duration of the context."""
        mine = object()
        with self._condition:
            self._queue.append(mine)
        try:
            with self._condition:
                self._condition.wait_for(lambda: self._queue[0] is mine)
            yield
        finally:  # also if the thread is interrupted while it waits
            with self._condition:
                self._queue.remove(mine)
                self._condition.notify_all()


_TURNS: dict[str, Turns] = {}
_TURNS_GUARD = Lock()


def turns_at(database: str) -> Turns:
    """Return the lock of a database file, which all stores of this process share."""
    with _TURNS_GUARD:
        return _TURNS.setdefault(database, Turns())


BUSY_SECONDS = 30.0
BESIDE = ("-wal", "-shm")  # ends of the names of SQLite's files beside a database that is open
CLOSING_SECONDS = 1.0  # for the connections of other processes
_HALF_A_URL = re.compile(r"(?:postgres|postgresql|sqlite)(?:\+\w+)?:(?!//)", re.IGNORECASE)
_KEPT = "judgeboard_kept"
_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")
_NO_ADDRESS = "--db needs a path or a database URL (postgresql://user@host/name)"


class Readable(Protocol):
    """A `Store`, or the part of a store that a person may see (`hidden_rows.Seen`)."""

    def reading(self) -> AbstractContextManager[Connection]:
        """A transaction that only reads."""


@unique
class AdvisoryLock(IntEnum):
    """The numbers of the advisory locks on PostgreSQL. Who holds a lock keeps out all who wait for the same lock."""

    UPGRADES = 5_872_341
    JOB_REQUESTS = 7_216_418_205
    REVIEWER_NAMES = 7_216_418_206
    ENGINE_TABLES = 7_216_418_207
    LEADER = 7_216_418_208
    ANCHOR_SETS = 7_216_418_209


def take_lock(connection: Connection, lock: AdvisoryLock) -> None:
    """Keep out who takes the same lock until the transaction ends. SQLite needs none: it has only one writer."""
    if connection.dialect.name == "postgresql":
        connection.execute(select(func.pg_advisory_xact_lock(lock.value)))


@dataclass(frozen=True, slots=True)
class Store:
    """An open database. Functions of the store take a ``Connection`` and return no row objects.

    If another process locks a SQLite database for more than 30 seconds, or the database cannot be
    reached, a transaction raises OperationalError. With ``patience``, the transaction first waits,
    and raises DatabaseAway at the end.
    """

    engine: Engine
    patience: Patience | None = None

    @property
    def is_sqlite(self) -> bool:
        """Whether this is SQLite."""
        return self.engine.dialect.name == "sqlite"

    def lives_in(self, file: Path) -> bool:
        """Return whether a file is this database."""
        return self.is_sqlite and file.exists() and file.samefile(str(self.engine.url.database))

    @property
    def shown_url(self) -> str:
        """The address with a masked password."""
        return _shown(self.engine.url)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that only reads; on SQLite, readers do not wait for writers.

        Raises BadInput for ids above 2**63 - 1, and DamagedDatabase if the file of SQLite cannot be
        read.
        """
        with self._named_errors(), self._connected() as connection:
            connection.execution_options(**{_KEPT: {}})
            yield connection
            connection.rollback()

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that writes, committed at the end of the context.

        On SQLite, the transaction locks the database at once (BEGIN IMMEDIATE), so a thread must
        not open a second transaction inside the first. Raises BadInput if the database file is
        read-only or the database cannot store a value, and DamagedDatabase if the file of SQLite
        cannot be read.
        """
        turn = (
            turns_at(str(Path(self.engine.url.database or "").resolve())).turn()
            if self.is_sqlite
            else nullcontext()
        )
        try:
            with (
                turn,  # comes before the connection: there may be more writers than connections in the pool
                self._named_errors(),
                self._connected(writes=True) as connection,
            ):
                yield connection
                connection.commit()
        except OperationalError as error:
            if str(error.orig) in CANNOT_WRITE:
                raise BadInput(f"cannot write to the database: {reason_of(error)}") from error
            raise

    @contextmanager
    def _connected(self, *, writes: bool = False) -> Iterator[Connection]:
        """Yield a connection, with a transaction if ``writes`` is True; wait while the database is away."""
        while True:
            connection: Connection | None = None
            began = time.monotonic()
            try:
                connection = self.engine.connect()
                if writes:
                    given_up = None if self.patience is None else self.patience.given_up
                    connection.execution_options(
                        judgeboard_write=True, judgeboard_given_up=given_up
                    )
                    connection.begin()
                break
            except Exception as error:
                if connection is not None:
                    connection.close()
                if self.patience is None or not is_outage(error):
                    raise
                if not self.patience.wait(error, began):
                    raise DatabaseAway(
                        f"the database could not be used for {self.patience.seconds:g} s"
                    ) from error
        if self.patience is not None:
            self.patience.end_wait(began)
        with connection:
            yield connection

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        """Name the errors that are the fault of a value or of the file; other errors are raised unchanged."""
        try:
            yield
        except DataError as error:
            if not (self.is_sqlite and self._is_damage(error)):
                raise BadInput(
                    f"the database cannot hold a value: {str(error.orig).partition(chr(10))[0]}"
                ) from error
        except OverflowError as error:
            if _TOO_LARGE not in str(error):
                raise
            raise BadInput(
                "the database cannot hold a value: a whole number must be below 2**63"
            ) from error
        except (SQLAlchemyError, self.engine.dialect.loaded_dbapi.Error, *_OF_VALUES) as error:
            if self.is_sqlite and self._is_full(error):
                raise OperationalError(None, None, sqlite3.OperationalError(FULL)) from error
            if not self.is_sqlite or not self._is_damage(error):
                raise
        else:
            return
        # Without the cause: the message of the driver may have a text of the log, and a traceback
        # would show it.
        raise DamagedDatabase(damaged(self.engine.url)) from None

    def _is_full(self, error: Exception) -> bool:
        """Return whether a full disk is the cause. SQLite reports an I/O error if a file beside the database grows."""
        code = getattr(getattr(error, "orig", None) or error, "sqlite_errorcode", 0) & 0xFF
        if code != sqlite3.SQLITE_IOERR:
            return False
        return (
            shutil.disk_usage(Path(str(self.engine.url.database)).resolve().parent).free
            < LEAST_SPACE
        )

    def _is_damage(self, error: Exception) -> bool:
        """Return whether damage of the file caused an error; if the kind of error does not tell, check the file."""
        cause = getattr(error, "orig", None) or error
        code = getattr(cause, "sqlite_errorcode", 0) & 0xFF
        if code in DAMAGE or str(cause).startswith(_UNDECODABLE):
            return True
        if code in _NO_DAMAGE or isinstance(error, PoolTimeout):
            return False
        from judgeboard.store.integrity import check_integrity  # loads all tables

        with suppress(SQLAlchemyError, self.engine.dialect.loaded_dbapi.Error):
            return bool(check_integrity(self.engine, LOOK_SECONDS).faults)
        return False

    def checkpoint(self, seconds: float = BUSY_SECONDS) -> bool:
        """Write the content of SQLite's write-ahead log into the database file, and empty the log.

        Waits at most ``seconds`` for other connections. Returns False if another connection reads
        or writes for longer; then the log keeps a part. On PostgreSQL, does nothing and returns
        True.
        """
        if not self.is_sqlite:
            return True
        with closing(self.engine.raw_connection()) as connection:
            cursor = connection.cursor()
            cursor.execute(f"PRAGMA busy_timeout = {seconds * 1000:.0f}")
            (busy, _pages, _moved) = cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            cursor.execute(f"PRAGMA busy_timeout = {BUSY_SECONDS * 1000:.0f}")
        return not busy

    def close(self) -> None:
        """Close every connection; on SQLite, the database file then holds all rows, so that a copy is complete.

        Waits at most 1 second for other processes that use the file, and then raises no error.
        """
        pool = self.engine.pool
        if isinstance(pool, QueuePool) and pool.checkedin() + pool.checkedout():
            with suppress(
                SQLAlchemyError, self.engine.dialect.loaded_dbapi.Error
            ):  # for example, a read-only file
                self.checkpoint(CLOSING_SECONDS)
        self.engine.dispose()


def kept_while_reading(
    read: Callable[Concatenate[Connection, _Arguments], _Result],
) -> Callable[Concatenate[Connection, _Arguments], _Result]:
    """Keep the result until the end of a transaction that only reads, for several parts of a figure.

    A transaction that writes may change the result, and reads each time. All arguments must be
    hashable.
    """
    parameters = signature(read)

    @wraps(read)
    def reading(
        connection: Connection, /, *args: _Arguments.args, **keywords: _Arguments.kwargs
    ) -> _Result:
        results: dict[Any, _Result] | None = connection.get_execution_options().get(_KEPT)
        if results is None:
            return read(connection, *args, **keywords)
        bound = parameters.bind(connection, *args, **keywords)
        bound.apply_defaults()  # a default that is spelled out is the same argument
        key = read, *list(bound.arguments.values())[1:]
        if key not in results:
            results[key] = read(connection, *args, **keywords)
        return results[key]

    return reading


def is_reading(connection: Connection) -> bool:
    """Return whether a transaction only reads."""
    return _KEPT in connection.get_execution_options()


def forget_kept(connection: Connection) -> None:
    """Forget the kept results, because other rows are visible to the connection from now on."""
    if (results := connection.get_execution_options().get(_KEPT)) is not None:
        results.clear()


def database_url(database: str | Path | None = None) -> URL:
    """Return the URL from ``--db`` (a path means SQLite), otherwise ``JUDGEBOARD_DB``, otherwise the default file."""
    if (
        database == ""
    ):  # for example from an unset shell variable: the user did not mean the default file
        raise BadInput(
            "the database is an empty text: give a path or URL to --db, or leave the option out"
        )
    text_ = str(database or load_settings().db or DEFAULT_DATABASE)
    if _HALF_A_URL.match(text_):
        raise BadInput(_NO_ADDRESS)
    if "://" not in text_:
        return URL.create("sqlite", database=str(Path(text_).expanduser()))
    try:
        url = make_url(text_)
    except (ArgumentError, ValueError) as error:  # the text may contain a password: do not show it
        raise BadInput(_NO_ADDRESS) from error
    register_secret(url.password)
    if url.drivername in {"postgres", "postgresql"}:
        url = url.set(drivername="postgresql+psycopg")
    return url


def connect(url: URL, *, create: bool) -> Engine:
    """Return an engine; with ``create``, a missing SQLite file is created for the owner alone."""
    if url.get_backend_name() != "sqlite":
        try:
            engine = create_engine(url, pool_pre_ping=True, pool_size=10, max_overflow=20)
        except (NoSuchModuleError, ModuleNotFoundError) as error:
            raise BadInput(
                f"no driver for {url.drivername}: use a path (SQLite) or postgresql://user@host/name"
            ) from error
        prepare_compiler(engine)
        if engine.dialect.name == "postgresql":
            _follow_clock(engine)
        return engine
    if url.query:
        raise BadInput(
            f"a SQLite URL takes no options (?{next(iter(url.query))}=…): use the path alone"
        )
    path = Path(url.database or "")
    if not url.database or str(path) == ":memory:":
        raise BadInput(
            "Judgeboard needs a database file, not an in-memory database. Use --db PATH."
        )
    if path.is_dir():
        raise BadInput(f"{path} is a folder: use --db with the path of a database file")
    if not path.exists():
        if not create:
            raise MissingDatabase(missing(url))
        try:
            path.parent.mkdir(exist_ok=True)
        except (
            FileNotFoundError
        ) as error:  # only one folder is made: a path with more is often a typing error
            raise BadInput(
                f"cannot create {path}: there is no folder {path.parent.parent}. Create it, or change --db"
            ) from error
        except OSError as error:
            raise BadInput(f"cannot create the folder of {path}: {error.strerror}") from error
        with suppress(
            OSError
        ):  # SQLite names the cause. The -wal and -shm files get the mode of the database.
            open(path, "ab", opener=owner_only).close()
    engine = create_engine(url, connect_args={"timeout": BUSY_SECONDS, "check_same_thread": False})
    event.listen(engine, "do_connect", _open_file)
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    prepare_compiler(engine)
    return engine


def _follow_clock(engine: Engine) -> None:
    """Set the clock of this process by the server: with each new connection, and once a minute."""

    def set_clock(dbapi_connection: Any, *, anew: bool) -> None:
        def read() -> datetime:
            (moment,) = dbapi_connection.execute("SELECT clock_timestamp()").fetchone()
            dbapi_connection.rollback()
            return cast("datetime", moment)

        with suppress(engine.dialect.loaded_dbapi.Error):  # the next statement names the problem
            database_clock.set_by(read, anew=anew)

    event.listen(engine, "connect", lambda connection, _record: set_clock(connection, anew=True))
    event.listen(
        engine, "checkout", lambda connection, _record, _proxy: set_clock(connection, anew=False)
    )


def check_writable(store: Store) -> None:
    """Commit a change that changes nothing; raise an error of the driver or BadInput if an answer cannot be stored."""
    with store.writing() as connection:
        if store.is_sqlite:
            # First, a long answer is written and rolled back. A small cache makes SQLite write the
            # answer to the disk, and the next change over the answer.
            cache = connection.exec_driver_sql("PRAGMA cache_size").scalar_one()
            version = connection.exec_driver_sql("PRAGMA user_version").scalar_one()
            long_answer = (
                "CREATE TABLE probe (answer)",
                "INSERT INTO probe VALUES (zeroblob(65536))",
            )
            try:
                for statement in ("PRAGMA cache_size = 1", *long_answer):
                    connection.exec_driver_sql(statement)
                connection.rollback()
            finally:
                connection.exec_driver_sql(f"PRAGMA cache_size = {cache}")
            connection.exec_driver_sql(f"PRAGMA user_version = {version}")  # writes a page
        elif connection.scalar(text("SHOW transaction_read_only")) == "on":
            raise BadInput("the database is read-only")
        else:
            connection.execute(text("SELECT txid_current()"))  # the commit is written


def _is_sealed(path: Path) -> bool:
    """Return whether this user cannot write the file or its folder, and no process has the file open."""
    effective = os.access in os.supports_effective_ids
    if not path.exists() or all(
        os.access(each, os.W_OK, effective_ids=effective) for each in (path, path.parent)
    ):
        return False
    return not any(path.with_name(f"{path.name}{end}").exists() for end in BESIDE)


def _open_file(_dialect: Any, _record: Any, arguments: list[Any], options: dict[str, Any]) -> None:
    """Open a file that this user cannot write as immutable, and create no file.

    SQLite creates files beside a database in order to read the database. SQLite fails if the user
    may not create such files. If the user may, the owner of the database cannot write the new files
    later. A file that has gone, for example with the disk, must not be replaced by an empty file.
    """
    path = Path(arguments[0]).absolute()
    arguments[0] = f"{path.as_uri()}?{'immutable=1' if _is_sealed(path) else 'mode=rw'}"
    options["uri"] = True


def _prepare_sqlite(dbapi_connection: Any, _record: Any) -> None:
    dbapi_connection.isolation_level = None  # _begin_sqlite starts transactions, not the driver
    cursor = dbapi_connection.cursor()
    with suppress(
        sqlite3.OperationalError
    ):  # a read-only copy, made with VACUUM INTO, has no write-ahead log
        cursor.execute("PRAGMA journal_mode=WAL")
    for pragma in (
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
            connection.exec_driver_sql(
                "BEGIN IMMEDIATE" if options.get("judgeboard_write") else "BEGIN"
            )
        except OperationalError as error:
            if given_up is None or given_up.is_set() or str(error.orig) != LOCKED:
                raise
            _log.warning("%s: another process writes to it; waiting", LOCKED)
        else:
            return


def _shown(url: URL) -> str:
    return masked(url.render_as_string(hide_password=True))


def damaged(url: URL) -> str:
    """Return that a SQLite file is damaged, and the next step."""
    return (
        f"{url.database} is damaged, or it is not a SQLite database: restore a backup "
        f"(`judgeboard db restore FILE`), or recover what is left with `sqlite3 {url.database} .recover`"
    )


def missing(url: URL) -> str:
    """Return that there is no database, or that a database of a server has no tables yet, and how to create them."""
    if url.get_backend_name() == "sqlite":
        return (
            f"no database at {url.database}. Create one with `judgeboard import FILE --db {url.database}`, "
            "or try the sample with `judgeboard quickstart`"
        )
    place = shlex.quote(_shown(url))
    return (
        f"{_shown(url)} has no tables of Judgeboard yet. Create them with `judgeboard db migrate --db {place}`, "
        f"then import a log with `judgeboard import FILE --db {place}`"
    )

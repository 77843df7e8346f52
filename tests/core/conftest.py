"""A log with judges and people, and short ways to read bytes as a file."""

import fcntl
import io
import json
import shutil
from copy import deepcopy

import pytest

from command_lines import Shell
from graded_log import GradedLog
from judgeboard.domain import Rejected
from judgeboard.imports.importing import import_file
from judgeboard.imports.reading import read_records
from judgeboard.store.opening import open_store


@pytest.fixture
def shell(capsys):
    """A shell in which commands are typed."""
    return Shell(capsys)


@pytest.fixture
def own_store(request):
    """The database of the test: ``store`` if the test uses both engines, else ``sqlite_store``."""
    both_engines = "store" in request.fixturenames
    return request.getfixturevalue("store" if both_engines else "sqlite_store")


@pytest.fixture
def log(store):
    """A fresh database on each engine, to which a test says what happened."""
    return GradedLog(store)


@pytest.fixture
def sqlite_log(sqlite_store):
    return GradedLog(sqlite_store)


@pytest.fixture
def graded_once(store, fill_once):
    """Return ``graded_once("name", fill)``: a log that ``fill`` filled once (see `fill_once`), and what it returned."""

    def filled(name, fill):
        def fill_new(new):
            log = GradedLog(new)
            returned = fill(log)
            return returned, log.reviewers, log.asks, log.numbers

        returned, *state = deepcopy(fill_once(name, store, fill_new))
        return GradedLog(store, *state), returned

    return filled


@pytest.fixture(scope="session")
def public_database(shared, sqlite_template, folder_of_run):
    """Return ``public_database((file, kind), …)``: a database of a public set, which tests only read.

    Each set is imported once for all processes of a run, as its own documentation says; sets that
    begin with the same files share what these bring.
    """

    def database(*files):
        *before, (name, kind) = files
        path = folder_of_run / f"{'+'.join(each for each, _ in files)}.db"
        with path.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not path.exists():
                unfinished = path.with_suffix(".unfinished")
                shutil.copyfile(database(*before) if before else sqlite_template, unfinished)
                store = open_store(unfinished)
                file = shared / "data" / f"{name}.jsonl.gz"
                summary = import_file(
                    store, file, kind=kind, rejected=path.with_suffix(".rejected.jsonl")
                )
                assert summary.differing == 0
                store.close()
                unfinished.rename(path)
        return path

    return database


RAGTRUTH = (("ragtruth.responses", "responses"), ("ragtruth.judgements", "verdicts"))


@pytest.fixture(scope="session")
def unlabelled_ragtruth_file(public_database):
    """A database of RAGTruth without people: its answers and the verdicts of seven recorded detectors."""
    return public_database(*RAGTRUTH)


@pytest.fixture(scope="session")
def ragtruth_file(public_database):
    """A database of RAGTruth: its answers, people's grades and the verdicts of seven recorded detectors."""
    return public_database(*RAGTRUTH, ("ragtruth.human", "grades"))


@pytest.fixture(scope="module")
def ragtruth(ragtruth_file, tmp_path_factory):
    """A copy of it for one module."""
    path = tmp_path_factory.mktemp("ragtruth") / "ragtruth.db"
    shutil.copyfile(ragtruth_file, path)
    store = open_store(path)
    yield store
    store.close()


@pytest.fixture
def reading():
    """Return ``reading(data, name="log.jsonl", kind="responses", **options)``."""

    def read(data, name="log.jsonl", kind="responses", **options):
        return read_records(io.BytesIO(data), kind=kind, name=name, **options)

    return read


@pytest.fixture
def one(reading):
    """Return ``one(row, kind=…)``: what becomes of a single row of JSON lines."""

    def read(row, kind="responses", **options):
        (item,) = reading(json.dumps(row).encode(), kind=kind, **options)
        return item

    return read


@pytest.fixture
def refused(one):
    """Return ``refused(row, kind=…)``: the field and reason of a row that must be rejected."""

    def read(row, kind="responses", **options):
        item = one(row, kind=kind, **options)
        assert isinstance(item, Rejected), item
        assert item.row == row
        return item.field, item.reason

    return read

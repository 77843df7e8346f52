"""A log with judges and people, and short ways to read bytes as a file."""

import io
import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from graded_log import GradedLog
from judgeboard.domain import Rejected
from judgeboard.imports.importing import import_file, read_records
from judgeboard.store.engine import Store, open_store


@pytest.fixture
def log(store: Store) -> GradedLog:
    """A fresh database on each engine, to which a test says what happened."""
    return GradedLog(store)


@pytest.fixture
def sqlite_log(sqlite_store: Store) -> GradedLog:
    return GradedLog(sqlite_store)


@pytest.fixture(scope="session")
def ragtruth_file(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database of RAGTruth: its answers, people's grades and the verdicts of seven recorded detectors."""
    folder = tmp_path_factory.mktemp("ragtruth")
    store = open_store(folder / "ragtruth.db", create=True)
    for part, kind in (("responses", "responses"), ("human", "grades"), ("judgements", "verdicts")):
        file = shared / "data" / f"ragtruth.{part}.jsonl.gz"
        assert not import_file(store, file, kind=kind, rejected=folder / "rejected.jsonl").rejected
    store.close()
    return folder / "ragtruth.db"


@pytest.fixture(scope="module")
def ragtruth(ragtruth_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
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

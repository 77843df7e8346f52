"""A log with judges and people, and short ways to read bytes as a file."""

import io
import json

import pytest

from graded_log import GradedLog
from judgeboard.domain import Rejected
from judgeboard.imports.importing import read_records
from judgeboard.store.engine import Store


@pytest.fixture
def log(store: Store) -> GradedLog:
    """A fresh database on each engine, to which a test says what happened."""
    return GradedLog(store)


@pytest.fixture
def sqlite_log(sqlite_store: Store) -> GradedLog:
    return GradedLog(sqlite_store)


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

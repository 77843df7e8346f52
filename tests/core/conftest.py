"""Fixtures of the tests that read a log with judges and people."""

import pytest

from graded_log import GradedLog
from judgeboard.store.engine import Store


@pytest.fixture
def log(store: Store) -> GradedLog:
    """A fresh database on each engine, to which a test says what happened."""
    return GradedLog(store)


@pytest.fixture
def sqlite_log(sqlite_store: Store) -> GradedLog:
    return GradedLog(sqlite_store)

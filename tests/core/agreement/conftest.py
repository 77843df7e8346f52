"""Agreement as a program gets it, on whatever a test has stored."""

import shutil
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event

from judgeboard.agreement.measure import measure_agreement
from judgeboard.agreement.result import AgreementResult
from judgeboard.store.engine import Store, open_store

Measured = Callable[..., AgreementResult]


@pytest.fixture
def measured(store: Store) -> Measured:
    """Return ``measured(of=…, …)`` on a fresh database of each engine."""

    def measure(**choice: Any) -> AgreementResult:
        return measure_agreement(store, **choice)

    return measure


@pytest.fixture
def new_sqlite_store(sqlite_template: Path, tmp_path: Path) -> Callable[[], Store]:
    """Return a function that opens one more fresh SQLite database, for tests that need several."""
    numbers = count(1)

    def opened() -> Store:
        path = tmp_path / f"{next(numbers)}.db"
        shutil.copyfile(sqlite_template, path)
        store = open_store(path)
        store.close()
        event.listen(store.engine, "connect", lambda connection, _record: connection.execute("PRAGMA synchronous=OFF"))
        return store

    return opened

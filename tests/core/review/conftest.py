"""A flagged answer on a desk."""

import pytest

from judgeboard.store.engine import Store
from review_desk import Desk, flagged_desk


@pytest.fixture
def desk(store: Store) -> Desk:
    return flagged_desk(store)


@pytest.fixture
def sqlite_desk(sqlite_store: Store) -> Desk:
    return flagged_desk(sqlite_store)


@pytest.fixture
def flag(desk: Desk) -> int:
    """The flag that waits."""
    return desk.judge(0.3)

"""Queues and a flagged answer, with reviewers, on each engine."""

import pytest

from judgeboard.store.engine import Store
from queue_case import QueueCase, queue_case
from review_case import ReviewCase, flagged_case


@pytest.fixture
def case(store: Store) -> QueueCase:
    return queue_case(store)


@pytest.fixture
def team(store: Store) -> ReviewCase:
    return flagged_case(store)


@pytest.fixture
def sqlite_team(sqlite_store: Store) -> ReviewCase:
    return flagged_case(sqlite_store)


@pytest.fixture
def flag(team: ReviewCase) -> int:
    """The id of the open flag."""
    return team.judge(0.3)

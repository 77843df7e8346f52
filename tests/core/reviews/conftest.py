"""Queues and a flagged answer, with reviewers, on each engine."""

import pytest

from queue_case import queue_case
from review_case import flagged_case


@pytest.fixture
def case(store):
    return queue_case(store)


@pytest.fixture
def team(store):
    return flagged_case(store)


@pytest.fixture
def flag(team):
    """The id of the open flag."""
    return team.judge(0.3)

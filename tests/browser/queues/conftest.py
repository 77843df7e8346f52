"""A server on a database with queues, one per module: each test makes queues of its own there."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page

from browser_windows import Reviewers, Windows
from judgeboard.store.engine import Store
from served_queues import ServedQueues, served_queues


@pytest.fixture(scope="module")
def site(new_store: Callable[[], Store], port: int) -> Iterator[ServedQueues]:
    with served_queues(new_store(), port) as started:
        yield started


@pytest.fixture(scope="module")
def mara(windows: Windows) -> Iterator[Page]:
    """A window of Mara: the tests that need no more than one person's open their queues in it, one after the other."""
    opened = Reviewers(windows)
    yield opened("Mara")
    opened.close()

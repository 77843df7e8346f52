"""A server on a database with queues, and a window of Mara there: each test makes queues of its own."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Page

from browser_windows import Reviewers, Windows
from judgeboard.store.engine import Store
from served_queues import ServedQueues, served_queues


@pytest.fixture(scope="package")
def site(new_store: Callable[[], Store], port: int) -> Iterator[ServedQueues]:
    with served_queues(new_store(), port) as started:
        yield started


@pytest.fixture(scope="package")
def mara(browser: Browser, windows_at: dict[str, Windows], site: ServedQueues) -> Iterator[Page]:
    """A window of Mara: the tests that need no more than one person's open their queues in it, one after the other."""
    opened = Reviewers(windows_at.setdefault(site.url, Windows(browser, site.url)))
    yield opened("Mara")
    opened.close()

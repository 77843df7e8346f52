"""A server on a database with queues, and a window of Mara there: each test makes queues of its own."""

import pytest

from browser_windows import Reviewers, Windows
from served_queues import served_queues


@pytest.fixture(scope="package")
def site(new_store, port):
    with served_queues(new_store(), port) as started:
        yield started


@pytest.fixture(scope="package")
def mara(browser, windows_at, site):
    """A window of Mara: the tests that need no more than one person's open their queues in it, one after the other."""
    opened = Reviewers(windows_at.setdefault(site.url, Windows(browser, site.url)))
    yield opened("Mara")
    opened.close()

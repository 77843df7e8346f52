"""A real Chromium and a real server on a database of its own, one per module."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from browser_windows import Reviewers, Windows
from judgeboard.store.engine import Store, open_store
from page_rows import PageRows, fill_pages
from served import serving

# The shell draws the same pages with a seventh less work: it has no window of its own.
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@dataclass(frozen=True)
class Site:
    """A served database."""

    url: str
    store: Store
    rows: PageRows


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium as the system has it; none is downloaded.

    One per module: the driver keeps an event loop in the main thread, in which no later test could start its own.
    """
    path = next((found for name in NAMES if (found := shutil.which(name))), None)
    if path is None:
        pytest.skip("Chromium is missing: apt-get install chromium-headless-shell")
    expect.set_options(timeout=20_000)  # a loaded machine takes its time; a passing check waits no longer than it must
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=path, args=list(ARGUMENTS))
        yield launched
        launched.close()


@pytest.fixture(scope="module")
def site(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A server on the rows of page_rows."""
    path = tmp_path_factory.mktemp("site") / "site.db"
    shutil.copyfile(sqlite_template, path)
    store = open_store(path)
    rows = fill_pages(store)
    with serving(path) as url:
        yield Site(url, store, rows)
    store.close()


@pytest.fixture(scope="module")
def windows(browser: Browser, site: Site) -> Iterator[Windows]:
    """The windows of a module."""
    opened = Windows(browser, site.url)
    yield opened
    opened.close()


@pytest.fixture
def reviewer(windows: Windows) -> Iterator[Reviewers]:
    """Opens browsers of reviewers: ``reviewer("Mara")`` is a page whose reviewer is named already."""
    opened = Reviewers(windows)
    yield opened
    opened.close()

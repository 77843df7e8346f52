"""A real Chromium, and a real server on a database of its own, one per module and one after the other at one address.

So the windows, into which pages are loaded once, stay open from module to module.
"""

import re
from dataclasses import dataclass
from pathlib import Path

import pytest
from pages_in_browser import launch
from playwright.sync_api import expect, sync_playwright

from browser_windows import Reviewers, Windows, keep_pictures
from judgeboard.store.engine import Store
from page_rows import PageRows, fill_pages
from served import free_port, serving

KEPT = Path(".browser-failures")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """Keep a picture of each page of a test that fails; the report of the failure names their folder.

    Not what the browser did before: to record it takes a seventh of the time of all tests.
    """
    try:
        yield
    except BaseException:
        folder = item.config.rootpath / KEPT / re.sub(r"[^\w.-]+", "-", item.nodeid)
        folder.mkdir(parents=True, exist_ok=True)
        item.add_report_section("call", "browser", f"The pictures are in {folder}")
        keep_pictures(folder)
        raise


@dataclass(frozen=True)
class Site:
    """A served database."""

    url: str
    store: Store
    rows: PageRows
    server: serving


@pytest.fixture(scope="package")
def browser():
    """Chromium as the system has it; none is downloaded.

    It ends with the tests of this folder: the driver keeps an event loop in the main thread, in
    which no later test could start its own.
    """
    expect.set_options(
        timeout=60_000
    )  # a loaded machine takes its time; a passing check waits no longer than it must
    with sync_playwright() as playwright:
        try:
            launched = launch(playwright, "--process-per-site")
        except FileNotFoundError as error:
            pytest.skip(str(error))
        yield launched
        launched.close()


@pytest.fixture(scope="package")
def port():
    """The port of the servers that the modules start one after the other."""
    return free_port()


@pytest.fixture(scope="module")
def site(new_store, port):
    """A server on the rows of page_rows."""
    store = new_store()
    rows = fill_pages(store)
    server = serving(str(store.engine.url.database), port)
    with server as url:
        yield Site(url, store, rows, server)


@pytest.fixture(scope="package")
def windows_at(browser):
    """The windows at each address."""
    opened = {}
    yield opened
    for windows in opened.values():
        windows.close()


@pytest.fixture(scope="module")
def windows(browser, windows_at, site):
    """The windows at the address of a module."""
    windows = windows_at.setdefault(site.url, Windows(browser, site.url))
    windows.forget()
    return windows


@pytest.fixture(scope="module")
def page(windows):
    """Mara's page, which is loaded once: the tests of a module find it as the one before left it, and `visit` others.

    For tests that decide nothing, or that say themselves what they start from.
    """
    opened = Reviewers(windows)
    yield opened("Mara")
    opened.close()


@pytest.fixture
def reviewer(windows):
    """Opens browsers of reviewers: ``reviewer("Mara")`` is a page whose reviewer is named already."""
    opened = Reviewers(windows)
    yield opened
    opened.close()

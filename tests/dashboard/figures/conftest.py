"""The pages of figures, run without a browser on a log of six weeks."""

import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from figures_log import fill_figures
from graded_log import GradedLog


@pytest.fixture
def open_page(open_page, page_store):
    """Runs a page on ``sqlite_store`` for who has not given a name: ``open_page("trends", show="Quality")``."""
    return partial(open_page, reviewer="")


@pytest.fixture(scope="session")
def filled(new_store):
    """The log over six weeks as a file: copying it is much faster than filling it."""
    store = new_store()
    log = fill_figures(store)
    store.close()
    return Path(str(store.engine.url.database)), log


@pytest.fixture
def figures(sqlite_store, filled):
    """A log over six weeks with judges, people and users, in a database of the test's own."""
    path, log = filled
    sqlite_store.close()
    shutil.copyfile(path, str(sqlite_store.engine.url.database))
    return replace(log, log=replace(log.log, store=sqlite_store))


@pytest.fixture
def log(page_store):
    """The log of the pages, to which a test says what happened."""
    return GradedLog(page_store)

"""The pages of figures, run without a browser on a log of six weeks."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from app_pages import OpenPage
from figures_log import FiguresLog, fill_figures
from judgeboard.store.engine import Store


@pytest.fixture
def open_page(open_page: OpenPage, page_store: Store) -> OpenPage:
    """Runs a page on ``sqlite_store`` for who has not given a name: ``open_page("trends", show="Quality")``."""
    return partial(open_page, reviewer="")


@pytest.fixture(scope="session")
def filled(new_store: Callable[[], Store]) -> tuple[Path, FiguresLog]:
    """The log over six weeks as a file: copying it is much faster than filling it."""
    store = new_store()
    log = fill_figures(store)
    store.close()
    return Path(str(store.engine.url.database)), log


@pytest.fixture
def figures(sqlite_store: Store, filled: tuple[Path, FiguresLog]) -> FiguresLog:
    """A log over six weeks with judges, people and users, in a database of the test's own."""
    path, log = filled
    sqlite_store.close()
    shutil.copyfile(path, str(sqlite_store.engine.url.database))
    return replace(log, log=replace(log.log, store=sqlite_store))

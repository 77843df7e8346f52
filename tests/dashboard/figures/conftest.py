"""The pages of figures, run without a browser on a log of six weeks."""

import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from app_pages import OpenPage
from figures_log import FiguresLog, fill_figures
from judgeboard.store.engine import Store, open_store


@pytest.fixture
def open_page(open_page: OpenPage, page_store: Store) -> OpenPage:
    """Runs a page on ``sqlite_store`` for who has not given a name: ``open_page("trends", show="Quality")``."""
    return partial(open_page, reviewer="")


@pytest.fixture(scope="session")
def filled(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, FiguresLog]:
    """The log over six weeks as a file: copying it is much faster than filling it."""
    path = tmp_path_factory.mktemp("figures") / "figures.db"
    shutil.copyfile(sqlite_template, path)
    store = open_store(path)
    log = fill_figures(store)
    store.close()
    return path, log


@pytest.fixture
def figures(sqlite_store: Store, filled: tuple[Path, FiguresLog]) -> FiguresLog:
    """A log over six weeks with judges, people and users, in a database of the test's own."""
    path, log = filled
    sqlite_store.close()
    shutil.copyfile(path, str(sqlite_store.engine.url.database))
    return replace(log, log=replace(log.log, store=sqlite_store))

"""A server on a log of six weeks, for all tests of the pages of figures: they only read."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from figures_log import FiguresLog, fill_figures
from judgeboard.store.engine import Store, open_store
from served import serving


@dataclass(frozen=True)
class FiguresSite:
    """A served database."""

    url: str
    store: Store
    rows: FiguresLog


@pytest.fixture(scope="session")
def site(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FiguresSite]:
    path = tmp_path_factory.mktemp("figures") / "figures.db"
    shutil.copyfile(sqlite_template, path)
    store = open_store(path)
    rows = fill_figures(store)
    with serving(path) as url:
        yield FiguresSite(url, store, rows)
    store.close()

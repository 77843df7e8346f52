"""A server on a log of six weeks, for all tests of the pages of figures: they only read."""

from dataclasses import dataclass

import pytest

from figures_log import FiguresLog, fill_figures
from judgeboard.store.engine import Store
from served import serving


@dataclass(frozen=True)
class FiguresSite:
    """A served database."""

    url: str
    store: Store
    rows: FiguresLog


@pytest.fixture(scope="session")
def site(new_store):
    store = new_store()
    rows = fill_figures(store)
    with serving(str(store.engine.url.database)) as url:
        yield FiguresSite(url, store, rows)

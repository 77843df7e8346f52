"""The pages of figures, run without a browser on a log of six weeks."""

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from app_pages import OpenPage
from figures_log import FiguresLog, fill_figures
from judgeboard.store.engine import Store, open_store
from judgeboard_dashboard import session

APP = Path(session.__file__).with_name("app.py")


@pytest.fixture
def open_page(sqlite_store: Store, monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenPage]:
    """Runs a page on ``sqlite_store``: ``open_page("trends", show="Quality")``."""
    monkeypatch.setenv("JUDGEBOARD_DB", str(sqlite_store.engine.url.database))

    def opened(name: str, *, reviewer: str = "", **query: str | list[str]) -> AppTest:
        app = AppTest.from_file(APP, default_timeout=60)
        if reviewer:
            app.session_state["reviewer_name"] = reviewer
        for parameter, value in query.items():
            app.query_params[parameter] = value
        return app.switch_page(f"views/{name}.py").run()

    yield opened
    session.store().close()


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

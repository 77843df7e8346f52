"""After `judgeboard demo` no page of the tour is empty."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from judgeboard.cli.demo import QUEUE, fill
from judgeboard.reviews.conflicts import open_conflicts
from judgeboard.store.engine import open_store
from judgeboard_dashboard import session
from judgeboard_dashboard.app import METHOD_PAGES, PAGES

APP = Path(session.__file__).with_name("app.py")
# Shows what people start themselves: a job, or an upload.
STARTED_BY_PEOPLE = {"rejudge", "imports"}
TOUR = [name for name in (*PAGES, *METHOD_PAGES) if name not in STARTED_BY_PEOPLE]


@pytest.fixture(scope="module")
def demo(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo's database."""
    path = tmp_path_factory.mktemp("tour") / "demo.db"
    shutil.copyfile(sqlite_template, path)
    store = open_store(path)
    fill(store)
    store.close()
    return path


@pytest.fixture
def opened(demo: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("JUDGEBOARD_DB", str(demo))
    yield demo
    session.store().close()


def open_page(name: str, **query: str) -> AppTest:
    app = AppTest.from_file(APP, default_timeout=60)
    app.session_state["reviewer_name"] = "Mara"
    for field, value in query.items():
        app.query_params[field] = value
    app.switch_page(f"views/{name}.py")
    return app.run()


def said(app: AppTest) -> str:
    assert not app.exception, app.exception
    return " ".join(node.proto.body for node in app.get("html"))


@pytest.mark.parametrize("name", TOUR)
def test_every_page_of_the_tour_shows_data(opened: Path, name: str) -> None:
    app = open_page(name)
    words = said(app)
    assert 'class="jb-empty"' not in words
    assert app.dataframe or app.get("vega_lite_chart") or "jb-head" in words


def test_the_queue_of_the_demo_has_decisions_and_a_conflict(opened: Path) -> None:
    app = open_page("queue", show="Queues")
    assert QUEUE in said(app) + " ".join(str(table.value) for table in app.dataframe)
    store = open_store(opened)
    with store.reading() as connection:
        assert open_conflicts(connection, QUEUE).lines
    store.close()

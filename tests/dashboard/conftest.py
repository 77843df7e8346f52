"""The app under Streamlit's own test runner, on the rows of page_rows."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from judgeboard.people.roster import ensure_reviewer
from judgeboard.store.engine import Store
from judgeboard_dashboard import session
from page_rows import PageRows, fill_pages

APP = Path(session.__file__).with_name("app.py")

Open = Callable[..., AppTest]


@pytest.fixture
def page_rows(sqlite_store: Store, monkeypatch: pytest.MonkeyPatch) -> Iterator[PageRows]:
    """The rows, in the database that the pages open."""
    monkeypatch.setenv("JUDGEBOARD_DB", str(sqlite_store.engine.url.database))
    ensure_reviewer(sqlite_store, "page", "Mara")
    yield fill_pages(sqlite_store)
    session.store().close()


@pytest.fixture
def open_page() -> Open:
    """Opens a page as a reviewer would: ``open_page("item", flag=3)``; ``reviewer=""`` has not given a name."""

    def opened(name: str, *, reviewer: str = "Mara", **query: object) -> AppTest:
        app = AppTest.from_file(APP, default_timeout=30)
        if reviewer:
            app.session_state["reviewer_name"] = reviewer
        for field, value in query.items():
            app.query_params[field] = [str(one) for one in value] if isinstance(value, list) else str(value)
        app.switch_page(f"views/{name}.py")
        return app.run()

    return opened

"""The app under Streamlit's own test runner, on the rows of page_rows."""

import shutil
from functools import cache
from pathlib import Path

import pytest
from streamlit import config
from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import AppTest, app_test, local_script_runner

from app_pages import check_charts
from judgeboard.people.roster import ensure_reviewer
from judgeboard_dashboard import session
from judgeboard_dashboard.review.drafts import draft_writer
from judgeboard_dashboard.widgets import texts
from page_rows import fill_pages
from queue_case import queue_case

APP = Path(session.__file__).with_name("app.py")


config.set_option(
    "runner.postScriptGC", False
)  # as in `serve`: it collects all garbage after each run

# Every AppTest looks for components in all installed packages, which takes longer than drawing a
# page.
manifest_scanner.scan_component_manifests = cache(manifest_scanner.scan_component_manifests)

# Every run of an AppTest compiles the scripts of its page again, and a server only once.
app_test.ScriptCache = local_script_runner.ScriptCache = cache(local_script_runner.ScriptCache)


def _wait(runner, timeout):
    """Wait for the end of a run. Streamlit looks every millisecond, which takes a tenth of the processor time."""
    runner._script_thread.join(timeout)
    if runner._script_thread.is_alive():
        runner.request_stop()
        runner.join()
        raise RuntimeError(f"the page did not end in {timeout} s")


local_script_runner.require_widgets_deltas = _wait


@pytest.fixture
def page_store(sqlite_store, monkeypatch):
    """The database that the pages open."""
    monkeypatch.setenv("JUDGEBOARD_DB", str(sqlite_store.engine.url.database))
    monkeypatch.setattr(
        texts, "DEFAULT_DATABASE", str(sqlite_store.engine.url.database)
    )  # commands need no --db
    yield sqlite_store
    draft_writer().flush()
    draft_writer.clear()
    session.store().close()


@pytest.fixture
def case(page_store):
    """Queues and people in the database that the pages open."""
    return queue_case(page_store)


@pytest.fixture
def page_rows(page_store, fill_once):
    """The rows, in the database that the pages open."""

    def fill_with_reviewer(store):
        ensure_reviewer(store, "page", "Mara")
        return fill_pages(store)

    return fill_once("page rows", page_store, fill_with_reviewer)


@pytest.fixture
def demo_store(demo, sqlite_store):
    """What `judgeboard quickstart` makes, in a database of the test's own."""
    sqlite_store.close()
    shutil.copyfile(demo, str(sqlite_store.engine.url.database))
    return sqlite_store


@pytest.fixture
def open_page():
    """Opens a page as a reviewer would: ``open_page("item", flag=3)``.

    ``reviewer`` None: nobody entered a name yet; an empty text: the name was taken back.
    """

    def opened(name, *, reviewer="Mara", **query):
        app = AppTest.from_file(APP, default_timeout=60)
        if reviewer is not None:
            app.session_state["reviewer_name"] = reviewer
        for field, value in query.items():
            app.query_params[field] = (
                [str(one) for one in value] if isinstance(value, list) else str(value)
            )
        app.switch_page(f"views/{name}.py")
        app.run()
        check_charts(app)
        return app

    return opened


@pytest.fixture
def open_flag(page_rows, open_page):
    """Opens the page of a flagged answer of `page_rows` at its flag: ``open_flag("claims")``."""
    return lambda name, **query: open_page("item", flag=page_rows.flags[name], **query)


@pytest.fixture
def open_answer(page_rows, open_page):
    """Opens the page of an answer of `page_rows`: ``open_answer("claims")``."""
    return lambda name, **query: open_page("item", response=page_rows.responses[name], **query)

"""After `judgeboard quickstart` no page of the tour is empty."""

import pytest

from app_pages import markup, shown
from judgeboard.cli.demo import QUEUE
from judgeboard.reviews.outcome import open_conflicts
from judgeboard_dashboard.app import TABS
from stored_rows import read

# Shows what people make themselves (a job, a judging rule, an upload, a key, a label schema), or
# what assistants send.
STARTED_BY_PEOPLE = {
    *(
        "rejudge",
        "judging",
        "sources",
        "alerts",
        "queues",
        "settings",
        "thresholds",
        "schemas",
        "machine_drafts",
    )
}
TOUR = [name for name in TABS if name not in STARTED_BY_PEOPLE]


@pytest.fixture(autouse=True)
def opened(demo_store, page_store):
    """The pages open the demo."""


@pytest.mark.parametrize("name", TOUR)
def test_every_page_of_the_tour_shows_data(open_page, name):
    app = open_page(name)
    words = markup(app)
    assert 'class="jb-empty"' not in words
    assert app.dataframe or app.get("vega_lite_chart") or "jb-head" in words


def test_the_queue_of_the_demo_has_decisions_and_a_conflict(open_page, demo_store):
    app = open_page("queues")
    assert QUEUE in markup(app) + " ".join(str(table.value) for table in app.dataframe)
    assert read(demo_store, open_conflicts, QUEUE).lines


def test_my_reviews_measures_the_latest_reviews_of_these_pages(open_page):
    app = open_page("my_reviews")
    assert "latest 8 reviews" in shown(app)

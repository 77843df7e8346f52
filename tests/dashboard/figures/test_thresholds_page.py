"""The part Thresholds of Settings, and what a score means on the page Judges."""

from typing import get_args

import pytest

from app_pages import charts, click, labels, shown, table, texts, with_label
from graded_log import GradedLog, scored_and_labelled
from judgeboard.measure.thresholds import Aim
from judgeboard.store.settings import thresholds
from judgeboard_dashboard.views.thresholds import AIMS, NUMBERS
from stored_rows import read


@pytest.fixture
def labelled(sqlite_store):
    """A log with scores and labels."""
    log = GradedLog(sqlite_store)
    scored_and_labelled(log)
    return log


@pytest.mark.usefixtures("labelled")
def test_a_threshold_says_what_would_change_in_the_queue(open_page):
    app = open_page("thresholds")
    [sentence] = texts(app, "jb-say")  # not a second figure for the chosen threshold
    assert sentence.startswith("Keep 0.5, ")
    assert table(app, "Threshold")["Threshold"].tolist() == ["proposed", "in force", "in force"]
    assert table(app, "Measured on")["Measured on"].tolist()[-1] == "all labels: 200"
    assert len(charts(app)) == 1
    app = open_page("thresholds", goal="Cost", by_type="true")
    assert "cheaper" in texts(app, "jb-say")[0]


def test_the_page_offers_each_goal_of_the_command():
    assert set(AIMS) == set(NUMBERS) == set(get_args(Aim))


def test_without_a_judge_or_labels_it_says_what_to_do_first(open_page, log):
    ids = log.answers(3)
    assert "--judge lexical" in shown(open_page("thresholds"))
    log.say_all(log.version(), ids, groundedness=0.9)
    assert "Plan the labels" in labels(open_page("thresholds"))


def test_a_threshold_is_replayed_and_set_for_one_query_type(labelled, open_page, sqlite_store):
    labelled.answers(1, query_type="text")
    app = open_page("thresholds", by_type="true", reviewer="Mara")
    assert len(charts(app)) == 1
    field = with_label(app.number_input, "Groundedness below")
    field.set_value(0.5).run()
    # 0.5 is in force.
    assert app.button(key="threshold_set").disabled
    field.set_value(0.3).run()
    replay = texts(app, "jb-say")[-1]
    assert "0.3 for sql" in replay
    assert "fewer" in replay
    click(app, "threshold_set")
    with sqlite_store.reading() as connection:
        assert thresholds(connection).cuts.of("sql") == 0.3
        assert thresholds(connection).cuts.of("text") == 0.5
    assert "0.5 (sql: 0.3)" in shown(app)
    click(app, "threshold_remove")
    assert read(sqlite_store, thresholds).cuts.by_type == {}

"""The Suites page: what a run came to, the runs before it, the cases that fell, and what it says with nothing."""

import pytest

from app_pages import table_rows, text_with, texts
from suite_log import HOSTILE, fill_suites


@pytest.fixture
def runs(page_rows, sqlite_store, fill_once):
    return fill_once("suites", sqlite_store, fill_suites)


def test_the_newest_run_is_shown_against_the_one_before(open_page, runs):
    app = open_page("suites")
    (sentence,) = texts(app, "jb-say")
    assert sentence.startswith("Average score ")
    assert "The gate fails." in sentence
    assert app.selectbox(key="run").options == [f"Run {run}" for run in reversed(runs)]
    baselines = [f"Run {runs[1]}", f"Run {runs[0]}", "No baseline"]
    assert app.selectbox(key="baseline").options == baselines
    assert [row[0] for row in table_rows(app, "Candidate")] == list(reversed(runs))
    parts = texts(app, "jb-part")
    assert parts[1] == "By dimension"
    assert parts[2].endswith("not pass, 9")
    assert f"Compared with run {runs[1]}" in parts
    changes = table_rows(app, "Change")
    assert changes[0][:3] == [-2.5, 5.0, 2.5]
    # Two were not measured before.
    assert len(changes) == 22


def test_a_case_without_a_score_stands_apart_and_a_hostile_question_is_text(open_page, runs):
    app = open_page("suites", run=f"Run {runs[1]}", baseline="No baseline")
    assert "2 of 24" in texts(app, "jb-say")[0]
    assert text_with(app, " score, 2", cls="jb-part")
    (failed,) = table_rows(app, "Weakest")
    assert failed[:3] == [2.5, HOSTILE, "accuracy 2"]
    assert not any(part.startswith("Against") for part in texts(app, "jb-part"))

"""The page Agreement: the sentence first, pictures that open rows, and what they say with little data."""

from datetime import UTC, datetime

import pytest
from sqlalchemy import insert

from app_pages import charts, chips, labels, table, table_rows, text_with, texts
from figures_log import FELL, HOSTILE
from graded_log import BAD, GOOD, labels_in
from judgeboard.store.issues import ensure_modes
from judgeboard.store.tables import REVIEW_FAILURE_MODE


def test_agreement_is_said_with_its_interval_and_drawn(open_page, figures):
    app = open_page("agreement")
    (sentence,) = texts(app, "jb-say")
    assert "On 54 graded" in sentence
    assert "is 0.56 [" in sentence
    assert texts(app, "jb-part") == ["54 graded answers", "Where they differ"]
    assert len(charts(app)) == 1
    assert table_rows(app, "Figure")[0][0] == "Cohen's kappa"
    # One caveat beside the headline.
    assert len(texts(app, "jb-note")) == 1
    assert app.button(key="rate_plan").label == "Plan the labels"
    assert app.selectbox[0].options == ["rag v1", "second v1"]


def test_a_switch_shows_the_other_figures(open_page, figures):
    app = open_page("agreement", all="true")
    assert texts(app, "jb-part")[2:4] == ["By query type", "Calibration"]
    assert text_with(app, "n = 54", "at least 100", cls="jb-instead")
    # Confusion and weeks; slices of chosen answers have a table.
    assert len(charts(app)) == 2
    captions = texts(app, "jb-cap")
    # Both charts and the table say so.
    assert sum("54 graded answers" in each for each in captions) == 3


def test_a_filter_limits_every_figure_and_the_answers_behind_it(open_page, figures):
    app = open_page("agreement", query_type="complex", tables="true", all="true")
    types = table(app, "Query type")
    assert types["Query type"].tolist() == ["complex", "all answers"]
    n = int(table(app, "Figure")["n"].max())
    assert f"On {n} graded answers, " in texts(app, "jb-say")[0]
    assert n < 54
    assert "Filter: complex." in " ".join(texts(app, "jb-cap"))
    assert set(differing(app)["Type"]) == {FELL}
    jon = texts(open_page("agreement", people="Jon"), "jb-say")[0]
    assert "On 19 graded" in jon
    of = "People and people"
    words = texts(open_page("agreement", compare=of, query_type="complex"), "jb-say")
    assert words != texts(open_page("agreement", compare=of), "jb-say")


@pytest.mark.parametrize("grade", ["Label", "Groundedness"])
def test_tables_take_the_place_of_the_pictures(open_page, figures, grade):
    app = open_page("agreement", grade=grade, tables="true", all="true")
    assert charts(app) == []
    assert table_rows(app, "Query type")[-1][0] == "all answers"
    assert ("Cohen's kappa" in table(app, "Week of")) is (grade == "Label")


def test_under_ten_pairs_is_too_few(open_page, log):
    version, ids = log.version(), log.answers(12)
    log.say_all(version, ids, label=GOOD)
    log.review_all(ids[:9], label=GOOD)
    app = open_page("agreement")
    step = "judgeboard queue create labels --plan rate --n 1"
    assert any(step in each for each in texts(app, "jb-cap"))
    assert charts(app) == []


def test_without_grades_the_page_says_how_to_get_them(open_page, log):
    log.say_all(log.version(), log.answers(3), groundedness=0.4)
    app = open_page("agreement")
    assert len(texts(app, "jb-empty")) == 1
    assert charts(app) == []
    assert not app.dataframe
    assert app.button(key="rate_plan").label == "Plan the labels"


def differing(app):
    """The list of the answers on which they differ."""
    return table(app, "Difference")


def test_the_worst_differences_come_first_with_both_texts(open_page, figures):
    app = open_page("agreement", version="second v1", grade="Groundedness")
    assert differing(app)["Difference"].abs().is_monotonic_decreasing
    assert text_with(app, "too kind", cls="jb-cap")
    two = texts(app, "jb-two")[0]
    assert "second v1, 0." in two
    assert f"Because {HOSTILE}" in two
    assert "Open item" in labels(app)


@pytest.mark.parametrize("grade", ["label", "groundedness"])
def test_a_cell_in_the_address_lists_its_answers(open_page, figures, grade):
    people, judge = {"label": ("grounded", "grounded"), "groundedness": ("0.9", "0.9")}[grade]
    app = open_page("agreement", grade=grade.capitalize(), cell=f"{grade}:{people}:{judge}")
    [chip] = chips(app)
    listed = differing(app)
    assert chip.endswith(f": {len(listed)} ✕")
    if grade == "label":
        assert set(listed["Judge"]) == set(listed["People"]) == {"grounded"}
    else:
        assert (listed[["Judge", "People"]] >= 0.9).all(axis=None)
    nonsense = open_page("agreement", grade=grade.capitalize(), cell=f"{grade}:{people}:<b>")
    assert not any("✕" in label for label in labels(nonsense))


def test_what_the_judge_misses_is_counted_by_failure_mode_and_leads_to_the_answers(
    open_page, log, sqlite_store
):
    version, ids = log.version(), log.answers(12)
    log.say(version, labels_in(ids, ids[:4]))
    reviews = log.reviews(labels_in(ids[:10], ids))
    with sqlite_store.writing() as connection:
        ensure_modes(connection, ["outdated"], "test", NOW)
        connection.execute(
            insert(REVIEW_FAILURE_MODE),
            [{"review_id": id_, "mode": "outdated"} for id_ in reviews[:6]],
        )
    app = open_page("agreement", all="true")
    [[mode, bad, missed, share]] = table_rows(app, "Missed by the judge")
    assert (mode, bad, missed) == ("outdated", 6, 2)
    assert share.startswith("33 %")
    assert text_with(app, "4 of 10", cls="jb-cap")
    cell = {
        "pairs": "label",
        "raters": f"judge-{version.id}-0",
        "people_said": BAD,
        "judge_said": GOOD,
    }
    opened = open_page("responses", **cell, failure_mode="outdated")
    assert "2 answers" in texts(opened, "jb-say")[0]


NOW = datetime(2026, 3, 1, tzinfo=UTC)

"""The page Agreement: the sentence first, pictures that open rows, and what they say with little data."""

from datetime import UTC, datetime

import pandas as pd
import pytest
from sqlalchemy import insert
from streamlit.testing.v1 import AppTest

from app_pages import OpenPage, charts, labels, table_rows, text_with, texts
from figures_log import FELL, HOSTILE, FiguresLog
from graded_log import BAD, GOOD, GradedLog
from judgeboard.domain import Decision
from judgeboard.store.engine import Store
from judgeboard.store.issues import ensure_modes
from judgeboard.store.tables import REVIEW_FAILURE_MODE


def test_agreement_is_said_with_its_interval_and_drawn(
    open_page: OpenPage, figures: FiguresLog
) -> None:
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


def test_a_switch_shows_the_other_figures(open_page: OpenPage, figures: FiguresLog) -> None:
    app = open_page("agreement", all="true")
    assert texts(app, "jb-part")[2:4] == ["By query type", "Calibration"]
    assert text_with(app, "n = 54", "at least 100", cls="jb-instead")
    # Confusion and weeks; slices of chosen answers have a table.
    assert len(charts(app)) == 2
    captions = texts(app, "jb-cap")
    # Both charts and the table say so.
    assert sum("54 graded answers" in each for each in captions) == 3


def test_every_figure_of_a_version_has_its_n(open_page: OpenPage, figures: FiguresLog) -> None:
    app = open_page("agreement", version="second v1", grade="Groundedness", all="true")
    figures_table = next(
        table.value for table in app.dataframe if "Figure" in table.value and len(table.value) > 3
    )
    assert len(figures_table) == len(set(figures_table["Figure"])) == 8
    assert set(figures_table["n"]) == {57}
    assert figures_table["95 % CI"].str.match(r"\[-?\d").all()


def test_the_grade_in_the_address_decides_what_is_compared(
    open_page: OpenPage, figures: FiguresLog
) -> None:
    assert "rank correlation" in texts(open_page("agreement", grade="Groundedness"), "jb-say")[0]
    assert "weighted kappa" in texts(open_page("agreement", grade="Quality"), "jb-say")[0]


def test_one_reviewer_alone(open_page: OpenPage, figures: FiguresLog) -> None:
    app = open_page("agreement", people="Jon")
    assert "On 19 graded" in texts(app, "jb-say")[0]


def test_a_filter_limits_every_figure_and_the_answers_behind_it(
    open_page: OpenPage, figures: FiguresLog
) -> None:
    app = open_page("agreement", query_type="complex", tables="true", all="true")
    types = next(table.value for table in app.dataframe if "Query type" in table.value)
    assert types["Query type"].tolist() == ["complex", "all answers"]
    n = int(next(table.value for table in app.dataframe if "Figure" in table.value)["n"].max())
    assert f"On {n} graded answers, " in texts(app, "jb-say")[0]
    assert n < 54
    assert "Filter: complex." in " ".join(texts(app, "jb-cap"))
    of = "People and people"
    words = texts(open_page("agreement", compare=of, query_type="complex"), "jb-say")
    assert words != texts(open_page("agreement", compare=of), "jb-say")


def test_tables_take_the_place_of_the_pictures(open_page: OpenPage, figures: FiguresLog) -> None:
    app = open_page("agreement", tables="true", all="true")
    assert charts(app) == []
    confusion = app.dataframe[1].value
    assert confusion["Answers"].sum() == 54  # three more have as many people on either side
    assert table_rows(app, "Query type")[-1][0] == "all answers"


@pytest.mark.parametrize("grade", ["Label", "Groundedness", "Quality"])
def test_tables_are_not_told_of_as_pictures(
    open_page: OpenPage, figures: FiguresLog, grade: str
) -> None:
    words = " ".join(
        texts(open_page("agreement", grade=grade, all="true", tables="true"), "jb-cap")
    )
    assert "Click a row" in words
    assert not [
        of_a_picture
        for of_a_picture in ("dashed", "Outlined", "a cell", "a point")
        if of_a_picture in words
    ]


def test_what_decided_flags_are_worth(open_page: OpenPage, figures: FiguresLog) -> None:
    for place, each in enumerate(figures.ids[FELL][-12:]):
        figures.log.decide(
            each, "low_groundedness", Decision.CONFIRM if place else Decision.DISMISS, seconds=30
        )
    app = open_page("agreement", all="true")
    worth = next(table.value for table in app.dataframe if "Confirmed" in table.value)
    (low,) = (row for _, row in worth.iterrows() if row["Rule"] == "Low groundedness")
    assert low[["Decided", "Confirmed"]].tolist() == [12, 11]
    assert low["Minutes"] == pytest.approx(0.5)


def test_under_ten_pairs_is_too_few(open_page: OpenPage, sqlite_store: Store) -> None:
    log = GradedLog(sqlite_store)
    version, ids = log.version(), log.answers(12)
    log.say_all(version, ids, label=GOOD)
    log.review_all(ids[:9], label=GOOD)
    app = open_page("agreement")
    step = "judgeboard queue create labels --plan rate --n 1"
    assert any(step in each for each in texts(app, "jb-cap"))
    assert charts(app) == []


def test_one_class_only_says_what_cannot_be_computed(
    open_page: OpenPage, sqlite_store: Store
) -> None:
    log = GradedLog(sqlite_store)
    version, ids = log.version(), log.answers(40)
    log.say(
        version, {each: {"label": BAD if place == 0 else GOOD} for place, each in enumerate(ids)}
    )
    log.review_all(ids, label=GOOD)
    app = open_page("agreement")
    assert "no bad answer" in texts(app, "jb-note")[0]
    assert len(charts(app)[0]["layer"]) == 3  # the matrix stays, with its row of zeros


def test_without_grades_the_page_says_how_to_get_them(
    open_page: OpenPage, sqlite_store: Store
) -> None:
    log = GradedLog(sqlite_store)
    log.say_all(log.version(), log.answers(3), groundedness=0.4)
    app = open_page("agreement")
    assert len(texts(app, "jb-empty")) == 1
    assert charts(app) == []
    assert not app.dataframe


def differing(app: AppTest) -> pd.DataFrame:
    """The list of the answers on which they differ."""
    return next(table.value for table in app.dataframe if "Difference" in table.value)


def test_the_worst_differences_come_first_with_both_texts(
    open_page: OpenPage, figures: FiguresLog
) -> None:
    app = open_page("agreement", version="second v1", grade="Groundedness")
    assert differing(app)["Difference"].abs().is_monotonic_decreasing
    assert text_with(app, "too kind", cls="jb-cap")
    two = texts(app, "jb-two")[0]
    assert "second v1, 0." in two
    assert f"Because {HOSTILE}" in two
    assert "Open item" in labels(app)


def test_a_filter_limits_the_answers_on_which_they_differ(
    open_page: OpenPage, figures: FiguresLog
) -> None:
    app = open_page("agreement", version="second v1", grade="Groundedness", query_type=FELL)
    assert set(differing(app)["Type"]) == {FELL}


@pytest.mark.parametrize("grade", ["label", "groundedness"])
def test_a_cell_in_the_address_lists_its_answers(
    open_page: OpenPage, figures: FiguresLog, grade: str
) -> None:
    people, judge = {"label": ("grounded", "grounded"), "groundedness": ("0.9", "0.9")}[grade]
    app = open_page("agreement", grade=grade.capitalize(), cell=f"{grade}:{people}:{judge}")
    [chip] = (label for label in labels(app) if label.endswith("✕"))
    listed = differing(app)
    assert chip.endswith(f": {len(listed)} ✕")
    if grade == "label":
        assert set(listed["Judge"]) == set(listed["People"]) == {"grounded"}
    else:
        assert (listed[["Judge", "People"]] >= 0.9).all(axis=None)
    nonsense = open_page("agreement", grade=grade.capitalize(), cell=f"{grade}:{people}:<b>")
    assert not any("✕" in label for label in labels(nonsense))


def test_what_the_judge_misses_is_counted_by_failure_mode_and_leads_to_the_answers(
    open_page: OpenPage, sqlite_store: Store
) -> None:
    log = GradedLog(sqlite_store)
    version, ids = log.version(), log.answers(12)
    log.say(
        version, {each: {"label": BAD if place < 4 else GOOD} for place, each in enumerate(ids)}
    )
    reviews = log.reviews({each: {"label": BAD} for each in ids[:10]})
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
    assert (
        "2 answers" in texts(open_page("responses", **cell, failure_mode="outdated"), "jb-say")[0]
    )


def test_judges_who_never_differ(open_page: OpenPage, sqlite_store: Store) -> None:
    log = GradedLog(sqlite_store)
    version, ids = log.version(), log.answers(31)
    log.say_all(version, ids, groundedness=0.9)
    log.review_all(ids, groundedness=0.9)
    assert text_with(
        open_page("agreement", grade="Groundedness"), "kind on 0", "harsh on 0", cls="jb-cap"
    )


NOW = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.fixture
def ids(sqlite_store: Store) -> list[int]:
    log = GradedLog(sqlite_store)
    made = [*log.answers(30, query_type="sql"), *log.answers(30, query_type="simple")]
    verdicts = {
        each: {"label": BAD if place % 4 == 0 else GOOD, "groundedness": 0.9}
        for place, each in enumerate(made)
    }
    log.say(log.version(), verdicts)
    return made


@pytest.mark.parametrize("labels", [0, 20])
def test_where_the_rate_is_not_known_a_button_opens_the_plan(
    open_page: OpenPage, sqlite_store: Store, ids: list[int], labels: int
) -> None:
    GradedLog(sqlite_store).reviews({each: {"label": GOOD} for each in ids[:labels]})
    app = open_page("agreement")
    assert app.button(key="rate_plan").label == "Plan the labels"

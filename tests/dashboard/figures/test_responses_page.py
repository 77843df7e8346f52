"""Responses: every drill-down opens exactly its rows, and the page says where one came from."""

from dataclasses import replace

import pytest

from app_pages import chips, click, enter, keys, labels, table, texts
from figures_log import HOSTILE
from graded_log import GradedLog
from judgeboard.measure.cells import Cell, answers_in
from judgeboard.measure.choice import CountedGrades
from judgeboard.measure.trend import trend
from judgeboard_dashboard.widgets.filters import query_of
from judgeboard_dashboard.widgets.navigation import cell_rows
from stored_rows import read


def count_in(app):
    (words,) = texts(app, "jb-say")
    return int(words.split(" answer", maxsplit=1)[0].replace(",", ""))


def test_all_answers_fifty_at_a_time(open_page, figures):
    app = open_page("responses")
    assert count_in(app) == 3 * 36 + 5
    assert len(app.dataframe[0].value) == 50
    lowest = table(open_page("responses", sort="lowest"), "Groundedness")["Groundedness"]
    assert lowest.is_monotonic_increasing
    assert lowest.notna().all()


@pytest.mark.parametrize("measure", ["groundedness", "quality", "low_share", "flagged_share"])
def test_a_point_of_a_trend_opens_its_n_rows(open_page, figures, sqlite_store, measure):
    found = read(sqlite_store, trend, measure=measure)
    panel = next(panel for panel in found.panels if panel.group == HOSTILE)
    point = panel.points[2]
    app = open_page("responses", **query_of(point.where))
    assert count_in(app) == point.estimate.n == 6
    assert set(app.dataframe[0].value["Type"]) == {HOSTILE}
    assert f"· {HOSTILE}, " in texts(app, "jb-say")[0]


def test_a_cell_of_agreement_opens_its_rows_and_a_chip_says_so(open_page, figures, sqlite_store):
    cell = Cell("label", figures.second.id, people="grounded", judge="hallucinated")
    inside = len(read(sqlite_store, answers_in, cell))
    assert inside
    app = open_page("responses", **cell_rows(cell).query)
    assert count_in(app) == inside
    chip = f"label · second v1 hallucinated, people grounded: {inside} answers ✕"
    assert chip in labels(app)
    click(app, "responses_cell")
    assert count_in(app) == 113
    explicit = replace(cell, counted=CountedGrades(implied_labels=False))
    page_of_cell = open_page("responses", **cell_rows(explicit).query)
    assert any("without implied labels" in label for label in labels(page_of_cell))


@pytest.mark.parametrize(
    "address",
    [
        {"pairs": "mood", "raters": "judge-1-0"},
        {"pairs": "label", "raters": "judge-x-0"},
        {"pairs": "label", "raters": "crowd-1-2"},
        {"pairs": "label", "raters": "people-1-2-3"},
        {"pairs": "label", "raters": "judge-1-0", "scored": "9"},
    ],
)
def test_a_cell_that_there_is_not_is_left_out_and_said(open_page, figures, address):
    app = open_page("responses", **address)
    assert "is ignored" in texts(app, "jb-note")[0]
    assert count_in(app) == 113


def test_what_a_chart_narrowed_stands_as_chips_that_take_it_away(open_page, figures):
    app = open_page("responses", judge_side="low", user="down")
    assert len(chips(app)) == 2
    assert any("thumbs down" in chip for chip in chips(app))
    narrowed = count_in(app)
    click(app, "responses_chip_user")
    assert count_in(app) > narrowed


def test_nothing_matches_and_nothing_is_there(open_page):
    assert "step_Import a log" in keys(open_page("responses"))
    assert texts(open_page("responses", query_type="none"), "jb-empty") == ["No answer matches."]


def test_metadata_is_filtered_sorted_and_shown_in_columns(open_page, sqlite_store):
    GradedLog(sqlite_store).answers_of(
        {"metadata": {"tenant": f"t{n % 3}", "n": n, "x<b>": "<b>bold</b>"}} for n in range(120)
    )
    app = open_page("responses", **{"metadata.tenant": ["t1", "t2"], "column": ["n", '"x<b>"']})
    assert count_in(app) == 80
    [chip] = chips(app)
    assert "t1" in chip
    assert "t2" in chip
    assert list(app.dataframe[0].value["n"])[:2] == ["119", "118"]
    assert set(app.dataframe[0].value['"x<b>"']) == {"<b>bold</b>"}
    enter(app, "responses_sort", "metadata.n")
    # Over the whole list.
    assert list(app.dataframe[0].value["n"])[:4] == ["1", "2", "4", "5"]
    enter(app, "responses_metadata_field", "n")
    enter(app, "responses_metadata_value", "118")
    assert count_in(app) == 1
    assert "118" in app.query_params["metadata.n"]
    click(app, "responses_chip_metadata.tenant")
    click(app, "responses_chip_metadata.n")
    assert count_in(app) == 120
    for page in ("open_flags", "rejudge"):
        others = open_page(page, **{"metadata.tenant": ["t1"]})
        assert "Tenant t1 ✕" in labels(others), page
        assert "tenant" in others.selectbox(key=f"{page}_metadata_field").options

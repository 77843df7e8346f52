"""What the agreement page draws and puts into its files is what `measure_agreement` gives, to the last bit."""

from collections.abc import Callable
from typing import Any

import pytest

from app_pages import OpenPage
from figures_log import FiguresLog
from judgeboard.agreement.answer_pairs import GRADES, GradeName
from judgeboard.agreement.choice import By
from judgeboard.agreement.measure import measure_agreement
from judgeboard.agreement.result import headline_name, shown_statistics
from judgeboard.domain import Estimate
from judgeboard.reports.output import Table
from judgeboard.stats.pair_statistics import STATISTICS
from judgeboard.stats.ratings import SCALES, Human
from judgeboard.store.engine import Store
from judgeboard_dashboard.widgets import agreement_figures, tables
from judgeboard_dashboard.widgets.charts import grid

PEOPLE: dict[Human, dict[str, str]] = {
    "gold": {},
    "majority": {"people": "Everybody, without gold"},
    "each": {"people": "Each person alone"},
}
SLICES: dict[By, dict[str, str]] = {"query_type": {}, "time": {"by": "Month"}}


@pytest.fixture
def files(monkeypatch: pytest.MonkeyPatch) -> dict[str, Table]:
    """The files behind the CSV buttons of the page, made at once, by name."""
    made: dict[str, Table] = {}

    def button(rows: Table | Callable[[], Table], name: str, **_: Any) -> None:
        made[name] = rows() if callable(rows) else rows

    monkeypatch.setattr(tables, "csv_button", button)
    return made


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the charts of the page are drawn from."""
    seen: dict[str, Any] = {}
    slices, cells = agreement_figures.whisker_chart, grid.confusion_chart

    def whiskers(rows: Any, *more: Any) -> Any:
        seen["slices"] = {row.name: (row.n, row.estimate) for row in rows}
        return slices(rows, *more)

    def matrix(table: Any, **more: Any) -> Any:
        seen["confusion"] = table
        return cells(table, **more)

    monkeypatch.setattr(agreement_figures, "whisker_chart", whiskers)
    monkeypatch.setattr(grid, "confusion_chart", matrix)
    return seen


@pytest.mark.parametrize("by", SLICES)
@pytest.mark.parametrize("human", PEOPLE)
@pytest.mark.parametrize("grade", GRADES)
def test_charts_and_files_hold_the_figures_of_the_command(
    open_page: OpenPage,
    figures: FiguresLog,
    sqlite_store: Store,
    files: dict[str, Table],
    drawn: dict[str, Any],
    grade: GradeName,
    human: Human,
    by: By,
) -> None:
    open_page("agreement", version="rag v1", grade=grade.capitalize(), **PEOPLE[human], **SLICES[by])
    result = measure_agreement(sqlite_store, judge_versions=["rag v1"], grade=grade, human=human, by=by)
    parts = [("all", result.statistics), *((each.name, each.statistics) for each in result.slices)]
    expected = {
        (name, STATISTICS[figure_name].name): numbers(estimate)
        for name, statistics in parts
        for figure_name, estimate in shown_statistics(statistics).items()
    }
    assert {(row[2], row[3]): row[4:8] for row in files["figures"].rows} == expected
    lead = headline_name(SCALES[grade])
    assert drawn["slices"] == {
        "All": (result.n, result.statistics[lead]),
        **{each.name: (each.n, each.statistics[lead]) for each in result.slices},
    }
    assert drawn.get("confusion") == result.confusion


def numbers(estimate: Estimate) -> tuple[float | None, float | None, float | None, int]:
    return estimate.value, estimate.low, estimate.high, estimate.n

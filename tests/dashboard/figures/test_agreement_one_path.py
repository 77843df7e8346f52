"""What the agreement page draws and puts into its files is what `measure_agreement` gives, to the last bit."""

from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

from app_pages import OpenPage
from figures_log import FiguresLog
from judgeboard.agreement.answer_pairs import GRADES, GradeName
from judgeboard.agreement.choice import By
from judgeboard.agreement.measure import measure_agreement
from judgeboard.agreement.result import headline_name, shown_statistics, statistic_name
from judgeboard.domain import Estimate
from judgeboard.stats.ratings import SCALES, Human
from judgeboard.store.engine import Store
from judgeboard_dashboard.widgets import agreement_figures, tables
from judgeboard_dashboard.widgets.charts import grid

PEOPLE: dict[Human, dict[str, str]] = {
    "gold": {},
    "majority": {"people": "Everybody, gold aside"},
    "each": {"people": "Each by themselves"},
}
SLICES: dict[By, dict[str, str]] = {"query_type": {}, "time": {"by": "Month"}}


@pytest.fixture
def files(monkeypatch: pytest.MonkeyPatch) -> dict[str, pd.DataFrame]:
    """The files behind the CSV buttons of the page, made at once, by name."""
    made: dict[str, pd.DataFrame] = {}

    def button(rows: pd.DataFrame | Callable[[], pd.DataFrame], name: str, **_: Any) -> None:
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
    files: dict[str, pd.DataFrame],
    drawn: dict[str, Any],
    grade: GradeName,
    human: Human,
    by: By,
) -> None:
    open_page("agreement", version="rag v1", grade=grade.capitalize(), **PEOPLE[human], **SLICES[by])
    result = measure_agreement(sqlite_store, judge_versions=["rag v1"], grade=grade, human=human, by=by)
    parts = [("all", result.statistics), *((each.name, each.statistics) for each in result.slices)]
    expected = {
        (name, statistic_name(figure_name)): numbers(estimate)
        for name, statistics in parts
        for figure_name, estimate in shown_statistics(statistics).items()
    }
    rows = files["figures"].astype(object).where(files["figures"].notna(), None).to_dict("records")
    held = {(row["Slice"], row["Figure"]): (row["Value"], row["Low"], row["High"], row["Answers"]) for row in rows}
    assert held == expected
    lead = headline_name(SCALES[grade])
    assert drawn["slices"] == {
        "All": (result.n, result.statistics[lead]),
        **{each.name: (each.n, each.statistics[lead]) for each in result.slices},
    }
    assert drawn.get("confusion") == result.confusion


def numbers(estimate: Estimate) -> tuple[float | None, float | None, float | None, int]:
    return estimate.value, estimate.low, estimate.high, estimate.n

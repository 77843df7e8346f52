"""Thresholds for a goal with what they change in the queue, and the meaning of a judge's scores."""

import streamlit as st

from judgeboard.agreement.calibration import CalibrationResult, measure_calibration
from judgeboard.agreement.thresholds import Aim, Goal, ThresholdResult, measure_threshold
from judgeboard.errors import NotFound
from judgeboard.people.permissions import Action
from judgeboard.reports.agreement import calibration_table
from judgeboard.reports.thresholds import calibration_lines, meaning_table, thresholds_table, trade_off_table
from judgeboard.stats.detection import Tenth
from judgeboard.store.judge_versions import StoredVersion
from judgeboard_dashboard.gate import demand
from judgeboard_dashboard.session import problem, reading
from judgeboard_dashboard.widgets.charts.scores import CALIBRATION_HEIGHT, calibration_chart, drawn_tenths
from judgeboard_dashboard.widgets.filters import switch
from judgeboard_dashboard.widgets.tables import figure, table
from judgeboard_dashboard.widgets.texts import capital, caption, heading, instead, sentence

AIMS: dict[Aim, str] = {"recall": "Recall", "precision": "Precision", "cost": "Cost"}
# For each goal: the label of its number, its first value, and its step.
NUMBERS: dict[Aim, tuple[str, float, float]] = {
    "recall": ("Share of bad answers to flag", 0.8, 0.05),
    "precision": ("Share of flagged answers that are bad", 0.8, 0.05),
    "cost": ("A missed bad answer costs so many reviews", 5.0, 1.0),
}
_HOW_TO = (
    "To use a threshold, enter it under Rules as “Low groundedness below”, save, and apply the rules. Half of the "
    "evidence groups chooses the threshold. The table shows the other half."
)


def threshold_search() -> None:
    """Show the threshold that reaches a goal, and the trade-off of other thresholds."""
    demand(Action.CHANGE_SETTINGS)
    heading("Thresholds")
    with st.container(key="threshold_goal", horizontal=True, vertical_alignment="bottom", gap="small"):
        aim = switch("Goal", AIMS, key="goal")
        label, first, step = NUMBERS[aim]
        # The field has no bounds, because Streamlit silently replaces a number outside them by the lowest.
        value = st.number_input(label, value=first, step=step, format="%.4g", key=f"goal_{aim}", width=300)
        by_type = st.toggle("By query type", key="by_type", bind="query-params", width="content")
    if not (value > 0 if aim == "cost" else 0 < value < 1):
        problem(f"{label}: enter a number above 0{'' if aim == 'cost' else ' and below 1'}.")
        return
    try:
        with reading() as connection:
            result = measure_threshold(connection, Goal(aim, value), by_query_type=by_type)
    except NotFound as error:
        instead(capital(str(error)))
        return
    _thresholds(result)


def _thresholds(result: ThresholdResult) -> None:
    for each in result.thresholds:
        sentence(each.sentence, lead="" if each.query_type is None else f"{each.query_type}. ")
    rows = thresholds_table(result)
    if rows.rows:
        table(rows, key="thresholds", under=(_HOW_TO,))
    if result.curve:
        heading("Trade-off")
        table(
            trade_off_table(result),
            key="trade_off",
            most=20,
            under=(f"{result.judge_version}. Measured on all labels that were drawn at random.",),
        )


def score_meaning(version: StoredVersion, *, as_table: bool) -> None:
    """Show on demand what the scores of a judge version mean, before and after a map."""
    heading("What a score means")
    if not st.toggle(
        "Calibrate",
        key="calibrate",
        bind="query-params",
        help="Fits a curve to people's labels.",
    ):
        caption("Of the answers with a score of 0.7: the share that people call grounded. Stored scores do not change.")
        return
    try:
        with reading() as connection:
            result = measure_calibration(connection, judge_version=version.id)
    except NotFound as error:
        instead(capital(str(error)))
        return
    sentence(result.sentence)
    if result.score_map is None:
        return
    _curve(version, "before", "Groundedness as the judge gives it", result.before, as_table=as_table)
    _curve(version, "after", "After the map, cross-fitted", result.after, as_table=as_table)
    _meaning(result)


def _curve(version: StoredVersion, name: str, title: str, tenths: tuple[Tenth, ...], *, as_table: bool) -> None:
    caption(title)
    figure(
        lambda: calibration_chart(tenths),
        CALIBRATION_HEIGHT,
        calibration_table(tenths),
        [None] * len(drawn_tenths(tenths)),
        key=f"calibration_{name}_{version.id}",
        says=f"Share of answers that people call grounded by score of {version.title}, {name} calibration",
        as_table=as_table,
    )


def _meaning(result: CalibrationResult) -> None:
    table(meaning_table(result), key="meaning", under=tuple(calibration_lines(result)))

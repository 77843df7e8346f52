"""The view Thresholds: find, set and apply the threshold that reaches a goal."""

from functools import lru_cache, partial
from typing import Any

import streamlit as st

from judgeboard.domain import Action
from judgeboard.errors import BadInput, NotFound
from judgeboard.measure.notes import paragraph
from judgeboard.measure.sample import count_logged, log_revision
from judgeboard.measure.samples import scored_version
from judgeboard.measure.scored_labels import ScoredSample, load_sample
from judgeboard.measure.threshold_figures import change_note
from judgeboard.measure.thresholds import (
    IN_FORCE,
    Aim,
    Goal,
    ThresholdResult,
    advised_setting,
    replayed,
    threshold_result,
    verdicts_note,
)
from judgeboard.reports.thresholds import limits_and_next, thresholds_table, trade_off_table
from judgeboard_dashboard.gate import demand
from judgeboard_dashboard.session import (
    ask_reviewer,
    button,
    in_row,
    kept_until_new_rows,
    page,
    problem,
    read,
)
from judgeboard_dashboard.widgets.charts.scores import TRADE_OFF_HEIGHT, trade_off_chart
from judgeboard_dashboard.widgets.filters import choose, switch, table_switch
from judgeboard_dashboard.widgets.flag_rules import apply_rules, store_settings
from judgeboard_dashboard.widgets.navigation import follow, plan_button
from judgeboard_dashboard.widgets.tables import figure, table
from judgeboard_dashboard.widgets.texts import capital, caption, heading, instead, sentence

AIMS: dict[Aim, str] = {
    "recall": "Recall",
    "precision": "Precision",
    "false_omission": "False omission rate",
    "cost": "Cost",
}
# For each goal: the label of the number, the first value, and the step.
NUMBERS: dict[Aim, tuple[str, float, float]] = {
    "recall": ("Share of bad answers to flag", 0.8, 0.05),
    "precision": ("Share of flagged answers that are bad", 0.8, 0.05),
    "false_omission": ("Share of unflagged answers that are bad", 0.05, 0.01),
    "cost": ("A missed bad answer costs so many reviews", 5.0, 1.0),
}
_ALL_TYPES = "all query types"


def threshold_search() -> None:
    """Show the threshold that reaches a goal, the trade-off of other thresholds, and a button to set one."""
    with in_row("threshold_goal", align="bottom"):
        aim = switch("Goal", AIMS, key="goal")
        label, first, step = NUMBERS[aim]
        # The field has no bounds, because Streamlit silently replaces a number outside the
        # bounds by the lowest number.
        value = st.number_input(
            label, value=first, step=step, format="%.4g", key=f"goal_{aim}", width=300
        )
        by_type = st.toggle("By query type", key="by_type", bind="query-params", width="content")
    try:
        goal = Goal(aim, value)
    except BadInput as error:
        problem(f"{label}: {error}.")
        return
    try:
        # The results are kept with the sample: at the next look, other rows may be hidden.
        sample, result_of = kept_until_new_rows(
            log_revision,
            lambda connection: (
                sample := load_sample(connection, [scored_version(connection, None)], flags=True),
                lru_cache(8)(partial(threshold_result, sample)),
            ),
            ("scores",),
        )
    except NotFound as error:
        instead(capital(str(error)))
        return
    results = result_of(goal, by_query_type=by_type)
    for each in results:
        sentence(
            each.sentence, lead=f"{each.about.where['query_type']}. " if each.about.where else ""
        )
    rows = thresholds_table(results, goal.aim)
    under = tuple(limits_and_next(results))
    if rows.rows:
        table(rows, key="thresholds", under=under)
    else:
        caption("\n".join(under))
    if any(each.next for each in results):
        plan_button(key="threshold_plan")
    measured = {
        each.about.where.get("query_type", _ALL_TYPES): each for each in results if each.rows
    }
    if measured:
        _trade_off(sample, goal, measured)


def _trade_off(sample: ScoredSample, goal: Goal, results: dict[str, ThresholdResult]) -> None:
    """Show the effect of other thresholds for one query type, and set a threshold."""
    heading("Trade-off")
    with in_row("trade_off_fields", align="bottom"):
        name = choose(
            "Query type", {each: each for each in results}, key="trade_off_type", width=210
        )
        about, advised = results[name].about, advised_setting(results[name])
        key, query_type = f"try_{name}_{goal.aim}_{goal.value:g}", about.where.get("query_type")
        first = sample.cuts.of(query_type or "") if advised is None else advised
        # The field has no bounds, because Streamlit silently replaces a number outside the
        # bounds by the lowest number.
        threshold = st.number_input(
            "Groundedness below", value=first, step=0.05, format="%.6g", key=key, width=210
        )
        table_switch()
    if not 0 <= threshold <= 1:
        problem("Groundedness below: enter a number from 0 to 1.")
        return
    at, curve, judgments = (
        replayed(sample, threshold, query_type),
        results[name].curve,
        about.counts["judged"],
    )
    lines = {
        "in force": results[name].figure("flagged", IN_FORCE).value or 0.0,
        "this threshold": at.flags / judgments,
    }
    figure(
        lambda: trade_off_chart(curve, judgments, lines),
        TRADE_OFF_HEIGHT,
        trade_off_table(curve),
        [None] * len(curve),
        key=f"trade_off_{name}",
        says=f"Recall and precision by the share of flagged answers, {name}",
        under=(
            f"{sample.title}. Measured on all labels, weighted as in `labels rate`. Bands: 95 % intervals.",
        ),
    )
    # The chosen threshold has one figure on the page: the figure of the half of the labels that
    # measured the threshold.
    if threshold != advised:
        notes = [change_note(at.change), verdicts_note(sample, threshold, query_type)]
        words = paragraph(notes)
        sentence(words, lead=f"Below {threshold:g} for {name}, on all labels.")
    _set(sample, query_type, threshold, name)


def _set(sample: ScoredSample, query_type: str | None, threshold: float, name: str) -> None:
    """Show the button that sets a threshold, and the button that removes the thresholds of query types."""
    by_type = dict(sample.cuts.by_type)
    unchanged = threshold == sample.cuts.of(query_type or "") and (
        query_type is not None or not by_type
    )
    if query_type is None:
        changes: dict[str, Any] = {"low_groundedness": threshold} | (
            {"low_groundedness_by_type": None} if by_type else {}
        )
    else:
        of_types = sorted((by_type | {query_type: threshold}).items())
        changes = {"low_groundedness_by_type": [f"{name}={limit!r}" for name, limit in of_types]}
    reviewer = ask_reviewer("Your name is stored with the setting.", to=Action.CHANGE_SETTINGS)
    with in_row("set_threshold"):
        is_pressed = button(
            f"Set {threshold:g} for {name}",
            key="threshold_set",
            type="primary",
            disabled=reviewer is None or unchanged,
        )
        if is_pressed and reviewer is not None:
            store_settings(changes, reviewer)
        is_removal = by_type and st.button(
            "Remove thresholds of query types",
            key="threshold_remove",
            type="tertiary",
            disabled=reviewer is None,
        )
        if is_removal and reviewer is not None:
            store_settings({"low_groundedness_by_type": None}, reviewer)
    caption(f"Thresholds in force: {sample.cuts.words}.")


with page():
    demand(Action.SEE_MANAGED)
    follow("thresholds")
    threshold_search()
    apply_rules(read(count_logged))

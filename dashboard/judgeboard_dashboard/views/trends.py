"""The page Trends: whether answers become better or worse, per query type, source, model or metadata field."""

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from judgeboard.measure.changes import ERRORS
from judgeboard.measure.periods import Period
from judgeboard.measure.result import Result
from judgeboard.measure.trend import QUERY_TYPE, SPLITS, LeftOut
from judgeboard.measure.trend_figures import ALL_ANSWERS, own_label_figures
from judgeboard.reports.trends import evidence_notes
from judgeboard.store.criteria import Criterion, criteria_by_judge
from judgeboard.store.filters import METADATA, OWN_LABEL
from judgeboard.store.judge_versions import list_versions
from judgeboard.store.metadata import metadata_fields
from judgeboard.store.settings import RulesInForce, rules_in_force
from judgeboard.store.tables import StoredVersion
from judgeboard_dashboard.session import change_words, in_row, page, reading
from judgeboard_dashboard.widgets.charts.trend import MOST_NUMBERS, show_corrected, show_trend
from judgeboard_dashboard.widgets.filters import (
    as_tables,
    choose,
    switch,
    table_switch,
    without_index,
)
from judgeboard_dashboard.widgets.first_steps import empty_page
from judgeboard_dashboard.widgets.log_figures import corrected_shares, kept_trend
from judgeboard_dashboard.widgets.navigation import follow, open_button, responses
from judgeboard_dashboard.widgets.notifications import show_alarms
from judgeboard_dashboard.widgets.tables import show_rows
from judgeboard_dashboard.widgets.texts import capital, caption, sentence

CURRENT = "Current verdicts"
CORRECTED = "corrected"
CRITERION = "criterion"
LAST: dict[Period, dict[str, int | None]] = {
    "week": {"12 weeks": 12, "6 weeks": 6, "26 weeks": 26, "52 weeks": 52, "All": None},
    "day": {"30 days": 30, "14 days": 14, "90 days": 90, "All": None},
}
PERIODS: dict[Period, str] = {"week": "Week", "day": "Day"}
MOST_PANELS = 6
FIELDS = (
    "show",
    "criterion",
    "own_label",
    "by",
    "verdicts",
    "last",
    "split",
    "tables",
    "type",
    "value",
)


def trends() -> None:
    """Show all answers, then one panel per group of the split."""
    follow("trends", own=FIELDS)
    with reading() as connection:
        rules, metadata = rules_in_force(connection), metadata_fields(connection)
        fields = [f"{METADATA}{each.field}" for each in metadata if each.is_group]
        splits = {capital(column.replace("_", " ")): name for name, column in SPLITS.items()}
        splits |= dict(zip(fields, fields, strict=True))
        versions = list_versions(connection)
        criteria, own_labels = criteria_by_judge(connection), own_label_figures(connection)
        choices = _filters(rules, versions, splits, criteria, own_labels)
        is_corrected = choices.get("measure") == CORRECTED
    show_alarms()
    if is_corrected:
        corrected, _ = corrected_shares(choices["period"], choices["judge"])
        panels = [panel for panel in corrected.panels if panel.points][: 1 + MOST_PANELS]
        if not panels:
            empty_page(corrected.missing.text)
            return
        _changes(corrected.changes)
        _left_out(corrected.left_out)
        show_corrected(corrected, panels)
        if as_tables():
            caption(*evidence_notes(corrected))
        else:
            caption(
                f"Line: share of bad answers per {corrected.period} (UTC), from verdicts and sampled labels. Band: "
                "95 % interval. Thin line: the judge's own share, not corrected. Grey bars and small numbers: labels. "
                "Click a point to open its answers.",
                f"Verdicts of {corrected.judge}." if corrected.judge else None,
            )
        return
    figures = kept_trend(**choices)
    panels_with_points = [panel for panel in figures.panels if panel.points]
    if not panels_with_points:
        empty_page(figures.changes.sentence)
        _left_out(figures.left_out)
        return
    _changes(figures.changes)
    _left_out(figures.left_out)
    # The panel of all answers, and the selected groups (default: the six groups with most answers).
    whole, groups = [], panels_with_points
    if groups[0].group == ALL_ANSWERS:
        whole, groups = groups[:1], groups[1:]
    if len(groups) > MOST_PANELS:
        most = sorted(groups, key=lambda panel: -panel.n)[:MOST_PANELS]
        names = st.multiselect(
            "Query types" if figures.by == QUERY_TYPE else f"Values of {figures.by}",
            [panel.group for panel in groups],
            default=[panel.group for panel in groups if panel in most],
            key="type" if figures.by == QUERY_TYPE else "value",
            bind="query-params",
        )
        groups = [panel for panel in groups if panel.group in names]
    show_trend(figures, [*whole, *groups], panels_with_points)
    most_points = max(len(panel.points) for panel in panels_with_points)
    measure = figures.of_measure
    parts = [
        f"Line: {'share' if measure.is_share else 'mean'} per {figures.period} (UTC)",
        "Band: 95 % interval",
        f"Grey bars{' and small numbers' if most_points <= MOST_NUMBERS else ''}: {measure.counts}",
        f"Dotted line: flag threshold {figures.threshold:g}"
        if figures.threshold is not None and not measure.is_share
        else None,
        "Dashed vertical line: new judge version" if figures.marks else None,
    ]
    legend = f"{'. '.join(part for part in parts if part)}. Click a point to open its answers."
    caption(None if as_tables() else legend)
    if figures.by not in SPLITS:
        without_index({figures.by.removeprefix(METADATA)}, metadata)


def _filters(
    rules: RulesInForce,
    versions: Sequence[StoredVersion],
    splits: Mapping[str, str],
    criteria: Mapping[str, Mapping[str, Criterion]],
    own_labels: Sequence[str],
) -> dict[str, Any]:
    """Show the filter row; return the arguments of `trend`."""
    measures: dict[str, str] = {
        "groundedness": "Groundedness",
        "quality": "Quality",
        "low_share": f"Share below {rules.thresholds.low_groundedness:g}",
        "flagged_share": "Share flagged",
        **({"failed_check_share": "Failing a check"} if rules.thresholds.checks else {}),
        CORRECTED: "Bad, corrected",
        **({CRITERION: "Criterion"} if criteria else {}),
        **({OWN_LABEL: "Own label"} if own_labels else {}),
    }
    of_rubrics = {
        f"{name} ({judge})": (name, judge) for judge, names in criteria.items() for name in names
    }
    with in_row("filters_trends", align="bottom"):
        measure = switch("Show", measures, key="show")
        period = switch("By", PERIODS, key="by")
        criterion = own_label = None
        judge: str | int | None = None
        if measure == CRITERION:
            help_text = "A criterion of a rubric judge: the mean score of its current verdicts."
            criterion, judge = choose(
                "Criterion", of_rubrics, key="criterion", width=210, tip=help_text
            )
        elif measure == OWN_LABEL:
            help_text = "The mean of a field of a label schema, or the share of a value, over labelled answers."
            figures = {name.replace("=", ": "): name for name in own_labels}
            own_label = choose("Own label", figures, key="own_label", width=210, tip=help_text)
        else:
            judge = choose(
                "Judge version",
                judge_choices(rules.primary_judge, versions),
                key="verdicts",
                width=210,
                disabled=measure in {"flagged_share", "failed_check_share"},
                tip="Current verdicts: the latest usable verdict of the primary judge, of any of its versions.",
            )
        by_type = measure == CORRECTED
        last = choose("Last", LAST[period], key="last", width=130, disabled=by_type)
        by = choose("Split by", splits, key="split", width=150, disabled=by_type)
        st.space("stretch")
        table_switch()
    figure_choice = (
        {"criterion": criterion, "own_label": own_label}
        if criterion or own_label
        else {"measure": measure}
    )
    return {**figure_choice, "period": period, "judge": judge, "last": last, "by": by}


def judge_choices(
    primary: str | None, versions: Sequence[StoredVersion]
) -> dict[str, str | int | None]:
    """Return the judges and judge versions to choose from by title, the primary judge first."""
    names = [version.name for version in versions]
    choices: dict[str, str | int | None] = {CURRENT: None}
    choices |= {f"{name}, current": name for name in sorted(set(names) - {primary})}
    choices |= {version.title: version.id for version in versions if names.count(version.name) > 1}
    return choices


def _changes(result: Result) -> None:
    """Show the changes of all answers and of the groups; nothing if answers are hidden: these may have changed."""
    if not change_words(result.sentence):
        return
    sentence(result.sentence)
    if result.slices:
        show_rows(
            result.table(
                *dict.fromkeys(row.figure for row in result.rows if row.figure not in ERRORS)
            ),
            key="changes",
        )
    if any(row.figure in ERRORS for row in result.rows):
        show_rows(result.table(*ERRORS), key="errors")
    caption(*result.caveats)


def _left_out(left_out: Sequence[LeftOut]) -> None:
    if not left_out:
        return
    with in_row("under_sentence"):
        caption("Left out:")
        for each in left_out:
            words = f"{each.n:,} {each.words}"
            if each.where is None:
                caption(words)
                continue
            open_button(
                words,
                responses(each.where),
                key=f"left_out_{each.reason}",
                type="tertiary",
                help="Open these answers",
            )


with page():
    trends()

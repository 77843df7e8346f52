"""The pictures of the page of self-reference: conditions, calibration with the gate drawn in, other gates."""

from collections.abc import Mapping
from dataclasses import dataclass

import streamlit as st

from judgeboard.domain import Estimate
from judgeboard.self_reference.result import SelfReferenceReport
from judgeboard.self_reference.words import CONDITION_WORDS, compare_command, noun
from judgeboard.stats.words import percent, percent_words
from judgeboard_dashboard.charts import conditions, share_levels
from judgeboard_dashboard.charts.conditions import Part, conditions_chart
from judgeboard_dashboard.charts.share_levels import Level, share_levels_chart
from judgeboard_dashboard.figure import figure, table
from judgeboard_dashboard.picking import Rows
from judgeboard_dashboard.saying import heading, instead
from judgeboard_dashboard.self_reference.place import ALL, gate_words, listed_words, this_page
from judgeboard_dashboard.self_reference.tables import (
    CONDITION_COLUMNS,
    FIGURE_COLUMNS,
    conditions_table,
    levels_table,
    sweep_table,
)
from judgeboard_dashboard.words import capital

PARTS = {"all pairs": None, "gate on": True, "gate off": False}


@dataclass(frozen=True, slots=True)
class SelfReferenceFigures:
    """The pictures of one report."""

    report: SelfReferenceReport
    as_tables: bool

    def show(self) -> None:
        """Show them, three beside each other; at 800 px two and the third across, tables one under the other."""
        with st.container(key="stack_self_reference" if self.as_tables else "wrap_self_reference"):
            first, second, third = st.columns([1.2, 1, 1], gap="medium")
        with first:
            heading("With and without its own answer")
            self._conditions()
        with second:
            heading("Is its own answer right?")
            self._calibration()
        with third:
            heading("Other gates")
            self._sweep()

    def _at(self, *, needed: int | None = None, listed: str = ALL) -> Rows:
        report = self.report
        return this_page(report.judge, report.k, needed or report.needed, listed=listed, as_tables=self.as_tables)

    def _why_not(self, reason: str) -> str:
        command = f": {compare_command(self.report)} asks it." if noun(self.report) == "question" else "."
        return f"{capital(reason)}{command}"

    def _conditions(self) -> None:
        scores = self.report.conditions
        if all(one.accuracy.value is None for one in scores.values()):
            instead(self._why_not(scores["C"].accuracy.reason or "Not measured"))
            return
        marks = [
            (Part(CONDITION_WORDS[name], part, share, _tip(f"{CONDITION_WORDS[name]}, {part}", share, "pairs")), part)
            for name, one in scores.items()
            for part, share in zip(PARTS, (one.accuracy, one.on, one.off), strict=True)
        ]
        under = (f"{self._pairs()}, 95 % intervals.", self._split(), self._unmeasured())
        if self.as_tables:
            rows = conditions_table(self.report)
            shown = rows.drop(columns="Unmeasured")  # said under it: there is no room
            no_rows = [None] * len(scores)
            table(shown, no_rows, key="conditions_table", under=under, columns=CONDITION_COLUMNS, csv=rows)
            return
        figure(
            lambda: conditions_chart([mark for mark, _ in marks]),
            conditions.HEIGHT,
            conditions_table(self.report),
            [self._at(listed=ALL if part == "all pairs" else listed_words(PARTS[part])) for _, part in marks],
            key="conditions",
            says="Share of pairs on which the judge prefers the better answer, by condition, with 95 % interval",
            as_table=False,
            under=under,
        )

    def _pairs(self) -> str:
        sizes = {name: one.accuracy.n for name, one in self.report.conditions.items()}
        if len(set(sizes.values())) == 1:
            return f"{max(sizes.values()):,} pairs"
        return f"Pairs: {_by_name(sizes)}"

    def _split(self) -> str | None:
        splits = {name: one.splits for name, one in self.report.conditions.items()}
        said = f"Split, since the two orders contradict, and counted as half: {_by_name(splits)}."
        return said if any(splits.values()) else None

    def _unmeasured(self) -> str | None:
        missing = {name: one.unmeasured for name, one in self.report.conditions.items() if one.unmeasured}
        return f"Without a usable verdict in both orders: {_by_name(missing)}." if missing else None

    def _calibration(self) -> None:
        report = self.report
        known = sum(level.n for level in report.calibration)
        if not known:
            instead("Of none of these questions the correct answer is known.")
            return
        levels = [
            Level(
                str(level.agree),
                level.share,
                f"{level.n:,}",
                _tip(f"{level.agree} of {report.k} agree: own answer right", level.share, "questions"),
                grounded=level.agree >= report.needed,
            )
            for level in reversed(report.calibration)
        ]
        figure(
            lambda: share_levels_chart(levels, f"Tries that agree, of {report.k}", "Own answer right"),
            share_levels.HEIGHT,
            levels_table(report),
            [self._at(needed=level.agree) for level in reversed(report.calibration)],
            key="calibration_self_reference",
            says="Share of questions whose own answer is right, by how many tries agree; the gate is on at the right",
            as_table=self.as_tables,
            under=(
                f"The gate is on from {gate_words(report.needed, report.k)}.",
                None if self.as_tables else "Shaded: the gate is on. Beside a dot: how many questions.",
            ),
            columns=FIGURE_COLUMNS,
        )

    def _sweep(self) -> None:
        report = self.report
        if all(point.scores.accuracy.value is None for point in report.sweep):
            instead(f"Other gates need verdicts with and without its answer: {compare_command(report)} asks for them.")
            return
        levels = [
            Level(
                str(point.agree),
                point.scores.accuracy,
                "" if point.scores.accuracy.value is None else percent(point.scores.accuracy.value),
                f"gate from {gate_words(point.agree, report.k)}: C {percent_words(point.scores.accuracy)}, "
                f"on for {percent_words(point.gate.on_rate)}",
                grounded=point.agree == report.needed,
                chosen=point.agree == report.needed,
            )
            for point in report.sweep
        ]
        figure(
            lambda: share_levels_chart(levels, f"Gate from, of {report.k}", "C prefers the better", whole=False),
            share_levels.HEIGHT,
            sweep_table(report),
            [self._at(needed=point.agree) for point in report.sweep],
            key="sweep",
            says="What condition C comes to at every gate, with 95 % interval",
            as_table=self.as_tables,
            under=("From the same verdicts, no further calls. Click a gate to see the page with it.",),
            columns=FIGURE_COLUMNS,
        )


def _by_name(numbers: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {number:,}" for name, number in numbers.items())


def _tip(what: str, share: Estimate, unit: str) -> str:
    return f"{what} {percent_words(share)} on {share.n:,} {unit}"

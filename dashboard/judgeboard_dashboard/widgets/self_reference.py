"""The parts of the page Self-reference: its address, tables, charts and the panel of one pair."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import streamlit as st

from judgeboard.domain import Estimate, PairItem, Preference
from judgeboard.judges.reply_forms import lettered
from judgeboard.methods.self_reference_report import (
    CONDITION_WORDS,
    SelfReferenceReport,
    compare_command,
    noun,
)
from judgeboard.methods.self_reference_scores import AgreementLevel, ConditionScores, SweepPoint
from judgeboard.reports.output import Column, Columns, Table
from judgeboard.stats.estimates import percent, percent_words
from judgeboard.store.comparisons import LatestComparison
from judgeboard.store.samples import StoredTry
from judgeboard.text import shortened
from judgeboard_dashboard.evidence import Html, show, tag
from judgeboard_dashboard.widgets.charts import intervals
from judgeboard_dashboard.widgets.charts.intervals import Level, conditions_chart, share_levels_chart
from judgeboard_dashboard.widgets.navigation import Rows, open_button
from judgeboard_dashboard.widgets.tables import figure, table
from judgeboard_dashboard.widgets.texts import capital, caption, heading, instead

PAGE = "self_reference"
FIELDS = ("version", "samples", "gate", "listed", "category", "tables")

ALL = "All"
# Name of a list -> (is the gate on, is the own answer right); None means either.
LISTED: dict[str, tuple[bool | None, bool | None]] = {
    ALL: (None, None),
    "Gate on": (True, None),
    "Gate off": (False, None),
    "Gate on, own answer right": (True, True),
    "Gate on, own answer wrong": (True, False),
    "Gate off, own answer right": (False, True),
    "Gate off, own answer wrong": (False, False),
}


def listed_words(gate_on: bool | None, right: bool | None = None) -> str:
    """Return the name of a list in `LISTED`."""
    return next(words for words, narrowed in LISTED.items() if narrowed == (gate_on, right))


def gate_words(needed: int, k: int) -> str:
    """Return a gate as its field shows it: "4 of 5"."""
    return f"{needed} of {k}"


def this_page(
    report: SelfReferenceReport,
    *,
    as_tables: bool,
    needed: int | None = None,
    listed: str = ALL,
    category: str | None = None,
) -> Rows:
    """Return the address of the page with these choices. The default gate is that of the report."""
    gate = gate_words(needed or report.needed, report.k)
    query: dict[str, str | list[str]] = {"version": report.judge, "samples": str(report.k), "gate": gate}
    if listed != ALL:
        query["listed"] = listed
    if category is not None:
        query["category"] = category
    return Rows(PAGE, query | ({"tables": "true"} if as_tables else {}))


def share_column(title: str, width: int = 105) -> Column:
    """Return a column of shares with their intervals."""
    return Column(title, "share estimate", width=width)


def known(estimate: Estimate) -> Estimate | None:
    """Return the estimate if it has a value, otherwise None."""
    return None if estimate.value is None else estimate


RIGHT_WHERE_ON = Column(
    "Right if on", "share estimate", width=118, help="How often the judge's own answer is right if the gate is on"
)
WIDTH = 102  # px; all columns of the table of conditions fit a page of 1440 px
CONDITION_COLUMNS: Columns[tuple[str, ConditionScores]] = {
    Column("Condition", width=WIDTH): lambda line: CONDITION_WORDS[line[0]],
    share_column("All", WIDTH): lambda line: known(line[1].accuracy),
    Column("Pairs", "count", width=55): lambda line: line[1].accuracy.n,
    Column("Inconsistent", "count", width=95, help="The two orders differ; each counts as half right"): lambda line: (
        line[1].splits
    ),
    share_column("Gate on", WIDTH): lambda line: known(line[1].on),
    share_column("Gate off", WIDTH): lambda line: known(line[1].off),
    Column("Unmeasured", "count"): lambda line: line[1].unmeasured,
}


_GOLD = {Preference.A: "answer A", Preference.B: "answer B", Preference.TIE: "neither"}
LONGEST = 1_200  # characters of a question or an answer; the page of the pair shows all
LONGEST_SAMPLE = 240
SHOWN = {"ab": "Answer A first", "ba": "Answer B first"}
PREFERS = {"a": "prefers answer A", "b": "prefers answer B", "tie": "calls it a tie"}


def item_panel(
    pair: PairItem, samples: Sequence[StoredTry], orders: Sequence[LatestComparison], version_id: int, k: int
) -> None:
    """Show one item and the button that opens its pair; the first ``k`` samples count."""
    more = samples[k:]
    with st.container(border=True, key="one_item"):
        show(
            tag(
                "div",
                _label("Question"),
                tag("div", shortened(pair.question or "forgotten", LONGEST), cls="jb-reason"),
                *(tag("div", option, cls="jb-cap") for option in lettered(pair.options or ())),
                _fact("Correct option" if pair.options else "Correct answer", pair.reference),
                _fact("Better of the two", None if pair.gold is None else _GOLD[pair.gold]),
                _label("Its own samples"),
                *map(_sample, samples[:k]),
                _label(f"More samples (only the first {k} count)") if more else None,
                *map(_sample, more),
                *_verdicts(orders, "plain"),
                *_verdicts(orders, "reference"),
                cls="jb-one",
            )
        )
        if pair.answer_a is None:
            why = "Only the question is stored, without answers to compare."
            caption("The texts are forgotten." if pair.question is None else why)
            return
        open_button(
            "Open the pair",
            Rows("pairs", {"pair": str(pair.id), "of": str(version_id)}),
            key="open_pair",
            icon=":material/open_in_full:",
        )


def _label(text: str) -> Html:
    return tag("div", text, cls="jb-label")


def _line(lead: str, text: str) -> Html:
    return tag("div", tag("b", f"{lead} "), text, cls="jb-cap jb-start")


def _fact(name: str, value: str | None) -> Html | None:
    return None if value is None else _line(name, shortened(value, LONGEST))


def _sample(sample: StoredTry) -> Html:
    answer = "no answer" if sample.answer is None else shortened(sample.answer, LONGEST_SAMPLE)
    why = "" if sample.status == "ok" else f" ({sample.status})"
    reasoning = shortened(" ".join(_reasoning(sample.raw or "").split()), LONGEST_SAMPLE)
    return _line(f"{sample.number + 1}. {answer}{why}", reasoning)


def _reasoning(raw: str) -> str:
    try:
        reply = json.loads(raw)
    except (ValueError, RecursionError):
        return raw
    reasoning = reply.get("reasoning") if isinstance(reply, dict) else None
    return reasoning if isinstance(reasoning, str) else raw


def _verdicts(orders: Sequence[LatestComparison], condition: str) -> list[Html]:
    verdicts = [order for order in orders if order.condition == condition]
    if not verdicts:
        return []
    reference = next((verdict.reference for verdict in verdicts if verdict.reference is not None), "its own answer")
    title = (
        "The judge sees no reference"
        if condition == "plain"
        else f"Shown to the judge as the correct answer: {reference}"
    )
    return [_label(shortened(title, LONGEST_SAMPLE)), *map(_verdict, verdicts)]


def _verdict(verdict: LatestComparison) -> Html:
    prefers = PREFERS.get(verdict.preference or "", f"no usable verdict ({verdict.status})")
    return _line(f"{SHOWN[verdict.shown]}: {prefers}.", shortened(verdict.reasoning or "", LONGEST_SAMPLE))


@dataclass(frozen=True, slots=True)
class SelfReferenceFigures:
    """The charts of one report."""

    report: SelfReferenceReport
    as_tables: bool

    def show(self) -> None:
        """Show three charts in a row (at 800 px in two rows), or three tables."""
        with st.container(key="stack_self_reference" if self.as_tables else "wrap_self_reference"):
            first, second, third = st.columns([1.2, 1, 1], gap="medium")
        with first:
            heading("With and without its own answer")
            self._conditions()
        with second:
            heading("Accuracy of its own answer")
            self._calibration()
        with third:
            heading("Other gates")
            self._sweep()

    def _at(self, *, needed: int | None = None, listed: str = ALL) -> Rows:
        return this_page(self.report, as_tables=self.as_tables, needed=needed, listed=listed)

    def _conditions(self) -> None:
        report, scores = self.report, self.report.conditions
        if all(condition.accuracy.value is None for condition in scores.values()):
            command = f" To compare pairs: {compare_command(report)}" if noun(report) == "question" else ""
            instead(f"{capital(scores['C'].accuracy.reason or 'Not measured')}.{command}")
            return
        under = _conditions_words(report)
        rows = Table.of(scores.items(), CONDITION_COLUMNS)
        if self.as_tables:
            shown = rows.without({"Unmeasured"})  # the table is too narrow; the text under it has these numbers
            table(shown, [None] * len(scores), key="conditions_table", under=under, csv=rows)
            return
        figure(
            lambda: conditions_chart({CONDITION_WORDS[name]: condition for name, condition in scores.items()}),
            intervals.HEIGHT,
            rows,
            [self._at(listed=listed) for _ in scores for listed in (ALL, "Gate on", "Gate off")],
            key="conditions",
            says="Share of pairs on which the judge prefers the better answer, by condition, with 95 % interval",
            as_table=False,
            under=under,
        )

    def _calibration(self) -> None:
        report = self.report
        if not any(level.n for level in report.calibration):
            instead("The correct answer of these questions is not known.")
            return
        levels = [
            Level(
                str(level.agree),
                level.share,
                f"{level.n:,}",
                f"{level.agree} of {report.k} agree: own answer right {percent_words(level.share)} "
                f"on {level.share.n:,} questions",
                grounded=level.agree >= report.needed,
            )
            for level in reversed(report.calibration)
        ]
        columns: Columns[AgreementLevel] = {
            Column("Agree"): lambda level: gate_words(level.agree, report.k),
            Column("Questions", "count", width=70): lambda level: level.n,
            Column("Right", "count", width=70): lambda level: level.right,
            share_column("Share right"): lambda level: known(level.share),
        }
        figure(
            lambda: share_levels_chart(levels, f"Samples that agree, of {report.k}", "Own answer right"),
            intervals.HEIGHT,
            Table.of(report.calibration[::-1], columns),
            [self._at(needed=level.agree) for level in reversed(report.calibration)],
            key="calibration_self_reference",
            says="Share of questions on which the judge's own answer is right, by the number of samples that agree",
            as_table=self.as_tables,
            under=(
                f"The gate is on if at least {gate_words(report.needed, report.k)} samples agree.",
                None if self.as_tables else "Shaded: the gate is on. Numbers: questions per level.",
            ),
        )

    def _sweep(self) -> None:
        report = self.report
        if all(point.scores.accuracy.value is None for point in report.sweep):
            instead(f"Other gates need comparisons with and without its own answer: {compare_command(report)}")
            return
        levels = [
            Level(
                str(point.agree),
                point.scores.accuracy,
                "" if point.scores.accuracy.value is None else percent(point.scores.accuracy.value),
                f"gate threshold {gate_words(point.agree, report.k)}: C {percent_words(point.scores.accuracy)}, "
                f"on for {percent_words(point.gate.on_rate)}",
                grounded=point.agree == report.needed,
                chosen=point.agree == report.needed,
            )
            for point in report.sweep
        ]
        columns: Columns[SweepPoint] = {
            Column("Gate threshold"): lambda point: gate_words(point.agree, report.k),
            share_column("C selective"): lambda point: known(point.scores.accuracy),
            share_column("Gate on"): lambda point: known(point.gate.on_rate),
            RIGHT_WHERE_ON: lambda point: known(point.gate.precision),
        }
        figure(
            lambda: share_levels_chart(levels, f"Gate threshold, of {report.k}", "Accuracy of C", whole=False),
            intervals.HEIGHT,
            Table.of(report.sweep, columns),
            [self._at(needed=point.agree) for point in report.sweep],
            key="sweep",
            says="Accuracy of condition C at every gate, with 95 % interval",
            as_table=self.as_tables,
            under=(
                "Computed from the same verdicts, without further calls. Click a threshold to use it on this page.",
            ),
        )


def _conditions_words(report: SelfReferenceReport) -> tuple[str | None, ...]:
    """Return the number of pairs, of split verdicts and of missing verdicts by condition."""
    pairs = {name: scores.accuracy.n for name, scores in report.conditions.items()}
    splits = {name: scores.splits for name, scores in report.conditions.items()}
    missing = {name: scores.unmeasured for name, scores in report.conditions.items() if scores.unmeasured}
    pairs_words = f"{pairs['A']:,} pairs" if len(set(pairs.values())) == 1 else f"Pairs: {_by_name(pairs)}"
    return (
        f"{pairs_words}, 95 % intervals.",
        f"Pairs whose result changes with the order (each counts as half right), by condition: {_by_name(splits)}."
        if any(splits.values())
        else None,
        f"No usable verdict in both orders: {_by_name(missing)}." if missing else None,
    )


def _by_name(numbers: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {number:,}" for name, number in numbers.items())

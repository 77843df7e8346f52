"""The parts of the page Self-reference: its address, tables, charts and the panel of one pair."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import streamlit as st

from judgeboard.domain import Estimate, PairItem, Preference
from judgeboard.judges.reply_forms import lettered
from judgeboard.methods.self_reference_report import (
    CONDITION_WORDS,
    ListedItem,
    SelfReferencePage,
    SelfReferenceReport,
    compare_command,
    noun,
    self_reference_page,
)
from judgeboard.methods.self_reference_scores import CategoryScores
from judgeboard.reports.output import Column, Table
from judgeboard.stats.estimates import percent, percent_words
from judgeboard.store.comparisons import LatestComparison, PairHead, StoredTry
from judgeboard.store.judge_versions import StoredVersion, get_version
from judgeboard.store.pairs import LastRows, last_rows
from judgeboard.store.row_filter import hides_rows
from judgeboard.text import shortened
from judgeboard_dashboard.evidence import Html, show, tag
from judgeboard_dashboard.session import reading, store
from judgeboard_dashboard.widgets.charts import intervals
from judgeboard_dashboard.widgets.charts.intervals import Level, Part, conditions_chart, share_levels_chart
from judgeboard_dashboard.widgets.navigation import Rows, open_button
from judgeboard_dashboard.widgets.tables import figure, file_of, one_line, table
from judgeboard_dashboard.widgets.texts import UNKNOWN, capital, caption, heading, instead

PAGE = "self_reference"
FIELDS = ("version", "samples", "gate", "listed", "category", "tables")

ALL = "All"
# List name to: gate on or off, own answer right or wrong.
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
    """Return the name of a slice in the list."""
    return next(words for words, narrowed in LISTED.items() if narrowed == (gate_on, right))


def gate_words(needed: int, k: int) -> str:
    """Return a gate as its field shows it."""
    return f"{needed} of {k}"


def this_page(
    report: SelfReferenceReport,
    *,
    as_tables: bool,
    needed: int | None = None,
    listed: str = ALL,
    category: str | None = None,
) -> Rows:
    """Return the address of the page with these choices; by default at the gate of the report."""
    gate = gate_words(needed or report.needed, report.k)
    query: dict[str, str | list[str]] = {"version": report.judge, "samples": str(report.k), "gate": gate}
    if listed != ALL:
        query["listed"] = listed
    if category is not None:
        query["category"] = category
    return Rows(PAGE, query | ({"tables": "true"} if as_tables else {}))


MOST_CACHED = 8


def cached_page(version: StoredVersion, k: int, needed: int) -> SelfReferencePage:
    """Return the page of a version at one gate, cached until rows are added.

    Connections that hide rows do not use the cache.
    """
    with reading() as connection:
        if hides_rows(connection):
            return self_reference_page(connection, version, k, needed)
        upto = last_rows(connection)
    return _worked_out(str(store().engine.url), version.id, k, needed, upto)


@st.cache_resource(max_entries=MOST_CACHED, show_spinner=False)
def _worked_out(address: str, version_id: int, k: int, needed: int, upto: LastRows) -> SelfReferencePage:  # noqa: ARG001 - the key
    with store().reading() as connection:
        return self_reference_page(connection, get_version(connection, version_id), k, needed)


SCORES = {1.0: "right", 0.5: "split", 0.0: "wrong", None: None}
CORRECT = {True: "yes", False: "no", None: None}
RIGHT_WHERE_ON = Column(
    "Right if on", "share estimate", width=118, help="How often the judge's own answer is right if the gate is on"
)


def _share(title: str, width: int = 105) -> Column:
    return Column(title, "share estimate", width=width)


def _count(title: str) -> Column:
    return Column(title, "count", width=70)


def _known(estimate: Estimate) -> Estimate | None:
    return None if estimate.value is None else estimate


def conditions_table(report: SelfReferenceReport) -> Table:
    """Return the conditions, overall and with the gate on and off."""
    width = 102  # all columns are visible at a width of 1440 px
    columns = (
        Column("Condition", width=width),
        _share("All", width),
        Column("Pairs", "count", width=55),
        Column("Splits", "count", width=55, help="The two orders differ; each counts as half"),
        _share("Gate on", width),
        _share("Gate off", width),
        Column("Unmeasured", "count"),
    )
    rows = (
        (
            *(CONDITION_WORDS[name], _known(scores.accuracy), scores.accuracy.n, scores.splits),
            *(_known(scores.on), _known(scores.off), scores.unmeasured),
        )
        for name, scores in report.conditions.items()
    )
    return Table(columns, tuple(rows))


def levels_table(report: SelfReferenceReport) -> Table:
    """Return how often the majority is right per number of agreeing samples, fewest first."""
    columns = (Column("Agree"), _count("Questions"), _count("Right"), _share("Share right"))
    rows = (
        (f"{level.agree} of {report.k}", level.n, level.right, _known(level.share))
        for level in reversed(report.calibration)
    )
    return Table(columns, tuple(rows))


def sweep_table(report: SelfReferenceReport) -> Table:
    """Return condition C at every gate, the lowest first."""
    columns = (Column("Gate threshold"), _share("C selective"), _share("Gate on"), RIGHT_WHERE_ON)
    rows = (
        (
            f"{point.agree} of {report.k}",
            *map(_known, (point.scores.accuracy, point.gate.on_rate, point.gate.precision)),
        )
        for point in report.sweep
    )
    return Table(columns, tuple(rows))


def slices_table(report: SelfReferenceReport) -> Table:
    """Return the four slices with both conditions."""
    shares = tuple(_share(CONDITION_WORDS[name]) for name in ("A", "B"))
    rows = (
        (listed_words(each.gate_on, each.majority_right), each.n, _known(each.without), _known(each.always))
        for each in report.slices
    )
    table = Table((Column("Slice", width=190), _count(f"{capital(noun(report))}s"), *shares), tuple(rows))
    return table.without_empty(CONDITION_WORDS.values())


def categories_table(report: SelfReferenceReport) -> Table:
    """Return the figures of each category at this gate."""
    columns = (Column("Category", width=130), _count(f"{capital(noun(report))}s"), _share("Gate on"), RIGHT_WHERE_ON)
    rows = ((each.category, each.n, *map(_known, _category_figures(each).values())) for each in report.categories)
    table = Table((*columns, *map(_share, CONDITION_WORDS.values())), tuple(rows))
    return table.without_empty(CONDITION_WORDS.values())


def categories_file(report: SelfReferenceReport) -> Table:
    """Return the same as plain numbers."""
    rows = (
        ((each.category, name), estimate)
        for each in report.categories
        for name, estimate in _category_figures(each).items()
    )
    return file_of(("Category", "Figure"), rows)


def _category_figures(category: CategoryScores) -> dict[str, Estimate]:
    return {
        "gate on": category.gate.on_rate,
        "right if on": category.gate.precision,
        "A": category.without,
        "B": category.always,
        "C": category.selective,
    }


def items_table(items: Sequence[ListedItem], heads: Mapping[int, PairHead], k: int) -> Table:
    """Return the items; conditions that were not asked are left out."""
    conditions = tuple(
        Column(f"Cond. {name}", width=62, help=f"Condition {words}: whether the judge prefers the better answer")
        for name, words in CONDITION_WORDS.items()
    )
    columns = (
        Column("Question", width=215),
        Column("Category", width=90),
        Column("Agree", width=60),
        Column("Own answer", width=90),
        Column("Own right", width=75, help="Whether the judge's own answer is correct"),
    )
    rows = (
        (
            one_line(heads[item.pair_id].question) if item.pair_id in heads else None,
            *(item.category, f"{item.agree} of {k}", item.answer or "no answer", CORRECT[item.right]),
            *(SCORES[score] for score in (item.without, item.always, item.selective)),
        )
        for item in items
    )
    return Table((*columns, *conditions), tuple(rows)).without_empty([column.title for column in conditions])


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
    title = "Without a reference" if condition == "plain" else f"Shown as correct: {reference}"
    return [_label(shortened(title, LONGEST_SAMPLE)), *map(_verdict, verdicts)]


def _verdict(verdict: LatestComparison) -> Html:
    prefers = PREFERS.get(verdict.preference or "", f"no usable verdict ({verdict.status})")
    return _line(f"{SHOWN[verdict.shown]}: {prefers}.", shortened(verdict.reasoning or UNKNOWN, LONGEST_SAMPLE))


PARTS = {"all pairs": None, "gate on": True, "gate off": False}


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
        rows = conditions_table(report)
        if self.as_tables:
            shown = rows.without({"Unmeasured"})  # no room: the text under the table has it
            table(shown, [None] * len(scores), key="conditions_table", under=under, csv=rows)
            return
        marks = [
            Part(CONDITION_WORDS[name], part, share, _tip(f"{CONDITION_WORDS[name]}, {part}", share, "pairs"))
            for name, condition in scores.items()
            for part, share in zip(PARTS, (condition.accuracy, condition.on, condition.off), strict=True)
        ]
        figure(
            lambda: conditions_chart(marks),
            intervals.HEIGHT,
            rows,
            [self._at(listed=listed_words(PARTS[mark.part])) for mark in marks],
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
                _tip(f"{level.agree} of {report.k} agree: own answer right", level.share, "questions"),
                grounded=level.agree >= report.needed,
            )
            for level in reversed(report.calibration)
        ]
        figure(
            lambda: share_levels_chart(levels, f"Samples that agree, of {report.k}", "Own answer right"),
            intervals.HEIGHT,
            levels_table(report),
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
        figure(
            lambda: share_levels_chart(levels, f"Gate threshold, of {report.k}", "Accuracy of C", whole=False),
            intervals.HEIGHT,
            sweep_table(report),
            [self._at(needed=point.agree) for point in report.sweep],
            key="sweep",
            says="Accuracy of condition C at every gate, with 95 % interval",
            as_table=self.as_tables,
            under=("Computed from the same verdicts, without further calls. Click a gate to use it on this page.",),
        )


def _conditions_words(report: SelfReferenceReport) -> tuple[str | None, ...]:
    """Return the number of pairs, of split verdicts and of missing verdicts by condition."""
    pairs = {name: scores.accuracy.n for name, scores in report.conditions.items()}
    splits = {name: scores.splits for name, scores in report.conditions.items()}
    missing = {name: scores.unmeasured for name, scores in report.conditions.items() if scores.unmeasured}
    pairs_words = f"{pairs['A']:,} pairs" if len(set(pairs.values())) == 1 else f"Pairs: {_by_name(pairs)}"
    return (
        f"{pairs_words}, 95 % intervals.",
        f"Split (the orders differ; counted as half): {_by_name(splits)}." if any(splits.values()) else None,
        f"No usable verdict in both orders: {_by_name(missing)}." if missing else None,
    )


def _by_name(numbers: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {number:,}" for name, number in numbers.items())


def _tip(what: str, share: Estimate, unit: str) -> str:
    return f"{what} {percent_words(share)} on {share.n:,} {unit}"

"""The parts of the self-reference page: its address, tables, pictures and the panel of one pair."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
import streamlit as st

from judgeboard.domain import Estimate, Preference
from judgeboard.judges.reply_forms import lettered
from judgeboard.methods.self_reference_report import (
    CONDITION_WORDS,
    ListedItem,
    OneItem,
    SelfReferencePage,
    SelfReferenceReport,
    compare_command,
    noun,
    self_reference_page,
)
from judgeboard.stats.estimates import percent, percent_words
from judgeboard.store.comparisons import PairHead
from judgeboard.store.judge_versions import StoredVersion, get_version
from judgeboard.store.pairs import LastRows, last_rows
from judgeboard.store.row_filter import hides_rows
from judgeboard.store.samples import StoredOrder, StoredTry
from judgeboard_dashboard.evidence import Html, show, tag
from judgeboard_dashboard.session import reading, store
from judgeboard_dashboard.widgets.charts import intervals
from judgeboard_dashboard.widgets.charts.intervals import Level, Part, conditions_chart, share_levels_chart
from judgeboard_dashboard.widgets.navigation import Rows, pick_rows
from judgeboard_dashboard.widgets.tables import figure, file_of, frame, table
from judgeboard_dashboard.widgets.texts import UNKNOWN, capital, caption, heading, instead, shortened

PAGE = "self_reference"
FIELDS = ("version", "tries", "gate", "listed", "category", "tables")

ALL = "All"
# What is listed, in words -> gate on or off, own answer right or wrong.
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
    """Return what a slice is called in the list."""
    return next(words for words, narrowed in LISTED.items() if narrowed == (gate_on, right))


def gate_words(needed: int, k: int) -> str:
    """Return a gate as its field says it."""
    return f"{needed} of {k}"


def this_page(
    version: str, k: int, needed: int, *, listed: str = ALL, category: str | None = None, as_tables: bool = False
) -> Rows:
    """Return the page with these choices."""
    query: dict[str, str | list[str]] = {"version": version, "tries": str(k), "gate": gate_words(needed, k)}
    if listed != ALL:
        query["listed"] = listed
    if category is not None:
        query["category"] = category
    return Rows(PAGE, query | ({"tables": "true"} if as_tables else {}))


MOST_HELD = 8


def held_page(version: StoredVersion, k: int, needed: int) -> SelfReferencePage:
    """Return the page of a version at one gate, worked out again only where rows were added since.

    What is held is everything: who may not see all of it has their own worked out.
    """
    with reading() as connection:
        if hides_rows(connection):
            return self_reference_page(connection, version, k, needed)
        upto = last_rows(connection)
    return _worked_out(str(store().engine.url), version.id, k, needed, upto)


@st.cache_resource(max_entries=MOST_HELD, show_spinner=False)
def _worked_out(address: str, version_id: int, k: int, needed: int, upto: LastRows) -> SelfReferencePage:  # noqa: ARG001 - the key
    with store().reading() as connection:
        return self_reference_page(connection, get_version(connection, version_id), k, needed)


COUNT = st.column_config.NumberColumn(format="localized", width=70)
SHARE = st.column_config.TextColumn(width=105)
RIGHT_WHERE_ON = "Right where on"
SCORES = {1.0: "right", 0.5: "split", 0.0: "wrong", None: None}
FIGURE_COLUMNS: dict[str, Any] = {
    "Pairs": COUNT,
    "Right": COUNT,
    "Questions": COUNT,
    "Category": st.column_config.TextColumn(width=130),
    "Slice": st.column_config.TextColumn(width=190),
    **dict.fromkeys(
        ("All", "A no reference", "B always", "C selective", "Gate on", "Gate off", "Share right"),
        SHARE,
    ),
    RIGHT_WHERE_ON: st.column_config.TextColumn(
        width=118, help="How often its own answer is right where the gate is on: only there it is shown"
    ),
}
# The four shares with pairs and splits fit beside each other at 1440 px.
CONDITION_COLUMNS: dict[str, Any] = {
    **dict.fromkeys(("Condition", "All", "Gate on", "Gate off"), st.column_config.TextColumn(width=102)),
    "Pairs": st.column_config.NumberColumn(format="localized", width=55),
    "Splits": st.column_config.NumberColumn(format="localized", width=55, help="The two orders contradict: half"),
}
ITEM_COLUMNS: dict[str, Any] = {
    "Question": st.column_config.TextColumn(width=215),
    "Category": st.column_config.TextColumn(width=90),
    "Agree": st.column_config.TextColumn(width=60),
    "Own answer": st.column_config.TextColumn(width=90),
    "Own right": st.column_config.TextColumn(width=75, help="Whether its own answer is the correct one"),
    **{
        f"Cond. {name}": st.column_config.TextColumn(width=62, help=f"Condition {words}: which answer it prefers")
        for name, words in CONDITION_WORDS.items()
    },
}


def conditions_table(report: SelfReferenceReport) -> pd.DataFrame:
    """Return what the conditions come to, also where the gate is on and off, and what was left out."""
    columns = {"Condition": "str", "All": "str", "Pairs": "Int64", "Splits": "Int64", "Gate on": "str"}
    return frame(
        {**columns, "Gate off": "str", "Unmeasured": "Int64"},
        (
            (
                CONDITION_WORDS[name],
                _words(scores.accuracy),
                scores.accuracy.n,
                scores.splits,
                *(_words(each) for each in (scores.on, scores.off)),
                scores.unmeasured,
            )
            for name, scores in report.conditions.items()
        ),
    )


def levels_table(report: SelfReferenceReport) -> pd.DataFrame:
    """Return how often the majority is right by how many tries agree, fewest first."""
    return frame(
        {"Agree": "str", "Questions": "Int64", "Right": "Int64", "Share right": "str"},
        (
            (f"{level.agree} of {report.k}", level.n, level.right, _words(level.share))
            for level in reversed(report.calibration)
        ),
    )


def sweep_table(report: SelfReferenceReport) -> pd.DataFrame:
    """Return what C comes to at every gate, the lowest first."""
    return frame(
        {"Gate from": "str", "C selective": "str", "Gate on": "str", RIGHT_WHERE_ON: "str"},
        (
            (
                f"{point.agree} of {report.k}",
                *(_words(each) for each in (point.scores.accuracy, point.gate.on_rate, point.gate.precision)),
            )
            for point in report.sweep
        ),
    )


def slices_table(report: SelfReferenceReport) -> pd.DataFrame:
    """Return the four slices with what both conditions make of them."""
    rows = frame(
        {"Slice": "str", _items_title(report): "Int64", "A no reference": "str", "B always": "str"},
        (
            (
                listed_words(each.gate_on, each.majority_right),
                each.n,
                _words(each.without),
                _words(each.always),
            )
            for each in report.slices
        ),
    )
    return _said(rows)


def categories_table(report: SelfReferenceReport) -> pd.DataFrame:
    """Return the figures of each category at this gate."""
    columns = {"Category": "str", _items_title(report): "Int64", "Gate on": "str", RIGHT_WHERE_ON: "str"}
    rows = frame(
        {**columns, "A no reference": "str", "B always": "str", "C selective": "str"},
        (
            (
                each.category,
                each.n,
                *(
                    _words(one)
                    for one in (each.gate.on_rate, each.gate.precision, each.without, each.always, each.selective)
                ),
            )
            for each in report.categories
        ),
    )
    return _said(rows)


def categories_file(report: SelfReferenceReport) -> pd.DataFrame:
    """Return the same as plain numbers."""
    rows: list[tuple[tuple[str, str], Estimate]] = []
    for each in report.categories:
        named = {
            "gate on": each.gate.on_rate,
            "right where on": each.gate.precision,
            "A": each.without,
            "B": each.always,
            "C": each.selective,
        }
        rows += [((each.category, name), estimate) for name, estimate in named.items()]
    return file_of({"Category": "str", "Figure": "str"}, rows)


def items_table(items: Sequence[ListedItem], heads: Mapping[int, PairHead], k: int) -> pd.DataFrame:
    """Return the items in lines; conditions that nobody was asked in are left out."""
    columns = {"Question": "str", "Category": "str", "Agree": "str", "Own answer": "str", "Own right": "str"}
    correct = {True: "yes", False: "no", None: None}
    rows = frame(
        {**columns, **{f"Cond. {name}": "str" for name in CONDITION_WORDS}},
        (
            (
                _question(heads.get(item.pair_id)),
                item.category,
                f"{item.agree} of {k}",
                item.answer or "no answer",
                correct[item.right],
                *(SCORES[score] for score in (item.without, item.always, item.selective)),
            )
            for item in items
        ),
    )
    return _said(rows)


def _said(rows: pd.DataFrame) -> pd.DataFrame:
    conditions = (*CONDITION_WORDS.values(), *(f"Cond. {name}" for name in CONDITION_WORDS))
    return rows.drop(columns=[name for name in rows.columns if name in conditions and rows[name].isna().all()])


def _items_title(report: SelfReferenceReport) -> str:
    return f"{capital(noun(report))}s"


def _words(estimate: Estimate) -> str | None:
    """A share with its interval; an empty cell where it is unmeasured, which the sentence above the page explains."""
    return None if estimate.value is None else percent_words(estimate)


def _question(head: PairHead | None) -> str | None:
    return None if head is None or head.question is None else " ".join(head.question.split())


_GOLD = {Preference.A: "answer A", Preference.B: "answer B", Preference.TIE: "neither"}
LONGEST = 1_200  # characters of a question or an answer; the pair's own page has all of it
LONGEST_TRY = 240
SHOWN = {"ab": "Answer A first", "ba": "Answer B first"}
PREFERS = {"a": "prefers answer A", "b": "prefers answer B", "tie": "calls it a tie"}


def one_item_panel(found: OneItem, version_id: int, k: int) -> None:
    """Show one item and the button that opens its pair; the first ``k`` tries count."""
    pair = found.pair
    more = found.tries[k:]
    with st.container(border=True, key="one_item"):
        show(
            tag(
                "div",
                tag("div", "Question", cls="jb-label"),
                tag("div", shortened(pair.question or "forgotten", LONGEST), cls="jb-reason"),
                *(tag("div", option, cls="jb-cap") for option in lettered(pair.options or ())),
                *_line("Correct option" if pair.options else "Correct answer", pair.reference),
                *_line("Better of the two", None if pair.gold is None else _GOLD[pair.gold]),
                tag("div", "Its own tries", cls="jb-label"),
                *(_try(each) for each in found.tries[:k]),
                tag("div", f"Recorded too, but only the first {k} count", cls="jb-label") if more else None,
                *(_try(each) for each in more),
                *(part for condition in ("plain", "reference") for part in _verdicts(found.orders, condition)),
                cls="jb-one",
            )
        )
        if pair.answer_a is None:
            why = "Only the question was recorded, no answers to compare."
            caption("Its texts were removed." if pair.question is None else why)
            return
        st.button(
            "Open the pair",
            key="open_pair",
            icon=":material/open_in_full:",
            on_click=pick_rows,
            args=(Rows("pairs", {"pair": str(pair.id), "of": str(version_id)}),),
            wrap=False,
        )


def _line(name: str, value: str | None) -> list[Html]:
    if value is None:
        return []
    return [tag("div", tag("b", f"{name} "), shortened(value, LONGEST), cls="jb-cap jb-start")]


def _try(each: StoredTry) -> Html:
    said = "no answer" if each.answer is None else each.answer
    why = "" if each.status == "ok" else f" ({each.status})"
    reasoning = shortened(" ".join(_reasoning(each.raw).split()), LONGEST_TRY)
    head = tag("b", f"{each.number + 1}. {shortened(said, LONGEST_TRY)}{why} ")
    return tag("div", head, reasoning, cls="jb-cap jb-start")


def _reasoning(raw: str | None) -> str:
    """The reasoning of a reply, or the reply itself where it holds none."""
    try:
        said = json.loads(raw or "")
    except (ValueError, RecursionError):
        return raw or ""
    reasoning = said.get("reasoning") if isinstance(said, dict) else None
    return reasoning if isinstance(reasoning, str) else raw or ""


def _verdicts(orders: tuple[StoredOrder, ...], condition: str) -> list[Html]:
    said = [each for each in orders if each.condition == condition]
    if not said:
        return []
    shown = next((each.reference for each in said if each.reference is not None), None)
    title = "Without a reference" if condition == "plain" else f"Shown as correct: {shown or 'its own answer'}"
    return [tag("div", shortened(title, LONGEST_TRY), cls="jb-label"), *(_order(each) for each in said)]


def _order(each: StoredOrder) -> Html:
    prefers = PREFERS.get(each.preference or "", f"no usable verdict ({each.status})")
    reasoning = shortened(each.reasoning, LONGEST_TRY) if each.reasoning else UNKNOWN
    return tag("div", tag("b", f"{SHOWN[each.shown]}: {prefers}. "), reasoning, cls="jb-cap jb-start")


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
            intervals.HEIGHT,
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
            intervals.HEIGHT,
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
            intervals.HEIGHT,
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

"""The page Self-reference: the figures of a judge version at one gate, and its pairs."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import streamlit as st

from judgeboard.domain import Estimate, PairItem, Preference
from judgeboard.formats.output import Column, Columns, Table
from judgeboard.judges.replies import lettered
from judgeboard.measure.notes import paragraph
from judgeboard.methods.self_reference.own_answers import TAU, samples_needed
from judgeboard.methods.self_reference.queries import StoredTry, most_samples, sampling_versions, tries_at
from judgeboard.methods.self_reference.report import (
    CONDITION_WORDS,
    MEANINGS,
    SLICES,
    ListedItem,
    SelfReferencePage,
    SelfReferenceReport,
    categories_table,
    compare_command,
    conditions_table,
    findings,
    gate_words,
    gates_table,
    levels_table,
    noun,
    samples_note,
    samples_used,
    self_reference_page,
    slices_table,
    tuned_note,
)
from judgeboard.methods.self_reference.scores import ConditionScores
from judgeboard.stats.estimates import percent, percent_words
from judgeboard.store.comparisons import PLAIN, REFERENCE, LatestComparison, latest_comparisons, pair_heads
from judgeboard.store.judge_versions import StoredVersion
from judgeboard.store.pairs import last_rows, load_pairs
from judgeboard.text import counted, shortened
from judgeboard_dashboard.evidence import Html, show, tag
from judgeboard_dashboard.review.texts import comparison_words
from judgeboard_dashboard.session import kept_until_new_rows, page, reading, stacking_columns
from judgeboard_dashboard.theme import palette
from judgeboard_dashboard.widgets.charts import PERCENT, click_points, estimate_rows, intervals, layered
from judgeboard_dashboard.widgets.charts.intervals import Level, ends, share_levels_chart
from judgeboard_dashboard.widgets.filters import choose, table_switch, version_field
from judgeboard_dashboard.widgets.first_steps import empty_page
from judgeboard_dashboard.widgets.navigation import Rows, follow, open_button
from judgeboard_dashboard.widgets.tables import choose_row, figure, file_of, one_line, table
from judgeboard_dashboard.widgets.texts import capital, caption, empty, heading, instead, sentence

PAGE = "self_reference"
FIELDS = ("version", "samples", "gate", "listed", "category", "tables")

ALL = "All"
# Name of a list -> (is the gate on, is the own answer right); None means either.
LISTED: dict[str, tuple[bool | None, bool | None]] = {
    ALL: (None, None),
    "Gate on": (True, None),
    "Gate off": (False, None),
    **{words: slice_ for slice_, words in SLICES.items()},
}


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


_GOLD = {Preference.A: "answer A", Preference.B: "answer B", Preference.TIE: "neither"}
LONGEST = 1_200  # characters of a question or an answer; the page of the pair shows all
LONGEST_SAMPLE = 240


def item_panel(pair: PairItem, samples: Sequence[StoredTry], orders: Sequence[LatestComparison], k: int) -> None:
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
            Rows("pairs", {"pair": str(pair.id)}),
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
    return _line(comparison_words(verdict), shortened(verdict.reasoning or "", LONGEST_SAMPLE))


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
        rows = conditions_table(report)
        if self.as_tables:
            table(rows, [None] * len(scores), key="conditions_table")
            return
        figure(
            lambda: conditions_chart({CONDITION_WORDS[name]: condition for name, condition in scores.items()}),
            intervals.HEIGHT,
            rows,
            [self._at(listed=listed) for _ in scores for listed in (ALL, "Gate on", "Gate off")],
            key="conditions",
            says="Share of pairs on which the judge prefers the better answer, by condition, with 95 % interval",
            as_table=False,
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
            gates_table(report),
            [self._at(needed=point.agree) for point in report.sweep],
            key="sweep",
            says="Accuracy of condition C at every gate, with 95 % interval",
            as_table=self.as_tables,
            under=(
                "Computed from the same verdicts, without further calls. Click a threshold to use it on this page.",
            ),
        )


PARTS = ("all pairs", "gate on", "gate off")


def conditions_chart(conditions: Mapping[str, ConditionScores]) -> Any:
    """Return the chart: conditions (by name) from top to bottom, each with the `PARTS` of its pairs."""
    colours = palette()
    marks = [(name, part) for name in conditions for part in PARTS]
    shares = [share for scores in conditions.values() for share in (scores.accuracy, scores.on, scores.off)]
    low_end, high_end = ends(shares)
    rows = estimate_rows(
        shares,
        condition=[name for name, _ in marks],
        part=[part for _, part in marks],
        text=["" if share.value is None else percent(share.value) for share in shares],
        tip=[
            f"{name}, {part} {percent_words(share)} on {counted(share.n, 'pair')}"
            for (name, part), share in zip(marks, shares, strict=True)
        ],
    )
    scale = alt.Scale(domain=[low_end, high_end], nice=False, zero=False)
    x = alt.X("value:Q", title="Prefers the better answer", scale=scale, axis=alt.Axis(tickCount=5, **PERCENT))
    colour = alt.Color(
        "part:N",
        sort=PARTS,
        scale=alt.Scale(domain=PARTS, range=colours.series),
        legend=alt.Legend(title=None, orient="top", labelFontSize=12, labelColor=colours.muted, symbolOpacity=1),
    )
    base = (
        alt.Chart(rows)
        .encode(
            y=alt.Y("condition:N", title=None, sort=list(conditions), axis=alt.Axis(labelLimit=120, grid=False)),
            yOffset=alt.YOffset("part:N", sort=PARTS),
            color=colour,
        )
        .transform_filter("isValid(datum.value)")
    )
    return layered(
        base.mark_rule(strokeWidth=2.5, opacity=0.55).encode(x=alt.X("low:Q", scale=scale), x2=alt.X2("high:Q")),
        base.mark_point(filled=True, size=80, opacity=1, aria=False).encode(x=x),
        base.mark_text(align="left", dx=5, fontSize=11).encode(
            x=alt.X("high:Q", scale=scale), text=alt.Text("text:N"), color=alt.ColorValue(colours.ink)
        ),
        click_points(base, x=x),
    )


MOST_LINES = 500
SCORES = {1.0: "right", 0.5: "inconsistent", 0.0: "wrong", None: None}
CORRECT = {True: "yes", False: "no", None: None}
EXAMPLE = (
    "The judge compares two answers | All pairs | Its own answer is sure | Not sure",
    "without its own answer | 71 % [65, 76] | 80 % [73, 86] | 57 % [47, 66]",
    "with its own answer | 74 % [69, 79] | 91 % [85, 95] | 49 % [40, 59]",
)
PURPOSE = "Self-reference shows whether a judge compares two answers better after it has answered the question itself."
JUDGE = "judgeboard compare ssr --pairs pairs.jsonl --model NAME"
OTHERS = (
    "To make pairs from your questions: `judgeboard compare make-pairs --questions FILE -o pairs.jsonl`.",
    "To import recorded samples: `judgeboard import --kind samples FILE`",
)


@dataclass(frozen=True, slots=True)
class Filters:
    """The choices in the filter row."""

    version: StoredVersion
    k: int
    listed: str
    category: str | None
    as_tables: bool


def self_reference() -> None:
    """Show the figures of a judge version at one gate, and its pairs."""
    follow(PAGE, own=FIELDS)
    with reading() as connection:
        versions = sampling_versions(connection)
    if not versions:
        empty_page("self_reference", PURPOSE, "No data yet.", command=JUDGE, others=OTHERS, among=(), example=EXAMPLE)
        return
    with st.container(key="filters_self_reference", horizontal=True, vertical_alignment="bottom", gap="small"):
        version, k, needed = _gate_fields(versions)
        figures = kept_until_new_rows(
            last_rows,
            lambda connection: self_reference_page(connection, version, k, needed),
            ("self_reference", version.id, k, needed),
        )
        filters = _list_fields(figures, version, k)
    if not figures.report.items:
        empty(f"No question has {k} samples of {version.title}.")
        return
    sentence(paragraph(findings(figures.report)))
    caption(MEANINGS, samples_note(figures.report.samples), *figures.report.caveats)
    SelfReferenceFigures(figures.report, filters.as_tables).show()
    left, right = stacking_columns("slices", [1, 1.6])
    with left:
        _slices(figures.report, filters)
    with right:
        _categories(figures, filters)
    _items(figures, filters)


def _gate_fields(versions: list[StoredVersion]) -> tuple[StoredVersion, int, int]:
    version = version_field(st.container(width=230), versions) or versions[0]
    with reading() as connection:
        most = most_samples(connection, version.id)
    usual = min(samples_used(version), most)
    counts = {str(k): k for k in (usual, *range(most, 0, -1))}
    k = choose("Samples", counts, key="samples", width=90, tip="Samples per question")
    gates = {gate_words(each, k): each for each in (samples_needed(TAU, k), *range(k, 0, -1))}
    return version, k, choose("Gate threshold", gates, key="gate", width=120)


def _list_fields(figures: SelfReferencePage, version: StoredVersion, k: int) -> Filters:
    listed = choose("List", {name: name for name in LISTED}, key="listed", width=230)
    names = [each.category for each in figures.report.categories]
    category = st.selectbox(
        "Category", names, index=None, key="category", bind="query-params", placeholder="All categories", width=180
    )
    st.space("stretch")
    as_tables = table_switch("Tables")
    return Filters(version, k, listed, category, as_tables)


def _slices(report: SelfReferenceReport, filters: Filters) -> None:
    heading("Effect by gate and own answer")
    table(
        slices_table(report),
        [
            this_page(report, as_tables=filters.as_tables, listed=SLICES[part.gate_on, part.majority_right])
            for part in report.slices
        ],
        key="slices_self_reference",
        under=(f"Click a row to list its {noun(report)}s.",),
    )


def _categories(figures: SelfReferencePage, filters: Filters) -> None:
    report = figures.report
    heading("By category")
    table(
        categories_table(report),
        [this_page(report, as_tables=filters.as_tables, category=part.category) for part in report.categories],
        key="categories_self_reference",
        under=(
            "Right if on: how often the own answer is right when the gate is on. All rows have the same threshold.",
            tuned_note(figures.tuned).text,
        ),
        csv=categories_file(report),
        most=6,
    )


def categories_file(report: SelfReferenceReport) -> Table:
    """Return the figures by category as plain numbers."""
    rows: list[tuple[tuple[str, str], Estimate]] = []
    for part in report.categories:
        rows += [((part.category, "gate on"), part.gate.on_rate), ((part.category, "right if on"), part.gate.precision)]
        conditions = zip(CONDITION_WORDS, (part.without, part.always, part.selective), strict=True)
        rows += [((part.category, name), estimate) for name, estimate in conditions]
    return file_of(("Category", "Figure"), rows)


def _items(figures: SelfReferencePage, filters: Filters) -> None:
    items = figures.listed(*LISTED.get(filters.listed, (None, None)), filters.category)
    item_noun = noun(figures.report)
    heading(f"{capital(item_noun)}s, {len(items):,} of {figures.report.items:,}")
    if not items:
        caption(f"No such {item_noun}.")
        return
    left, right = stacking_columns("items", [1.45, 1])
    with left:
        chosen = _chosen(items[:MOST_LINES], filters)
        measured = figures.report.conditions["C"].accuracy.value is not None
        caption(
            "Pairs that are wrong in condition C come first." if measured else "The highest agreement comes first.",
            f"The first {MOST_LINES:,} are shown." if len(items) > MOST_LINES else None,
            "Click a row to see its samples.",
        )
    with right, reading() as connection:
        version_id = filters.version.id
        [pair] = load_pairs(connection, [chosen.pair_id])
        samples = tries_at(connection, version_id, chosen.pair_id)
        orders = latest_comparisons(connection, version_id, chosen.pair_id, (PLAIN, REFERENCE))
        item_panel(pair, samples, orders, filters.k)


def _chosen(items: list[ListedItem], filters: Filters) -> ListedItem:
    """Show the items with the conditions that were asked, and return the selected item."""
    with reading() as connection:
        heads = pair_heads(connection, [item.pair_id for item in items])

    def score_in(condition: str) -> Callable[[ListedItem], str | None]:
        field = {"A": "without", "B": "always", "C": "selective"}[condition]
        return lambda item: SCORES[getattr(item, field)]

    conditions = {
        Column(f"Condition {name}", width=95, help=f"{words}: whether the judge prefers the better answer"): (
            score_in(name)
        )
        for name, words in CONDITION_WORDS.items()
    }
    columns: Columns[ListedItem] = {
        Column("Question", width=148): lambda item: (
            one_line(heads[item.pair_id].question) if item.pair_id in heads else None
        ),
        Column("Category", width=80): lambda item: item.category,
        Column("Agree", width=55): lambda item: gate_words(item.agree, filters.k),
        Column("Own answer", width=90): lambda item: item.answer or "no answer",
        Column("Own right", width=70, help="Whether the judge's own answer is correct"): (
            lambda item: CORRECT[item.right]
        ),
    }
    rows = Table.of(items, {**columns, **conditions}).without_empty([column.title for column in conditions])
    return items[choose_row(rows, key=f"items_{filters.version.id}_{items[0].pair_id}_{len(items)}", most=10)]


with page():
    self_reference()

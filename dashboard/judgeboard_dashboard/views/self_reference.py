"""The page Self-reference: the figures of a judge version at one gate, and its pairs."""

from collections.abc import Callable
from dataclasses import dataclass

import streamlit as st

from judgeboard.domain import Estimate
from judgeboard.methods.own_answers import TAU, samples_needed
from judgeboard.methods.self_reference_report import (
    CONDITION_WORDS,
    MEANINGS,
    ListedItem,
    SelfReferencePage,
    SelfReferenceReport,
    noun,
    report_sentence,
    samples_sentence,
    samples_used,
    self_reference_page,
    tuned_sentence,
)
from judgeboard.methods.self_reference_scores import CategoryScores, SliceScores
from judgeboard.reports.output import Column, Columns, Table
from judgeboard.store.comparisons import PLAIN, REFERENCE, latest_comparisons, pair_heads
from judgeboard.store.judge_versions import StoredVersion
from judgeboard.store.pairs import last_rows, load_pairs
from judgeboard.store.samples import most_samples, sampling_versions, tries_at
from judgeboard_dashboard.session import kept_until_new_rows, page, reading, stacking_columns
from judgeboard_dashboard.widgets.filters import choose, table_switch, version_field
from judgeboard_dashboard.widgets.first_steps import empty_page
from judgeboard_dashboard.widgets.navigation import follow
from judgeboard_dashboard.widgets.self_reference import (
    FIELDS,
    LISTED,
    PAGE,
    RIGHT_WHERE_ON,
    SelfReferenceFigures,
    gate_words,
    item_panel,
    known,
    listed_words,
    share_column,
    this_page,
)
from judgeboard_dashboard.widgets.tables import choose_row, file_of, one_line, table
from judgeboard_dashboard.widgets.texts import capital, caption, empty, heading, sentence

MOST_LINES = 500
SCORES = {1.0: "right", 0.5: "inconsistent", 0.0: "wrong", None: None}
CORRECT = {True: "yes", False: "no", None: None}
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
        empty_page("self_reference", PURPOSE, "No data yet.", command=JUDGE, others=OTHERS, among=())
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
    sentence(report_sentence(figures.report))
    caption(MEANINGS, samples_sentence(figures.report), *figures.report.notes)
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
    columns: Columns[SliceScores] = {
        Column("Slice", width=135): lambda part: listed_words(part.gate_on, part.majority_right),
        Column(f"{capital(noun(report))}s", "count", width=70): lambda part: part.n,
        share_column("Share of all"): lambda part: known(part.share),
        share_column(CONDITION_WORDS["A"]): lambda part: known(part.without),
        share_column(CONDITION_WORDS["B"]): lambda part: known(part.always),
    }
    table(
        Table.of(report.slices, columns).without_empty(CONDITION_WORDS.values()),
        [
            this_page(report, as_tables=filters.as_tables, listed=listed_words(part.gate_on, part.majority_right))
            for part in report.slices
        ],
        key="slices_self_reference",
        under=(f"Click a row to list its {noun(report)}s.",),
    )


def _categories(figures: SelfReferencePage, filters: Filters) -> None:
    report = figures.report
    heading("By category")
    columns: Columns[CategoryScores] = {
        Column("Category", width=130): lambda part: part.category,
        Column(f"{capital(noun(report))}s", "count", width=70): lambda part: part.n,
        share_column("Gate on"): lambda part: known(part.gate.on_rate),
        RIGHT_WHERE_ON: lambda part: known(part.gate.precision),
        share_column(CONDITION_WORDS["A"]): lambda part: known(part.without),
        share_column(CONDITION_WORDS["B"]): lambda part: known(part.always),
        share_column(CONDITION_WORDS["C"]): lambda part: known(part.selective),
    }
    table(
        Table.of(report.categories, columns).without_empty(CONDITION_WORDS.values()),
        [this_page(report, as_tables=filters.as_tables, category=part.category) for part in report.categories],
        key="categories_self_reference",
        under=(
            "Right if on: how often the own answer is right when the gate is on. All rows have the same threshold.",
            tuned_sentence(figures.tuned),
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
        item_panel(pair, samples, orders, version_id, filters.k)


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

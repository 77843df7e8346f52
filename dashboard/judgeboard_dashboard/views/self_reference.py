"""The page Self-reference: the figures of a judge version at one gate, and its pairs."""

from dataclasses import dataclass

import streamlit as st

from judgeboard.methods.own_answers import TAU, samples_needed
from judgeboard.methods.self_reference_report import (
    MEANINGS,
    ListedItem,
    SelfReferencePage,
    SelfReferenceReport,
    noun,
    report_sentence,
    samples_used,
    tuned_sentence,
)
from judgeboard.store.comparisons import (
    PLAIN,
    REFERENCE,
    latest_comparisons,
    most_samples,
    pair_heads,
    sampling_versions,
    tries_at,
)
from judgeboard.store.judge_versions import StoredVersion
from judgeboard.store.pairs import load_pairs
from judgeboard_dashboard.session import page, reading
from judgeboard_dashboard.widgets.filters import choose, version_field
from judgeboard_dashboard.widgets.first_steps import empty_page
from judgeboard_dashboard.widgets.navigation import follow
from judgeboard_dashboard.widgets.self_reference import (
    FIELDS,
    LISTED,
    PAGE,
    SelfReferenceFigures,
    cached_page,
    categories_file,
    categories_table,
    gate_words,
    item_panel,
    items_table,
    listed_words,
    slices_table,
    this_page,
)
from judgeboard_dashboard.widgets.tables import choose_row, table
from judgeboard_dashboard.widgets.texts import capital, caption, empty, heading, sentence

MOST_LINES = 500
PURPOSE = "Self-reference shows whether a judge compares two answers better after it has answered the question itself."
JUDGE = "judgeboard ssr --pairs pairs.jsonl --model NAME"
OTHERS = (
    "To make pairs of your questions: `judgeboard ssr make-pairs --questions FILE -o pairs.jsonl`.",
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
        figures = cached_page(version, k, needed)
        filters = _list_fields(figures, version, k)
    if not figures.report.items:
        empty(f"No question has {k} samples of {version.title}.")
        return
    sentence(report_sentence(figures.report))
    caption(MEANINGS, *figures.report.notes)
    SelfReferenceFigures(figures.report, filters.as_tables).show()
    with st.container(key="stack_slices"):
        left, right = st.columns([1, 1.6], gap="medium")
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
    k = choose("Samples", counts, key="samples", width=90, help="Samples per question")
    gates = {gate_words(each, k): each for each in (samples_needed(TAU, k), *range(k, 0, -1))}
    return version, k, choose("Gate threshold", gates, key="gate", width=120)


def _list_fields(figures: SelfReferencePage, version: StoredVersion, k: int) -> Filters:
    listed = choose("List", {name: name for name in LISTED}, key="listed", width=230)
    names = [each.category for each in figures.report.categories]
    category = st.selectbox(
        "Category", names, index=None, key="category", bind="query-params", placeholder="All categories", width=180
    )
    st.space("stretch")
    as_tables = st.toggle("Tables", key="tables", bind="query-params", width="content")
    return Filters(version, k, listed, category, as_tables)


def _slices(report: SelfReferenceReport, filters: Filters) -> None:
    heading("Effect by gate and own answer")
    table(
        slices_table(report),
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
    table(
        categories_table(report),
        [this_page(report, as_tables=filters.as_tables, category=part.category) for part in report.categories],
        key="categories_self_reference",
        under=(
            "Same gate for all categories. Right if on: how often its own answer is right if the gate is on.",
            tuned_sentence(figures.tuned),
        ),
        csv=categories_file(report),
        most=6,
    )


def _items(figures: SelfReferencePage, filters: Filters) -> None:
    items = figures.listed(*LISTED.get(filters.listed, (None, None)), filters.category)
    item_noun = noun(figures.report)
    heading(f"{capital(item_noun)}s, {len(items):,} of {figures.report.items:,}")
    if not items:
        caption(f"No such {item_noun}.")
        return
    with st.container(key="stack_items"):
        left, right = st.columns([1.45, 1], gap="medium")
    with left:
        chosen = _chosen(items[:MOST_LINES], filters)
        measured = figures.report.conditions["C"].accuracy.value is not None
        caption(
            "Wrong in condition C first." if measured else "Highest agreement first.",
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
    with reading() as connection:
        heads = pair_heads(connection, [item.pair_id for item in items])
    key = f"items_{filters.version.id}_{items[0].pair_id}_{len(items)}"
    return items[choose_row(items_table(items, heads, filters.k), key=key, most=10)]


with page("Self-reference"):
    self_reference()

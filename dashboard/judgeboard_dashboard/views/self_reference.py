"""Self-reference: what a judge version comes to at one gate, and its pairs."""

from dataclasses import dataclass

import streamlit as st

from judgeboard.methods.own_answers import TAU, samples_needed
from judgeboard.methods.self_reference_report import (
    MEANINGS,
    ListedItem,
    SelfReferencePage,
    SelfReferenceReport,
    noun,
    one_item,
    report_sentence,
    samples_used,
    tuned_sentence,
)
from judgeboard.store.comparisons import pair_heads
from judgeboard.store.judge_versions import StoredVersion
from judgeboard.store.samples import most_samples, sampling_versions
from judgeboard_dashboard.session import page, reading
from judgeboard_dashboard.widgets.navigation import follow
from judgeboard_dashboard.widgets.self_reference import (
    ALL,
    FIELDS,
    FIGURE_COLUMNS,
    ITEM_COLUMNS,
    LISTED,
    PAGE,
    SelfReferenceFigures,
    categories_file,
    categories_table,
    gate_words,
    held_page,
    items_table,
    listed_words,
    one_item_panel,
    slices_table,
    this_page,
)
from judgeboard_dashboard.widgets.tables import ROW_HEIGHT, height, table
from judgeboard_dashboard.widgets.texts import capital, caption, empty, heading, sentence

MOST_LINES = 500
SEEN = 10
NOTHING = (
    "Self-reference shows whether a judge decides better between two answers once it has answered the question itself.",
    "No judge has done so yet. Make pairs: `judgeboard ssr make-pairs --questions FILE -o pairs.jsonl`",
    "Ask a judge about them: `judgeboard ssr --pairs pairs.jsonl --model NAME`",
    "Or bring recorded tries: `judgeboard import --kind samples FILE`",
)


@dataclass(frozen=True, slots=True)
class Asked:
    """What the filter row says."""

    version: StoredVersion
    k: int
    needed: int
    listed: str
    category: str | None
    as_tables: bool


def self_reference() -> None:
    """Show what a judge version came to at one gate, and its pairs."""
    follow(PAGE, own=FIELDS)
    with reading() as connection:
        versions = sampling_versions(connection)
    if not versions:
        empty(*NOTHING)
        return
    with st.container(key="filters_self_reference", horizontal=True, vertical_alignment="bottom", gap="small"):
        version, k, needed = _gate_fields(versions)
        found = held_page(version, k, needed)
        asked = _list_fields(found, version, k, needed)
    if not found.report.items:
        empty(f"No question has {k} tries by {version.title}.")
        return
    sentence(report_sentence(found.report))
    caption(MEANINGS, *found.report.notes)
    SelfReferenceFigures(found.report, asked.as_tables).show()
    with st.container(key="stack_slices"):
        left, right = st.columns([1, 1.6], gap="medium")
    with left:
        _slices(found.report, asked)
    with right:
        _categories(found, asked)
    _items(found, asked)


def _gate_fields(versions: list[StoredVersion]) -> tuple[StoredVersion, int, int]:
    titles = {version.title: version for version in versions}
    chosen = st.selectbox("Judge version", list(titles), key="version", bind="query-params", width=230)
    version = titles.get(chosen or "", versions[0])
    with reading() as connection:
        most = most_samples(connection, version.id)
    usual = min(samples_used(version), most)
    counts = [str(usual), *(str(k) for k in range(most, 0, -1) if k != usual)]
    tries = st.selectbox("Tries", counts, key="tries", bind="query-params", width=90, help="The first so many count")
    k = int(tries or usual)
    at_tau = samples_needed(TAU, k)
    gates = [gate_words(at_tau, k), *(gate_words(each, k) for each in range(k, 0, -1) if each != at_tau)]
    gate = st.selectbox("Gate on from", gates, key="gate", bind="query-params", width=120)
    return version, k, int((gate or gates[0]).split()[0])


def _list_fields(found: SelfReferencePage, version: StoredVersion, k: int, needed: int) -> Asked:
    listed = st.selectbox("List", list(LISTED), key="listed", bind="query-params", width=230)
    names = [each.category for each in found.report.categories]
    category = st.selectbox(
        "Category",
        names,
        index=None,
        key="category",
        bind="query-params",
        placeholder="All categories",
        width=180,
    )
    st.space("stretch")
    as_tables = st.toggle("Tables", key="tables", bind="query-params", width="content")
    return Asked(version, k, needed, listed or ALL, category, as_tables)


def _slices(report: SelfReferenceReport, asked: Asked) -> None:
    heading("Where it helps, where it harms")
    table(
        slices_table(report),
        [
            this_page(
                asked.version.title,
                asked.k,
                asked.needed,
                listed=listed_words(each.gate_on, each.majority_right),
                as_tables=asked.as_tables,
            )
            for each in report.slices
        ],
        key="slices_self_reference",
        under=(f"Click a line to list its {noun(report)}s.",),
        columns=FIGURE_COLUMNS,
    )


def _categories(found: SelfReferencePage, asked: Asked) -> None:
    report = found.report
    heading("By category")
    table(
        categories_table(report),
        [
            this_page(asked.version.title, asked.k, asked.needed, category=each.category, as_tables=asked.as_tables)
            for each in report.categories
        ],
        key="categories_self_reference",
        under=(
            "At the same gate. Right where on: how often its own answer is right where the gate is on.",
            tuned_sentence(found.tuned),
        ),
        columns=FIGURE_COLUMNS,
        csv=categories_file(report),
        most=6,
    )


def _items(found: SelfReferencePage, asked: Asked) -> None:
    items = found.listed(*LISTED.get(asked.listed, (None, None)), asked.category)
    one = noun(found.report)
    heading(f"{capital(one)}s, {len(items):,} of {found.report.items:,}")
    if not items:
        caption(f"No such {one}.")
        return
    with st.container(key="stack_items"):
        left, right = st.columns([1.45, 1], gap="medium")
    with left:
        chosen = _chosen(items[:MOST_LINES], asked)
        measured = found.report.conditions["C"].accuracy.value is not None
        caption(
            "Those that condition C gets wrong first." if measured else "Those whose tries agree most first.",
            f"The first {MOST_LINES:,} of them." if len(items) > MOST_LINES else None,
            "Click a line to read what it tried.",
        )
    with right, reading() as connection:
        one_item_panel(one_item(connection, asked.version.id, chosen.pair_id), asked.version.id, asked.k)


def _chosen(items: list[ListedItem], asked: Asked) -> ListedItem:
    with reading() as connection:
        heads = pair_heads(connection, [item.pair_id for item in items])
    state = st.dataframe(
        items_table(items, heads, asked.k),
        key=f"items_{asked.version.id}_{items[0].pair_id}_{len(items)}",
        hide_index=True,
        placeholder="",
        row_height=ROW_HEIGHT,
        height=height(len(items), most=SEEN),
        selection_mode="single-row-required",
        on_select="rerun",
        column_config=ITEM_COLUMNS,
    )
    rows = state.selection.rows
    return items[rows[0]] if rows and rows[0] < len(items) else items[0]


with page("Self-reference"):
    self_reference()

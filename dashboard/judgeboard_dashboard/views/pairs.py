"""The Pairs page: judgments and preferences on pairs of answers."""

from collections.abc import Mapping, Sequence

import streamlit as st

from judgeboard.domain import OVERALL, Action, Stage
from judgeboard.errors import NotFound
from judgeboard.formats.output import UNKNOWN, Column, Columns, Table
from judgeboard.measure.pair_report import (
    COUNTS,
    FIGURES,
    ComparedPairs,
    Listed,
    PairLine,
)
from judgeboard.measure.result import Result
from judgeboard.store.comparisons import (
    PairHead,
    latest_comparisons,
    pair_heads,
    versions_that_compared,
)
from judgeboard.store.pairs import last_rows, load_pairs
from judgeboard.store.preferences import CurrentPreference, load_preferences, side_of
from judgeboard.store.queues import PAIRS
from judgeboard_dashboard.evidence import show, show_div, tag
from judgeboard_dashboard.gate import permitted
from judgeboard_dashboard.review.queues import your_queues
from judgeboard_dashboard.review.texts import comparison_words, pair_block
from judgeboard_dashboard.session import (
    current_reviewer,
    in_row,
    kept_until_new_rows,
    page,
    read,
    reading,
)
from judgeboard_dashboard.widgets.filters import choose, version_field
from judgeboard_dashboard.widgets.first_steps import empty_page
from judgeboard_dashboard.widgets.navigation import (
    PAIR_ITEMS,
    Rows,
    follow,
    number_in_address,
    open_button,
)
from judgeboard_dashboard.widgets.tables import one_line, table
from judgeboard_dashboard.widgets.texts import caption, count, heading, sentence, stored_words

PAGE = "pairs"
LIST_FIELDS = ("version", "aspect", "list", "types")  # parameters of the address
LISTED = {
    Listed.ALL: "All pairs",
    Listed.INCONSISTENT: "Inconsistent",
    Listed.WRONG: "Wrong",
    Listed.UNMEASURED: "Unmeasured",
    Listed.UNJUDGED: "Not judged by people",
}
MOST_LINES = 1_000
MOST_QUEUED = 200  # ids fit an address
PURPOSE = "Pairs show which of two answers is better. A judge is asked in both orders. People do not see its verdict."
COMPARE = "judgeboard compare --a SOURCE --b SOURCE --model NAME"
IMPORT = "To import recorded pairs: `judgeboard import --kind pairs FILE`"
SHOWN = (
    *("pairs", "self_consistency", "first_position", "accuracy", "people"),
    *("accuracy_orders_mean", "accuracy_consistent", "flips"),
)
"""The figures of the table; the CSV file has all figures."""


def pairs() -> None:
    """Show the pair in the address with verdicts and preferences. Without a pair, show the list."""
    follow(PAGE, own=(*LIST_FIELDS, "pair"))
    pair_id = number_in_address("pair", "pair")
    if pair_id is None:
        _list()
        return
    # A pair that the reviewer must still review blind is not read.
    with reading() as connection:
        pair = next(iter(load_pairs(connection, [pair_id])), None)
        if pair is None:
            raise NotFound(f"There is no pair {pair_id}, or you must review it in a queue first.")
        comparisons = [
            (version.title, comparison)
            for version in versions_that_compared(connection)
            for comparison in latest_comparisons(connection, version.id, pair_id)
        ]
        preferences = load_preferences(connection, [pair_id])
    open_button("Back to the pairs", Rows(PAGE, {}), key="pairs_back", type="tertiary")
    heading(f"Pair {pair.external_id}")
    gold = stored_words(pair.gold)
    caption(f"{pair.query_type} · {pair.source}", None if gold is None else f"Gold: {gold}.")
    models = (f"Answer A · {pair.model_a or UNKNOWN}", f"Answer B · {pair.model_b or UNKNOWN}")
    show(
        pair_block(
            pair.question,
            pair.options or (),
            pair.passages or (),
            pair.answer_a,
            pair.answer_b,
            models,
        )
    )
    judges = [
        tag(
            "div",
            tag("b", f"{title}. {comparison_words(each)} "),
            each.reasoning or each.error or "",
            cls="jb-reason",
        )
        for title, each in comparisons
    ]
    people = [
        tag(
            "div",
            f"{each.reviewer}, {each.aspect}: {stored_words(side_of(each))}{_stage(each)}",
            cls="jb-cap",
        )
        for each in preferences
    ]
    for label, lines in (("Judges", judges), ("People", people)):
        show_div(
            "jb-one",
            tag("div", label, cls="jb-label"),
            *(lines or [tag("div", "None yet.", cls="jb-cap")]),
        )


def _list() -> None:
    versions = read(versions_that_compared)
    with in_row("filters_pairs", align="bottom"):
        version = version_field(st.container(width=230), versions, empty="None compared yet")
        # The pairs are loaded once for the lines and the figures.
        compared, results = kept_until_new_rows(
            last_rows,
            lambda connection: (listed := ComparedPairs(connection, version), listed.figures()),
            ("pairs", version and version.id),
        )
        aspect = next(iter(compared.aspects), OVERALL)
        if len(compared.aspects) > 1:
            aspect = st.selectbox(
                "Aspect", compared.aspects, key="aspect", bind="query-params", width=200
            )
        list_name = choose(
            "Pairs", {name: list_name for list_name, name in LISTED.items()}, key="list", width=200
        )
        types = st.multiselect(
            "Query type",
            compared.query_types,
            placeholder="All types",
            key="types",
            bind="query-params",
            width=240,
        )
    total, lines = len(compared.lines(aspect)), compared.lines(aspect, list_name, types)
    heads = read(pair_heads, [line.pair_id for line in lines[:MOST_LINES]])
    has_queues = your_queues(current_reviewer(), PAIRS)
    if not total:
        if (
            not has_queues
        ):  # the pairs of a person's queues are hidden until the person has reviewed the pairs
            empty_page(PURPOSE, "No pairs yet.", IMPORT, command=COMPARE)
        return
    if version is None:
        sentence(f"{count(total, 'pair')}. No judge has compared them yet.")
    for result in results:
        if result.about.grade == aspect:
            _figures(result)
    with in_row("pair_list_head", wrap=False):
        heading(f"{LISTED[list_name]}: {len(lines):,} of {count(total, 'pair')}")
        if lines and permitted(Action.MAKE_QUEUES):
            ids = [heads[line.pair_id].external_id for line in lines[:MOST_QUEUED]]
            open_button(
                "Create queue from these",
                Rows("queues", {"id": ids, "new": PAIR_ITEMS}),
                key="pairs_queue",
                icon=":material/playlist_add:",
                help=f"People give their preferences in queues. Takes the first {MOST_QUEUED:,} pairs of the list.",
            )
    if not lines:
        caption("No pair matches.")
        return
    more = f"The first {MOST_LINES:,} of {len(lines):,}. " if len(lines) > MOST_LINES else ""
    table(
        _lines_table(lines[:MOST_LINES], heads),
        [Rows(PAGE, {"pair": str(line.pair_id)}) for line in lines[:MOST_LINES]],
        key="pairs_list",
        under=(
            f"{more}Click a row to see the pair with the verdicts of judges and the preferences of people.",
        ),
    )


def _stage(preference: CurrentPreference) -> str:
    """Return whether a preference is an adjudication, or was given after hidden parts were shown."""
    if preference.stage is Stage.ADJUDICATION:
        return " (adjudication)"
    return "" if preference.blind else " (after the judge was shown)"


def verdict_words(line: PairLine) -> str:
    """Return the judge's verdict on a pair, or why there is none."""
    return stored_words(line.verdict) or ("inconsistent" if line.inconsistent else "unmeasured")


def people_words(line: PairLine) -> str | None:
    """Return "B (3)" or "no majority (2)"; None if there is no review."""
    if line.people is None:
        return None
    return f"{stored_words(line.people.majority) or 'no majority'} ({line.people.people:,})"


def _figures(result: Result) -> None:
    caption(*result.caveats)
    measured = {row.figure for row in result.rows if row.value is not None}
    table(
        result.table(*(each for each in SHOWN if each in measured)),
        csv=result.table("pairs", *FIGURES, *COUNTS[1:]),
        key="pair_figures",
        under=(
            "Intervals: 95 % CI, bootstrap over questions.",
            "The CSV file also has the number of pairs for each figure, and the reason if a figure is missing.",
        ),
        most=8,
    )


def _lines_table(lines: Sequence[PairLine], heads: Mapping[int, PairHead]) -> Table:
    """Return the pairs; empty columns are left out."""
    columns: Columns[PairLine] = {
        Column("A first", width=60, help="The judge's preference when answer A was shown first"): (
            lambda line: stored_words(line.ab)
        ),
        Column("B first", width=60, help="The judge's preference when answer B was shown first"): (
            lambda line: stored_words(line.ba)
        ),
        Column("Judge", width=95): verdict_words,
        Column("Gold", width=55): lambda line: stored_words(line.gold),
        Column("People", width=110): people_words,
        Column("Question", width=365): lambda line: one_line(heads[line.pair_id].question or ""),
        Column("Type", width=85): lambda line: line.query_type,
        Column("Answer A by", width=120): lambda line: heads[line.pair_id].model_a,
        Column("Answer B by", width=120): lambda line: heads[line.pair_id].model_b,
        Column("Pair", width=170): lambda line: heads[line.pair_id].external_id,
    }
    return Table.of(lines, columns).without_empty()


with page():
    pairs()

"""The page Self-reference: the figures of a judge version at one gate, and the pairs."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import streamlit as st

from judgeboard.domain import PairItem, Preference
from judgeboard.formats.output import Column, Table
from judgeboard.judges.replies import lettered
from judgeboard.measure.result import ALL
from judgeboard.methods.self_reference.own_answers import TAU, samples_needed
from judgeboard.methods.self_reference.queries import (
    most_samples,
    sampling_versions,
    tries_at,
)
from judgeboard.methods.self_reference.report import (
    SelfReferenceResult,
    load_items,
    result_of,
    samples_used,
)
from judgeboard.methods.self_reference.scores import CONDITIONS, RIGHT, WRONG, Items, gate_words
from judgeboard.methods.self_reference.tables import Sample
from judgeboard.store.comparisons import (
    PLAIN,
    REFERENCE,
    StoredComparison,
    latest_comparisons,
    pair_heads,
)
from judgeboard.store.pairs import last_rows, load_pairs
from judgeboard.store.tables import StoredVersion
from judgeboard.text import shortened
from judgeboard_dashboard.evidence import Html, show_div, tag
from judgeboard_dashboard.review.texts import comparison_words
from judgeboard_dashboard.session import (
    in_row,
    kept_until_new_rows,
    page,
    read,
    reading,
    stacking_columns,
)
from judgeboard_dashboard.widgets.filters import choose, version_field
from judgeboard_dashboard.widgets.first_steps import empty_page
from judgeboard_dashboard.widgets.navigation import Rows, follow, open_button
from judgeboard_dashboard.widgets.tables import choose_row, one_line, table
from judgeboard_dashboard.widgets.texts import capital, caption, empty, heading, sentence

PAGE = "self_reference"
FIELDS = ("version", "samples", "gate", "listed", "category")

EVERY = "All"


class Choices(NamedTuple):
    """The choices in the filter row."""

    version: StoredVersion
    k: int
    needed: int
    listed: str = EVERY
    category: str | None = None

    def rows(self, **changes: Any) -> Rows:
        """Return the address of the page with these choices and ``changes``."""
        choices = self._replace(**changes)
        query = {
            "version": choices.version.title,
            "samples": str(choices.k),
            "gate": gate_words(choices.needed, choices.k),
        }
        query |= {} if choices.listed == EVERY else {"listed": choices.listed}
        query |= {} if choices.category is None else {"category": choices.category}
        return Rows(PAGE, query)


_GOLD = {Preference.A: "answer A", Preference.B: "answer B", Preference.TIE: "neither"}
LONGEST = 1_200  # characters of a question or an answer; the page of the pair shows all
LONGEST_SAMPLE = 240


def item_panel(
    pair: PairItem, samples: Sequence[Sample], orders: Sequence[StoredComparison], k: int
) -> None:
    """Show one item and the button that opens the pair; the first ``k`` samples count."""
    more = samples[k:]
    with st.container(border=True, key="one_item"):
        show_div(
            "jb-one",
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


def _sample(sample: Sample) -> Html:
    answer = "no answer" if sample.answer is None else shortened(sample.answer, LONGEST_SAMPLE)
    why = "" if sample.status == "ok" else f" ({sample.status})"
    # The reasoning of the reply; a reply without one is shown as it came.
    raw = sample.raw or ""
    try:
        reply = json.loads(raw)
    except (ValueError, RecursionError):
        reply = None
    reasoning = reply.get("reasoning") if isinstance(reply, dict) else None
    words = reasoning if isinstance(reasoning, str) else raw
    return _line(
        f"{sample.number + 1}. {answer}{why}", shortened(" ".join(words.split()), LONGEST_SAMPLE)
    )


def _verdicts(orders: Sequence[StoredComparison], condition: str) -> list[Html]:
    verdicts = [order for order in orders if order.condition == condition]
    if not verdicts:
        return []
    reference = next(
        (verdict.reference for verdict in verdicts if verdict.reference is not None),
        "its own answer",
    )
    title = (
        "The judge sees no reference"
        if condition == "plain"
        else f"Shown to the judge as the correct answer: {reference}"
    )
    lines = (
        _line(comparison_words(each), shortened(each.reasoning or "", LONGEST_SAMPLE))
        for each in verdicts
    )
    return [_label(shortened(title, LONGEST_SAMPLE)), *lines]


MOST_LINES = 500
SCORES = {1.0: "right", 0.5: "inconsistent", 0.0: "wrong"}
CORRECT = {RIGHT: "yes", WRONG: "no"}
MEANINGS = (
    "The judge answers each question several times (samples). The gate is on if enough samples agree. "
    "The judge then compares two answers. Condition A: without its own answer. B: always with its own answer. "
    "C: with its own answer if the gate is on."
)
PURPOSE = "Self-reference shows whether a judge compares two answers better after it has answered the question itself."
JUDGE = "judgeboard compare ssr --pairs pairs.jsonl --model NAME"
OTHERS = (
    "To make pairs from your questions: `judgeboard compare make-pairs --questions FILE -o pairs.jsonl`.",
    "To import recorded samples: `judgeboard import --kind samples FILE`",
)


def self_reference() -> None:
    """Show the figures of a judge version at one gate, and the pairs."""
    follow(PAGE, own=FIELDS)
    versions = read(sampling_versions)
    if not versions:
        empty_page(PURPOSE, "No data yet.", *OTHERS, command=JUDGE)
        return
    with in_row("filters_self_reference", align="bottom"):
        choices = _gate_fields(versions)
        result, items = kept_until_new_rows(
            last_rows,
            lambda connection: (
                result_of(
                    choices.version,
                    loaded := load_items(connection, choices.version.id, choices.k),
                    choices.needed,
                ),
                loaded,
            ),
            ("self_reference", choices.version.id, choices.k, choices.needed),
        )
        list_name = choose(
            "List",
            {name: name for name in (EVERY, *items.parts(choices.needed))},
            key="listed",
            width=230,
        )
        names = sorted(set(items.categories))
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
        choices = choices._replace(listed=list_name, category=category)
    if not items.n:
        empty(f"No question has {choices.k} samples of {choices.version.title}.")
        return
    sentence(result.sentence)
    caption(MEANINGS, *result.caveats, *result.next)
    heading("With and without its own answer")
    table(
        _fixed(result.table("n", "share", *CONDITIONS)),
        [*(choices.rows(listed=part) for part in result.slices), choices.rows(listed=EVERY)],
        key="slices_self_reference",
        under=(f"Click a row to list its {result.about.unit}.",),
    )
    of_all = [
        row.figure
        for row in result.rows
        if row.slice is ALL and row.figure not in {"n", *CONDITIONS}
    ]
    table(_fixed(result.table(*of_all)), key="figures_self_reference")
    conditions, levels, gates, categories, tuned = result.parts
    table(_fixed(conditions.table()), key="conditions_self_reference")
    for part in (levels, gates):
        if part.rows:
            heading(part.sentence)
            under = ("Click a row to use this gate on the page.",)
            table(
                _fixed(part.table()),
                [choices.rows(needed=int(name.split(" ")[0])) for name in part.slices],
                key=f"{part.headline.code}_self_reference",
                under=under,
            )
    for part in (categories, tuned):
        heading(part.sentence)
        table(
            _fixed(part.table()),
            [choices.rows(category=name) for name in part.slices] + [None] * part.has("selective"),
            key=f"{part.headline.code}_self_reference",
            under=[each.text for each in part.caveats],
            most=6,
        )
    _items(result, items, choices)


def _fixed(rows: Table) -> Table:
    """Return the table with fixed widths: in a narrow window, the last columns are hidden."""
    if not rows.columns:
        return rows
    first, *others = rows.columns
    wide = (replace(each, width=160 if each.format == "change" else 105) for each in others)
    return Table((replace(first, width=170), *wide), rows.rows)


def _gate_fields(versions: list[StoredVersion]) -> Choices:
    version = version_field(st.container(width=230), versions) or versions[0]
    most = read(most_samples, version.id)
    usual = min(samples_used(version), most)
    counts = {str(k): k for k in (usual, *range(most, 0, -1))}
    k = choose("Samples", counts, key="samples", width=90, tip="Samples per question")
    gates = {gate_words(each, k): each for each in (samples_needed(TAU, k), *range(k, 0, -1))}
    return Choices(version, k, choose("Gate threshold", gates, key="gate", width=120))


def _items(result: SelfReferenceResult, items: Items, choices: Choices) -> None:
    """Show the items of a list and a category, and one item with details."""
    rows = items.parts(choices.needed).get(choices.listed, np.ones(items.n, dtype=np.bool_))
    if choices.category is not None:
        rows = rows & (np.array(items.categories, dtype=object) == choices.category)
    scores = items.selective(choices.needed).score
    order = np.lexsort((items.pair_ids, -items.agree, scores))  # what C gets wrong comes first
    places = order[rows[order]].tolist()
    heading(f"{capital(result.about.unit)}, {len(places):,} of {items.n:,}")
    if not places:
        caption(f"No such {result.about.unit}.")
        return
    left, right = stacking_columns("items", [1.45, 1])
    with left:
        # The items with the verdicts in the conditions that were asked.
        shown_places = places[:MOST_LINES]
        ids: list[int] = items.pair_ids.tolist()
        heads = read(pair_heads, [ids[place] for place in shown_places])
        columns: dict[Column, Callable[[int], object]] = {
            Column("Question", width=148): lambda at: (
                one_line(heads[ids[at]].question) if ids[at] in heads else None
            ),
            Column("Category", width=80): lambda at: items.categories[at],
            Column("Agree", width=55): lambda at: gate_words(items.agree[at], choices.k),
            Column("Own answer", width=90): lambda at: items.answers[at] or "no answer",
            Column("Own right", width=70, help="Whether the judge's own answer is correct"): (
                lambda at: CORRECT.get(items.right[at])
            ),
        }
        for name, verdicts in items.conditions(choices.needed).items():
            words = [SCORES.get(score) for score in verdicts.score.tolist()]
            columns[
                Column(
                    CONDITIONS[name], width=95, help="Whether the judge prefers the better answer"
                )
            ] = words.__getitem__
        rows_of_places = Table.of(shown_places, columns)
        key = f"items_{choices.version.id}_{shown_places[0]}_{len(shown_places)}"
        pair_id = ids[shown_places[choose_row(rows_of_places, key=key, most=10)]]
        caption(
            "Pairs that are wrong in condition C come first, then the highest agreement.",
            f"The first {MOST_LINES:,} are shown." if len(places) > MOST_LINES else None,
            "Click a row to see its samples.",
        )
    with right, reading() as connection:
        version_id = choices.version.id
        [pair] = load_pairs(connection, [pair_id])
        samples = tries_at(connection, version_id, pair_id)
        orders = latest_comparisons(connection, version_id, pair_id, (PLAIN, REFERENCE))
        item_panel(pair, samples, orders, choices.k)


with page():
    self_reference()

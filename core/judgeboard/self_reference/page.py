"""What the page of self-reference shows: the figures at one gate, its items worst first, one of them with its tries."""

from dataclasses import dataclass

from sqlalchemy import Connection

from judgeboard.errors import NotFound
from judgeboard.self_reference.items import Item, Items, items_of
from judgeboard.self_reference.load import load_items
from judgeboard.self_reference.report import report_of
from judgeboard.self_reference.result import SelfReferenceReport
from judgeboard.self_reference.tuning import Tuned, tuned_by_category
from judgeboard.store.judgments.judge_versions import StoredVersion
from judgeboard.store.pairs.pairs import PairItem, load_pairs
from judgeboard.store.pairs.self_reference_steps import StoredOrder, StoredTry, orders_of, tries_at


@dataclass(frozen=True, slots=True)
class ListedItem:
    """One item in a line: what its samples agree on, and how the conditions score it (None: unmeasured)."""

    pair_id: int
    category: str
    answer: str | None
    agree: int
    gate_on: bool
    right: bool | None
    without: float | None
    always: float | None
    selective: float | None


@dataclass(frozen=True, slots=True)
class SelfReferencePage:
    """The figures, the items that C gets wrong first, and what thresholds by category come to."""

    report: SelfReferenceReport
    items: tuple[ListedItem, ...]
    tuned: Tuned

    def listed(
        self, gate_on: bool | None = None, right: bool | None = None, category: str | None = None
    ) -> list[ListedItem]:
        """Return the items of a slice and a category; None does not narrow."""
        return [
            item
            for item in self.items
            if gate_on in {None, item.gate_on} and right in {None, item.right} and category in {None, item.category}
        ]


def self_reference_page(
    connection: Connection, version: StoredVersion, k: int, needed: int | None = None
) -> SelfReferencePage:
    """Return the page of a judge version, of ``k`` samples, with the gate on from ``needed`` of them."""
    needed = needed or k
    loaded = load_items(connection, version.id, k)
    items = items_of(loaded.items, k)
    return SelfReferencePage(
        report_of(version, loaded, k, needed), _listed(loaded.items, items, needed), tuned_by_category(items)
    )


def _listed(items: list[Item], arrays: Items, needed: int) -> tuple[ListedItem, ...]:
    on = arrays.gate(needed).tolist()
    scores = zip(
        *(each.score.tolist() for each in (arrays.without, arrays.always, arrays.selective(needed))), strict=True
    )
    lines = [
        ListedItem(
            item.pair_id,
            item.category,
            item.majority.answer,
            item.majority.agree,
            gate_on,
            item.right,
            *(None if score != score else score for score in said),  # noqa: PLR0124 - NaN alone differs from itself
        )
        for item, gate_on, said in zip(items, on, scores, strict=True)
    ]
    return tuple(sorted(lines, key=_badness))


def _badness(line: ListedItem) -> tuple[bool, float, int, int]:
    score = line.selective
    return score is None, 0 if score is None else score, -line.agree, line.pair_id


@dataclass(frozen=True, slots=True)
class OneItem:
    """A pair with everything that a judge version sampled and said of it."""

    pair: PairItem
    tries: tuple[StoredTry, ...]
    orders: tuple[StoredOrder, ...]


def one_item(connection: Connection, version_id: int, pair_id: int) -> OneItem:
    """Return one item.

    Raises:
        NotFound: There is no such pair.
    """
    pairs = load_pairs(connection, [pair_id])
    if not pairs:
        raise NotFound(f"no pair {pair_id}")
    return OneItem(
        pairs[0],
        tuple(tries_at(connection, version_id, pair_id)),
        tuple(orders_of(connection, version_id, pair_id)),
    )

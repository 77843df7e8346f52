"""Reads the samples and verdicts of a judge version from the store, as items."""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field

from sqlalchemy import Connection

from judgeboard.domain import Status
from judgeboard.pair_records import OVERALL
from judgeboard.self_reference.answers import answer_key, as_reference, reference_key
from judgeboard.self_reference.items import NOT_ASKED, Item, TwoOrders
from judgeboard.self_reference.majority import Majority, majority
from judgeboard.store.pairs.comparisons import PLAIN, REFERENCE, BothOrders, load_comparisons
from judgeboard.store.pairs.samples import FAILED, SampledQuestion, load_samples
from judgeboard.store.pairs.self_reference_steps import compared_pairs


@dataclass(slots=True)
class Loaded:
    """The items of a version, what was left out of them, and how many of its steps ended how.

    ``fewer_samples`` counts questions with fewer than k samples; ``failed_samples`` those with one whose call failed,
    so that what they agree on is not known; ``forgotten`` those whose answers were blanked since;
    ``other_reference`` items whose judge was shown another answer than the majority of these samples: their verdict in
    condition B does not count.
    """

    items: list[Item] = field(default_factory=list)
    fewer_samples: int = 0
    failed_samples: int = 0
    forgotten: int = 0
    most_samples: int = 0
    other_reference: int = 0
    steps: Counter[Status] = field(default_factory=Counter)


def load_items(
    connection: Connection,
    version_id: int,
    k: int,
    *,
    source: str | None = None,
    pair_ids: Collection[int] | None = None,
) -> Loaded:
    """Return the items of a judge version from the first ``k`` samples of each question.

    Args:
        connection: A transaction.
        version_id: Who sampled and judged.
        k: How many samples of a question count.
        source: Only questions of this source.
        pair_ids: Only these questions.
    """
    loaded, wanted = Loaded(), None if pair_ids is None else set(pair_ids)
    said = _both_orders(load_comparisons(connection, [version_id]))
    compared = compared_pairs(connection, version_id)
    for question in load_samples(connection, [version_id]):
        if (source is not None and question.source != source) or (
            wanted is not None and question.pair_id not in wanted
        ):
            continue
        loaded.steps.update(Status(status) for status in question.statuses)
        loaded.steps.update({Status(name): n for name, n in compared.statuses.get(question.pair_id, {}).items()})
        loaded.most_samples = max(loaded.most_samples, len(question.answers))
        if len(question.answers) < k:
            loaded.fewer_samples += 1
            continue
        if FAILED & set(question.statuses[:k]):
            loaded.failed_samples += 1
            continue
        if _forgotten(question):
            loaded.forgotten += 1
            continue
        found = majority(question.answers[:k], question.options)
        plain, reference = (said.get((condition, question.pair_id), NOT_ASKED) for condition in (PLAIN, REFERENCE))
        shown = compared.references.get(question.pair_id, set())
        if any(not _same_answer(each, found, question.options) for each in shown):
            loaded.other_reference += 1
            reference = NOT_ASKED
        loaded.items.append(_item(question, found, plain, reference))
    return loaded


def _forgotten(question: SampledQuestion) -> bool:
    """Whether an answer that was read once is gone: it is no sample without an answer."""
    return any(
        answer is None and status == Status.OK
        for answer, status in zip(question.answers, question.statuses, strict=True)
    )


def _item(question: SampledQuestion, found: Majority, plain: TwoOrders, reference: TwoOrders) -> Item:
    correct = reference_key(question.reference, question.options)
    right = None if correct is None or found.key is None else found.key == correct
    return Item(question.pair_id, question.query_type, question.gold, found, right, plain, reference)


def _same_answer(shown: str, found: Majority, options: tuple[str, ...] | None) -> bool:
    if found.answer is None:
        return False
    return shown == as_reference(found.answer, options) or answer_key(shown, options) == found.key


def _both_orders(rows: list[BothOrders]) -> dict[tuple[str, int], TwoOrders]:
    """Return the overall verdicts by condition and pair; a judge of a single other aspect speaks by that."""
    aspects = {row.aspect for row in rows}
    aspect = OVERALL if OVERALL in aspects or len(aspects) != 1 else next(iter(aspects))
    return {
        (row.condition, row.pair_id): TwoOrders(row.ab, row.ba, asked=row.asked_ab or row.asked_ba)
        for row in rows
        if row.aspect == aspect
    }

"""Pairs of answers, from logged answers or a file. A judge compares each pair in both orders."""

import hashlib
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Unpack

from sqlalchemy import Connection

from judgeboard.domain import (
    OVERALL,
    DimensionScore,
    JudgeInput,
    Pair,
    PairItem,
    Preference,
    ResponseKind,
    Shown,
    Verdict,
)
from judgeboard.errors import BadInput, NotFound
from judgeboard.imports.importing import import_file
from judgeboard.imports.pairs import ImportedPair
from judgeboard.imports.reading import read_records
from judgeboard.judges.pairwise import Comparison, PairwiseJudge
from judgeboard.runs.judging import JudgingSummary, judge_pending_async, with_environment
from judgeboard.runs.method import (
    AskOnceMethod,
    Begun,
    RunOptions,
    RunOutcome,
    Selected,
    run_method,
)
from judgeboard.runs.runner import Answered, Keep, blocking
from judgeboard.store import comparisons
from judgeboard.store.clock import utc_now
from judgeboard.store.engine import Store
from judgeboard.store.events import record_event
from judgeboard.store.filters import RowFilter
from judgeboard.store.health import originals_of_controls
from judgeboard.store.jobs import TaskKey
from judgeboard.store.pairs import OriginalAnswer, load_pairs, pairs_named, store_pairs
from judgeboard.store.responses import LogAnswer, log_answers
from judgeboard.store.run_steps import LatestAsk
from judgeboard.store.statements import batches
from judgeboard.store.tables import StoredVersion


def make_pairwise_judge(aspects: Sequence[str] | None = None, **fields: object) -> PairwiseJudge:
    """Return a pairwise judge, or raise BadInput.

    Only name, domain, max_output, prompt and the fields of the model are read from ``fields``
    (default: from the environment).
    """
    options = with_environment(fields)
    return PairwiseJudge(
        options.endpoint("the pairwise judge"), options, aspects=aspects or (OVERALL,)
    )


@dataclass(frozen=True, slots=True)
class PairSet:
    """Ids of stored pairs; ``words`` name the set, ``left_out`` counts answers or rows that made no pair."""

    words: str
    pair_ids: tuple[int, ...]
    new: int = 0
    left_out: int = 0


def pairs_between(store: Store, a: str, b: str, *, actor: str = "library") -> PairSet:
    """Store the pairs of the logged answers of two sources and return all pairs, new or stored before.

    Two answers make a pair if they have the same query and, if both have passages, the same
    passages. Each answer is in at most one pair: if a query is repeated, answers are paired in
    order. Answers are not copied. Raises BadInput if both sources are the same, and NotFound if a
    source has no answers.
    """
    if a == b:
        raise BadInput("--a and --b must be different sources")
    with store.writing() as connection:
        sides = [log_answers(connection, source) for source in (a, b)]
        for source, answers in zip((a, b), sides, strict=True):
            if not answers:
                raise NotFound(
                    f"no answers with source {source!r}. Import them with --source {source}."
                )
        partners = _partners(*sides)
        result = store_pairs(
            connection,
            [
                Pair(
                    source=f"{a} / {b}",
                    external_id=f"{first.external_id} / {second.external_id}",
                    question=first.query,
                    query_type=first.query_type,
                    reference=first.reference if first.reference is not None else second.reference,
                    sides=(first.id, second.id),
                )
                for first, second in partners
            ],
        )
        if result.new:
            record_event(connection, "make_pairs", actor, details={"new": len(result.new)})
    if result.conflicts:
        raise BadInput(f"a pair of {a} and {b} cannot be stored: {result.conflicts[0].reason}")
    ids = tuple(sorted(id_ for id_ in result.ids if id_ is not None))
    left_out = sum(map(len, sides)) - 2 * len(partners)
    return PairSet(f"{a} and {b}", ids, len(result.new), left_out)


def pairs_in_file(
    store: Store, file: Path, *, source: str | None = None, actor: str = "library"
) -> PairSet:
    """Import a file of pairs and return the pairs, new or stored before; raises BadInput if none is usable."""
    summary = import_file(store, file, kind="pairs", source=source, actor=actor)
    with read_records(file, kind="pairs", source=source) as records:
        pairs_read = (record.pair for record in records if isinstance(record, ImportedPair))
        keys = list(dict.fromkeys((pair.source, pair.external_id) for pair in pairs_read))
    ids: list[int] = []
    with store.reading() as connection:
        for some in batches(keys):
            batch = set(some)
            by_name = pairs_named(connection, {external_id for _, external_id in batch})
            ids += [
                pair.id
                for name, pairs in by_name.items()
                for pair in pairs
                if (pair.source, name) in batch
            ]
    if not ids:
        first = next((f" (line {each.line}: {each.reason})" for each in summary.first_rejected), "")
        raise BadInput(
            f"{file} contains no usable pair: {summary.rejected:,} of {summary.rows:,} rows were rejected{first}"
        )
    return PairSet(str(file), tuple(sorted(ids)), summary.new, summary.rejected)


def _partners(of_a: list[LogAnswer], of_b: list[LogAnswer]) -> list[tuple[LogAnswer, LogAnswer]]:
    pool: dict[str, list[LogAnswer]] = defaultdict(list)
    for each in of_b:
        pool[each.query].append(each)
    partners: list[tuple[LogAnswer, LogAnswer]] = []

    def pair_up(
        answers: list[LogAnswer], fits: Callable[[LogAnswer, LogAnswer], bool]
    ) -> list[LogAnswer]:
        unmatched = []
        for each in answers:
            partner = next(
                (candidate for candidate in pool[each.query] if fits(each, candidate)), None
            )
            if partner is None:
                unmatched.append(each)
            else:
                pool[each.query].remove(partner)
                partners.append((each, partner))
        return unmatched

    # Answers with equal passages come first. Otherwise an answer without passages could take the
    # partner of an answer with equal passages.
    unmatched = pair_up(of_a, lambda each, other: each.evidence_group == other.evidence_group)
    pair_up(unmatched, lambda each, other: not (each.has_passages and other.has_passages))
    return partners


class _Task(NamedTuple):
    pair: PairItem
    shown: Shown
    ask: int


class _Comparing(AskOnceMethod[TaskKey, _Task, Answered[_Task, Comparison], RunOutcome]):
    """Comparing pairs. An item is a pair in one order; the key of the task names both."""

    kind = "compare"

    def __init__(
        self, judge: PairwiseJudge, pair_ids: Sequence[int], *, again: bool = False
    ) -> None:
        self.judge: PairwiseJudge = judge
        self.again = again
        self._pair_ids = pair_ids

    def select(self, connection: Connection, version: StoredVersion) -> Selected:
        self._pair_ids = comparisons.pairs_with_texts(connection, self._pair_ids)
        if not self._pair_ids:
            raise BadInput("no pair has two answers to compare")
        asks = self.open_asks(connection, version, self._orders)
        return pairs_question(self._pair_ids, {"again": self.again}), len(asks)

    @property
    def _orders(self) -> list[TaskKey]:
        return [TaskKey(pair_id, shown.value) for pair_id in self._pair_ids for shown in Shown]

    def items(self, _begun: Begun) -> dict[TaskKey, TaskKey]:
        return {order: order for order in self._orders}

    def latest(
        self, connection: Connection, version: StoredVersion, items: Sequence[TaskKey]
    ) -> Mapping[TaskKey, LatestAsk]:
        pair_ids = list(dict.fromkeys(order.item_id for order in items))
        asks = comparisons.latest_asks(connection, version.id, pair_ids)
        return {TaskKey(pair_id, shown.value): ask for (pair_id, shown), ask in asks.items()}

    def load_asks(
        self, connection: Connection, asks: Sequence[tuple[TaskKey, int]]
    ) -> dict[TaskKey, _Task]:
        ids = comparisons.pairs_with_texts(connection, [order.item_id for order, _ in asks])
        pairs = {pair.id: pair for pair in load_pairs(connection, ids)}
        return {
            order: _Task(pairs[order.item_id], Shown(order.part), number)
            for order, number in asks
            if order.item_id in pairs
        }

    async def ask(self, task: _Task, keep: Keep[Answered[_Task, Comparison]]) -> None:
        comparison = await self.judge.compare(task.pair, task.shown)
        await keep(Answered(task, comparison, comparison.record))

    def save(
        self, connection: Connection, begun: Begun, steps: list[Answered[_Task, Comparison]]
    ) -> None:
        items = [
            comparisons.NewComparison(
                step.task.pair.id,
                step.task.shown,
                step.result.record,
                step.result.preferences,
                reasoning=step.result.reasoning,
                ask=step.task.ask,
            )
            for step in steps
        ]
        comparisons.store_comparisons(connection, begun.version, begun.run.id, items, utc_now())

    def summarise(self, outcome: RunOutcome) -> RunOutcome:
        return outcome


async def compare_pairs_async(
    store: Store,
    judge: PairwiseJudge,
    pair_ids: Sequence[int],
    *,
    again: bool = False,
    **options: Unpack[RunOptions],
) -> RunOutcome:
    """Ask a judge about pairs, once in each order, and store every verdict; the account is empty if nothing was asked.

    Each order is asked once per judge version; ``again`` repeats orders without a usable verdict.
    Pairs without texts are left out. A stopped run continues. The judge is closed at the end.
    ``options`` are fields of `RunOptions`. Raises BadInput if no pair has texts.
    """
    return await run_method(store, _Comparing(judge, pair_ids, again=again), **options)


compare_pairs = blocking(compare_pairs_async)


class _WithOriginals:
    """A judge of changed answers: a pairwise judge compares each changed answer with the original.

    The score on each aspect is 1 if the pairwise judge prefers the changed answer, 0.5 for a tie,
    and 0 for the original. Each pair is compared in one order. The order depends on the original
    alone, so that two changes of one answer are compared alike.
    """

    def __init__(self, judge: PairwiseJudge, originals: Mapping[int, OriginalAnswer]) -> None:
        self._judge, self._originals = judge, originals
        self.version, self.address, self.priced = judge.version, judge.address, judge.priced

    async def judge(self, item: JudgeInput) -> Verdict:
        """Return the preference between the changed answer and the original."""
        original = self._originals[item.response_id]
        pair = PairItem(
            id=item.response_id,
            source="",
            external_id=item.external_id,
            query_type=item.query_type,
            question=item.query,
            options=None,
            reference=None,
            answer_a=item.answer,
            answer_b=original.answer,
            model_a=None,
            model_b=None,
            response_a_id=None,
            response_b_id=None,
            gold=None,
            passages=item.passages,
            turns=item.turns,
        )
        compared = await self._judge.compare(pair, list(Shown)[original.id % 2])
        scores = tuple(
            DimensionScore(aspect, _PREFERS_CHANGED[preference], "0-1")
            for aspect, preference in compared.preferences.items()
        )
        return Verdict.of(compared.record, reasoning=compared.reasoning, scores=scores)

    async def aclose(self) -> None:
        """Close the judge."""
        await self._judge.aclose()


_PREFERS_CHANGED = {Preference.A: 1.0, Preference.TIE: 0.5, Preference.B: 0.0}


async def compare_controls_async(
    store: Store, judge: PairwiseJudge, **options: Unpack[RunOptions]
) -> JudgingSummary:
    """Let a judge compare each control answer with the original, if the texts differ.

    Control answers that this judge version has compared already are not compared again. The judge
    is closed at the end. ``options`` are fields of `RunOptions`. Raises BadInput if there are no
    control answers.
    """
    with store.reading() as connection:
        originals = originals_of_controls(connection)
    where = RowFilter(response_ids=tuple(originals), kinds=(ResponseKind.CONTROL,))
    return await judge_pending_async(
        store, _WithOriginals(judge, originals), where=where, **options
    )


compare_controls = blocking(compare_controls_async)


def pairs_question(pair_ids: Sequence[int], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that identify a run over pairs; how the pairs were selected does not matter."""
    digest = hashlib.sha256(",".join(map(str, pair_ids)).encode()).hexdigest()
    return {"pairs": len(pair_ids), "pairs_sha256": digest, **settings}

"""Pairs of answers: made from logs or a file, and compared by a judge in both orders."""

import hashlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, Unpack

from sqlalchemy import Connection

from judgeboard.domain import Pair, Shown
from judgeboard.errors import BadInput, NotFound
from judgeboard.imports.importing import import_file
from judgeboard.imports.pairs import ImportedPair
from judgeboard.imports.reading import read_records
from judgeboard.judges.pairwise import Comparison, PairwiseJudge
from judgeboard.runs.blocking import blocking
from judgeboard.runs.judging import make_endpoint
from judgeboard.runs.method import AskOnceMethod, Begun, RunAccount, RunOptions, RunOutcome, Selected, run_method
from judgeboard.runs.runner import Answered, Keep
from judgeboard.store.comparisons import (
    LatestInOrder,
    NewComparison,
    latest_asks,
    pairs_with_texts,
    store_comparisons,
)
from judgeboard.store.engine import Store
from judgeboard.store.events import record_event
from judgeboard.store.judge_versions import StoredVersion
from judgeboard.store.pair_storing import store_pairs
from judgeboard.store.pairs import PairItem, load_pairs, pairs_named
from judgeboard.store.responses import LogAnswer, log_answers
from judgeboard.store.statements import batches


def make_pairwise_judge(**chosen: Any) -> PairwiseJudge:
    """Return a pairwise judge; what is not chosen comes from the environment, then from `PairwiseJudge`.

    Args:
        chosen: Keywords of `PairwiseJudge` (name, aspects, domain, max_output) and of `model_endpoint` (model,
            base_url, …); None, and no aspects, count as not chosen.

    Raises:
        BadInput: No model, no key for OpenAI's own endpoint, an address that is none, an aspect that cannot be used.
    """
    own = {name: chosen[name] for name in ("name", "aspects", "domain", "max_output") if chosen.get(name)}
    return PairwiseJudge(make_endpoint("the pairwise judge", **chosen), **own)


@dataclass(frozen=True, slots=True)
class PairSet:
    """Stored pairs that belong together, by id; ``left_out`` counts what could not become one of them.

    ``words`` say what the set is.
    """

    words: str
    pair_ids: tuple[int, ...]
    new: int = 0
    left_out: int = 0


def pairs_between(store: Store, a: str, b: str, *, actor: str = "library") -> PairSet:
    """Store the pairs that the logged answers of two sources make now, and return them, whether new or stored before.

    Answers to the same query belong together, and where both have passages, only to the same passages. An answer
    enters one pair: where a query was answered several times, the first with the first. The pairs name the logged
    answers themselves, which are not copied. What finds no partner is left out and counted.

    Raises:
        BadInput: It is one source twice.
        NotFound: A source has no answers.
    """
    if a == b:
        raise BadInput("--a and --b must name two sources: answers of one are not held against themselves")
    with store.writing() as connection:
        sides = [log_answers(connection, source) for source in (a, b)]
        for source, answers in zip((a, b), sides, strict=True):
            if not answers:
                raise NotFound(f"no answers of a source {source!r}: import them with --source {source}")
        partners = _partners(*sides)
        made = [_pair(a, b, one, other) for one, other in partners]
        result = store_pairs(connection, made)
        if result.new:
            record_event(connection, "make_pairs", actor, details={"new": len(result.new)})
    if result.conflicts:
        raise BadInput(f"a pair of {a} and {b} cannot be stored: {result.conflicts[0].reason}")
    ids = tuple(sorted(id_ for id_ in result.ids if id_ is not None))
    left_out = sum(map(len, sides)) - 2 * len(partners)
    return PairSet(f"{a} against {b}", ids, len(result.new), left_out)


def pairs_in_file(store: Store, file: Path, *, source: str | None = None, actor: str = "library") -> PairSet:
    """Import a file of pairs and return the pairs that it holds, also those that were stored before.

    Raises:
        BadInput: The file cannot be read, or holds no usable pair.
    """
    summary = import_file(store, file, kind="pairs", source=source, actor=actor)
    named: dict[tuple[str, str], None] = {}
    with read_records(file, kind="pairs", source=source) as reading:
        for record in reading:
            if isinstance(record, ImportedPair):
                named[record.pair.source, record.pair.external_id] = None
    keys = list(named)
    ids: list[int] = []
    with store.reading() as connection:
        for some in batches(keys):
            batch = set(some)
            found = pairs_named(connection, {external_id for _, external_id in batch})
            ids += [each.id for name, pairs in found.items() for each in pairs if (each.source, name) in batch]
    if not ids:
        raise BadInput(f"{file} holds no usable pair: {summary.rejected:,} of {summary.rows:,} rows were rejected")
    return PairSet(str(file), tuple(sorted(ids)), summary.new, summary.rejected)


def _partners(of_a: list[LogAnswer], of_b: list[LogAnswer]) -> list[tuple[LogAnswer, LogAnswer]]:
    waiting: dict[str, list[LogAnswer]] = defaultdict(list)
    for each in of_b:
        waiting[each.query].append(each)
    partners: list[tuple[LogAnswer, LogAnswer]] = []
    unmatched: list[LogAnswer] = []
    # Equal passages first, so that an answer without any takes no partner away from one that has them.
    for each in of_a:
        same = next((other for other in waiting[each.query] if other.evidence_group == each.evidence_group), None)
        if same is None:
            unmatched.append(each)
        else:
            waiting[each.query].remove(same)
            partners.append((each, same))
    for each in unmatched:
        other = next((one for one in waiting[each.query] if not (one.has_passages and each.has_passages)), None)
        if other is not None:
            waiting[each.query].remove(other)
            partners.append((each, other))
    return partners


def _pair(a: str, b: str, one: LogAnswer, other: LogAnswer) -> Pair:
    return Pair(
        source=f"{a} / {b}",
        external_id=f"{one.external_id} / {other.external_id}",
        question=one.query,
        query_type=one.query_type,
        reference=one.reference if one.reference is not None else other.reference,
        sides=(one.id, other.id),
    )


@dataclass(frozen=True, slots=True)
class Compared:
    """What became of asking: the judge version, and the account of the run (empty where nothing was to ask)."""

    version: StoredVersion
    account: RunAccount


class _Order(NamedTuple):
    pair_id: int
    shown: Shown


class _Task(NamedTuple):
    pair: PairItem
    shown: Shown
    ask: int


class Comparing(AskOnceMethod[_Order, _Task, Answered[_Task, Comparison], Compared]):
    """Pairs, each asked about in both orders: two calls a pair."""

    kind = "compare"

    def __init__(self, judge: PairwiseJudge, pair_ids: Sequence[int], *, again: bool = False) -> None:
        self.judge: PairwiseJudge = judge
        self.again = again
        self._orders = [_Order(pair_id, shown) for pair_id in pair_ids for shown in Shown]

    def select(self, connection: Connection, version: StoredVersion) -> Selected:
        """Select the orders that this version was not asked in."""
        pair_ids = pairs_with_texts(connection, [order.pair_id for order in self._orders])
        if not pair_ids:
            raise BadInput("no pair has two answers to compare")
        self._orders = [_Order(pair_id, shown) for pair_id in pair_ids for shown in Shown]
        asks = self.open_asks(connection, version, self._orders)
        return Selected(pairs_question(pair_ids, again=self.again), len(asks))

    def keys(self, _begun: Begun) -> Sequence[_Order]:
        """Return both orders of every pair."""
        return self._orders

    def latest(
        self, connection: Connection, version: StoredVersion, keys: Sequence[_Order], **_few: bool
    ) -> Mapping[_Order, LatestInOrder]:
        """Return the latest comparison in each order."""
        pair_ids = list(dict.fromkeys(key.pair_id for key in keys))
        return {_Order(*key): ask for key, ask in latest_asks(connection, version.id, pair_ids).items()}

    def load(self, connection: Connection, asks: Sequence[tuple[_Order, int]]) -> list[_Task]:
        """Return the pairs that still have their texts."""
        ids = pairs_with_texts(connection, [key.pair_id for key, _ in asks])
        pairs = {pair.id: pair for pair in load_pairs(connection, ids)}
        return [_Task(pairs[key.pair_id], key.shown, number) for key, number in asks if key.pair_id in pairs]

    async def ask(self, task: _Task, keep: Keep[Answered[_Task, Comparison]]) -> None:
        """Ask in one order."""
        comparison = await self.judge.compare(task.pair, task.shown)
        await keep(Answered(task, comparison, comparison.record))

    def save(self, connection: Connection, begun: Begun, steps: list[Answered[_Task, Comparison]]) -> None:
        """Store comparisons."""
        items = [
            NewComparison(
                step.task.pair.id,
                step.task.shown,
                step.result.record,
                step.result.preferences,
                reasoning=step.result.reasoning,
                ask=step.task.ask,
            )
            for step in steps
        ]
        store_comparisons(connection, begun.version, begun.run.id, items, datetime.now(UTC))

    def summarise(self, outcome: RunOutcome) -> Compared:
        """Return version and account; `pair_report` gives the figures."""
        return Compared(outcome.version, outcome.account)


async def compare_pairs_async(
    store: Store,
    judge: PairwiseJudge,
    pair_ids: Sequence[int],
    *,
    again: bool = False,
    **options: Unpack[RunOptions],
) -> Compared:
    """Ask a judge about pairs, two calls a pair, storing every verdict at the latest 50 ms after it came.

    An order that this judge version was asked in before is not asked again; a stopped run goes on where it ended.

    Args:
        store: Where the pairs are.
        judge: Who is asked; closed at the end.
        pair_ids: Which pairs; those without their texts are left out.
        again: Also ask again in an order that has no usable verdict.
        options: Fields of `RunOptions`: concurrency, max_cost, actor, …

    Raises:
        BadInput: None of the pairs has its texts.
        UnknownPrice: A cost limit is given and the model has no price.
    """
    return await run_method(store, Comparing(judge, pair_ids, again=again), **options)


compare_pairs = blocking(compare_pairs_async)


def pairs_question(pair_ids: Sequence[int], **options: Any) -> dict[str, Any]:
    """Return what identifies a run over pairs: the same pairs are the same run, however they were named."""
    digest = hashlib.sha256(",".join(map(str, pair_ids)).encode()).hexdigest()
    return {"pairs": len(pair_ids), "pairs_sha256": digest, **options}

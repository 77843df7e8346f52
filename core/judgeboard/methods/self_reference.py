"""Self-reference (SSR-Judge): samples a judge's own answers, then compares pairs with and without them."""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Unpack

from sqlalchemy import Connection

from judgeboard.domain import Shown, Status
from judgeboard.errors import BadInput, NotFound
from judgeboard.judges.judge import fingerprint
from judgeboard.judges.self_reference import SELF_REFERENCE, SelfReferenceJudge
from judgeboard.llm.chat import ChatRequest
from judgeboard.llm.prices import Price
from judgeboard.methods.own_answers import TAU, Majority, as_reference, majority, samples_needed
from judgeboard.methods.pairwise import pairs_question
from judgeboard.methods.self_reference_report import (
    CONDITIONS,
    SelfReferenceReport,
    checked_conditions,
    measure_self_reference,
)
from judgeboard.runs.blocking import blocking
from judgeboard.runs.judging import make_endpoint
from judgeboard.runs.method import Again, Begun, HandOut, Method, RunOptions, RunOutcome, Selected, run_method
from judgeboard.runs.runner import Answered, Keep
from judgeboard.store.comparisons import (
    PLAIN,
    REFERENCE,
    NewComparison,
    StoredComparison,
    store_comparisons,
    stored_comparisons,
)
from judgeboard.store.engine import Store
from judgeboard.store.judge_versions import StoredVersion, get_version
from judgeboard.store.pairs import PairItem, load_pairs
from judgeboard.store.samples import FAILED, NewSample, StoredSample, store_samples, stored_samples
from judgeboard.store.statements import batches

_OF_JUDGE = ("k", "name", "temperature", "domain")


def make_self_reference_judge(**chosen: Any) -> SelfReferenceJudge:
    """Return a judge with self-reference; what is not chosen comes from the environment.

    Args:
        chosen: ``k``, ``name``, ``temperature``, ``domain``, ``max_output`` (of samples and verdicts) and the fields of
            the model (model, base_url, prices, …); None counts as not chosen, others are left out.

    Raises:
        BadInput: No model, no key for OpenAI's own endpoint, an address that is none, unreadable replies, or a value
            outside its range.
    """
    endpoint = make_endpoint("the judge with self-reference", **chosen)
    own = {name: chosen[name] for name in _OF_JUDGE if chosen.get(name) is not None}
    most = chosen.get("max_output")
    outputs = {} if most is None else {"max_output": most, "solve_output": most}
    return SelfReferenceJudge(endpoint, **own, **outputs)


Order = tuple[str, Shown]
"""A condition and the order in which the pair is shown."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is asked of every item: ``k`` samples, and the ``conditions`` A, B, C with the gate at ``needed`` of k."""

    k: int
    needed: int
    conditions: Collection[str]

    @property
    def calls_an_item(self) -> int:
        """Calls of an item with an answer: k + 2 for one condition alone, at most k + 4 for more."""
        return self.k + 2 * min(len(self.conditions), 2)

    def orders(self, found: Majority) -> tuple[Order, ...]:
        """Return which orders are asked where the samples agree on ``found``.

        Where no sample has an answer there is nothing to be shown: B then needs the verdict of A.
        """
        on = found.key is not None and found.agree >= self.needed
        always = "B" in self.conditions
        reference = found.key is not None and (always or (on and "C" in self.conditions))
        plain = "A" in self.conditions or (not on and "C" in self.conditions) or (found.key is None and always)
        wanted = [condition for condition, needed in ((PLAIN, plain), (REFERENCE, reference)) if needed]
        return tuple((condition, shown) for condition in wanted for shown in Shown)


@dataclass(frozen=True, slots=True)
class Task:
    """An item with what is stored of it: answers by number of the sample, and the orders that were asked.

    ``failed`` are samples whose call failed and that are not asked for again: the item then is unmeasured, and its
    orders are not asked. ``asks`` counts by sample, or by order, how often what is to be asked was asked before.
    """

    pair: PairItem
    answers: Mapping[int, str | None] = field(default_factory=dict)
    compared: frozenset[Order] = frozenset()
    failed: frozenset[int] = frozenset()
    asks: Mapping[int | Order, int] = field(default_factory=dict)

    def majority(self, k: int) -> Majority:
        """Return what its samples agree on; all ``k`` of them must be there."""
        return majority([self.answers[number] for number in range(k)], self.pair.options)

    def missing_samples(self, k: int) -> list[int]:
        """Return the numbers of the samples that are still to be drawn."""
        return [number for number in range(k) if number not in self.answers and number not in self.failed]

    def calls_left(self, plan: Plan) -> int:
        """Return how many calls it still needs; at most, while the outcome of its samples is not known."""
        missing = len(self.missing_samples(plan.k))
        if any(number < plan.k for number in self.failed):
            return missing
        if missing:
            return missing + plan.calls_an_item - plan.k
        return len(set(plan.orders(self.majority(plan.k))) - self.compared)


_ITEMS = 500  # each comes with all its samples


def read_tasks(
    connection: Connection, version_id: int, pair_ids: Sequence[int], again: Again | None = None
) -> list[Task]:
    """Return these items in their order with what a judge version has of them.

    Args:
        connection: A transaction.
        version_id: Who samples and judges.
        pair_ids: Which items.
        again: Where given, samples whose call failed and orders without a usable verdict are to be asked again.
    """
    stored: defaultdict[int, _Stored] = defaultdict(_Stored)
    for (pair_id, number), sample in stored_samples(connection, version_id, pair_ids).items():
        stored[pair_id].add_sample(number, sample, again)
    said = stored_comparisons(connection, version_id, pair_ids)
    for key in sorted(said, key=lambda key: key.ask):
        stored[key.pair_id].add_order((key.condition, Shown(key.shown)), key.ask, said[key], again)
    pairs = {pair.id: pair for pair in load_pairs(connection, pair_ids)}
    return [stored[pair_id].task(pairs[pair_id]) for pair_id in pair_ids if pair_id in pairs]


@dataclass(slots=True)
class _Stored:
    """What is stored of one item, gathered for its task."""

    answers: dict[int, str | None] = field(default_factory=dict)
    failed: set[int] = field(default_factory=set)
    compared: set[Order] = field(default_factory=set)
    asks: dict[int | Order, int] = field(default_factory=dict)

    def add_sample(self, number: int, sample: StoredSample, again: Again | None) -> None:
        if sample.status not in FAILED:
            self.answers[number] = sample.answer
        elif again is not None and again.opens(sample.run_id):
            self.asks[number] = sample.ask + 1
        else:
            self.failed.add(number)

    def add_order(self, order: Order, ask: int, said: StoredComparison, again: Again | None) -> None:
        """Add an ask of an order; the asks of one order come in their order."""
        if said.status != Status.OK and again is not None and again.opens(said.run_id):
            self.compared.discard(order)
            self.asks[order] = ask + 1
        else:
            self.compared.add(order)

    def task(self, pair: PairItem) -> Task:
        return Task(pair, self.answers, frozenset(self.compared), frozenset(self.failed), self.asks)


def askable(connection: Connection, pair_ids: Collection[int]) -> tuple[int, ...]:
    """Return those of the pairs that have a question and two answers: neither forgotten nor never there."""
    return tuple(
        pair.id
        for batch in batches(sorted(set(pair_ids)), _ITEMS)
        for pair in load_pairs(connection, batch)
        if None not in {pair.question, pair.answer_a, pair.answer_b}
    )


def calls_left(
    connection: Connection, version_id: int, pair_ids: Sequence[int], plan: Plan, again: Again | None = None
) -> int:
    """Return how many calls these items still need, at most."""
    return sum(
        task.calls_left(plan)
        for batch in batches(pair_ids, _ITEMS)
        for task in read_tasks(connection, version_id, batch, again)
    )


_Step = Answered[Task, NewSample | NewComparison]


class SelfReferring(Method[Task, _Step, SelfReferenceReport]):
    """Pairs whose questions the judge answers first: k samples, then the comparisons of each condition."""

    kind = SELF_REFERENCE

    def __init__(
        self,
        judge: SelfReferenceJudge,
        pair_ids: Sequence[int],
        *,
        tau: float = TAU,
        conditions: Collection[str] = CONDITIONS,
        tau_by_category: bool = False,
        again: bool = False,
    ) -> None:
        self.judge: SelfReferenceJudge = judge
        self._pair_ids = tuple(pair_ids)
        self._tau = tau
        self._conditions = conditions
        self._tau_by_category = tau_by_category
        self._again = again

    def select(self, connection: Connection, version: StoredVersion) -> Selected | None:
        """Select the pairs that have calls left."""
        plan = self._plan = Plan(
            self.judge.k, samples_needed(self._tau, self.judge.k), checked_conditions(self._conditions)
        )
        self._pair_ids = askable(connection, self._pair_ids)
        if not self._pair_ids:
            raise BadInput("no pair has a question and two answers")
        left = calls_left(connection, version.id, self._pair_ids, plan, Again() if self._again else None)
        if left == 0:
            return None
        conditions = list(plan.conditions)
        return Selected(
            pairs_question(self._pair_ids, conditions=conditions, needed=plan.needed, again=self._again), left
        )

    def tasks(self, begun: Begun) -> Callable[[int], list[Task]]:
        """Return the reader of pairs that have calls left."""
        plan, again = self._plan, self._asked_again(begun)

        def unfinished(connection: Connection, pair_ids: Sequence[int]) -> list[Task]:
            tasks = read_tasks(connection, begun.version.id, pair_ids, again)
            return [task for task in tasks if task.calls_left(plan)]

        return HandOut(begun.store, self._pair_ids, unfinished, backwards=begun.run.shared).read

    async def ask(self, task: Task, keep: Keep[_Step]) -> None:
        """Sample what is missing, then compare in each order that is missing."""
        plan, pair = self._plan, task.pair
        answers, failed = dict(task.answers), bool(task.failed)
        for number in task.missing_samples(plan.k):
            solved = await self.judge.solver.solve(pair, number)
            answers[number] = solved.answer
            failed = failed or solved.record.status in FAILED
            sample = NewSample(pair.id, number, solved.answer, solved.record, task.asks.get(number, 0))
            if not await keep(Answered(task, sample, sample.record)):
                return
        if failed:
            return  # what they agree on is not known
        found = replace(task, answers=answers).majority(plan.k)
        for condition, shown in plan.orders(found):
            if (condition, shown) in task.compared:
                continue
            reference = None
            if condition == REFERENCE and found.answer is not None:
                reference = as_reference(found.answer, pair.options)
            # Recorded replies are looked up by the id: the two conditions have replies of their own.
            asked = pair if reference is None else replace(pair, external_id=f"{pair.external_id}:{REFERENCE}")
            said = await self.judge.pairwise.compare(asked, shown, reference)
            ask = task.asks.get((condition, shown), 0)
            comparison = NewComparison(
                pair.id, shown, said.record, said.preferences, condition, reference, said.reasoning, ask
            )
            if not await keep(Answered(task, comparison, comparison.record)):
                return

    def save(self, connection: Connection, begun: Begun, steps: list[_Step]) -> None:
        """Store samples and comparisons."""
        now, result = datetime.now(UTC), [step.result for step in steps]
        samples = [each for each in result if isinstance(each, NewSample)]
        comparisons = [each for each in result if isinstance(each, NewComparison)]
        store_samples(connection, begun.version, begun.run.id, samples, now)
        store_comparisons(connection, begun.version, begun.run.id, comparisons, now)

    def left(self, connection: Connection, begun: Begun) -> int:
        """Return how many calls the pairs still need at most."""
        return calls_left(connection, begun.version.id, self._pair_ids, self._plan, self._asked_again(begun))

    def summarise(self, outcome: RunOutcome) -> SelfReferenceReport:
        """Return the figures of these pairs."""
        plan = self._plan
        return measure_self_reference(
            outcome.store,
            outcome.version.id,
            k=self.judge.k,
            tau=self._tau,
            conditions=plan.conditions,
            tau_by_category=self._tau_by_category,
            pair_ids=self._pair_ids,
            calls_planned=plan.calls_an_item * len(self._pair_ids),
            account=None if outcome.run is None else outcome.account,  # else that of what is stored
        )

    def _asked_again(self, begun: Begun) -> Again | None:
        return Again(begun.run.id) if self._again else None


async def self_refer_async(
    store: Store,
    judge: SelfReferenceJudge,
    pair_ids: Sequence[int],
    *,
    tau: float = TAU,
    conditions: Collection[str] = CONDITIONS,
    tau_by_category: bool = False,
    again: bool = False,
    **options: Unpack[RunOptions],
) -> SelfReferenceReport:
    """Sample k answers to each question, then compare its two answers, and return what came of it.

    An item takes k + 2 calls for one condition alone and k + 4 for more: samples are shared by both orders, and C asks
    nothing that A or B has asked. What this judge version has of an item is not asked again; a stopped run goes on
    where it ended. An item of which a call for a sample failed is unmeasured, and its answers are not compared.

    Args:
        store: Where the pairs are.
        judge: Who samples and judges; closed at the end.
        pair_ids: Which pairs; those without their texts are left out.
        tau: The gate is on from this agreement on, above 0 and at most 1.
        conditions: Which of A (no reference), B (always), C (where the gate is on).
        tau_by_category: Also tune the threshold of each category.
        again: Also ask again for samples whose call failed, and in an order that has no usable verdict.
        options: Fields of `RunOptions`: concurrency, max_cost, actor, …

    Raises:
        BadInput: None of the pairs has its texts, or ``tau`` or a condition is none.
        UnknownPrice: A cost limit is given and the model has no price.
    """
    method = SelfReferring(
        judge, pair_ids, tau=tau, conditions=conditions, tau_by_category=tau_by_category, again=again
    )
    return await run_method(store, method, **options)


self_refer = blocking(self_refer_async)


CHARACTERS_A_TOKEN = 4
LOOKED_AT = 50


@dataclass(frozen=True, slots=True)
class RunEstimate:
    """What a run takes: ``calls_left`` of ``calls_planned`` are not stored yet.

    ``most_cost_micro`` counts four characters for a token and replies of full length; None where no price is known.
    """

    items: int
    calls_planned: int
    calls_left: int
    most_cost_micro: int | None
    model: str | None = None

    @property
    def sentence(self) -> str:
        """The same in words."""
        stored = self.calls_planned - self.calls_left
        left = f"{self.calls_planned:,} calls" + (f", {stored:,} of them stored" if stored else "")
        cost = (
            f"cost unknown: no price for {self.model}"
            if self.most_cost_micro is None
            else f"at most about $ {self.most_cost_micro / 1_000_000:.2f}"
        )
        return f"{self.items:,} items, {left}; {cost}"


def estimate_run(
    store: Store,
    judge: SelfReferenceJudge,
    pair_ids: Sequence[int],
    *,
    tau: float = TAU,
    conditions: Collection[str] = CONDITIONS,
    again: bool = False,
) -> RunEstimate:
    """Estimate `self_refer` on these pairs from their own texts.

    Raises:
        BadInput: ``tau`` or a condition is none.
    """
    plan = Plan(judge.k, samples_needed(tau, judge.k), checked_conditions(conditions))
    with store.reading() as connection:
        try:
            version_id = get_version(connection, fingerprint(judge.version)).id
        except NotFound:
            version_id = 0  # has been asked nothing yet
        wanted = askable(connection, pair_ids)
        left = calls_left(connection, version_id, wanted, plan, Again() if again else None)
        pairs = load_pairs(connection, wanted[:LOOKED_AT])
    planned = plan.calls_an_item * len(wanted)
    price, model = judge.price, judge.version.model
    if price is None or not pairs:
        return RunEstimate(len(wanted), planned, left, None, model)
    verdicts = plan.calls_an_item - plan.k
    an_item = sum(
        plan.k * _cost(judge.solver.request(pair, 0), price)
        + verdicts * _cost(judge.pairwise.request(pair, Shown.AB, pair.reference), price)
        for pair in pairs
    ) / len(pairs)
    return RunEstimate(len(wanted), planned, left, round(an_item / plan.calls_an_item * left), model)


def _cost(request: ChatRequest, price: Price) -> int:
    characters = sum(len(message["content"]) for message in request.messages)
    return price.cost_micro(characters // CHARACTERS_A_TOKEN, request.max_output)

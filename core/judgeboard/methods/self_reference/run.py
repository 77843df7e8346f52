"""Self-reference (SSR-Judge): samples a judge's own answers, then compares pairs with and without own answers."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Unpack

from sqlalchemy import Connection

from judgeboard.domain import SELF_REFERENCE, PairItem, Shown, Status
from judgeboard.errors import BadInput
from judgeboard.judges.pairwise import DEFAULT_SAMPLES, SelfReferenceJudge
from judgeboard.methods.self_reference.own_answers import (
    TAU,
    Majority,
    as_reference,
    majority,
    samples_needed,
)
from judgeboard.methods.self_reference.queries import (
    FAILED,
    NewSample,
    StoredSample,
    store_samples,
    stored_samples,
)
from judgeboard.methods.self_reference.report import SelfReferenceResult, measure_self_reference
from judgeboard.runs.judging import with_environment
from judgeboard.runs.method import (
    Again,
    Begun,
    Method,
    RunOptions,
    RunOutcome,
    Selected,
    run_method,
)
from judgeboard.runs.pairwise import pairs_question
from judgeboard.runs.runner import Answered, Keep, blocking
from judgeboard.store.clock import utc_now
from judgeboard.store.comparisons import (
    PLAIN,
    REFERENCE,
    NewComparison,
    StoredComparison,
    store_comparisons,
    stored_comparisons,
)
from judgeboard.store.engine import Store
from judgeboard.store.jobs import TaskKey
from judgeboard.store.pairs import load_pairs
from judgeboard.store.statements import batches
from judgeboard.store.tables import StoredVersion


def make_self_reference_judge(k: int | None = None, **fields: object) -> SelfReferenceJudge:
    """Return a judge with self-reference that takes ``k`` samples (default: 5), or raise BadInput.

    Of ``fields``, only ``name``, ``temperature``, ``domain``, ``prompt``, ``max_output`` (for
    samples and verdicts) and the fields of the model are read. Missing fields and None are read
    from the environment.
    """
    options = with_environment(fields)
    return SelfReferenceJudge(
        options.endpoint("the judge with self-reference"),
        options,
        k=DEFAULT_SAMPLES if k is None else k,
    )


CONDITIONS = ("A", "B", "C")
"""A: no reference. B: the judge's own answer as reference. C: the own answer as reference if the gate is on."""


def checked_conditions(conditions: Collection[str]) -> tuple[str, ...]:
    """Return the conditions in alphabetical order, or raise BadInput."""
    unknown = sorted(set(conditions) - set(CONDITIONS))
    if unknown or not conditions:
        raise BadInput(
            f"--conditions must be A, B or C, not {unknown[0] if unknown else 'nothing'!r}"
        )
    return tuple(name for name in CONDITIONS if name in conditions)


Order = tuple[str, Shown]  # a condition and the order in which the pair is shown


@dataclass(frozen=True, slots=True)
class Plan:
    """The calls per item: ``k`` samples and the ``conditions`` A, B, C. The gate is on if ``needed`` samples agree."""

    k: int
    needed: int
    conditions: Collection[str]

    @property
    def calls_an_item(self) -> int:
        """The maximum number of calls per item: k + 2 for one condition, k + 4 for more."""
        return self.k + 2 * min(len(self.conditions), 2)

    def orders(self, own_answer: Majority) -> tuple[Order, ...]:
        """Return the orders to ask, given the majority. If no sample has an answer, B needs the verdict of A."""
        on = own_answer.key is not None and own_answer.agree >= self.needed
        always = "B" in self.conditions
        reference = own_answer.key is not None and (always or (on and "C" in self.conditions))
        plain = (
            "A" in self.conditions
            or (not on and "C" in self.conditions)
            or (own_answer.key is None and always)
        )
        conditions = [
            condition
            for condition, is_needed in ((PLAIN, plain), (REFERENCE, reference))
            if is_needed
        ]
        return tuple((condition, order) for condition in conditions for order in Shown)


@dataclass(slots=True)
class Task:
    """An item with the stored answers by sample number and the ``compared`` orders; ``asks`` counts earlier asks."""

    pair: PairItem
    answers: dict[int, str | None] = field(default_factory=dict)
    compared: set[Order] = field(default_factory=set)
    failed: set[int] = field(default_factory=set)
    asks: dict[int | Order, int] = field(default_factory=dict)

    def add_sample(self, number: int, sample: StoredSample, again: Again | None) -> None:
        """Add a stored sample; with ``again``, a failed sample is asked again."""
        if sample.status not in FAILED:
            self.answers[number] = sample.answer
        elif again is not None and again.opens(sample.run_id):
            self.asks[number] = sample.ask + 1
        else:
            self.failed.add(number)

    def add_order(
        self, order: Order, ask: int, comparison: StoredComparison, again: Again | None
    ) -> None:
        """Add a stored comparison; with ``again``, a comparison without a usable verdict is repeated."""
        if comparison.status != Status.OK and again is not None and again.opens(comparison.run_id):
            self.compared.discard(order)
            self.asks[order] = ask + 1
        else:
            self.compared.add(order)

    def majority(self, k: int) -> Majority:
        """Return the majority of all ``k`` samples."""
        return majority([self.answers[number] for number in range(k)], self.pair.options)

    def missing_samples(self, k: int) -> list[int]:
        """Return the numbers of the samples that are still to be drawn."""
        return [
            number
            for number in range(k)
            if number not in self.answers and number not in self.failed
        ]

    def calls_left(self, plan: Plan) -> int:
        """Return the number of calls left; an upper bound while samples are missing."""
        missing_count = len(self.missing_samples(plan.k))
        if any(number < plan.k for number in self.failed):
            return missing_count
        if missing_count:
            return missing_count + plan.calls_an_item - plan.k
        return len(set(plan.orders(self.majority(plan.k))) - self.compared)


_ITEMS = 500  # per batch; each item is read with all samples


def read_tasks(
    connection: Connection, version_id: int, pair_ids: Sequence[int], again: Again | None = None
) -> list[Task]:
    """Return items in order with the stored steps; with ``again``, failed steps are to be repeated."""
    tasks = {pair.id: Task(pair) for pair in load_pairs(connection, pair_ids)}
    for pair_id, by_number in stored_samples(connection, version_id, pair_ids).items():
        if pair_id in tasks:
            for number, sample in by_number.items():
                tasks[pair_id].add_sample(number, sample, again)
    comparisons = stored_comparisons(connection, version_id, pair_ids)
    for key in sorted(comparisons, key=lambda key: key.ask):
        if key.pair_id in tasks:
            tasks[key.pair_id].add_order(
                (key.condition, Shown(key.shown)), key.ask, comparisons[key], again
            )
    return [tasks[pair_id] for pair_id in pair_ids if pair_id in tasks]


def askable(connection: Connection, pair_ids: Collection[int]) -> tuple[int, ...]:
    """Return the pairs that have a question and two answers."""
    return tuple(
        pair.id
        for batch in batches(sorted(set(pair_ids)), _ITEMS)
        for pair in load_pairs(connection, batch)
        if None not in {pair.question, pair.answer_a, pair.answer_b}
    )


def calls_left(
    connection: Connection,
    version_id: int,
    pair_ids: Sequence[int],
    plan: Plan,
    again: Again | None = None,
) -> int:
    """Return the maximum number of calls that the items still need."""
    return sum(
        task.calls_left(plan)
        for batch in batches(pair_ids, _ITEMS)
        for task in read_tasks(connection, version_id, batch, again)
    )


_Step = Answered[Task, NewSample | NewComparison]


@dataclass(eq=False)
class _SelfReference(Method[Task, _Step, SelfReferenceResult]):
    judge: SelfReferenceJudge
    pair_ids: Sequence[int]
    again: bool
    conditions: Collection[str]
    tau: float
    kind = SELF_REFERENCE

    def select(self, connection: Connection, version: StoredVersion) -> Selected | None:
        plan = self._plan = Plan(
            self.judge.k,
            samples_needed(self.tau, self.judge.k),
            checked_conditions(self.conditions),
        )
        self.pair_ids = askable(connection, self.pair_ids)
        if not self.pair_ids:
            raise BadInput("no pair has a question and two answers")
        call_count = calls_left(
            connection, version.id, self.pair_ids, plan, Again() if self.again else None
        )
        if call_count == 0:
            return None
        settings = {"conditions": list(plan.conditions), "needed": plan.needed, "again": self.again}
        return pairs_question(self.pair_ids, settings), call_count

    def keys(self, begun: Begun) -> Iterator[TaskKey]:  # noqa: ARG002 - the method's signature
        return map(TaskKey, self.pair_ids)

    def load(self, begun: Begun, keys: Sequence[TaskKey]) -> dict[TaskKey, Task]:
        again, pair_ids = self._asked_again(begun), [key.item_id for key in keys]
        with begun.store.reading() as connection:
            tasks = read_tasks(connection, begun.version.id, pair_ids, again)
        return {TaskKey(task.pair.id): task for task in tasks if task.calls_left(self._plan)}

    async def ask(self, task: Task, keep: Keep[_Step]) -> None:
        plan, pair = self._plan, task.pair
        answers, has_failed = dict(task.answers), bool(task.failed)
        for number in task.missing_samples(plan.k):
            solution = await self.judge.solve(pair, number)
            answers[number] = solution.value
            has_failed = has_failed or solution.record.status in FAILED
            sample = NewSample(
                pair.id, number, solution.value, solution.record, task.asks.get(number, 0)
            )
            if not await keep(Answered(task, sample, sample.record)):
                return
        if has_failed:
            return  # the majority is not known
        own_answer = replace(task, answers=answers).majority(plan.k)
        for condition, order in plan.orders(own_answer):
            if (condition, order) in task.compared:
                continue
            reference = None
            if condition == REFERENCE and own_answer.answer is not None:
                reference = as_reference(own_answer.answer, pair.options)
            # Recorded replies are found by the id, so each condition needs another id.
            pair_to_ask = (
                pair
                if reference is None
                else replace(pair, external_id=f"{pair.external_id}:{REFERENCE}")
            )
            reply = await self.judge.pairwise.compare(pair_to_ask, order, reference)
            ask = task.asks.get((condition, order), 0)
            comparison = NewComparison(
                pair.id,
                order,
                reply.record,
                reply.preferences,
                condition,
                reference,
                reply.reasoning,
                ask,
            )
            if not await keep(Answered(task, comparison, comparison.record)):
                return

    async def sample_requests(self, task: Task) -> None:
        for number in range(self._plan.k):
            await self.judge.solve(task.pair, number)
        for _ in range(self._plan.calls_an_item - self._plan.k):
            await self.judge.pairwise.compare(task.pair, Shown.AB, task.pair.reference)

    def save(self, connection: Connection, begun: Begun, steps: list[_Step]) -> None:
        now, results = utc_now(), [step.result for step in steps]
        samples = [result for result in results if isinstance(result, NewSample)]
        comparisons = [result for result in results if isinstance(result, NewComparison)]
        store_samples(connection, begun.version, begun.run.id, samples, now)
        store_comparisons(connection, begun.version, begun.run.id, comparisons, now)

    def left(self, connection: Connection, begun: Begun) -> int:
        return calls_left(
            connection, begun.version.id, self.pair_ids, self._plan, self._asked_again(begun)
        )

    def summarise(self, outcome: RunOutcome) -> SelfReferenceResult:
        return measure_self_reference(
            outcome.store,
            outcome.version.id,
            k=self.judge.k,
            tau=self.tau,
            pair_ids=self.pair_ids,
            account=None
            if outcome.run is None
            else outcome.account,  # None: counts all stored steps
        )

    def _asked_again(self, begun: Begun) -> Again | None:
        return Again(begun.run.id) if self.again else None


async def self_refer_async(
    store: Store,
    judge: SelfReferenceJudge,
    pair_ids: Sequence[int],
    *,
    tau: float = TAU,
    conditions: Collection[str] = CONDITIONS,
    again: bool = False,
    **options: Unpack[RunOptions],
) -> SelfReferenceResult:
    """Sample k answers to each question, compare the two answers of the pair, and return the report.

    An item takes k + 2 calls for one condition and k + 4 for more, because both orders share the
    samples and C uses the verdicts of A or B. Stored steps of this judge version are not repeated,
    and a stopped run continues; ``again`` repeats failed samples and orders without a usable
    verdict. If the call for a sample failed, the item is unmeasured. Pairs without texts are left
    out. The judge is closed at the end. ``options`` are fields of `RunOptions`. Raises BadInput if
    all pairs lack texts, or if ``tau`` or a condition is invalid.
    """
    method = _SelfReference(judge, pair_ids, again, conditions, tau)
    return await run_method(store, method, **options)


self_refer = blocking(self_refer_async)

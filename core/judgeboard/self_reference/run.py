"""Asks a judge about pairs with and without its own answer, storing every sample and verdict as it comes."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Unpack

from sqlalchemy import Connection

from judgeboard.blocking import blocking
from judgeboard.errors import BadInput
from judgeboard.hand_out import HandOut
from judgeboard.judges.self_reference import SELF_REFERENCE, SelfReferenceJudge
from judgeboard.method import Begun, Method, RunOptions, RunOutcome, Selected, run_method
from judgeboard.next_ask import Again
from judgeboard.pairs.comparing import pairs_question
from judgeboard.runner import Answered, Keep
from judgeboard.self_reference.answers import as_reference
from judgeboard.self_reference.gate import TAU, samples_needed
from judgeboard.self_reference.plan import Plan, Task
from judgeboard.self_reference.report import CONDITIONS, checked_conditions, measure_self_reference
from judgeboard.self_reference.result import SelfReferenceReport
from judgeboard.self_reference.tasks import askable, calls_left, read_tasks
from judgeboard.store.engine import Store
from judgeboard.store.judgments.judge_versions import StoredVersion
from judgeboard.store.pairs.comparisons import REFERENCE, LandedComparison, land_comparisons
from judgeboard.store.pairs.samples import FAILED, LandedSample, land_samples

_Step = Answered[Task, LandedSample | LandedComparison]


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
            sample = LandedSample(pair.id, number, solved.answer, solved.record, task.asks.get(number, 0))
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
            comparison = LandedComparison(
                pair.id, shown, said.record, said.preferences, condition, reference, said.reasoning, ask
            )
            if not await keep(Answered(task, comparison, comparison.record)):
                return

    def save(self, connection: Connection, begun: Begun, steps: list[_Step]) -> None:
        """Store samples and comparisons."""
        now, landed = datetime.now(UTC), [step.result for step in steps]
        samples = [each for each in landed if isinstance(each, LandedSample)]
        comparisons = [each for each in landed if isinstance(each, LandedComparison)]
        land_samples(connection, begun.version, begun.run.id, samples, now)
        land_comparisons(connection, begun.version, begun.run.id, comparisons, now)

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

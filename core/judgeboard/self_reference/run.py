"""Asks a judge about pairs with and without its own answer, storing every sample and verdict as it comes."""

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Unpack

from sqlalchemy import Connection

from judgeboard.blocking import run_blocking
from judgeboard.domain import Status
from judgeboard.errors import BadInput
from judgeboard.hand_out import HandOut
from judgeboard.judges.self_reference import SELF_REFERENCE, SelfReferenceJudge
from judgeboard.next_ask import Again
from judgeboard.run_account import RunAccount, account_of
from judgeboard.runner import Keep, Work
from judgeboard.self_reference.answers import as_reference
from judgeboard.self_reference.gate import TAU, samples_needed
from judgeboard.self_reference.plan import Plan, Task
from judgeboard.self_reference.report import CONDITIONS, checked_conditions, self_reference_report
from judgeboard.self_reference.result import SelfReferenceReport
from judgeboard.self_reference.tasks import askable, calls_left, read_tasks
from judgeboard.step_run import RunKeywords, RunOptions, require_price, run_steps, stoppable
from judgeboard.store.engine import Store
from judgeboard.store.judgments.judge_versions import StoredVersion, ensure_version
from judgeboard.store.pairs.comparisons import REFERENCE, LandedComparison, land_comparisons
from judgeboard.store.pairs.samples import FAILED, LandedSample, land_samples
from judgeboard.store.runs.method_runs import start_or_continue_method_run
from judgeboard.store.runs.runs import StoredRun


@dataclass(frozen=True, slots=True)
class _Step:
    """A sample or a verdict, waiting to be stored."""

    landed: LandedSample | LandedComparison

    @property
    def status(self) -> Status:
        """What became of it."""
        return self.landed.record.status

    @property
    def cost_micro(self) -> int | None:
        """What it cost, in millionths; None is unknown."""
        return self.landed.record.cost_micro


def self_refer(
    store: Store,
    judge: SelfReferenceJudge,
    pair_ids: Sequence[int],
    *,
    tau: float = TAU,
    conditions: Collection[str] = CONDITIONS,
    tau_by_category: bool = False,
    again: bool = False,
    **options: Unpack[RunKeywords],
) -> SelfReferenceReport:
    """Ask a judge about pairs and wait for it; Ctrl-C finishes the calls in flight.

    Arguments and errors as `self_refer_async`.
    """
    return run_blocking(
        self_refer_async,
        store,
        judge,
        pair_ids,
        tau=tau,
        conditions=conditions,
        tau_by_category=tau_by_category,
        again=again,
        **stoppable(options),
    )


async def self_refer_async(
    store: Store,
    judge: SelfReferenceJudge,
    pair_ids: Sequence[int],
    *,
    tau: float = TAU,
    conditions: Collection[str] = CONDITIONS,
    tau_by_category: bool = False,
    again: bool = False,
    **options: Unpack[RunKeywords],
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
    how = RunOptions(**options)
    try:
        plan = Plan(judge.k, samples_needed(tau, judge.k), checked_conditions(conditions))
        require_price(how.max_cost, priced=judge.priced, model=judge.version.model)
        with store.writing() as connection:
            wanted = askable(connection, pair_ids)
            if not wanted:
                raise BadInput("no pair has a question and two answers")
            version = ensure_version(connection, judge.version)
            left = calls_left(connection, version.id, wanted, plan, Again() if again else None)
            run = None if left == 0 else _start(connection, judge, version, wanted, plan, how, left, again=again)
        account: RunAccount | None = None  # that of what is stored
        if run is not None:
            account = await _ask(store, judge, version, run, wanted, plan, how, left, again=again)
    finally:
        await judge.aclose()
    with store.reading() as connection:
        return self_reference_report(
            connection,
            version.id,
            k=judge.k,
            tau=tau,
            conditions=plan.conditions,
            tau_by_category=tau_by_category,
            pair_ids=wanted,
            calls_planned=plan.calls_an_item * len(wanted),
            account=account,
        )


def _start(
    connection: Connection,
    judge: SelfReferenceJudge,
    version: StoredVersion,
    pair_ids: tuple[int, ...],
    plan: Plan,
    how: RunOptions,
    left: int,
    *,
    again: bool,
) -> StoredRun:
    digest = hashlib.sha256(",".join(map(str, pair_ids)).encode()).hexdigest()
    question = {
        "pairs": len(pair_ids),
        "pairs_sha256": digest,
        "conditions": list(plan.conditions),
        "needed": plan.needed,
        "again": again,
    }
    return start_or_continue_method_run(
        connection,
        SELF_REFERENCE,
        version,
        question,
        selected=left,
        actor=how.actor,
        endpoint_host=judge.endpoint_host,
    )


async def _ask(
    store: Store,
    judge: SelfReferenceJudge,
    version: StoredVersion,
    run: StoredRun,
    pair_ids: tuple[int, ...],
    plan: Plan,
    how: RunOptions,
    left: int,
    *,
    again: bool,
) -> RunAccount:
    def write(batch: list[_Step]) -> None:
        now, landed = datetime.now(UTC), [one.landed for one in batch]
        with store.writing() as connection:
            land_samples(connection, version, run.id, [one for one in landed if isinstance(one, LandedSample)], now)
            verdicts = [one for one in landed if isinstance(one, LandedComparison)]
            land_comparisons(connection, version, run.id, verdicts, now)

    asked_again = Again(run.id) if again else None

    def unfinished(connection: Connection, wanted: Sequence[int]) -> list[Task]:
        return [task for task in read_tasks(connection, version.id, wanted, asked_again) if task.calls_left(plan)]

    tasks = HandOut(store, pair_ids, unfinished, backwards=run.shared)
    ended = await run_steps(store, run.id, _work(judge, plan), tasks.read, write, options=how, expected=left)
    with store.reading() as connection:
        not_reached = calls_left(connection, version.id, pair_ids, plan, asked_again)
    return account_of(store, run.id, ended, not_reached=not_reached)


def _work(judge: SelfReferenceJudge, plan: Plan) -> Work[Task, _Step]:
    async def solve_and_compare(task: Task, keep: Keep[_Step]) -> None:
        pair, answers, failed = task.pair, dict(task.answers), bool(task.failed)
        for number in task.missing_samples(plan.k):
            solved = await judge.solver.solve(pair, number)
            answers[number] = solved.answer
            failed = failed or solved.record.status in FAILED
            sample = LandedSample(pair.id, number, solved.answer, solved.record, task.asks.get(number, 0))
            if not await keep(_Step(sample)):
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
            said = await judge.pairwise.compare(asked, shown, reference)
            ask = task.asks.get((condition, shown), 0)
            landed = LandedComparison(
                pair.id, shown, said.record, said.preferences, condition, reference, said.reasoning, ask
            )
            if not await keep(_Step(landed)):
                return

    return solve_and_compare

"""Jobs of judging rules: a worker judges the answers of each judging rule as they come.

Nothing is kept outside the database: what is judged is stored, and what is left follows from it. So a job goes on after
a crash or a restart without judging anything twice. Workers share a rule by claims on answers.
"""

import asyncio
import itertools
import logging
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from judgeboard.domain import RuleState, Status, Verdict
from judgeboard.errors import BadInput, JudgeboardError
from judgeboard.runs.jobs import judge_spec, judge_with_key
from judgeboard.runs.judging import Ask, Judging, make_judge
from judgeboard.runs.method import Begun, shared_rate_limits
from judgeboard.runs.runner import COST_LIMIT, Answered, Runner
from judgeboard.store.engine import Store
from judgeboard.store.judge_versions import get_version, refuse_retired
from judgeboard.store.judging_rules import (
    JudgingRule,
    begin_run_of_day,
    budget_is_used_up,
    claim_answers,
    due_answers,
    get_rule,
    list_rules,
    pause_run,
    release_answers,
    release_claims,
    set_problem,
    spent_today,
)
from judgeboard.store.responses import last_response_id
from judgeboard.store.runs import Counts
from judgeboard.store.traces import inputs_to_judge

LOOK_SECONDS = 0.5  # between two looks for new answers, and between two looks whether to stop
LINGER_SECONDS = 5.0  # the judge stays open this long without a new answer
RECENT_SECONDS = 60.0  # answers are looked for at every look for this long; later ones are found by a sweep
SWEEP_SHARE = 0.05  # of the time may go into sweeps over all answers of a rule
TRY_AGAIN_SECONDS = 30.0  # after a problem
FAILED_IN_ROW = 20  # calls without a reply, after which a job waits: the provider is away
PAUSED, NEW_DAY, CLOSED = "the rule is not active", "a new day began", "the worker ended"
USED_UP = "the budget of the day is used up"
FAILING = f"the last {FAILED_IN_ROW} calls failed"
_EXPECTED = {None, PAUSED, NEW_DAY, CLOSED}

_log = logging.getLogger("judgeboard.jobs")


class _Looks:
    """Where to look for the answers of a rule: the recent ones at every look, all of them in sweeps now and then.

    An answer of an earlier time can become due: its filter matches only now, or another worker left it.
    """

    def __init__(self, rule: JudgingRule, last_id: int) -> None:
        self._delay_s = rule.delay_s
        self._recent_for = RECENT_SECONDS + rule.delay_s
        self._mark_every = max(1.0, self._recent_for / 100)
        self._marks = [(time.monotonic(), last_id)]
        self._sweep_after: int | None = rule.after_id
        self._next_sweep = 0.0

    def passed(self, last_id: int) -> None:
        """Note the highest id of a response now."""
        now = time.monotonic()
        if now - self._marks[-1][0] >= self._mark_every:
            self._marks.append((now, last_id))
        while len(self._marks) > 1 and now - self._marks[1][0] >= self._recent_for:
            del self._marks[0]

    def find(self, look: Callable[[int, int | None], list[int]]) -> list[int]:
        """Return what ``look(after_id, up_to)`` finds: recent answers first, then a sweep if it is due.

        Nothing that is found counts as claimed: the next sweep begins with the same answers.
        """
        started = time.monotonic()
        # What is due was stored before this mark, so no look reads all answers that wait for their delay.
        up_to = next((last_id for at, last_id in self._marks if started - at <= self._delay_s), None)
        ids = look(self._marks[0][1], up_to)
        started = time.monotonic()
        if ids or (self._sweep_after is None and started < self._next_sweep):
            return ids
        ids = look(self._sweep_after or 0, None)
        self._sweep_after = ids[0] - 1 if ids else None
        ended = time.monotonic()
        self._next_sweep = ended + (ended - started) / SWEEP_SHARE
        return ids


class RuleJob:
    """The job of one judging rule in one worker, in a thread of its own."""

    def __init__(self, store: Store, rule: JudgingRule, executor_id: str, closing: threading.Event) -> None:
        self._store, self._rule, self._executor_id, self._closing = store, rule, executor_id, closing
        with store.reading() as connection:
            self._looks = _Looks(rule, last_response_id(connection))
        self._failed_in_row = 0
        self._thread = threading.Thread(target=self._run, name=f"judgeboard-rule-{rule.id}", daemon=True)

    def start(self) -> None:
        """Start to judge; returns at once."""
        self._thread.start()

    @property
    def ended(self) -> bool:
        """Whether the rule is no longer active, or the worker ends."""
        return not self._thread.is_alive()

    def wait(self, seconds: float) -> None:
        """Wait until the calls in flight are finished."""
        self._thread.join(seconds)

    def _run(self) -> None:
        while not self._closing.wait(LOOK_SECONDS):
            try:
                rule, spent = self._state()
                if rule.state is not RuleState.ACTIVE:
                    return
                if not budget_is_used_up(rule, spent) and self._due(1):
                    problem = self._judge(spent)
                    self._note(rule, problem)
                    if problem is not None:
                        self._closing.wait(TRY_AGAIN_SECONDS)
            except Exception as error:  # noqa: BLE001 - whatever the database raises: it comes back, and nothing is lost
                _log.warning("judging rule %s: %s; trying again", self._rule.id, type(error).__name__, exc_info=error)
                self._closing.wait(LOOK_SECONDS * 10)

    @property
    def _provider_is_away(self) -> bool:
        return self._failed_in_row >= FAILED_IN_ROW

    def _state(self) -> tuple[JudgingRule, Counts]:
        with self._store.reading() as connection:
            rule = get_rule(connection, self._rule.id)
            has_budget = rule.max_cost is not None or rule.max_calls is not None
            return rule, spent_today(connection, rule, datetime.now(UTC)) if has_budget else Counts()

    def _note(self, rule: JudgingRule, problem: str | None) -> None:
        if problem != rule.problem:
            with self._store.writing() as connection:
                set_problem(connection, rule.id, problem)

    def _due(self, most: int) -> list[int]:
        """Return the ids of answers to claim; only reads, so that neither a search nor an idle rule locks anything."""
        with self._store.reading() as connection:
            self._looks.passed(last_response_id(connection))
            now = datetime.now(UTC)
            return self._looks.find(
                lambda after, up_to: due_answers(
                    connection, self._rule, after_id=after, up_to=up_to, limit=most, now=now
                )
            )

    def _judge(self, spent: Counts) -> str | None:
        """Judge what is due until nothing is left for a while; return the problem that stopped it, or None."""
        try:
            begun, method = self._begin()
        except JudgeboardError as error:
            return str(error)
        why: str | None = None
        try:
            why = asyncio.run(self._ask(begun, method, spent))
        finally:
            why = None if why in _EXPECTED else why
            with self._store.writing() as connection:
                release_claims(connection, self._executor_id, begun.run.id)
                pause_run(connection, begun.run.id, why, datetime.now(UTC))
        return None if why in {COST_LIMIT, USED_UP} else why

    def _begin(self) -> tuple[Begun, Judging]:
        rule = self._rule
        with self._store.reading() as connection:
            version = get_version(connection, rule.judge_version_id)
            refuse_retired(connection, version)
            spec = judge_spec(connection, version)
            if spec is None:
                raise BadInput(f"{version.title} cannot be used by this release: add a rule with another judge")
        spec |= {name: rule.judge[name] for name in ("provider", "base_url") if rule.judge.get(name)}
        method = Judging(judge=make_judge(**judge_with_key(spec), concurrency=rule.concurrency))
        with self._store.writing() as connection:
            run = begin_run_of_day(connection, rule, method.endpoint_host, datetime.now(UTC))
        return Begun(self._store, version, run), method

    async def _ask(self, begun: Begun, method: Judging, spent: Counts) -> str | None:
        rule, limit = self._rule, self._rule.max_cost
        is_trial = self._provider_is_away  # then one call shows whether it is back, and no other answer fails
        concurrency = 1 if is_trial else rule.concurrency
        reads = itertools.count()

        def read(most: int) -> list[Ask]:
            if is_trial and next(reads):
                return []
            # Fewer than the runner could take, so that the workers end at about the same time.
            most = 1 if is_trial else min(most, 2 * concurrency)
            return self._next_asks(begun, most, lambda: runner.stopped_because is None)

        runner: Runner[Ask, Answered[Ask, Verdict]] = Runner(
            method.ask,
            read,
            lambda steps: self._save(begun, method, steps),
            concurrency=concurrency,
            max_cost_micro=None if limit is None else round(limit * 1_000_000) - (spent.cost_micro or 0),
        )
        watch = asyncio.create_task(self._watch(runner, begun.run.started_at, is_trial))
        try:
            with shared_rate_limits(self._store):
                await runner.run()
        finally:
            watch.cancel()
            await method.judge.aclose()
        return runner.stopped_because or (FAILING if self._provider_is_away else None)

    def _next_asks(self, begun: Begun, most: int, goes_on: Callable[[], bool]) -> list[Ask]:
        """Claim the next answers. Waits for new ones for a while before it returns an empty list: the end."""
        deadline = time.monotonic() + LINGER_SECONDS
        while goes_on() and not self._closing.is_set():
            if due := self._due(most):
                with self._store.writing() as connection:
                    ids = claim_answers(
                        connection, self._rule, begun.run, self._executor_id, among=due, now=datetime.now(UTC)
                    )
                inputs = inputs_to_judge(self._store, ids)
                if inputs:
                    return [Ask(inputs[id_], 0) for id_ in ids if id_ in inputs]
            if time.monotonic() >= deadline:
                break
            self._closing.wait(LOOK_SECONDS)
        return []

    def _save(self, begun: Begun, method: Judging, steps: list[Answered[Ask, Verdict]]) -> None:
        with self._store.writing() as connection:
            method.save(connection, begun, steps)
            release_answers(connection, begun.version.id, [step.task.item.response_id for step in steps])
        for step in steps:
            self._failed_in_row = self._failed_in_row + 1 if step.result.status is Status.ERROR else 0

    async def _watch(self, runner: Runner[Any, Any], began: datetime, is_trial: bool) -> None:
        """Stop the runner when the rule, the budget, the day or the worker ends; the calls in flight are finished."""
        while not self._closing.is_set():
            rule, spent = await asyncio.to_thread(self._state)
            if rule.state is not RuleState.ACTIVE:
                return runner.stop(PAUSED)
            if budget_is_used_up(rule, spent):
                return runner.stop(USED_UP)
            if datetime.now(UTC).date() != began.astimezone(UTC).date():
                return runner.stop(NEW_DAY)
            if self._provider_is_away and not is_trial:
                return runner.stop(FAILING)
            await asyncio.sleep(LOOK_SECONDS)
        return runner.stop(CLOSED)


class RuleJobs:
    """The jobs of the judging rules in one worker."""

    def __init__(self, store: Store, executor_id: str) -> None:
        self._store, self._executor_id = store, executor_id
        self._closing = threading.Event()
        self._jobs: dict[int, RuleJob] = {}
        with store.writing() as connection:  # of a killed holder of the same id
            release_claims(connection, executor_id)

    def look(self) -> None:
        """Start a job for each active rule that has none."""
        with self._store.reading() as connection:
            rules = list_rules(connection)
        self._jobs = {rule_id: job for rule_id, job in self._jobs.items() if not job.ended}
        for rule in rules:
            if rule.state is RuleState.ACTIVE and rule.id not in self._jobs:
                self._jobs[rule.id] = job = RuleJob(self._store, rule, self._executor_id, self._closing)
                job.start()

    def stop(self, seconds: float) -> None:
        """Finish the calls in flight; wait at most this long."""
        self._closing.set()
        end = time.monotonic() + seconds
        for job in self._jobs.values():
            job.wait(max(0.0, end - time.monotonic()))

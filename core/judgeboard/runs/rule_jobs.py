"""Jobs of judging rules: each worker judges the answers of each judging rule as they come."""

import asyncio
import importlib
import threading
import time
from collections.abc import Callable, Collection
from datetime import UTC
from functools import partial

from judgeboard.domain import JudgeInput, RuleState, Status
from judgeboard.errors import BadInput, JudgeboardError
from judgeboard.judges.kinds import OFFLINE
from judgeboard.runs.jobs import check_address, judge_with_key, with_last_address
from judgeboard.runs.judging import Ask, Judging, make_judge
from judgeboard.runs.judging_rules import rule_spec
from judgeboard.runs.method import Begun
from judgeboard.runs.runner import COST_LIMIT
from judgeboard.runs.shared_job import CLOSED, SharedJob, Steps, log_failure
from judgeboard.store.clock import utc_now
from judgeboard.store.engine import Store
from judgeboard.store.jobs import TaskKey, release_claims, release_tasks
from judgeboard.store.judge_versions import get_version, refuse_retired
from judgeboard.store.judging_rules import (
    JudgingRule,
    begin_run_of_day,
    budget_is_used_up,
    claim_due,
    due_answers,
    get_rule,
    pause_run,
    set_problem,
    spent_today,
)
from judgeboard.store.responses import last_response_id
from judgeboard.store.runs import Counts, StoredRun
from judgeboard.store.traces import inputs_to_judge

LINGER_SECONDS = 5.0  # the judge stays open this long without a new answer
RECENT_SECONDS = 60.0  # answers are looked for at every look for this long; later ones are found by a sweep
SWEEP_SHARE = 0.05  # of the time may go into sweeps over all answers of a rule
TRY_AGAIN_SECONDS = 30.0  # after a problem
FAILED_IN_ROW = 20  # calls without a reply, after which a job waits: the provider is away
CANDIDATES = 4  # times as many answers are looked up, because other workers claim some of them meanwhile
PAUSED, NEW_DAY = "the rule is not active", "a new day began"
USED_UP = "the budget of the day is used up"
FAILING = f"the last {FAILED_IN_ROW} calls failed"
_EXPECTED = {None, PAUSED, NEW_DAY, CLOSED}


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


class RuleJob(SharedJob):
    """The job of one judging rule in one worker. It ends when the rule is no longer active, or the worker ends."""

    def __init__(self, store: Store, rule: JudgingRule, executor_id: str, closing: threading.Event) -> None:
        super().__init__(store, executor_id, closing)
        self._rule = rule
        with store.reading() as connection:
            self._looks = _Looks(rule, last_response_id(connection))
        self._failed_in_row = 0
        self._is_trial = False
        self._stopping = threading.Event()
        self._unreleased: int | None = None  # the run that may still have claims of this worker

    def _run(self) -> None:
        if self._rule.judge["kind"] not in OFFLINE:  # takes seconds: not while the first answer waits
            importlib.import_module("judgeboard.llm.endpoint_chat")
        while not self._closing.is_set():
            try:
                if self._unreleased is not None:  # the database was away at the end of the last attempt
                    self._release(self._unreleased, None)
                rule, spent = self._state()
                if rule.state is not RuleState.ACTIVE:
                    return
                if not budget_is_used_up(rule, spent) and self._due(1):
                    problem = self._judge_due()
                    self._note(rule, problem)
                    if problem is not None:
                        self._closing.wait(TRY_AGAIN_SECONDS)
            except Exception as error:  # noqa: BLE001 - whatever the database raises: it comes back, and nothing is lost
                log_failure(f"judging rule {self._rule.id}", error)
                self._closing.wait(TRY_AGAIN_SECONDS / 10)
            self._pause()

    @property
    def _provider_is_away(self) -> bool:
        return self._failed_in_row >= FAILED_IN_ROW

    def _state(self) -> tuple[JudgingRule, Counts]:
        with self._store.reading() as connection:
            rule = get_rule(connection, self._rule.id)
            has_budget = rule.max_cost is not None or rule.max_calls is not None
            return rule, spent_today(connection, rule, utc_now()) if has_budget else Counts()

    def _note(self, rule: JudgingRule, problem: str | None) -> None:
        if problem != rule.problem:
            with self._store.writing() as connection:
                set_problem(connection, rule.id, problem)

    def _judge_due(self) -> str | None:
        """Judge what is due until nothing is left for a while; return the problem that stopped it, or None."""
        try:
            begun, method = self._begin()
        except JudgeboardError as error:
            return str(error)
        self._unreleased = begun.run.id
        # If the provider was away, one call shows whether it is back, and no other answer fails.
        self._is_trial = self._provider_is_away
        self._stopping.clear()
        concurrency = 1 if self._is_trial else self._rule.concurrency
        asking = self._judge(begun, method, partial(self._take, begun), self._stopping.set, concurrency)
        why: str | None = None
        try:
            why = asyncio.run(asking) or (FAILING if self._provider_is_away else None)
        finally:
            why = None if why in _EXPECTED else why
            self._release(begun.run.id, why)
        return None if why in {COST_LIMIT, USED_UP} else why

    def _release(self, run_id: int, why: str | None) -> None:
        with self._store.writing() as connection:
            release_claims(connection, self._executor_id, run_id)
            pause_run(connection, run_id, why, utc_now())
        self._unreleased = None

    def _begin(self) -> tuple[Begun, Judging]:
        rule = self._rule
        with self._store.reading() as connection:
            version = get_version(connection, rule.judge_version_id)
            refuse_retired(connection, version)
            spec = rule_spec(connection, rule)
            if spec is None:
                raise BadInput(f"{version.title} cannot be used by this release: give the rule another judge")
            if not rule.judge.get("base_url"):
                spec = with_last_address(connection, spec)
                check_address(connection, spec, lambda: "the answers of this rule")
        method = Judging(judge=make_judge(**judge_with_key(spec), concurrency=rule.concurrency))
        with self._store.writing() as connection:
            run = begin_run_of_day(connection, rule, method.destination, utc_now())
        return Begun(self._store, version, run), method

    def _due(self, most: int) -> list[int]:
        with self._store.reading() as connection:
            self._looks.passed(last_response_id(connection))
            now = utc_now()
            return self._looks.find(
                lambda after, up_to: due_answers(
                    connection, self._rule, after_id=after, up_to=up_to, limit=most, now=now
                )
            )

    def _take(self, begun: Begun, limit: int) -> list[Ask]:
        """Claim the next answers. Waits for new ones before it returns an empty list: the end."""
        started, missed = time.monotonic(), list[int]()
        limit = 1 if self._is_trial else limit
        while not (self._stopping.is_set() or self._closing.is_set()):
            due = self._due(CANDIDATES * limit)
            if due and due != missed:
                inputs = self._claim(begun, due, limit)
                if inputs:
                    if self._is_trial:
                        self._stopping.set()
                    return [Ask(item, 0) for item in inputs.values()]
                missed = due  # other workers claimed them meanwhile: look further at once
                continue
            if time.monotonic() - started >= LINGER_SECONDS:
                break
            missed = []
            self._pause()
        return []

    def _claim(self, begun: Begun, among: Collection[int], limit: int) -> dict[int, JudgeInput]:
        now = utc_now()
        with self._store.writing() as connection:
            ids = claim_due(connection, self._rule, begun.run, self._executor_id, among=among, limit=limit, now=now)
        inputs = inputs_to_judge(self._store, ids)
        if forgotten := [TaskKey(id_) for id_ in ids if id_ not in inputs]:  # since they were claimed
            with self._store.writing() as connection:
                release_tasks(connection, begun.version.id, self._executor_id, forgotten)
        return {id_: inputs[id_] for id_ in ids if id_ in inputs}

    def _cost_left(self, run: StoredRun) -> int | None:
        if self._rule.max_cost is None:
            return None
        with self._store.reading() as connection:
            spent = spent_today(connection, self._rule, run.started_at).cost_micro or 0
        return round(self._rule.max_cost * 1_000_000) - spent

    def _reason_to_stop(self, run: StoredRun) -> str | None:
        rule, spent = self._state()
        if rule.state is not RuleState.ACTIVE:
            return PAUSED
        if budget_is_used_up(rule, spent):
            return USED_UP
        if utc_now().date() != run.started_at.astimezone(UTC).date():
            return NEW_DAY
        return FAILING if self._provider_is_away and not self._is_trial else None

    def _stored(self, steps: Steps) -> None:
        for step in steps:
            self._failed_in_row = self._failed_in_row + 1 if step.result.status is Status.ERROR else 0

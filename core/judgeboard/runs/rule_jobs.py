"""The work of a judging rule: new answers are judged, within the limits of a day."""

import time
from collections.abc import Callable
from datetime import UTC

from sqlalchemy import Connection

from judgeboard.domain import RunState, Status
from judgeboard.errors import BadInput, JudgeboardError
from judgeboard.runs.jobs import check_address, judge_with_key, with_last_address
from judgeboard.runs.judging import Ask, Judging, make_judge
from judgeboard.runs.judging_rules import rule_spec
from judgeboard.runs.locks import asked_by_commands
from judgeboard.runs.method import Begun
from judgeboard.runs.runner import COST_LIMIT
from judgeboard.runs.work import Opened, Outstanding, Step, Steps, Work, in_chunks, room
from judgeboard.store.clock import utc_now
from judgeboard.store.engine import Store
from judgeboard.store.judge_versions import get_version, refuse_retired
from judgeboard.store.judging_rules import (
    add_selected,
    begin_run_of_day,
    budget_is_used_up,
    due_answers,
    pause_run,
    run_of_day,
    spent_today,
    still_due,
    versions_of_rule,
)
from judgeboard.store.responses import last_response_id
from judgeboard.store.rules import get_rule, update_rule
from judgeboard.store.runs import NOWHERE, Counts
from judgeboard.store.tables import JudgingRule, Run
from judgeboard.store.traces import inputs_to_judge

RECENT_SECONDS = (
    60.0  # answers are looked for at every look for this long; later ones are found by a sweep
)
SWEEP_SHARE = 0.05  # of the time may go into sweeps over all answers of a rule
PAGES = 20  # of answers in one look, while others ask about all answers of a page
PROBLEM_SECONDS = 30.0  # after a problem
LINGER_SECONDS = 5.0  # without an answer, after which the run of the day is stored as done
FAILED_IN_ROW = 20  # calls without a reply, after which a rule waits: the provider is away
NOT_ACTIVE, NEW_DAY = "the rule is not active", "a new day began"
USED_UP = "the budget of the day is used up"
FAILING = f"the last {FAILED_IN_ROW} calls failed"
PRIORITY = 8  # people wait for these answers, more than for those of a large job


class _Looks:
    """Where to look for the answers of a rule: the recent ones at every look, all of them in sweeps now and then.

    An older answer can become due: the filter matches only now, or the chunk failed.
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

    def find(self, look: Callable[[int, int | None], tuple[list[int], int | None]]) -> list[int]:
        """Return what ``look(after_id, up_to)`` finds: recent answers first, then a sweep if one is due.

        If others ask about all answers up to an id, ``look`` returns no answers and this id, and
        the sweep goes on there. A returned answer does not count as judged: the next sweep begins
        with the same answers.
        """
        started = time.monotonic()
        # Due answers were stored before this mark, so no look reads all answers that still wait for
        # the delay.
        up_to = next(
            (last_id for at, last_id in self._marks if started - at <= self._delay_s), None
        )
        ids, _ = look(self._marks[0][1], up_to)
        started = time.monotonic()
        if ids or (self._sweep_after is None and started < self._next_sweep):
            return ids
        ids, read_up_to = look(self._sweep_after or 0, None)
        self._sweep_after = ids[0] - 1 if ids else read_up_to
        end = time.monotonic()
        self._next_sweep = end + (end - started) / SWEEP_SHARE
        return ids


class RuleJob(Work):
    """A judging rule. ``key`` is "rule-" and the id of the rule."""

    priority = PRIORITY

    def __init__(self, store: Store, key: str) -> None:
        super().__init__(store, key)
        self._looks: _Looks | None = None
        self._run: Run | None = None  # the run of the day, while it is running
        self._failed_in_row = 0
        self._idle_since: float | None = None
        self._try_again_at: float | None = None  # while there is a problem
        self._had_problem = False

    def versions(self) -> frozenset[int]:
        """Return the versions of the rule's judge and of earlier judges."""
        with self._store.reading() as connection:
            return versions_of_rule(connection, self._rule(connection))

    def _rule(self, connection: Connection) -> JudgingRule:
        return get_rule(connection, JudgingRule, int(self.key.removeprefix("rule-")))

    def look(self, outstanding: Outstanding, workers: int) -> Step:
        """Enqueue the answers that are due, within the limits of the day."""
        rule, budget_use = self._state()
        why = self._reason_to_wait(rule, budget_use)
        if why is not None:
            if outstanding.is_empty:
                self._pause(why if why in {USED_UP, COST_LIMIT} else None)
            is_over = not rule.is_active and outstanding.is_empty
            return Step(cancel=outstanding.has_entries, ended=is_over)
        if outstanding.held_ids and rule.problem is None:
            self._note(rule, outstanding.reason_held)
            return Step()
        if rule.problem is not None:
            return self._try_once(rule, budget_use, outstanding)
        self._try_again_at = None
        limit = room(outstanding, workers, rule.concurrency)
        ids = self._due(rule, budget_use, outstanding, limit)
        if ids or not outstanding.is_empty:
            self._idle_since = None
        elif self._idle_since is None:
            self._idle_since = time.monotonic()
        elif time.monotonic() - self._idle_since >= LINGER_SECONDS:
            self._pause()
        return self._enqueue(rule, ids) if ids else Step()

    def open(self) -> Opened | None:
        """Return the judge and the run of the day. An error is stored as the problem of the rule."""
        rule, _ = self._state()
        if not rule.is_active:
            return None
        try:
            begun, method = self._begun(rule)
        except JudgeboardError as error:
            self._note(rule, str(error))
            return None
        self._had_problem = rule.problem is not None
        return Opened(begun, method, rule.concurrency, self._cost_left(rule, begun.run))

    def is_current(self, opened: Opened) -> bool:
        """Return whether the run is that of today."""
        return opened.begun.run.started_at.astimezone(UTC).date() == utc_now().date()

    def load(self, opened: Opened, ids: list[int]) -> dict[int, Ask]:  # noqa: ARG002 - the run of a day selects nothing
        """Return the asks that are still to be made. While there is a problem, one answer at a time is tried."""
        with self._store.reading() as connection:
            rule = self._rule(connection)
            due_ids = (
                still_due(connection, rule, ids, utc_now())
                if rule.problem is None or len(ids) == 1
                else []
            )
        return {id_: Ask(item, 0) for id_, item in inputs_to_judge(self._store, due_ids).items()}

    def stop(self, why: str) -> None:
        """Store the problem. A limit that is reached is no problem."""
        if why != COST_LIMIT:
            rule, _ = self._state()
            self._note(rule, why)

    def leave(self) -> None:
        """End the run of the day; a later answer continues it."""
        rule, budget_use = self._state()
        why = self._reason_to_wait(rule, budget_use)
        with self._store.writing() as connection:
            run = run_of_day(connection, rule, utc_now())
            if run is not None and run.state is RunState.RUNNING:
                pause_run(
                    connection, run.id, why if why in {USED_UP, COST_LIMIT} else None, utc_now()
                )

    def stored(self, steps: Steps) -> str | None:
        """Count calls without a reply; the first one with a reply ends the problem of the rule."""
        for step in steps:
            self._failed_in_row = (
                self._failed_in_row + 1 if step.result.status is Status.ERROR else 0
            )
        if steps and self._had_problem and not self._failed_in_row:
            self._had_problem = False
            self._note(self._state()[0], None)
        if self._failed_in_row >= FAILED_IN_ROW:
            self._failed_in_row = 0
            return FAILING
        return None

    def _state(self) -> tuple[JudgingRule, Counts]:
        with self._store.reading() as connection:
            rule = self._rule(connection)
            has_budget = rule.max_cost is not None or rule.max_calls is not None
            return rule, spent_today(connection, rule, utc_now()) if has_budget else Counts()

    def _reason_to_wait(self, rule: JudgingRule, budget_use: Counts) -> str | None:
        if not rule.is_active:
            return NOT_ACTIVE
        if budget_is_used_up(rule, budget_use):
            return (
                USED_UP
                if rule.max_calls is not None and budget_use.asked >= rule.max_calls
                else COST_LIMIT
            )
        if (
            self._run is not None
            and utc_now().date() != self._run.started_at.astimezone(UTC).date()
        ):
            return NEW_DAY
        return None

    def _try_once(self, rule: JudgingRule, budget_use: Counts, outstanding: Outstanding) -> Step:
        """Enqueue one answer now and then: this shows whether the problem is over, and no other answer fails."""
        if not outstanding.is_empty:
            return Step(cancel=self._try_again_at is None)
        now = time.monotonic()
        if self._try_again_at is None:
            self._pause(rule.problem)
            self._try_again_at = now + PROBLEM_SECONDS
        if now < self._try_again_at:
            return Step(cancel=bool(outstanding.held_ids))
        self._try_again_at = now + PROBLEM_SECONDS
        ids = self._due(rule, budget_use, outstanding, 1)
        if not ids:
            self._note(rule, None)
            return Step(cancel=bool(outstanding.held_ids))
        return self._enqueue(rule, ids)

    def _due(
        self, rule: JudgingRule, budget_use: Counts, outstanding: Outstanding, free_places: int
    ) -> list[int]:
        """Return answers that are due, except answers that are enqueued already."""
        if rule.max_calls is not None:
            free_places = min(free_places, rule.max_calls - budget_use.asked - len(outstanding.ids))
        if free_places <= 0:
            return []
        enqueued_ids = outstanding.ids | outstanding.elsewhere
        limit = free_places + len(enqueued_ids)
        with self._store.reading() as connection:
            last_id = last_response_id(connection)
            if self._looks is None:
                self._looks = _Looks(rule, last_id)
            self._looks.passed(last_id)
            now, versions = utc_now(), versions_of_rule(connection, rule)

            def look(after_id: int, up_to: int | None) -> tuple[list[int], int | None]:
                for _ in range(PAGES):
                    due_ids = due_answers(
                        connection, rule, after_id=after_id, up_to=up_to, limit=limit, now=now
                    )
                    excluded_ids = enqueued_ids | asked_by_commands(self._store, versions, due_ids)
                    ids = [id_ for id_ in due_ids if id_ not in excluded_ids]
                    if ids or not due_ids:
                        return ids, None
                    after_id = due_ids[-1]
                return [], after_id

            return self._looks.find(look)[:free_places]

    def _enqueue(self, rule: JudgingRule, ids: list[int]) -> Step:
        now = utc_now()
        with self._store.writing() as connection:
            if self._run is None:
                self._run = begin_run_of_day(connection, rule, NOWHERE, now)
            add_selected(connection, self._run.id, len(ids))
        return Step(in_chunks(ids, rule.concurrency))

    def _pause(self, why: str | None = None) -> None:
        if self._run is not None:
            with self._store.writing() as connection:
                pause_run(connection, self._run.id, why, utc_now())
            self._run = None

    def _note(self, rule: JudgingRule, problem: str | None) -> None:
        if problem != rule.problem:
            with self._store.writing() as connection:
                update_rule(connection, rule, problem=problem)

    def _begun(self, rule: JudgingRule) -> tuple[Begun, Judging]:
        with self._store.reading() as connection:
            version = get_version(connection, rule.judge_version_id)
            refuse_retired(connection, version)
            spec = rule_spec(connection, rule)
            if spec is None:
                raise BadInput(
                    f"{version.title} cannot be used by this release: give the rule another judge"
                )
            if not rule.judge.get("base_url"):
                spec = with_last_address(connection, spec)
                check_address(connection, spec, lambda: "the answers of this rule")
        method = Judging(judge=make_judge(**judge_with_key(spec), concurrency=rule.concurrency))
        with self._store.writing() as connection:
            run = begin_run_of_day(connection, rule, method.destination, utc_now())
        return Begun(self._store, version, run), method

    def _cost_left(self, rule: JudgingRule, run: Run) -> int | None:
        if rule.max_cost is None:
            return None
        with self._store.reading() as connection:
            cost_micro = spent_today(connection, rule, run.started_at).cost_micro or 0
        return round(rule.max_cost * 1_000_000) - cost_micro

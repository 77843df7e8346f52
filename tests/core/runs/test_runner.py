"""The runner stores what came back, whatever happens."""

import asyncio
import re
import time
from dataclasses import replace
from itertools import product
from typing import NamedTuple

import pytest
from sqlalchemy.exc import OperationalError

from judgeboard.domain import Attempt, JudgeInput, JudgeVersion, Status, Verdict
from judgeboard.errors import EndpointRefused
from judgeboard.runs.judging import Ask, Judging
from judgeboard.runs.method import Again, next_ask
from judgeboard.runs.runner import COST_LIMIT, Answered, Runner
from judgeboard.store import outages


class ScriptedJudge:
    """Answers each row by a function of its id; counts calls in flight."""

    version = JudgeVersion(name="scripted", kind="scripted")
    address = None
    priced = True

    def __init__(self, answer, *, delay=0.0):
        self.answer = answer
        self.delay = delay
        self.in_flight = 0
        self.most_in_flight = 0
        self.asked = []

    async def judge(self, item):
        self.asked.append(item.response_id)
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            await asyncio.sleep(self.delay)
            return self.answer(item.response_id)
        finally:
            self.in_flight -= 1

    async def aclose(self): ...


class Rows:
    """A store of asks in memory."""

    def __init__(self, count):
        self.left = [Ask(JudgeInput(number, "q", "a", ("p",)), 0) for number in range(count)]
        self.stored = []
        self.batches = 0

    async def read(self, limit):
        batch, self.left = self.left[:limit], self.left[limit:]
        return batch

    def write(self, batch, _ended):
        self.batches += 1
        self.stored += batch

    @property
    def stored_ids(self):
        return [step.task.item.response_id for step in self.stored]


def runner_of(judge, rows, write=None, *, concurrency=4, **options):
    ask = Judging(judge=judge).ask
    return Runner(ask, rows.read, write or rows.write, concurrency=concurrency, **options)


def good(_row):
    return Verdict(Status.OK, groundedness=1.0, quality=4, cost_micro=10)


def test_every_row_is_asked_once_and_stored():
    rows, judge = Rows(1000), ScriptedJudge(good)
    counts = asyncio.run(runner_of(judge, rows, concurrency=16).run())
    assert sorted(rows.stored_ids) == sorted(judge.asked) == list(range(1000))
    assert (counts.asked, counts.ok, counts.cost_micro) == (1000, 1000, 10_000)


def test_no_more_calls_are_in_flight_than_asked_for():
    rows, judge = Rows(200), ScriptedJudge(good, delay=0.001)
    asyncio.run(runner_of(judge, rows, concurrency=7).run())
    assert judge.most_in_flight == 7


def test_a_refusal_of_the_endpoint_stops_the_run_and_is_no_judgment():
    refusal = "401: the key is refused"

    def refuse_from_row_20(row):
        if row >= 20:
            raise EndpointRefused(refusal)
        return good(row)

    rows = Rows(500)
    runner = runner_of(ScriptedJudge(refuse_from_row_20), rows)
    asyncio.run(runner.run())
    assert runner.stopped_because == refusal
    assert sorted(rows.stored_ids) == list(range(20))


def test_the_cost_limit_stops_asking_and_keeps_what_was_in_flight():
    rows, judge = Rows(500), ScriptedJudge(good, delay=0.001)
    runner = runner_of(judge, rows, concurrency=5, max_cost_micro=200)
    asyncio.run(runner.run())
    assert runner.stopped_because == COST_LIMIT
    assert 20 <= len(rows.stored) <= 25
    assert len(rows.stored) == len(judge.asked)


def test_an_unknown_cost_is_unknown_never_zero():
    failing = ScriptedJudge(lambda _row: Verdict(Status.ERROR, error="500"))
    assert asyncio.run(runner_of(failing, Rows(3)).run()).cost_micro is None


def test_stopping_finishes_the_calls_in_flight():
    rows = Rows(500)
    judge = ScriptedJudge(good, delay=0.001)

    def stop_soon(row):
        if row == 50:
            runner.stop("Ctrl-C")
        return good(row)

    judge.answer = stop_soon
    runner = runner_of(judge, rows, concurrency=8)
    asyncio.run(runner.run())
    assert sorted(judge.asked) == sorted(rows.stored_ids)
    assert len(rows.stored) < 500


def test_a_defect_in_a_judge_is_raised_after_what_came_back_is_stored():
    def broken_at_30(row):
        if row == 30:
            raise ZeroDivisionError
        return good(row)

    rows = Rows(100)
    with pytest.raises(ZeroDivisionError):
        asyncio.run(runner_of(ScriptedJudge(broken_at_30), rows, concurrency=1).run())
    assert rows.stored_ids == list(range(30))


def test_replies_wait_for_a_database_that_is_locked_for_a_while(monkeypatch):
    monkeypatch.setattr(outages, "TRY_AGAIN_SECONDS", (0.0, 0.0))
    rows, judge = Rows(100), ScriptedJudge(good, delay=0.001)
    failing = [2, 0] * 50

    def locked(batch, ended):
        if failing and failing[0] > 0:
            failing[0] -= 1
            raise OperationalError("INSERT", {}, Exception("database is locked"))
        failing.pop(0)
        rows.write(batch, ended)

    asyncio.run(runner_of(judge, rows, locked).run())
    assert sorted(rows.stored_ids) == sorted(judge.asked) == list(range(100))


def test_costs_of_others_that_cannot_be_read_once_cost_no_call(monkeypatch):
    monkeypatch.setattr(outages, "TRY_AGAIN_SECONDS", (0.0,))
    rows, judge, reads = Rows(100), ScriptedJudge(good, delay=0.001), 0

    def spent():
        nonlocal reads
        reads += 1
        if reads == 40:
            raise OperationalError("SELECT", {}, Exception("the database system is starting up"))
        return 0

    asyncio.run(runner_of(judge, rows, max_cost_micro=10_000, spent_elsewhere=spent).run())
    assert sorted(rows.stored_ids) == sorted(judge.asked) == list(range(100))


def test_a_database_that_stays_locked_ends_the_run_and_the_lost_replies_are_counted(monkeypatch):
    monkeypatch.setattr(outages, "TRY_AGAIN_SECONDS", (0.0, 0.0))
    judge = ScriptedJudge(good, delay=0.02)

    def locked(_batch, _ended):
        raise OperationalError("INSERT", {}, Exception("database is locked"))

    runner = runner_of(judge, Rows(1000), locked)
    with pytest.raises(OperationalError, match="locked"):
        asyncio.run(runner.run())
    assert re.search(r"\d+ replies", runner.stopped_because)
    assert len(judge.asked) < 100  # few, also where a busy machine tells the runner late


def test_a_store_that_cannot_write_ends_the_run():
    def full(_batch, _ended):
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        asyncio.run(runner_of(ScriptedJudge(good), Rows(100), full).run())


def test_verdicts_are_stored_while_others_are_still_asked():
    rows, judge = Rows(300), ScriptedJudge(good, delay=0.005)
    asyncio.run(runner_of(judge, rows, concurrency=10).run())
    assert rows.batches > 3


def test_paid_verdicts_wait_for_a_slow_store_in_a_line_shorter_than_the_calls_in_flight():
    rows, lost = Rows(200), []
    paid = replace(good(0), attempts=(Attempt(why="first", status="ok"),))
    judge = ScriptedJudge(lambda _row: paid)

    def write(batch, ended):
        time.sleep(0.01)
        lost.append(
            len(judge.asked) - len(rows.stored)
        )  # what a kill costs now: in flight or not stored
        rows.write(batch, ended)

    asyncio.run(runner_of(judge, rows, write, concurrency=8).run())
    assert len(rows.stored) == 200
    assert max(lost) <= 2 * 8


def test_the_steps_of_a_task_are_stored_in_their_order_and_end_where_the_run_is_stopped():
    async def three_steps(ask, keep):
        for repeat in range(3):
            step, verdict = Ask(ask.item, ask.number, repeat), good(ask.item.response_id)
            if not await keep(Answered(step, verdict, verdict)):
                return

    rows = Rows(100)
    runner = Runner(three_steps, rows.read, rows.write, concurrency=4, max_cost_micro=600)
    counts = asyncio.run(runner.run())
    assert 60 <= len(rows.stored) <= 63
    assert counts.asked == len(rows.stored)
    for row in range(100):
        repeats = [one.task.repeat for one in rows.stored if one.task.item.response_id == row]
        assert repeats == list(range(len(repeats)))


class Asked(NamedTuple):
    ask: int
    usable: bool
    run_id: int | None


def test_what_was_never_asked_is_asked_and_what_is_usable_never_again():
    usable = Asked(2, usable=True, run_id=1)
    for again in (None, Again(), Again(7)):
        assert (next_ask(None, again), next_ask(usable, again)) == (0, None)


def test_what_failed_is_asked_again_where_that_was_wanted_once_in_a_run():
    for run_id, own in product((None, 1, 7), (None, 7)):
        failed = Asked(2, usable=False, run_id=run_id)
        assert next_ask(failed, None) is None
        done_in_this_run = own is not None and run_id == own
        assert next_ask(failed, Again(own)) == (None if done_in_this_run else 3)

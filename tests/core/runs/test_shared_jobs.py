"""Workers of several processes share each job, a rejudge as well as a judging rule, and judge nothing twice."""

import re
import threading
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from threading import Timer

import pytest
from sqlalchemy import select

from job_steps import ANSWERS, ask, ended, fill, rag, working
from judgeboard.domain import Status, StepRecord
from judgeboard.runs import share
from judgeboard.runs.jobs import cancel_job, job_progress
from judgeboard.runs.judging import judge_pending, make_judge
from judgeboard.runs.judging_rules import add_rule
from judgeboard.runs.method import store_steps
from judgeboard.runs.worker import Worker
from judgeboard.store.clock import utc_now
from judgeboard.store.filters import RowFilter
from judgeboard.store.jobs import add_to_share, get_job, live_workers
from judgeboard.store.tables import WORKER
from judging_log import judgments, runs, until
from stored_rows import read

MANY = 100


def start_rule(store, judge):
    add_rule(store, "live", judge=judge, existing=True, concurrency=4, actor="Mara")


BOTH = pytest.mark.parametrize("start", [ask, start_rule], ids=["rejudge", "rule"])


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Look often."""
    monkeypatch.setattr("judgeboard.runs.rule_jobs.LINGER_SECONDS", 0.2)
    monkeypatch.setattr("judgeboard.runs.leader.IDLE_SECONDS", 0.2)
    monkeypatch.setattr("judgeboard.runs.worker.BEAT_SECONDS", 0.5)
    monkeypatch.setattr("judgeboard.runs.engine.LOOK", timedelta(seconds=0.5))


@contextmanager
def two_workers(store):
    with working(store), working(store):
        until(lambda: len(living(store)) == 2, "two workers")
        yield


def living(store):
    return read(store, live_workers)


def judged(store, least):
    return until(lambda: len(rows := judgments(store)) >= least and rows, f"{least} judgments")


@BOTH
@pytest.mark.postgres
def test_two_workers_share_a_job_and_ask_no_answer_twice(postgres_log, endpoint, start):
    fill(postgres_log, MANY)
    endpoint.hold_after(0)
    with two_workers(postgres_log):
        start(postgres_log, rag(endpoint))
        until(lambda: len(endpoint.server.requests) == 8, "four calls of each worker in flight")
        endpoint.release()
        rows = judged(postgres_log, MANY)
        until(lambda: runs(postgres_log)[0]["state"] == "done", "the end of the run")
    assert len({row["response_id"] for row in rows}) == len(rows) == MANY
    assert set(endpoint.asked.values()) == {1}
    assert len(runs(postgres_log)) == 1


@BOTH
@pytest.mark.postgres
def test_a_killed_worker_leaves_nothing_judged_twice(
    postgres_log, endpoint, worker_process, start, monkeypatch
):
    monkeypatch.setattr("judgeboard.store.jobs._HEARTBEAT_TIMEOUT", timedelta(seconds=2))
    monkeypatch.setattr("judgeboard.runs.engine.HEARTBEAT_TIMEOUT", timedelta(seconds=2))
    fill(postgres_log, MANY)
    endpoint.hold_after(3)
    start(postgres_log, rag(endpoint))
    first = worker_process(postgres_log)
    judged(postgres_log, 3)
    until(lambda: len(endpoint.server.requests) == 7, "four calls in flight")
    with working(postgres_log):
        until(
            lambda: len(endpoint.server.requests) == 11, "four calls of the second worker in flight"
        )
        first.kill()
        endpoint.release()
        rows = judged(postgres_log, MANY)
        until(lambda: runs(postgres_log)[0]["state"] == "done", "the end of the run")
    asked = endpoint.asked
    print(f"{len(rows)} judgments of {MANY} answers by {sum(asked.values())} calls")  # noqa: T201 - pytest -s shows it
    assert len({row["response_id"] for row in rows}) == len(rows) == MANY
    # Only the calls that were in flight when it was killed are made again.
    assert sum(asked.values()) == MANY + 4
    assert sum(calls == 2 for calls in asked.values()) == 4


@pytest.mark.postgres
def test_a_worker_whose_clock_is_ahead_takes_no_answer_from_another(
    postgres_log, endpoint, worker_process, monkeypatch
):
    class Ahead(datetime):
        @classmethod
        def now(cls, tz=None):
            return super().now(tz) + timedelta(minutes=1)

    fill(postgres_log, MANY)
    endpoint.hold_after(0)
    ask(postgres_log, rag(endpoint))
    worker_process(postgres_log)
    until(lambda: len(endpoint.server.requests) == 4, "four calls in flight")
    monkeypatch.setattr("judgeboard.store.clock.datetime", Ahead)
    with working(postgres_log):
        until(
            lambda: len(endpoint.server.requests) == 8, "four calls of the second worker in flight"
        )
        endpoint.release()
        judged(postgres_log, MANY)
    assert set(endpoint.asked.values()) == {1}


@pytest.mark.postgres
def test_all_workers_stop_a_cancelled_job_and_its_end_is_stored(postgres_log, endpoint, stopped):
    fill(postgres_log, MANY)
    endpoint.hold_after(0)
    with two_workers(postgres_log):
        job_id = ask(postgres_log, rag(endpoint))
        until(lambda: len(endpoint.server.requests) == 8, "four calls of each worker in flight")
        cancel_job(postgres_log, job_id, "Mara")
        until(lambda: len(set(stopped)) == 2, "both workers know")
        endpoint.release()
        job = ended(postgres_log, job_id)
    assert (job.state, job.asked, len(endpoint.server.requests)) == ("cancelled", 8, 8)


@pytest.mark.postgres
def test_a_job_that_is_cancelled_between_two_workers_ends_and_can_be_asked_for_again(
    postgres_log, endpoint
):
    endpoint.hold_after(0)
    job_id = ask(postgres_log, rag(endpoint))
    with working(postgres_log):
        until(lambda: len(endpoint.server.requests) == 4, "four calls in flight")
        Timer(0.2, endpoint.release).start()
    assert runs(postgres_log)[0]["state"] == "interrupted"
    cancel_job(postgres_log, job_id, "Mara")
    with working(postgres_log):
        assert ended(postgres_log, job_id).state == "cancelled"
    assert ask(postgres_log, rag(endpoint)) != job_id


@pytest.mark.postgres
def test_the_cost_limit_of_a_job_holds_in_all_workers(postgres_log, endpoint):
    fill(postgres_log, MANY)
    # One call of 100 + 20 tokens of gpt-4o-mini costs 27 micro-dollars.
    endpoint.reply = replace(endpoint.reply, delay_s=0.02)
    with two_workers(postgres_log):
        job = ended(
            postgres_log, ask(postgres_log, rag(endpoint), max_cost=40 * 0.000027, concurrency=1)
        )
    assert job.state == "stopped"
    # The run stops while calls are in flight. They are stored when the workers have ended, some
    # above the limit.
    assert 40 <= job_progress(postgres_log, job.id).asked <= 50


def test_a_job_ends_when_another_worker_reaches_the_limit_while_this_one_waits_for_answers(
    log, endpoint
):
    endpoint.hold_after(0)
    three = RowFilter(ids=("a1", "a2", "a3"))
    job_id = ask(log, rag(endpoint), where=three, max_cost=1.0, concurrency=1)
    with working(log):
        until(lambda: len(endpoint.server.requests) == 1, "the first call in flight")
        with log.writing() as connection:
            dear = StepRecord(Status.OK, cost_micro=1_000_000)
            add_to_share(connection, get_job(connection, job_id).run_id, "other", [dear], utc_now())
        endpoint.release()
        assert ended(log, job_id).state == "stopped"
    assert len(endpoint.server.requests) == 1


@pytest.mark.postgres
def test_a_worker_tells_that_it_is_alive_until_its_last_call_is_finished(
    postgres_log, endpoint, monkeypatch
):
    monkeypatch.setattr("judgeboard.runs.worker.BEAT_SECONDS", 0.1)

    def heartbeat():
        with postgres_log.reading() as connection:
            return connection.scalar(select(WORKER.c.heartbeat_at))

    endpoint.hold_after(0)
    ask(postgres_log, rag(endpoint))
    worker = Worker(postgres_log)
    worker.start()
    until(lambda: len(endpoint.server.requests) == 4, "four calls in flight")
    stopping = threading.Thread(target=worker.stop)
    stopping.start()
    until(worker._closing.is_set, "the begin of the stop")
    for _ in range(3):  # the first may be of the look before
        last = heartbeat()
        until(lambda last=last: heartbeat() > last, "another heartbeat")
    endpoint.release()
    stopping.join()


def test_two_jobs_of_one_judge_ask_no_answer_twice(log, endpoint):
    endpoint.hold_after(0)
    first = ask(log, rag(endpoint), where=RowFilter(ids=("a1", "a2", "a3")), mode="plain")
    with working(log):
        until(lambda: len(endpoint.server.requests) == 3, "the calls of the first job in flight")
        second = ask(log, rag(endpoint), mode="plain")
        until(lambda: len(endpoint.server.requests) == 7, "four calls of the second job in flight")
        endpoint.release()
        assert ended(log, first).ok == 3
        ended(log, second)
    assert set(endpoint.asked.values()) == {1}
    assert len(endpoint.asked) == ANSWERS


@pytest.mark.parametrize("start", [partial(ask, mode="plain"), start_rule], ids=["rejudge", "rule"])
def test_workers_leave_to_a_command_what_it_asks_about(log, endpoint, start, monkeypatch):
    monkeypatch.setattr("judgeboard.runs.work.CALLS_AHEAD", 1)  # a look reads eight answers
    endpoint.hold_after(0)
    judge = rag(endpoint)
    of_command = RowFilter(ids=tuple(f"a{number}" for number in range(16)))
    command = threading.Thread(
        target=judge_pending, args=(log, make_judge(**judge)), kwargs={"where": of_command}
    )
    command.start()
    until(lambda: len(endpoint.server.requests) == 16, "the calls of the command in flight")
    with working(log):
        start(log, judge)
        until(lambda: len(endpoint.server.requests) == 20, "four calls of the worker in flight")
        endpoint.release()
        command.join()
        judged(log, ANSWERS)
    assert set(endpoint.asked.values()) == {1}
    assert len(endpoint.asked) == ANSWERS


@BOTH
def test_a_chunk_that_fails_is_tried_again(log, endpoint, start, monkeypatch):
    left = [1, 1]

    def fail(*arguments):
        if left:
            left.pop()
            raise OSError("the database is away")
        return store_steps(*arguments)

    monkeypatch.setattr(share, "store_steps", fail)
    monkeypatch.setattr("judgeboard.runs.engine.FIRST_PAUSE", timedelta(seconds=0.1))
    with working(log):
        start(log, rag(endpoint))
        rows = judged(log, ANSWERS)
        until(lambda: runs(log)[0]["state"] == "done", "the end of the run")
    assert left == []
    assert len(rows) == ANSWERS


def test_a_chunk_that_fails_for_good_is_held_and_the_job_says_why(log, endpoint, monkeypatch):
    def fail(begun, method, executor_id, steps):
        if any(step.task.item.response_id == 3 for step in steps):
            raise OSError("this answer cannot be stored")
        store_steps(begun, method, executor_id, steps)

    monkeypatch.setattr(share, "store_steps", fail)
    monkeypatch.setattr("judgeboard.runs.engine.FIRST_PAUSE", timedelta(seconds=0.05))
    monkeypatch.setattr("judgeboard.runs.work.CALLS_AHEAD", 1)  # four answers in a chunk
    with working(log):
        job_id = ask(log, rag(endpoint))
        job = ended(log, job_id)
        assert (job.state, job.asked) == ("stopped", ANSWERS - 1)
        assert re.findall(r"\d+|OSError", str(job.why)) == ["1", "3", "OSError"]
        assert read(log, get_job, job_id).failed is not None
        monkeypatch.setattr(share, "store_steps", store_steps)
        again = ended(log, ask(log, rag(endpoint)))
    assert (again.state, again.asked) == ("done", ANSWERS)

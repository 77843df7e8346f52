"""Workers of several processes share each job, a rejudge as well as a judging rule, and judge nothing twice."""

import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from threading import Timer
from typing import Any

import pytest
from sqlalchemy import delete, insert, select

from held_endpoint import HeldEndpoint
from job_steps import ANSWERS, WorkerProcess, ask, ended, fill, rag, working
from judgeboard.runs import rejudge_jobs, rule_jobs, shared_job, task_claims
from judgeboard.runs.jobs import cancel_job
from judgeboard.runs.judging_rules import add_rule
from judgeboard.runs.worker import Jobs, Worker
from judgeboard.store.engine import Store
from judgeboard.store.filters import RowFilter
from judgeboard.store.jobs import register_worker
from judgeboard.store.tables import CLAIM, WORKER
from judging_log import judgments, runs, until

StartWorker = Callable[[Store], WorkerProcess]
MANY = 200


def start_rule(store: Store, judge: dict[str, Any]) -> None:
    add_rule(store, "live", judge=judge, existing=True, concurrency=4, actor="Mara")


BOTH = pytest.mark.parametrize("start", [ask, start_rule], ids=["rejudge", "rule"])


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look often, and miss a killed worker soon."""
    for module in (shared_job, task_claims):
        monkeypatch.setattr(module, "LOOK_SECONDS", 0.05)
    monkeypatch.setattr("judgeboard.runs.rule_jobs.LINGER_SECONDS", 0.2)
    monkeypatch.setattr("judgeboard.store.jobs._HEARTBEAT_TIMEOUT", timedelta(seconds=1))
    monkeypatch.setattr("judgeboard.runs.worker.BEAT_SECONDS", 0.5)


def judged(store: Store, least: int) -> list[dict[str, Any]]:
    return until(lambda: len(rows := judgments(store)) >= least and rows, f"{least} judgments")


def claims(store: Store) -> list[Any]:
    with store.reading() as connection:
        return list(connection.execute(select(CLAIM)))


@BOTH
@pytest.mark.postgres
def test_two_workers_share_a_job_and_ask_no_answer_twice(
    postgres_log: Store, endpoint: HeldEndpoint, start: Callable[..., Any]
) -> None:
    fill(postgres_log, MANY)
    endpoint.hold_after(0)
    start(postgres_log, rag(endpoint))
    workers = [Jobs(postgres_log, name) for name in ("one", "two")]
    try:
        for worker in workers:
            worker.look()
        until(lambda: len(endpoint.server.requests) == 8, "four calls of each worker in flight")
        endpoint.release()
        rows = judged(postgres_log, MANY)
        until(lambda: runs(postgres_log)[0]["state"] == "done", "the end of the run")
    finally:
        for worker in workers:
            worker.stop(60)
    assert len({row["response_id"] for row in rows}) == len(rows) == MANY
    assert set(endpoint.asked.values()) == {1}
    assert len(runs(postgres_log)) == 1
    assert claims(postgres_log) == []


@BOTH
@pytest.mark.postgres
def test_a_killed_worker_leaves_nothing_judged_twice(
    postgres_log: Store, endpoint: HeldEndpoint, worker_process: StartWorker, start: Callable[..., Any]
) -> None:
    endpoint.hold_after(3)
    start(postgres_log, rag(endpoint))
    first = worker_process(postgres_log)
    judged(postgres_log, 3)
    until(lambda: len(endpoint.server.requests) == 7, "four calls in flight")
    with working(postgres_log):
        until(lambda: len(endpoint.server.requests) == 11, "four calls of the second worker in flight")
        first.kill()
        endpoint.release()
        rows = judged(postgres_log, ANSWERS)
        until(lambda: runs(postgres_log)[0]["state"] == "done", "the end of the run")
    asked = endpoint.asked
    print(f"{len(rows)} judgments of {ANSWERS} answers by {sum(asked.values())} calls")  # noqa: T201 - pytest -s shows it
    assert len({row["response_id"] for row in rows}) == len(rows) == ANSWERS
    # Only the calls that were in flight when it was killed are made again.
    assert sum(asked.values()) == ANSWERS + 4
    assert sum(calls == 2 for calls in asked.values()) == 4


@pytest.mark.postgres
def test_a_worker_whose_clock_is_ahead_takes_no_answer_from_another(
    postgres_log: Store, endpoint: HeldEndpoint, worker_process: StartWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Ahead(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return super().now(tz) + timedelta(minutes=1)

    endpoint.hold_after(0)
    ask(postgres_log, rag(endpoint))
    worker_process(postgres_log)
    until(lambda: len(endpoint.server.requests) == 4, "four calls in flight")
    monkeypatch.setattr("judgeboard.store.clock.datetime", Ahead)
    monkeypatch.setattr("judgeboard.store.jobs._HEARTBEAT_TIMEOUT", timedelta(seconds=15))
    with working(postgres_log):
        until(lambda: len(endpoint.server.requests) == 8, "four calls of the second worker in flight")
        endpoint.release()
        judged(postgres_log, ANSWERS)
    assert set(endpoint.asked.values()) == {1}


@pytest.mark.postgres
def test_all_workers_stop_a_cancelled_job_and_the_last_stores_its_end(
    postgres_log: Store, endpoint: HeldEndpoint, stopped: list[str]
) -> None:
    endpoint.hold_after(0)
    with postgres_log.writing() as connection:
        register_worker(connection, "one")
    job_id = ask(postgres_log, rag(endpoint))
    workers = [Jobs(postgres_log, name) for name in ("one", "two")]
    for worker in workers:
        worker.look()
    until(lambda: len(endpoint.server.requests) == 8, "four calls of each worker in flight")
    cancel_job(postgres_log, job_id, "Mara")
    until(lambda: len(stopped) == 2, "the look of both workers at the job")
    endpoint.release()
    job = ended(postgres_log, job_id)
    for worker in workers:
        worker.stop(60)
    assert (job.state, job.asked) == ("cancelled", 8)
    assert claims(postgres_log) == []


@pytest.mark.postgres
def test_a_job_that_is_cancelled_between_two_workers_ends_and_can_be_asked_for_again(
    postgres_log: Store, endpoint: HeldEndpoint
) -> None:
    endpoint.hold_after(0)
    job_id = ask(postgres_log, rag(endpoint))
    first = Jobs(postgres_log, "one")
    first.look()
    until(lambda: len(endpoint.server.requests) == 4, "four calls in flight")
    Timer(0.2, endpoint.release).start()
    first.stop(60)
    assert runs(postgres_log)[0]["state"] == "interrupted"
    cancel_job(postgres_log, job_id, "Mara")
    second = Jobs(postgres_log, "two")
    second.look()
    assert ended(postgres_log, job_id).state == "cancelled"
    second.stop(60)
    assert ask(postgres_log, rag(endpoint)) != job_id


@pytest.mark.postgres
def test_the_cost_limit_of_a_job_holds_in_all_workers(postgres_log: Store, endpoint: HeldEndpoint) -> None:
    fill(postgres_log, MANY)
    # One call of 100 + 20 tokens of gpt-4o-mini costs 27 micro-dollars.
    job_id = ask(postgres_log, rag(endpoint), max_cost=40 * 0.000027, concurrency=1)
    endpoint.reply = replace(endpoint.reply, delay_s=0.02)
    workers = [Jobs(postgres_log, name) for name in ("one", "two")]
    for worker in workers:
        worker.look()
    job = ended(postgres_log, job_id)
    for worker in workers:
        worker.stop(60)
    assert job.state == "stopped"
    assert 40 <= job.asked <= 50  # above the limit are calls in flight, and those that are not stored yet


@pytest.mark.postgres
def test_a_worker_tells_that_it_is_alive_until_its_last_call_is_finished(
    postgres_log: Store, endpoint: HeldEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("judgeboard.runs.worker.BEAT_SECONDS", 0.1)

    def heartbeat() -> Any:
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
    assert claims(postgres_log) == []


def test_a_job_waits_for_answers_that_another_run_of_its_judge_has_claimed(log: Store, endpoint: HeldEndpoint) -> None:
    worker = Jobs(log, "one")
    first = ask(log, rag(endpoint), where=RowFilter(ids=("a1",)))
    worker.look()
    earlier_run = ended(log, first).run_id
    claim = {"judge_version_id": 1, "run_id": earlier_run, "executor_id": "two"}
    with log.writing() as connection:
        connection.execute(insert(CLAIM), [claim | {"item_id": id_, "part": ""} for id_ in (5, 9)])
    endpoint.hold_after(ANSWERS - 3)
    job_id = ask(log, rag(endpoint), mode="plain")
    worker.look()
    until(lambda: len(endpoint.asked) == ANSWERS - 2, "all calls but those of the claimed answers")
    with log.writing() as connection:
        connection.execute(delete(CLAIM).where(CLAIM.c.executor_id == "two"))
    endpoint.release()
    assert ended(log, job_id).ok == ANSWERS - 1  # the first job judged one
    worker.stop(60)


@BOTH
def test_a_worker_judges_what_it_could_not_release_while_the_database_was_away(
    log: Store, endpoint: HeldEndpoint, start: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    left = ["release", "save"]

    def fail_at(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            if left[-1:] == [name]:
                left.pop()
                raise OSError("the database is away")
            return function(*arguments)

        return call

    monkeypatch.setattr(shared_job, "store_steps", fail_at("save", shared_job.store_steps))
    for jobs in (rejudge_jobs, rule_jobs):
        monkeypatch.setattr(jobs, "release_claims", fail_at("release", jobs.release_claims))
    monkeypatch.setattr(rejudge_jobs, "TRY_AGAIN_SECONDS", (0.01, 0.01))
    monkeypatch.setattr(rule_jobs, "TRY_AGAIN_SECONDS", 0.1)
    start(log, rag(endpoint))
    worker = Jobs(log, "one")
    worker.look()
    rows = judged(log, ANSWERS)
    until(lambda: runs(log)[0]["state"] == "done", "the end of the run")
    worker.stop(60)
    assert left == []
    assert len(rows) == ANSWERS
    assert claims(log) == []

"""Workers of several processes share each job, a rejudge as well as a judging rule, and judge nothing twice."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import select

from held_endpoint import HeldEndpoint
from job_steps import ANSWERS, WorkerProcess, ask, ended, fill, rag, working
from judgeboard.runs import shared_job
from judgeboard.runs.jobs import cancel_job
from judgeboard.runs.judging_rules import add_rule
from judgeboard.runs.worker import Jobs
from judgeboard.store.engine import Store
from judgeboard.store.jobs import register_worker
from judgeboard.store.tables import JUDGING_CLAIM
from judging_log import judgments, runs, until

StartWorker = Callable[[Store], WorkerProcess]
MANY = 200


def start_rule(store: Store, judge: dict[str, Any]) -> None:
    add_rule(store, "live", judge=judge, existing=True, concurrency=4, actor="Mara")


BOTH = pytest.mark.parametrize("start", [ask, start_rule], ids=["rejudge", "rule"])


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look often, and miss a killed worker soon."""
    monkeypatch.setattr(shared_job, "LOOK_SECONDS", 0.05)
    monkeypatch.setattr("judgeboard.runs.rule_jobs.LINGER_SECONDS", 0.2)
    monkeypatch.setattr("judgeboard.store.jobs._HEARTBEAT_TIMEOUT", timedelta(seconds=1))
    monkeypatch.setattr("judgeboard.runs.worker.BEAT_SECONDS", 0.5)


def judged(store: Store, least: int) -> list[dict[str, Any]]:
    return until(lambda: len(rows := judgments(store)) >= least and rows, f"{least} judgments")


def claims(store: Store) -> list[Any]:
    with store.reading() as connection:
        return list(connection.execute(select(JUDGING_CLAIM)))


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
            worker.stop(10)
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
def test_all_workers_stop_a_cancelled_job_and_the_last_stores_its_end(
    postgres_log: Store, endpoint: HeldEndpoint
) -> None:
    endpoint.hold_after(0)
    with postgres_log.writing() as connection:
        register_worker(connection, "one", "a-machine", 7, datetime.now(UTC) + timedelta(hours=1))
    job_id = ask(postgres_log, rag(endpoint))
    workers = [Jobs(postgres_log, name) for name in ("one", "two")]
    for worker in workers:
        worker.look()
    until(lambda: len(endpoint.server.requests) == 8, "four calls of each worker in flight")
    cancel_job(postgres_log, job_id, "Mara")
    endpoint.release(slowly=True)
    job = ended(postgres_log, job_id)
    for worker in workers:
        worker.stop(10)
    assert (job.state, job.asked) == ("cancelled", 8)
    assert claims(postgres_log) == []


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
        worker.stop(10)
    assert job.state == "stopped"
    assert 40 <= job.asked <= 60  # what is called between two looks at the sum is above the limit

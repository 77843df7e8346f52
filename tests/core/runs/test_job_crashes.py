"""Whatever ends a worker, its jobs go on where they were."""

import io
import json
import os
from collections.abc import Callable

import pytest
from sqlalchemy import select, text

from held_endpoint import HeldEndpoint
from job_steps import ANSWERS, WorkerProcess, ask, asked, ended, rag, working
from judgeboard.imports.importing import import_file
from judgeboard.reports.stats import VersionAgreement, stats
from judgeboard.runs import rejudge_jobs
from judgeboard.runs.jobs import job_progress
from judgeboard.runs.judging import judge_pending, make_judge
from judgeboard.store.engine import Store
from judgeboard.store.jobs import get_job, live_workers
from judgeboard.store.tables import WORKER
from judging_log import time_passes, until

StartWorker = Callable[[Store], WorkerProcess]


def test_a_killed_job_goes_on_after_a_restart(log: Store, endpoint: HeldEndpoint, worker_process: StartWorker) -> None:
    grade_all(log)
    judge_pending(log, make_judge("lexical"))
    before = agreement_of(log, "lexical")
    endpoint.hold_after(9)
    first = worker_process(log)
    job_id = ask(log, rag(endpoint))
    asked(log, job_id, 9)
    until(lambda: len(endpoint.server.requests) == 13, "four calls in flight")
    first.kill()
    time_passes(log)
    assert job_progress(log, job_id).state == "waiting"
    assert job_progress(log, job_id).asked == 9
    endpoint.release()
    with working(log):
        job = ended(log, job_id)
    assert (job.state, job.ok, job.run_id) == ("done", ANSWERS, 2)
    times = endpoint.asked
    assert len(times) == ANSWERS
    assert max(times.values()) <= 2
    assert sum(times.values()) <= ANSWERS + 4
    assert before
    assert agreement_of(log, "lexical") == before


def test_ctrl_c_finishes_the_calls_in_flight_and_leaves_the_job_to_be_continued(
    log: Store, endpoint: HeldEndpoint, worker_process: StartWorker
) -> None:
    endpoint.hold_after(5)
    first = worker_process(log)
    job_id = ask(log, rag(endpoint), concurrency=2)  # the answers that are left take seconds
    asked(log, job_id, 5)
    until(lambda: len(endpoint.server.requests) == 7, "two calls in flight")
    first.interrupt()
    until(lambda: "stopping" in first.said.read_text(), "the signal")
    endpoint.release(slowly=True)
    assert "Traceback" not in first.wait()
    job = job_progress(log, job_id)
    assert job.state == "waiting"
    assert job.asked == len(endpoint.server.requests)
    assert job.asked < ANSWERS
    with working(log):
        assert ended(log, job_id).ok == ANSWERS
    assert set(endpoint.asked.values()) == {1}


@pytest.mark.postgres
def test_workers_of_several_processes_share_the_jobs(
    postgres_log: Store, endpoint: HeldEndpoint, worker_process: StartWorker
) -> None:
    endpoint.hold_after(0)
    for _ in range(2):
        worker_process(postgres_log)
    until(lambda: len(living(postgres_log)) == 2, "two workers")
    jobs = [ask(postgres_log, rag(endpoint, name=f"judge-{number}"), concurrency=1) for number in range(4)]
    # A worker does two jobs at a time: four calls in flight are the work of both.
    until(lambda: len(endpoint.server.requests) == 4, "four jobs at a time")
    endpoint.release()
    assert [ended(postgres_log, job_id).ok for job_id in jobs] == [ANSWERS] * 4
    assert set(endpoint.asked.values()) == {4}


def test_one_process_at_a_time_takes_the_jobs_of_a_file(
    sqlite_log: Store, endpoint: HeldEndpoint, worker_process: StartWorker
) -> None:
    first = worker_process(sqlite_log)
    until(lambda: living(sqlite_log), "the first worker")
    with working(sqlite_log):
        ended(sqlite_log, ask(sqlite_log, rag(endpoint)))
        assert worker_pids(sqlite_log) == [first.process.pid]
        first.kill()
        assert ended(sqlite_log, ask(sqlite_log, {"kind": "lexical"})).ok == ANSWERS
        assert worker_pids(sqlite_log) == [os.getpid()]
    assert set(endpoint.asked.values()) == {1}


@pytest.mark.postgres
def test_a_database_that_is_away_for_a_moment_does_not_end_the_job(
    postgres_log: Store, endpoint: HeldEndpoint, caplog: pytest.LogCaptureFixture
) -> None:
    endpoint.hold_after(6)
    with working(postgres_log):
        job_id = ask(postgres_log, rag(endpoint))
        asked(postgres_log, job_id, 6)
        with postgres_log.reading() as connection:
            others = "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
            connection.execute(text(f"SELECT pg_terminate_backend(pid) {others}"))
        endpoint.release()
        job = ended(postgres_log, job_id)
    assert (job.state, job.ok) == ("done", ANSWERS)


def test_a_job_that_breaks_off_for_good_does_not_look_as_if_it_ran(
    sqlite_log: Store, endpoint: HeldEndpoint, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rejudge_jobs, "TRY_AGAIN_SECONDS", (0.01, 0.01))
    with sqlite_log.writing() as connection:
        connection.execute(text("CREATE TRIGGER broken BEFORE INSERT ON judgment BEGIN SELECT raise(ABORT, 'no'); END"))
    job_id = ask(sqlite_log, rag(endpoint))
    with working(sqlite_log):
        job = ended(sqlite_log, job_id)
    assert job.state == "failed"
    assert "log" in (job.why or "")
    assert job_id in caplog.text


def grade_all(store: Store) -> None:
    lines = [
        json.dumps({"response_id": f"a{n}", "annotator": "Jon", "groundedness": n % 3 / 2, "quality": 1 + n % 4})
        for n in range(ANSWERS)
    ]
    summary = import_file(store, io.BytesIO("\n".join(lines).encode()), kind="grades", name="grades.jsonl")
    assert summary.new == ANSWERS


def agreement_of(store: Store, judge: str) -> list[VersionAgreement]:
    with store.reading() as connection:
        return [row for row in stats(connection).agreement if row.judge == judge]


def living(store: Store) -> set[str]:
    with store.reading() as connection:
        return live_workers(connection)


def worker_pids(store: Store) -> list[int]:
    with store.reading() as connection:
        return list(connection.scalars(select(WORKER.c.pid)))


def test_the_row_of_a_job_holds_no_secret(sqlite_log: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-of-the-case")
    job_id = ask(sqlite_log, {"kind": "rag", "model": "gpt-4o-mini"})
    with sqlite_log.reading() as connection:
        assert "sk-secret" not in str(get_job(connection, job_id))

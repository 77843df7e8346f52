"""A worker does what was asked for: all of it, what it may, and no more once somebody cancels."""

from concurrent.futures import ThreadPoolExecutor
from unittest.mock import Mock

import pytest

from engines import on_sqlite
from job_steps import ANSWERS, ask, asked, done, ended, rag, until_asked, working
from judgeboard.errors import BadInput
from judgeboard.llm.recording_endpoint import failure
from judgeboard.runs import leader, rejudge_jobs, worker
from judgeboard.runs.jobs import cancel_job, job_progress, open_jobs
from judgeboard.store.events import EventFilter, latest_events
from judgeboard.store.filters import RowFilter
from judgeboard.store.jobs import get_job, list_jobs
from judging_log import until
from stored_rows import read

LEXICAL = {"kind": "lexical"}
WITHOUT_KEY = {"kind": "rag", "model": "gpt-4o-mini"}


@on_sqlite
def test_a_job_asks_every_answer_once(log, endpoint):
    endpoint.hold_after(0)
    job_id = ask(log, rag(endpoint))
    assert job_progress(log, job_id).state == "waiting"
    with working(log):
        until_asked(endpoint, 4)
        assert job_progress(log, job_id).state == "running"
        endpoint.release()
        job = ended(log, job_id)
    assert (job.state, job.selected, job.ok, job.waiting) == ("done", ANSWERS, ANSWERS, 0)
    assert (job.judge_title, job.actor) == ("rag v1", "Mara")
    assert job.cost_micro > 0
    assert endpoint.asked == dict.fromkeys(range(ANSWERS), 1)
    assert endpoint.server.most_at_once <= 4


def test_a_job_asks_only_what_its_filter_says(sqlite_log, endpoint):
    job = done(sqlite_log, ask(sqlite_log, rag(endpoint), where=RowFilter(ids=("a3", "a5"))))
    assert (job.state, job.ok) == ("done", 2)
    assert sorted(endpoint.asked) == [3, 5]


def test_an_idle_worker_looks_for_work_only_when_somebody_else_has_written(sqlite_log, monkeypatch):

    def count(module, name):
        counted = Mock(side_effect=getattr(module, name))
        monkeypatch.setattr(module, name, counted)
        return counted

    looks, beats = count(leader, "work_keys"), count(worker, "record_heartbeat")
    monkeypatch.setattr(worker, "BEAT_SECONDS", 0.05)
    monkeypatch.setattr(worker, "TICK_SECONDS", 0.01)
    with working(sqlite_log):
        until(lambda: beats.call_count > 3, "heartbeats")
        before = looks.call_count
        until(lambda: beats.call_count > 20, "more heartbeats")
        assert looks.call_count == before
        ended(sqlite_log, ask(sqlite_log, LEXICAL))


def test_a_worker_warns_once_of_a_primary_judge_that_does_not_exist(
    sqlite_log, tmp_path, monkeypatch, caplog
):
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "judgeboard.toml"
    done(sqlite_log, ask(sqlite_log, LEXICAL))
    assert not caplog.records
    file.write_text('low_groundedness = 0.6\nprimary_judge = "strcit"\n')
    with working(sqlite_log):
        for _ in range(2):
            assert ended(sqlite_log, ask(sqlite_log, LEXICAL)).state == "done"
    (warning,) = caplog.messages
    assert warning.startswith(f"{file}, line 2: primary_judge ")
    assert all(name in warning for name in ("'strcit'", "lexical"))


def test_cancelling_finishes_the_calls_in_flight_and_asks_nothing_further(log, endpoint, stopped):
    endpoint.hold_after(8)
    job_id = ask(log, rag(endpoint))
    with working(log):
        asked(log, job_id, 8)
        cancel_job(log, job_id, "Mara")
        assert job_progress(log, job_id).state == "stopping"
        until_asked(endpoint, 12)
        until(lambda: stopped, "the look at the job")
        endpoint.release()
        job = ended(log, job_id)
    assert (job.state, job.asked, job.ok) == ("cancelled", 12, 12)
    assert len(endpoint.server.requests) == 12


def test_a_job_cancelled_before_a_worker_came_asks_nothing(sqlite_log, endpoint):
    cancelled = ask(sqlite_log, rag(endpoint))
    cancel_job(sqlite_log, cancelled, "Mara")
    assert job_progress(sqlite_log, cancelled).state == "cancelled"
    done(sqlite_log, ask(sqlite_log, LEXICAL))
    assert not endpoint.server.requests


def test_a_refused_key_stops_the_job_and_says_what_to_do(sqlite_log, endpoint):
    endpoint.reply = failure(401, "bad key")
    job_id = ask(sqlite_log, rag(endpoint))
    job = done(sqlite_log, job_id)
    assert (job.state, job.asked) == ("stopped", 0)
    assert all(part in job.why for part in ("401", "OPENAI_API_KEY"))
    assert read(sqlite_log, get_job, job_id).failed is not None


def test_a_job_without_a_key_fails_and_says_what_to_do(sqlite_log):
    job = done(sqlite_log, ask(sqlite_log, WITHOUT_KEY))
    assert (job.state, job.asked) == ("failed", 0)
    assert "OPENAI_API_KEY" in job.why


def test_a_job_that_no_worker_can_judge_ends_soon_and_says_what_to_do(
    sqlite_log, monkeypatch, caplog
):
    monkeypatch.setattr(rejudge_jobs, "NO_JUDGE_SECONDS", 0.01)
    monkeypatch.setattr(
        rejudge_jobs.RejudgeJob, "_others_live", lambda _job: True
    )  # they have no key either
    job_id = ask(sqlite_log, WITHOUT_KEY)
    job = done(sqlite_log, job_id)
    assert (job.state, job.asked) == ("stopped", 0)
    assert job.why.startswith(f"{ANSWERS} answers left: ")
    assert "OPENAI_API_KEY" in job.why
    # Where the operator of a worker looks.
    assert any(job_id in message and job.why in message for message in caplog.messages)
    (event,) = read(sqlite_log, latest_events, EventFilter("job_failed"), limit=5)
    assert event.details == {"job": job_id, "reason": job.why}


def test_the_key_goes_only_to_the_address_of_the_environment(sqlite_log, endpoint, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-of-the-case")
    with working(sqlite_log):
        ended(sqlite_log, ask(sqlite_log, rag(endpoint), where=RowFilter(ids=("a1",))))
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
        ended(sqlite_log, ask(sqlite_log, rag(endpoint), where=RowFilter(ids=("a2",))))
    elsewhere, ours = endpoint.server.requests
    assert "sk-secret" not in str(elsewhere)
    assert ours.headers["authorization"] == "Bearer sk-secret-of-the-case"


def test_the_cost_limit_is_that_of_the_job_not_of_the_run_that_it_continues(sqlite_log, endpoint):
    with working(sqlite_log):
        jobs = [
            ended(sqlite_log, ask(sqlite_log, rag(endpoint), max_cost=limit, concurrency=1))
            for limit in (0.0001, 0.0001, 0.0)
        ]
    assert [(job.state, job.asked) for job in jobs] == [("stopped", each) for each in (4, 8, 8)]
    assert len(endpoint.server.requests) == 8
    assert "cost limit" in jobs[0].why
    # A limit is no failure.
    assert [job.failed for job in read(sqlite_log, list_jobs)] == [None] * 3


def test_a_job_that_continues_a_run_is_the_one_that_is_named(sqlite_log, endpoint):
    with working(sqlite_log):
        first = ask(sqlite_log, rag(endpoint), max_cost=0.0001, concurrency=1)
        ended(sqlite_log, first)
        endpoint.hold_after(6)
        second = ask(sqlite_log, rag(endpoint), actor="Ben")
        asked(sqlite_log, second, 6)
        with pytest.raises(BadInput, match="Ben "):
            ask(sqlite_log, rag(endpoint))
        assert [job.id for job in open_jobs(sqlite_log)] == [second]
        endpoint.release()
        ended(sqlite_log, second)


def test_a_job_can_be_cancelled_after_the_database_was_away(
    sqlite_log, endpoint, stopped, monkeypatch
):
    reads = iter(["the start", "the watch"])

    def away_once(*arguments):
        if next(reads, None) == "the watch":
            raise OSError("the database is away")
        return get_job(*arguments)

    monkeypatch.setattr(rejudge_jobs, "get_job", away_once)
    endpoint.hold_after(4)
    with working(sqlite_log):
        job_id = ask(sqlite_log, rag(endpoint))
        asked(sqlite_log, job_id, 4)
        cancel_job(sqlite_log, job_id, "Mara")
        until_asked(endpoint, 8)
        until(lambda: stopped, "the look at the job")
        endpoint.release()
        job = ended(sqlite_log, job_id)
    assert next(reads, None) is None
    assert (job.state, job.asked) == ("cancelled", 8)


def test_the_same_job_asked_for_again_goes_on_with_a_stopped_run(sqlite_log, endpoint):
    limited = ask(sqlite_log, rag(endpoint), max_cost=0.0001, concurrency=1)
    with working(sqlite_log):
        ended(sqlite_log, limited)
        job = ended(sqlite_log, ask(sqlite_log, rag(endpoint)))
    assert (job.state, job.ok) == ("done", ANSWERS)
    assert set(endpoint.asked.values()) == {1}
    first = job_progress(sqlite_log, limited)
    assert first.state == "stopped"
    assert "later" in first.why


@on_sqlite
def test_a_look_for_writes_after_the_end_of_a_worker_sees_none(store):
    writes = worker._Writes(store)
    assert writes.are_new()
    with ThreadPoolExecutor(4) as looks:
        seen = [looks.submit(writes.are_new) for _ in range(200)]
        writes.close()
        seen += [looks.submit(writes.are_new) for _ in range(200)]
    assert not any(each.result() for each in seen)

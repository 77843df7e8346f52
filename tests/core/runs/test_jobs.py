"""Jobs: what can be asked for, and that they go on whatever ends a worker."""

import io
import os
import re
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier

import pytest
from sqlalchemy import text

from job_steps import ANSWERS, ask, asked, done, ended, rag, until_asked, working
from judgeboard.domain import JudgeVersion
from judgeboard.errors import BadInput, NotFound
from judgeboard.imports.importing import import_file
from judgeboard.judges.judge import fingerprint
from judgeboard.reports.stats import stats
from judgeboard.runs.jobs import (
    CallEstimate,
    cancel_job,
    estimate_calls,
    job_progress,
    judge_spec,
    recent_jobs,
    request_rejudge,
)
from judgeboard.runs.judging import judge_pending, make_judge
from judgeboard.store.filters import RowFilter
from judgeboard.store.jobs import (
    get_job,
    insert_job,
    last_job_of_version,
    list_jobs,
    live_workers,
    register_worker,
)
from judgeboard.store.judge_versions import ensure_version
from judgeboard.store.reviewers import store_reviewer
from judgeboard.store.runs import Destination, start_or_continue_run
from judgeboard.store.tables import WORKER, Job
from judging_log import time_passes, until
from stored_rows import NOW, read, values_of, write_to

RAG = {"kind": "rag", "model": "gpt-4o-mini"}
LEXICAL = {"kind": "lexical"}
A1 = RowFilter(ids=("a1",))


def test_a_job_that_nobody_asked_for_is_not_found(sqlite_log):
    with pytest.raises(NotFound, match="no job"):
        job_progress(sqlite_log, "rejudge-0")


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ({"judge": {"kind": "magic"}}, "'magic'"),
        ({"judge": RAG | {"api_key": "sk-1"}}, "api_key"),
        ({"judge": RAG | {"base_url": "file:///etc/passwd"}}, "http:// or https://"),
        ({"max_cost": float("nan")}, "finite"),
        ({"max_cost": -1.0}, "0 or more"),
        ({"concurrency": 0}, "must be 1 to 1,024"),
        ({"concurrency": 10**9}, "must be 1 to 1,024"),
    ],
)
def test_a_value_that_no_job_can_have_is_refused_whoever_asks(sqlite_log, asked, why):
    with pytest.raises(BadInput, match=why):
        request_rejudge(sqlite_log, **{"judge": RAG} | asked, actor="cli:root")
    assert recent_jobs(sqlite_log) == []


def test_the_same_is_not_done_twice_at_a_time(log):
    first = ask(log, RAG, where=A1)
    with pytest.raises(BadInput, match=r"Mara .* \d\d:\d\d UTC"):
        ask(log, RAG, where=A1)
    ask(log, RAG, where=RowFilter(ids=("a2",)))
    ask(log, RAG | {"domain": "rocks"}, where=A1)
    cancel_job(log, first, "Jon")
    again = ask(log, RAG, where=A1)
    assert [job.state for job in recent_jobs(log)].count("waiting") == 3
    assert recent_jobs(log)[0].id == again


def test_two_equal_requests_at_once_are_one_job(log):
    together = Barrier(4)

    def request(_number):
        together.wait()
        try:
            ask(log, RAG)
        except BadInput:
            return False
        return True

    with ThreadPoolExecutor(4) as threads:
        stored = list(threads.map(request, range(4)))
    assert (sum(stored), len(recent_jobs(log))) == (1, 1)


def test_without_a_worker_a_job_waits(log):
    estimate = CallEstimate(ANSWERS, 0, None, None, None, priced=True)
    job_id = ask(log, RAG, where=RowFilter(query_types=("simple",)), estimate=estimate)
    job = job_progress(log, job_id)
    assert (job.state, job.selected, job.waiting) == ("waiting", ANSWERS, ANSWERS)
    assert not job.finished
    write_to(log, register_worker, "elsewhere")
    assert job_progress(log, job_id).state == "waiting"


def test_an_estimate_counts_what_a_job_would_ask(log, endpoint):
    judge = rag(endpoint)
    first = estimate_calls(log, judge=judge)
    assert (first.calls, first.cost_micro, first.tokens) == (ANSWERS, None, None)
    assert first.priced
    judge_pending(log, make_judge(**judge), where=RowFilter(ids=("a1", "a2")))
    after = estimate_calls(log, judge=judge)
    # 120 tokens a call; one costs 27 micro-dollars.
    assert (after.calls, after.tokens, after.cost_micro) == (ANSWERS, 120, ANSWERS * 27)
    for options, calls in (
        ({"mode": "plain"}, ANSWERS - 2),
        ({"mode": "failed"}, 0),
        ({"where": RowFilter(ids=("a7",))}, 1),
    ):
        assert estimate_calls(log, judge=judge, **options).calls == calls


REMOTE = {"base_url": "https://models.example.org/v1"}


def test_an_estimate_says_when_nothing_is_known_of_the_price(sqlite_log, endpoint):
    judge = rag(endpoint, model="llama-of-our-own")
    judge_pending(sqlite_log, make_judge(**judge), limit=2)
    known = estimate_calls(sqlite_log, judge=judge)
    # The model runs on an own machine.
    assert (known.cost_micro, known.priced, known.tokens) == (0, True, 120)
    assert known.own_endpoint
    remote = estimate_calls(sqlite_log, judge=judge | REMOTE)
    assert (remote.cost_micro, remote.priced, remote.tokens) == (None, False, 120)


def test_a_price_of_0_is_no_own_endpoint(sqlite_log, endpoint, tmp_path, monkeypatch):
    prices = tmp_path / "prices.toml"
    prices.write_text("[models]\nllama-of-our-own = { input = 0, output = 0 }\n")
    monkeypatch.setenv("JUDGEBOARD_PRICES", str(prices))
    own = rag(endpoint, model="llama-of-our-own")
    estimates = [estimate_calls(sqlite_log, judge=judge) for judge in (own, own | REMOTE)]
    assert [(each.cost_micro, each.own_endpoint) for each in estimates] == [(0, True), (0, False)]


def test_an_estimate_needs_no_key_but_a_model(sqlite_log):
    assert estimate_calls(sqlite_log, judge=RAG).calls == ANSWERS
    with pytest.raises(BadInput, match="needs a model"):
        estimate_calls(sqlite_log, judge={"kind": "rag"})


def test_an_estimate_goes_on_where_a_stopped_run_ended(sqlite_log, endpoint):
    judge = rag(endpoint)
    stopped = judge_pending(
        sqlite_log, make_judge(**judge), mode="all", concurrency=1, max_cost=0.0001
    )
    going_on = estimate_calls(sqlite_log, judge=judge)
    assert stopped.asked == 4
    assert (going_on.calls, going_on.continues) == (ANSWERS - 4, stopped.run_id)
    assert estimate_calls(sqlite_log, judge=judge, where=A1).continues is None


def test_an_offline_judge_costs_nothing(sqlite_log):
    free = estimate_calls(sqlite_log, judge=LEXICAL)
    assert (free.calls, free.cost_micro, free.model) == (ANSWERS, 0, None)


def test_a_killed_job_goes_on_after_a_restart(log, endpoint, worker_process):
    grade_all(log)
    judge_pending(log, make_judge("lexical"))
    before = agreement_of(log, "lexical")
    endpoint.hold_after(9)
    first = worker_process(log)
    job_id = ask(log, rag(endpoint))
    asked(log, job_id, 9)
    until_asked(endpoint, 13)
    first.kill()
    time_passes(log)
    job = job_progress(log, job_id)
    assert (job.state, job.asked) == ("waiting", 9)
    endpoint.release()
    job = done(log, job_id)
    assert (job.state, job.ok, job.run_id) == ("done", ANSWERS, 2)
    times = endpoint.asked
    assert len(times) == ANSWERS
    assert max(times.values()) <= 2
    assert times.total() <= ANSWERS + 4
    assert before
    assert agreement_of(log, "lexical") == before


def test_ctrl_c_finishes_the_calls_in_flight_and_leaves_the_job_to_be_continued(
    log, endpoint, worker_process
):
    endpoint.hold_after(5)
    first = worker_process(log)
    job_id = ask(log, rag(endpoint), concurrency=2)  # the answers that are left take seconds
    asked(log, job_id, 5)
    until_asked(endpoint, 7)
    first.interrupt()
    until(lambda: "stopping" in first.said.read_text(), "the signal")
    endpoint.release(slowly=True)
    assert "Traceback" not in first.wait()
    job = job_progress(log, job_id)
    assert (job.state, job.asked) == ("waiting", len(endpoint.server.requests))
    assert job.asked < ANSWERS
    assert done(log, job_id).ok == ANSWERS
    assert set(endpoint.asked.values()) == {1}


@pytest.mark.postgres
def test_workers_of_several_processes_share_the_jobs(postgres_log, endpoint, worker_process):
    endpoint.hold_after(0)
    for _ in range(2):
        worker_process(postgres_log)
    until(lambda: len(living(postgres_log)) == 2, "two workers")
    jobs = [
        ask(postgres_log, rag(endpoint, name=f"judge-{number}"), concurrency=1)
        for number in range(4)
    ]
    until(lambda: len(endpoint.server.requests) >= 4, "four jobs at a time")
    endpoint.release()
    assert [ended(postgres_log, job_id).ok for job_id in jobs] == [ANSWERS] * 4
    assert set(endpoint.asked.values()) == {4}


def test_one_process_at_a_time_takes_the_jobs_of_a_file(sqlite_log, endpoint, worker_process):
    first = worker_process(sqlite_log)
    until(lambda: living(sqlite_log), "the first worker")
    with working(sqlite_log):
        ended(sqlite_log, ask(sqlite_log, rag(endpoint)))
        assert worker_pids(sqlite_log) == [first.process.pid]
        first.kill()
        assert ended(sqlite_log, ask(sqlite_log, LEXICAL)).ok == ANSWERS
        assert worker_pids(sqlite_log) == [os.getpid()]
    assert set(endpoint.asked.values()) == {1}


def test_a_command_says_that_workers_make_its_run(log, endpoint):
    endpoint.hold_after(0)
    with working(log):
        job_id = ask(log, rag(endpoint), mode="plain")
        until_asked(endpoint, 4)
        with pytest.raises(BadInput, match=f"`judgeboard worker cancel {job_id}`"):
            judge_pending(log, make_judge(**rag(endpoint)))
        endpoint.release()
        ended(log, job_id)
    assert set(endpoint.asked.values()) == {1}


@pytest.mark.postgres
def test_people_are_stored_while_a_worker_leads(postgres_log):
    with working(postgres_log):
        until(lambda: living(postgres_log), "the worker")
        ended(postgres_log, ask(postgres_log, LEXICAL))
        assert write_to(postgres_log, store_reviewer, "typed", "Ann").name == "Ann"


@pytest.mark.postgres
def test_a_database_that_is_away_for_a_moment_does_not_end_the_job(postgres_log, endpoint, caplog):
    endpoint.hold_after(6)
    with working(postgres_log):
        job_id = ask(postgres_log, rag(endpoint))
        asked(postgres_log, job_id, 6)
        with postgres_log.reading() as connection:
            others = "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
            connection.execute(text(f"SELECT pg_terminate_backend(pid, 60000) {others}"))
        endpoint.release()
        job = ended(postgres_log, job_id)
        until(lambda: "can be used again" in caplog.text, "the end of the outage")
    assert (job.state, job.ok) == ("done", ANSWERS)
    records = [record for record in caplog.records if record.name.startswith("judgeboard")]
    assert ["used again" in record.getMessage() for record in records] == [False, True]
    assert not any(record.exc_info for record in records)


def test_a_job_that_breaks_off_for_good_does_not_look_as_if_it_ran(
    sqlite_log, endpoint, caplog, monkeypatch
):
    monkeypatch.setattr("judgeboard.runs.engine.FIRST_PAUSE", timedelta(seconds=0.01))
    broken = "CREATE TRIGGER broken BEFORE INSERT ON judgment BEGIN SELECT raise(ABORT, 'no'); END"
    with sqlite_log.writing() as connection:
        connection.execute(text(broken))
    job = done(sqlite_log, ask(sqlite_log, rag(endpoint)))
    assert (job.state, job.asked) == ("stopped", 0)
    assert re.findall(r"\d+|: no\b", job.why)[:3] == ["24", "3", ": no"]
    # The engine stores and logs no text.
    assert not any(text in caplog.text for text in ("Which rock?", "Every statement"))


def grade_all(store):
    lines = [f"a{n},Jon,{n % 3 / 2},{1 + n % 4}" for n in range(ANSWERS)]
    file = "\n".join(("response_id,annotator,groundedness,quality", *lines))
    summary = import_file(store, io.BytesIO(file.encode()), kind="grades", name="grades.csv")
    assert summary.new == ANSWERS


def agreement_of(store, judge):
    return [row for row in read(store, stats).agreement if row.judge == judge]


def living(store):
    return read(store, live_workers)


def worker_pids(store):
    return values_of(store, WORKER.c.pid)


def test_the_row_of_a_job_holds_no_secret(sqlite_log, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-of-the-case")
    job_id = ask(sqlite_log, RAG)
    assert "sk-secret" not in str(read(sqlite_log, get_job, job_id))


def test_a_version_is_asked_again_as_it_was(sqlite_store):
    address = "http://localhost:9/v1"
    asked = RAG | {"name": "ours", "max_output": 64, "domain": "rocks", "claims": True}
    version = make_judge(**asked, base_url=address).version
    stored = write_to(sqlite_store, ensure_version, version)
    assert read(sqlite_store, judge_spec, stored) == asked
    there = Destination("localhost:9", "openai", address)
    write_to(sqlite_store, start_or_continue_run, stored, actor="Mara", destination=there)
    again = read(sqlite_store, judge_spec, stored)
    assert again == asked | {"provider": "openai", "base_url": address}
    assert fingerprint(make_judge(**again).version) == stored.fingerprint


def test_of_jobs_of_the_same_time_the_last_is_the_one_that_is_listed_first(store):
    version = write_to(store, ensure_version, make_judge("lexical").version)
    run = write_to(store, start_or_continue_run, version, actor="Mara")
    for id_ in ("b", "a", "c"):
        job = Job(id=id_, kind="rejudge", actor="Mara", created_at=NOW, run_id=run.id)
        write_to(store, insert_job, job)
    assert read(store, last_job_of_version, version.id) == read(store, list_jobs)[0]


def test_an_offline_judge_is_asked_by_its_name(sqlite_store):
    version = make_judge("lexical", name="words").version
    stored = write_to(sqlite_store, ensure_version, version)
    assert read(sqlite_store, judge_spec, stored) == {"kind": "lexical", "name": "words"}


@pytest.mark.parametrize(
    "version",
    [
        JudgeVersion("gpt", "replay"),
        JudgeVersion("rag", "rag", "m", {"temperature": 0}, "An older prompt."),
    ],
    ids=["recorded", "older prompt"],
)
def test_what_was_recorded_elsewhere_or_by_an_older_prompt_cannot_be_asked(sqlite_store, version):
    stored = write_to(sqlite_store, ensure_version, version)
    assert read(sqlite_store, judge_spec, stored) is None

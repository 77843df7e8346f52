"""What can be asked for, what it will take, and what is said of it."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest

from held_endpoint import HeldEndpoint
from job_steps import ANSWERS, ask, rag
from judgeboard.errors import BadInput, NotFound
from judgeboard.runs.jobs import (
    CallEstimate,
    cancel_job,
    estimate_calls,
    job_progress,
    recent_jobs,
    request_rejudge,
)
from judgeboard.runs.judging import judge_pending, make_judge
from judgeboard.store.engine import Store
from judgeboard.store.filters import RowFilter
from judgeboard.store.jobs import register_worker

RAG = {"kind": "rag", "model": "gpt-4o-mini"}


def test_what_cannot_be_asked_for_is_refused(sqlite_log: Store) -> None:
    with pytest.raises(BadInput, match="no judge of kind 'magic'"):
        request_rejudge(sqlite_log, judge={"kind": "magic"}, actor="Mara")
    with pytest.raises(BadInput, match="cannot use these options of a judge: api_key"):
        request_rejudge(sqlite_log, judge={**RAG, "api_key": "sk-1"}, actor="Mara")
    with pytest.raises(NotFound, match="no job"):
        job_progress(sqlite_log, "rejudge-0")


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ({"judge": {**RAG, "base_url": "file:///etc/passwd"}}, "http:// or https://"),
        ({"judge": RAG, "max_cost": float("nan")}, "finite"),
        ({"judge": RAG, "max_cost": -1.0}, "0 or more"),
        ({"judge": RAG, "concurrency": 0}, "must be 1 to 1,024"),
        ({"judge": RAG, "concurrency": 10**9}, "must be 1 to 1,024"),
    ],
)
def test_a_value_that_no_job_can_have_is_refused_whoever_asks(
    sqlite_log: Store, asked: dict[str, Any], why: str
) -> None:
    with pytest.raises(BadInput, match=why):
        request_rejudge(sqlite_log, **asked, actor="cli:root")
    assert recent_jobs(sqlite_log) == []


def test_the_same_is_not_done_twice_at_a_time(log: Store) -> None:
    first = ask(log, RAG, where=RowFilter(ids=("a1",)))
    with pytest.raises(BadInput, match=r"Mara started the same job at \d\d:\d\d UTC"):
        ask(log, RAG, where=RowFilter(ids=("a1",)))
    ask(log, RAG, where=RowFilter(ids=("a2",)))
    ask(log, {**RAG, "domain": "rocks"}, where=RowFilter(ids=("a1",)))
    cancel_job(log, first, "Jon")
    again = ask(log, RAG, where=RowFilter(ids=("a1",)))
    assert [job.state for job in recent_jobs(log)].count("waiting") == 3
    assert recent_jobs(log)[0].id == again


def test_two_equal_requests_at_once_are_one_job(log: Store) -> None:
    together = Barrier(4)

    def request(_number: int) -> bool:
        together.wait()
        try:
            ask(log, RAG)
        except BadInput:
            return False
        return True

    with ThreadPoolExecutor(4) as threads:
        stored = list(threads.map(request, range(4)))
    assert (sum(stored), len(recent_jobs(log))) == (1, 1)


def test_without_a_worker_a_job_waits(log: Store) -> None:
    job_id = ask(
        log,
        RAG,
        where=RowFilter(query_types=("simple",)),
        estimate=CallEstimate(ANSWERS, 0, None, None, None, priced=True),
    )
    job = job_progress(log, job_id)
    assert (job.state, job.selected, job.waiting, job.finished) == ("waiting", ANSWERS, ANSWERS, False)
    with log.writing() as connection:
        register_worker(connection, "elsewhere")
    assert job_progress(log, job_id).state == "waiting"


def test_an_estimate_counts_what_a_job_would_ask(log: Store, endpoint: HeldEndpoint) -> None:
    judge = rag(endpoint)
    first = estimate_calls(log, judge=judge)
    assert (first.calls, first.cost_micro, first.tokens, first.priced) == (ANSWERS, None, None, True)
    judge_pending(log, make_judge(**judge), where=RowFilter(ids=("a1", "a2")))
    after = estimate_calls(log, judge=judge)
    # 120 tokens a call; one costs 27 micro-dollars.
    assert (after.calls, after.tokens, after.cost_micro) == (ANSWERS, 120, ANSWERS * 27)
    assert estimate_calls(log, judge=judge, mode="plain").calls == ANSWERS - 2
    assert estimate_calls(log, judge=judge, mode="failed").calls == 0
    assert estimate_calls(log, judge=judge, where=RowFilter(ids=("a7",))).calls == 1


def test_an_estimate_says_when_nothing_is_known_of_the_price(sqlite_log: Store, endpoint: HeldEndpoint) -> None:
    judge = rag(endpoint, model="llama-of-our-own")
    judge_pending(sqlite_log, make_judge(**judge), limit=2)
    known = estimate_calls(sqlite_log, judge=judge)
    assert (known.cost_micro, known.priced, known.tokens) == (None, False, 120)


def test_an_estimate_needs_no_key_but_a_model(sqlite_log: Store) -> None:
    assert estimate_calls(sqlite_log, judge=RAG).calls == ANSWERS
    with pytest.raises(BadInput, match="needs a model"):
        estimate_calls(sqlite_log, judge={"kind": "rag"})


def test_an_estimate_goes_on_where_a_stopped_run_ended(sqlite_log: Store, endpoint: HeldEndpoint) -> None:
    judge = rag(endpoint)
    stopped = judge_pending(sqlite_log, make_judge(**judge), mode="all", concurrency=1, max_cost=0.0001)
    going_on = estimate_calls(sqlite_log, judge=judge)
    assert stopped.asked == 4
    assert (going_on.calls, going_on.continues) == (ANSWERS - 4, stopped.run_id)
    assert estimate_calls(sqlite_log, judge=judge, where=RowFilter(ids=("a1",))).continues is None


def test_an_offline_judge_costs_nothing(sqlite_log: Store) -> None:
    free = estimate_calls(sqlite_log, judge={"kind": "lexical"})
    assert (free.calls, free.cost_micro, free.model) == (ANSWERS, 0, None)

"""Judging what is stored: who is asked, what is stored of it, and where the same call goes on."""

import asyncio
import signal
import sqlite3
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import product

import pytest
from sqlalchemy import event
from sqlalchemy.exc import OperationalError

from endpoint_scripts import rejects_format, rejects_temperature
from engines import on_sqlite
from held_endpoint import held_endpoint
from judgeboard.domain import RunState
from judgeboard.errors import BadInput, DatabaseAway, UnknownPrice
from judgeboard.judges.lexical import LexicalJudge
from judgeboard.llm.recording_endpoint import (
    RecordingEndpoint,
    always,
    completion,
    failure,
    verdict,
)
from judgeboard.runs.judging import judge_pending, judge_pending_async, make_judge
from judgeboard.runs.runner import COST_LIMIT
from judgeboard.store import engine, outages
from judgeboard.store.filters import RowFilter
from judgeboard.store.opening import open_store
from judgeboard.store.tables import FLAG
from judging_log import address, asked, by_number, judgments, rag, runs, store_answers, until
from stored_rows import values_of


def judge(store, script=None, prices=None, **options):
    with RecordingEndpoint(script) as endpoint:
        summary = judge_pending(store, rag(endpoint, prices=prices), **{"concurrency": 4} | options)
    return summary, endpoint


def good_until(calls, **fields):
    """Give so many good verdicts, and then refuse the key."""
    return lambda _request, number: (
        verdict(**fields) if number < calls else failure(401, "no such key")
    )


def in_background(endpoint, store, **options):
    """Judge in a thread until four calls wait for the endpoint; return the run, which goes on."""
    endpoint.hold_after(8)
    run = ThreadPoolExecutor().submit(
        judge_pending, store, rag(endpoint.server), concurrency=4, **options
    )
    until(
        lambda: len(judgments(store)) == 8 and len(endpoint.server.requests) == 12,
        "calls are under way",
    )
    return run


@pytest.fixture
def prices(tmp_path):
    """A price at which every scripted verdict (100 and 20 tokens) costs 120 micro-dollars."""
    file = tmp_path / "prices.toml"
    file.write_text("[models]\nscripted = { input = 1, output = 1 }\n")
    return file


@on_sqlite
def test_every_answer_is_asked_once_and_a_second_call_asks_nothing(store):
    store_answers(store, 30)
    summary, endpoint = judge(store)
    assert (summary.selected, summary.ok, summary.not_reached) == (30, 30, 0)
    assert summary.state is RunState.DONE
    assert asked(endpoint) == dict.fromkeys(range(30), 1)
    asks = {(int(row["id"]), row["ask"]) for row in judgments(store)}
    assert asks == {(number, 0) for number in range(30)}
    again, endpoint = judge(store)
    assert (again.selected, again.asked, endpoint.requests) == (0, 0, [])


def test_newcomers_are_asked_and_those_judged_before_are_not(sqlite_store):
    store_answers(sqlite_store, 5)
    judge(sqlite_store)
    store_answers(sqlite_store, 3, first=5)
    summary, endpoint = judge(sqlite_store)
    assert (summary.selected, sorted(asked(endpoint))) == (3, [5, 6, 7])


@on_sqlite
def test_what_a_model_said_is_kept_whole(store):
    store_answers(store, 1)
    given = {"reasoning": "It is not said.", "groundedness": 0.25, "quality": 2}
    said = verdict(**given)
    judge(store, always(said))
    (row,) = judgments(store)
    expected = given | {
        "status": "ok",
        "raw": said.body["choices"][0]["message"]["content"],
        "model_reported": "scripted-model",
        "prompt_tokens": 100,
        "completion_tokens": 20,
        "reply_format": "json_schema",
        "label": None,
    }
    assert {name: row[name] for name in expected} == expected
    assert row["latency_ms"] >= 0


def test_each_outcome_is_counted_as_what_it_is_and_nothing_gets_lost(store):
    store_answers(store, 12)
    unusable = "Fine, I would say."
    replies = {
        1: completion(unusable),
        2: verdict(groundedness=85),
        3: completion('{"reasoning": "and so o', finish_reason="length"),
        4: completion(None, refusal="I cannot judge this."),
        5: failure(400, "maximum context length is 4096 tokens", code="context_length_exceeded"),
        6: failure(500, "out of order"),
    }
    summary, endpoint = judge(store, by_number(replies))
    assert (summary.ok, summary.unparsable, summary.refused, summary.error) == (6, 3, 1, 2)
    assert (summary.asked, summary.selected, summary.state) == (12, 12, RunState.DONE)
    stored = {int(row["id"]): row for row in judgments(store)}
    assert stored[1]["raw"] == unusable
    assert "0 to 1" in stored[2]["error"]
    # A cut-off reply is not repaired.
    assert [len(stored[number]["attempts"]) for number in (1, 2, 3)] == [2, 2, 1]
    assert "context length" in stored[5]["error"]
    assert stored[5]["groundedness"] is None
    assert sum(len(row["attempts"]) for row in stored.values()) == len(endpoint.requests)


@pytest.mark.parametrize(
    "script",
    [rejects_format(always(verdict()), "json_schema"), rejects_temperature(always(verdict()))],
    ids=["format", "temperature"],
)
def test_what_a_model_does_not_take_is_left_out_once_and_every_call_is_stored(sqlite_store, script):
    store_answers(sqlite_store, 20)
    summary, endpoint = judge(sqlite_store, script)
    assert summary.ok == 20
    assert sum(len(row["attempts"]) for row in judgments(sqlite_store)) == len(endpoint.requests)
    # Remembered for the run: only calls in flight find out for themselves.
    assert 20 < len(endpoint.requests) <= 24


@on_sqlite
def test_a_refused_key_stops_the_run_without_judgments_and_the_mended_one_goes_on(store):
    store_answers(store, 40)
    summary, _ = judge(store, good_until(10))
    assert summary.state is RunState.STOPPED
    assert "OPENAI_API_KEY" in summary.why_stopped
    stored = len(judgments(store))
    assert (summary.error, summary.ok, summary.not_reached) == (0, stored, 40 - stored)
    assert stored <= 10
    mended, endpoint = judge(store)
    assert (mended.run_id, mended.ok, mended.state) == (summary.run_id, 40, RunState.DONE)
    assert len(endpoint.requests) == 40 - summary.ok


def test_failed_ones_are_asked_again_and_only_they(store):
    store_answers(store, 6)
    judge(store, by_number({1: completion("hm"), 4: failure(400, "too long")}))
    plain, _ = judge(store)
    # A failed one has a judgment: a plain run leaves it.
    assert plain.selected == 0
    again, endpoint = judge(store, mode="failed")
    assert (again.selected, again.ok, sorted(asked(endpoint))) == (2, 2, [1, 4])
    rows = judgments(store)
    asks = {(row["id"], row["ask"]): row["status"] for row in rows if row["id"] in {"1", "4"}}
    first, second = {("1", 0): "unparsable", ("4", 0): "error"}, {("1", 1): "ok", ("4", 1): "ok"}
    assert asks == first | second
    assert len(rows) == 8
    nothing, _ = judge(store, mode="failed")
    assert nothing.selected == 0


def test_an_interrupted_rejudge_is_continued_and_a_finished_one_starts_anew(store):
    store_answers(store, 20)
    judge(store, always(verdict(quality=1)))
    stopped, _ = judge(store, good_until(8, quality=2), mode="all")
    assert (stopped.state, 0 < stopped.ok <= 8) == (RunState.STOPPED, True)
    continued, endpoint = judge(store, always(verdict(quality=3)), mode="all")
    assert (continued.run_id, continued.ok, continued.not_reached) == (stopped.run_id, 20, 0)
    assert len(endpoint.requests) == 20 - stopped.ok
    assert {row["ask"] for row in judgments(store)} == {0, 1}
    anew, endpoint = judge(store, always(verdict(quality=4)), mode="all")
    assert (anew.run_id != stopped.run_id, anew.ok, len(endpoint.requests)) == (True, 20, 20)
    asks = sorted((int(row["id"]), row["ask"]) for row in judgments(store))
    assert asks == list(product(range(20), range(3)))


def test_a_rejudge_with_another_filter_is_another_run(store):
    store_answers(store, 4, query_type="simple")
    store_answers(store, 4, first=4, query_type="complex")
    judge(store)
    judge(store, always(failure(401, "no")), mode="all")
    narrowed = RowFilter(query_types=("complex",))
    summary, endpoint = judge(store, mode="all", where=narrowed)
    assert (summary.selected, summary.ok, sorted(asked(endpoint))) == (4, 4, [4, 5, 6, 7])
    assert len(runs(store)) == 3


@on_sqlite
def test_a_limit_asks_so_many_and_the_next_call_goes_on_behind_them(store):
    store_answers(store, 10)
    first, endpoint = judge(store, limit=4)
    assert (first.selected, first.ok, sorted(asked(endpoint))) == (4, 4, [0, 1, 2, 3])
    _, endpoint = judge(store, limit=4)
    assert sorted(asked(endpoint)) == [4, 5, 6, 7]
    last, endpoint = judge(store, limit=4)
    assert (last.selected, sorted(asked(endpoint))) == (2, [8, 9])


def test_an_interrupted_limit_is_filled_up_not_started_over(store):
    store_answers(store, 20)
    stopped, _ = judge(store, good_until(3), limit=10)
    continued, _ = judge(store, limit=10)
    assert (continued.run_id, continued.ok) == (stopped.run_id, 10)
    assert len(judgments(store)) == 10


def test_a_run_waits_for_a_database_that_another_process_has_locked(
    sqlite_store, monkeypatch, caplog
):
    monkeypatch.setattr(engine, "BUSY_SECONDS", 0.01)
    store_answers(sqlite_store, 20)
    store = open_store(address(sqlite_store))
    other = sqlite3.connect(address(sqlite_store), isolation_level=None, check_same_thread=False)

    def free():
        until(lambda: caplog.text.count("waiting") > 9, "ten messages")
        other.execute("ROLLBACK")

    async def answer(_request, number):
        if number == 4:
            other.execute("BEGIN IMMEDIATE")
            threading.Thread(target=free).start()
        return verdict()

    summary, endpoint = judge(store, answer)
    store.close()
    other.close()
    assert (summary.state, summary.ok) == (RunState.DONE, 20)
    assert asked(endpoint) == dict.fromkeys(range(20), 1)


def test_the_cost_limit_stops_with_what_was_in_flight_stored(sqlite_store, prices):
    store_answers(sqlite_store, 100)
    summary, endpoint = judge(sqlite_store, prices=prices, max_cost=0.0012)
    assert summary.state is RunState.STOPPED
    assert "cost limit" in summary.why_stopped
    assert 10 <= summary.ok <= 13
    assert summary.cost_micro == summary.ok * 120
    assert len(endpoint.requests) == summary.ok


def test_one_process_makes_a_run_and_its_cost_limit_holds_for_all_parts(store, prices):
    store_answers(store, 60)

    def refused():
        with pytest.raises(BadInput, match=r"process \d+ on"):
            part()

    async def answer(_request, number):
        if number == 2:
            await asyncio.to_thread(refused)
        return verdict()

    with RecordingEndpoint(answer) as endpoint:

        def part(max_cost=0.0012):
            return judge_pending(
                store, rag(endpoint, prices=prices), max_cost=max_cost, concurrency=1
            )

        assert part().why_stopped == COST_LIMIT
        assert len(endpoint.requests) == len(judgments(store)) == 10
        assert (part().state, len(endpoint.requests)) == (RunState.STOPPED, 10)
        assert (part(0.0024).asked, len(endpoint.requests)) == (20, 20)
    assert len(runs(store)) == 1


def test_a_limit_reached_with_the_last_answer_leaves_nothing_out(sqlite_store, prices):
    store_answers(sqlite_store, 10)
    summary, _ = judge(sqlite_store, prices=prices, max_cost=0.0012, concurrency=1)
    assert (summary.state, summary.why_stopped, summary.ok) == (RunState.DONE, None, 10)


class Closed(LexicalJudge):
    """Counts how often it is closed; its price is not known."""

    priced = False
    times = 0

    async def aclose(self):
        self.times += 1


def test_a_cost_limit_without_a_price_asks_nobody(sqlite_store):
    store_answers(sqlite_store, 2)
    with RecordingEndpoint() as endpoint:
        remote = rag(endpoint, base_url="https://models.example.org/v1", api_key="none")
        with pytest.raises(UnknownPrice, match="--prices"):
            judge_pending(sqlite_store, remote, max_cost=1)
        assert endpoint.requests == []
    closed = Closed()
    with pytest.raises(UnknownPrice):
        judge_pending(sqlite_store, closed, max_cost=1)
    # Whoever asks closes the judge, also where it refuses.
    assert closed.times == 1
    assert runs(sqlite_store) == []


UNCOUNTED = by_number(
    {1: completion(verdict().body["choices"][0]["message"]["content"], usage=None)}
)
"""A reply without token counts to the second answer."""


def test_an_own_endpoint_costs_nothing_also_where_it_counts_no_tokens(sqlite_store):
    store_answers(sqlite_store, 2)
    summary, _ = judge(sqlite_store, UNCOUNTED, max_cost=1)
    assert (summary.ok, summary.cost_micro, summary.own_endpoint) == (2, 0, True)
    assert {row["cost_micro"] for row in judgments(sqlite_store)} == {0}


def test_an_unknown_cost_of_a_remote_endpoint_is_unknown_and_never_0(sqlite_store, monkeypatch):
    store_answers(sqlite_store, 2)
    monkeypatch.setattr("judgeboard.llm.endpoint.is_own_host", lambda _host: False)
    summary, _ = judge(sqlite_store)
    assert summary.cost_micro is None
    assert {row["cost_micro"] for row in judgments(sqlite_store)} == {None}


def test_a_reply_without_token_counts_has_an_unknown_cost(sqlite_store, prices):
    store_answers(sqlite_store, 2)
    summary, _ = judge(sqlite_store, UNCOUNTED, prices)
    costs = {row["id"]: row["cost_micro"] for row in judgments(sqlite_store)}
    assert (summary.cost_micro, costs) == (None, {"0": 120, "1": None})


@on_sqlite
def test_flags_are_there_as_soon_as_the_judgment_is(store):
    store_answers(store, 2)
    judge(store, by_number({1: verdict(groundedness=0.1)}))
    assert values_of(store, FLAG.c.auto_score, FLAG.c.rule == "low_groundedness") == [0.1]


def test_judging_runs_inside_the_event_loop_of_a_caller(sqlite_store):
    store_answers(sqlite_store, 5)
    told = []

    judging = judge_pending_async(
        sqlite_store,
        make_judge("lexical"),
        on_progress=lambda counts, of: told.append((counts.asked, of)),
    )
    assert asyncio.run(judging).ok == 5
    assert told[-1] == (5, 5)


def test_ctrl_c_stays_with_whoever_had_it(sqlite_store):
    store_answers(sqlite_store, 3)
    seen = []

    async def pipeline():
        before = signal.getsignal(signal.SIGINT)
        await judge_pending_async(
            sqlite_store,
            make_judge("lexical"),
            on_progress=lambda *_: seen.append(signal.getsignal(signal.SIGINT) == before),
        )

    asyncio.run(pipeline())
    assert set(seen) == {True}
    before = signal.getsignal(signal.SIGINT)
    judge_pending(sqlite_store, make_judge("lexical"), mode="all")
    assert signal.getsignal(signal.SIGINT) is before


def test_an_unknown_mode_is_refused(sqlite_store):
    with pytest.raises(BadInput, match="failed or all"):
        judge_pending(sqlite_store, make_judge("lexical"), mode="everything")


@on_sqlite
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"concurrency": 0}, "at the same time must be 1 to 1,024"),
        ({"concurrency": 2**63}, "at the same time must be 1 to 1,024"),
        ({"concurrency": float("nan")}, "at the same time must be 1 to 1,024"),
        ({"limit": -1}, "limit must be a whole number, 1 or more"),
        ({"limit": 2**63}, "must be below 2\\*\\*63|out of range"),
        ({"max_cost": float("nan")}, "cost limit must be a finite number"),
        ({"max_cost": -1.0}, "cost limit must be a finite number"),
    ],
)
def test_options_that_no_run_can_have_are_refused(store, options, message):
    store_answers(store, 3)
    with pytest.raises(BadInput, match=message):
        judge_pending(store, LexicalJudge(), **options)
    assert runs(store) == []


@contextmanager
def outage(store, monkeypatch):
    """While the event is set, the database can be neither reached nor used over connections that are open."""
    away = threading.Event()
    connect = store.engine.connect

    def refuse(*_):
        if away.is_set():
            raise OperationalError("SELECT", {}, Exception("connection refused"))

    def connect_or_refuse():
        refuse()
        return connect()

    monkeypatch.setattr(outages, "AWAY_PAUSE_SECONDS", 0.05)
    monkeypatch.setattr(store.engine, "connect", connect_or_refuse)
    event.listen(store.engine, "before_cursor_execute", refuse)
    yield away
    event.remove(store.engine, "before_cursor_execute", refuse)


def test_a_run_waits_for_a_database_that_is_away_and_asks_nothing_twice(store, monkeypatch, caplog):
    store_answers(store, 60)
    with outage(store, monkeypatch) as away, held_endpoint() as endpoint:
        run = in_background(endpoint, store)
        away.set()
        endpoint.release()
        until(lambda: "waiting up to 60 s" in caplog.text, "the run waits")
        time.sleep(0.5)
        away.clear()
        summary = run.result()
    assert (summary.ok, summary.not_reached, summary.state) == (60, 0, RunState.DONE)
    assert endpoint.asked == dict.fromkeys(range(60), 1)
    lines = [record.getMessage() for record in caplog.records if record.name == "judgeboard.store"]
    assert ["used again" in line for line in lines] == [False, True]


@on_sqlite
def test_replies_that_a_run_gives_up_are_counted_and_the_next_run_asks_for_them(
    store, monkeypatch, caplog
):
    store_answers(store, 20)
    with outage(store, monkeypatch) as away, held_endpoint() as endpoint:
        run = in_background(endpoint, store, wait=0.3)
        away.set()
        endpoint.release()
        with pytest.raises(DatabaseAway, match=r"0\.3 s: \d+ replies") as raised:
            run.result()
        away.clear()
        assert raised.value.lost >= 4
        stored = len(judgments(store))
        again = judge_pending(store, rag(endpoint.server), concurrency=4)
    assert (again.ok, again.state) == (20, RunState.DONE)
    assert len(endpoint.server.requests) >= 20 + raised.value.lost
    assert stored == 8

"""Judging rules: workers judge answers as they come, each once, within the budget, also after a crash."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from types import SimpleNamespace

import pytest
from sqlalchemy import event

from engines import on_sqlite
from job_steps import ANSWERS, rag, working
from judgeboard.domain import (
    Feedback,
    FeedbackKind,
    Response,
    RuleState,
    Status,
    StepRecord,
)
from judgeboard.errors import BadInput, NotFound, UnknownPrice
from judgeboard.llm.openai_provider import OPENAI
from judgeboard.llm.recording_endpoint import failure, verdict
from judgeboard.runs import rule_jobs
from judgeboard.runs.judging_rules import (
    add_rule,
    rule_progress,
    set_judge,
    with_model,
)
from judgeboard.runs.rules import change_rule
from judgeboard.runs.runner import COST_LIMIT
from judgeboard.runs.work import Outstanding
from judgeboard.store.events import EventFilter, latest_events
from judgeboard.store.filters import RowFilter
from judgeboard.store.jobs import add_to_share, shared_counts
from judgeboard.store.judging_rules import (
    begin_run_of_day,
    budget_is_used_up,
    pause_run,
    spent_today,
)
from judgeboard.store.rules import rule_named
from judgeboard.store.runs import NOWHERE
from judgeboard.store.storing import store_responses
from judgeboard.store.tables import FLAG, RESPONSE, JudgingRule
from judging_log import judgments, runs, until
from stored_rows import read, rows_of, values_of, write_to

LEXICAL = {"kind": "lexical"}


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Look often, so that the tests wait little."""
    monkeypatch.setattr(rule_jobs, "LINGER_SECONDS", 0.2)
    monkeypatch.setattr("judgeboard.runs.worker.TICK_SECONDS", 0.05)
    monkeypatch.setattr("judgeboard.runs.leader.IDLE_SECONDS", 0.2)


def add(store, name="live", **options):
    add_rule(store, name, **{"judge": LEXICAL, "actor": "Mara", "existing": True} | options)


def change(store, name, state):
    change_rule(store, JudgingRule, name, state, "Mara")


def change_judge(store, judge):
    set_judge(store, "live", judge=judge, actor="Ben")


def live_rule(store):
    return read(store, rule_named, JudgingRule, "live")


def store_new(store, *names, answer="Slate it is.", **fields):
    answers = [Response("log", name, "q", answer, ("Granite.",), **fields) for name in names]
    write_to(store, store_responses, answers)


def progress(store):
    [line] = rule_progress(store)
    return line


def until_state(store, state):
    until(lambda: progress(store).state == state, f"the state {state!r}")


def until_none_waits(store):
    until(lambda: all(each.waiting == 0 for each in rule_progress(store)), "the last answer")


def judged_ids(store):
    return [row["id"] for row in judgments(store)]


def judged(store, least):
    """Wait until this many answers are judged."""
    return until(lambda: len(rows := judgments(store)) >= least and rows, f"{least} judgments")


def test_answers_are_judged_as_they_come_and_none_twice(log):
    add(log)
    before = progress(log)
    assert (before.state, before.waiting) == ("no worker", ANSWERS)
    with working(log):
        judged(log, ANSWERS)
        store_new(log, "new", feedback=(Feedback(FeedbackKind.THUMBS, 0),))
        rows = judged(log, ANSWERS + 1)
        until_state(log, "active")
    assert rows[-1]["id"] == "new"
    assert len({row["response_id"] for row in rows}) == len(rows)
    flags = values_of(log, FLAG.c.rule, FLAG.c.response_id == rows[-1]["response_id"])
    assert {"poor_rating", "low_groundedness"} <= set(flags)
    [run] = runs(log)
    assert (run["selected"], run["state"]) == (ANSWERS + 1, "done")
    line = progress(log)
    assert (line.calls_today, line.waiting, line.cost_micro) == (ANSWERS + 1, 0, 0)


def test_a_worker_that_starts_again_asks_only_what_is_left(log, endpoint):
    endpoint.hold_after(5)
    add(log, judge=rag(endpoint), concurrency=4)
    with working(log):
        judged(log, 5)
        until(lambda: len(endpoint.server.requests) >= 9, "four calls in flight")
        endpoint.release(slowly=True)
    with working(log):
        judged(log, ANSWERS)
    assert endpoint.asked == dict.fromkeys(range(ANSWERS), 1)
    assert endpoint.server.most_at_once <= 4


def test_calls_per_day_are_a_limit_and_the_rest_waits(log, endpoint):
    add(log, judge=rag(endpoint), max_calls=7, concurrency=4)
    with working(log):
        judged(log, 7)
        until_state(log, "budget used up")
    line = progress(log)
    assert (line.calls_today, line.waiting, len(endpoint.server.requests)) == (7, ANSWERS - 7, 7)
    assert line.budget_words == "7 calls"


def test_the_cost_per_day_is_a_limit(sqlite_log, endpoint):
    # One call of 100 + 20 tokens of gpt-4o-mini costs 27 micro-dollars.
    add(sqlite_log, judge=rag(endpoint), max_cost=0.0001, concurrency=1)
    with working(sqlite_log):
        until_state(sqlite_log, "budget used up")
    line = progress(sqlite_log)
    assert (line.calls_today, line.cost_micro) == (4, 108)
    [run] = runs(sqlite_log)
    assert (run["state"], run["why_stopped"]) == ("stopped", COST_LIMIT)


def test_a_paused_rule_judges_nothing_and_later_what_came_meanwhile(sqlite_log):
    add(sqlite_log)
    change(sqlite_log, "live", RuleState.PAUSED)
    add(sqlite_log, "graded", where=RowFilter(ids=("a1",)), judge=LEXICAL | {"name": "other"})
    with working(sqlite_log):
        judged(sqlite_log, 1)
        assert judged_ids(sqlite_log) == ["a1"]
        change(sqlite_log, "live", RuleState.ACTIVE)
        judged(sqlite_log, ANSWERS + 1)
        change(sqlite_log, "live", RuleState.REMOVED)
        change(sqlite_log, "graded", RuleState.REMOVED)
    assert rule_progress(sqlite_log) == []
    add(sqlite_log)  # its name is free again, and no answer is judged again
    assert progress(sqlite_log).waiting == 0
    with pytest.raises(NotFound, match="'other'; known: live"):
        change(sqlite_log, "other", RuleState.PAUSED)


def test_another_judge_takes_the_waiting_and_later_answers_and_judges_none_again(log, endpoint):
    add(log, judge=rag(endpoint))
    before = progress(log)
    with working(log):
        judged(log, ANSWERS)
    store_new(log, "waits")
    change_judge(log, LEXICAL)
    line = progress(log)
    assert (line.version.title, line.waiting, line.calls_today) == ("lexical v1", 1, ANSWERS)
    for name in ("name", "by", "at"):
        assert getattr(line.rule, name) == getattr(before.rule, name)
    assert [each.title for each in line.earlier] == [before.version.title]
    store_new(log, "later")
    with working(log):
        rows = judged(log, ANSWERS + 2)
        until_none_waits(log)
    # The answers that were judged before keep their judgment, and no second.
    assert len(judgments(log)) == ANSWERS + 2
    assert {row["judge_version_id"] for row in rows[ANSWERS:]} == {rows[-1]["judge_version_id"]}
    [changed] = read(log, latest_events, EventFilter(kind="set_rule_judge"), limit=5)
    assert changed.actor == "Ben"
    with pytest.raises(BadInput, match="lexical v1"):
        change_judge(log, LEXICAL)


def test_the_limits_of_a_day_count_all_judges_that_a_rule_had(log, endpoint):
    add(log, judge=rag(endpoint), max_calls=7)
    with working(log):
        judged(log, 7)
        until_state(log, "budget used up")
        change_judge(log, LEXICAL)
        until_state(log, "budget used up")
    line = progress(log)
    assert (line.calls_words, line.waiting) == ("7 of 7", ANSWERS - 7)
    assert len(judgments(log)) == 7


def test_a_running_rule_goes_on_with_another_model(sqlite_log, endpoint):
    endpoint.hold_after(2)
    add(sqlite_log, judge=rag(endpoint), concurrency=2)
    with working(sqlite_log):
        until(lambda: len(endpoint.server.requests) >= 4, "two calls in flight")
        change_judge(sqlite_log, with_model(rag(endpoint), "another-model"))
        endpoint.release()
        judged(sqlite_log, ANSWERS)
        until_none_waits(sqlite_log)
    # Also the calls in flight are made once.
    assert set(endpoint.asked.values()) == {1}
    assert len({row["judge_version_id"] for row in judgments(sqlite_log)}) == 2
    line = progress(sqlite_log)
    assert line.version.title != line.earlier[0].title


def test_the_judge_of_a_rule_with_a_cost_limit_needs_a_price(sqlite_log, endpoint):
    add(sqlite_log, judge=rag(endpoint), max_cost=1.0)
    remote = rag(endpoint) | {"base_url": "https://judge.example/v1"}
    with pytest.raises(UnknownPrice):
        change_judge(sqlite_log, with_model(remote, "no-price"))
    assert not progress(sqlite_log).earlier


def test_a_model_of_another_provider_does_not_go_to_the_address_of_the_model_before():
    judge = {"kind": "rag", "model": "gpt-4o-mini"}
    at_openai = judge | {"provider": "openai", "base_url": OPENAI.base_url}
    claude = {"model": "claude-sonnet-4-5"}
    assert with_model(at_openai, claude["model"]) == judge | claude
    own = at_openai | {"base_url": "http://gpu:8000/v1"}
    assert with_model(own, "qwen3") == own | {"model": "qwen3"}


@on_sqlite
def test_only_answers_that_come_after_the_rule_are_judged(log):
    add(log, existing=False, where=RowFilter(query_types=("simple", "hard")))
    for name in ("hard", "easy"):
        store_new(log, name, query_type=name)
    with working(log):
        judged(log, 1)
    assert judged_ids(log) == ["hard"]


def test_the_hash_of_an_answer_decides_whether_it_is_sampled(log):
    answers = [Response("log", f"h{n}", "q", f"{n}", query_type="hard") for n in range(400)]
    write_to(log, store_responses, answers)
    add(log, rate=0.0, rates={"hard": 0.25})
    expected = {
        row["id"]
        for row in rows_of(log, RESPONSE)[ANSWERS:]
        if int(row["content_hash"][:12], 16) < 0.25 * 16**12
    }
    assert 60 < len(expected) < 140
    with working(log):
        rows = judged(log, len(expected))
    assert {row["response_id"] for row in rows} == expected
    [run] = runs(log)
    assert (run["filter"]["rate"], run["filter"]["rates"]) == (0.0, {"hard": 0.25})


def test_two_rules_with_one_judge_version_judge_an_answer_once(sqlite_log, endpoint):
    add(sqlite_log, "one", judge=rag(endpoint))
    add(sqlite_log, "two", judge=rag(endpoint))
    with working(sqlite_log):
        judged(sqlite_log, ANSWERS)
        until_none_waits(sqlite_log)
    assert sum(endpoint.asked.values()) == ANSWERS


def test_an_answer_waits_for_its_delay(sqlite_log):
    add(sqlite_log, delay_s=3600)
    add(sqlite_log, "now", where=RowFilter(ids=("a1",)), judge=LEXICAL | {"name": "other"})
    with working(sqlite_log):
        judged(sqlite_log, 1)
    assert judged_ids(sqlite_log) == ["a1"]
    line = rule_progress(sqlite_log)[0]
    assert line.waiting == ANSWERS
    assert line.oldest <= datetime.now(UTC)


def test_a_refused_key_is_shown_and_no_answer_counts_as_judged(sqlite_log, endpoint, monkeypatch):
    monkeypatch.setattr(rule_jobs, "PROBLEM_SECONDS", 0.2)
    endpoint.reply = failure(401, "bad key")
    add(sqlite_log, judge=rag(endpoint))
    with working(sqlite_log):
        line = until(lambda: (line := progress(sqlite_log)).rule.problem and line, "a problem")
        assert (line.state, line.calls_today) == ("problem", 0)
        assert "401" in line.rule.problem
        endpoint.reply = verdict()
        judged(sqlite_log, ANSWERS)
        until_state(sqlite_log, "active")


def test_during_an_outage_one_call_at_a_time_is_tried(log, endpoint, monkeypatch):
    calls_before = []  # at each try

    enqueue = rule_jobs.RuleJob._enqueue

    def noted(*arguments):
        calls_before.append(len(endpoint.server.requests))
        return enqueue(*arguments)

    monkeypatch.setattr(rule_jobs, "FAILED_IN_ROW", 4)
    monkeypatch.setattr(rule_jobs, "PROBLEM_SECONDS", 0.1)
    monkeypatch.setattr(rule_jobs.RuleJob, "_enqueue", noted)
    endpoint.reply = replace(failure(400, "away"), delay_s=0.2)
    add(log, judge=rag(endpoint), concurrency=2)
    with working(log):
        until(lambda: len(calls_before) >= 5, "five tries")
        line = progress(log)
        assert (line.state, line.rule.problem) == ("problem", rule_jobs.FAILING)
        endpoint.reply = verdict()
        judged(log, ANSWERS)
        until_state(log, "active")
    assert [after - before for before, after in pairwise(calls_before[1:5])] == [1, 1, 1]


def test_only_answers_that_are_not_handed_out_yet_are_within_the_calls_of_the_day(log):
    add(log, max_calls=3)
    job = rule_jobs.RuleJob(log, f"rule-{live_rule(log).id}")
    [ids] = job.look(Outstanding(), workers=1).chunks
    assert len(ids) == 3
    for handed_out, rest in ((ids, []), (ids[:2], [ids[2:]])):
        assert job.look(Outstanding(frozenset(handed_out), chunks=1), workers=1).chunks == rest


def test_a_run_that_a_killed_worker_left_ends_on_the_next_day(log):
    add(log)
    for days in (0, 1):
        at = datetime.now(UTC) + timedelta(days=days)
        write_to(log, begin_run_of_day, live_rule(log), NOWHERE, at)
    assert [each["state"] for each in runs(log)] == ["done", "running"]


@on_sqlite
def test_a_run_ended_with_its_last_judgment_whichever_worker_notices_that(log):
    add(log)
    now = datetime.now(UTC)
    judged_at = now + timedelta(seconds=1)
    with log.writing() as connection:
        run = begin_run_of_day(connection, live_rule(log), NOWHERE, now)
        record = StepRecord(Status.OK, cost_micro=5)
        add_to_share(connection, run.id, "one", [record, record], now)
        add_to_share(connection, run.id, "two", [StepRecord(Status.ERROR)], judged_at)
        for later in (2, 3600):
            pause_run(connection, run.id, None, now + timedelta(seconds=later))
    [ended] = runs(log)
    assert (ended["state"], ended["finished_at"], ended["selected"]) == ("done", judged_at, 3)
    counts, _ = read(log, shared_counts, run.id)
    assert (counts.ok, counts.error, counts.cost_micro, counts.total_cost_micro) == (2, 1, 10, None)


@on_sqlite
def test_a_look_at_the_budget_reads_no_judgments(log):
    add(log, max_calls=10**6, max_cost=5.0)
    statements = []
    event.listen(
        log.engine, "before_cursor_execute", lambda *arguments: statements.append(arguments[2])
    )
    rule = live_rule(log)
    assert not budget_is_used_up(rule, read(log, spent_today, rule, datetime.now(UTC)))
    with working(log):
        judged(log, ANSWERS)
        until_none_waits(log)
    assert progress(log).calls_today == ANSWERS
    statements.clear()
    assert read(log, spent_today, rule, datetime.now(UTC)).asked == ANSWERS
    assert len(statements) > 1
    assert not [statement for statement in statements if "judgment" in statement]


def test_a_look_reads_no_answers_that_wait_for_their_delay(sqlite_log, monkeypatch):
    add(sqlite_log, delay_s=1000)
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(rule_jobs, "time", SimpleNamespace(monotonic=lambda: clock.now))
    looks = rule_jobs._Looks(live_rule(sqlite_log), 0)
    looked = []

    def look(*ids):
        looked.append(ids)
        return [1], None

    for second in range(1, 5001):  # an answer each second
        clock.now = float(second)
        looks.passed(second)
        looks.find(look)
    after_id, up_to = looked[-1]
    assert after_id <= 4000 - 60
    assert 4000 <= up_to <= 4000 + 11
    assert len(looks._marks) <= 110


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"name": " "}, "1 to 80 characters"),
        ({"rate": 1.5}, "number from 0 to 1 .*, not 1.5"),
        ({"rates": {"hard": -1}}, "number from 0 to 1 .*, not -1"),
        ({"max_calls": 0}, "1 or more"),
        ({"delay_s": -1}, "0 seconds to 30 days"),
        ({"judge": {"kind": "oracle"}}, "no judge of kind 'oracle'"),
        (
            {"judge": {"kind": "rag", "model": "m", "api_key": "sk"}},
            "cannot use these options of a judge: api_key",
        ),
        ({"name": "taken"}, "'taken' already"),
    ],
)
def test_a_rule_that_cannot_work_is_refused(sqlite_log, options, error):
    add(sqlite_log, "taken")
    with pytest.raises(BadInput, match=error):
        add(sqlite_log, **{"name": "live"} | options)
    remote = {"kind": "rag", "model": "no-such-model", "base_url": "https://models.example.org/v1"}
    with pytest.raises(UnknownPrice):
        add(sqlite_log, judge=remote, max_cost=1)
    assert len(rule_progress(sqlite_log)) == 1

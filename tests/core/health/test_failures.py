"""What failed to arrive or to run: each kind is listed while it lasts, and not for ever."""

from datetime import UTC, datetime, timedelta

from sqlalchemy import insert

from engines import on_sqlite
from graded_log import read
from judgeboard.domain import AlertCondition, RuleState, RunState
from judgeboard.health.failures import failures
from judgeboard.store.alerts import resolve_event, store_event
from judgeboard.store.jobs import insert_job
from judgeboard.store.rules import insert_rule, update_rule
from judgeboard.store.tables import ALERT_EVENT, RUN, TRACE, AlertRule, Job, PushTarget
from stored_rows import rows_of, write_to

NOW = datetime(2026, 3, 9, 12, tzinfo=UTC)


def kinds(store):
    return [(each.kind, each.subject) for each in read(store, failures, NOW)]


def receive(store, source, state="made", **ago):
    at = NOW - timedelta(**ago)
    row = {"source": source, "state": state, "first_at": at, "last_at": at}
    named = {"external_id": f"{source} {at}", "owner": "", "reason": "no  root\n"}
    with store.writing() as connection:
        connection.execute(insert(TRACE), row | named)


@on_sqlite
def test_a_source_is_silent_from_a_day_to_a_month(store):
    receive(store, "shop", days=3)
    receive(store, "shop", "waiting", days=2)
    receive(store, "chat", hours=20)
    receive(store, "old", days=31)
    [silent] = read(store, failures, NOW)
    assert (silent.kind, silent.subject) == ("silent_source", "shop")
    assert all(part in silent.words for part in ("shop", "2026-03-07 12:00", "1 d"))


def test_traces_without_an_answer_name_the_source_that_has_most(store):
    receive(store, "shop", "none", hours=2)
    receive(store, "shop", "none", hours=1)
    receive(store, "chat", "none", hours=1)
    receive(store, "chat", "none", days=8)
    [unused] = read(store, failures, NOW)
    assert (unused.kind, unused.subject) == ("unused_traces", "shop")
    assert unused.lead == "3 traces without an answer."
    assert unused.words == "2 from shop: no root"


@on_sqlite
def test_a_stopped_run_is_listed_for_a_week(store):
    run = {"kind": "rag", "actor": "test", "why_stopped": "key refused (401)"}
    with store.writing() as connection:
        for state, days in ((RunState.STOPPED, 1), (RunState.DONE, 1), (RunState.STOPPED, 8)):
            columns = {"state": state.value, "started_at": NOW - timedelta(days=days)}
            connection.execute(insert(RUN), run | columns)
    [stopped] = read(store, failures, NOW)
    assert (stopped.kind, "Run 1" in stopped.lead) == ("run", True)
    assert stopped.words.endswith(": key refused (401).")


@on_sqlite
def test_a_job_that_did_not_start_is_listed_for_a_week(store):
    for job, days, failed in (("new", 1, "no key"), ("old", 8, "no key"), ("waits", 1, None)):
        at = NOW - timedelta(days=days)
        stored = Job(id=job, kind="rejudge", actor="Ann", created_at=at, failed=failed)
        write_to(store, insert_job, stored)
    [job] = read(store, failures, NOW)
    assert (job.kind, job.subject) == ("job", "new")
    assert job.words.endswith("Ann: no key.")


@on_sqlite
def test_a_push_that_stopped_or_was_refused_is_listed_while_it_is_active(store):
    fine = PushTarget(
        name="fine", by="Ann", tool="phoenix", address="http://localhost", every_s=600.0
    )
    for target in (
        fine,
        fine.changed(name="stopped", problem="no answer"),
        fine.changed(name="refused", refused=2, reason="unknown trace"),
        fine.changed(name="paused", state=RuleState.PAUSED, problem="no answer"),
    ):
        write_to(store, insert_rule, target)
    found = {each.subject: each for each in read(store, failures, NOW)}
    assert {name: (each.kind, each.words) for name, each in found.items()} == {
        "stopped": ("push_target", "no answer"),
        "refused": ("push_target", "unknown trace"),
    }
    assert "2 items" in found["refused"].lead


@on_sqlite
def test_an_open_alert_of_a_source_replaces_its_silence(store):
    receive(store, "shop", days=3)
    rules = []
    for name, condition, subject in (
        ("quiet", AlertCondition.SILENT_SOURCE, "shop"),
        ("alarms", AlertCondition.ALARM, "alarm 1"),
    ):
        rule = AlertRule(name=name, by="test", condition=condition, destinations=())
        rules.append(write_to(store, insert_rule, rule))
        seen = {"sentence": f"{subject}.", "value": 1.0}
        write_to(store, store_event, rules[-1].id, subject, seen, NOW)
    # Alarms have a place of their own.
    assert kinds(store) == [("alert", "shop")]
    write_to(store, resolve_event, rows_of(store, ALERT_EVENT)[0]["id"], NOW)
    write_to(store, update_rule, rules[0], problem="no worker")
    assert kinds(store) == [("silent_source", "shop"), ("alert_rule", "quiet")]

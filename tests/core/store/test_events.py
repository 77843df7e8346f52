"""Every change leaves an event; events are read newest first and filtered."""

import shutil
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import judgeboard
from job_steps import ended, working
from judgeboard import Decision, Grade
from judgeboard.alerts.rules import add_alert_rule
from judgeboard.domain import Response, Role, RuleState
from judgeboard.imports.importing import import_file
from judgeboard.llm.recording_endpoint import RecordingEndpoint
from judgeboard.methods.refining.refine import refine_pending
from judgeboard.people.roster import (
    add_person,
    admit,
    change_role,
    change_settings,
    ensure_reviewer,
    remove_person,
    restore_version,
    retire_version,
)
from judgeboard.runs.jobs import cancel_job, request_rejudge
from judgeboard.runs.judging import judge_pending
from judgeboard.runs.judging_rules import add_rule, set_judge
from judgeboard.runs.rules import change_rule
from judgeboard.settings.sections import AlertSettings
from judgeboard.store.engine import Store
from judgeboard.store.events import EventFilter, latest_events, record_event
from judgeboard.store.forgetting import forget_response
from judgeboard.store.jobs import register_worker, remove_worker
from judgeboard.store.opening import open_store
from judgeboard.store.storing import store_responses
from judgeboard.store.tables import (
    EVENT,
    FLAG,
    RESPONSE,
    AlertRule,
    JudgingRule,
    PushTarget,
    Reviewer,
)
from judgeboard.tools.push import add_target
from judging_log import store_answers
from pair_log import add_pairs, by_pair, pairwise
from refining_log import generator, judge, ratings, store_bad
from stored_rows import read, row_count, rows_of, values_of, write_to
from suite_runs import playing, suite
from written_tables import written_tables

# Rows that come in by the thousand name their run or their import, whose beginning and end are
# events: of their own they have none.
OF_A_RUN = {
    "response",
    "answer_fact",
    "user_feedback",
    "judgment",
    "judgment_score",
    "current_judgment",
    "flag",
    "comparison",
    "comparison_score",
    "pair",
    "sample",
    "generation",
    "refinement",
    "suite_case",
    "import_batch",
    "judge_version",
    "run",
    "queue_item",
    # Which process does which task at the moment, and what it has spent.
    "claim",
    "worker",
    "run_share",
}
FIRST, SECOND = ({"kind": "lexical", "name": name} for name in ("first", "second"))
WHO = "ann@example.org"


@dataclass(frozen=True)
class Case:
    """A database in which something of everything was done, its lead, and a folder for files."""

    store: Store
    lead: Reviewer
    folder: Path

    def file(self, text):
        path = self.folder / "rows.jsonl"
        path.write_text(text)
        return path


@pytest.fixture(scope="module")
def filled(new_store):
    store = new_store()
    store_bad(store)
    with RecordingEndpoint(ratings(2, 4)) as endpoint:
        refine_pending(store, judge("rating", endpoint), generator(endpoint))  # run 1
    store_answers(store, 4)
    same = [
        Response(source, "same", "How long is it?", "It is 7 m.", ("7 m.",))
        for source in ("log", "other")
    ]
    write_to(store, store_responses, same)
    add_pairs(store, 1)
    for name in ("first", "second"):
        judge_pending(store, judgeboard.make_judge("lexical", name=name))
    change_settings(
        store, {"primary_judge": "first", "random_share": 1.0, "random_seed": "s"}, "cli:root"
    )
    judgeboard.raise_flags(store)
    lead = add_person(store, WHO, Role.ADMIN, "cli:root")
    add_person(store, "bob@example.org", Role.REVIEWER, "cli:root")
    case = Case(store, lead, None)
    press(case, "filled", flag_id=1, decision=Decision.CONFIRM)
    select_attempt(case, 1, "filled")
    store.close()
    return Path(str(store.engine.url.database))


@pytest.fixture
def case(filled, tmp_path):
    shutil.copyfile(filled, tmp_path / "judgeboard.db")
    store = open_store(tmp_path / "judgeboard.db")
    yield Case(store, admit(store, WHO), tmp_path)
    store.close()


def press(case, key="k", **fields):
    review = judgeboard.Submission(reviewer=case.lead, request_key=key, **fields)
    judgeboard.submit(case.store, review)


def select_attempt(case, number, key="k"):
    judgeboard.select_attempt(
        case.store, run_id=1, subject="1", number=number, reviewer=case.lead, request_key=key
    )


def decide(case, flag_id=None):
    flag_id = flag_id or values_of(case.store, FLAG.c.id, FLAG.c.state == "open")[0]
    press(case, flag_id=flag_id, decision=Decision.DISMISS, grade=Grade(note="why"))


def decide_too_late(case):
    with pytest.raises(judgeboard.JudgeboardError):
        decide(case, 1)


def answers(case):
    file = case.file('{"query": "Who?", "answer": "Nobody."}\n')
    import_file(case.store, file, actor=case.lead)


def grades(case):
    file = case.file(
        '{"external_id": "same", "source": "other", "annotator": "Mara", "label": "grounded"}\n'
    )
    import_file(case.store, file, kind="grades", actor=case.lead)


def pairs(case):
    judgeboard.pairs_between(case.store, "log", "other", actor=WHO)


def job(case):
    where = judgeboard.RowFilter(response_ids=(2, 3))
    return request_rejudge(case.store, judge=FIRST, where=where, actor=case.lead)


def rule(case):
    add_rule(case.store, "live", judge=FIRST, actor=case.lead)


def push_target(case):
    add_target(case.store, "mlflow", actor=case.lead, environment={})


def alert_rule(case):
    cost = AlertSettings(when="spend", above=5, to=("slack:env:SLACK_URL",))
    add_alert_rule(case.store, "cost", cost, case.lead)


def done_job(case, ask=job):
    with working(case.store):
        ended(case.store, ask(case))


def job_of_retired_version(case):
    retire_version(case.store, "second", case.lead)
    return request_rejudge(case.store, judge=SECOND, actor=case.lead)


def forget(case):
    write_to(case.store, forget_response, "same", source="other", actor=WHO)


def compare(case):
    with RecordingEndpoint(by_pair({})) as endpoint:
        judgeboard.compare_pairs(case.store, pairwise(endpoint), (1,), actor=WHO)


def run_suite(case):
    with RecordingEndpoint(playing()) as endpoint:
        how = {"model": "judge", "base_url": endpoint.base_url, "actor": WHO}
        judgeboard.run_suite(case.store, suite(1), "model:candidate", **how)


CHANGES = {
    "decide": decide,
    "keep_draft": decide_too_late,
    "grade": lambda case: press(case, response_id=2, grade=Grade(quality=3)),
    "undo": lambda case: judgeboard.undo(
        case.store, review_id=1, reviewer=case.lead, request_key="k"
    ),
    "select_attempt": lambda case: select_attempt(case, 2),
    "deselect_attempt": lambda case: select_attempt(case, None),
    "first_seen": lambda case: ensure_reviewer(case.store, "cli", WHO),
    "sign_in": lambda case: admit(case.store, WHO, arrives=True),
    "add_person": lambda case: add_person(case.store, "eve@example.org", Role.REVIEWER, case.lead),
    "change_role": lambda case: change_role(case.store, "bob@example.org", Role.LEAD, case.lead),
    "remove_person": lambda case: remove_person(case.store, "bob@example.org", case.lead),
    "set_setting": lambda case: change_settings(case.store, {"low_quality": 1}, case.lead),
    "apply_rules": lambda case: (
        change_settings(case.store, {"low_groundedness": 1.0, "random_share": 0.0}, case.lead),
        judgeboard.raise_flags(case.store, actor=case.lead),
    ),
    "retire_version": lambda case: retire_version(case.store, "second", case.lead),
    "restore_version": lambda case: (
        retire_version(case.store, "second", case.lead),
        restore_version(case.store, "second", case.lead),
    ),
    "start_import": answers,
    "finish_import": grades,
    "make_pairs": pairs,
    "make_control_answers": lambda case: judgeboard.make_control_answers(
        case.store, kinds=["passages_removed"], n=2, actor=WHO
    ),
    "start_run": lambda case: judge_pending(
        case.store, judgeboard.make_judge("lexical", name="third"), actor=WHO
    ),
    "finish_run": compare,
    "combine": lambda case: judgeboard.judge_by_jury(case.store, ["first", "second"], actor=WHO),
    "audit_recorded": lambda case: judgeboard.audit_recorded(
        case.store, "first", "second", by="label", actor=WHO
    ),
    "job_requested": job,
    "job_cancelled": lambda case: cancel_job(case.store, job(case), case.lead),
    "job_began": done_job,
    "job_failed": lambda case: done_job(case, job_of_retired_version),
    "add_rule": rule,
    "add_push_target": push_target,
    "set_push_target_state": lambda case: (
        push_target(case),
        change_rule(case.store, PushTarget, "mlflow", RuleState.PAUSED, case.lead),
    ),
    "set_rule_state": lambda case: (
        rule(case),
        change_rule(case.store, JudgingRule, "live", RuleState.PAUSED, case.lead),
    ),
    "set_rule_judge": lambda case: (
        rule(case),
        set_judge(case.store, "live", judge=SECOND, actor=case.lead),
    ),
    "add_alert_rule": alert_rule,
    "set_alert_rule_state": lambda case: (
        alert_rule(case),
        change_rule(case.store, AlertRule, "cost", RuleState.PAUSED, case.lead),
    ),
    "forget": forget,
}
SUITE = "a suite"


@pytest.mark.parametrize("kind", [*CHANGES, SUITE])
def test_a_change_leaves_an_event_that_names_who_made_it(case, kind):
    before = row_count(case.store, EVENT)
    with written_tables(case.store) as transactions:
        CHANGES.get(kind, run_suite)(case)
    events = rows_of(case.store, EVENT)[before:]
    assert kind == SUITE or kind in {row["kind"] for row in events}
    assert {row["actor"] for row in events if not row["actor"].startswith("worker:")} == {WHO}
    silent = [tables - OF_A_RUN for tables in transactions if "event" not in tables]
    # A transaction without an event.
    assert not any(silent)


def test_a_worker_says_when_it_comes_and_goes(case):
    write_to(case.store, register_worker, "0123456789")
    write_to(case.store, remove_worker, "0123456789")
    events = [(row["kind"], row["actor"]) for row in rows_of(case.store, EVENT)[-2:]]
    assert events == [("start_worker", "worker:456789"), ("stop_worker", "worker:456789")]


def test_no_event_holds_a_text_of_the_log(case):
    details = str(values_of(case.store, EVENT.c.details))
    texts = values_of(case.store, RESPONSE.c.answer)
    assert texts
    assert not [text for text in texts if text and text in details]


START = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.fixture
def told(store):
    with store.writing() as connection:
        chats = [Response(source, "chat-1", "q", "a") for source in ("a", "b")]
        ids = store_responses(connection, chats).new
        for number in range(120):
            record_event(
                connection,
                ("decide", "undo", "grade")[number % 3],
                ("ann", "bob")[number % 2],
                response_id=ids[number % 2] if number < 4 else None,
                details={"n": number},
                now=START + timedelta(days=number),
            )
    return store


def test_filters_narrow_together(told):
    def latest(limit=50, before_id=None, **where):
        return read(told, latest_events, EventFilter(**where), limit=limit, before_id=before_id)

    def numbers(events):
        return [event.details["n"] for event in events]

    undone = latest(3, kind="undo", actor="bob")
    assert numbers(undone) == [115, 109, 103]
    assert latest(1, undone[0].id, kind="undo", actor="bob") == undone[1:2]
    assert numbers(latest(since=START + timedelta(days=118))) == [119, 118]
    assert numbers(latest(response="chat-1")) == [3, 2, 1, 0]
    assert latest(response="chat-2") == ()

"""Every change leaves an event; events are read newest first and filtered."""

import shutil
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import select

import judgeboard
from job_steps import ended, working
from judgeboard import Decision, Grade
from judgeboard.alerts.rules import WrittenRule, add_alert_rule
from judgeboard.domain import Response, Role, RuleKind, RuleState
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
from judgeboard.store.engine import Store
from judgeboard.store.events import EventFilter, latest_events, record_event
from judgeboard.store.forgetting import forget_response
from judgeboard.store.jobs import register_worker, remove_worker
from judgeboard.store.opening import open_store
from judgeboard.store.storing import store_responses
from judgeboard.store.tables import EVENT, FLAG, REVIEW, Reviewer
from judgeboard.tools.push import add_target
from judging_log import store_answers
from pair_log import add_pairs, by_pair, pairwise
from refining_log import generator, judge, ratings, store_bad
from stored_rows import write_to
from suite_runs import playing, suite
from written_tables import written_tables

# Rows that come in by the thousand name their run or their import, whose beginning and end are
# events: of their own they have none.
OF_A_RUN = {
    *(
        "response",
        "answer_fact",
        "user_feedback",
        "judgment",
        "judgment_score",
        "current_judgment",
        "flag",
    ),
    *(
        "comparison",
        "comparison_score",
        "pair",
        "sample",
        "generation",
        "refinement",
        "suite_case",
        "import_batch",
    ),
    *("judge_version", "run", "queue_item"),
    *(
        "claim",
        "worker",
        "run_share",
    ),  # which process does which task at the moment, and what it has spent
}
WHO = "ann@example.org"


@dataclass(frozen=True)
class Case:
    """A database in which something of everything was done, its lead, and a folder for files."""

    store: Store
    lead: Reviewer
    folder: Path

    def first(self, table):
        """The first row of a table."""
        with self.store.reading() as connection:
            return int(connection.scalar(select(table.c.id).order_by(table.c.id).limit(1)))

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
    with store.writing() as connection:
        texts = ("log", "How long is it?"), ("other", "How long is it?")
        store_responses(
            connection,
            [Response(name, "same", query, "It is 7 m.", ("7 m.",)) for name, query in texts],
        )
    add_pairs(store, 1)
    for name in ("first", "second"):
        judge_pending(store, judgeboard.make_judge("lexical", name=name))
    change_settings(
        store, {"primary_judge": "first", "random_share": 1.0, "random_seed": "s"}, "cli:root"
    )
    judgeboard.raise_flags(store)
    lead = add_person(store, WHO, Role.ADMIN, "cli:root")
    add_person(store, "bob@example.org", Role.REVIEWER, "cli:root")
    judgeboard.submit(
        store,
        judgeboard.Submission(
            flag_id=1, reviewer=lead, decision=Decision.CONFIRM, request_key="filled"
        ),
    )
    judgeboard.select_attempt(
        store, run_id=1, subject="1", number=1, reviewer=lead, request_key="filled"
    )
    store.close()
    return Path(str(store.engine.url.database))


@pytest.fixture
def case(filled, tmp_path):
    shutil.copyfile(filled, tmp_path / "judgeboard.db")
    store = open_store(tmp_path / "judgeboard.db")
    return Case(store, admit(store, WHO), tmp_path)


def flag_that_waits(case):
    with case.store.reading() as connection:
        return int(connection.scalar(select(FLAG.c.id).where(FLAG.c.state == "open").limit(1)))


def press(case, **fields):
    own = {"reviewer": case.lead, "request_key": "k"}
    judgeboard.submit(case.store, judgeboard.Submission(**own, **fields))


def decide(case, flag_id=None):
    flag_id = flag_id or flag_that_waits(case)
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
    return request_rejudge(
        case.store, judge={"kind": "lexical", "name": "first"}, where=where, actor=case.lead
    )


def rule(case):
    add_rule(case.store, "live", judge={"kind": "lexical", "name": "first"}, actor=case.lead)


def push_target(case):
    add_target(case.store, "mlflow", actor=case.lead, environment={})


def alert_rule(case):
    add_alert_rule(
        case.store,
        WrittenRule(name="cost", when="spend", above=5, to=("slack:env:SLACK_URL",)),
        case.lead,
    )


def take_part(case, job_id):
    with working(case.store):
        ended(case.store, job_id)


def done_job(case):
    take_part(case, job(case))


def failed_job(case):
    retire_version(case.store, "second", case.lead)
    asked = request_rejudge(
        case.store, judge={"kind": "lexical", "name": "second"}, actor=case.lead
    )
    take_part(case, asked)


def worker(case):
    write_to(case.store, register_worker, "0123456789")
    write_to(case.store, remove_worker, "0123456789")


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
        case.store, review_id=case.first(REVIEW), reviewer=case.lead, request_key="k"
    ),
    "select_attempt": lambda case: judgeboard.select_attempt(
        case.store, run_id=1, subject="1", number=2, reviewer=case.lead, request_key="k"
    ),
    "deselect_attempt": lambda case: judgeboard.select_attempt(
        case.store, run_id=1, subject="1", number=None, reviewer=case.lead, request_key="k"
    ),
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
    "job_failed": failed_job,
    "add_rule": rule,
    "add_push_target": push_target,
    "set_push_target_state": lambda case: (
        push_target(case),
        change_rule(case.store, RuleKind.PUSH, "mlflow", RuleState.PAUSED, case.lead),
    ),
    "set_rule_state": lambda case: (
        rule(case),
        change_rule(case.store, RuleKind.JUDGE, "live", RuleState.PAUSED, case.lead),
    ),
    "set_rule_judge": lambda case: (
        rule(case),
        set_judge(case.store, "live", judge={"kind": "lexical", "name": "second"}, actor=case.lead),
    ),
    "add_alert_rule": alert_rule,
    "set_alert_rule_state": lambda case: (
        alert_rule(case),
        change_rule(case.store, RuleKind.ALERT, "cost", RuleState.PAUSED, case.lead),
    ),
    "forget": forget,
}
SUITE = "a suite"


@pytest.mark.parametrize("kind", [*CHANGES, SUITE])
def test_a_change_leaves_an_event_that_names_who_made_it(case, kind):
    with case.store.reading() as connection:
        before = set(connection.scalars(select(EVENT.c.id)))
    with written_tables(case.store) as transactions:
        CHANGES.get(kind, run_suite)(case)
    with case.store.reading() as connection:
        rows = connection.execute(select(EVENT).order_by(EVENT.c.id)).all()
    events = [row for row in rows if row.id not in before]
    case.store.close()
    assert kind == SUITE or kind in {row.kind for row in events}
    assert {row.actor for row in events if not row.actor.startswith("worker:")} == {WHO}
    silent = [tables - OF_A_RUN for tables in transactions if "event" not in tables]
    # A transaction without an event.
    assert not [tables for tables in silent if tables]


def test_a_worker_says_when_it_comes_and_goes(case):
    worker(case)
    with case.store.reading() as connection:
        rows = connection.execute(
            select(EVENT.c.kind, EVENT.c.actor).order_by(EVENT.c.id.desc()).limit(2)
        ).all()
    case.store.close()
    assert rows == [("stop_worker", "worker:456789"), ("start_worker", "worker:456789")]


def test_no_event_holds_a_text_of_the_log(case):
    with case.store.reading() as connection:
        kept = connection.scalars(select(EVENT.c.details)).all()
        texts = {row[0] for row in connection.exec_driver_sql("SELECT answer FROM response")}
    case.store.close()
    assert texts
    assert not [details for details in kept if any(text and text in str(details) for text in texts)]


START = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.fixture
def told(store):
    with store.writing() as connection:
        responses = [
            Response(source=source, external_id="chat-1", query="q", answer="a")
            for source in ("a", "b")
        ]
        ids = store_responses(connection, responses).new
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
    with told.reading() as connection:
        events = latest_events(connection, EventFilter(kind="undo", actor="bob"), limit=3)
        assert [event.details["n"] for event in events] == [115, 109, 103]
        older = latest_events(
            connection, EventFilter(kind="undo", actor="bob"), limit=1, before_id=events[0].id
        )
        assert older == events[1:2]
        late = latest_events(connection, EventFilter(since=START + timedelta(days=118)), limit=50)
        assert [event.details["n"] for event in late] == [119, 118]
        about = latest_events(connection, EventFilter(response="chat-1"), limit=50)
        assert [event.details["n"] for event in about] == [3, 2, 1, 0]
        assert latest_events(connection, EventFilter(response="chat-2"), limit=50) == ()

"""Who may do what is asked where the change is made; a refusal changes nothing and leaves an event."""

from datetime import UTC, datetime

import pytest
from sqlalchemy import insert

import judgeboard
from engines import on_sqlite
from judgeboard import Decision, Grade, RowFilter
from judgeboard.domain import ROLES, Action, Role
from judgeboard.errors import BadInput, NotAllowed
from judgeboard.imports.importing import import_file
from judgeboard.people.permissions import allowed, check_allowed, may, require, role_words, why_not
from judgeboard.people.roster import add_person, change_role, ensure_reviewer, remove_person
from judgeboard.runs.jobs import cancel_job, job_progress, request_rejudge
from judgeboard.runs.judging import judge_pending
from judgeboard.store.events import EventFilter, latest_events
from judgeboard.store.judge_versions import ensure_version
from judgeboard.store.reviewers import change_reviewer, store_reviewer
from judgeboard.store.tables import EVENT, SETTING, Reviewer
from judging_log import store_answers
from pair_log import add_pairs
from stored_rows import columns, read, rows_of, write_to
from written_tables import written_tables


def person(store, role, name="ann@example.org"):
    return write_to(store, store_reviewer, "oidc", name, role=role)


def events(store):
    return columns(rows_of(store, EVENT), "kind", "actor", "details")


def change_and_ask_for_more(store, who):
    with allowed(store, who, Action.CHANGE_SETTINGS) as connection:
        row = {"key": "low_quality", "value": 1, "by": who.name, "at": datetime.now(UTC)}
        connection.execute(insert(SETTING), row)
        require(connection, who, Action.RETIRE_VERSIONS)


@pytest.mark.parametrize("role", Role)
def test_who_signs_in_may_do_what_their_role_says_and_no_more(sqlite_store, role):
    ann = person(sqlite_store, role)
    refused = []
    for action in Action:
        assert may(ann, action) is (action in role.actions)
        if action in role.actions:
            with allowed(sqlite_store, ann, action):
                pass
            check_allowed(sqlite_store, ann, action)
        else:
            refusal = pytest.raises(NotAllowed, match="Ask an admin")
            with refusal, allowed(sqlite_store, ann, action):
                raise AssertionError("the body of a refused change runs")
            with pytest.raises(NotAllowed, match="Ask an admin"):
                check_allowed(sqlite_store, ann, action)
            refused += [("refused", ann.name, {"action": action.value, "role": role.value})] * 2
        assert events(sqlite_store) == refused


def test_roles_allow_sets_of_actions():
    viewer, reviewer, lead = Role.VIEWER.actions, Role.REVIEWER.actions, Role.LEAD.actions
    assert set() == Role.NONE.actions < viewer < reviewer < lead < Role.ADMIN.actions == {*Action}
    assert all(action.words for action in Action)
    assert list(ROLES) == [Role.VIEWER, Role.AUDITOR, Role.REVIEWER, Role.LEAD, Role.ADMIN]


def test_an_auditor_sees_what_leads_see_and_changes_nothing():
    assert Role.AUDITOR.actions == {Action.SEE_PAGES, Action.SEE_MANAGED}
    assert Role.AUDITOR.actions < Role.LEAD.actions
    assert role_words(Role.AUDITOR).startswith("Auditor: ")
    auditor = Reviewer(origin="oidc", name="ann@example.org", role=Role.AUDITOR)
    assert all(word in why_not(Action.REVIEW, auditor) for word in ("auditor", "admin"))


@on_sqlite
def test_the_role_is_read_again_in_the_transaction_and_not_what_a_session_remembers(store):
    remembered = person(store, Role.ADMIN)
    write_to(store, change_reviewer, remembered, role=Role.REVIEWER)
    refused = pytest.raises(NotAllowed, match=r"admins; .*reviewer")
    with refused, allowed(store, remembered, Action.MANAGE_PEOPLE):
        pass
    with refused, allowed(store, remembered) as connection:
        require(connection, remembered, Action.MANAGE_PEOPLE)
    with allowed(store, remembered, Action.REVIEW):
        pass


def test_a_refusal_half_way_takes_the_change_back_and_keeps_the_event(store):
    ann = person(store, Role.LEAD)
    with pytest.raises(NotAllowed):
        change_and_ask_for_more(store, ann)
    assert rows_of(store, SETTING) == []
    assert [(kind, actor) for kind, actor, _ in events(store)] == [("refused", ann.name)]


def test_an_error_of_the_change_itself_is_no_refusal(sqlite_store):
    ann = person(sqlite_store, Role.LEAD)
    with pytest.raises(BadInput), allowed(sqlite_store, ann, Action.CHANGE_SETTINGS):
        raise BadInput("no such thing")
    assert events(sqlite_store) == []


@pytest.mark.parametrize("origin", ["page", "cli"])
def test_without_sign_in_everyone_is_admin_of_their_own_case(sqlite_store, origin):
    mara = ensure_reviewer(sqlite_store, origin, "Mara")
    for action in Action:
        with allowed(sqlite_store, mara, action):
            assert may(mara, action)


def test_the_author_of_imported_grades_and_a_person_who_is_not_there_may_nothing(sqlite_store):
    author = ensure_reviewer(sqlite_store, "import", "Mara")
    nobody = Reviewer(id=10**6, origin="page", name="Nobody", role=Role.ADMIN)
    for who in (author, nobody):
        with pytest.raises(NotAllowed), allowed(sqlite_store, who, Action.REVIEW):
            pass


def test_a_program_with_the_database_in_its_hands_is_not_asked(sqlite_store):
    with allowed(sqlite_store, "cli:mara", Action.RETIRE_VERSIONS):
        pass
    assert events(sqlite_store) == []


def test_the_environment_names_the_first_admin_whatever_is_stored(sqlite_store, monkeypatch):
    ann = person(sqlite_store, Role.NONE)
    monkeypatch.setenv("JUDGEBOARD_ADMIN", "Ann@Example.org")
    with allowed(sqlite_store, ann, Action.MANAGE_PEOPLE):
        assert may(ann, Action.MANAGE_PEOPLE)
    monkeypatch.delenv("JUDGEBOARD_ADMIN")
    assert not may(ann, Action.REVIEW)


def test_the_address_in_the_environment_makes_nobody_admin_who_did_not_sign_in(
    sqlite_store, monkeypatch
):
    monkeypatch.setenv("JUDGEBOARD_ADMIN", "ann@example.org")
    assert not may(ensure_reviewer(sqlite_store, "import", "ann@example.org"), Action.REVIEW)


def test_nobody_becomes_a_person_who_signs_in_by_being_named(sqlite_store):
    with pytest.raises(BadInput, match="judgeboard people add"):
        ensure_reviewer(sqlite_store, "oidc", "eve@example.org")


LEXICAL = {"kind": "lexical"}
FIRST = {"kind": "lexical", "name": "first"}
ROOT = "cli:root"


@pytest.fixture
def log(sqlite_store):
    store_answers(sqlite_store, 3)
    add_pairs(sqlite_store, 1)
    judgeboard.change_settings(sqlite_store, {"random_share": 1.0}, ROOT)
    for name in ("first", "second"):
        judge_pending(sqlite_store, judgeboard.make_judge("lexical", name=name))
    judgeboard.raise_flags(sqlite_store)
    return sqlite_store


@pytest.fixture
def bob(log):
    return add_person(log, "bob@example.org", Role.REVIEWER, ROOT)


def bring_in(store, who, folder):
    file = folder / "answers.jsonl"
    file.write_text('{"query": "Who?", "answer": "Nobody."}\n')
    import_file(store, file, actor=who)


def rejudge(store, who, judge=LEXICAL, **where):
    return request_rejudge(store, judge=judge, where=RowFilter(**where), actor=who)


def submit(store, who, **given):
    judgeboard.submit(store, judgeboard.Submission(reviewer=who, request_key="k", **given))


OF_LEADS = {
    "change_settings": lambda store, who, _: judgeboard.change_settings(
        store, {"low_quality": 1}, who
    ),
    "change_settings by the rules": lambda store, who, _: judgeboard.raise_flags(store, actor=who),
    "import": bring_in,
    "rejudge_many": lambda store, who, _: rejudge(store, who),
    "rejudge_many by ids": lambda store, who, _: rejudge(store, who, response_ids=(1, 2)),
    "choose_judge": lambda store, who, _: rejudge(store, who, response_ids=(1,)),
    "retire_versions": lambda store, who, _: judgeboard.retire_version(store, "second", who),
    "manage_people": lambda store, who, _: change_role(store, who.name, Role.ADMIN, who),
}
OF_REVIEWERS = {
    "decide": lambda store, who, _: submit(store, who, flag_id=1, decision=Decision.CONFIRM),
    "grade": lambda store, who, _: submit(store, who, response_id=1, grade=Grade(quality=1)),
    "rejudge_one": lambda store, who, _: rejudge(store, who, FIRST, response_ids=(1,)),
}


def refused(store, change, who, folder):
    with written_tables(store) as transactions, pytest.raises(NotAllowed):
        change(store, who, folder)
    assert transactions == [{"event"}]
    of_person = EventFilter(kind="refused", actor=who.name)
    return [event.details["action"] for event in read(store, latest_events, of_person, limit=10)]


@pytest.mark.parametrize("name", OF_LEADS)
def test_a_reviewer_may_not_do_what_leads_and_admins_do(log, bob, tmp_path, name):
    assert refused(log, OF_LEADS[name], bob, tmp_path) == [name.split(maxsplit=1)[0]]


@pytest.mark.parametrize("name", [*OF_LEADS, *OF_REVIEWERS])
def test_who_was_removed_may_do_nothing_whatever_their_session_remembers(log, bob, tmp_path, name):
    change_role(log, bob.name, Role.ADMIN, ROOT)
    add_person(log, "ann@example.org", Role.ADMIN, ROOT)
    remembered = bob.changed(role=Role.ADMIN)
    remove_person(log, bob.name, ROOT)
    assert len(refused(log, (OF_LEADS | OF_REVIEWERS)[name], remembered, tmp_path)) == 1


@pytest.mark.parametrize(
    "name", [name for name in OF_LEADS if name not in {"retire_versions", "manage_people"}]
)
def test_a_lead_may(log, bob, tmp_path, name):
    change_role(log, bob.name, Role.LEAD, ROOT)
    OF_LEADS[name](log, bob, tmp_path)


def test_a_reviewer_has_one_answer_judged_again_and_the_job_keeps_to_it(log, bob):
    job = rejudge(log, bob, FIRST, ids=("1",))
    assert len(job_progress(log, job).where.response_ids) == 1
    cancel_job(log, job, bob)


@pytest.mark.parametrize(
    "own",
    [
        {"base_url": "http://127.0.0.1:9/v1"},
        {"domain": "rocks"},
        {"model": "another"},
        {"name": "other"},
    ],
)
def test_a_reviewer_cannot_have_the_primary_judge_speak_from_elsewhere_or_otherwise(
    log, bob, tmp_path, own
):
    as_a_lead_asks = {"kind": "rag", "model": "m"}
    write_to(log, ensure_version, judgeboard.make_judge(**as_a_lead_asks, api_key="none").version)

    def ask(store, who, _):
        return rejudge(store, who, as_a_lead_asks | own, response_ids=(1,))

    assert refused(log, ask, bob, tmp_path) == ["choose_judge"]
    change_role(log, bob.name, Role.LEAD, ROOT)
    ask(log, bob, tmp_path)


def test_the_event_of_a_refusal_names_the_answer(log):
    ann = person(log, Role.VIEWER)
    with pytest.raises(NotAllowed), allowed(log, ann, Action.REVIEW, response_id=2):
        pass
    assert rows_of(log, EVENT)[-1]["response_id"] == 2


def test_a_reviewer_stops_no_job_of_somebody_else(log, bob, tmp_path):
    job = rejudge(log, ROOT)

    def cancel(store, who, _):
        cancel_job(store, job, who)

    assert refused(log, cancel, bob, tmp_path) == ["cancel_jobs"]
    assert job_progress(log, job).state != "cancelled"

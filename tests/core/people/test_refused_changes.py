"""What is not for a role is refused where it is made, changes nothing, and leaves an event."""

from collections.abc import Callable
from pathlib import Path

import pytest

import judgeboard
from judgeboard import Decision, Grade, Preference, RowFilter, Shown
from judgeboard.domain import Role
from judgeboard.errors import NotAllowed
from judgeboard.people.roster import add_person, change_role, remove_person
from judgeboard.runs.jobs import cancel_job, job_progress, request_rejudge
from judgeboard.store.engine import Store
from judgeboard.store.events import EventFilter, latest_events
from judgeboard.store.judge_versions import ensure_version
from judgeboard.store.reviewers import Reviewer
from judging_log import store_answers
from pair_log import add_pairs
from written_tables import written_tables

LEXICAL = {"kind": "lexical"}
FIRST = {"kind": "lexical", "name": "first"}


@pytest.fixture
def log(sqlite_store: Store) -> Store:
    store_answers(sqlite_store, 3)
    add_pairs(sqlite_store, 1)
    judgeboard.change_settings(sqlite_store, {"random_share": 1.0}, "cli:root")
    for name in ("first", "second"):
        judgeboard.judge_pending(sqlite_store, judgeboard.make_judge("lexical", name=name))
    judgeboard.raise_flags(sqlite_store)
    return sqlite_store


@pytest.fixture
def bob(log: Store) -> Reviewer:
    return add_person(log, "bob@example.org", Role.REVIEWER, "cli:root")


def bring_in(store: Store, who: Reviewer, folder: Path) -> None:
    file = folder / "answers.jsonl"
    file.write_text('{"query": "Who?", "answer": "Nobody."}\n')
    judgeboard.import_file(store, file, actor=who)


Change = Callable[[Store, Reviewer, Path], object]
OF_LEADS: dict[str, Change] = {
    "change_settings": lambda store, who, _: judgeboard.change_settings(store, {"low_quality": 1}, who),
    "change_settings by the rules": lambda store, who, _: judgeboard.raise_flags(store, actor=who),
    "import": bring_in,
    "rejudge_many": lambda store, who, _: request_rejudge(store, judge=LEXICAL, actor=who),
    "rejudge_many by ids": lambda store, who, _: request_rejudge(
        store, judge=LEXICAL, where=RowFilter(response_ids=(1, 2)), actor=who
    ),
    "choose_judge": lambda store, who, _: request_rejudge(
        store, judge=LEXICAL, where=RowFilter(response_ids=(1,)), actor=who
    ),
    "retire_versions": lambda store, who, _: judgeboard.retire_version(store, "second", who),
    "manage_people": lambda store, who, _: change_role(store, who.name, Role.ADMIN, who),
}
OF_REVIEWERS: dict[str, Change] = {
    "decide": lambda store, who, _: judgeboard.decide(
        store, flag_id=1, reviewer=who, decision=Decision.CONFIRM, request_key="k"
    ),
    "grade": lambda store, who, _: judgeboard.grade(
        store, response_id=1, reviewer=who, grade=Grade(quality=1), request_key="k"
    ),
    "prefer": lambda store, who, _: judgeboard.prefer(
        store, pair_id=1, reviewer=who, preference=Preference.A, shown=Shown.AB, request_key="k"
    ),
    "rejudge_one": lambda store, who, _: request_rejudge(
        store, judge=FIRST, where=RowFilter(response_ids=(1,)), actor=who
    ),
}


def refused(store: Store, change: Change, who: Reviewer, folder: Path) -> list[str]:
    with written_tables(store) as transactions, pytest.raises(NotAllowed):
        change(store, who, folder)
    assert transactions == [{"event"}]
    with store.reading() as connection:
        return [
            event.details["action"]
            for event in latest_events(connection, EventFilter(kind="refused", actor=who.name), limit=10)
        ]


@pytest.mark.parametrize("name", OF_LEADS)
def test_a_reviewer_may_not_do_what_leads_and_admins_do(log: Store, bob: Reviewer, tmp_path: Path, name: str) -> None:
    assert refused(log, OF_LEADS[name], bob, tmp_path) == [name.split(maxsplit=1)[0]]


@pytest.mark.parametrize("name", [*OF_LEADS, *OF_REVIEWERS])
def test_who_was_removed_may_do_nothing_whatever_their_session_remembers(
    log: Store, bob: Reviewer, tmp_path: Path, name: str
) -> None:
    change_role(log, bob.name, Role.ADMIN, "cli:root")
    add_person(log, "ann@example.org", Role.ADMIN, "cli:root")
    remembered = Reviewer(bob.id, bob.origin, bob.name, Role.ADMIN)
    remove_person(log, bob.name, "cli:root")
    assert len(refused(log, (OF_LEADS | OF_REVIEWERS)[name], remembered, tmp_path)) == 1


@pytest.mark.parametrize("name", [name for name in OF_LEADS if name not in {"retire_versions", "manage_people"}])
def test_a_lead_may(log: Store, bob: Reviewer, tmp_path: Path, name: str) -> None:
    change_role(log, bob.name, Role.LEAD, "cli:root")
    OF_LEADS[name](log, bob, tmp_path)


def test_a_reviewer_has_one_answer_judged_again_and_the_job_keeps_to_it(log: Store, bob: Reviewer) -> None:
    job = request_rejudge(log, judge=FIRST, where=RowFilter(ids=("1",)), actor=bob)
    assert len(job_progress(log, job).where.response_ids or ()) == 1
    cancel_job(log, job, bob)


@pytest.mark.parametrize(
    "own", [{"base_url": "http://127.0.0.1:9/v1"}, {"domain": "rocks"}, {"model": "another"}, {"name": "other"}]
)
def test_a_reviewer_cannot_have_the_primary_judge_speak_from_elsewhere_or_otherwise(
    log: Store, bob: Reviewer, tmp_path: Path, own: dict[str, str]
) -> None:
    as_a_lead_asks = {"kind": "rag", "model": "m"}
    with log.writing() as connection:
        ensure_version(connection, judgeboard.make_judge(**as_a_lead_asks, api_key="none").version)

    def ask(store: Store, who: Reviewer, _: Path) -> str:
        return request_rejudge(store, judge=as_a_lead_asks | own, where=RowFilter(response_ids=(1,)), actor=who)

    assert refused(log, ask, bob, tmp_path) == ["choose_judge"]
    change_role(log, bob.name, Role.LEAD, "cli:root")
    ask(log, bob, tmp_path)


def test_a_reviewer_stops_no_job_of_somebody_else(log: Store, bob: Reviewer, tmp_path: Path) -> None:
    job = request_rejudge(log, judge=LEXICAL, actor="cli:root")
    assert refused(log, lambda store, who, _: cancel_job(store, job, who), bob, tmp_path) == ["cancel_jobs"]
    assert job_progress(log, job).state != "cancelled"

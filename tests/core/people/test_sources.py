"""A person with limited sources changes nothing of other sources, and can start nothing that reaches all answers."""

from contextlib import suppress

import pytest

from judgeboard.domain import OF_ONE_ANSWER, Action, Decision, Grade, Label, Role
from judgeboard.errors import BadInput, NotAllowed, NotFound
from judgeboard.people.permissions import may
from judgeboard.people.roster import add_person, link_person, seen_by_user, set_sources
from judgeboard.reviews.bulk import decide_many
from judgeboard.reviews.changes import comment, undo
from judgeboard.reviews.issues import save_issue
from judgeboard.reviews.leases import next_item, take_item
from judgeboard.reviews.queues import create_queue
from judgeboard.reviews.submissions import Submission, submit
from judgeboard.runs.jobs import request_rejudge
from judgeboard.store.events import EventFilter, latest_events
from judgeboard.store.filters import RowFilter
from judgeboard.store.hidden_rows import Seen
from judgeboard.store.queues import list_queues, new_queue
from judgeboard.store.reviewers import reviewer_by_id
from judgeboard.store.tables import COMMENT, FLAG, JOB, LEASE, QUEUE_ITEM, REVIEW, Issue
from stored_rows import columns, read, rows_of
from two_sources import MARKED, MINE, two_sources

ANN = "ann@example.org"


@pytest.fixture
def case(store):
    return two_sources(store)


@pytest.fixture
def mara(case):
    return read(case.store, reviewer_by_id, case.mara.id)


def test_nothing_is_stored_about_an_answer_of_another_source(case, mara):
    store, marked = case.store, case.marked
    items = dict(columns(rows_of(store, QUEUE_ITEM), "response_id", "id"))
    reviews = dict(columns(rows_of(store, REVIEW), "response_id", "id"))
    one = marked.response_id
    item_id, review_id = items[one], reviews[one]
    by_mara = {"reviewer": mara, "request_key": "k"}
    before = [rows_of(store, table) for table in (REVIEW, COMMENT, LEASE)]
    for about in (
        {"response_id": one},
        {"flag_id": marked.flag_id, "decision": Decision.CONFIRM},
        {"changes": review_id},
        {"token": f"{item_id}.x"},
        {"item_id": item_id, "decision": Decision.CONFIRM},
    ):
        with pytest.raises(NotFound):
            submit(store, Submission(**by_mara, **about, grade=Grade(note="a note")))
    for attempt in (
        lambda: comment(store, **by_mara, text="t", response_id=one),
        lambda: comment(store, **by_mara, text="t", replaces=case.comment_id),
        lambda: take_item(store, item_id, mara),
        lambda: undo(store, **by_mara, review_id=review_id),
    ):
        with pytest.raises(NotFound):
            attempt()
    with suppress(NotAllowed):
        where = RowFilter(response_ids=(one,))
        request_rejudge(store, judge={"kind": "lexical"}, where=where, actor=mara)
    selected = [each["filter"].get("where", {}).get("response_ids") for each in rows_of(store, JOB)]
    assert [one] not in selected
    assert [rows_of(store, table) for table in (REVIEW, COMMENT, LEASE)] == before


def test_an_own_answer_is_reviewed_also_if_it_is_in_a_queue_of_several_sources(case, mara):
    store = case.store
    assert [queue.name for queue in read(Seen(store, mara.id), list_queues)] == ["mine"]
    lease = next_item(store, "mine", mara)
    assert lease.response_id == 1
    say = {"reviewer": mara, "request_key": "k", "decision": Decision.CONFIRM}
    grade = Grade(groundedness=0.2, label=Label.GROUNDED)
    assert submit(store, Submission(**say, token=lease.token, grade=grade)).review_id
    assert next_item(store, "mark-queue", mara) is None
    mixed = next_item(store, "mark-mixed", mara)
    assert mixed is None or mixed.response_id == 1


def test_a_lead_of_some_sources_can_start_nothing_that_reaches_all(case):
    store = case.store
    add_person(store, ANN, Role.LEAD, "cli:root")
    lead = set_sources(store, ANN, MINE, "cli:root")
    assert {each for each in Action if may(lead, each)} == OF_ONE_ANSWER
    for act in (
        lambda: create_queue(store, new_queue("q", RowFilter(sources=MINE)), by=lead),
        lambda: save_issue(store, Issue(title="t", filter=RowFilter()), by=lead),
        lambda: set_sources(store, ANN, None, lead),
    ):
        with pytest.raises(NotAllowed):
            act()
    refused = read(store, latest_events, EventFilter("refused"), limit=9)
    assert {each.actor for each in refused} == {ANN}


def test_a_queue_of_other_sources_is_not_assigned_to_a_person_who_cannot_see_it(case):
    def create(where):
        create_queue(case.store, new_queue("new", where), by="cli:test", assigned=(case.mara,))

    for where in (RowFilter(), RowFilter(sources=(*MINE, MARKED))):
        with pytest.raises(BadInput, match="Mara"):
            create(where)
    create(RowFilter(sources=MINE))


def test_sources_are_given_by_admins_and_apply_to_terminals_that_are_linked(case):
    store = case.store
    link_person(store, "cli:mara", "Mara", "cli:root")
    said = []
    with seen_by_user(store, "cli:mara", said.append).reading() as connection:
        assert {each.source for each in connection.execute(FLAG.select())} <= set(MINE)
    lead = add_person(store, ANN, Role.LEAD, "cli:root")
    for name, sources, by, refusal in (
        ("Mara", None, lead, NotAllowed),
        ("nobody", ["log"], "cli:root", NotFound),
        ("Mara", ["  "], "cli:root", BadInput),
    ):
        with pytest.raises(refusal):
            set_sources(store, name, sources, by)
    assert set_sources(store, "Mara", None, "cli:root").sources is None
    [event, *_] = read(store, latest_events, EventFilter("change_sources"), limit=9)
    assert event.details["sources"] is None


def test_bulk_actions_leave_out_other_sources(case, mara):
    store, marked = case.store, case.marked
    ids = (1, marked.response_id)
    decide_many(store, ids, reviewer=mara, decision=Decision.DISMISS, bulk_id="b")
    changed = {each["response_id"] for each in rows_of(store, REVIEW) if each["bulk"] == "b"}
    assert changed <= {1}


def test_a_source_that_nobody_gave_is_not_there_in_any_list(case):
    with Seen(case.store, case.mara.id).reading() as connection:
        sources = set(connection.scalars(FLAG.select().with_only_columns(FLAG.c.source)))
    assert MARKED not in sources

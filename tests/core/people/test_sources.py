"""A person with limited sources changes nothing of other sources, and can start nothing that reaches all answers."""

from contextlib import suppress
from dataclasses import replace

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
from stored_rows import columns, read, row_count, rows_of
from two_sources import MARKED, MINE, two_sources

ANN = "ann@example.org"


@pytest.fixture
def case(store):
    return two_sources(store)


def test_nothing_is_stored_about_an_answer_of_another_source(case):
    store, marked = case.store, case.marked
    mara = read(store, reviewer_by_id, case.mara.id)
    items = dict(columns(rows_of(store, QUEUE_ITEM), "response_id", "id"))
    reviews = dict(columns(rows_of(store, REVIEW), "response_id", "id"))
    say = Submission(reviewer=mara, request_key="k", grade=Grade(note="a note"))
    before = [row_count(store, table) for table in (REVIEW, COMMENT)]
    leases = rows_of(store, LEASE)
    attempts = [
        lambda: submit(store, replace(say, response_id=marked.response_id)),
        lambda: submit(store, replace(say, flag_id=marked.flag_id, decision=Decision.CONFIRM)),
        lambda: submit(store, replace(say, changes=reviews[marked.response_id])),
        lambda: submit(store, replace(say, token=f"{items[marked.response_id]}.x")),
        lambda: submit(
            store, replace(say, item_id=items[marked.response_id], decision=Decision.CONFIRM)
        ),
        lambda: comment(
            store, reviewer=mara, text="t", request_key="c", response_id=marked.response_id
        ),
        lambda: comment(store, reviewer=mara, text="t", request_key="d", replaces=case.comment_id),
        lambda: take_item(store, items[marked.response_id], mara),
        lambda: undo(store, review_id=reviews[marked.response_id], reviewer=mara, request_key="u"),
    ]
    for attempt in attempts:
        with pytest.raises(NotFound):
            attempt()
    with suppress(NotAllowed):
        request_rejudge(
            store,
            judge={"kind": "lexical"},
            where=RowFilter(response_ids=(marked.response_id,)),
            actor=mara,
        )
    selected = [each["filter"].get("where", {}).get("response_ids") for each in rows_of(store, JOB)]
    assert [marked.response_id] not in selected
    assert [row_count(store, table) for table in (REVIEW, COMMENT)] == before
    assert rows_of(store, LEASE) == leases


def test_an_own_answer_is_reviewed_also_if_it_is_in_a_queue_of_several_sources(case):
    store = case.store
    mara = read(store, reviewer_by_id, case.mara.id)
    assert [queue.name for queue in read(Seen(store, mara.id), list_queues)] == ["mine"]
    lease = next_item(store, "mine", mara)
    assert lease.response_id == 1
    say = Submission(reviewer=mara, request_key="k", decision=Decision.CONFIRM, token=lease.token)
    assert submit(
        store, replace(say, grade=Grade(groundedness=0.2, label=Label.GROUNDED))
    ).review_id
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
    for where in (RowFilter(), RowFilter(sources=(*MINE, MARKED))):
        with pytest.raises(BadInput, match="Mara"):
            create_queue(case.store, new_queue("new", where), by="cli:test", assigned=(case.mara,))
    own = new_queue("new", RowFilter(sources=MINE))
    create_queue(case.store, own, by="cli:test", assigned=(case.mara,))


def test_sources_are_given_by_admins_and_apply_to_terminals_that_are_linked(case):
    store = case.store
    link_person(store, "cli:mara", "Mara", "cli:root")
    said = []
    with seen_by_user(store, "cli:mara", said.append).reading() as connection:
        assert {each.source for each in connection.execute(FLAG.select())} <= set(MINE)
    lead = add_person(store, ANN, Role.LEAD, "cli:root")
    with pytest.raises(NotAllowed):
        set_sources(store, "Mara", None, lead)
    with pytest.raises(NotFound):
        set_sources(store, "nobody", ["log"], "cli:root")
    with pytest.raises(BadInput):
        set_sources(store, "Mara", ["  "], "cli:root")
    assert set_sources(store, "Mara", None, "cli:root").sources is None
    [event, *_] = read(store, latest_events, EventFilter("change_sources"), limit=9)
    assert event.details["sources"] is None


def test_bulk_actions_leave_out_other_sources(case):
    store, marked = case.store, case.marked
    mara = read(store, reviewer_by_id, case.mara.id)
    done = decide_many(
        store,
        (1, marked.response_id),
        reviewer=mara,
        decision=Decision.DISMISS,
        bulk_id="b",
    )
    changed = {each["response_id"] for each in rows_of(store, REVIEW) if each["bulk"] == "b"}
    assert changed <= {1}
    assert done is not None


def test_a_source_that_nobody_gave_is_not_there_in_any_list(case):
    with Seen(case.store, case.mara.id).reading() as connection:
        sources = set(connection.scalars(FLAG.select().with_only_columns(FLAG.c.source)))
    assert MARKED not in sources

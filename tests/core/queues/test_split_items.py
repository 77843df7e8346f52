"""Split items: listed for leads page by page, shown with all that was said, and to their reviewers afterwards."""

import pytest

from judgeboard.domain import Grade, ItemState, Preference, QueueOrder, Role, Stage
from judgeboard.errors import NotAllowed, NotFound
from judgeboard.reviews.conflicts import load_split, own_splits, split_items
from judgeboard.reviews.leases import skip
from judgeboard.reviews.queue_decisions import adjudicate, decide_item
from judgeboard.reviews.queues import close_queue
from judgeboard.store.reviewers import Reviewer, store_reviewer
from pair_log import add_pairs
from queue_desk import CONFIRM, DISMISS, UNSURE, QueueDesk


def split(desk: QueueDesk, name: str = "q") -> int:
    """Let Mara and Jon differ on the next item."""
    desk.review(desk.mara, CONFIRM, name, quality=1, note="made up")
    return desk.review(desk.jon, DISMISS, name, quality=4, note="it is there").item_id


def signed_in(desk: QueueDesk, name: str, role: Role = Role.REVIEWER) -> Reviewer:
    with desk.store.writing() as connection:
        return store_reviewer(connection, "oidc", f"{name}@example.org", role=role)


def test_splits_are_listed_a_page_at_a_time_with_what_they_differ_on(desk) -> None:
    desk.flagged(0.1, 0.2, 0.3, 0.4)
    desk.queue(needed=2)
    items = [split(desk) for _ in range(3)]
    desk.review(desk.mara)
    with desk.store.reading() as connection:
        first = split_items(connection, limit=2)
        last = split_items(connection, "q", after=first.next, limit=2)
    assert [line.item.item_id for page in (first, last) for line in page.lines] == sorted(items)
    assert (first.next, last.next) == (sorted(items)[1], None)
    line = first.lines[0]
    assert (line.differ_on, line.reviews) == (("decision", "quality"), 2)
    assert (line.item.queue, line.item.external_id, line.item.question) == ("q", "a0", "q?")


def test_those_of_a_closed_queue_are_listed_where_it_is_named(desk) -> None:
    desk.flagged(0.1)
    desk.queue(needed=2)
    item = split(desk)
    close_queue(desk.store, "q", by=desk.lead, now=desk.now)
    with desk.store.reading() as connection:
        assert split_items(connection).lines == ()
        assert [line.item.item_id for line in split_items(connection, "q").lines] == [item]
        with pytest.raises(NotFound):
            split_items(connection, "none")


def test_a_split_is_shown_with_every_review_its_note_and_who_put_it_aside(desk) -> None:
    desk.flagged(0.1)
    desk.queue(needed=2, blind_judge=True, order=QueueOrder.OLDEST)
    skip(desk.store, desk.held(desk.ada).token, desk.ada, reason="too long", now=desk.now)
    item = split(desk)
    with desk.store.reading() as connection:
        shown = load_split(connection, item, desk.lead)
    assert [(word.reviewer, word.decision, word.note) for word in shown.reviews] == [
        ("Mara", "confirm", "made up"),
        ("Jon", "dismiss", "it is there"),
    ]
    assert shown.answer is not None
    assert (shown.answer.answer, shown.differ_on) == ("answer a0", ("decision", "quality"))
    assert [(one.reviewer_id, one.reason) for one in shown.skips] == [(desk.ada.id, "too long")]
    assert shown.adjudication is None
    desk.adjudicate(item, DISMISS, quality=4)
    with desk.store.reading() as connection:
        after = load_split(connection, item, desk.lead)
    assert after.differ_on == shown.differ_on
    assert after.adjudication is not None
    assert (after.adjudication.stage, after.adjudication.note) == (Stage.ADJUDICATION, "why")


def test_all_unsure_is_listed_as_such(desk) -> None:
    desk.flagged(0.1)
    desk.queue(needed=2)
    for who in (desk.mara, desk.jon):
        desk.review(who, UNSURE)
    with desk.store.reading() as connection:
        (line,) = split_items(connection).lines
    assert line.differ_on == ("all unsure",)


def test_reviewers_see_what_others_said_once_it_is_adjudicated_and_only_where_they_spoke(desk) -> None:
    desk.flagged(0.1)
    desk.mara = signed_in(desk, "mara")
    other = signed_in(desk, "other")
    desk.queue(needed=2)
    item = split(desk)
    with desk.store.reading() as connection:
        (own,) = own_splits(connection, desk.mara.id).lines
        assert (own.item.item_id, own.item.state) == (item, ItemState.SPLIT)
        assert own_splits(connection, other.id).lines == ()
        with pytest.raises(NotAllowed, match="once a lead has decided"):
            load_split(connection, item, desk.mara)
    desk.adjudicate(item)
    with desk.store.reading() as connection:
        assert len(load_split(connection, item, desk.mara).reviews) == 3
        assert [line.item.state for line in own_splits(connection, desk.mara.id).lines] == [ItemState.ADJUDICATED]
        with pytest.raises(NotAllowed):
            load_split(connection, item, other)


def test_a_lead_who_is_to_review_the_answer_blind_does_that_first(desk) -> None:
    desk.flagged(0.1)
    desk.queue(needed=2)
    desk.queue("blind", blind_judge=True, order=QueueOrder.OLDEST, assigned=(desk.lead,))
    item = split(desk)
    with desk.store.reading() as connection, pytest.raises(NotAllowed, match="do that first"):
        load_split(connection, item, desk.lead)
    desk.review(desk.lead, CONFIRM, "blind")
    with desk.store.reading() as connection:
        assert len(load_split(connection, item, desk.lead).reviews) == 2
        with pytest.raises(NotFound):
            load_split(connection, 999, desk.lead)


def test_a_pair_is_shown_as_stored_with_both_preferences(desk) -> None:
    add_pairs(desk.store, 1)
    desk.queue(subject="pairs", needed=2, order=QueueOrder.OLDEST)
    for who, preference in ((desk.mara, Preference.A), (desk.jon, Preference.B)):
        held = desk.held(who)
        decide_item(desk.store, held.token, reviewer=who, decision=preference, request_key=who.name, now=desk.now)
    with desk.store.reading() as connection:
        (line,) = split_items(connection).lines
        shown = load_split(connection, line.item.item_id, desk.lead)
    assert (line.item.question, line.item.external_id, line.differ_on) == ("Which, 0?", None, ("decision",))
    assert shown.pair is not None
    assert (shown.pair.answer_a, [word.decision for word in shown.reviews]) == ("left-0", ["a", "b"])
    adjudicate(
        desk.store,
        line.item.item_id,
        by=desk.lead,
        decision=Preference.TIE,
        grade=Grade(note="equal"),
        request_key="k",
    )
    with desk.store.reading() as connection:
        assert split_items(connection).lines == ()
        assert [one.item.state for one in own_splits(connection, desk.jon.id).lines] == [ItemState.ADJUDICATED]

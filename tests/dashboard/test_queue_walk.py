"""Going through a queue: one item on the screen, the next one at hand, and what a press costs."""

from datetime import UTC, datetime, timedelta

import pytest

from judgeboard.domain import Decision, QueueOrder
from judgeboard.reviews.leases import release, take_item
from judgeboard.reviews.queues import close_queue
from judgeboard.store.engine import Store
from judgeboard.store.filters import RowFilter
from judgeboard_dashboard.review.drafts import Desk, Listing, QueueScreen
from judgeboard_dashboard.review.leases import AT_HAND, AWAKE, Walk, begin
from judgeboard_dashboard.review.queue_bar import QueuePresses, take_back
from judgeboard_dashboard.review.signals import primary_verdict
from query_plans import plans_of, statements_of
from queue_desk import QueueDesk, queue_desk

STATEMENTS_A_PRESS = 60
BLIND = {"blind_judge": True, "blind_people": True, "order": QueueOrder.OLDEST}


@pytest.fixture
def desk(store: Store) -> QueueDesk:
    made = queue_desk(store)
    made.now = datetime.now(UTC)
    return made


def presses(walk: Walk, here: Desk) -> QueuePresses:
    """What can be pressed on the item that stands on the screen, as the page binds it."""
    card = walk.card
    assert card is not None
    assert card.item is not None
    card.shown = True
    seen = primary_verdict(card.item)
    stage = "" if walk.reveal is None else "r"
    screen = QueueScreen(
        card.item.response_id,
        card.item.external_id,
        None,
        seen.id if seen else None,
        Listing(RowFilter(), ""),
        True,
        item_id=card.held.item_id,
        stage=stage,
    )
    return QueuePresses(walk.store, here, walk.reviewer, screen, lambda: 3.0, seen, walk=walk, card=card)


def press(walk: Walk, here: Desk, decision: Decision | None = Decision.CONFIRM) -> None:
    """Decide what is on the screen (after the reveal: None keeps), as the page does in one run."""
    bound = presses(walk, here)
    token = here.token(bound.screen.row)
    if walk.reveal is None:
        assert decision is not None
        bound.decide(decision, token)
    else:
        bound.answer(decision, token)
    walk.fill(1)
    if walk.card is not None:
        walk.card.shown = True
    walk.fill(AT_HAND)


def started(desk: QueueDesk, who=None, **rules) -> Walk:
    desk.queue(**rules)
    walk = begin(desk.store, "q", who or desk.mara)
    walk.fill(AT_HAND)
    return walk


@pytest.mark.parametrize("rules", [{}, BLIND | {"reveal": False}])
def test_a_press_sends_as_many_statements_in_a_long_queue_as_in_a_short_one(desk, rules) -> None:
    desk.flagged(*(0.1 + number / 1000 for number in range(120)))
    walk, here = started(desk, **rules), Desk()
    counts = []
    for place in range(30):
        with statements_of(desk.store) as sent:
            press(walk, here, (Decision.CONFIRM, Decision.DISMISS, Decision.UNSURE)[place % 3])
        counts.append(len(sent))
    assert walk.place == "31 of 120"
    assert max(counts[3:]) == max(counts[:3]), counts
    assert max(counts) <= STATEMENTS_A_PRESS, counts


def test_no_press_reads_all_that_waits_in_its_queue(sqlite_store) -> None:
    desk = queue_desk(sqlite_store)
    desk.flagged(*(0.1 + number / 1000 for number in range(10)))
    walk, here = started(desk), Desk()
    press(walk, here)
    with plans_of(sqlite_store) as plans:
        press(walk, here)
    steps = [step for plan in plans for step in plan.splitlines()]
    assert [step for step in steps if step.startswith("SCAN queue_item") or "ix_queue_item_state" in step] == []


def test_the_next_item_is_held_and_read_before_it_is_asked_for(desk) -> None:
    ids = desk.flagged(0.1, 0.2, 0.3)
    walk, here = started(desk), Desk()
    assert [card.item.response_id for card in walk.at_hand] == ids[:2]
    assert desk.held(desk.jon).response_id == ids[2]
    press(walk, here)
    assert walk.card.item.response_id == ids[1]
    assert walk.place == "2 of 3"


def test_after_a_blind_grade_the_judge_is_shown_and_keeping_stores_the_same_grade(desk) -> None:
    desk.flagged(0.42, 0.4)
    walk, here = started(desk, **BLIND), Desk()
    first = presses(walk, here)
    assert walk.card.item.currents == ()
    first.groundedness(0.5)
    press(walk, here, Decision.CONFIRM)
    assert walk.reveal is not None
    assert walk.reveal.card.item.currents[0].groundedness == 0.42
    assert here.draft(first.screen.response_id).groundedness == 0.5
    press(walk, here, None)
    assert walk.reveal is None
    assert here.said.startswith("Kept")
    assert [(row["stage"], row["groundedness"], row["decision"]) for row in desk.reviews()] == [
        ("blind", 0.5, "confirm"),
        ("revealed", 0.5, "confirm"),
    ]
    assert walk.card.item.currents == ()
    assert walk.place == "2 of 2"


def test_where_another_queue_keeps_the_judge_hidden_the_next_item_comes_and_nothing_is_asked_about_the_judge(
    desk,
) -> None:
    ids = desk.flagged(0.42, 0.4)
    desk.queue("other", assigned=(desk.mara,), **BLIND)
    walk, here = started(desk, **BLIND), Desk()
    press(walk, here)
    assert (walk.reveal, walk.card.item.response_id) == (None, ids[1])
    assert here.said.startswith("Saved")


def test_a_changed_grade_stands_beside_the_blind_one(desk) -> None:
    desk.flagged(0.42)
    walk, here = started(desk, **BLIND), Desk()
    presses(walk, here).groundedness(0.5)
    press(walk, here, Decision.CONFIRM)
    bound = presses(walk, here)
    bound.groundedness(1.0)
    assert walk.reveal.differs(here.draft(bound.screen.response_id))
    press(walk, here, Decision.DISMISS)
    assert [(row["stage"], row["groundedness"], row["decision"]) for row in desk.reviews()] == [
        ("blind", 0.5, "confirm"),
        ("revealed", 1.0, "dismiss"),
    ]
    assert walk.card is None


def test_an_item_that_somebody_else_has_by_now_is_refused_in_words_and_the_note_is_kept(desk) -> None:
    ids = desk.flagged(0.1, 0.2)
    walk, here = started(desk), Desk()
    here.draft(ids[0]).note = "typed for minutes"
    item_id = walk.card.held.item_id
    release(desk.store, walk.card.held.token, desk.mara)
    assert take_item(desk.store, item_id, desk.jon) is not None
    press(walk, here)
    assert here.refused
    assert here.said.startswith("Not saved: Your lease of this item ended, and somebody else has it now.")
    assert here.said.endswith("Your note is kept.")
    assert walk.card.item.response_id == ids[1]
    assert [(row["note"], row["decision"]) for row in desk.reviews()] == [("typed for minutes", None)]


def test_what_was_decided_in_another_window_does_not_come_to_the_screen(desk) -> None:
    ids = desk.flagged(0.1, 0.2, 0.3)
    walk, here = started(desk), Desk()
    other = begin(desk.store, "q", desk.mara)
    other.fill(AT_HAND)
    assert [card.held.token for card in other.at_hand] == [card.held.token for card in walk.at_hand]
    there = Desk()
    press(walk, here)
    press(walk, here)
    press(other, there)
    assert there.said == "Not saved: You decided this item already."
    assert other.card.item.response_id == ids[2], "the one after the two that the first window decided"
    press(other, there)
    assert [row["response_id"] for row in desk.reviews()] == ids


def test_undo_gives_the_item_back_with_what_was_given(desk) -> None:
    ids = desk.flagged(0.1, 0.2, 0.3)
    walk, here = started(desk), Desk()
    bound = presses(walk, here)
    bound.quality(2)
    here.draft(ids[0]).note = "too short"
    press(walk, here)
    take_back(walk, here, walk.said[-1], "key")
    assert walk.card.item.response_id == ids[0]
    draft = here.draft(ids[0])
    assert (draft.quality, draft.note) == (2, "too short")
    assert walk.place == "1 of 3"
    press(walk, here, Decision.DISMISS)
    assert [row["decision"] for row in desk.reviews()] == ["confirm", "withdrawn", "dismiss"]
    assert walk.card.item.response_id == ids[1]


def test_a_skipped_item_goes_to_others_with_its_reason(desk) -> None:
    ids = desk.flagged(0.1, 0.2)
    walk, here = started(desk), Desk()
    presses(walk, here).skip("in Welsh")
    walk.fill(AT_HAND)
    assert walk.card.item.response_id == ids[1]
    assert here.said == "Skipped a0: it waits for somebody else."
    assert desk.held(desk.jon).response_id == ids[0]


def test_what_is_held_is_renewed_while_somebody_is_there_and_given_back_when_they_leave(desk) -> None:
    desk.flagged(0.1, 0.2)
    walk = started(desk)
    walk.card.shown = True
    before = [card.until for card in walk.at_hand]
    now = before[0] - timedelta(minutes=1)
    walk.hold(datetime.now(UTC))
    assert [card.until for card in walk.at_hand] == before, "not on every press"
    walk.hold(now)
    assert all(card.until > until for card, until in zip(walk.at_hand, before, strict=True))
    walk.touch(now)
    assert walk.awake(now + AWAKE / 2)
    assert not walk.awake(now + AWAKE)
    assert desk.take(desk.jon) is None
    walk.let_go()
    assert desk.take(desk.jon) is not None


def test_an_item_held_too_long_is_taken_again_or_said_to_be_somebody_elses(desk) -> None:
    ids = desk.flagged(0.1, 0.2)
    walk, here = started(desk), Desk()
    bound = presses(walk, here)
    walk.card.until = datetime.now(UTC)
    walk.hold(datetime.now(UTC))
    assert walk.card.lapsed(datetime.now(UTC)), "its reader is asked first"
    bound.take_again()
    assert not walk.card.lapsed(datetime.now(UTC))
    release(desk.store, walk.card.held.token, desk.mara)
    assert take_item(desk.store, walk.card.held.item_id, desk.jon) is not None
    here.draft(ids[0]).note = "half of it"
    presses(walk, here).take_again()
    assert here.refused
    assert "kept" in here.said
    assert walk.card.item.response_id == ids[1]


def test_a_queue_that_is_closed_meanwhile_ends_with_a_sentence(desk) -> None:
    desk.flagged(0.1, 0.2)
    walk, here = started(desk), Desk()
    close_queue(desk.store, "q", by=desk.lead)
    press(walk, here)
    assert here.said == "Not saved: The queue q was closed meanwhile."
    assert walk.card is None  # what lay ahead is not shown as if it could be decided
    assert walk.closed == "the queue 'q' is closed"

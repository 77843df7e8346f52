"""How far a queue is, counted as one would by hand."""

from datetime import timedelta

import pytest

from judgeboard.domain import QueueOrder
from judgeboard.errors import NotFound
from judgeboard.reviews.leases import skip, take_item
from judgeboard.reviews.queue_decisions import decide_item
from judgeboard.reviews.queues import PersonProgress, QueueProgress, describe_rules, queue_progress
from judgeboard.store.filters import RowFilter
from queue_desk import CONFIRM, DISMISS, NOW, UNSURE, QueueDesk


def progress(desk: QueueDesk, name: str = "q") -> QueueProgress:
    with desk.store.reading() as connection:
        return queue_progress(connection, name, now=desk.now)


def of_person(desk: QueueDesk, name: str) -> PersonProgress:
    return next(one for one in progress(desk).people if one.reviewer.name == name)


def test_items_are_counted_by_what_became_of_them(desk) -> None:
    ids = desk.flagged(0.1, 0.12, 0.14, 0.16, 0.18, 0.2)
    desk.queue(needed=2)
    desk.review(desk.mara, CONFIRM)
    desk.review(desk.jon, CONFIRM)  # settled
    desk.review(desk.mara, CONFIRM)
    split = desk.review(desk.jon, DISMISS)
    desk.review(desk.mara, CONFIRM)
    desk.adjudicate(desk.review(desk.jon, DISMISS).item_id)
    desk.judge(ids[5], 0.9)  # stops matching, and leaves
    held = desk.held(desk.ada)
    desk.held(desk.jon)  # the same item
    found = progress(desk)
    counts = (found.items, found.waiting, found.leased, found.agreed, found.conflict, found.adjudicated, found.left)
    assert counts == (5, 1, 1, 1, 1, 1, 1)
    assert (found.reviews, found.reviews_needed, found.finished) == (6, 10, 2)
    assert (found.several, found.several_finished) == (5, 2)
    assert held.item_id != split.item_id
    desk.later(hours=1)
    assert (progress(desk).waiting, progress(desk).leased) == (2, 0)


def test_each_person_has_done_what_they_said_and_did_not_take_back(desk) -> None:
    desk.flagged(*(0.01 * n for n in range(1, 9)))
    desk.queue(assigned=(desk.mara, desk.ada))
    for number, (decision, seconds) in enumerate(((CONFIRM, 10.0), (UNSURE, 40.0), (DISMISS, 20.0), (DISMISS, None))):
        desk.later(minutes=1)
        said = decide_item(
            desk.store,
            desk.held(desk.mara).token,
            reviewer=desk.mara,
            decision=decision,
            seconds=seconds,
            request_key=f"{number}",
            now=desk.now,
        )
    desk.undo(said.review_id, desk.mara)
    held = desk.held(desk.mara)
    assert held.item_id == said.item_id
    for _ in range(2):
        again = take_item(desk.store, held.item_id, desk.mara, now=desk.now)
        assert again is not None
        skip(desk.store, again.token, desk.mara, now=desk.now)
    desk.held(desk.mara)
    mara, ada = of_person(desk, "Mara"), of_person(desk, "Ada")
    assert (mara.done, mara.unsure, mara.skipped, mara.leases, mara.median_seconds) == (3, 1, 1, 1, 20.0)
    assert mara.last == NOW + timedelta(minutes=3)
    assert (ada.assigned, ada.done, ada.median_seconds, ada.last) == (True, 0, None, None)
    assert [one.reviewer.name for one in progress(desk).people] == ["Mara", "Ada"]


@pytest.mark.parametrize(("seconds", "median"), [((5.0,), 5.0), ((5.0, 8.0), 6.5), ((9.0, 1.0, 5.0, 6.0), 5.5)])
def test_the_median_is_between_the_two_in_the_middle(seconds, median, desk) -> None:
    desk.flagged(*(0.1 for _ in seconds))
    desk.queue()
    for number, spent in enumerate(seconds):
        held = desk.held(desk.mara)
        decide_item(
            desk.store, held.token, reviewer=desk.mara, decision=CONFIRM, seconds=spent, request_key=f"{number}"
        )
    assert of_person(desk, "Mara").median_seconds == median


def test_a_mix_tells_how_many_were_drawn_and_how_many_are_wanting(desk) -> None:
    desk.flagged(0.1, 0.2, 0.3, 0.4)
    desk.queue(sampling_rate=0.5)
    found = progress(desk)
    assert (found.sampled, found.short) == (0, 4)


def test_the_rules_are_words_and_what_is_served_again_is_told_to_leads_alone(desk) -> None:
    made = desk.queue(
        where=RowFilter(query_types=("legal",)),
        order=QueueOrder.RANDOM,
        needed=3,
        overlap=0.2,
        blind_judge=True,
        blind_people=True,
        sampling_rate=0.1,
        repeat_rate=0.05,
        lease_seconds=300,
    )
    words = describe_rules(made.queue, for_lead=True)
    assert words == (
        "flagged answers: legal",
        "in random order",
        "3 reviews of 20 % of the answers, 1 of the others",
        "blind to other people and the judge; the judge is shown after the review",
        "asks for groundedness, quality",
        "10 % randomly sampled",
        "5 % repeats of the reviewer's own items after a week",
        "leased for 5 minutes",
    )
    assert set(words) - set(describe_rules(made.queue)) == {"5 % repeats of the reviewer's own items after a week"}


def test_a_queue_of_pairs_promises_no_look_at_the_judge(desk: QueueDesk) -> None:
    made = desk.queue("pairs", subject="pairs", order="oldest")
    assert "blind to other people and the judge" in describe_rules(made.queue)


def test_a_queue_that_is_not_there_is_said(desk) -> None:
    with pytest.raises(NotFound):
        progress(desk, "none")

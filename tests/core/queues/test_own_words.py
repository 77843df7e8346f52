"""One's own words in a queue: changed where they were not blind; comments wait for the blind."""

import pytest

from judgeboard.domain import Decision, Grade
from judgeboard.errors import DecisionRefused
from judgeboard.reviews.changes import Edited, comment, edit
from judgeboard.store.hidden_rows import Seen
from judgeboard.store.own_reviews import OwnReview, own_reviews_page
from judgeboard.store.reviewers import Reviewer
from judgeboard.store.reviews import comments_on
from queue_desk import CONFIRM, DISMISS, UNSURE, QueueDesk


def change(desk: QueueDesk, review_id: int, who: Reviewer, decision: Decision) -> Edited:
    return edit(
        desk.store,
        review_id=review_id,
        reviewer=who,
        decision=decision,
        grade=Grade(),
        request_key=f"key {next(desk.keys)}",
        now=desk.now,
    )


def own(desk: QueueDesk, who: Reviewer) -> list[OwnReview]:
    with Seen(desk.store, who.id).reading() as connection:
        return list(own_reviews_page(connection, who.id).lines)


def test_a_changed_word_moves_item_and_flag_along(desk: QueueDesk) -> None:
    desk.flagged(0.1)
    desk.queue(needed=2)
    first = desk.review(desk.mara, CONFIRM).review_id
    desk.review(desk.jon, DISMISS)
    assert (desk.item_states(), desk.flag_states()) == (["conflict"], ["open"])
    changed = change(desk, first, desk.mara, DISMISS)
    assert (desk.item_states(), desk.flag_states()) == (["agreed"], ["dismissed"])
    desk.undo(changed.review_id, desk.mara)
    assert (desk.item_states(), desk.flag_states()) == (["open"], ["open"])
    held = [lease for lease in desk.leases() if lease["reviewer_id"] == desk.mara.id]
    assert [lease["done"] for lease in held] == [False], "the place of an edited and undone review is theirs again"


def test_who_becomes_unsure_leaves_the_place_to_somebody_else(desk: QueueDesk) -> None:
    desk.flagged(0.1)
    desk.queue(needed=2)
    first = desk.review(desk.mara, CONFIRM).review_id
    desk.review(desk.jon, CONFIRM)
    change(desk, first, desk.mara, UNSURE)
    assert (desk.item_states(), desk.flag_states()) == (["open"], ["open"])
    desk.review(desk.ada, CONFIRM)
    assert (desk.item_states(), desk.flag_states()) == (["agreed"], ["confirmed"])


def test_what_was_said_blind_or_last_stays(desk: QueueDesk) -> None:
    desk.flagged(0.1, 0.2)
    desk.queue(blind_judge=True, order="oldest")
    blind = desk.review(desk.mara, CONFIRM)
    with pytest.raises(DecisionRefused, match="blind review cannot be edited"):
        change(desk, blind.review_id, desk.mara, DISMISS)
    assert [line.final for line in own(desk, desk.mara)] == [True]
    revealed = desk.reveal(blind, desk.mara, DISMISS)
    assert {line.review_id: line.final for line in own(desk, desk.mara)} == {blind.review_id: True, revealed: False}


def test_ones_own_reviews_are_listed_while_others_answers_are_hidden(desk: QueueDesk) -> None:
    desk.flagged(0.1, 0.2)
    desk.queue(blind_judge=True, order="oldest", assigned=(desk.mara,))
    desk.review(desk.mara, CONFIRM)
    [line] = own(desk, desk.mara)
    assert (line.queue, line.decision, line.stage) == ("q", "confirm", "blind")


def test_a_comment_of_somebody_else_is_not_there_for_the_blind(desk: QueueDesk) -> None:
    [answer] = desk.flagged(0.1)
    desk.queue(blind_people=True, needed=2, assigned=(desk.mara, desk.jon))
    for who in (desk.mara, desk.jon):
        comment(desk.store, response_id=answer, reviewer=who, text=f"by {who.name}", request_key=f"by {who.name}")

    def read(viewer: int | None) -> list[str]:
        with desk.store.reading() as connection:
            return [one.text for one in comments_on(connection, answer, viewer)]

    assert (read(desk.mara.id), read(None)) == (["by Mara"], ["by Mara", "by Jon"])
    desk.review(desk.mara, CONFIRM)
    assert read(desk.mara.id) == ["by Mara", "by Jon"]

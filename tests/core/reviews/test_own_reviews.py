"""One's own words in a queue: changed where they were not blind; comments wait for the blind."""

import pytest

from engines import on_sqlite
from judgeboard.errors import DecisionRefused
from judgeboard.reviews.changes import comment
from judgeboard.store.hidden_rows import Seen
from judgeboard.store.leases import JUDGE, seen_since
from judgeboard.store.own_reviews import own_reviews_page
from judgeboard.store.reviews import comments_on
from queue_case import CONFIRM, DISMISS, UNSURE
from stored_rows import columns, read


def own(case, who):
    return list(read(Seen(case.store, who.id), own_reviews_page, who.id).lines)


@on_sqlite
def test_a_changed_word_moves_item_and_flag_along(case):
    case.queue_of(0.1, needed=2)
    first = case.review(case.mara, CONFIRM).review_id
    case.review(case.jon, DISMISS)
    assert (case.item_states(), case.flag_states()) == (["conflict"], ["open"])
    changed = case.change(first, case.mara, DISMISS)
    assert (case.item_states(), case.flag_states()) == (["agreed"], ["dismissed"])
    case.undo(changed, case.mara)
    assert (case.item_states(), case.flag_states()) == (["open"], ["open"])
    own_leases = [lease for lease in case.leases() if lease["reviewer_id"] == case.mara.id]
    # The place of an edited and undone review is theirs again.
    assert columns(own_leases, "done") == [False]


@on_sqlite
def test_who_becomes_unsure_leaves_the_place_to_somebody_else(case):
    case.queue_of(0.1, needed=2)
    first = case.review(case.mara, CONFIRM).review_id
    case.review(case.jon, CONFIRM)
    case.change(first, case.mara, UNSURE)
    assert (case.item_states(), case.flag_states()) == (["open"], ["open"])
    case.review(case.ada, CONFIRM)
    assert (case.item_states(), case.flag_states()) == (["agreed"], ["confirmed"])


@on_sqlite
def test_what_was_said_blind_or_last_stays(case):
    case.queue_of(0.1, 0.2, blind_judge=True, order="oldest")
    blind = case.review(case.mara, CONFIRM)
    with pytest.raises(DecisionRefused):
        case.change(blind.review_id, case.mara, DISMISS)
    assert [line.final for line in own(case, case.mara)] == [True]
    revealed = case.reveal(blind, case.mara, DISMISS)
    [line] = own(case, case.mara)
    assert (line.review.id, line.final) == (blind.review_id, True)
    assert line.revealed.id == revealed


@on_sqlite
def test_what_was_seen_since_a_blind_review_is_that_of_its_own_queue(case):
    case.queue_of(0.1, 0.2, blind_judge=True, order="oldest")
    case.queue("other", blind_people=True)
    blind, unseen = case.review(case.mara, CONFIRM), case.review(case.mara, CONFIRM)
    case.reveal(blind, case.mara, DISMISS)
    assert case.read(seen_since, blind.review_id) == (JUDGE,)
    assert case.read(seen_since, unseen.review_id) is None


def test_ones_own_reviews_are_listed_while_others_answers_are_hidden(case):
    case.queue_of(0.1, 0.2, blind_judge=True, order="oldest", assigned=(case.mara,))
    case.review(case.mara, CONFIRM)
    [line] = own(case, case.mara)
    assert (line.queue, line.review.decision, line.review.stage) == ("q", "confirm", "blind")


@on_sqlite
def test_a_comment_of_somebody_else_is_not_there_for_the_blind(case):
    [answer] = case.flagged(0.1)
    case.queue(blind_people=True, needed=2, assigned=(case.mara, case.jon))
    for who in (case.mara, case.jon):
        comment(
            case.store,
            response_id=answer,
            reviewer=who,
            text=f"by {who.name}",
            request_key=f"by {who.name}",
        )

    def texts_for(viewer):
        return [one.comment.text for one in case.read(comments_on, answer, viewer)]

    assert (texts_for(case.mara.id), texts_for(None)) == (["by Mara"], ["by Mara", "by Jon"])
    case.review(case.mara, CONFIRM)
    assert texts_for(case.mara.id) == ["by Mara", "by Jon"]

"""One's own words in a queue: changed where they were not blind; comments wait for the blind."""

import pytest

from engines import on_sqlite
from judgeboard.errors import DecisionRefused
from judgeboard.store.leases import JUDGE, seen_since
from judgeboard.store.own_reviews import own_reviews_page
from judgeboard.store.reviews import comments_on
from queue_case import DISMISS, UNSURE
from result_fields import check_fields
from stored_rows import columns

JUDGE_HIDDEN = {"blind_judge": True, "order": "oldest"}


def own(case, who):
    return case.read_as(who, own_reviews_page, who.id).lines


def states(case):
    return case.item_states(), case.flag_states()


@on_sqlite
def test_a_changed_word_moves_item_and_flag_along(case):
    case.queue_of(0.1, needed=2)
    first = case.review(case.mara).review_id
    case.review(case.jon, DISMISS)
    assert states(case) == (["conflict"], ["open"])
    changed = case.change(first, case.mara, DISMISS)
    assert states(case) == (["agreed"], ["dismissed"])
    case.undo(changed, case.mara)
    assert states(case) == (["open"], ["open"])
    own_leases = [lease for lease in case.leases() if lease["reviewer_id"] == case.mara.id]
    # The place of an edited and undone review is theirs again.
    assert columns(own_leases, "done") == [False]


@on_sqlite
def test_who_becomes_unsure_leaves_the_place_to_somebody_else(case):
    case.queue_of(0.1, needed=2)
    first = case.review(case.mara).review_id
    case.review(case.jon)
    case.change(first, case.mara, UNSURE)
    assert states(case) == (["open"], ["open"])
    case.review(case.ada)
    assert states(case) == (["agreed"], ["confirmed"])


@on_sqlite
def test_what_was_said_blind_or_last_stays(case):
    case.queue_of(0.1, 0.2, **JUDGE_HIDDEN)
    blind = case.review(case.mara)
    with pytest.raises(DecisionRefused):
        case.change(blind.review_id, case.mara, DISMISS)
    assert [line.final for line in own(case, case.mara)] == [True]
    revealed = case.reveal(blind, case.mara, DISMISS)
    [line] = own(case, case.mara)
    assert (line.review.id, line.revealed.id, line.final) == (blind.review_id, revealed, True)


@on_sqlite
def test_what_was_seen_since_a_blind_review_is_that_of_its_own_queue(case):
    case.queue_of(0.1, 0.2, **JUDGE_HIDDEN)
    case.queue("other", blind_people=True)
    blind, unseen = case.review(case.mara), case.review(case.mara)
    case.reveal(blind, case.mara, DISMISS)
    assert case.read(seen_since, blind.review_id) == (JUDGE,)
    assert case.read(seen_since, unseen.review_id) is None


def test_ones_own_reviews_are_listed_while_others_answers_are_hidden(case):
    case.queue_of(0.1, 0.2, **JUDGE_HIDDEN, assigned=(case.mara,))
    case.review(case.mara)
    [line] = own(case, case.mara)
    assert line.queue == "q"
    check_fields(line.review, decision="confirm", stage="blind")


@on_sqlite
def test_a_comment_of_somebody_else_is_not_there_for_the_blind(case):
    [answer] = case.flagged(0.1)
    case.queue(blind_people=True, needed=2, assigned=(case.mara, case.jon))
    for who in (case.mara, case.jon):
        case.comment(answer, who, f"by {who.name}")

    def texts_for(viewer):
        return [one.comment.text for one in case.read(comments_on, answer, viewer)]

    assert (texts_for(case.mara.id), texts_for(None)) == (["by Mara"], ["by Mara", "by Jon"])
    case.review(case.mara)
    assert texts_for(case.mara.id) == ["by Mara", "by Jon"]

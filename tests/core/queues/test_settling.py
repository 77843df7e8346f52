"""N reviews of an item, what they come to, and what becomes of its flags."""

import pytest

from judgeboard.domain import Grade, ItemState
from judgeboard.errors import BadInput, DecisionRefused
from judgeboard.reviews.changes import edit
from judgeboard.reviews.decisions import grade
from judgeboard.reviews.queue_decisions import answer_reveal, reveal
from judgeboard.reviews.queues import close_queue
from judgeboard.store.filters import RowFilter
from queue_desk import CONFIRM, DISMISS, UNSURE

OPEN, SETTLED, SPLIT, ADJUDICATED = ItemState.OPEN, ItemState.AGREED, ItemState.CONFLICT, ItemState.ADJUDICATED


def test_a_flag_stays_open_until_its_item_has_its_reviews(desk) -> None:
    desk.flagged(0.1)
    desk.queue(needed=3)
    assert desk.review(desk.mara).state is OPEN
    assert desk.review(desk.jon).state is OPEN
    assert desk.flag_states() == ["open"]
    assert desk.review(desk.ada).state is SETTLED
    assert desk.flag_states() == ["confirmed"]
    assert desk.take(desk.lead) is None


def test_nobody_reviews_an_item_twice(desk) -> None:
    desk.flagged(0.1)
    desk.queue(needed=2)
    desk.review(desk.mara)
    assert desk.take(desk.mara) is None


def test_a_review_elsewhere_is_stored_and_does_not_close_the_flag(desk) -> None:
    desk.flagged(0.1)
    desk.queue(needed=2)
    flag_id = desk.flags()[0]["id"]
    desk.decide(flag_id, desk.lead, DISMISS)
    assert (desk.flag_states(), desk.item_states()) == (["open"], ["open"])
    assert len(desk.reviews()) == 1
    desk.review(desk.mara)
    desk.review(desk.jon)
    assert desk.flag_states() == ["confirmed"]


def test_a_later_word_elsewhere_stands_beside_the_one_in_the_queue(desk) -> None:
    [answer] = desk.flagged(0.1)
    desk.queue(needed=2)
    desk.review(desk.mara, CONFIRM, groundedness=0.2)
    desk.decide(desk.flags()[0]["id"], desk.mara, DISMISS)
    grade(desk.store, response_id=answer, reviewer=desk.mara, grade=Grade(quality=4), request_key="elsewhere")
    assert [row["replaces"] for row in desk.reviews()] == [None, None, None]
    assert desk.review(desk.jon, CONFIRM).state is SETTLED


def test_closing_a_queue_lets_what_was_decided_elsewhere_count(desk) -> None:
    desk.flagged(0.1, 0.2)
    desk.queue(needed=2)
    desk.decide(desk.flags()[0]["id"], desk.lead, DISMISS)
    close_queue(desk.store, "q", by=desk.lead, now=desk.now)
    assert desk.flag_states() == ["dismissed", "open"]


def test_a_flag_in_two_queues_waits_for_both(desk) -> None:
    desk.flagged(0.1)
    desk.queue("one")
    desk.queue("two")
    desk.review(desk.mara, CONFIRM, "one")
    assert desk.flag_states() == ["open"]
    desk.review(desk.jon, DISMISS, "two")
    assert desk.flag_states() == ["dismissed"]  # the later word


def test_all_flags_of_an_answer_are_decided_by_one_item(desk) -> None:
    (answer,) = desk.flagged(0.1)
    desk.judge(answer, 0.9, judge="nli")  # now two judges disagree
    assert [flag["rule"] for flag in desk.flags()] == ["low_groundedness", "judges_disagree"]
    assert desk.queue().joined == 1
    desk.review(desk.mara, DISMISS)
    assert desk.flag_states() == ["dismissed", "dismissed"]


def test_unsure_asks_another_and_counts_for_nothing(desk) -> None:
    desk.flagged(0.1)
    desk.queue(needed=2)
    desk.review(desk.mara, UNSURE)
    assert desk.review(desk.jon).state is OPEN
    assert desk.review(desk.ada).state is SETTLED
    assert desk.flag_states() == ["confirmed"]


def test_all_unsure_goes_to_adjudication(desk) -> None:
    desk.flagged(0.1)
    desk.queue(needed=2)
    desk.review(desk.mara, UNSURE)
    assert desk.review(desk.jon, UNSURE).state is SPLIT
    item = desk.items()[0]["id"]
    desk.adjudicate(item, DISMISS)
    assert (desk.flag_states(), desk.item_states()) == (["dismissed"], ["adjudicated"])


@pytest.mark.parametrize(
    ("one", "other", "split"),
    [
        ({"decision": CONFIRM}, {"decision": DISMISS}, True),
        ({"label": "grounded"}, {"label": "hallucinated"}, True),
        ({"quality": 1}, {"quality": 3}, True),
        ({"quality": 1}, {"quality": 2}, False),
        ({"groundedness": 0.9}, {"groundedness": 0.5}, True),
        ({"groundedness": 0.6}, {"groundedness": 0.2}, True),  # 0.6 - 0.2 is a little less than 0.4 as it is stored
        ({"groundedness": 0.9}, {"groundedness": 0.51}, False),
        ({"quality": 1}, {"groundedness": 1.0}, False),
    ],
)
def test_what_is_a_split(desk, one, other, split) -> None:
    desk.flagged(0.1)
    desk.queue(needed=2)
    desk.review(desk.mara, **{"decision": CONFIRM} | one)
    assert desk.review(desk.jon, **{"decision": CONFIRM} | other).state is (SPLIT if split else SETTLED)
    assert desk.flag_states() == ["open" if split else "confirmed"]


def test_a_lead_decides_a_split_with_a_reason_and_can_take_it_back(desk) -> None:
    desk.flagged(0.1)
    desk.queue(needed=2)
    desk.review(desk.mara, CONFIRM)
    desk.review(desk.jon, DISMISS)
    item = desk.items()[0]["id"]
    with pytest.raises(BadInput, match="needs a reason"):
        desk.adjudicate(item, note=None)
    review = desk.adjudicate(item, CONFIRM, "the passage says so", groundedness=0.2)
    assert (desk.flag_states(), desk.item_states()) == (["confirmed"], ["adjudicated"])
    with pytest.raises(DecisionRefused, match="adjudicated already"):
        desk.adjudicate(item)
    desk.undo(review, desk.lead)
    assert (desk.flag_states(), desk.item_states()) == (["open"], ["conflict"])
    desk.adjudicate(item, DISMISS)
    assert desk.flag_states() == ["dismissed"]


def test_nothing_is_adjudicated_before_it_is_split(desk) -> None:
    desk.flagged(0.1)
    desk.queue(needed=2)
    item = desk.items()[0]["id"]
    with pytest.raises(DecisionRefused, match="still needs reviews"):
        desk.adjudicate(item)
    desk.review(desk.mara)
    desk.review(desk.jon)
    with pytest.raises(DecisionRefused, match="agree"):
        desk.adjudicate(item)


def test_an_undo_gives_the_item_back_to_its_author(desk) -> None:
    desk.flagged(0.1)
    desk.queue()
    done = desk.review(desk.mara, CONFIRM)
    desk.undo(done.review_id, desk.mara)
    assert (desk.flag_states(), desk.item_states()) == (["open"], ["open"])
    assert desk.take(desk.jon) is None  # it is Mara's, for a while
    assert desk.review(desk.mara, DISMISS).state is SETTLED
    assert desk.flag_states() == ["dismissed"]


def test_undoing_one_of_a_split_opens_the_item_again(desk) -> None:
    desk.flagged(0.1)
    desk.queue(needed=2)
    desk.review(desk.mara, CONFIRM)
    done = desk.review(desk.jon, DISMISS)
    assert done.state is SPLIT
    desk.undo(done.review_id, desk.jon)
    assert desk.item_states() == ["open"]
    assert desk.review(desk.jon, CONFIRM).state is SETTLED


def test_the_places_of_an_item_are_as_many_as_it_still_needs(desk) -> None:
    desk.flagged(0.1)
    desk.queue(needed=3)
    desk.review(desk.mara, UNSURE)
    desk.review(desk.jon)
    assert sorted(place["done"] for place in desk.leases()) == [False, False, True, True]
    desk.review(desk.ada)
    desk.review(desk.lead)
    assert all(place["done"] for place in desk.leases())


def test_a_word_after_the_reveal_stands_beside_the_blind_one_and_decides_nothing(desk) -> None:
    desk.flagged(0.1)
    desk.queue(blind_judge=True, order="oldest")
    done = desk.review(desk.mara, DISMISS, groundedness=0.9)
    assert done.reveal
    desk.reveal(done, desk.mara, CONFIRM, groundedness=0.3)
    desk.reveal(done, desk.mara, CONFIRM, groundedness=0.2)
    rows = [(row["stage"], row["decision"], row["groundedness"], row["seen"]) for row in desk.reviews()]
    assert rows == [
        ("blind", "dismiss", 0.9, ["people"]),
        ("revealed", "confirm", 0.3, ["judge"]),
        ("revealed", "confirm", 0.2, ["judge"]),
    ]
    assert desk.reviews()[2]["replaces"] == desk.reviews()[1]["id"]
    assert (desk.flag_states(), desk.item_states()) == (["dismissed"], ["agreed"])


def test_the_judge_is_not_answered_before_it_was_shown(desk) -> None:
    desk.flagged(0.1)
    desk.queue(blind_judge=True, order="random")
    done = desk.review(desk.mara, groundedness=0.9)
    with pytest.raises(DecisionRefused, match="has not been shown"):
        answer_reveal(
            desk.store, done.review_id, reviewer=desk.mara, grade=Grade(groundedness=0.2), request_key="early"
        )


def test_who_has_seen_the_judge_is_not_blind_any_more(desk) -> None:
    desk.flagged(0.1)
    desk.queue(blind_judge=True, order="oldest")
    done = desk.review(desk.mara, DISMISS, groundedness=0.9)
    desk.reveal(done, desk.mara, groundedness=0.2)
    desk.undo(done.review_id, desk.mara)
    assert {row["id"] for row in desk.reviews()} - {row["replaces"] for row in desk.reviews()} == {3, 4}
    again = desk.review(desk.mara, CONFIRM, groundedness=0.2)
    assert not again.reveal
    assert (desk.reviews()[-1]["stage"], desk.reviews()[-1]["seen"]) == (None, ["judge", "people"])
    assert desk.flag_states() == ["confirmed"]


def test_who_looked_at_the_judge_is_not_blind_in_another_queue_though_they_said_nothing_of_it(desk) -> None:
    desk.flagged(0.1)
    desk.queue("first", blind_judge=True, order="oldest")
    desk.queue("second", blind_judge=True, order="oldest")
    done = desk.review(desk.mara, DISMISS, "first")
    reveal(desk.store, done.review_id, reviewer=desk.mara, now=desk.now)
    assert not desk.review(desk.mara, CONFIRM, "second").reveal
    assert (desk.reviews()[-1]["stage"], desk.reviews()[-1]["seen"]) == (None, ["judge", "people"])


def test_a_press_that_arrives_twice_tells_the_same_of_the_reveal(desk) -> None:
    desk.flagged(0.1)
    desk.queue(blind_judge=True, order="oldest", needed=2)
    done = desk.review(desk.mara, DISMISS, groundedness=0.9)
    desk.reveal(done, desk.mara, groundedness=0.2)
    desk.undo(done.review_id, desk.mara)
    held = desk.held(desk.mara)
    for repeated in (False, True):
        said = desk.say(held, desk.mara, DISMISS, request_key="once")
        assert (said.reveal, said.repeated) == (False, repeated)


def test_a_queue_that_keeps_the_judge_hidden_reveals_nothing(desk) -> None:
    desk.flagged(0.1)
    desk.queue(blind_judge=True, order="oldest", reveal=False)
    done = desk.review(desk.mara, DISMISS)
    assert not done.reveal
    with pytest.raises(DecisionRefused, match="never shows the judge"):
        reveal(desk.store, done.review_id, reviewer=desk.mara, now=desk.now)


def test_the_judge_stays_hidden_until_the_last_blind_queue_of_a_person_has_their_grade(desk) -> None:
    desk.flagged(0.1)
    desk.queue("first", blind_judge=True, order="oldest", assigned=(desk.mara,))
    desk.queue("second", blind_judge=True, order="oldest", assigned=(desk.mara,))
    held = desk.held(desk.mara, "first")
    for _ in range(2):  # the same press twice
        first = desk.say(held, desk.mara, DISMISS, groundedness=0.9, request_key="once")
        assert not first.reveal
    with pytest.raises(DecisionRefused, match="blind in another queue"):
        reveal(desk.store, first.review_id, reviewer=desk.mara, now=desk.now)
    with pytest.raises(DecisionRefused, match="has not been shown"):
        answer_reveal(
            desk.store, first.review_id, reviewer=desk.mara, grade=Grade(groundedness=0.2), request_key="early"
        )
    second = desk.review(desk.mara, DISMISS, "second", groundedness=0.9)
    assert second.reveal
    desk.reveal(second, desk.mara, groundedness=0.2)
    assert [(row["stage"], row["seen"]) for row in desk.reviews()] == [("blind", ["people"])] * 2 + [
        ("revealed", ["judge"])
    ]


def test_what_is_to_be_blind_is_not_decided_where_the_judge_is_in_view(desk) -> None:
    desk.flagged(0.1)
    desk.queue(blind_judge=True, order="oldest", assigned=(desk.mara,))
    with pytest.raises(DecisionRefused, match="before you see other reviews"):
        desk.decide(desk.flags()[0]["id"], desk.mara)
    desk.decide(desk.flags()[0]["id"], desk.jon)


def test_an_order_made_from_scores_would_tell(desk) -> None:
    for order in ("severity", "disagreement", "instability"):
        with pytest.raises(BadInput, match=rf"the order {order} \(.* first\) uses judges' scores"):
            desk.queue(blind_judge=True, order=order, where=RowFilter())


def test_who_has_read_the_others_does_not_edit_a_split_away(desk) -> None:
    desk.flagged(0.1)
    desk.queue(needed=2, blind_people=True)
    mine = desk.review(desk.mara, CONFIRM)
    desk.review(desk.jon, DISMISS)
    with pytest.raises(DecisionRefused, match="Others have reviewed this item since"):
        edit(
            desk.store,
            review_id=mine.review_id,
            reviewer=desk.mara,
            decision=DISMISS,
            grade=Grade(),
            request_key="changed",
        )
    assert desk.item_states() == ["conflict"]

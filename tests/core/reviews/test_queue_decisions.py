"""N reviews of an item, what they come to, and what becomes of its flags."""

import pytest

from engines import on_sqlite
from judgeboard.domain import ItemState
from judgeboard.errors import BadInput, DecisionRefused
from judgeboard.reviews.submissions import DECIDED, reveal
from queue_case import CONFIRM, DISMISS, UNSURE
from result_fields import check_fields
from stored_rows import columns

OPEN, SETTLED, SPLIT = ItemState.OPEN, ItemState.AGREED, ItemState.CONFLICT
JUDGE_HIDDEN = {"blind_judge": True, "order": "oldest"}


@pytest.fixture
def of_two(case):
    """A queue of an answer that needs two reviews; the id of its item."""
    case.queue_of(0.1, needed=2)
    return case.items()[0]["id"]


def states(case):
    return case.flag_states(), case.item_states()


def flag_of(case):
    return case.flags()[0]["id"]


@on_sqlite
@pytest.mark.parametrize("blind", [False, True])
def test_a_refused_second_decision_does_not_change_the_persons_grade(case, blind):
    case.queue_of(0.1, blind_judge=blind, order="random")
    leased = case.lease(case.mara)
    case.say(leased, case.mara, label="hallucinated")
    for note, reason in ((None, DECIDED), ("typed later", "kept")):
        with pytest.raises(DecisionRefused, match=reason):
            case.say(leased, case.mara, DISMISS, label="grounded", note=note)
    with pytest.raises(DecisionRefused, match="confirmed"):
        case.decide(flag_of(case), case.mara, DISMISS, label="grounded")
    assert columns(case.reviews(), "label", "note") == [
        ("hallucinated", None),
        (None, "typed later"),
    ]


@on_sqlite
def test_a_persons_review_in_the_queue_counts_and_not_a_later_one_elsewhere(case, of_two):
    case.review(case.mara, groundedness=0.2)
    with pytest.raises(DecisionRefused, match="“q”"):
        case.decide(flag_of(case), case.mara, DISMISS)
    case.grade(1, case.mara, quality=4)
    assert columns(case.reviews(), "decision") == ["confirm", None]
    assert case.review(case.jon).state is SETTLED


@on_sqlite
def test_closing_a_queue_lets_what_was_decided_elsewhere_count(case):
    case.queue_of(0.1, 0.2, needed=2)
    case.decide(flag_of(case), case.lead, DISMISS)
    case.close()
    assert case.flag_states() == ["dismissed", "open"]


def test_a_flag_in_two_queues_waits_for_both(case):
    case.queue_of(0.1, name="one")
    case.queue("two")
    case.review(case.mara, name="one")
    assert case.flag_states() == ["open"]
    case.review(case.jon, DISMISS, "two")
    assert case.flag_states() == ["dismissed"]  # the later word


@on_sqlite
def test_one_unsure_review_is_no_conflict_and_leaves_the_item_to_another_reviewer(case):
    case.queue_of(0.1, 0.2)
    for _ in range(2):
        assert case.review(case.mara, UNSURE).state is OPEN
    assert case.take(case.mara) is None
    assert case.review(case.jon).state is SETTLED
    # Two people were unsure.
    assert case.review(case.ada, UNSURE).state is SPLIT
    assert case.flag_states() == ["confirmed", "open"]


@on_sqlite
def test_an_unsure_review_ends_an_item_that_only_its_reviewer_gets(case):
    case.queue_of(0.1, repeat_rate=0.95)
    case.review(case.mara)
    case.later(days=8)
    case.review(case.mara, UNSURE)
    assert case.item_states() == ["agreed", "agreed"]


@on_sqlite
@pytest.mark.parametrize(
    ("one", "other", "split"),
    [
        ({}, {"decision": DISMISS}, True),
        ({"label": "grounded"}, {"label": "hallucinated"}, True),
        ({"quality": 1}, {"quality": 3}, True),
        ({"quality": 1}, {"quality": 2}, False),
        ({"groundedness": 0.9}, {"groundedness": 0.5}, True),
        # 0.6 - 0.2 is a little less than 0.4 as it is stored.
        ({"groundedness": 0.6}, {"groundedness": 0.2}, True),
        ({"groundedness": 0.9}, {"groundedness": 0.51}, False),
        ({"quality": 1}, {"groundedness": 1.0}, False),
    ],
)
def test_what_is_a_split(case, of_two, one, other, split):
    case.review(case.mara, **one)
    assert case.review(case.jon, **other).state is (SPLIT if split else SETTLED)
    assert case.flag_states() == ["open" if split else "confirmed"]


@on_sqlite
def test_a_lead_decides_a_split_with_a_reason_and_can_take_it_back(case, of_two):
    case.review(case.mara)
    case.review(case.jon, DISMISS)
    with pytest.raises(BadInput, match="needs a reason"):
        case.adjudicate(of_two, note=None)
    review = case.adjudicate(of_two)
    assert states(case) == (["confirmed"], ["adjudicated"])
    with pytest.raises(DecisionRefused, match="adjudicated already"):
        case.adjudicate(of_two)
    case.undo(review, case.lead)
    assert states(case) == (["open"], ["conflict"])
    case.adjudicate(of_two, DISMISS)
    assert case.flag_states() == ["dismissed"]


@on_sqlite
def test_nothing_is_adjudicated_before_it_is_split(case, of_two):
    with pytest.raises(DecisionRefused, match="still needs reviews"):
        case.adjudicate(of_two)
    case.review(case.mara)
    case.review(case.jon)
    with pytest.raises(DecisionRefused, match="agree"):
        case.adjudicate(of_two)


@on_sqlite
def test_the_places_of_an_item_are_as_many_as_it_still_needs(case):
    case.queue_of(0.1, needed=3)
    case.review(case.mara, UNSURE)
    assert sorted(columns(case.leases(), "done")) == [False, False, True]
    case.review(case.jon)
    assert sorted(columns(case.leases(), "done")) == [False, False, True, True]
    case.review(case.ada)
    case.review(case.lead)
    assert all(columns(case.leases(), "done"))


@on_sqlite
def test_a_word_after_the_reveal_stands_beside_the_blind_one_and_decides_nothing(case):
    case.queue_of(0.1, **JUDGE_HIDDEN)
    done = case.review(case.mara, DISMISS, groundedness=0.9)
    assert done.reveal
    for groundedness in (0.3, 0.2):
        case.reveal(done, case.mara, CONFIRM, groundedness=groundedness)
    assert columns(case.reviews(), "stage", "decision", "groundedness", "seen") == [
        ("blind", "dismiss", 0.9, ["people"]),
        ("revealed", "confirm", 0.3, ["judge"]),
        ("revealed", "confirm", 0.2, ["judge"]),
    ]
    _, first, last = case.reviews()
    assert last["replaces"] == first["id"]
    assert states(case) == (["dismissed"], ["agreed"])


@on_sqlite
def test_the_judge_is_not_answered_before_it_was_shown(case):
    case.queue_of(0.1, blind_judge=True, order="random")
    done = case.review(case.mara, groundedness=0.9)
    with pytest.raises(DecisionRefused):
        case.after_reveal(done, case.mara, groundedness=0.2)


@on_sqlite
def test_who_has_seen_the_judge_is_not_blind_any_more(case):
    case.queue_of(0.1, **JUDGE_HIDDEN)
    done = case.review(case.mara, DISMISS, groundedness=0.9)
    case.reveal(done, case.mara, groundedness=0.2)
    case.undo(done.review_id, case.mara)
    ids, replaced = (set(columns(case.reviews(), name)) for name in ("id", "replaces"))
    assert ids - replaced == {3, 4}
    again = case.review(case.mara, CONFIRM, groundedness=0.2)
    assert not again.reveal
    check_fields(case.reviews()[-1], stage=None, seen=["judge", "people"])
    assert case.flag_states() == ["confirmed"]


@on_sqlite
def test_who_looked_at_the_judge_is_not_blind_in_another_queue_though_they_said_nothing_of_it(case):
    case.queue_of(0.1, name="first", **JUDGE_HIDDEN)
    done = case.review(case.mara, DISMISS, "first")
    reveal(case.store, done.review_id, reviewer=case.mara, now=case.now)
    case.queue("second", **JUDGE_HIDDEN, flagged_only=False, max_items=1)
    assert not case.review(case.mara, CONFIRM, "second").reveal
    check_fields(case.reviews()[-1], stage=None, seen=["judge", "people"])


@on_sqlite
def test_a_press_that_arrives_twice_tells_the_same_of_the_reveal(case):
    case.queue_of(0.1, **JUDGE_HIDDEN, needed=2)
    done = case.review(case.mara, DISMISS, groundedness=0.9)
    case.reveal(done, case.mara, groundedness=0.2)
    case.undo(done.review_id, case.mara)
    leased = case.lease(case.mara)
    for repeated in (False, True):
        decided = case.say(leased, case.mara, DISMISS, request_key="once")
        check_fields(decided, reveal=False, repeated=repeated)


@on_sqlite
def test_a_queue_that_keeps_the_judge_hidden_reveals_nothing(case):
    case.queue_of(0.1, **JUDGE_HIDDEN, reveal=False)
    done = case.review(case.mara, DISMISS)
    assert not done.reveal
    with pytest.raises(DecisionRefused):
        reveal(case.store, done.review_id, reviewer=case.mara, now=case.now)


@on_sqlite
def test_the_judge_stays_hidden_until_the_last_blind_queue_of_a_person_has_their_grade(case):
    case.flagged(0.1)
    for name in ("first", "second"):
        case.queue(name, **JUDGE_HIDDEN, assigned=(case.mara,))
    leased = case.lease(case.mara, "first")
    for _ in range(2):  # the same press twice
        first = case.say(leased, case.mara, DISMISS, groundedness=0.9, request_key="once")
        assert not first.reveal
    with pytest.raises(DecisionRefused):
        reveal(case.store, first.review_id, reviewer=case.mara, now=case.now)
    with pytest.raises(DecisionRefused):
        case.after_reveal(first, case.mara, groundedness=0.2)
    second = case.review(case.mara, DISMISS, "second", groundedness=0.9)
    assert second.reveal
    case.reveal(second, case.mara, groundedness=0.2)
    assert columns(case.reviews(), "stage", "seen") == [("blind", ["people"])] * 2 + [
        ("revealed", ["judge"])
    ]


@on_sqlite
def test_what_is_to_be_blind_is_not_decided_where_the_judge_is_in_view(case):
    case.queue_of(0.1, **JUDGE_HIDDEN, assigned=(case.mara,))
    with pytest.raises(DecisionRefused):
        case.decide(flag_of(case), case.mara)
    case.decide(flag_of(case), case.jon)


@on_sqlite
def test_who_has_read_the_others_does_not_edit_a_split_away(case):
    case.queue_of(0.1, needed=2, blind_people=True)
    mine = case.review(case.mara)
    case.review(case.jon, DISMISS)
    with pytest.raises(DecisionRefused):
        case.change(mine.review_id, case.mara, DISMISS)
    assert case.item_states() == ["conflict"]

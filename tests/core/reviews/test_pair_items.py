"""Pairs in queues: which answer is better, said blind, settled, split, adjudicated, taken back."""

import pytest

from engines import on_sqlite
from judgeboard.domain import Decision, ItemState, Preference, Shown
from judgeboard.errors import BadInput, DecisionRefused
from judgeboard.reviews.shown import item_texts
from judgeboard.reviews.submissions import LOST, reveal
from judgeboard.store.filters import RowFilter
from judgeboard.store.preferences import SIDES, load_preferences, pair_facts, votes_by_pair
from judgeboard.store.tables import PREFERENCE_SCORE
from pair_log import add_pairs, prefer_outside
from result_fields import check_fields
from stored_rows import columns

A, B, TIE = Preference


def look(case, decided, who):
    """Look at what others said after one's own preference."""
    reveal(case.store, decided.review_id, reviewer=who, now=case.now)


def pairs_in_queue(case, pairs=1, **rules):
    """Add pairs p0, p1, … in a queue ``q``, oldest first."""
    ids = add_pairs(case.store, pairs)
    case.queue(subject="pairs", order="oldest", **rules)
    return ids


@on_sqlite
def test_a_pair_is_shown_with_shuffled_sides_and_stored_as_it_is(case):
    pairs_in_queue(case, 12)
    shown = set()
    for _ in range(12):
        leased = case.lease(case.mara)
        (text,) = case.read(item_texts, [leased], case.mara.id)
        assert text.left.startswith("left-") is (text.shown is Shown.AB)
        case.say(leased, case.mara, A if text.shown is Shown.AB else B)
        shown.add(text.shown)
    assert shown == set(Shown)
    preferences = columns(case.rows(PREFERENCE_SCORE), "preference")
    assert preferences == [(A if row["shown"] == "ab" else B) for row in case.reviews()]
    assert columns(case.reviews(), "stage", "seen") == [("blind", [])] * 12


@on_sqlite
def test_preferences_that_agree_settle_a_pair_and_others_split_it(case):
    pairs_in_queue(case, 2, needed=2)
    assert case.review(case.mara, A).state is ItemState.OPEN
    assert case.review(case.jon, A).state is ItemState.AGREED
    case.review(case.mara, A)
    split = case.review(case.jon, TIE)
    assert split.state is ItemState.CONFLICT
    with pytest.raises(BadInput, match="needs a reason"):
        case.adjudicate(split.item_id, B, " ")
    case.adjudicate(split.item_id, B)
    assert case.item_states() == ["agreed", "adjudicated"]
    with pytest.raises(DecisionRefused, match="adjudicated already"):
        case.adjudicate(split.item_id, B)


@on_sqlite
def test_what_was_adjudicated_is_gold_and_no_voice(case):
    pair_id, other = pairs_in_queue(case, 2, needed=2)
    case.review(case.mara, A)
    split = case.review(case.jon, TIE)
    case.adjudicate(split.item_id, B)
    facts = case.read(pair_facts)
    gold = dict(zip(facts.ids.tolist(), (SIDES[code] for code in facts.gold), strict=True))
    assert gold == {pair_id: "b", other: ""}
    votes = votes_by_pair(case.read(load_preferences))
    assert votes[(pair_id, "overall")].people == 2


@on_sqlite
def test_a_preference_is_taken_back_and_its_pair_is_its_authors_again(case):
    pairs_in_queue(case)
    decided = case.review(case.mara, A)
    with pytest.raises(DecisionRefused, match="Mara's review"):
        case.undo(decided.review_id, case.jon)
    for _ in range(2):
        case.undo(decided.review_id, case.mara, request_key="once")
    assert case.item_states() == ["open"]
    with pytest.raises(DecisionRefused, match="undone already"):
        case.undo(decided.review_id, case.mara)
    assert case.take(case.jon) is None
    again = case.review(case.mara, B)
    check_fields(again, item_id=decided.item_id, state=ItemState.AGREED)
    assert columns(case.reviews(), "decision", "stage") == [
        (None, "blind"),
        (Decision.WITHDRAWN, None),
        (None, "blind"),
    ]


def test_after_the_reveal_the_next_word_on_the_pair_is_not_blind(case):
    pairs_in_queue(case)
    decided = case.review(case.mara, A)
    assert decided.reveal
    with pytest.raises(DecisionRefused):
        look(case, decided, case.jon)
    look(case, decided, case.mara)
    case.undo(decided.review_id, case.mara)
    case.review(case.mara, B)
    check_fields(case.reviews()[-1], stage=None, seen=["judge", "people"])


@on_sqlite
def test_a_queue_that_keeps_the_rest_hidden_reveals_nothing(case):
    pairs_in_queue(case, reveal=False)
    decided = case.review(case.mara, A)
    assert not decided.reveal
    with pytest.raises(DecisionRefused):
        look(case, decided, case.mara)


@on_sqlite
def test_who_spoke_on_a_pair_outside_queues_is_not_blind_in_one(case):
    (pair_id,) = pairs_in_queue(case, needed=2)
    prefer_outside(case.store, pair_id, case.mara, A, "of an earlier release")
    case.review(case.mara, B)
    case.review(case.jon, A)
    assert columns(case.reviews()[1:], "stage", "seen") == [
        (None, ["judge", "people"]),
        ("blind", []),
    ]


def test_the_loser_of_a_race_is_told_and_the_note_is_kept(case):
    (pair_id,) = pairs_in_queue(case)
    lost = case.lease(case.mara)
    case.later(minutes=11)
    won = case.lease(case.jon)
    for _ in range(2):
        with pytest.raises(DecisionRefused, match=LOST):
            case.say(lost, case.mara, B, note="typed", request_key="lost")
    first, again = (case.say(won, case.jon, A, request_key="won") for _ in range(2))
    assert again.repeated
    with pytest.raises(BadInput):
        case.say(won, case.jon, B, request_key="won")
    assert columns(case.reviews(), "note", "queue_item_id") == [
        ("typed", None),
        (None, first.item_id),
    ]
    (preference,) = case.read(load_preferences, [pair_id])
    assert preference.reviewer == "Jon"


def test_a_queue_of_pairs_is_always_blind_and_never_ordered_by_scores(case):
    add_pairs(case.store, 1)
    made = case.queue(subject="pairs", order="random", where=RowFilter(sources=("bench",)))
    assert made.joined == 1
    check_fields(made.queue, blind_judge=True, blind_people=True)
    with pytest.raises(BadInput, match="oldest or random"):
        case.queue("other", subject="pairs", order="severity")


@on_sqlite
def test_an_answer_takes_no_preference(case):
    case.queue_of(0.1)
    with pytest.raises(BadInput, match="is an answer"):
        case.review(case.mara, A)

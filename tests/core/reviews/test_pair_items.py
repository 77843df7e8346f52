"""Pairs in queues: which answer is better, said blind, settled, split, adjudicated, taken back."""

from dataclasses import dataclass
from itertools import count
from typing import Any

import pytest

from engines import on_sqlite
from judgeboard.domain import Decision, Grade, ItemState, Preference, QueueOrder, Shown
from judgeboard.errors import BadInput, DecisionRefused
from judgeboard.reviews.changes import undo
from judgeboard.reviews.leases import LeasedItem
from judgeboard.reviews.shown import PairText, item_texts
from judgeboard.reviews.submissions import LOST, Submission, Submitted, reveal, submit
from judgeboard.store.filters import RowFilter
from judgeboard.store.preferences import SIDES, load_preferences, pair_facts, votes_by_pair
from judgeboard.store.tables import PREFERENCE_SCORE, REVIEW, Reviewer
from pair_log import add_pairs, prefer_outside
from queue_case import QueueCase

A, B, TIE = Preference
KEYS = count()


@dataclass
class PairCase:
    """Pairs p0, p1, … in a queue ``q``, oldest first."""

    case: QueueCase

    def queue(self, pairs: int = 1, **rules: Any) -> list[int]:
        ids = add_pairs(self.case.store, pairs)
        self.case.queue(subject="pairs", order=QueueOrder.OLDEST, **rules)
        return ids

    def say(
        self, leased: LeasedItem, who: Reviewer, preference: Preference = A, **more: Any
    ) -> Submitted:
        key = more.pop("request_key", f"pair key {next(KEYS)}")
        grade = Grade(note=more.pop("note", None))
        fields = {
            "decision": preference,
            "grade": grade,
            "request_key": key,
            "at": self.case.now,
        } | more
        return submit(self.case.store, Submission(token=leased.token, reviewer=who, **fields))

    def review(self, who: Reviewer, preference: Preference = A, **more: Any) -> Submitted:
        return self.say(self.case.lease(who), who, preference, **more)

    def undo(self, decided: Submitted, who: Reviewer, key: str | None = None) -> str:
        key = key or f"pair key {next(KEYS)}"
        return undo(
            self.case.store,
            review_id=decided.review_id,
            reviewer=who,
            request_key=key,
            now=self.case.now,
        )

    def adjudicate(self, item_id: int, preference: Preference, reason: str = "why") -> None:
        key = f"pair key {next(KEYS)}"
        lead = self.case.lead
        submit(
            self.case.store,
            Submission(
                item_id=item_id,
                reviewer=lead,
                decision=preference,
                grade=Grade(note=reason),
                request_key=key,
                at=self.case.now,
            ),
        )

    def rows(self) -> list[dict[str, Any]]:
        return self.case.rows(REVIEW)


@pytest.fixture
def pairs(case: QueueCase) -> PairCase:
    return PairCase(case)


@on_sqlite
def test_a_pair_is_shown_with_shuffled_sides_and_stored_as_it_is(pairs: PairCase) -> None:
    case = pairs.case
    pairs.queue(12)
    shown = set()
    for _ in range(12):
        leased = case.lease(case.mara)
        with case.store.reading() as connection:
            (text,) = item_texts(connection, [leased], case.mara.id)
        assert isinstance(text, PairText)
        assert text.left is not None
        assert text.left.startswith("left-") is (text.shown is Shown.AB)
        better = A if text.shown is Shown.AB else B
        pairs.say(leased, case.mara, better)
        shown.add(text.shown)
    assert shown == set(Shown)
    preferences = [row["preference"] for row in case.rows(PREFERENCE_SCORE)]
    assert preferences == [(A if row["shown"] == "ab" else B) for row in pairs.rows()]
    assert {(row["stage"], tuple(row["seen"])) for row in pairs.rows()} == {("blind", ())}


@on_sqlite
def test_preferences_that_agree_settle_a_pair_and_others_split_it(pairs: PairCase) -> None:
    case = pairs.case
    pairs.queue(2, needed=2)
    assert pairs.review(case.mara, A).state is ItemState.OPEN
    assert pairs.review(case.jon, A).state is ItemState.AGREED
    pairs.review(case.mara, A)
    split = pairs.review(case.jon, TIE)
    assert split.state is ItemState.CONFLICT
    with pytest.raises(BadInput, match="needs a reason"):
        pairs.adjudicate(split.item_id, B, reason=" ")
    pairs.adjudicate(split.item_id, B)
    assert case.item_states() == ["agreed", "adjudicated"]
    with pytest.raises(DecisionRefused, match="adjudicated already"):
        pairs.adjudicate(split.item_id, B)


@on_sqlite
def test_what_was_adjudicated_is_gold_and_no_voice(pairs: PairCase) -> None:
    case = pairs.case
    pair_id, other = pairs.queue(2, needed=2)
    pairs.review(case.mara, A)
    split = pairs.review(case.jon, TIE)
    pairs.adjudicate(split.item_id, B)
    with case.store.reading() as connection:
        facts = pair_facts(connection)
        votes = votes_by_pair(load_preferences(connection))
    assert {id_: SIDES[code] for id_, code in zip(facts.ids.tolist(), facts.gold, strict=True)} == {
        pair_id: "b",
        other: "",
    }
    assert votes[(pair_id, "overall")].people == 2


@on_sqlite
def test_a_preference_is_taken_back_and_its_pair_is_its_authors_again(pairs: PairCase) -> None:
    case = pairs.case
    pairs.queue()
    decided = pairs.review(case.mara, A)
    with pytest.raises(DecisionRefused, match="Mara's review"):
        pairs.undo(decided, case.jon)
    undone = pairs.undo(decided, case.mara, "once")
    assert pairs.undo(decided, case.mara, "once") == undone
    assert case.item_states() == ["open"]
    with pytest.raises(DecisionRefused, match="undone already"):
        pairs.undo(decided, case.mara)
    assert case.take(case.jon) is None
    again = pairs.review(case.mara, B)
    assert (again.item_id, again.state) == (decided.item_id, ItemState.AGREED)
    assert [(row["decision"], row["stage"]) for row in pairs.rows()] == [
        (None, "blind"),
        (Decision.WITHDRAWN, None),
        (None, "blind"),
    ]


def test_after_the_reveal_the_next_word_on_the_pair_is_not_blind(pairs: PairCase) -> None:
    case = pairs.case
    pairs.queue()
    decided = pairs.review(case.mara, A)
    assert decided.reveal
    with pytest.raises(DecisionRefused):
        reveal(case.store, decided.review_id, reviewer=case.jon, now=case.now)
    reveal(case.store, decided.review_id, reviewer=case.mara, now=case.now)
    pairs.undo(decided, case.mara)
    pairs.review(case.mara, B)
    last = pairs.rows()[-1]
    assert (last["stage"], last["seen"]) == (None, ["judge", "people"])


@on_sqlite
def test_a_queue_that_keeps_the_rest_hidden_reveals_nothing(pairs: PairCase) -> None:
    case = pairs.case
    pairs.queue(reveal=False)
    decided = pairs.review(case.mara, A)
    assert not decided.reveal
    with pytest.raises(DecisionRefused):
        reveal(case.store, decided.review_id, reviewer=case.mara, now=case.now)


@on_sqlite
def test_who_spoke_on_a_pair_outside_queues_is_not_blind_in_one(pairs: PairCase) -> None:
    case = pairs.case
    (pair_id,) = pairs.queue(needed=2)
    prefer_outside(case.store, pair_id, case.mara, A, "of an earlier release")
    pairs.review(case.mara, B)
    pairs.review(case.jon, A)
    assert [(row["stage"], row["seen"]) for row in pairs.rows()[1:]] == [
        (None, ["judge", "people"]),
        ("blind", []),
    ]


def test_the_loser_of_a_race_is_told_and_the_note_is_kept(pairs: PairCase) -> None:
    case = pairs.case
    (pair_id,) = pairs.queue()
    lost = case.lease(case.mara)
    case.later(minutes=11)
    won = case.lease(case.jon)
    for _ in range(2):
        with pytest.raises(DecisionRefused, match=LOST):
            pairs.say(lost, case.mara, B, note="typed", request_key="lost")
    first = pairs.say(won, case.jon, A, request_key="won")
    assert pairs.say(won, case.jon, A, request_key="won").repeated
    with pytest.raises(BadInput):
        pairs.say(won, case.jon, B, request_key="won")
    assert [(row["note"], row["queue_item_id"]) for row in pairs.rows()] == [
        ("typed", None),
        (None, first.item_id),
    ]
    with case.store.reading() as connection:
        assert [preference.reviewer for preference in load_preferences(connection, [pair_id])] == [
            "Jon"
        ]


def test_a_queue_of_pairs_is_always_blind_and_never_ordered_by_scores(case: QueueCase) -> None:
    add_pairs(case.store, 1)
    made = case.queue(subject="pairs", order=QueueOrder.RANDOM, where=RowFilter(sources=("bench",)))
    assert (made.joined, made.queue.blind_judge, made.queue.blind_people) == (
        1,
        True,
        True,
    )
    with pytest.raises(BadInput, match="oldest or random"):
        case.queue("other", subject="pairs", order=QueueOrder.SEVERITY)


@on_sqlite
def test_an_answer_takes_no_preference(case: QueueCase) -> None:
    case.flagged(0.1)
    case.queue()
    with pytest.raises(BadInput, match="is an answer"):
        submit(
            case.store,
            Submission(
                token=case.lease(case.mara).token, reviewer=case.mara, decision=A, request_key="k"
            ),
        )

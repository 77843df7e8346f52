"""Pairs in queues: which answer is better, said blind, settled, split, adjudicated, taken back."""

from dataclasses import dataclass
from itertools import count
from typing import Any

import pytest

from judgeboard.domain import Decision, Grade, ItemState, Preference, QueueOrder, Shown
from judgeboard.errors import BadInput, DecisionRefused
from judgeboard.methods.pair_report import pair_screen
from judgeboard.reviews.changes import undo
from judgeboard.reviews.decisions import prefer
from judgeboard.reviews.leases import LeasedItem
from judgeboard.reviews.queue_decisions import DecidedItem, adjudicate, decide_item, preference_at, reveal
from judgeboard.reviews.shown import PairText, item_texts
from judgeboard.store.filters import RowFilter
from judgeboard.store.preferences import SIDES, load_preferences, pair_facts, votes_by_pair
from judgeboard.store.reviewers import Reviewer
from judgeboard.store.tables import PREFERENCE_SCORE, REVIEW
from pair_log import add_pairs
from queue_desk import QueueDesk

A, B, TIE = Preference
KEYS = count()


@dataclass
class PairDesk:
    """Pairs p0, p1, … in a queue ``q``, oldest first."""

    desk: QueueDesk

    def queue(self, pairs: int = 1, **rules: Any) -> list[int]:
        ids = add_pairs(self.desk.store, pairs)
        self.desk.queue(subject="pairs", order=QueueOrder.OLDEST, **rules)
        return ids

    def say(self, held: LeasedItem, who: Reviewer, preference: Preference = A, **more: Any) -> DecidedItem:
        key = more.pop("request_key", f"pair key {next(KEYS)}")
        grade = Grade(note=more.pop("note", None))
        given = {"decision": preference, "grade": grade, "request_key": key, "now": self.desk.now} | more
        return decide_item(self.desk.store, held.token, reviewer=who, **given)

    def review(self, who: Reviewer, preference: Preference = A, **more: Any) -> DecidedItem:
        return self.say(self.desk.held(who), who, preference, **more)

    def undo(self, said: DecidedItem, who: Reviewer, key: str | None = None) -> ItemState | None:
        key = key or f"pair key {next(KEYS)}"
        return undo(
            self.desk.store, review_id=said.review_id, reviewer=who, request_key=key, now=self.desk.now
        ).item_state

    def adjudicate(self, item_id: int, preference: Preference, reason: str = "why") -> None:
        key = f"pair key {next(KEYS)}"
        lead = self.desk.lead
        adjudicate(
            self.desk.store,
            item_id,
            by=lead,
            decision=preference,
            grade=Grade(note=reason),
            request_key=key,
            now=self.desk.now,
        )

    def rows(self) -> list[dict[str, Any]]:
        return self.desk.rows(REVIEW)


@pytest.fixture
def pairs(desk: QueueDesk) -> PairDesk:
    return PairDesk(desk)


def test_a_pair_is_shown_with_shuffled_sides_and_stored_as_it_is(pairs: PairDesk) -> None:
    desk = pairs.desk
    pairs.queue(12)
    shown = set()
    for _ in range(12):
        held = desk.held(desk.mara)
        with desk.store.reading() as connection:
            (text,) = item_texts(connection, [held], desk.mara.id)
        assert isinstance(text, PairText)
        assert text.left is not None
        assert text.left.startswith("left-") is (text.shown is Shown.AB)
        better = preference_at(desk.store, held.token, desk.mara, "left")
        assert better is (A if text.shown is Shown.AB else B)
        assert preference_at(desk.store, held.token, desk.mara, "tie") is TIE
        pairs.say(held, desk.mara, better)
        shown.add(text.shown)
    assert shown == set(Shown)
    said = [row["preference"] for row in desk.rows(PREFERENCE_SCORE)]
    assert said == [(A if row["shown"] == "ab" else B) for row in pairs.rows()]
    assert {(row["stage"], tuple(row["seen"])) for row in pairs.rows()} == {("blind", ())}


def test_preferences_that_agree_settle_a_pair_and_others_split_it(pairs: PairDesk) -> None:
    desk = pairs.desk
    pairs.queue(2, needed=2)
    assert pairs.review(desk.mara, A).state is ItemState.OPEN
    assert pairs.review(desk.jon, A).state is ItemState.AGREED
    pairs.review(desk.mara, A)
    split = pairs.review(desk.jon, TIE)
    assert split.state is ItemState.CONFLICT
    with pytest.raises(BadInput, match="needs a reason"):
        pairs.adjudicate(split.item_id, B, reason=" ")
    pairs.adjudicate(split.item_id, B)
    assert desk.item_states() == ["agreed", "adjudicated"]
    with pytest.raises(DecisionRefused, match="adjudicated already"):
        pairs.adjudicate(split.item_id, B)


def test_what_was_adjudicated_is_gold_and_no_voice(pairs: PairDesk) -> None:
    desk = pairs.desk
    pair_id, other = pairs.queue(2, needed=2)
    pairs.review(desk.mara, A)
    split = pairs.review(desk.jon, TIE)
    pairs.adjudicate(split.item_id, B)
    with desk.store.reading() as connection:
        facts = pair_facts(connection)
        votes = votes_by_pair(load_preferences(connection))
    assert {id_: SIDES[code] for id_, code in zip(facts.ids.tolist(), facts.gold, strict=True)} == {
        pair_id: "b",
        other: "",
    }
    assert votes[(pair_id, "overall")].people == 2


def test_a_preference_is_taken_back_and_its_pair_is_its_authors_again(pairs: PairDesk) -> None:
    desk = pairs.desk
    pairs.queue()
    said = pairs.review(desk.mara, A)
    with pytest.raises(DecisionRefused, match="Mara's review"):
        pairs.undo(said, desk.jon)
    assert pairs.undo(said, desk.mara, "once") is ItemState.OPEN
    assert pairs.undo(said, desk.mara, "once") is ItemState.OPEN
    with pytest.raises(DecisionRefused, match="undone already"):
        pairs.undo(said, desk.mara)
    assert desk.take(desk.jon) is None
    again = pairs.review(desk.mara, B)
    assert (again.item_id, again.state) == (said.item_id, ItemState.AGREED)
    assert [(row["decision"], row["stage"]) for row in pairs.rows()] == [
        (None, "blind"),
        (Decision.WITHDRAWN, None),
        (None, "blind"),
    ]


def test_after_the_reveal_the_next_word_on_the_pair_is_not_blind(pairs: PairDesk) -> None:
    desk = pairs.desk
    (pair_id,) = pairs.queue()
    said = pairs.review(desk.mara, A)
    assert said.reveal

    def revealed() -> bool:
        with desk.store.reading() as connection:
            shown = pair_screen(connection, pair_id, aspect="overall", reviewer_id=desk.mara.id, version_id=None)
        return shown.revealed is not None

    assert not revealed()
    with pytest.raises(DecisionRefused):
        reveal(desk.store, said.review_id, reviewer=desk.jon, now=desk.now)
    reveal(desk.store, said.review_id, reviewer=desk.mara, now=desk.now)
    assert revealed()
    pairs.undo(said, desk.mara)
    pairs.review(desk.mara, B)
    last = pairs.rows()[-1]
    assert (last["stage"], last["seen"]) == (None, ["judge", "people"])


def test_a_queue_that_keeps_the_rest_hidden_reveals_nothing(pairs: PairDesk) -> None:
    desk = pairs.desk
    pairs.queue(reveal=False)
    said = pairs.review(desk.mara, A)
    assert not said.reveal
    with pytest.raises(DecisionRefused, match="never shows the judge"):
        reveal(desk.store, said.review_id, reviewer=desk.mara, now=desk.now)


def test_who_holds_a_pair_says_it_in_its_queue_alone(pairs: PairDesk) -> None:
    desk = pairs.desk
    (pair_id,) = pairs.queue()
    held = desk.held(desk.mara)
    given: dict[str, Any] = {"pair_id": pair_id, "preference": A, "shown": Shown.AB}
    with pytest.raises(DecisionRefused, match="open it in its queue"):
        prefer(desk.store, reviewer=desk.mara, request_key="outside", **given)
    pairs.say(held, desk.mara)
    prefer(desk.store, reviewer=desk.jon, request_key="jon's", **given)
    assert desk.item_states() == ["agreed"]


def test_the_loser_of_a_race_is_told_and_the_note_is_kept(pairs: PairDesk) -> None:
    desk = pairs.desk
    (pair_id,) = pairs.queue()
    lost = desk.held(desk.mara)
    desk.later(minutes=11)
    won = desk.held(desk.jon)
    for _ in range(2):
        with pytest.raises(DecisionRefused, match=r"somebody else has it now\. Your note is kept"):
            pairs.say(lost, desk.mara, B, note="typed", request_key="lost")
    first = pairs.say(won, desk.jon, A, request_key="won")
    assert pairs.say(won, desk.jon, A, request_key="won").repeated
    with pytest.raises(BadInput, match="belongs to another review"):
        pairs.say(won, desk.jon, B, request_key="won")
    assert [(row["note"], row["queue_item_id"]) for row in pairs.rows()] == [("typed", None), (None, first.item_id)]
    with desk.store.reading() as connection:
        assert [said.reviewer for said in load_preferences(connection, [pair_id])] == ["Jon"]


def test_a_queue_of_pairs_is_always_blind_and_never_ordered_by_scores(desk: QueueDesk) -> None:
    add_pairs(desk.store, 1)
    made = desk.queue(subject="pairs", order=QueueOrder.RANDOM, where=RowFilter(sources=("bench",)))
    assert (made.joined, made.queue.blind_judge, made.queue.blind_people) == (1, True, True)
    with pytest.raises(BadInput, match="order by oldest or random"):
        desk.queue("other", subject="pairs", order=QueueOrder.SEVERITY)


def test_an_answer_takes_no_preference(desk: QueueDesk) -> None:
    desk.flagged(0.1)
    desk.queue()
    with pytest.raises(BadInput, match="is an answer"):
        decide_item(desk.store, desk.held(desk.mara).token, reviewer=desk.mara, decision=A, request_key="k")

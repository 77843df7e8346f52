"""The item that a browser session has leased from a queue, and the next one."""

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import streamlit as st

from judgeboard.domain import Grade, QueueState
from judgeboard.errors import BadInput, JudgeboardError
from judgeboard.reviews.leases import LeasedItem, is_leased, next_item, release, renew
from judgeboard.reviews.shown import PairText, pair_texts
from judgeboard.store.engine import Store
from judgeboard.store.hidden_rows import read_as
from judgeboard.store.items import Item, ItemJudgment, load_item
from judgeboard.store.leases import own_progress
from judgeboard.store.queues import Queue, queue_by_id, queue_named
from judgeboard.store.reviewers import Reviewer
from judgeboard.store.settings import thresholds
from judgeboard.store.verdicts import RubricScores, load_rubric_scores
from judgeboard_dashboard.review.drafts import Draft
from judgeboard_dashboard.review.signals import primary_verdict
from judgeboard_dashboard.widgets.texts import UNKNOWN, score, short


@dataclass
class Card:
    """An item at hand; ``until`` (UTC) is when others may take it.

    ``shown`` says whether it was on the screen, ``asked`` whether it stood there with its time over.
    """

    held: LeasedItem
    until: datetime
    item: Item | None = None
    pair: PairText | None = None
    rubric: RubricScores = field(default_factory=RubricScores)
    threshold: float = 0.5
    shown: bool = False
    asked: bool = False

    @property
    def name(self) -> str:
        """What people call it: the answer's outside id; a pair has none before it is decided."""
        return f"pair {self.held.pair_id}" if self.item is None else self.item.external_id

    @property
    def characters(self) -> int:
        """How much there is to read."""
        if self.pair is not None:
            one = self.pair
            texts = [one.question, one.left, one.right, *(one.passages or ())]
        else:
            texts = [] if self.item is None else [self.item.query, self.item.answer, *(self.item.passages or ())]
        return sum(len(text or "") for text in texts)

    def lapsed(self, now: datetime) -> bool:
        """Whether its time is over."""
        return now >= self.until


@dataclass
class Reveal:
    """A blind review whose author is shown the judge; ``changing`` while they give another grade."""

    card: Card
    review_id: int
    decision: str | None
    given: Draft
    changing: bool = False

    def differs(self, draft: Draft) -> bool:
        """Whether a draft says something else than what was given blind; why one differs from the judge is no grade."""
        return _grades(draft) != _grades(self.given)


def read_card(store: Store, held: LeasedItem, reviewer: Reviewer) -> Card:
    """Read what a reviewer may see of an item that they hold."""
    with store.reading() as connection:
        if held.pair_id is not None:
            pair = pair_texts(connection, [held.pair_id], reviewer.id)[held.pair_id]
            return Card(held, held.until, pair=pair)
        read_as(connection, reviewer.id)
        item = load_item(connection, held.response_id or 0)
        return Card(
            held,
            held.until,
            item=item,
            rubric=RubricScores() if item.hidden else load_rubric_scores(connection, item.response_id),
            threshold=thresholds(connection).low_groundedness,
        )


def beside(given: Draft, item: Item) -> list[tuple[str, str, str]]:
    """Return (what, "You: 0.5", "judge: 0.42") for each grade that a person gave or was asked for."""
    judge = primary_verdict(item)
    pairs = (
        ("Groundedness", _number(given.groundedness), _scored(judge)),
        ("Quality", _number(given.quality), judge and _number(judge.quality)),
        ("Label", given.label and given.label.value, judge and judge.label and str(judge.label)),
    )
    return [(name, f"You: {own or UNKNOWN}", f"judge: {said or UNKNOWN}") for name, own, said in pairs if own or said]


def _grades(draft: Draft) -> Grade:
    return replace(draft.grade(), why_differs=None, claim_marks=())


def _scored(judge: ItemJudgment | None) -> str | None:
    return None if judge is None or judge.groundedness is None else score(judge.groundedness)


def _number(value: float | None) -> str | None:
    return None if value is None else short(value)


AT_HAND = 2  # the one on the screen and the next
AWAKE = timedelta(minutes=30)  # how long a page holds its items for somebody who does nothing
LONG_AGO = datetime.min.replace(tzinfo=UTC)
RENEWALS = 20  # a lease is renewed when this part of its time is over


@dataclass(frozen=True, slots=True)
class Said:
    """A stored review that this session can take back; ``draft`` is what was given with it."""

    id: int
    item_id: int
    response_id: int
    draft: Draft


@dataclass
class Walk:
    """A reviewer's way through a queue; ``done`` and ``left`` are counted when it begins and kept up from then on."""

    store: Store
    queue: Queue
    reviewer: Reviewer
    done: int
    left: int
    at_hand: list[Card] = field(default_factory=list)
    reveal: Reveal | None = None
    said: list[Said] = field(default_factory=list)
    skipping: bool = False
    touched: datetime = LONG_AGO
    ticked: bool = False
    closed: str = ""

    @property
    def card(self) -> Card | None:
        """The item on the screen: that whose judge is shown, else the first at hand."""
        if self.reveal is not None:
            return self.reveal.card
        return self.at_hand[0] if self.at_hand else None

    @property
    def place(self) -> str:
        """Where the item on the screen stands: "14 of 212"."""
        now = self.done + (self.reveal is None and bool(self.at_hand))
        return f"{now:,} of {max(self.done + self.left, now):,}"

    def fill(self, wanted: int) -> None:
        """Hold and read items until ``wanted`` are at hand or none is left; what somebody else has by now goes."""
        self._drop_lost()
        while len(self.at_hand) < wanted and not self.closed:
            try:
                held = next_item(
                    self.store, self.queue, self.reviewer, holding=[one.held.token for one in self.at_hand]
                )
            except BadInput as error:  # closed, or given to others meanwhile
                self.closed = str(error)
                return
            if held is None:
                return
            self.at_hand.append(read_card(self.store, held, self.reviewer))

    def look_whether_open(self) -> None:
        """A queue closed meanwhile has nothing more to show: what lay ahead of it goes."""
        with self.store.reading() as connection:
            self.queue = queue_by_id(connection, self.queue.id)
        if self.queue.state is QueueState.CLOSED:
            self.closed, self.at_hand = f"the queue {self.queue.name!r} is closed", []

    def settle(self, card: Card, *, done: bool) -> None:
        """An item is decided, skipped or lost: the next one comes."""
        self.at_hand = [one for one in self.at_hand if one is not card]
        self.skipping = False
        self.done += done
        self.left = max(self.left - 1, 0)

    def bring_back(self, card: Card) -> None:
        """Put an item that was taken back before all others."""
        self.reveal, self.skipping = None, False
        self.at_hand = [card, *(one for one in self.at_hand if one.held.item_id != card.held.item_id)]
        self.done, self.left = max(self.done - 1, 0), self.left + 1

    def touch(self, now: datetime) -> None:
        """Note that the person did something; a page that drew itself anew is none."""
        if not self.ticked:
            self.touched = now
        self.ticked = False

    def awake(self, now: datetime) -> bool:
        """Whether the person did something not long ago."""
        return now - self.touched < AWAKE

    def hold(self, now: datetime) -> None:
        """Renew what is at hand and was not renewed a moment ago; what lapsed on the screen waits for its reader."""
        span = timedelta(seconds=self.queue.lease_seconds)
        for card in list(self.at_hand):
            if (card.shown and card.lapsed(now)) or card.until - now > span - span / RENEWALS:
                continue
            until = renew(self.store, card.held.token, self.reviewer)
            if until is not None:
                card.until = until
            elif card.shown:
                card.until = now
            else:
                self.at_hand.remove(card)

    def let_go(self) -> None:
        """Give back all that is held."""
        for card in self.at_hand:
            release(self.store, card.held.token, self.reviewer)
        self.at_hand = []

    def _drop_lost(self) -> None:
        """What comes to the screen now may have been lost while it lay ahead: decided in another window, say."""
        while self.at_hand and not self.at_hand[0].shown:
            first = self.at_hand[0]
            with self.store.reading() as connection:
                theirs = is_leased(connection, first.held.token, self.reviewer)
            if theirs and not first.lapsed(datetime.now(UTC)):
                return
            until = renew(self.store, first.held.token, self.reviewer) if theirs else None
            if until is not None:
                first.until = until
                return
            del self.at_hand[0]


def begin(store: Store, name: str, reviewer: Reviewer) -> Walk:
    """Begin to go through a queue.

    Raises:
        NotFound: No such queue.
    """
    with store.reading() as connection:
        queue = queue_named(connection, name)
        done, left = own_progress(connection, queue.id, reviewer.id, datetime.now(UTC))
    return Walk(store, queue, reviewer, done, left)


_WALK = "queue_walk"


def walk_through(store: Store, name: str, reviewer: Reviewer) -> Walk:
    """Return the way of this session through a queue; one through another queue, or of another person, ends.

    Raises:
        NotFound: No such queue.
    """
    walk: Walk | None = st.session_state.get(_WALK)
    if walk is None or walk.queue.name != name or walk.reviewer.id != reviewer.id or walk.store is not store:
        let_go()
        walk = begin(store, name, reviewer)
        st.session_state[_WALK] = walk
    return walk


def let_go() -> None:
    """Give back what this session holds; called by every page that is not that of a queue."""
    walk: Walk | None = st.session_state.get(_WALK)
    if walk is None:
        return
    del st.session_state[_WALK]
    try:
        walk.let_go()
    except JudgeboardError:  # the time of a lease ends by itself
        return


TICK = 120.0  # seconds


def stay(walk: Walk) -> None:
    """Renew what is held now and again and again, as long as the person did something in the last half an hour."""
    st.fragment(_stay, run_every=min(TICK, walk.queue.lease_seconds / 4))(walk)


def _stay(walk: Walk) -> None:
    now = datetime.now(UTC)
    if walk.awake(now):
        walk.hold(now)
    card = walk.card
    if card is not None and walk.reveal is None and card.lapsed(now) and not card.asked:
        walk.ticked = True
        st.rerun()  # the whole page: it says what happened


QUEUE_KEYS = (
    ("Y N U", "there is a problem, there is none, unsure"),
    ("1–4", "quality"),
    ("A S D F G", "groundedness 0, 0.2, 0.5, 0.8, 1"),
    ("1–5 K", "rubric: level, next dimension; 6–0 where the quality is asked for too"),
    ("Q W", "label: grounded, hallucinated"),
    ("Q W E", "of a pair: the left one is better, a tie, the right one"),
    ("V B X P", "next claim or sentence; supported, contradicted, unsupported"),
    ("I O", "answer sentence by sentence; why you and the judge differ"),
    ("M", "write a note, Esc leaves it"),
    ("J", "skip, with a reason if you like; Enter skips"),
    ("Y E", "after the judge is shown: keep yours, change it"),
    ("Z", "undo the last decision"),
    ("L", "leave the queue"),
    ("H", "close this list"),
)

"""What a browser session holds while its reviewer goes through a queue: the item on the screen and the next one.

It knows nothing of Streamlit: a press or a drawing that is cut off leaves it whole.
"""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from judgeboard.domain import QueueState
from judgeboard.errors import BadInput
from judgeboard.queues import Queue, next_item, release, renew
from judgeboard.queues.taking import still_held
from judgeboard.review import Reviewer
from judgeboard.store.engine import Store
from judgeboard.store.queues.own_place import own_place
from judgeboard.store.queues.queue_rows import queue_by_id, queue_named
from judgeboard_dashboard.item.desk import Draft
from judgeboard_dashboard.queue_review.card import Card, Reveal, read_card

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
                theirs = still_held(connection, first.held.token, self.reviewer)
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
        done, left = own_place(connection, queue.id, reviewer.id, datetime.now(UTC))
    return Walk(store, queue, reviewer, done, left)

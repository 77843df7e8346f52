"""The items that a browser session has leased from a queue: the one on the screen and the next."""

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import streamlit as st

from judgeboard.domain import Decision, Grade, QueueState
from judgeboard.errors import BadInput, JudgeboardError
from judgeboard.formats.label_schema import LabelSchema
from judgeboard.reviews.leases import LeasedItem, is_leased, next_item, release, renew
from judgeboard.reviews.queues import schema_of_queue
from judgeboard.reviews.shown import PairText, pair_texts
from judgeboard.store.clock import utc_now
from judgeboard.store.engine import Store
from judgeboard.store.hidden_rows import read_as
from judgeboard.store.items import Item, load_item
from judgeboard.store.leases import count_items_for
from judgeboard.store.queues import queue_by_id, queue_named
from judgeboard.store.settings import thresholds
from judgeboard.store.tables import Queue, Reviewer
from judgeboard.store.verdicts import RubricScores, load_rubric_scores
from judgeboard_dashboard.review.drafts import Draft, UndoableReview

READ_AHEAD = 2  # the item on the screen and the next
ACTIVE = timedelta(minutes=30)  # a page keeps leases for this long without activity
RENEWALS = 20  # a lease is renewed after 1 / RENEWALS of the time of a lease
CHECK_SECONDS = 120.0
LONG_AGO = datetime.min.replace(tzinfo=UTC)
_SESSION = "queue_session"


@dataclass
class ShownItem:
    """A leased item with texts, either ``item`` or ``pair``. Others may lease the item after ``until`` (UTC).

    ``shown``: the item was on the screen. ``expiry_shown``: the page has told the reviewer that the
    lease ended. ``skipped`` is the draft on the screen when the reviewer skipped the item. A
    groundedness below ``threshold`` and a quality up to ``low_quality`` are bad.
    """

    lease: LeasedItem
    until: datetime
    item: Item | None = None
    pair: PairText | None = None
    rubric: RubricScores = field(default_factory=RubricScores)
    threshold: float = 0.5
    low_quality: float = 2
    shown: bool = False
    expiry_shown: bool = False
    skipped: Draft | None = None

    @property
    def name(self) -> str:
        """The external id of an answer, or the number of a pair: a pair's external id may name the models."""
        return f"pair {self.lease.pair_id}" if self.item is None else self.item.response.external_id

    @property
    def subject(self) -> int:
        """The id of the response, or minus the id of the pair; drafts are kept by subject."""
        return self.lease.response_id or -(self.lease.pair_id or 0)

    def reread(self, store: Store, reviewer: Reviewer) -> None:
        """Read the answer again, because the answer was judged again."""
        now = read_item(store, self.lease, reviewer)
        self.item, self.rubric = now.item, now.rubric

    def expired(self, now: datetime) -> bool:
        """Whether others may lease the item."""
        return now >= self.until


@dataclass
class Reveal:
    """A blind review whose author is shown the judge. ``changing``: the author changes the grade now."""

    leased: ShownItem
    review_id: int
    decision: Decision
    blind_draft: Draft
    changing: bool = False

    def differs(self, draft: Draft) -> bool:
        """Whether a draft has other grades than the blind review; marks and the reason to differ are not compared."""
        return _grades(draft) != _grades(self.blind_draft)


def _grades(draft: Draft) -> Grade:
    return replace(draft.grade(), why_differs=None, claim_marks=())


def read_item(store: Store, lease: LeasedItem, reviewer: Reviewer) -> ShownItem:
    """Read what a reviewer may see of a leased item."""
    with store.reading() as connection:
        read_as(connection, reviewer.id)
        if lease.pair_id is not None:
            pair = pair_texts(connection, [lease.pair_id], reviewer.id)[lease.pair_id]
            return ShownItem(lease, lease.until, pair=pair)
        item, limits = load_item(connection, lease.response_id or 0), thresholds(connection)
        return ShownItem(
            lease,
            lease.until,
            item=item,
            rubric=RubricScores()
            if item.hidden
            else load_rubric_scores(connection, item.response_id),
            threshold=limits.cuts.of(item.response.query_type),
            low_quality=limits.low_quality,
        )


@dataclass
class QueueSession:
    """One reviewer's work in one queue; ``done`` and ``total`` are counted at the start.

    ``total`` is the number of items, the same for all reviewers. ``total`` stays the same, because
    repeats and test items, which come later, are not announced. ``feedback`` is the gold label of
    the last item of a training queue. ``undoable`` are the reviews and the skipped items of this
    session.
    """

    store: Store
    queue: Queue
    reviewer: Reviewer
    done: int = 0
    total: int = 0
    schema: LabelSchema | None = None
    items: list[ShownItem] = field(default_factory=list)
    reveal: Reveal | None = None
    undoable: list[UndoableReview | ShownItem] = field(default_factory=list)
    last_active: datetime = LONG_AGO
    redrawn: bool = False
    closed: str = ""
    feedback: str = ""

    @property
    def current(self) -> ShownItem | None:
        """The item on the screen: the item of the reveal, otherwise the first leased item."""
        if self.reveal is not None:
            return self.reveal.leased
        return self.items[0] if self.items else None

    @property
    def position(self) -> str:
        """The position of the item on the screen: "14 of 212"."""
        now = self.done + (self.reveal is None and bool(self.items))
        return f"{now:,} of {max(self.total, now):,}"

    def lease_items(self, number: int) -> None:
        """Lease and read items until there are ``number`` items or none is left. Drop lost items first."""
        self._drop_lost()
        while len(self.items) < number and not self.closed:
            try:
                lease = next_item(
                    self.store,
                    self.queue,
                    self.reviewer,
                    holding=[item.lease.token for item in self.items],
                )
            except BadInput as error:  # closed, or assigned to others in the meantime
                self.closed = str(error)
                return
            if lease is None:
                return
            self.items.append(read_item(self.store, lease, self.reviewer))

    def check_open(self) -> None:
        """Drop all items if the queue was closed in the meantime."""
        with self.store.reading() as connection:
            self.queue = queue_by_id(connection, self.queue.id)
        if self.queue.state is QueueState.CLOSED:
            self.closed, self.items = f"the queue {self.queue.name!r} is closed", []

    def remove(self, item: ShownItem, *, is_done: bool) -> None:
        """Remove an item that is decided (``is_done``), skipped or lost; the next one follows."""
        self.items = [other for other in self.items if other is not item]
        self.done += is_done

    def put_first(self, item: ShownItem, *, is_done: bool) -> None:
        """Make the item of an undone review (``is_done``) or skip the current item."""
        self.reveal = None
        self.items = [
            item,
            *(other for other in self.items if other.lease.item_id != item.lease.item_id),
        ]
        self.done = max(self.done - is_done, 0)

    def note_activity(self, now: datetime) -> None:
        """Record that the reviewer was active, unless the page was redrawn without the reviewer."""
        if not self.redrawn:
            self.last_active = now
        self.redrawn = False

    def is_active(self, now: datetime) -> bool:
        """Whether the reviewer did something in the last 30 minutes."""
        return now - self.last_active < ACTIVE

    def renew(self, now: datetime) -> None:
        """Renew each lease after a part of the lease time. The reviewer decides about an expired item on the screen."""
        span = timedelta(seconds=self.queue.lease_seconds)
        for item in list(self.items):
            if (item.shown and item.expired(now)) or item.until - now > span - span / RENEWALS:
                continue
            until = renew(self.store, item.lease.token, self.reviewer)
            if until is not None:
                item.until = until
            elif item.shown:
                item.until = now
            else:
                self.items.remove(item)

    def release_all(self) -> None:
        """Release all leases."""
        for item in self.items:
            release(self.store, item.lease.token, self.reviewer)
        self.items = []

    def _drop_lost(self) -> None:
        """Drop items that were lost before the screen showed the items, such as items decided in another window."""
        while self.items and not self.items[0].shown:
            first = self.items[0]
            with self.store.reading() as connection:
                own = is_leased(connection, first.lease.token, self.reviewer)
            if own and not first.expired(utc_now()):
                return
            until = renew(self.store, first.lease.token, self.reviewer) if own else None
            if until is not None:
                first.until = until
                return
            del self.items[0]


def begin(store: Store, name: str, reviewer: Reviewer) -> QueueSession:
    """Start to review a queue."""
    with store.reading() as connection:
        read_as(connection, reviewer.id)
        queue = queue_named(connection, name)
        schema = schema_of_queue(connection, queue)
    work = QueueSession(store, queue, reviewer, schema=schema)
    work.lease_items(1)  # stores training items, which the count needs
    with store.reading() as connection:
        read_as(connection, reviewer.id)
        work.total, work.done = count_items_for(connection, queue.id, reviewer.id)
    return work


def queue_session(store: Store, name: str, reviewer: Reviewer) -> QueueSession:
    """Return this browser session's work in a queue. Work in another queue or by another person ends."""
    work: QueueSession | None = st.session_state.get(_SESSION)
    if (
        work is None
        or work.queue.name != name
        or work.reviewer.id != reviewer.id
        or work.reviewer.sources != reviewer.sources  # an admin has changed the sources
        or work.store is not store
    ):
        release_leases()
        work = begin(store, name, reviewer)
        st.session_state[_SESSION] = work
    return work


def release_leases() -> None:
    """Release the leases of this browser session. Every page except the review of a queue calls this."""
    work: QueueSession | None = st.session_state.get(_SESSION)
    if work is None:
        return
    del st.session_state[_SESSION]
    try:
        work.release_all()
    except JudgeboardError:  # every lease ends after a time
        return


def keep_leases(work: QueueSession) -> None:
    """Renew the leases now and then while the page is open and the reviewer is active."""
    st.fragment(_renew, run_every=min(CHECK_SECONDS, work.queue.lease_seconds / 4))(work)


def _renew(work: QueueSession) -> None:
    now = utc_now()
    if work.is_active(now):
        work.renew(now)
    item = work.current
    if item is not None and work.reveal is None and item.expired(now) and not item.expiry_shown:
        work.redrawn = True
        st.rerun()  # the whole page, which shows that the lease ended

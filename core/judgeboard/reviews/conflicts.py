"""Items whose reviews are in conflict: for leads with all reviews, afterwards for those who reviewed them."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from judgeboard.domain import ItemState, Stage
from judgeboard.errors import NotAllowed
from judgeboard.people.permissions import Action, may
from judgeboard.reviews.outcome import outcome, spoken
from judgeboard.store.hidden_rows import hidden_of
from judgeboard.store.leases import Skipped, skips_of
from judgeboard.store.pairs import PairItem, load_pairs
from judgeboard.store.queue_items import (
    AnswerText,
    QueueItem,
    QueueReview,
    answer_texts,
    item_by_id,
    reviews_on,
    reviews_on_items,
)
from judgeboard.store.queue_progress import ConflictRow, conflict_rows, open_queue_ids, own_conflict_rows
from judgeboard.store.queues import Queue, queue_by_id, queue_named
from judgeboard.store.reviewers import Reviewer


@dataclass(frozen=True, slots=True)
class ConflictLine:
    """A split item in one line: on what the reviews differ, and how many people gave one."""

    item: ConflictRow
    differ_on: tuple[str, ...]
    reviews: int


@dataclass(frozen=True, slots=True)
class ConflictPage:
    """A page of split items; ``next`` is what the page after it starts behind, None where this is the last."""

    lines: tuple[ConflictLine, ...]
    next: int | None


@dataclass(frozen=True, slots=True)
class Conflict:
    """A split item with its texts, all reviews that stand with their notes, and who put it aside.

    ``answer`` is set or ``pair`` (in the order as stored); what was said of a pair is in the same terms. An
    ``adjudication`` is among the reviews too.
    """

    item: QueueItem
    queue: Queue
    answer: AnswerText | None
    pair: PairItem | None
    reviews: tuple[QueueReview, ...]
    differ_on: tuple[str, ...]
    skips: tuple[Skipped, ...]

    @property
    def adjudication(self) -> QueueReview | None:
        """The last word, None while there is none."""
        return next((word for word in self.reviews if word.stage is Stage.ADJUDICATION), None)


def open_conflicts(
    connection: Connection, queue: str | None = None, *, after: int | None = None, limit: int = 50
) -> ConflictPage:
    """Return the items that wait for an adjudication, the first that joined first.

    Args:
        connection: A transaction.
        queue: Only those of this queue, closed or not; those of every open one by default.
        after: The ``next`` of the page before.
        limit: At most so many, up to 1,000.

    Raises:
        NotFound: No such queue.
    """
    ids = open_queue_ids(connection) if queue is None else [queue_named(connection, queue).id]
    rows = conflict_rows(connection, ids, after=after or 0, limit=limit + 1)
    return _page(connection, rows, limit)


def own_conflicts(
    connection: Connection, reviewer_id: int, *, before: int | None = None, limit: int = 50
) -> ConflictPage:
    """Return the items on which a person and others differed, the newest first.

    What the others said is shown to them (`load_conflict`) once the item is adjudicated.

    Args:
        connection: A transaction.
        reviewer_id: Who looks at their own.
        before: The ``next`` of the page before.
        limit: At most so many, up to 1,000.
    """
    return _page(connection, own_conflict_rows(connection, reviewer_id, before=before, limit=limit + 1), limit)


def load_conflict(connection: Connection, item_id: int, viewer: Reviewer | None = None) -> Conflict:
    """Return an item with all that was said of it.

    Args:
        connection: A transaction.
        item_id: The item, in whatever state.
        viewer: Who looks: a lead, or somebody who spoke there, once it is adjudicated; nobody who is to review it
            blind and has not. None is a program that holds the database.

    Raises:
        NotFound: No such item.
        NotAllowed: The viewer may not see what others said.
    """
    item = item_by_id(connection, item_id)
    words = reviews_on(connection, item_id)
    if viewer is not None:
        _check_may_see(connection, viewer, item, words)
    answer = None if item.response_id is None else answer_texts(connection, [item.response_id])[item.response_id]
    return Conflict(
        item=item,
        queue=queue_by_id(connection, item.queue_id),
        answer=answer,
        pair=None if item.pair_id is None else load_pairs(connection, [item.pair_id])[0],
        reviews=tuple(words),
        differ_on=_differ_on(words, item.reviews_needed),
        skips=tuple(skips_of(connection, item_id)),
    )


def _check_may_see(connection: Connection, viewer: Reviewer, item: QueueItem, words: Sequence[QueueReview]) -> None:
    if hidden_of(connection, viewer.id, response_id=item.response_id, pair_id=item.pair_id):
        raise NotAllowed("You are to review this yourself without seeing what others said: do that first.")
    if may(viewer, Action.ADJUDICATE):
        return
    took_part = any(word.reviewer_id == viewer.id for word in words)
    if not took_part or item.state is not ItemState.ADJUDICATED:
        raise NotAllowed("What others said of an item is shown to who reviewed it, once a lead has decided.")


def _page(connection: Connection, rows: Sequence[ConflictRow], limit: int) -> ConflictPage:
    shown = rows[:limit]
    words = reviews_on_items(connection, [row.item_id for row in shown])
    lines = tuple(
        ConflictLine(row, _differ_on(words[row.item_id], row.reviews_needed), _people(words[row.item_id]))
        for row in shown
    )
    return ConflictPage(lines, shown[-1].item_id if len(rows) > limit else None)


def _people(words: Sequence[QueueReview]) -> int:
    return len({word.reviewer_id for word in words if word.stage is not Stage.ADJUDICATION})


def _differ_on(words: Sequence[QueueReview], needed: int) -> tuple[str, ...]:
    before = [spoken(word) for word in words if word.stage is not Stage.ADJUDICATION]
    return outcome(before, needed).differ_on

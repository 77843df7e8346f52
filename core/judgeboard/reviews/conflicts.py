"""Items in conflict: for leads with all reviews, after the adjudication also for those who reviewed them."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from judgeboard.domain import ItemState, PairItem, Stage
from judgeboard.errors import NotAllowed
from judgeboard.people.permissions import Action, may
from judgeboard.reviews.outcome import outcome
from judgeboard.store.hidden_rows import hidden_of
from judgeboard.store.leases import Skipped, skips_of
from judgeboard.store.pairs import load_pairs
from judgeboard.store.queue_items import (
    AnswerText,
    QueueItem,
    QueueReview,
    answer_texts,
    item_by_id,
    reviews_on,
    reviews_on_items,
)
from judgeboard.store.queues import (
    ConflictRow,
    Queue,
    conflict_rows,
    own_conflict_rows,
    queue_by_id,
    queue_named,
)
from judgeboard.store.reviewers import Reviewer


@dataclass(frozen=True, slots=True)
class ConflictLine:
    """A line of the list of conflicts: on what the reviews differ, and how many people reviewed the item."""

    item: ConflictRow
    differ_on: tuple[str, ...]
    reviews: int


@dataclass(frozen=True, slots=True)
class ConflictPage:
    """A page of conflicts; ``next`` is the key of the page after it, None on the last page."""

    lines: tuple[ConflictLine, ...]
    next: int | None


@dataclass(frozen=True, slots=True)
class Conflict:
    """An item with its texts, its current reviews and who skipped it.

    Either ``answer`` or ``pair`` is set. Preferences on a pair are in terms of the stored answers. ``reviews``
    include the adjudication.
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
        """The lead's final decision, None while there is none."""
        return next((review for review in self.reviews if review.stage is Stage.ADJUDICATION), None)


def open_conflicts(
    connection: Connection, queue: str | None = None, *, after: int | None = None, limit: int = 50
) -> ConflictPage:
    """Return up to 1,000 items that need an adjudication, the oldest first, of a queue or of every open queue.

    ``after`` is the ``next`` of the page before.
    """
    queue_id = None if queue is None else queue_named(connection, queue).id
    return _page(connection, conflict_rows(connection, queue_id, after=after or 0, limit=limit + 1), limit)


def own_conflicts(connection: Connection, reviewer_id: int, *, limit: int = 50) -> ConflictPage:
    """Return up to 1,000 items that a person reviewed and whose reviews differ, the newest first."""
    return _page(connection, own_conflict_rows(connection, reviewer_id, limit=limit + 1), limit)


def load_conflict(connection: Connection, item_id: int, viewer: Reviewer | None = None) -> Conflict:
    """Return an item, in whatever state, with all its reviews.

    A viewer must be a lead, or have reviewed the item, which then must be adjudicated. Nobody sees it who must still
    review it blind. None is a program that has the database. Raises NotAllowed if the viewer may not see the reviews of
    others.
    """
    item = item_by_id(connection, item_id)
    reviews = reviews_on(connection, item_id)
    if viewer is not None:
        _check_may_see(connection, viewer, item, reviews)
    answer = None if item.response_id is None else answer_texts(connection, [item.response_id])[item.response_id]
    return Conflict(
        item=item,
        queue=queue_by_id(connection, item.queue_id),
        answer=answer,
        pair=None if item.pair_id is None else load_pairs(connection, [item.pair_id])[0],
        reviews=tuple(reviews),
        differ_on=_differ_on(reviews, item.reviews_needed),
        skips=tuple(skips_of(connection, item_id)),
    )


def _check_may_see(connection: Connection, viewer: Reviewer, item: QueueItem, reviews: Sequence[QueueReview]) -> None:
    if hidden_of(connection, viewer.id, response_id=item.response_id, pair_id=item.pair_id):
        raise NotAllowed("You must review this item blind first: then you see the other reviews.")
    took_part = any(review.reviewer_id == viewer.id for review in reviews)
    if not may(viewer, Action.ADJUDICATE) and not (took_part and item.state is ItemState.ADJUDICATED):
        raise NotAllowed("Only the reviewers of an item see its other reviews, after a lead has adjudicated it.")


def _page(connection: Connection, rows: Sequence[ConflictRow], limit: int) -> ConflictPage:
    shown = rows[:limit]
    reviews = reviews_on_items(connection, [row.item_id for row in shown])
    lines = []
    for row in shown:
        people = {each.reviewer_id for each in reviews[row.item_id] if each.stage is not Stage.ADJUDICATION}
        lines.append(ConflictLine(row, _differ_on(reviews[row.item_id], row.reviews_needed), len(people)))
    return ConflictPage(tuple(lines), shown[-1].item_id if len(rows) > limit else None)


def _differ_on(reviews: Sequence[QueueReview], needed: int) -> tuple[str, ...]:
    return outcome([review for review in reviews if review.stage is not Stage.ADJUDICATION], needed).differ_on

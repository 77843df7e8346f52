"""The outcome of the reviews of an item: the states of the item and the flags, and conflicts between reviews."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from judgeboard.domain import Action, Decision, FlagState, ItemState, PairItem, Stage
from judgeboard.errors import NotAllowed
from judgeboard.measure.notes import note
from judgeboard.people.permissions import may
from judgeboard.store.events import CONFLICT, record_event
from judgeboard.store.hidden_rows import hidden_of
from judgeboard.store.leases import is_declined, skips_of
from judgeboard.store.pairs import load_pairs
from judgeboard.store.queue_filling import follow_queues
from judgeboard.store.queue_items import (
    UNFINISHED,
    AnswerText,
    answer_texts,
    decided_states,
    flags_decided_at,
    holding_items,
    item_by_id,
    reviews_on,
    reviews_on_items,
    set_item_state,
    unfinished_beside,
)
from judgeboard.store.queues import (
    ConflictRow,
    conflict_rows,
    own_conflict_rows,
    queue_by_id,
    queue_named,
)
from judgeboard.store.reviews import Review, flags_with_newer, lock_flags, set_flag_states
from judgeboard.store.tables import Flag, Queue, QueueItem, Reviewer, Skip
from judgeboard.text import counted

QUALITY_CONFLICT = (
    2  # reviews are in conflict if quality, or a rubric's dimension, differs by at least this
)
GROUNDEDNESS_CONFLICT = 0.4
ALL_UNSURE = "all unsure"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The state of an item, how many more reviews the item needs, and on what the reviews differ."""

    state: ItemState
    more: int = 0
    differ_on: tuple[str, ...] = ()


def outcome(reviews: Sequence[Review], count: int, *, declined: bool = False) -> Outcome:
    """Return the outcome of the current reviews of an item that needs ``count`` reviews.

    An adjudication ends the item. If as many reviewers as needed (at least two) are unsure and
    nobody decided, a lead decides. If fewer are unsure, the item needs other reviewers instead. A
    ``declined`` item needs no more reviews.
    """
    if any(review.stage is Stage.ADJUDICATION for review in reviews):
        return Outcome(ItemState.ADJUDICATED, differ_on=differences(reviews))
    counting_reviews = [review for review in reviews if _counts(review)]
    unsure = sum(
        review.decision == Decision.UNSURE and review.stage is not Stage.REVEALED
        for review in reviews
    )
    if len(counting_reviews) >= count or (declined and counting_reviews):
        differ_on = differences(counting_reviews)
        return Outcome(ItemState.CONFLICT if differ_on else ItemState.AGREED, differ_on=differ_on)
    if declined:
        return Outcome(ItemState.AGREED)
    if not counting_reviews:
        if unsure >= max(count, 2):  # one person alone is no conflict
            return Outcome(ItemState.CONFLICT, differ_on=(ALL_UNSURE,))
        return Outcome(ItemState.OPEN, more=max(count - unsure, 1))
    return Outcome(ItemState.OPEN, more=count - len(counting_reviews))


def differences(reviews: Sequence[Review]) -> tuple[str, ...]:
    """Return the parts on which counted reviews differ too much: decision, label, scores, fields of a schema."""
    counting_reviews = [review for review in reviews if _counts(review)]
    grades = [review.grade for review in counting_reviews]
    categories: dict[str, set[str | None]] = {
        "decision": {review.choice for review in counting_reviews},
        "label": {grade.label for grade in grades},
    }
    names = [name for name, values in categories.items() if len(values - {None}) > 1]
    by_dimension = [grade.by_dimension for grade in grades]
    dimensions = sorted({name for scores in by_dimension for name in scores})
    numbers: list[tuple[str, list[float | None], float]] = [
        ("quality", [grade.quality for grade in grades], QUALITY_CONFLICT),
        ("groundedness", [grade.groundedness for grade in grades], GROUNDEDNESS_CONFLICT),
        *(
            (name, [scores.get(name) for scores in by_dimension], QUALITY_CONFLICT)
            for name in dimensions
        ),
    ]
    for name, of_reviews, limit in numbers:
        values = [value for value in of_reviews if value is not None]
        if values and round(max(values) - min(values), 9) >= limit:  # rounded: 0.9 - 0.5 is 0.4
            names.append(name)
    fields = sorted(
        {
            name
            for grade in grades
            for name, value in grade.choices.items()
            if (
                isinstance(value, str | bool)
                or (isinstance(value, list) and isinstance(value[0], str))
            )
        }
    )
    return tuple(names) + tuple(
        name
        for name in fields
        if len({str(each.choices[name]) for each in grades if name in each.choices}) > 1
    )


def differ_words(differ_on: Sequence[str]) -> str:
    """Return words for the reviews of an item: "differ on label and quality"; empty without a difference."""
    if ALL_UNSURE in differ_on:
        return "are all unsure"
    return f"differ on {' and '.join(differ_on)}" if differ_on else ""


def _counts(review: Review) -> bool:
    """Whether a review counts for the item: not unsure, not after a reveal, and no adjudication."""
    return review.decision != Decision.UNSURE and review.stage not in {
        Stage.REVEALED,
        Stage.ADJUDICATION,
    }


def update_states(
    connection: Connection, item_id: int | None, flags: Sequence[Flag], now: datetime
) -> tuple[dict[int, FlagState], ItemState | None]:
    """Update the item and the flags of a review that was added, replaced or withdrawn; return the states."""
    if item_id is not None:
        item_state = update_item_state(connection, item_id, now)
        updated_flags = lock_flags(
            connection, {flag.response_id for flag in flags}, [flag.id for flag in flags]
        )
        return {flag.id: flag.state for flag in updated_flags}, item_state
    states = update_flag_states(connection, flags)
    follow_queues(connection, {flag.response_id for flag in flags}, now)
    return states, None


def held_words(connection: Connection, states: Mapping[int, FlagState]) -> str | None:
    """Return a sentence that names the queues that keep decided flags (states by id) open; None if none does."""
    flag_ids = [flag_id for flag_id, state in states.items() if state is FlagState.OPEN]
    queues = []
    for name, item_id, count in holding_items(connection, flag_ids):
        result = outcome(reviews_on(connection, item_id), count)
        queues.append(
            f"{name} (needs {counted(result.more, 'review') if result.more else 'an adjudication'})"
        )
    return note("flags_held", queues=queues).text if queues else None


def update_flag_states(connection: Connection, flags: Sequence[Flag]) -> dict[int, FlagState]:
    """Set flags to the states that the reviews decide, and return the states. Without a decision a flag is open.

    A superseded flag stays superseded. Instead of open, a flag becomes superseded if a newer flag
    of the same rule is open.
    """
    before = {flag.id: flag.state for flag in flags}
    movable = [flag_id for flag_id, state in before.items() if state is not FlagState.SUPERSEDED]
    states = before | dict.fromkeys(movable, FlagState.OPEN) | decided_states(connection, movable)
    reopened = [
        id_
        for id_ in movable
        if states[id_] is FlagState.OPEN and before[id_] is not FlagState.OPEN
    ]
    states |= dict.fromkeys(flags_with_newer(connection, reopened), FlagState.SUPERSEDED)
    set_flag_states(
        connection, {id_: state for id_, state in states.items() if state is not before[id_]}
    )
    return states


def update_item_state(connection: Connection, item_id: int, now: datetime) -> ItemState:
    """Update a locked item, the unused leases and the flags from the reviews; return the state of the item."""
    item = item_by_id(connection, item_id)
    reviews = reviews_on(connection, item_id)
    result = outcome(reviews, item.reviews_needed, declined=is_declined(connection, item_id))
    state = result.state
    if reviews and item.repeat_for is not None:
        state = ItemState.AGREED  # nobody else reviews or adjudicates a repeat or a test item
    if state in UNFINISHED and item.state not in UNFINISHED and unfinished_beside(connection, item):
        state = ItemState.LEFT  # a later flag added the same answer to the queue again
    set_item_state(
        connection, item, state, now, leases=result.more if state is ItemState.OPEN else 0
    )
    if state is ItemState.CONFLICT and item.state is not ItemState.CONFLICT:
        people = sorted({review.reviewer_id for review in reviews})
        about = {"item": item_id, "review": reviews[-1].id, "people": people}
        record_event(
            connection,
            CONFLICT,
            reviews[-1].reviewer,
            response_id=item.response_id,
            details=about,
            now=now,
        )
    if item.repeat_for is None and item.response_id is not None:
        update_flag_states(
            connection,
            lock_flags(connection, [item.response_id], flags_decided_at(connection, item_id)),
        )
        follow_queues(connection, [item.response_id], now)
    return state


@dataclass(frozen=True, slots=True)
class ConflictLine:
    """A line of the list of conflicts: on what the reviews differ, and how many people reviewed the item."""

    item: ConflictRow
    differ_on: tuple[str, ...]
    reviews: int


@dataclass(frozen=True, slots=True)
class ConflictPage:
    """A page of conflicts; ``next`` is the key of the next page, None on the last page."""

    lines: tuple[ConflictLine, ...]
    next: int | None


@dataclass(frozen=True, slots=True)
class Conflict:
    """An item with the texts, the current reviews and the skips.

    Either ``answer`` or ``pair`` is set. Preferences on a pair are in terms of the stored answers.
    ``reviews`` include the adjudication.
    """

    item: QueueItem
    queue: Queue
    answer: AnswerText | None
    pair: PairItem | None
    reviews: tuple[Review, ...]
    differ_on: tuple[str, ...]
    skips: tuple[Skip, ...]

    @property
    def adjudication(self) -> Review | None:
        """The lead's final decision, None while there is none."""
        return next((review for review in self.reviews if review.stage is Stage.ADJUDICATION), None)


def open_conflicts(
    connection: Connection, queue: str | None = None, *, after: int | None = None, limit: int = 50
) -> ConflictPage:
    """Return up to ``limit`` items of one queue or of all open queues that need an adjudication, the oldest first.

    ``limit`` is at most 1,000. ``after`` is the ``next`` of the previous page.
    """
    queue_id = None if queue is None else queue_named(connection, queue).id
    return _page(
        connection, conflict_rows(connection, queue_id, after=after or 0, limit=limit + 1), limit
    )


def own_conflicts(connection: Connection, reviewer_id: int, *, limit: int = 50) -> ConflictPage:
    """Return up to ``limit`` items that a person reviewed and whose reviews differ, the newest first."""
    return _page(connection, own_conflict_rows(connection, reviewer_id, limit=limit + 1), limit)


def load_conflict(connection: Connection, item_id: int, viewer: Reviewer | None) -> Conflict:
    """Return an item in any state with all reviews.

    Leads may see the item, and the reviewers once the item is adjudicated, but nobody who must
    still review the item blind. ``viewer`` is None for a program with access to the database.
    Raises NotAllowed if the viewer may not see the reviews.
    """
    item = item_by_id(connection, item_id)
    reviews = reviews_on(connection, item_id)
    if viewer is not None:
        if hidden_of(connection, viewer.id, response_id=item.response_id, pair_id=item.pair_id):
            raise NotAllowed(
                "You must review this item blind first: then you see the other reviews."
            )
        took_part = any(review.reviewer_id == viewer.id for review in reviews)
        if not may(viewer, Action.ADJUDICATE) and not (
            took_part and item.state is ItemState.ADJUDICATED
        ):
            raise NotAllowed(
                "Only the reviewers of an item see its other reviews, after a lead has adjudicated it."
            )
    answer = (
        None
        if item.response_id is None
        else answer_texts(connection, [item.response_id])[item.response_id]
    )
    return Conflict(
        item=item,
        queue=queue_by_id(connection, item.queue_id),
        answer=answer,
        pair=None if item.pair_id is None else load_pairs(connection, [item.pair_id])[0],
        reviews=tuple(reviews),
        differ_on=_differ_on(reviews, item.reviews_needed),
        skips=tuple(skips_of(connection, item_id)),
    )


def _page(connection: Connection, rows: Sequence[ConflictRow], limit: int) -> ConflictPage:
    page_rows = rows[:limit]
    reviews = reviews_on_items(connection, [row.item_id for row in page_rows])
    lines = []
    for row in page_rows:
        people = {
            each.reviewer_id
            for each in reviews[row.item_id]
            if each.stage is not Stage.ADJUDICATION
        }
        lines.append(
            ConflictLine(row, _differ_on(reviews[row.item_id], row.reviews_needed), len(people))
        )
    return ConflictPage(tuple(lines), page_rows[-1].item_id if len(rows) > limit else None)


def _differ_on(reviews: Sequence[Review], count: int) -> tuple[str, ...]:
    return outcome(
        [review for review in reviews if review.stage is not Stage.ADJUDICATION], count
    ).differ_on

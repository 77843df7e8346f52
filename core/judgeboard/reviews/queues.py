"""Queues made, closed and assigned by leads, and how far they are."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection

from judgeboard.domain import FlagState, ItemState, QueueOrder, QueueState
from judgeboard.errors import BadInput
from judgeboard.flags.rules import RULES
from judgeboard.people.permissions import Action, Actor, actor_name, allowed
from judgeboard.reviews.checks import LONGEST_KEY
from judgeboard.reviews.outcome import update_flag_state
from judgeboard.stats.estimates import percent
from judgeboard.store import queue_progress as queue_progress_queue_progress
from judgeboard.store.engine import Store
from judgeboard.store.events import record_event
from judgeboard.store.filters import RowFilter, describe
from judgeboard.store.queue_filling import (
    Joined,
    Sampled,
    any_pairs,
    count_sampled,
    dimensions_without_scores,
    fill_queue,
    fill_with_pairs,
    rules_without_flags,
    sources_without_rows,
    types_without_rows,
)
from judgeboard.store.queue_items import decided_flags_in
from judgeboard.store.queues import (
    PAIRS,
    Queue,
    assign,
    assignees,
    find_queue,
    insert_queue,
    queue_by_id,
    queue_named,
    set_queue_state,
    unassign,
)
from judgeboard.store.reviewers import Reviewer, reviewers_by_id
from judgeboard.store.reviews import lock_flag
from judgeboard.text import unstorable

ORDER_LABELS: dict[QueueOrder, str] = {
    QueueOrder.SEVERITY: "worst first",
    QueueOrder.OLDEST: "oldest first",
    QueueOrder.DISAGREEMENT: "where judges differ most first",
    QueueOrder.INSTABILITY: "where a judge differs most from itself first",
    QueueOrder.RANDOM: "in random order",
}
ALL = 1.0


def describe_rules(queue: Queue, *, for_lead: bool = False) -> tuple[str, ...]:
    """Return the rules of a queue, a phrase each; what is served again is told to leads alone."""
    noun = "pairs" if queue.subject == PAIRS else "flagged answers"
    said = [
        f"{noun}: {describe(queue.filter)}" if queue.filter != RowFilter() else f"all {noun}",
        ORDER_LABELS[queue.sort],
        _needed(queue, "pair" if queue.subject == PAIRS else "answer"),
        _blind(queue),
    ]
    if queue.subject != PAIRS and queue.grades:
        said.append(f"asks for {', '.join(queue.grades)}")
    if queue.sampling_rate:
        said.append(f"{percent(queue.sampling_rate)} randomly sampled")
    if queue.repeat_rate and for_lead:
        said.append(f"{percent(queue.repeat_rate)} served again to who reviewed it a week before")
    return (*said, f"held for {_minutes(queue.lease_seconds)}")


def _needed(queue: Queue, noun: str) -> str:
    if queue.reviews_needed == 1:
        return f"1 review of each {noun}"
    if queue.overlap == ALL:
        return f"{queue.reviews_needed} reviews of each {noun}"
    return f"{queue.reviews_needed} reviews of {percent(queue.overlap)} of the {noun}s, 1 of the others"


def _blind(queue: Queue) -> str:
    hidden = [word for word, away in (("the judge", queue.blind_judge), ("other people", queue.blind_people)) if away]
    if not hidden:
        return "not blind"
    reveals = queue.blind_judge and queue.reveal and queue.subject != PAIRS  # after a pair the next one comes
    after = ", who is shown after the review" if reveals else ""
    return f"blind to {' and '.join(reversed(hidden))}{after}"


def _minutes(seconds: int) -> str:
    return f"{seconds / 60:g} minutes" if seconds >= 60 else f"{seconds} seconds"


ASKED = ("label", "groundedness", "quality")
FROM_SCORES = (QueueOrder.SEVERITY, QueueOrder.DISAGREEMENT, QueueOrder.INSTABILITY)
MOST_REVIEWS = 20
LONGEST_NAME = 60
LONGEST_GUIDELINES = 20_000


@dataclass(frozen=True, slots=True)
class QueueRules:
    """How a queue is to be reviewed.

    ``subject`` is ``answers`` (flagged ones that ``where`` matches) or ``pairs``. ``overlap`` (0 to 1) is the share of
    items that need ``needed`` reviews, the others need one. ``sampling_rate`` (0 to below 1) is the share of items from
    the random sample, ``repeat_rate`` (0 to below 1) the chance that somebody is silently served an item of theirs
    that is a week old. ``grades`` are what reviewers are asked for: label, groundedness, quality, a rubric's name.
    ``reveal`` shows the judge after a blind review. A queue of pairs is always blind.

    Raises:
        BadInput: A value is outside its range, or an order made from scores would tell what is to be blind.
    """

    name: str
    where: RowFilter = field(default_factory=RowFilter)
    order: QueueOrder = QueueOrder.SEVERITY
    needed: int = 1
    overlap: float = 1.0
    blind_people: bool = False
    blind_judge: bool = False
    reveal: bool = True
    grades: tuple[str, ...] = ("groundedness", "quality")
    sampling_rate: float = 0.0
    repeat_rate: float = 0.0
    guidelines: str | None = None
    seed: str = "judgeboard"
    lease_seconds: int = 600
    subject: str = "answers"

    def __post_init__(self) -> None:
        name = " ".join(self.name.split())
        if not name or len(name) > LONGEST_NAME or not name.isprintable():
            raise BadInput(f"a queue has a name of 1 to {LONGEST_NAME} characters that can be shown")
        object.__setattr__(self, "name", name)
        try:
            object.__setattr__(self, "order", QueueOrder(self.order))
        except ValueError:
            raise BadInput(f"an order is one of {', '.join(QueueOrder)}, not {self.order!r}") from None
        if self.subject not in {"answers", "pairs"}:
            raise BadInput(f"a queue holds answers or pairs, not {self.subject!r}")
        if self.subject == "pairs":  # which answer is better is always said before anything else is seen
            object.__setattr__(self, "blind_judge", True)
            object.__setattr__(self, "blind_people", True)
        if not 1 <= self.needed <= MOST_REVIEWS:
            raise BadInput(f"an item needs 1 to {MOST_REVIEWS} reviews, not {self.needed}")
        _check_share("overlap", self.overlap, whole=True)
        _check_share("sampling rate", self.sampling_rate)
        _check_share("share served again", self.repeat_rate)
        if not 10 <= self.lease_seconds <= 86_400:
            raise BadInput(f"an item is held for 10 seconds to a day, not {self.lease_seconds} seconds")
        if self.blind_judge and self.order in FROM_SCORES:
            raise BadInput(
                f"the order {self.order.value} ({ORDER_LABELS[self.order]}) is made from judges' scores and would tell "
                "what is to be blind: "
                "order by oldest or random"
            )
        self._check_texts()

    def _check_texts(self) -> None:
        for grade in self.grades:
            if not grade.strip() or len(grade) > LONGEST_KEY or not grade.isprintable():
                raise BadInput("a grade is label, groundedness, quality or the name of a rubric's dimension")
        if self.guidelines is not None and len(self.guidelines) > LONGEST_GUIDELINES:
            raise BadInput(f"guidelines have at most {LONGEST_GUIDELINES:,} characters")
        for words, text in (("the guidelines", self.guidelines), ("the seed", self.seed)):
            if text is not None and (reason := unstorable(text)):
                raise BadInput(f"{words} cannot be stored: {reason}")

    def as_row(self) -> dict[str, Any]:
        """Return the columns that they fill."""
        row = asdict(self)
        where, order, needed = (row.pop(name) for name in ("where", "order", "needed"))
        del where
        return row | {
            "filter": self.where.as_dict(),
            "sort": QueueOrder(order).value,
            "reviews_needed": needed,
            "grades": list(self.grades),
        }


def orders_of(*, blind: bool) -> tuple[QueueOrder, ...]:
    """Return the orders that a queue can have, the usual one first; ``blind`` to the judge: none made from scores."""
    if not blind:
        return tuple(QueueOrder)
    return (QueueOrder.RANDOM, *(one for one in QueueOrder if one not in (*FROM_SCORES, QueueOrder.RANDOM)))


def _check_share(name: str, value: float, *, whole: bool = False) -> None:
    most = "1" if whole else "below 1"
    inside = math.isfinite(value) and 0 <= value <= 1 and (whole or value < 1)
    if isinstance(value, bool) or not inside:
        raise BadInput(f"the {name} is a share from 0 to {most}, not {value:g}")


def check_flags(connection: Connection, where: RowFilter) -> None:
    """Refuse a filter under which no flag can ever join a queue.

    Raises:
        BadInput: A rule that is none here, or a state in which a flag is in no queue.
    """
    known = [rule.name for rule in RULES]
    unknown = rules_without_flags(connection, [rule for rule in where.rules if rule not in known])
    if unknown:
        raise BadInput(f"there is no rule {unknown[0]!r}; rules: {', '.join(known)}")
    decided = [state for state in where.states if state != FlagState.OPEN]
    if decided:
        raise BadInput(f"a queue holds open flags: leave out state={decided[0]}")


def unknown_values(connection: Connection, rules: QueueRules) -> list[str]:
    """Return a sentence for each thing that a queue asks for and that occurs nowhere so far; it may still come."""
    of_pairs, where = rules.subject == PAIRS, rules.where
    if of_pairs and not any_pairs(connection):
        return ["there are no pairs yet: judgeboard import FILE --kind pairs, or judgeboard compare, brings them"]
    noun = "pair" if of_pairs else "answer"
    types = types_without_rows(connection, where.query_types, of_pairs=of_pairs)
    sources = sources_without_rows(connection, where.sources, of_pairs=of_pairs)
    said = [
        *(f"no {noun} has the query type {one!r}" for one in types),
        *(f"no {noun} has the source {one!r}" for one in sources),
    ]
    if not of_pairs:
        named = [grade for grade in rules.grades if grade not in ASKED]
        said += [
            f"nothing was scored on {one!r} yet: it is asked for as a dimension of a rubric, 1 to 5"
            for one in dimensions_without_scores(connection, named)
        ]
    return said


@dataclass(frozen=True, slots=True)
class CreatedQueue:
    """A new queue, how many answers joined it, how many of them were drawn, how many could not be."""

    queue: Queue
    joined: int
    sampled: int
    short: int


def create_queue(
    store: Store,
    rules: QueueRules,
    *,
    by: Actor,
    assigned: Sequence[Reviewer] = (),
    now: datetime | None = None,
) -> CreatedQueue:
    """Make a queue and take in everything that it is for.

    Args:
        store: The open database.
        rules: What it holds and how it is reviewed.
        by: Who makes it; a lead.
        assigned: To whom it is given; nobody: everybody may take from it.
        now: When; the present by default.

    Raises:
        NotAllowed: Only leads make queues.
        BadInput: There is a queue of this name, or no flag can ever match it.
    """
    at = now or datetime.now(UTC)
    with allowed(store, by, Action.MAKE_QUEUES) as connection:
        if find_queue(connection, rules.name) is not None:
            raise BadInput(f"there is a queue {rules.name!r} already: choose another name")
        if rules.subject != PAIRS:
            check_flags(connection, rules.where)
        row = rules.as_row() | {"state": QueueState.OPEN.value, "created_by": actor_name(by), "created_at": at}
        queue = queue_by_id(connection, insert_queue(connection, row))
        assign(connection, queue.id, [one.id for one in assigned])
        filled = fill_with_pairs(connection, queue, at) if queue.subject == PAIRS else fill_queue(connection, queue, at)
        details = {
            "queue": queue.name,
            "items": filled.joined + filled.sampled,
            "assigned_to": [one.id for one in assigned],
        }
        record_event(connection, "make_queue", actor_name(by), details=details, now=at)
        return _made(queue, filled)


def close_queue(store: Store, name: str, *, by: Actor, now: datetime | None = None) -> Queue:
    """Close a queue: it hands out nothing more, and flags that only it kept open follow what was decided on them.

    What was said in it stands. A closed queue stays closed.

    Raises:
        NotAllowed: Only leads close queues.
        NotFound: No such queue.
    """
    at = now or datetime.now(UTC)
    with allowed(store, by, Action.MAKE_QUEUES) as connection:
        queue = queue_named(connection, name)
        if queue.state is QueueState.CLOSED:
            return queue
        decided = decided_flags_in(connection, queue.id)
        set_queue_state(connection, queue.id, QueueState.CLOSED)
        for flag_id in decided:
            update_flag_state(connection, lock_flag(connection, flag_id))
        details = {"queue": queue.name, "flags": len(decided)}
        record_event(connection, "close_queue", actor_name(by), details=details, now=at)
        return queue_by_id(connection, queue.id)


def assign_queue(
    store: Store,
    name: str,
    *,
    by: Actor,
    add: Sequence[Reviewer] = (),
    remove: Sequence[Reviewer] = (),
    now: datetime | None = None,
) -> Queue:
    """Give a queue to people, take others off it.

    Raises:
        NotAllowed: Only leads assign.
        NotFound: No such queue.
        BadInput: It is closed.
    """
    at = now or datetime.now(UTC)
    with allowed(store, by, Action.ASSIGN) as connection:
        queue = queue_named(connection, name)
        check_open(queue)
        assign(connection, queue.id, [one.id for one in add])
        unassign(connection, queue.id, [one.id for one in remove])
        details = {
            "queue": queue.name,
            "assigned_to": [one.id for one in add],
            "taken_from": [one.id for one in remove],
        }
        record_event(connection, "assign_queue", actor_name(by), details=details, now=at)
        return queue


def check_open(queue: Queue) -> None:
    """Refuse what needs an open queue.

    Raises:
        BadInput: It is closed.
    """
    if queue.state is QueueState.CLOSED:
        raise BadInput(f"the queue {queue.name!r} is closed")


def _made(queue: Queue, filled: Joined) -> CreatedQueue:
    return CreatedQueue(queue, filled.joined + filled.sampled, filled.sampled, filled.short)


@dataclass(frozen=True, slots=True)
class PersonProgress:
    """What one person did in a queue; ``median_seconds`` per item without absences, None where none was measured."""

    reviewer: Reviewer
    given: bool
    done: int = 0
    unsure: int = 0
    skipped: int = 0
    holds: int = 0
    median_seconds: float | None = None
    last: datetime | None = None


@dataclass(frozen=True, slots=True)
class QueueProgress:
    """How far a queue is.

    An item that needs reviews is ``held`` where somebody holds it and ``waiting`` else; the states are those of
    `ItemState`. ``several`` items need more than one review, ``several_finished`` of them are settled or adjudicated.
    ``reviews`` were given, ``reviews_needed`` are what the items ask for. ``sampled`` answers were drawn at random,
    ``short`` more are wanted and not there. What is served again to one person is an item of no count here, but work
    of theirs. ``assigned_to`` nobody: everybody may take from it.
    """

    queue: Queue
    rules: tuple[str, ...]
    items: int
    waiting: int
    leased: int
    agreed: int
    conflict: int
    adjudicated: int
    left: int
    reviews: int
    reviews_needed: int
    several: int
    several_finished: int
    sampled: int
    short: int
    assigned_to: tuple[Reviewer, ...]
    people: tuple[PersonProgress, ...]

    @property
    def finished(self) -> int:
        """Items on which nothing more is to be said: settled or adjudicated."""
        return self.agreed + self.adjudicated


def queue_progress(
    connection: Connection, queue: str | Queue, *, with_people: bool = True, now: datetime | None = None
) -> QueueProgress:
    """Return how far a queue is, in about ten statements whatever its size.

    Args:
        connection: A transaction.
        queue: The queue or its name.
        with_people: Also what each person did: a pass over all that was said in the queue; a list leaves it out.
        now: The present by default; who holds what depends on it.

    Raises:
        NotFound: No such queue.
    """
    at = now or datetime.now(UTC)
    found = queue_named(connection, queue) if isinstance(queue, str) else queue
    counts = queue_progress_queue_progress.count_items(connection, found.id)
    states = {state: sum(one.items for one in counts if one.state is state) for state in ItemState}
    held = queue_progress_queue_progress.count_leased_items(connection, found.id, at)
    sample = count_sampled(connection, found) if found.sampling_rate else Sampled(0, 0)
    several = [one for one in counts if one.several and one.state is not ItemState.LEFT]
    assigned_to = tuple(assignees(connection, found.id))
    return QueueProgress(
        queue=found,
        rules=describe_rules(found, for_lead=True),
        items=sum(states.values()) - states[ItemState.LEFT],
        waiting=states[ItemState.OPEN] - held,
        leased=held,
        agreed=states[ItemState.AGREED],
        conflict=states[ItemState.CONFLICT],
        adjudicated=states[ItemState.ADJUDICATED],
        left=states[ItemState.LEFT],
        reviews=queue_progress_queue_progress.count_reviews(connection, found.id),
        reviews_needed=sum(one.reviews_needed for one in counts if one.state is not ItemState.LEFT),
        several=sum(one.items for one in several),
        several_finished=sum(one.items for one in several if one.state in {ItemState.AGREED, ItemState.ADJUDICATED}),
        sampled=sample.drawn,
        short=sample.short,
        assigned_to=assigned_to,
        people=_people(connection, found.id, assigned_to, at) if with_people else (),
    )


def _people(
    connection: Connection, queue_id: int, assigned_to: tuple[Reviewer, ...], now: datetime
) -> tuple[PersonProgress, ...]:
    work = queue_progress_queue_progress.count_work(connection, queue_id)
    seconds = queue_progress_queue_progress.median_seconds(connection, queue_id)
    skipped = queue_progress_queue_progress.count_skipped(connection, queue_id)
    holds = queue_progress_queue_progress.count_leases(connection, queue_id, now)
    given = {one.id for one in assigned_to}
    people = reviewers_by_id(connection, {*work, *skipped, *holds, *given})
    nothing = queue_progress_queue_progress.WorkCount(0, 0, None)
    found = [
        PersonProgress(
            reviewer=one,
            given=one.id in given,
            done=work.get(one.id, nothing).done,
            unsure=work.get(one.id, nothing).unsure,
            skipped=skipped.get(one.id, 0),
            holds=holds.get(one.id, 0),
            median_seconds=seconds.get(one.id),
            last=work.get(one.id, nothing).last,
        )
        for one in people
    ]
    return tuple(sorted(found, key=lambda each: (-each.done, each.reviewer.name, each.reviewer.id)))

"""How far a queue is: its items by state, its random sample and overlap, and what each person has done."""

from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import Connection

from judgeboard.domain import ItemState
from judgeboard.queues.rule_words import rule_words
from judgeboard.store.queues import progress
from judgeboard.store.queues.mixing import Sampled, count_sampled
from judgeboard.store.queues.queue_rows import Queue, assignees, queue_named
from judgeboard.store.reviews.reviewers import Reviewer, reviewers_by_id


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
    of theirs. ``given_to`` nobody: everybody may take from it.
    """

    queue: Queue
    rules: tuple[str, ...]
    items: int
    waiting: int
    held: int
    settled: int
    split: int
    adjudicated: int
    left: int
    reviews: int
    reviews_needed: int
    several: int
    several_finished: int
    sampled: int
    short: int
    given_to: tuple[Reviewer, ...]
    people: tuple[PersonProgress, ...]

    @property
    def finished(self) -> int:
        """Items on which nothing more is to be said: settled or adjudicated."""
        return self.settled + self.adjudicated


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
    counts = progress.count_items(connection, found.id)
    states = {state: sum(one.items for one in counts if one.state is state) for state in ItemState}
    held = progress.count_held_items(connection, found.id, at)
    sample = count_sampled(connection, found) if found.sampling_rate else Sampled(0, 0)
    several = [one for one in counts if one.several and one.state is not ItemState.LEFT]
    given_to = tuple(assignees(connection, found.id))
    return QueueProgress(
        queue=found,
        rules=rule_words(found, for_lead=True),
        items=sum(states.values()) - states[ItemState.LEFT],
        waiting=states[ItemState.OPEN] - held,
        held=held,
        settled=states[ItemState.SETTLED],
        split=states[ItemState.SPLIT],
        adjudicated=states[ItemState.ADJUDICATED],
        left=states[ItemState.LEFT],
        reviews=progress.count_reviews(connection, found.id),
        reviews_needed=sum(one.reviews_needed for one in counts if one.state is not ItemState.LEFT),
        several=sum(one.items for one in several),
        several_finished=sum(one.items for one in several if one.state in {ItemState.SETTLED, ItemState.ADJUDICATED}),
        sampled=sample.drawn,
        short=sample.short,
        given_to=given_to,
        people=_people(connection, found.id, given_to, at) if with_people else (),
    )


def _people(
    connection: Connection, queue_id: int, given_to: tuple[Reviewer, ...], now: datetime
) -> tuple[PersonProgress, ...]:
    work = progress.count_work(connection, queue_id)
    seconds = progress.median_seconds(connection, queue_id)
    skipped = progress.count_skipped(connection, queue_id)
    holds = progress.count_held(connection, queue_id, now)
    given = {one.id for one in given_to}
    people = reviewers_by_id(connection, {*work, *skipped, *holds, *given})
    nothing = progress.WorkCount(0, 0, None)
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

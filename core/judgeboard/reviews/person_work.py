"""How a person reviews: how much, how fast, and the agreement with gold labels, own earlier reviews and others."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import numpy as np
from sqlalchemy import Connection

from judgeboard.domain import Decision, Estimate
from judgeboard.measure.notes import note, paragraph
from judgeboard.reviews.outcome import differences
from judgeboard.reviews.queue_work import QueueWork, work_in
from judgeboard.stats.arrays import grouping
from judgeboard.stats.means import difference_of_means, median
from judgeboard.stats.proportions import share
from judgeboard.store.clock import utc_now
from judgeboard.store.leases import active_leases
from judgeboard.store.own_reviews import (
    ComparedReview,
    compared_reviews,
    gold_review,
    reviewers_in_queues,
)
from judgeboard.store.queue_items import item_by_id, reviews_on
from judgeboard.store.queues import list_queues, may_take_from, queue_by_id, queues_by_person
from judgeboard.store.reviewers import reviewers_by_id
from judgeboard.store.reviews import Review
from judgeboard.store.tables import Queue, Reviewer

RECENT = timedelta(days=30)  # drift compares these days with all earlier ones


@dataclass(frozen=True, slots=True)
class PersonWork:
    """The work of a person. All figures except ``queues`` are of the person's latest 1,000 reviews.

    Two reviews agree unless they would be in conflict in a queue. Each share is the agreement of
    the person's reviews with others: adjudications by other people (``gold``), the person's first
    review of a repeated item (``own``), other people's reviews of the same item (``others``), gold
    labels of unannounced test items (``tests``) and of training queues (``training``). ``drift`` is
    the agreement with other people in the last 30 days minus the agreement before. ``seconds`` is
    the median per item. ``leased`` is the number of items leased to the person now.
    """

    person: Reviewer
    reviews: int
    seconds: Estimate
    gold: Estimate
    own: Estimate
    others: Estimate
    tests: Estimate
    training: Estimate
    drift: Estimate
    leased: int
    queues: tuple[QueueWork, ...]

    @property
    def left(self) -> int:
        """Items left in the person's queues."""
        return sum(work.left for work in self.queues)


def person_work(
    connection: Connection, person: Reviewer, *, now: datetime | None = None
) -> PersonWork:
    """Return the work of one person, with the open queues that the person may review."""
    at = now or utc_now()
    queues = [
        queue
        for queue in list_queues(connection, only_open=True)
        if may_take_from(connection, queue.id, person.id)
    ]
    return _work(connection, person, queues, at)


def everybodys_work(connection: Connection, *, now: datetime | None = None) -> list[PersonWork]:
    """Return the work of everybody who reviewed in a queue or has an open queue assigned, sorted by name.

    ``queues`` are the open queues assigned to the person.
    """
    at = now or utc_now()
    assigned = queues_by_person(connection)
    people = reviewers_by_id(connection, {*reviewers_in_queues(connection), *assigned})
    work = [_work(connection, person, assigned.get(person.id, []), at) for person in people]
    return sorted(work, key=lambda each: (each.person.name.casefold(), each.person.id))


def agrees(review: Review, other_review: Review) -> bool | None:
    """Return whether two reviews of an item agree: no conflict in a queue.

    None if a review is unsure, or the two have no graded part in common.
    """
    if Decision.UNSURE in {review.decision, other_review.decision} or not _parts(review) & _parts(
        other_review
    ):
        return None
    return not differences([replace(each, stage=None) for each in (review, other_review)])


def _parts(review: Review) -> set[str]:
    grade = review.grade
    single = {
        name for name in ("label", "groundedness", "quality") if getattr(grade, name) is not None
    }
    graded = single | {*grade.by_dimension, *grade.choices}
    return graded if review.choice is None else {"decision", *graded}


def training_feedback(connection: Connection, item_id: int, review_id: int) -> str | None:
    """Return the feedback on a review of a training item, with the gold label and the lead's reason.

    None for other items, or if gold label or review is gone.
    """
    item = item_by_id(connection, item_id)
    if not item.test or not queue_by_id(connection, item.queue_id).training:
        return None
    gold = gold_review(connection, item.response_id or 0)
    own_review = next(
        (each for each in reviews_on(connection, item_id) if each.id == review_id), None
    )
    if gold is None or own_review is None:
        return None
    # The gold label in words: "dismissed, grounded, quality 4".
    decision_word = {"confirm": "confirmed", "dismiss": "dismissed"}.get(gold.decision or "")
    grade = gold.grade
    numbers = {"groundedness": grade.groundedness, "quality": grade.quality}
    grades = (f"{name} {value}" for name, value in numbers.items() if value is not None)
    label = ", ".join(filter(None, (decision_word, grade.label, *grades)))
    agreed = agrees(own_review, gold)
    if agreed is False:
        parts = differences([replace(each, stage=None) for each in (own_review, gold)])
        verdict = note("gold_differs", parts=parts, label=label)
    else:
        verdict = note("gold_agrees" if agreed else "gold_unsure", label=label)
    return paragraph((verdict, note("gold_reason", reason=grade.note) if grade.note else None))


def _work(
    connection: Connection, person: Reviewer, queues: Sequence[Queue], now: datetime
) -> PersonWork:
    reviews_to_compare = compared_reviews(connection, person.id)
    reviews = [each.review for each in reviews_to_compare]
    usual = [
        each for each in reviews_to_compare if each.item is None or each.item.repeat_for is None
    ]
    tests = [each for each in reviews_to_compare if each.item is not None and each.item.test]
    seconds = [review.seconds for review in reviews if review.seconds is not None]
    # Drift: the agreement with other people in the last 30 days, minus the agreement before.
    matches = _matches(usual, lambda each: each.others)
    inside = np.array([each.review.at > now - RECENT for _, each in matches], dtype=np.bool_)
    if not inside.any() or inside.all():
        drift = Estimate(None, n=len(matches), reason="no earlier reviews to compare with")
    else:
        items = np.array([each.review.queue_item_id for _, each in matches])
        drift = difference_of_means(
            np.array([match for match, _ in matches], dtype=np.float64),
            inside,
            grouping(items, len(matches)),
        )
    return PersonWork(
        person=person,
        reviews=len(reviews),
        seconds=median(seconds),
        gold=_share(
            _matches(usual, lambda each: (each.gold,)), "no item of theirs was adjudicated"
        ),
        own=_share(_matches(reviews_to_compare, lambda each: (each.first,)), "no repeats"),
        others=_share(matches, "nobody else reviewed their items"),
        tests=_share(
            _matches([each for each in tests if not each.training], lambda each: (each.gold,)),
            "no test items",
        ),
        training=_share(
            _matches([each for each in tests if each.training], lambda each: (each.gold,)),
            "no training items",
        ),
        drift=drift,
        leased=len(active_leases(connection, person.id, now)),
        queues=work_in(connection, queues, person.id, now),
    )


_With = Callable[[ComparedReview], Sequence[Review | None]]
_Match = tuple[bool, ComparedReview]


def _matches(reviews_to_compare: Sequence[ComparedReview], others_of: _With) -> list[_Match]:
    matches = []
    for each in reviews_to_compare:
        for other_review in others_of(each):
            match = None if other_review is None else agrees(each.review, other_review)
            if match is not None:
                matches.append((match, each))
    return matches


def _share(matches: Sequence[_Match], reason: str) -> Estimate:
    if not matches:
        return Estimate(None, n=0, reason=reason)
    items = np.array([each.review.queue_item_id for _, each in matches])
    return share([match for match, _ in matches], items)

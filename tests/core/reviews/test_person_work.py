"""How a person reviews: pace, agreement with gold labels, themselves and others, streaks, and reassigned queues."""

from dataclasses import replace
from datetime import date, timedelta

import pytest

from engines import on_sqlite
from judgeboard.domain import Label
from judgeboard.errors import NotAllowed
from judgeboard.reviews.person_work import PersonWork, everybodys_work, person_work, reassign, streaks
from judgeboard.store.own_reviews import GivenReview
from judgeboard.store.reviewers import Reviewer
from queue_case import CONFIRM, DISMISS, NOW, UNSURE, QueueCase


def work(case: QueueCase, who: Reviewer) -> PersonWork:
    with case.store.reading() as connection:
        return person_work(connection, who, now=case.now)


def test_agreement_is_with_gold_with_oneself_and_with_others(case: QueueCase) -> None:
    case.flagged(0.1, 0.2, 0.3)
    case.queue(needed=2, repeat_rate=0.999)
    case.review(case.mara, CONFIRM, label=Label.HALLUCINATED)
    disputed = case.review(case.jon, DISMISS)
    case.adjudicate(disputed.item_id, DISMISS)
    for decision in (CONFIRM, UNSURE):
        case.review(case.mara, decision)
        case.review(case.jon, decision)
    case.later(days=40)
    case.review(case.mara, CONFIRM, label=Label.GROUNDED)  # the repeat of the first item: another label
    mara, jon = work(case, case.mara), work(case, case.jon)
    assert (mara.gold.value, mara.gold.n) == (0, 1)
    assert (jon.gold.value, jon.gold.n) == (1, 1)
    assert (mara.others.value, mara.others.n) == (0.5, 2)  # an unsure review is not compared
    assert (mara.own.value, mara.own.n) == (0, 1)
    assert mara.tests.value is None
    assert mara.drift.reason == "no earlier reviews to compare with"
    assert mara.reviews == 4


@on_sqlite
def test_of_two_reviews_of_an_item_the_one_before_the_reveal_counts(case: QueueCase) -> None:
    case.flagged(0.1)
    case.queue(needed=2, blind_judge=True, order="oldest")
    case.reveal(case.review(case.mara, CONFIRM), case.mara, DISMISS)
    case.review(case.jon, CONFIRM)
    mara = work(case, case.mara)
    assert (mara.reviews, mara.days) == (1, ((NOW.date(), 1),))
    assert (mara.others.value, mara.others.n) == (1, 1)


def test_streaks_are_equal_decisions_faster_than_an_answer_is_read() -> None:
    def review(decision: str, seconds: float | None) -> GivenReview:
        return GivenReview(1, 1, 1, 1, None, False, False, decision, seconds, NOW)

    fast, slow, bulk = review("confirm", 2.5), review("confirm", 30), review("confirm", None)
    [streak] = streaks([review("dismiss", 9), *[fast] * 12, bulk, review("dismiss", 9), *[slow] * 20, *[fast] * 9])
    assert (streak.reviews, streak.seconds) == (12, 30)
    assert not streaks([fast, replace(fast, decision="dismiss")] * 20)


def test_a_lead_reassigns_the_queues_of_a_person_with_what_they_have_leased(case: QueueCase) -> None:
    case.flagged(0.1, 0.2)
    case.queue(assigned=(case.mara,))
    case.queue("other", assigned=(case.mara, case.ada))
    leased = case.lease(case.mara)
    with case.store.reading() as connection:
        mara, ada = (each for each in everybodys_work(connection, now=case.now) if each.queues and each.person.id)
        if mara.person.name != "Mara":
            mara, ada = ada, mara
    assert ([each.queue.name for each in mara.queues], mara.left, mara.leased) == (["q", "other"], 4, 1)
    assert reassign(case.store, by=case.lead, person=case.mara, to=case.jon, queues=["q"], now=case.now) == ["q"]
    assert case.lease(case.jon).item_id == leased.item_id
    assert reassign(case.store, by=case.lead, person=case.mara, to=case.jon, now=case.now) == ["other"]
    assert {person.name for person in case.progress("other").assigned_to} == {"Ada", "Jon"}


@on_sqlite
def test_reassigning_is_for_leads(case: QueueCase) -> None:
    viewer = replace(case.mara, id=10**6)
    with pytest.raises(NotAllowed):
        reassign(case.store, by=viewer, person=case.mara, to=case.jon)


def test_agreement_over_time_joins_weeks_until_they_have_ten_comparisons(case: QueueCase) -> None:
    case.flagged(*[0.1] * 23)
    case.queue(needed=2, order="oldest")
    for number in range(23):
        # Four items a week. Mara is right in the first three weeks only.
        case.now = NOW + timedelta(weeks=number // 4)
        mara = case.review(case.mara, CONFIRM if number < 12 else DISMISS)
        case.review(case.jon, DISMISS if number < 12 else CONFIRM)
        case.adjudicate(mara.item_id, CONFIRM)
    points = work(case, case.mara).gold_over_time
    assert [(point.weeks, point.share.n, point.share.value) for point in points] == [(3, 12, 1), (3, 11, 0)]
    monday = (NOW.date() - date(1970, 1, 1)).days - NOW.weekday()
    assert [(point.start, point.end) for point in points] == [(monday, monday + 20), (monday + 21, monday + 41)]
    assert all(point.share.low is not None for point in points)
    assert work(case, case.jon).own_over_time == ()

"""The work of a person and their notifications are read by indexes, in as many statements for many as for few."""

from judgeboard.domain import Label
from judgeboard.reviews.changes import comment
from judgeboard.reviews.person_work import person_work
from judgeboard.store.engine import Store
from judgeboard.store.events import notifications
from judgeboard.store.own_reviews import compared_reviews, given_reviews, reviews_by_day
from query_plans import plans_of, statements_of
from queue_case import CONFIRM, DISMISS, QueueCase, queue_case

LARGE = ("queue_item", "lease", "review", "review_score", "preference_score", "response", "event")


def review_all(case: QueueCase, number: int) -> None:
    for response_id in case.flagged(*(0.1 for _ in range(number))):
        disputed = [case.review(who, said, "q") for who, said in ((case.mara, CONFIRM), (case.jon, DISMISS))][-1]
        case.adjudicate(disputed.item_id, CONFIRM, label=Label.HALLUCINATED)
        key = f"mention {response_id}"
        comment(case.store, response_id=response_id, reviewer=case.jon, text="@Mara", request_key=key, now=case.now)


def test_the_number_of_statements_does_not_depend_on_the_reviews(case: QueueCase) -> None:
    case.flagged(0.1)
    case.queue(needed=2, optional_grades=("label", "groundedness"))
    counts = []
    for number in (1, 6):
        review_all(case, number)
        with case.store.reading() as connection, statements_of(case.store) as statements:
            person_work(connection, case.mara, now=case.now)
            notifications(connection, case.mara.id)
        counts.append(len(statements))
    assert counts[0] == counts[1]


def test_reviews_and_notifications_of_a_person_are_found_by_indexes(sqlite_store: Store) -> None:
    case = queue_case(sqlite_store)  # PostgreSQL reads small tables whole: its plans say nothing here
    case.flagged(0.1)
    case.queue(needed=2, optional_grades=("label", "groundedness"))
    review_all(case, 3)
    with case.store.reading() as connection, plans_of(case.store) as plans:
        reviews = given_reviews(connection, case.mara.id)
        assert len(compared_reviews(connection, case.mara.id, reviews)) == len(reviews) == 3
        reviews_by_day(connection, case.mara.id, case.now)
        notified = notifications(connection, case.mara.id)
    assert {each.kind for each in notified} == {"conflict", "mention"}
    steps = [step.strip() for plan in plans for step in plan.splitlines()]
    assert [step for step in steps if step.removeprefix("SCAN ").split(" ")[0] in LARGE and "SCAN" in step] == []
    assert any("ix_review_reviewer" in step for step in steps)
    assert any("EVENT" in step.upper() and "kind=?" in step for step in steps)

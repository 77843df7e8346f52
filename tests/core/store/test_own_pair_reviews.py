"""A person's own reviews of pairs: theirs that stand alone, newest first, by page."""

from judgeboard.domain import Grade, Preference, QueueOrder
from judgeboard.reviews.changes import undo
from judgeboard.reviews.leases import next_item
from judgeboard.reviews.queue_decisions import decide_item
from judgeboard.store.engine import Store
from judgeboard.store.listing import LinePage
from judgeboard.store.own_reviews import OwnReview, has_pair_reviews, own_reviews_page
from judgeboard.store.reviewers import Reviewer
from pair_log import add_pairs
from query_plans import plans_of
from queue_case import QueueCase, queue_case


def say(case: QueueCase, who: Reviewer, preference: Preference, key: str) -> int:
    leased = case.lease(who, "pairs")
    return decide_item(
        case.store,
        leased.token,
        reviewer=who,
        decision=preference,
        grade=Grade(note=key),
        request_key=key,
        now=case.now,
    ).review_id


def page(
    store: Store, who: Reviewer, *, after: str | None = None, before: str | None = None, limit: int = 50
) -> LinePage[OwnReview]:
    with store.reading() as connection:
        return own_reviews_page(connection, who.id, pairs=True, after=after, before=before, limit=limit)


def asked_case(store: Store) -> QueueCase:
    case = queue_case(store)
    add_pairs(store, 5, query_type="pairs")
    case.queue("pairs", subject="pairs", order=QueueOrder.OLDEST, needed=2)
    return case


def test_ones_own_stand_newest_first_and_by_page(store: Store) -> None:
    case = asked_case(store)
    ids = [say(case, case.mara, Preference.A, f"m{n}") for n in range(5)]
    say(case, case.jon, Preference.B, "j")
    undo(store, review_id=ids[1], reviewer=case.mara, request_key="undo", now=case.now)
    first = page(store, case.mara, limit=3)
    second = page(store, case.mara, limit=3, after=first.next_key)
    assert [line.review_id for one in (first, second) for line in one.lines] == [ids[4], ids[3], ids[2], ids[0]]
    assert [(one.first, one.total) for one in (first, second)] == [(1, 4), (4, 4)]
    assert page(store, case.mara, limit=3, before=second.previous_key) == first
    newest = first.lines[0]
    assert (newest.preferences, newest.note, newest.queue) == ({"overall": Preference.A}, "m4", "pairs")
    assert newest.question == "Which, 4?"


def test_who_said_nothing_of_pairs_has_none(store: Store) -> None:
    case = asked_case(store)
    say(case, case.jon, Preference.TIE, "j")
    with store.reading() as connection:
        assert has_pair_reviews(connection, case.jon.id)
        assert not has_pair_reviews(connection, case.mara.id)
    assert page(store, case.mara) == LinePage((), 0, 0, None, None)
    assert next_item(store, "pairs", case.mara, now=case.now) is not None


def test_a_page_is_read_from_the_index_of_reviewers(sqlite_store: Store) -> None:
    case = asked_case(sqlite_store)
    say(case, case.mara, Preference.A, "m")
    with plans_of(sqlite_store) as plans:
        page(sqlite_store, case.mara)
    assert any("ix_review_reviewer" in plan for plan in plans)
    assert not [plan for plan in plans if "SCAN review" in plan]

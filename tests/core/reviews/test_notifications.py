"""Notifications: queues assigned, conflicts on one's items, mentions; nothing of hidden answers."""

from engines import on_sqlite
from judgeboard.reviews.changes import comment
from judgeboard.reviews.queues import assign_queue
from judgeboard.store.events import Notification, mark_read, mentioned, notifications
from judgeboard.store.hidden_rows import Seen
from judgeboard.store.reviewers import Reviewer
from queue_case import CONFIRM, DISMISS, QueueCase


def told(case: QueueCase, who: Reviewer) -> list[Notification]:
    with Seen(case.store, who.id).reading() as connection:
        return notifications(connection, who.id)


def mention(case: QueueCase, by: Reviewer, response_id: int, text: str) -> None:
    key = f"comment {next(case.keys)}"
    comment(case.store, response_id=response_id, reviewer=by, text=text, request_key=key, now=case.now)


def test_people_are_told_of_queues_conflicts_and_mentions_until_they_have_read_them(case: QueueCase) -> None:
    [answer] = case.flagged(0.1)
    case.queue(needed=2, assigned=(case.mara,))
    assign_queue(case.store, "q", by=case.lead, add=[case.jon], now=case.now)
    for who, decision in zip((case.mara, case.jon), (CONFIRM, DISMISS), strict=True):
        disputed = case.review(who, decision)
    mention(case, case.jon, answer, "Please look, @mara and @Nobody: is it said in passage 1?")
    mentioned_in, conflict, queue = told(case, case.mara)
    assert [(each.kind, each.actor, each.read) for each in (mentioned_in, conflict, queue)] == [
        ("mention", "Jon", False),
        ("conflict", "Jon", False),
        ("make_queue", "Lead", False),
    ]
    assert (conflict.details["item"], queue.details["queue"]) == (disputed.item_id, "q")
    assert [each.kind for each in told(case, case.jon)] == ["conflict", "assign_queue"]
    assert told(case, case.ada) == []
    with case.store.writing() as connection:
        mark_read(connection, case.mara.id, told(case, case.mara)[1].id)
        mark_read(connection, case.mara.id, 1)  # what is read stays read
    assert [each.read for each in told(case, case.mara)] == [False, True, True]


def test_a_mention_on_an_answer_that_is_hidden_tells_nothing_before_the_review(case: QueueCase) -> None:
    [answer] = case.flagged(0.1)
    case.queue(needed=2, blind_people=True, assigned=(case.mara,))
    mention(case, case.jon, answer, "@Mara: I would confirm this one")
    assert [each.kind for each in told(case, case.mara)] == ["make_queue"]
    case.review(case.mara)
    assert [each.kind for each in told(case, case.mara)] == ["mention", "make_queue"]


@on_sqlite
def test_the_longest_name_is_mentioned_and_an_address_by_its_first_part(case: QueueCase) -> None:
    names = {1: "Ann", 2: "Ann Lee", 3: "ann.ola@example.org", 4: "Zoë"}
    assert mentioned("@ann lee, see this", names) == [2]
    assert mentioned("(@Ann) and @zoë.", names) == [1, 4]
    assert mentioned("@ann.ola, or write to bob@ann.org", names) == [3]
    assert mentioned("@Anna is not here, ann@zoë.org neither", names) == []

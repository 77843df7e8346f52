"""How far a queue is, counted as one would by hand."""

from datetime import timedelta

from engines import on_sqlite
from judgeboard.reviews.queues import describe_rules
from judgeboard.reviews.submissions import Submission, submit
from judgeboard.store.filters import RowFilter
from queue_case import CONFIRM, DISMISS, NOW, UNSURE
from result_fields import check_fields


def timed(case, decision, seconds):
    """Let Mara decide her next item after so many seconds."""
    given = {"token": case.lease(case.mara).token, "reviewer": case.mara, "at": case.now}
    given |= {"decision": decision, "seconds": seconds, "request_key": f"{next(case.keys)}"}
    return submit(case.store, Submission(**given))


@on_sqlite
def test_items_are_counted_by_what_became_of_them(case):
    ids = case.flagged(0.1, 0.12, 0.14, 0.16, 0.18, 0.2)
    case.queue(needed=2)
    case.review(case.mara)
    case.review(case.jon)  # settled
    case.review(case.mara)
    split = case.review(case.jon, DISMISS)
    case.review(case.mara)
    case.adjudicate(case.review(case.jon, DISMISS).item_id)
    case.judge(ids[5], 0.9)  # stops matching, and leaves
    leased = case.lease(case.ada)
    case.lease(case.jon)  # the same item
    check_fields(case.progress(), items=5, reviews=6, reviews_needed=10, finished=2)
    states = ("waiting", "leased", "agreed", "conflict", "adjudicated", "left")
    check_fields(case.progress(), several=5, several_finished=2, **dict.fromkeys(states, 1))
    assert leased.item_id != split.item_id
    case.later(hours=1)
    check_fields(case.progress(), waiting=2, leased=0)


@on_sqlite
def test_each_person_has_done_what_they_said_and_did_not_take_back(case):
    case.flagged(*(0.01 * n for n in range(1, 9)))
    case.queue(assigned=(case.mara, case.ada))
    for decision, seconds in ((CONFIRM, 10), (UNSURE, 40), (DISMISS, 20), (DISMISS, None)):
        case.later(minutes=1)
        decided = timed(case, decision, seconds)
    case.undo(decided.review_id, case.mara)
    leased = case.lease(case.mara)
    assert leased.item_id == decided.item_id
    for _ in range(2):
        case.skip(case.take_item(leased.item_id, case.mara), case.mara)
    case.lease(case.mara)
    mara, ada = case.progress().people
    check_fields(mara, done=3, unsure=1, skipped=1, leases=1, median_seconds=20.0)
    assert mara.last == NOW + timedelta(minutes=3)
    check_fields(ada, done=0, median_seconds=None, last=None)
    assert (mara.reviewer.name, ada.reviewer.name) == ("Mara", "Ada")


@on_sqlite
def test_the_median_is_between_the_two_in_the_middle(case):
    case.queue_of(0.1, 0.1, 0.1, 0.1)
    for seconds in (9.0, 1.0, 5.0, 6.0):
        timed(case, CONFIRM, seconds)
    (mara,) = case.progress().people
    assert mara.median_seconds == 5.5


@on_sqlite
def test_the_rules_are_words_and_what_is_served_again_is_told_to_leads_alone(case):
    made = case.queue(
        where=RowFilter(query_types=("legal",)),
        order="random",
        needed=3,
        overlap=0.2,
        blind_judge=True,
        blind_people=True,
        sampling_rate=0.1,
        repeat_rate=0.05,
        lease_seconds=300,
    )
    rules = describe_rules(made.queue, for_lead=True)
    assert rules == {
        "Items": "flagged answers",
        "Filter": "legal",
        "Order": "in random order",
        "Reviews per item": "3",
        "Overlap": "20 %",
        "Blind to other people": "yes",
        "Blind to the judge": "yes",
        "Show the judge after the grade": "yes",
        "Required grades": "none",
        "Optional grades": "groundedness, quality",
        "Random sample": "10 %",
        "Own items again": "5 %",
        "Lease": "5 min",
    }
    assert rules.keys() - describe_rules(made.queue).keys() == {"Own items again"}


@on_sqlite
def test_a_queue_of_pairs_promises_no_look_at_the_judge(case):
    made = case.queue("pairs", subject="pairs", order="oldest")
    rules = describe_rules(made.queue)
    assert rules["Blind to other people"] == rules["Blind to the judge"] == "yes"
    assert "Show the judge after the grade" not in rules

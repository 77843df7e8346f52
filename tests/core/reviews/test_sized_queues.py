"""Queues with a number of items: the first of their order, or a random sample of answers, flagged or not."""

import pytest

from engines import on_sqlite
from judgeboard.domain import Decision, QueueOrder
from judgeboard.errors import BadInput
from judgeboard.reviews.presets import PRESETS
from judgeboard.reviews.queues import QueueRules, own_queues
from judgeboard.store.filters import RowFilter
from judgeboard.store.open_flags import queue_page
from judgeboard.store.queue_filling import count_matching
from judgeboard.store.tables import EVENT, QUEUE
from query_plans import statements_of

RANDOM = {"flagged_only": False, "order": QueueOrder.RANDOM}


def answers_in(case, name: str) -> list[int]:
    (queue_id,) = [row["id"] for row in case.rows(QUEUE) if row["name"] == name]
    return [item["response_id"] for item in case.items() if item["queue_id"] == queue_id]


@on_sqlite
def test_a_random_queue_draws_flagged_and_other_answers_alike_and_says_how(case) -> None:
    ids = case.flagged(0.1, 0.2, 0.8, 0.9, 0.9, 0.9)
    case.queue("one", **RANDOM, max_items=4)
    case.queue("two", **RANDOM, max_items=4)
    case.queue("other", **RANDOM, max_items=4, seed="x")
    drawn = answers_in(case, "one")
    assert len(drawn) == 4
    assert set(drawn) <= set(ids)
    assert any(id_ in ids[2:] for id_ in drawn), "also answers without a flag"
    assert drawn == answers_in(case, "two") != answers_in(case, "other"), "the seed alone decides"
    (row, _, _) = case.rows(QUEUE)
    assert (row["max_items"], row["drawn_from"], row["seed"]) == (4, 6, "judgeboard")
    assert all(item["sampled"] for item in case.items())
    details = next(event["details"] for event in case.rows(EVENT) if event["kind"] == "make_queue")
    assert (details["items"], details["drawn_from"], details["seed"]) == (4, 6, "judgeboard")
    assert "4 of 6 that matched (seed 'judgeboard')" in case.progress("one").rules


@on_sqlite
def test_a_random_answer_stays_whatever_becomes_of_its_flag_and_its_review_settles_the_flag(case) -> None:
    case.flagged(0.1, 0.9)
    case.queue(**RANDOM, max_items=2, needed=2)
    case.queue("flags")
    (flag,) = case.flags()
    case.decide(flag["id"], case.ada, Decision.DISMISS)
    assert case.progress("q").items == 2
    for who in (case.mara, case.jon):
        for _ in range(2):
            case.review(who, Decision.CONFIRM)
    assert case.progress("q").agreed == 2
    assert case.take(case.ada) is None
    assert case.flag_states() == ["open"], "the other queue still holds it"
    case.review(case.jon, Decision.CONFIRM, "flags")
    assert case.flag_states() == ["confirmed"]


def test_a_queue_of_flagged_answers_takes_the_worst_and_nothing_later(case) -> None:
    ids = case.flagged(0.4, 0.1, 0.3, 0.2)
    case.queue(max_items=2)
    assert answers_in(case, "q") == [ids[1], ids[3]]
    case.flagged(0.01)
    assert case.progress().items == 2
    assert case.rows(QUEUE)[0]["drawn_from"] == 4


def test_the_number_of_items_includes_the_random_sample(case) -> None:
    with case.store.writing() as connection:
        from judgeboard.store.settings import set_setting

        set_setting(connection, "random_share", 1, "test")
    case.flagged(*(0.01 * number for number in range(1, 40)), 0.9, 0.9, 0.9, 0.9, 0.9, 0.9)
    made = case.queue(max_items=10, sampling_rate=0.25, where=RowFilter(rules=("low_groundedness",)))
    assert (made.joined, made.sampled) == (9, 2)


def test_what_matches_is_counted_as_the_queue_would_take_it(case) -> None:
    case.flagged(0.1, 0.2, 0.9)
    case.flagged(0.1, query_type="legal")
    where = RowFilter(query_types=("QA",))
    with case.store.reading() as connection:
        counts = [count_matching(connection, where, flagged_only=flagged) for flagged in (True, False)]
    assert counts == [2, 3]
    assert case.queue(where=where, **RANDOM, max_items=100).joined == 3


@pytest.mark.parametrize(
    ("rules", "reason"),
    [
        ({"flagged_only": False, "order": QueueOrder.RANDOM}, "needs a number of items"),
        (RANDOM | {"max_items": 9, "sampling_rate": 0.1}, "can have a share"),
        ({"flagged_only": False, "max_items": 9}, "no severity"),
        (RANDOM | {"max_items": 9, "subject": "pairs"}, "pairs have no flags"),
        ({"max_items": 0}, "must be 1 to 100,000"),
    ],
)
def test_rules_that_do_not_fit_say_why(rules, reason: str) -> None:
    with pytest.raises(BadInput, match=reason):
        QueueRules("q", **rules)


@pytest.mark.parametrize("name", PRESETS)
def test_each_preset_makes_a_queue(case, name: str) -> None:
    case.flagged(0.1, 0.9)
    words, rules = PRESETS[name]
    made = case.queue(**rules)
    assert made.joined == (1 if name == "worst" else 2)
    assert str(made.queue.max_items) in words


def test_an_assigned_reviewer_sees_what_is_left_and_no_flag_that_they_graded(case) -> None:
    case.flagged(0.1, 0.2, 0.3)
    case.queue("theirs", assigned=(case.mara,), needed=2)
    case.queue("of jon", assigned=(case.jon,))
    case.queue("of all")
    case.review(case.mara, name="theirs")

    def waits(who) -> int:
        with case.store.reading() as connection:
            return queue_page(connection, RowFilter(), reviewer_id=who.id).total

    def left(who) -> list[tuple[str, int, int]]:
        with case.store.reading() as connection:
            return [(own.queue.name, own.done, own.left) for own in own_queues(connection, who.id, case.now)]

    assert left(case.mara) == [("theirs", 1, 2)]
    assert (waits(case.mara), waits(case.jon)) == (2, 3)
    for _ in range(2):
        case.review(case.mara, name="theirs")
    assert left(case.mara) == []
    assert left(case.ada) == []


@on_sqlite
def test_a_decision_costs_one_statement_for_each_full_queue_without_the_answer(case) -> None:
    case.flagged(0.4, 0.1, 0.3, 0.2)
    counts = []
    mild = sorted(case.flags(), key=lambda flag: flag["severity"])  # each queue holds the worst one alone
    for names, flag in zip(("a", "bcdef"), mild, strict=False):
        for name in names:
            case.queue(name, max_items=1)
        with statements_of(case.store) as statements:
            case.decide(flag["id"], case.ada, Decision.DISMISS)
        counts.append(len(statements))
    assert counts[1] - counts[0] <= 5

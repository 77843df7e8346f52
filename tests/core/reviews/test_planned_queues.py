"""Queues that a plan fills: by lot within strata, flagged or not."""

import numpy as np
import pytest

from engines import on_sqlite
from judgeboard.agreement.plans import draw_plan
from judgeboard.agreement.samples import sampled_labels
from judgeboard.domain import QueueOrder
from judgeboard.errors import BadInput
from judgeboard.reviews.queues import QueueRules, create_queue
from judgeboard.store.filters import RowFilter
from judgeboard.store.judge_versions import get_version
from judgeboard.store.strata import DrawPlan
from judgeboard.store.tables import QUEUE

LOT = {"flagged_only": False, "order": QueueOrder.RANDOM, "grades": ("label",)}


def planned(case, name: str = "q", n: int = 12, where: RowFilter | None = None, **rules):
    where = where or RowFilter()
    with case.store.reading() as connection:
        plan = draw_plan(connection, where)
    rules = QueueRules(name, where, max_items=n, **(LOT | rules))
    return create_queue(case.store, rules, by=case.lead, plan=plan, now=case.now)


def plan_of(case, name: str = "q") -> dict:
    return next(row["plan"] for row in case.rows(QUEUE) if row["name"] == name)


@on_sqlite
def test_every_stratum_has_the_same_probability_and_the_queue_stores_it(case) -> None:
    flagged, others = case.flagged(*([0.1] * 20)), case.flagged(*([0.9] * 40))
    made = planned(case, n=12)
    assert made.joined == 12
    items = case.items()
    assert len({item["response_id"] for item in items} & set(flagged)) == 4
    assert len({item["response_id"] for item in items} & set(others)) == 8
    assert all(item["sampled"] for item in items)
    assert [item["stratum"] for item in items if item["response_id"] in flagged] == [0] * 4
    of_flagged, of_others = plan_of(case)["strata"]
    expected = {"picked": True, "verdict": "bad", "answers": 20, "labelled": 0, "drawn": 4}
    assert of_flagged.items() >= (expected | {"inclusion_probability": 0.2}).items()
    last = max(item["position"] for item in items if item["stratum"] == 0)
    assert last < of_flagged["next_position"] < 1
    assert (of_others["answers"], of_others["drawn"], of_others["verdict"]) == (40, 8, "good")
    assert any("2 strata" in rule for rule in case.progress().rules)
    assert case.rows(QUEUE)[0]["drawn_from"] == 60


@on_sqlite
def test_the_seed_decides_and_flagged_answers_are_not_first(case) -> None:
    case.flagged(*([0.1] * 20), *([0.9] * 20))
    for name, seed in (("one", "a"), ("two", "a"), ("other", "b")):
        planned(case, name, seed=seed)
    by_queue: dict[int, list] = {}
    for item in sorted(case.items(), key=lambda item: (item["queue_id"], item["position"])):
        by_queue.setdefault(item["queue_id"], []).append((item["response_id"], item["stratum"]))
    one, two, other = by_queue.values()
    assert one == two != other
    assert [stratum for _, stratum in one] != sorted(stratum for _, stratum in one)


@on_sqlite
def test_reviews_of_a_planned_queue_are_a_sample_and_are_not_drawn_again(case) -> None:
    case.flagged(*([0.1] * 20), *([0.9] * 40))
    planned(case, n=12)
    for _ in range(12):
        case.review(case.mara, label="grounded")
    with case.store.reading() as connection:
        sample = sampled_labels(connection, get_version(connection, "rag"))
    assert (len(sample.response_ids), sample.extras) == (12, 0)
    assert sorted((each.answers, each.labelled) for each in sample.counts) == [(20, 4), (40, 8)]
    made = planned(case, "more", n=48)
    drawn = {item["response_id"] for item in case.items() if item["queue_id"] == made.queue.id}
    assert made.joined == 48
    assert drawn.isdisjoint(sample.response_ids.tolist())
    assert [each["labelled"] for each in plan_of(case, "more")["strata"]] == [4, 8]


def test_answers_without_a_usable_verdict_are_a_stratum_and_those_never_judged_are_left_out(case) -> None:
    case.flagged(*([0.9] * 8))
    case.judge(case.add("unusable")[0], None)
    case.add("never judged")
    made = planned(case, n=9)
    assert made.joined == 9
    assert [(each["verdict"], each["answers"]) for each in plan_of(case)["strata"]] == [("good", 8), ("unusable", 1)]


def test_a_filter_limits_the_draw_and_more_than_there_are_takes_all(case) -> None:
    ids = case.flagged(0.1, 0.9, 0.9)
    case.flagged(0.9, query_type="legal")
    assert planned(case, n=50, where=RowFilter(query_types=("QA",))).joined == 3
    assert {item["response_id"] for item in case.items()} == set(ids)


def two_versions(case) -> tuple[list[int], list[int]]:
    """Two versions of a judge that differ on 20 of 60 answers; return these, and the others."""
    ids = case.flagged(*([0.1] * 30), *([0.9] * 30))
    scores = {id_: 0.9 if (place < 30) == (place % 3 == 0) else 0.1 for place, id_ in enumerate(ids)}
    case.judge_all(scores, version=2)
    return ids[::3], [id_ for place, id_ in enumerate(ids) if place % 3]


@on_sqlite
def test_a_queue_for_two_judges_has_only_answers_on_which_they_differ(case) -> None:
    differing, _ = two_versions(case)
    with case.store.reading() as connection:
        plan = draw_plan(connection, RowFilter(), ["rag v1", "rag v2"])
    create_queue(case.store, QueueRules("q", max_items=8, **LOT), by=case.lead, plan=plan, now=case.now)
    drawn = [item["response_id"] for item in case.items()]
    assert len(drawn) == 8
    assert set(drawn) < set(differing)
    of_bad, of_good = plan_of(case)["strata"]
    assert [(each["verdict"], each["answers"], each["drawn"]) for each in (of_bad, of_good)] == [
        ("bad", 10, 4),
        ("good", 10, 4),
    ]
    assert any("on which rag v1 and rag v2 differ" in rule for rule in case.progress().rules)
    for _ in range(8):
        case.review(case.mara, label="grounded")
    with case.store.reading() as connection:
        sample = sampled_labels(connection, get_version(connection, "rag v1"))
        again = draw_plan(connection, RowFilter(), ["rag v1", "rag v2"])
    assert len(sample.response_ids) == 0, "these labels are no sample of all answers"
    assert sample.extras == 8
    assert set(again.labelled.tolist()) == set(drawn)


def test_a_plan_needs_random_order_and_a_number(case) -> None:
    rules = QueueRules("q", RowFilter(), order=QueueOrder.OLDEST, flagged_only=False, max_items=3)
    with pytest.raises(BadInput, match="in random order"):
        create_queue(case.store, rules, by=case.lead, plan=DrawPlan(labelled=np.empty(0, dtype=np.int64)))

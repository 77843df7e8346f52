"""What the form of a new queue says is wrong, and beside which field."""

import pytest

from judgeboard.domain import QueueOrder
from judgeboard.reviews.queues import ORDER_LABELS, orders_of
from judgeboard_dashboard.review.queues import problems

GOOD = {
    "name": "March audit",
    "subject": "answers",
    "order": QueueOrder.SEVERITY,
    "needed": 2,
    "overlap": 0.5,
    "sampling_rate": 0.1,
    "repeat_rate": 0.05,
    "lease_seconds": 600,
    "blind_judge": False,
    "blind_people": True,
    "grades": ("label", "tone"),
    "guidelines": "Read the passages first.",
}


def test_nothing_is_wrong_with_rules_that_the_core_takes() -> None:
    assert problems(GOOD) == {}


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("name", "   ", "a queue has a name"),
        ("overlap", 1.5, "the overlap is a share from 0 to 1, not 1.5"),
        ("sampling_rate", 1.0, "the sampling rate is a share from 0 to below 1"),
        ("repeat_rate", -0.1, "the repeat rate is a share from 0"),
        ("lease_seconds", 5, "a lease takes 10 seconds to a day"),
        ("guidelines", "x" * 20_001, "guidelines have at most 20,000 characters"),
        ("grades", ("",), "a grade is label, groundedness, quality"),
    ],
)
def test_what_is_wrong_is_said_beside_its_field_and_no_other(field: str, value: object, said: str) -> None:
    found = problems(GOOD | {field: value})
    assert list(found) == [field]
    assert found[field].startswith(said)


def test_several_wrong_fields_are_all_said() -> None:
    assert set(problems(GOOD | {"sampling_rate": 2.0, "overlap": -1.0, "name": ""})) == {
        "sampling_rate",
        "overlap",
        "name",
    }


@pytest.mark.parametrize("order", [QueueOrder.SEVERITY, QueueOrder.DISAGREEMENT, QueueOrder.INSTABILITY])
def test_an_order_made_from_scores_in_a_blind_queue_is_explained_beside_the_order(order: QueueOrder) -> None:
    found = problems(GOOD | {"blind_judge": True, "order": order})
    assert list(found) == ["order"]
    assert "which this queue hides: order by oldest or random" in found["order"]
    assert ORDER_LABELS[order] in found["order"]
    assert problems(GOOD | {"blind_judge": True, "order": QueueOrder.RANDOM}) == {}


def test_what_is_blind_is_not_offered_an_order_made_from_scores_and_is_random_unless_asked_otherwise() -> None:
    assert orders_of(blind=True) == (QueueOrder.RANDOM, QueueOrder.OLDEST)
    assert orders_of(blind=False) == tuple(QueueOrder)
    for blind in (True, False):
        for order in orders_of(blind=blind):
            assert problems(GOOD | {"blind_judge": blind, "order": order}) == {}

"""What a lead asks of a queue is checked before anything is stored."""

import pytest

from judgeboard.domain import QueueOrder
from judgeboard.errors import BadInput
from judgeboard.reviews.queues import ORDER_LABELS, QueueRules, orders_of

GOOD = {
    "name": "March audit",
    "order": QueueOrder.SEVERITY,
    "needed": 2,
    "overlap": 0.5,
    "sampling_rate": 0.1,
    "repeat_rate": 0.05,
    "lease_seconds": 600,
    "grades": ("label", "tone"),
    "guidelines": "Read the passages first.",
}


@pytest.mark.parametrize("grade", ["", "q\x01", "a\nb", "\u202e", " ", "x" * 201])
def test_a_grade_has_a_name_that_can_be_shown(grade) -> None:
    with pytest.raises(BadInput, match="a grade must be label"):
        QueueRules("q", grades=("quality", grade))
    assert QueueRules("q", grades=("quality", "Stil und Ton")).grades == ("quality", "Stil und Ton")


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("name", "   ", "a queue has a name"),
        ("overlap", 1.5, "the overlap is a share from 0 to 1, not 1.5"),
        ("sampling_rate", 1.0, "the sampling rate is a share from 0 to below 1"),
        ("repeat_rate", -0.1, "the repeat rate is a share from 0"),
        ("lease_seconds", 5, "a lease lasts from 10 seconds to a day"),
        ("guidelines", "x" * 20_001, "guidelines have at most 20,000 characters"),
    ],
)
def test_what_is_wrong_is_said(field: str, value: object, said: str) -> None:
    assert QueueRules(**GOOD).needed == 2
    with pytest.raises(BadInput, match=said):
        QueueRules(**GOOD | {field: value})


@pytest.mark.parametrize("order", [QueueOrder.SEVERITY, QueueOrder.DISAGREEMENT, QueueOrder.INSTABILITY])
def test_an_order_made_from_scores_in_a_blind_queue_is_explained(order: QueueOrder) -> None:
    with pytest.raises(BadInput, match="which this queue hides: order by oldest or random") as refused:
        QueueRules(**GOOD | {"blind_judge": True, "order": order})
    assert ORDER_LABELS[order] in str(refused.value)


def test_what_is_blind_is_not_offered_an_order_made_from_scores_and_is_random_unless_asked_otherwise() -> None:
    assert orders_of(blind=True) == (QueueOrder.RANDOM, QueueOrder.OLDEST)
    assert orders_of(blind=False) == tuple(QueueOrder)
    for blind in (True, False):
        for order in orders_of(blind=blind):
            assert QueueRules(**GOOD | {"blind_judge": blind, "order": order}).order is order

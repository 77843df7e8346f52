"""The rule for verdicts that need a review, and the setting that takes the others out of the queue."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgeboard.domain import Label
from judgeboard.flags.rule import JudgeSignal, Reason, Signals, Thresholds, reasons_for
from judgeboard.flags.rules import RULES, why


def reasons(
    groundedness: float | None, thresholds: Thresholds, label: Label | None = None, external_id: str = "a"
) -> dict[str, Reason]:
    judge = JudgeSignal(1, "rag", "rag", "rag v1", "f", groundedness, label=label)
    signals = Signals("log", external_id, "QA", primary=judge)
    return {reason.rule: reason for reason in reasons_for(signals, thresholds, RULES)}


@pytest.mark.parametrize(
    ("groundedness", "severity"), [(0.5, 1.0), (0.6, 0.75), (0.4, 0.75), (0.9, None), (0.1, None), (1.0, None)]
)
def test_a_verdict_below_the_confidence_is_flagged_and_the_least_sure_comes_first(
    groundedness: float, severity: float | None
) -> None:
    raised = reasons(groundedness, Thresholds(uncertain_verdict=0.9, random_share=0)).get("uncertain_verdict")
    assert (None if raised is None else round(raised.severity, 9)) == severity


@given(st.floats(0, 1))
def test_by_default_no_verdict_is_uncertain(groundedness: float) -> None:
    assert "uncertain_verdict" not in reasons(groundedness, Thresholds())


def test_a_verdict_without_a_score_is_uncertain_and_no_verdict_is_not() -> None:
    limits = Thresholds(uncertain_verdict=0.9, random_share=0)
    raised = reasons(None, limits, Label.GROUNDED)["uncertain_verdict"]
    assert why(raised.rule, raised.details, raised.params) == (
        "The judge gives no score, so its confidence is not known."
    )
    assert reasons(None, limits) == {}
    raised = reasons(0.7, limits)["uncertain_verdict"]
    assert why(raised.rule, raised.details, raised.params) == "The judge's confidence 0.7 is below 0.9."


def test_what_needs_no_review_leaves_the_queue_only_if_switched_on_and_a_random_sample_stays() -> None:
    stays = Thresholds(uncertain_verdict=0.9, random_share=0.1)
    leaves = Thresholds(uncertain_verdict=0.9, random_share=0.1, excuse_confident=True)
    ids = [str(number) for number in range(500)]
    assert all("low_groundedness" in reasons(0.05, stays, external_id=each) for each in ids)
    sampled = [reasons(0.05, leaves, external_id=each) for each in ids]
    assert {rule for raised in sampled for rule in raised} == {"random_sample"}
    assert 30 < sum(map(bool, sampled)) < 75
    assert set(reasons(0.2, leaves)) >= {"low_groundedness", "uncertain_verdict"}


@pytest.mark.parametrize("limits", [{"random_share": 0, "uncertain_verdict": 0.9}, {"random_share": 0.02}])
def test_without_a_sample_or_a_threshold_nothing_is_excused(limits: dict[str, float]) -> None:
    assert "low_groundedness" in reasons(0.05, Thresholds(excuse_confident=True, **limits))

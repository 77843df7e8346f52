"""The sentence that says why an answer was flagged."""

from typing import Any

import pytest

from judgeboard.domain import Feedback, FeedbackKind, Label, Status
from judgeboard.flags.rule import FailedSignal, JudgeSignal, Signals, Thresholds, reasons_for
from judgeboard.flags.rules import RULES, why

UP, DOWN = Feedback(FeedbackKind.THUMBS, 1), Feedback(FeedbackKind.THUMBS, 0)


def sentences(thresholds: Thresholds | None = None, **signals: Any) -> list[str]:
    given = Signals("log", "a-1", "QA", **signals)
    raised = reasons_for(given, thresholds or Thresholds(random_share=0, poor_rating=0), RULES)
    return [why(reason.rule, reason.details, reason.params) for reason in raised]


def judge(
    groundedness: float | None, quality: int | None = None, label: Label | None = None, title: str = "rag v3"
) -> JudgeSignal:
    return JudgeSignal(1, "rag", title.split(maxsplit=1)[0], title, "f", groundedness, quality, label)


def failed(cause: str | None, tokens: int | None = None, status: Status = Status.ERROR) -> FailedSignal:
    return FailedSignal(1, "rag", "rag v3", "f", status, cause, tokens)


@pytest.mark.parametrize(
    ("signals", "sentence"),
    [
        ({"primary": judge(0.31)}, "Groundedness 0.31 is below 0.5."),
        ({"primary": judge(0.0)}, "Groundedness 0 is below 0.5."),
        ({"primary": judge(0.4999)}, "Groundedness 0.4999 is below 0.5."),
        (
            {"primary": judge(None, label=Label.HALLUCINATED)},
            "The judge calls it hallucinated and gives no score.",
        ),
        ({"primary": judge(None, 2)}, "Quality 2 is 2 or lower."),
        (
            {"primary": judge(None, 4), "feedback": DOWN},
            "The user gave thumbs down (1), the judge gave quality 4: difference 3.",
        ),
        (
            {"primary": judge(None, 4), "feedback": Feedback(FeedbackKind.STARS, 2)},
            "The user gave 2 stars (1.75), the judge gave quality 4: difference 2.25.",
        ),
        (
            {"primary": judge(None, 3), "feedback": Feedback(FeedbackKind.STARS, 1)},
            "The user gave 1 star (1), the judge gave quality 3: difference 2.",
        ),
        (
            {"primary": judge(0.82, title="nli v1"), "others": (judge(0.31),)},
            "nli v1 gives groundedness 0.82, rag v3 gives 0.31: difference 0.51.",
        ),
        (
            {"primary": judge(None, 4), "others": (judge(None, 1, title="nli v1"),)},
            "rag v3 gives quality 4, nli v1 gives 1: difference 3.",
        ),
        (
            {
                "primary": judge(None, label=Label.GROUNDED),
                "others": (judge(None, label=Label.HALLUCINATED, title="nli v1"),),
            },
            "rag v3 gives the label grounded, nli v1 gives hallucinated.",
        ),
        ({"failed": failed("truncated", 512)}, "The judge gave no usable verdict: cut off at 512 tokens."),
        ({"failed": failed("truncated")}, "The judge gave no usable verdict: cut off before its end."),
        ({"failed": failed("http_400")}, "The judge gave no usable verdict: the endpoint answered 400."),
        ({"failed": failed("timeout")}, "The judge gave no usable verdict: it took too long."),
        (
            {"failed": failed(None, status=Status.REFUSED)},
            "The judge gave no usable verdict: it refused.",
        ),
        (
            {"failed": failed(None, status=Status.UNPARSABLE)},
            "The judge gave no usable verdict: its reply could not be read.",
        ),
    ],
)
def test_a_flag_says_why_with_its_numbers(signals: dict[str, Any], sentence: str) -> None:
    assert sentences(**signals) == [sentence]


def test_a_poor_rating_is_named_as_the_user_gave_it() -> None:
    thresholds = Thresholds(random_share=0)
    assert sentences(thresholds, feedback=DOWN) == ["The user gave thumbs down."]
    assert sentences(thresholds, feedback=Feedback(FeedbackKind.STARS, 1)) == ["The user gave 1 star."]


def test_drawn_flags_say_so() -> None:
    assert sentences(Thresholds(random_share=1)) == [
        "Selected at random (100 % of all answers), to find problems that no rule flags."
    ]
    assert why("random_sample", {}, {"share": 0.02}) == (
        "Selected at random (2 % of all answers), to find problems that no rule flags."
    )
    assert sentences(Thresholds(random_share=0, always_review=("QA",))) == ["People review every answer of type QA."]


def test_a_flag_of_a_rule_that_is_not_known_here_is_still_shown() -> None:
    assert why("house_rule", {}, {}) == "Flagged by house_rule."


def test_a_flag_with_details_of_an_older_program_is_still_shown() -> None:
    assert why("low_groundedness", {"groundedness": 0.3}, {}) == "Flagged by low_groundedness."
    assert why("feedback_gap", {"user": None}, {"gap": 2}) == "Flagged by feedback_gap."

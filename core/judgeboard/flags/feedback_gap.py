"""Flags an answer on which its user and the primary judge differ widely."""

from collections.abc import Mapping
from typing import Any

from judgeboard.domain import FeedbackKind
from judgeboard.flags.rule import Reason, Rule, Signals, Thresholds, rounded, shown

NAME = "feedback_gap"


def reason(signals: Signals, thresholds: Thresholds) -> Reason | None:
    """Latest feedback and quality, both on the scale from 1 to 4, differ by the threshold or more."""
    judged, feedback = signals.primary, signals.feedback
    if judged is None or judged.quality is None or feedback is None:
        return None
    gap = rounded(abs(feedback.quality - judged.quality))
    if gap < rounded(thresholds.feedback_gap):
        return None
    return Reason(
        NAME,
        severity=gap / 3,
        details={
            "judge": judged.title,
            "quality": judged.quality,
            "feedback": feedback.kind.value,
            "value": feedback.value,
            "user_quality": feedback.quality,
            "gap": gap,
        },
        params={"threshold": thresholds.feedback_gap},
        fingerprint=judged.fingerprint,
        judgment_id=judged.judgment_id,
    )


def why(details: Mapping[str, Any], params: Mapping[str, Any]) -> str:  # noqa: ARG001 - every rule is called alike
    """Say it as: The user gave thumbs down (1), the judge gave quality 4: difference 3."""
    value = details["value"]
    if details["feedback"] == FeedbackKind.THUMBS:
        rating_words = f"gave thumbs {'up' if value == 1 else 'down'}"
    else:
        rating_words = f"gave {shown(value)} {'star' if value == 1 else 'stars'}"
    return (
        f"The user {rating_words} ({shown(details['user_quality'])}), "
        f"the judge gave quality {details['quality']}: difference {shown(details['gap'])}."
    )


RULE = Rule(NAME, reason, why)

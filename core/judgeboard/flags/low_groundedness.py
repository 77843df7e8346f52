"""Flags an answer that its passages support too little, in the primary judge's view."""

from collections.abc import Mapping
from typing import Any

from judgeboard.domain import Label
from judgeboard.flags.rule import Reason, Rule, Signals, Thresholds, rounded, shown

NAME = "low_groundedness"


def reason(signals: Signals, thresholds: Thresholds) -> Reason | None:
    """Groundedness below the threshold, or the label "hallucinated" from a judge that gives no score."""
    judged = signals.primary
    if judged is None:
        return None
    params = {"threshold": thresholds.low_groundedness}
    if judged.groundedness is None:
        if judged.label is not Label.HALLUCINATED:
            return None
        details: dict[str, Any] = {"judge": judged.title, "label": judged.label.value}
        return Reason(NAME, 1.0, details, params, judged.fingerprint, judged.judgment_id)
    if rounded(judged.groundedness) >= rounded(thresholds.low_groundedness):
        return None
    return Reason(
        NAME,
        severity=(thresholds.low_groundedness - judged.groundedness) / thresholds.low_groundedness,
        details={"judge": judged.title, "groundedness": judged.groundedness},
        params=params,
        fingerprint=judged.fingerprint,
        judgment_id=judged.judgment_id,
        auto_score=judged.groundedness,
    )


def why(details: Mapping[str, Any], params: Mapping[str, Any]) -> str:
    """Say it as: Groundedness 0.31 is below 0.5."""
    if "groundedness" not in details:
        return "The judge calls it hallucinated and gives no score."
    threshold = params["threshold"]
    return f"Groundedness {shown(details['groundedness'], threshold)} is below {shown(threshold)}."


RULE = Rule(NAME, reason, why)

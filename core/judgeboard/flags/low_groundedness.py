"""Flags an answer that its passages support too little, in the primary judge's view."""

from collections.abc import Mapping
from typing import Any

from judgeboard.domain import Label
from judgeboard.flags.rule import JudgeSignal, Reason, Rule, Signals, Texts, Thresholds, rounded, shown
from judgeboard.judges.evidence_alignment import is_right_refusal

NAME = "low_groundedness"


def reason(signals: Signals, thresholds: Thresholds) -> Reason | None:
    """Groundedness below the threshold, or the label "hallucinated" from a judge that gives no score.

    A refusal where nothing fitting was retrieved is no reason, unless ``excuse_refusals`` is off.
    """
    judged = signals.primary
    if judged is None or not _is_low(judged, thresholds):
        return None
    if thresholds.excuse_refusals and signals.texts is not None and _right_refusal(signals.texts):
        return None
    params = {"threshold": thresholds.low_groundedness}
    if judged.groundedness is None:
        details: dict[str, Any] = {"judge": judged.title, "label": Label.HALLUCINATED.value}
        return Reason(NAME, 1.0, details, params, judged.fingerprint, judged.judgment_id)
    return Reason(
        NAME,
        severity=(thresholds.low_groundedness - judged.groundedness) / thresholds.low_groundedness,
        details={"judge": judged.title, "groundedness": judged.groundedness},
        params=params,
        fingerprint=judged.fingerprint,
        judgment_id=judged.judgment_id,
        auto_score=judged.groundedness,
    )


def _is_low(judged: JudgeSignal, thresholds: Thresholds) -> bool:
    if judged.groundedness is None:
        return judged.label is Label.HALLUCINATED
    return rounded(judged.groundedness) < rounded(thresholds.low_groundedness)


def _right_refusal(texts: Texts) -> bool:
    if texts.query is None or texts.answer is None:
        return False
    return is_right_refusal(texts.query, texts.answer, texts.passages)


def _needs_texts(signals: Signals, thresholds: Thresholds) -> bool:
    primary = signals.primary
    return thresholds.excuse_refusals and primary is not None and _is_low(primary, thresholds)


def why(details: Mapping[str, Any], params: Mapping[str, Any]) -> str:
    """Say it as: Groundedness 0.31 is below 0.5."""
    if "groundedness" not in details:
        return "The judge calls it hallucinated and gives no score."
    threshold = params["threshold"]
    return f"Groundedness {shown(details['groundedness'], threshold)} is below {shown(threshold)}."


RULE = Rule(NAME, reason, why, reads_texts=True, texts_for=_needs_texts)

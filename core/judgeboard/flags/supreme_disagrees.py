"""Flags a judgment that a supreme judge finds wrong."""

from collections.abc import Mapping
from typing import Any

from judgeboard.flags.rule import JudgeSignal, Reason, Rule, Signals, Thresholds, shown

NAME = "supreme_disagrees"


def reason(signals: Signals, thresholds: Thresholds) -> tuple[Reason, ...]:  # noqa: ARG001 - every rule is called alike
    """A reason for each judge whose current verdict is marked wrong, on the version that gave it."""
    return tuple(
        Reason(
            NAME,
            severity=1.0,  # as two labels that differ: a mark is all or nothing
            details={"judge": mark.audited.title, "said": _said(mark.audited), "supremes": list(mark.supremes)},
            fingerprint=mark.audited.fingerprint,
            judgment_id=mark.audited.judgment_id,
            auto_score=mark.audited.groundedness,
            inclusion_probability=mark.probability,
        )
        for mark in signals.marks
    )


def why(details: Mapping[str, Any], params: Mapping[str, Any]) -> str:  # noqa: ARG001 - every rule is called alike
    """Say it as: supreme v1 marks the verdict of rag v3 as wrong: groundedness 0.92, quality 4."""
    figures = ", ".join(
        f"{measure} {value if isinstance(value, str) else shown(value)}" for measure, value in details["said"].items()
    )
    supremes = " and ".join(details["supremes"])
    verb = "mark" if len(details["supremes"]) > 1 else "marks"
    return f"{supremes} {verb} the verdict of {details['judge']} as wrong{f': {figures}' if figures else ''}."


def _said(judged: JudgeSignal) -> dict[str, Any]:
    values = {
        "label": None if judged.label is None else judged.label.value,
        "groundedness": judged.groundedness,
        "quality": judged.quality,
    }
    return {measure: value for measure, value in values.items() if value is not None}


def holds(stored: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    """Tell whether every supreme judge that a flag names still calls the verdict wrong."""
    return set(stored["supremes"]) <= set(now["supremes"])


RULE = Rule(NAME, reason, why, each_judge=True, holds=holds)

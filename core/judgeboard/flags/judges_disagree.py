"""Flags an answer on which any two judges differ widely."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from judgeboard.domain import AUDIT, REPEATS
from judgeboard.flags.rule import JudgeSignal, Reason, Rule, Signals, Thresholds, rounded, shown

NAME = "judges_disagree"
# Judges of judgments, and several verdicts of one judge made one: no opinion of their own. A jury has one, its members
# then have none.
NO_SECOND_OPINION = frozenset({AUDIT, REPEATS})


@dataclass(frozen=True, slots=True)
class Difference:
    """Where two judges are far apart: on what, by how much on the scale of severity, as it is stored."""

    severity: float
    details: dict[str, Any]


def reason(signals: Signals, thresholds: Thresholds) -> Reason | None:
    """Two current judgments differ by the threshold or more in groundedness or quality, or in label."""
    judges = [judge for judge in (signals.primary, *signals.others) if judge is not None]
    pairs = combinations([judge for judge in judges if judge.kind not in NO_SECOND_OPINION and not judge.in_jury], 2)
    differences = [difference for one, two in pairs for difference in differences_of(one, two, thresholds)]
    if not differences:
        return None
    differences.sort(key=lambda difference: -difference.severity)
    return Reason(
        NAME,
        severity=differences[0].severity,
        details={"pairs": [difference.details for difference in differences]},
        params={"groundedness": thresholds.disagree_groundedness, "quality": thresholds.disagree_quality},
        fingerprint=None if signals.primary is None else signals.primary.fingerprint,
        judgment_id=None if signals.primary is None else signals.primary.judgment_id,
    )


def why(details: Mapping[str, Any], params: Mapping[str, Any]) -> str:  # noqa: ARG001 - every rule is called alike
    """Say the widest pair as: rag v3 gives 0.31, nli v1 gives 0.82: difference 0.51."""
    widest = details["pairs"][0]
    (one, two), (first, second) = widest["judges"], widest["values"]
    if widest["measure"] == "label":
        return f"{one} gives the label {first}, {two} gives {second}."
    measured = "quality " if widest["measure"] == "quality" else ""
    apart = shown(widest["delta"])
    return f"{one} gives {measured}{shown(first)}, {two} gives {measured}{shown(second)}: difference {apart}."


def differences_of(one: JudgeSignal, two: JudgeSignal, thresholds: Thresholds) -> list[Difference]:
    """Return on what two judges are far apart: groundedness, quality, label; not on what one of them lacks."""
    differences = []
    for measure, threshold, scale in (
        ("groundedness", thresholds.disagree_groundedness, 1),
        ("quality", thresholds.disagree_quality, 3),
    ):
        first, second = getattr(one, measure), getattr(two, measure)
        if first is not None and second is not None:
            delta = rounded(abs(first - second))
            if delta >= rounded(threshold):
                differences.append(Difference(delta / scale, _details(one, two, measure, (first, second), delta)))
    if one.label is not None and two.label is not None and one.label is not two.label:
        differences.append(Difference(1.0, _details(one, two, "label", (one.label.value, two.label.value), None)))
    return differences


def _details(
    one: JudgeSignal, two: JudgeSignal, measure: str, values: tuple[Any, Any], delta: float | None
) -> dict[str, Any]:
    return {"judges": [one.title, two.title], "measure": measure, "values": list(values), "delta": delta}


def holds(stored: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    """Tell whether the two judges that a flag names first are still apart on that measure."""
    return _who(stored["pairs"][0]) in map(_who, now["pairs"])


def _who(pair: Mapping[str, Any]) -> tuple[Any, ...]:
    return (*pair["judges"], pair["measure"])


RULE = Rule(NAME, reason, why, holds=holds)

"""How several verdicts on one answer become one: medians for scores, the majority for labels (methods.md §6)."""

from collections import Counter
from collections.abc import Sequence
from statistics import median, median_low
from typing import Any

from judgeboard.domain import DimensionScore, Label, Status, Verdict

SPLIT = "split"
RULE: dict[str, str] = {
    "groundedness": "median, the mean of the middle two",
    "quality": "lower median",
    "label": "majority, a tie is split",
    "scores": "lower median",
    "quorum": "more than half of the members",
}
"""What a combined verdict's version carries as its rule."""


def combined(verdicts: Sequence[Verdict]) -> Verdict:
    """Return the one verdict of several members, unusable ones included.

    A measure is combined from the members that gave it, and only where these are more than half of all; labels of
    which as many say one as the other are no verdict: the status is unparsable, the error ``split``. Without any
    measure it is unparsable too. The reasoning lists what the members gave, so that the spread is kept.
    """
    usable = [verdict for verdict in verdicts if verdict.status is Status.OK]
    members = len(verdicts)
    spoken = _spoken(usable)
    votes = Counter(verdict.label for verdict in usable if verdict.label is not None)
    if _quorum(votes.total(), members) and len(votes) > 1 and len(set(votes.values())) == 1:
        return Verdict(Status.UNPARSABLE, reasoning=spoken, error=SPLIT, cost_micro=0)
    groundedness = _given([verdict.groundedness for verdict in usable], members)
    quality = _given([verdict.quality for verdict in usable], members)
    label: Label | None = votes.most_common(1)[0][0] if _quorum(votes.total(), members) else None
    scores = _scores(usable, members)
    if not (groundedness or quality or label or scores):
        reason = f"no quorum: {len(usable)} of {members} members gave a usable verdict, on no measure more than half"
        return Verdict(Status.UNPARSABLE, reasoning=spoken, error=reason, cost_micro=0)
    return Verdict(
        Status.OK,
        groundedness=median(groundedness) if groundedness else None,
        quality=median_low(quality) if quality else None,
        label=label,
        reasoning=spoken,
        scores=scores,
        cost_micro=0,
    )


def _quorum(given: int, members: int) -> bool:
    return 2 * given > members


def _given(values: Sequence[Any], members: int) -> list[Any]:
    given = [value for value in values if value is not None]
    return given if _quorum(len(given), members) else []


def _scores(usable: Sequence[Verdict], members: int) -> tuple[DimensionScore, ...]:
    by_dimension: dict[tuple[str, str], list[float]] = {}
    for verdict in usable:
        for score in verdict.scores:
            if score.value is not None:
                by_dimension.setdefault((score.dimension, score.scale), []).append(score.value)
    return tuple(
        DimensionScore(dimension, median_low(values), scale)
        for (dimension, scale), values in sorted(by_dimension.items())
        if _quorum(len(values), members)
    )


def _spoken(usable: Sequence[Verdict]) -> str:
    """What the members gave, as: label: grounded 5, hallucinated 2; quality: 3, 4, 4."""
    parts = []
    votes = Counter(verdict.label.value for verdict in usable if verdict.label is not None)
    if votes:
        parts.append("label: " + ", ".join(f"{label} {n}" for label, n in sorted(votes.items())))
    scores: dict[str, list[float]] = {"groundedness": [], "quality": []}
    for verdict in usable:
        given = {"groundedness": verdict.groundedness, "quality": verdict.quality}
        given |= {score.dimension: score.value for score in verdict.scores}
        for measure, value in given.items():
            if value is not None:
                scores.setdefault(measure, []).append(value)
    first = ("groundedness", "quality")
    parts += [
        f"{measure}: " + ", ".join(f"{value:g}" for value in sorted(scores[measure]))
        for measure in (*first, *sorted(scores.keys() - set(first)))
        if scores[measure]
    ]
    return "; ".join(parts)

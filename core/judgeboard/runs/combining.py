"""Combines several verdicts on an answer into one verdict: of the members of a jury, or of the repeats of one judge."""

from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import median, median_low
from typing import Any

from sqlalchemy import Connection

from judgeboard.domain import DimensionScore, Label, Status, Verdict
from judgeboard.errors import NotFound
from judgeboard.store.events import record_event
from judgeboard.store.flags import SPLIT
from judgeboard.store.judge_versions import (
    list_versions,
    refuse_retired,
)
from judgeboard.store.judgments import NewJudgment
from judgeboard.store.storing import store_judgments
from judgeboard.store.tables import StoredVersion
from judgeboard.store.verdicts import latest_combined

RULE: dict[str, str] = {
    "groundedness": "median, the mean of the middle two",
    "quality": "lower median",
    "label": "majority, a tie is split",
    "scores": "lower median",
    "quorum": "more than half of the members",
}
"""The rule for combining verdicts, as stored with a combined version."""


def combined(verdicts: Sequence[Verdict]) -> Verdict:
    """Return the combined verdict of all members' verdicts; unusable verdicts count for the quorum.

    A measure is combined only if more than half of all members gave it. If the labels tie, the
    verdict is unparsable with the error ``split``. Without any combined measure, the verdict is
    unparsable too. The reasoning lists all values.
    """
    usable = [verdict for verdict in verdicts if verdict.status is Status.OK]
    members = len(verdicts)
    votes = Counter(verdict.label for verdict in usable if verdict.label is not None)
    # All values, for example "label: grounded 5, hallucinated 2; quality: 3, 4, 4".
    parts = []
    if votes:
        parts.append("label: " + ", ".join(f"{name} {n}" for name, n in sorted(votes.items())))
    by_measure: dict[str, list[float]] = {"groundedness": [], "quality": []}
    for verdict in usable:
        measures = {"groundedness": verdict.groundedness, "quality": verdict.quality}
        measures |= {score.dimension: score.value for score in verdict.scores}
        for measure, value in measures.items():
            if value is not None:
                by_measure.setdefault(measure, []).append(value)
    first = ("groundedness", "quality")
    parts += [
        f"{measure}: " + ", ".join(f"{value:g}" for value in sorted(by_measure[measure]))
        for measure in (*first, *sorted(by_measure.keys() - set(first)))
        if by_measure[measure]
    ]
    summary = "; ".join(parts)
    if has_quorum(votes.total(), members) and len(votes) > 1 and len(set(votes.values())) == 1:
        return Verdict(Status.UNPARSABLE, reasoning=summary, error=SPLIT, cost_micro=0)
    groundedness = _given([verdict.groundedness for verdict in usable], members)
    quality = _given([verdict.quality for verdict in usable], members)
    label: Label | None = votes.most_common(1)[0][0] if has_quorum(votes.total(), members) else None
    by_dimension: dict[tuple[str, str], list[float]] = {}
    for verdict in usable:
        for score in verdict.scores:
            if score.value is not None:
                by_dimension.setdefault((score.dimension, score.scale), []).append(score.value)
    scores = tuple(
        DimensionScore(dimension, median_low(values), scale)
        for (dimension, scale), values in sorted(by_dimension.items())
        if has_quorum(len(values), members)
    )
    if not (groundedness or quality or label or scores):
        reason = f"no quorum: {len(usable)} of {members} members gave a usable verdict, no measure has more than half"
        return Verdict(Status.UNPARSABLE, reasoning=summary, error=reason, cost_micro=0)
    return Verdict(
        Status.OK,
        groundedness=median(groundedness) if groundedness else None,
        quality=median_low(quality) if quality else None,
        label=label,
        reasoning=summary,
        scores=scores,
        cost_micro=0,
    )


def has_quorum(votes: int, members: int) -> bool:
    """Return whether more than half of the members voted."""
    return 2 * votes > members


def _given(values: Sequence[Any], members: int) -> list[Any]:
    usable = [value for value in values if value is not None]
    return usable if has_quorum(len(usable), members) else []


def store_combined(
    connection: Connection,
    version: StoredVersion,
    opinions: Mapping[int, Sequence[Verdict]],
    actor: str,
) -> dict[int, Verdict]:
    """Combine the members' verdicts on each response, store combined verdicts that changed, and return all."""
    verdicts = {
        response_id: combined(member_verdicts) for response_id, member_verdicts in opinions.items()
    }
    earlier_verdicts = latest_combined(connection, version.id)
    items = []
    for response_id, verdict in verdicts.items():
        earlier = earlier_verdicts.get(response_id)
        if earlier is None:
            items.append(NewJudgment(response_id, 0, 0, verdict))
        elif (earlier.status, earlier.reasoning, earlier.error) != (
            verdict.status,
            verdict.reasoning,
            verdict.error,
        ):
            items.append(NewJudgment(response_id, earlier.ask + 1, 0, verdict))
    if items:
        refuse_retired(connection, version)
        record_event(
            connection, "combine", actor, details={"version": version.id, "answers": len(items)}
        )
        store_judgments(connection, version, None, items)
    return verdicts


def stored_members(connection: Connection, version: StoredVersion) -> list[StoredVersion]:
    """Return the members of a combined version, or raise NotFound."""
    fingerprints = set(version.params.get("members") or ())
    members = [each for each in list_versions(connection) if each.fingerprint in fingerprints]
    if not members:
        raise NotFound(f"no member of {version.title} is stored")
    return members

"""How often people said why they differ from a judge, by judge version and reason."""

from dataclasses import dataclass

from sqlalchemy import Connection, func, select

from judgeboard.domain import WhyDiffers
from judgeboard.store.judgments.judge_versions import version_title
from judgeboard.store.reviews.standing import REVIEW, standing
from judgeboard.store.schema.tables import JUDGMENT, VERSION


@dataclass(frozen=True, slots=True)
class WhyCounts:
    """One judge version: on how many different ``answers`` reasons were given, and each reason's number of answers.

    Where two people give two reasons for one answer, both count, and the answer counts once in ``answers``.
    """

    version_id: int
    title: str
    answers: int
    reasons: dict[WhyDiffers, int]


def why_counts(connection: Connection) -> tuple[WhyCounts, ...]:
    """Return the counts of the reviews that stand, by the judge version whose verdict was seen; most answers first."""
    said = (
        select(
            JUDGMENT.c.judge_version_id.label("version_id"),
            REVIEW.c.why_differs,
            REVIEW.c.response_id,
        )
        .join(JUDGMENT, JUDGMENT.c.id == REVIEW.c.judgment_seen_id)
        .where(REVIEW.c.why_differs.is_not(None), standing())
        .subquery()
    )
    answers = func.count(func.distinct(said.c.response_id))
    named = select(VERSION.c.id, VERSION.c.name, VERSION.c.number, answers).join(
        said, said.c.version_id == VERSION.c.id
    )
    versions = connection.execute(named.group_by(VERSION.c.id, VERSION.c.name, VERSION.c.number)).all()
    by_reason = select(said.c.version_id, said.c.why_differs, answers).group_by(said.c.version_id, said.c.why_differs)
    found: dict[int, dict[WhyDiffers, int]] = {}
    for version_id, reason, n in connection.execute(by_reason):
        found.setdefault(version_id, {})[WhyDiffers(reason)] = n
    counts = [
        WhyCounts(version_id, version_title(name, number), n, _in_order(found[version_id]))
        for version_id, name, number, n in versions
    ]
    return tuple(sorted(counts, key=lambda each: (-each.answers, each.version_id)))


def _in_order(reasons: dict[WhyDiffers, int]) -> dict[WhyDiffers, int]:
    return {reason: reasons.get(reason, 0) for reason in WhyDiffers}

"""Reads what supreme judges last said of the current judgments of a few responses."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, bindparam, select

from judgeboard.store.judgments.judge_versions import version_title
from judgeboard.store.judgments.signals import Said
from judgeboard.store.schema.method_tables import JUDGMENT_REVIEW
from judgeboard.store.schema.tables import JUDGMENT, VERSION

REVIEWED = JUDGMENT_REVIEW

_REVIEWS = (
    select(
        REVIEWED.c.judgment_id,
        REVIEWED.c.correct,
        REVIEWED.c.inclusion_probability,
        VERSION.c.kind,
        VERSION.c.name,
        VERSION.c.number,
    )
    .select_from(JUDGMENT)
    .join(REVIEWED, REVIEWED.c.judgment_id == JUDGMENT.c.id)
    .join(VERSION, VERSION.c.id == REVIEWED.c.judge_version_id)
    .where(JUDGMENT.c.response_id.in_(bindparam("ids", expanding=True)), REVIEWED.c.correct.is_not(None))
    .order_by(REVIEWED.c.id)
)


@dataclass(frozen=True, slots=True)
class WrongMark:
    """A judgment that supreme judges (their titles) call wrong, and at what probability it was drawn."""

    supremes: tuple[str, ...]
    probability: float


def wrong_marks(connection: Connection, said: Sequence[Said]) -> dict[int, WrongMark]:
    """Return the current judgments that some supreme judge calls wrong, by judgment id; one statement.

    Of each supreme judge (kind and name) its latest usable review of a judgment counts, whatever its version.
    """
    current = {judgment.id for one in said for judgment in one.by_judge.values()}
    latest: dict[int, dict[tuple[str, str], tuple[bool, float, str]]] = {}
    for judgment_id, correct, probability, kind, name, number in connection.execute(
        _REVIEWS, {"ids": [one.response.id for one in said]}
    ):
        if judgment_id in current:
            mark = (bool(correct), probability, version_title(name, number))
            latest.setdefault(judgment_id, {})[kind, name] = mark
    marks = {
        judgment_id: [(title, probability) for correct, probability, title in by_supreme.values() if not correct]
        for judgment_id, by_supreme in latest.items()
    }
    return {
        judgment_id: WrongMark(tuple(sorted(title for title, _ in wrong)), max(share for _, share in wrong))
        for judgment_id, wrong in marks.items()
        if wrong
    }

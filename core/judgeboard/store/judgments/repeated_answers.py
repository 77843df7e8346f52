"""The answers that judge versions were asked about more than once, with what each repeat gave."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from sqlalchemy import Connection

from judgeboard.domain import Label, Status, Verdict
from judgeboard.judges.rubric_file import EXPECTED
from judgeboard.stats.arrays import IntArray
from judgeboard.stats.repeats import RepeatedItem, RepeatedMeasure, repeated_measures
from judgeboard.store.judgments.member_verdicts import Judged, by_repeat


@dataclass(frozen=True, slots=True, eq=False)
class RepeatedAnswers:
    """Answers with their repeats, one row per answer and judge version; several versions are pooled."""

    answers: tuple[Judged, ...]
    values: tuple[RepeatedItem, ...]
    groups: IntArray

    @property
    def response_ids(self) -> IntArray:
        """The response of each row."""
        return np.array([each.response_id for each in self.answers], dtype=np.int64)

    def measures(self) -> tuple[RepeatedMeasure, ...]:
        """Return how far the repeats agree on each measure, the main one first."""
        return repeated_measures(self.values, self.groups)


def repeated_answers(connection: Connection, version_ids: Iterable[int]) -> RepeatedAnswers:
    """Return what these versions were asked several times, in the order of versions and answers."""
    answers = tuple(
        one
        for version_id in version_ids
        for _, one in sorted(by_repeat(connection, version_id).items())
        if len(one.opinions) > 1
    )
    values = tuple({number: values_of(each.verdict) for number, each in one.opinions.items()} for one in answers)
    return RepeatedAnswers(answers, values, np.array([one.evidence_group for one in answers], dtype=np.int64))


def values_of(verdict: Verdict) -> dict[str, float]:
    """Return what a usable verdict gives, by measure; a label is 1 (grounded) or 0.

    On two values the interval metric is the nominal one. A mean over levels repeats the score that it belongs to, and
    is no measure of its own.
    """
    if verdict.status is not Status.OK:
        return {}
    given: dict[str, float | None] = {
        "label": None if verdict.label is None else float(verdict.label is Label.GROUNDED),
        "groundedness": verdict.groundedness,
        "quality": verdict.quality,
        **{score.dimension: score.value for score in verdict.scores if not score.dimension.startswith(EXPECTED)},
    }
    return {measure: float(value) for measure, value in given.items() if value is not None}

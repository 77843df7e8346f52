"""How far people moved to a judge's verdicts after they saw them."""

from sqlalchemy import Connection

from judgeboard.agreement.answer_pairs import GRADES
from judgeboard.domain import Estimate
from judgeboard.stats.arrays import among, grouping
from judgeboard.stats.proportions import anchoring
from judgeboard.store.filters import RowFilter
from judgeboard.store.grades import before_and_after
from judgeboard.store.judge_versions import StoredVersion
from judgeboard.store.verdicts import matching_answers


def anchoring_by_grade(connection: Connection, version: StoredVersion, where: RowFilter) -> dict[str, Estimate]:
    """Return how far people moved to a judge version's verdicts after they saw them, by grade.

    Each row is one person on one answer; the interval resamples answers.
    """
    shares: dict[str, Estimate] = {}
    matching = None if where == RowFilter() else matching_answers(connection, where)
    for grade in GRADES:
        grades = before_and_after(connection, version.id, grade)
        if matching is not None:
            grades = grades.at(among(grades.response_ids, matching))
        if len(grades.response_ids):
            responses = grouping(grades.response_ids, len(grades.response_ids), row="response", group="response")
            shares[grade] = anchoring(grades.judge, grades.blind, grades.revealed, responses)
    return shares

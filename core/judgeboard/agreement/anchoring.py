"""People after they saw the judge: how far their grades move to its own, by grade."""

from sqlalchemy import Connection

from judgeboard.agreement.result import Anchored
from judgeboard.answer_pairs import GRADES
from judgeboard.stats.anchoring import anchoring
from judgeboard.stats.grouping import grouping
from judgeboard.store.judgments.judge_versions import StoredVersion
from judgeboard.store.reviews.before_and_after import before_and_after


def anchored(connection: Connection, version: StoredVersion) -> tuple[Anchored, ...]:
    """Return how far people moved to a judge version's verdicts once these were revealed, of each grade they repeated.

    Rows are a person and an answer; the interval goes by answer.
    """
    found = []
    for grade in GRADES:
        said = before_and_after(connection, version.id, grade)
        if len(said.response_ids):
            responses = grouping(said.response_ids, len(said.response_ids), row="response", group="response")
            found.append(Anchored(grade, anchoring(said.judge, said.blind, said.revealed, responses)))
    return tuple(found)

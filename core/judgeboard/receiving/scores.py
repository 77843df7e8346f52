"""Stores scores of other evaluators that come beside the spans of a trace.

Results of evaluations (OpenTelemetry) and scores of Langfuse are log records of the trace, and wait
with the spans. When the trace has an answer, thumbs become feedback on the answer, and other scores
become a verdict of the evaluator.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime

from sqlalchemy import Connection, select

from judgeboard.domain import Feedback
from judgeboard.imports.exports.entry import user_feedback
from judgeboard.imports.exports.traced import Score, scored
from judgeboard.imports.fields import Cells, Unusable
from judgeboard.imports.recorded import VerdictImport
from judgeboard.imports.responses import feedback_in
from judgeboard.store.storing import add_feedback
from judgeboard.store.tables import RESPONSE
from judgeboard.traces.answers import time_at

ACTOR = "receiver"


def store_scores(
    connection: Connection, scores: Mapping[int, Sequence[Score]], now: datetime
) -> dict[int, list[str]]:
    """Store the new scores of answers by response.

    Return, by response, the names of unused scores, whose scale is unknown.
    """
    query = select(RESPONSE.c.id, RESPONSE.c.external_id, RESPONSE.c.source).where(
        RESPONSE.c.id.in_(scores)
    )
    kind = VerdictImport(None, ACTOR)
    kind.newer_counts = True
    verdicts = []
    feedback: dict[int, tuple[Feedback, ...]] = {}
    unused: dict[int, list[str]] = {}
    for response_id, external_id, source in connection.execute(query).all() if scores else ():
        entry = scored(scores[response_id])
        # Keep the time: when the trace is read again, its thumbs must not be newer than later
        # feedback.
        parts = [
            part | ({"at": at} if (at := time_at(score.at_ns)) else {})
            for score in scores[response_id]
            if not score.of_session
            and (part := user_feedback(score.name, score.value, score.reason)) is not None
        ]
        feedback[response_id] = feedback_in(Cells.of({"feedback": parts}))
        for row in entry.verdicts:
            numbers = [
                name for name, value in row.get("raw", {}).items() if isinstance(value, int | float)
            ]
            if numbers:
                unused.setdefault(response_id, []).extend(numbers)
            if row.get("status") != "error":  # only scores on other scales
                with suppress(Unusable):
                    verdicts.append(
                        kind.build(Cells.of({"external_id": external_id, "source": source, **row}))
                    )
    add_feedback(connection, feedback, (), None, now)
    if verdicts:
        kind.store(connection, verdicts, now)
    return unused

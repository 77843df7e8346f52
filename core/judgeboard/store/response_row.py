"""Turns a response into the row from which the importer makes the same response again."""

from typing import Any

from judgeboard.domain import Feedback, Response
from judgeboard.formats.rows import Column, ColumnType
from judgeboard.times import iso_z

# Nothing may be added that the importer would take for a column of the log: an export imports again without a change.
RESPONSE_COLUMNS = (
    Column("source"),
    Column("external_id"),
    Column("kind"),
    Column("query_type"),
    Column("query"),
    Column("context", ColumnType.TEXTS),
    Column("answer"),
    Column("generator_model"),
    Column("generator_cost", ColumnType.NUMBER),
    Column("messages", ColumnType.JSON),
    Column("reference"),
    Column("asked_at", ColumnType.TIME),
    Column("metadata", ColumnType.JSON),
    Column("feedback", ColumnType.JSON),
)


def response_row(response: Response) -> dict[str, Any]:
    """Return a response as a row of `RESPONSE_COLUMNS`."""
    return {
        "source": response.source,
        "external_id": response.external_id,
        "kind": response.kind.value,
        "query_type": response.query_type,
        "query": response.query,
        "context": None if response.passages is None else list(response.passages),
        "answer": response.answer,
        "generator_model": response.generator_model,
        "generator_cost": response.generator_cost,
        "messages": None if response.messages is None else list(response.messages),
        "reference": response.reference,
        "asked_at": response.asked_at,
        "metadata": response.metadata or None,
        "feedback": [_feedback(one) for one in response.feedback] or None,
    }


def _feedback(feedback: Feedback) -> dict[str, Any]:
    at = None if feedback.at is None else iso_z(feedback.at)
    return {"kind": feedback.kind.value, "value": feedback.value, "user": feedback.user, "at": at}

"""Reads what `judgeboard export` writes, row by row, in the order of the ids."""

from collections.abc import Iterator, Mapping
from typing import Any

from sqlalchemy import Connection, select

from judgeboard.domain import Feedback, FeedbackKind, Response, ResponseKind
from judgeboard.formats.rows import Column, ColumnType
from judgeboard.store.export.export_attempts import AUDIT_COLUMNS, REFINEMENT_COLUMNS, audits, refinements
from judgeboard.store.export.export_pairs import (
    COMPARISON_COLUMNS,
    PAIR_COLUMNS,
    PREFERENCE_COLUMNS,
    SAMPLE_COLUMNS,
    comparisons,
    pairs,
    preferences,
    samples,
)
from judgeboard.store.export.export_table import NAMED, ExportTable, chunks, in_units
from judgeboard.store.export.response_row import RESPONSE_COLUMNS, response_row
from judgeboard.store.schema.queue_tables import CommentRow
from judgeboard.store.schema.tables import (
    FlagRow,
    JudgeVersionRow,
    JudgmentRow,
    JudgmentScoreRow,
    ResponseRow,
    ReviewerRow,
    ReviewRow,
    UserFeedbackRow,
)

RESPONSE = ResponseRow.__table__
FEEDBACK = UserFeedbackRow.__table__
JUDGMENT = JudgmentRow.__table__
SCORE = JudgmentScoreRow.__table__
VERSION = JudgeVersionRow.__table__
FLAG = FlagRow.__table__
REVIEW = ReviewRow.__table__
REVIEWER = ReviewerRow.__table__
COMMENT = CommentRow.__table__

_INTEGER, _NUMBER, _TIME, _JSON = ColumnType.INTEGER, ColumnType.NUMBER, ColumnType.TIME, ColumnType.JSON

JUDGMENT_COLUMNS = (
    *NAMED,
    Column("judge"),
    Column("judge_version"),
    Column("run", _INTEGER),
    Column("ask", _INTEGER),
    Column("repeat", _INTEGER),
    Column("status"),
    Column("groundedness", _NUMBER),
    Column("quality", _INTEGER),
    Column("label"),
    Column("scores", _JSON),
    Column("reasoning"),
    Column("claims", _JSON),
    Column("raw"),
    Column("attempts", _JSON),
    Column("model_reported"),
    Column("prompt_tokens", _INTEGER),
    Column("completion_tokens", _INTEGER),
    Column("cost", _NUMBER),
    Column("latency_ms", _INTEGER),
    Column("error"),
    Column("created_at", _TIME),
)
FLAG_COLUMNS = (
    *NAMED,
    Column("flag", _INTEGER),
    Column("rule"),
    Column("state"),
    Column("severity", _NUMBER),
    Column("auto_score", _NUMBER),
    Column("params", _JSON),
    Column("details", _JSON),
    Column("inclusion_probability", _NUMBER),
    Column("query_type"),
    Column("judge"),
    Column("created_at", _TIME),
)
REVIEW_COLUMNS = (
    *NAMED,
    Column("review", _INTEGER),
    Column("flag", _INTEGER),
    Column("rule"),
    Column("reviewer"),
    Column("origin"),
    Column("stage"),
    Column("decision"),
    Column("label"),
    Column("groundedness", _NUMBER),
    Column("quality", _INTEGER),
    Column("spans", _JSON),
    Column("note"),
    Column("corrected_answer"),
    Column("seconds", _NUMBER),
    Column("replaces", _INTEGER),
    Column("judgment_seen", _INTEGER),
    Column("seen", _JSON),
    Column("why_differs"),
    Column("claim_marks", _JSON),
    Column("at", _TIME),
)
COMMENT_COLUMNS = (
    *NAMED,
    Column("comment", _INTEGER),
    Column("reviewer"),
    Column("origin"),
    Column("text"),
    Column("replaces", _INTEGER),
    Column("at", _TIME),
)


def responses(connection: Connection) -> Iterator[dict[str, Any]]:
    """Give every response with its feedback; a forgotten one has nothing to give."""
    query = select(RESPONSE).where(RESPONSE.c.query.is_not(None), RESPONSE.c.answer.is_not(None))
    for chunk in chunks(connection, query, RESPONSE.c.id):
        heard = _feedback(connection, [row["id"] for row in chunk])
        for row in chunk:
            yield response_row(
                Response(
                    source=row["source"],
                    external_id=row["external_id"],
                    query=row["query"],
                    answer=row["answer"],
                    passages=None if row["passages"] is None else tuple(row["passages"]),
                    query_type=row["query_type"],
                    generator_model=row["generator_model"],
                    generator_cost=row["generator_cost"],
                    messages=None if row["messages"] is None else tuple(row["messages"]),
                    reference=row["reference"],
                    asked_at=row["asked_at"],
                    metadata=row["extra"] or {},
                    kind=ResponseKind(row["kind"]),
                    feedback=tuple(heard.get(row["id"], ())),
                )
            )


def judgments(connection: Connection) -> Iterator[dict[str, Any]]:
    """Give every judgment ever stored, rejudges included."""
    query = (
        select(JUDGMENT, RESPONSE.c.source, RESPONSE.c.external_id, VERSION.c.name, VERSION.c.fingerprint)
        .join(RESPONSE, RESPONSE.c.id == JUDGMENT.c.response_id)
        .join(VERSION, VERSION.c.id == JUDGMENT.c.judge_version_id)
    )
    for chunk in chunks(connection, query, JUDGMENT.c.id):
        scores = _scores(connection, [row["id"] for row in chunk])
        for row in chunk:
            renamed = {"judge": row["name"], "judge_version": row["fingerprint"], "run": row["run_id"]}
            yield {**row, **renamed, "cost": in_units(row["cost_micro"]), "scores": scores.get(row["id"])}


def flags(connection: Connection) -> Iterator[dict[str, Any]]:
    """Give every flag in any state."""
    query = select(FLAG, RESPONSE.c.source.label("of_source"), RESPONSE.c.external_id).join(
        RESPONSE, RESPONSE.c.id == FLAG.c.response_id
    )
    for chunk in chunks(connection, query, FLAG.c.id):
        for row in chunk:
            yield {**row, "flag": row["id"], "judge": row["judge_name"], "source": row["of_source"]}


def reviews(connection: Connection) -> Iterator[dict[str, Any]]:
    """Give every review, replaced and withdrawn ones included."""
    query = (
        select(
            REVIEW,
            RESPONSE.c.source,
            RESPONSE.c.external_id,
            REVIEWER.c.name,
            REVIEWER.c.origin,
            FLAG.c.rule,
        )
        .join(RESPONSE, RESPONSE.c.id == REVIEW.c.response_id)
        .join(REVIEWER, REVIEWER.c.id == REVIEW.c.reviewer_id)
        .outerjoin(FLAG, FLAG.c.id == REVIEW.c.flag_id)
    )
    for chunk in chunks(connection, query, REVIEW.c.id):
        for row in chunk:
            ids = {"review": row["id"], "flag": row["flag_id"], "judgment_seen": row["judgment_seen_id"]}
            yield {**row, **ids, "reviewer": row["name"]}


def comments(connection: Connection) -> Iterator[dict[str, Any]]:
    """Give every remark on an answer, replaced ones and withdrawals (without a text) included."""
    query = (
        select(COMMENT, RESPONSE.c.source, RESPONSE.c.external_id, REVIEWER.c.name, REVIEWER.c.origin)
        .join(RESPONSE, RESPONSE.c.id == COMMENT.c.response_id)
        .join(REVIEWER, REVIEWER.c.id == COMMENT.c.reviewer_id)
    )
    for chunk in chunks(connection, query, COMMENT.c.id):
        for row in chunk:
            yield {**row, "comment": row["id"], "reviewer": row["name"]}


EXPORTS: Mapping[str, ExportTable] = {
    "responses": ExportTable(RESPONSE_COLUMNS, responses),
    "judgments": ExportTable(JUDGMENT_COLUMNS, judgments),
    "flags": ExportTable(FLAG_COLUMNS, flags),
    "reviews": ExportTable(REVIEW_COLUMNS, reviews),
    "comments": ExportTable(COMMENT_COLUMNS, comments),
    "pairs": ExportTable(PAIR_COLUMNS, pairs),
    "comparisons": ExportTable(COMPARISON_COLUMNS, comparisons),
    "preferences": ExportTable(PREFERENCE_COLUMNS, preferences),
    "samples": ExportTable(SAMPLE_COLUMNS, samples),
    "refinements": ExportTable(REFINEMENT_COLUMNS, refinements),
    "audits": ExportTable(AUDIT_COLUMNS, audits),
}


def _feedback(connection: Connection, response_ids: list[int]) -> dict[int, list[Feedback]]:
    query = select(FEEDBACK).where(FEEDBACK.c.response_id.in_(response_ids)).order_by(FEEDBACK.c.id)
    heard: dict[int, list[Feedback]] = {}
    for row in connection.execute(query):
        said = Feedback(FeedbackKind(row.kind), row.value, row.user, row.at)
        heard.setdefault(row.response_id, []).append(said)
    return heard


def _scores(connection: Connection, judgment_ids: list[int]) -> dict[int, list[dict[str, Any]]]:
    query = select(SCORE).where(SCORE.c.judgment_id.in_(judgment_ids)).order_by(SCORE.c.id)
    found: dict[int, list[dict[str, Any]]] = {}
    for row in connection.execute(query):
        said = {"dimension": row.dimension, "value": row.value, "scale": row.scale, "reasoning": row.reasoning}
        found.setdefault(row.judgment_id, []).append(said)
    return found

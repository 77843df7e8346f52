"""Reads what `judgeboard export` writes of refinements and audits."""

from collections.abc import Iterator
from typing import Any

from sqlalchemy import Connection, and_, select

from judgeboard.formats.rows import Column, ColumnType
from judgeboard.store.export.export_table import NAMED, chunks, in_units
from judgeboard.store.schema.method_tables import GenerationRow, JudgmentReviewRow, RefinementRow
from judgeboard.store.schema.tables import JudgeVersionRow, JudgmentRow, ResponseRow

REFINEMENT = RefinementRow.__table__
GENERATION = GenerationRow.__table__
AUDIT = JudgmentReviewRow.__table__
JUDGMENT = JudgmentRow.__table__
RESPONSE = ResponseRow.__table__
VERSION = JudgeVersionRow.__table__

_INTEGER, _NUMBER, _TIME = ColumnType.INTEGER, ColumnType.NUMBER, ColumnType.TIME

REFINEMENT_COLUMNS = (
    *NAMED,
    Column("run", _INTEGER),
    Column("method"),
    Column("subject"),
    Column("number", _INTEGER),
    Column("outcome"),
    Column("answer_source"),
    Column("answer_id"),
    Column("answer"),
    Column("generator_model"),
    Column("generation_status"),
    Column("generation_cost", _NUMBER),
    Column("judge"),
    Column("judge_version"),
    Column("groundedness_before", _NUMBER),
    Column("quality_before", _INTEGER),
    Column("groundedness", _NUMBER),
    Column("quality", _INTEGER),
    Column("rating", _INTEGER),
    Column("evaluation"),
    Column("feedback"),
    Column("created_at", _TIME),
)
AUDIT_COLUMNS = (
    *NAMED,
    Column("judge"),
    Column("judge_version"),
    Column("judgment", _INTEGER),
    Column("label"),
    Column("groundedness", _NUMBER),
    Column("quality", _INTEGER),
    Column("supreme_judge"),
    Column("supreme_judge_version"),
    Column("run", _INTEGER),
    Column("ask", _INTEGER),
    Column("status"),
    Column("correct", ColumnType.BOOLEAN),
    Column("reasoning"),
    Column("raw"),
    Column("inclusion_probability", _NUMBER),
    Column("prompt_tokens", _INTEGER),
    Column("completion_tokens", _INTEGER),
    Column("cost", _NUMBER),
    Column("error"),
    Column("created_at", _TIME),
)


def refinements(connection: Connection) -> Iterator[dict[str, Any]]:
    """Give every attempt that has come to an end; source and id name the logged answer that it began with."""
    root, made, before = RESPONSE.alias(), RESPONSE.alias(), JUDGMENT.alias()
    query = (
        select(
            REFINEMENT,
            root.c.source,
            root.c.external_id,
            made.c.source.label("answer_source"),
            made.c.external_id.label("answer_id"),
            made.c.answer,
            GENERATION.c.model.label("generator_model"),
            GENERATION.c.status.label("generation_status"),
            GENERATION.c.cost_micro,
            VERSION.c.name.label("judge"),
            VERSION.c.fingerprint.label("judge_version"),
            before.c.groundedness.label("groundedness_before"),
            before.c.quality.label("quality_before"),
            JUDGMENT.c.groundedness,
            JUDGMENT.c.quality,
            JUDGMENT.c.reasoning.label("evaluation"),
        )
        .outerjoin(root, root.c.id == REFINEMENT.c.root_response_id)
        .outerjoin(made, made.c.id == REFINEMENT.c.response_id)
        .outerjoin(before, before.c.id == REFINEMENT.c.judgment_before_id)
        .outerjoin(JUDGMENT, JUDGMENT.c.id == REFINEMENT.c.judgment_id)
        .outerjoin(VERSION, VERSION.c.id == JUDGMENT.c.judge_version_id)
        .outerjoin(
            GENERATION,
            and_(
                GENERATION.c.run_id == REFINEMENT.c.run_id,
                GENERATION.c.subject == REFINEMENT.c.subject,
                GENERATION.c.number == REFINEMENT.c.number,
            ),
        )
    )
    for chunk in chunks(connection, query, REFINEMENT.c.id):
        for row in chunk:
            yield {**row, "run": row["run_id"], "generation_cost": in_units(row["cost_micro"])}


def audits(connection: Connection) -> Iterator[dict[str, Any]]:
    """Give every look of a supreme judge at a judgment."""
    judge, supreme = VERSION.alias(), VERSION.alias()
    query = (
        select(
            AUDIT,
            RESPONSE.c.source,
            RESPONSE.c.external_id,
            judge.c.name.label("judge"),
            judge.c.fingerprint.label("judge_version"),
            supreme.c.name.label("supreme_judge"),
            supreme.c.fingerprint.label("supreme_judge_version"),
            JUDGMENT.c.label,
            JUDGMENT.c.groundedness,
            JUDGMENT.c.quality,
        )
        .join(JUDGMENT, JUDGMENT.c.id == AUDIT.c.judgment_id)
        .join(RESPONSE, RESPONSE.c.id == JUDGMENT.c.response_id)
        .join(judge, judge.c.id == JUDGMENT.c.judge_version_id)
        .join(supreme, supreme.c.id == AUDIT.c.judge_version_id)
    )
    for chunk in chunks(connection, query, AUDIT.c.id):
        for row in chunk:
            named = {"judgment": row["judgment_id"], "run": row["run_id"]}
            yield {**row, **named, "cost": in_units(row["cost_micro"])}

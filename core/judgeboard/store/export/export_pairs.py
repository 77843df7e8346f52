"""Reads what `judgeboard export` writes of pairs: the pairs, and what judges and people said of them."""

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, FromClause, Row, case, select

from judgeboard.domain import Decision, ResponseKind
from judgeboard.exporters import Column, ColumnType
from judgeboard.pair_records import OVERALL
from judgeboard.store.export.export_table import CHUNK, NAMED, chunks, in_units
from judgeboard.store.pairs.preferences import StandingPreference, load_preferences
from judgeboard.store.reviews.imported_reviews import ORIGIN
from judgeboard.store.schema.method_tables import (
    ComparisonRow,
    ComparisonScoreRow,
    PairRow,
    PreferenceScoreRow,
    SampleRow,
)
from judgeboard.store.schema.tables import JudgeVersionRow, ResponseRow, ReviewerRow, ReviewRow
from judgeboard.times import iso_z

PAIR = PairRow.__table__
COMPARISON = ComparisonRow.__table__
COMPARISON_SCORE = ComparisonScoreRow.__table__
REVIEW = ReviewRow.__table__
PREFERENCE_SCORE = PreferenceScoreRow.__table__
SAMPLE = SampleRow.__table__
RESPONSE = ResponseRow.__table__
REVIEWER = ReviewerRow.__table__
VERSION = JudgeVersionRow.__table__

_INTEGER, _NUMBER, _TIME, _JSON = ColumnType.INTEGER, ColumnType.NUMBER, ColumnType.TIME, ColumnType.JSON

# Nothing may be added to what imports again that an importer would take for a field of its own.
_ITEM_COLUMNS = (
    *NAMED,
    Column("query_type"),
    Column("question"),
    Column("options", ColumnType.TEXTS),
    Column("reference"),
    Column("answer_a"),
    Column("answer_b"),
    Column("model_a"),
    Column("model_b"),
    Column("response_a"),
    Column("response_b"),
    Column("gold"),
    Column("metadata", _JSON),
)
PAIR_COLUMNS = (*_ITEM_COLUMNS, Column("human", _JSON))
SAMPLE_COLUMNS = (
    *_ITEM_COLUMNS,
    Column("judge"),
    Column("judge_version"),
    Column("samples", _JSON),
    Column("statuses", _JSON),
    Column("models", _JSON),
    Column("raw", _JSON),
)
COMPARISON_COLUMNS = (
    *NAMED,
    Column("judge"),
    Column("judge_version"),
    Column("run", _INTEGER),
    Column("condition"),
    Column("reference"),
    Column("order"),
    Column("ask", _INTEGER),
    Column("status"),
    Column("verdict", _JSON),
    Column("reasoning"),
    Column("raw"),
    Column("model_reported"),
    Column("prompt_tokens", _INTEGER),
    Column("completion_tokens", _INTEGER),
    Column("cost", _NUMBER),
    Column("latency_ms", _INTEGER),
    Column("error"),
    Column("created_at", _TIME),
)
PREFERENCE_COLUMNS = (
    *NAMED,
    Column("preference", _INTEGER),
    Column("reviewer"),
    Column("origin"),
    Column("shown"),
    Column("aspects", _JSON),
    Column("note"),
    Column("seconds", _NUMBER),
    Column("blind", ColumnType.BOOLEAN),
    Column("withdrawn", ColumnType.BOOLEAN),
    Column("replaces", _INTEGER),
    Column("at", _TIME),
)


def pairs(connection: Connection) -> Iterator[dict[str, Any]]:
    """Give every pair that has two answers, with what imported people say of it; a forgotten one has nothing to give.

    A question that was only sampled comes with its samples.
    """
    query = select(PAIR.c.id).where(PAIR.c.question.is_not(None), PAIR.c.response_a_id.is_not(None))
    for chunk in chunks(connection, query, PAIR.c.id):
        ids = [row["id"] for row in chunk]
        people: dict[int, list[StandingPreference]] = {}
        for said in load_preferences(connection, ids):
            if said.origin == ORIGIN:
                people.setdefault(said.pair_id, []).append(said)
        for pair_id, item in _items(connection, ids).items():
            yield {**item, "human": _human(people.get(pair_id, ()))}


def comparisons(connection: Connection) -> Iterator[dict[str, Any]]:
    """Give every comparison ever stored, unusable ones and repeated asks included."""
    query = (
        select(COMPARISON, PAIR.c.source, PAIR.c.external_id, VERSION.c.name, VERSION.c.fingerprint)
        .join(PAIR, PAIR.c.id == COMPARISON.c.pair_id)
        .join(VERSION, VERSION.c.id == COMPARISON.c.judge_version_id)
    )
    for chunk in chunks(connection, query, COMPARISON.c.id):
        ids = [row["id"] for row in chunk]
        said: dict[int, dict[str, str]] = {}
        scores = select(COMPARISON_SCORE).where(COMPARISON_SCORE.c.comparison_id.in_(ids))
        for score in connection.execute(scores.order_by(COMPARISON_SCORE.c.id)):
            said.setdefault(score.comparison_id, {})[score.aspect] = score.preference
        for row in chunk:
            renamed = {"judge": row["name"], "judge_version": row["fingerprint"], "run": row["run_id"]}
            told = {"order": row["shown"], "verdict": said.get(row["id"]), "cost": in_units(row["cost_micro"])}
            yield {**row, **renamed, **told}


def preferences(connection: Connection) -> Iterator[dict[str, Any]]:
    """Give every preference of a person, replaced and withdrawn ones included."""
    query = (
        select(REVIEW, PAIR.c.source, PAIR.c.external_id, REVIEWER.c.name, REVIEWER.c.origin)
        .join(PAIR, PAIR.c.id == REVIEW.c.pair_id)
        .join(REVIEWER, REVIEWER.c.id == REVIEW.c.reviewer_id)
    )
    for chunk in chunks(connection, query, REVIEW.c.id):
        said: dict[int, dict[str, dict[str, Any]]] = {}
        scores = select(PREFERENCE_SCORE).where(PREFERENCE_SCORE.c.review_id.in_([row["id"] for row in chunk]))
        for score in connection.execute(scores.order_by(PREFERENCE_SCORE.c.id)):
            told = {"preference": score.preference, "value": score.value, "scale": score.scale}
            said.setdefault(score.review_id, {})[score.aspect] = told
        for row in chunk:
            flags = {"blind": not row["seen"], "withdrawn": row["decision"] == Decision.WITHDRAWN.value}
            yield {**row, **flags, "preference": row["id"], "reviewer": row["name"], "aspects": said.get(row["id"])}


def samples(connection: Connection) -> Iterator[dict[str, Any]]:
    """Give what each judge version tried at each question, by version; what was forgotten has nothing to give.

    Tries are numbered by their place: of a run that is not done with, those behind one that is missing are left out.
    """
    versions = select(VERSION.c.id, VERSION.c.name, VERSION.c.fingerprint).order_by(VERSION.c.id)
    for version_id, name, fingerprint in connection.execute(versions).all():
        for ids in _sampled(connection, version_id):
            tries: dict[int, list[Row[Any]]] = {}
            query = select(SAMPLE).where(SAMPLE.c.judge_version_id == version_id, SAMPLE.c.pair_id.in_(ids))
            for one in connection.execute(query.order_by(SAMPLE.c.pair_id, SAMPLE.c.number, SAMPLE.c.ask)):
                found = tries.setdefault(one.pair_id, [])
                if one.number == len(found):
                    found.append(one)
                elif one.number == len(found) - 1:  # asked for again: the latest ask counts
                    found[-1] = one
            for pair_id, item in _items(connection, ids).items():
                if given := tries[pair_id]:
                    yield {**item, "judge": name, "judge_version": fingerprint, **_tried(given)}


def _sampled(connection: Connection, version_id: int) -> Iterator[list[int]]:
    """The questions that a version tried, in pieces."""
    last = 0
    query = select(SAMPLE.c.pair_id).distinct().where(SAMPLE.c.judge_version_id == version_id)
    while ids := list(
        connection.execute(query.where(SAMPLE.c.pair_id > last).order_by(SAMPLE.c.pair_id).limit(CHUNK)).scalars()
    ):
        yield ids
        last = ids[-1]


def _tried(tries: Sequence[Row[Any]]) -> dict[str, Any]:
    lists = {
        "samples": [one.answer for one in tries],
        "statuses": [one.status for one in tries],
        "models": [one.model_reported for one in tries],
        "raw": [one.raw for one in tries],
    }
    always = ("samples", "statuses")
    return {name: each if name in always or any(each) else None for name, each in lists.items()}


def _items(connection: Connection, ids: Sequence[int]) -> dict[int, dict[str, Any]]:
    """The pairs as rows, by id; one whose question is forgotten is left out."""
    a, b, of_a, of_b = (RESPONSE.alias() for _ in range(4))
    query = (
        select(
            PAIR,
            *(side.c.answer.label(f"answer_{name}") for name, side in (("a", a), ("b", b))),
            *(side.c.generator_model.label(f"model_{name}") for name, side in (("a", a), ("b", b))),
            _logged(a, of_a).label("response_a"),
            _logged(b, of_b).label("response_b"),
        )
        .outerjoin(a, a.c.id == PAIR.c.response_a_id)
        .outerjoin(b, b.c.id == PAIR.c.response_b_id)
        .outerjoin(of_a, of_a.c.id == a.c.derived_from)
        .outerjoin(of_b, of_b.c.id == b.c.derived_from)
        .where(PAIR.c.id.in_(ids), PAIR.c.question.is_not(None))
        .order_by(PAIR.c.id)
    )
    rows = connection.execute(query).mappings()
    return {row["id"]: {**row, "metadata": row["extra"] or None} for row in rows}


def _logged(side: FromClause, origin: FromClause) -> ColumnElement[str]:
    """The logged answer that a side is, or was taken from."""
    return case((side.c.kind == ResponseKind.LOG.value, side.c.external_id), else_=origin.c.external_id)


def _human(said: Sequence[StandingPreference]) -> list[dict[str, Any]] | None:
    """What people say as the importer takes it again, one object per person and order shown."""
    people = []
    ordered = sorted(said, key=lambda one: one.preference_id)
    for _, grouped in itertools.groupby(ordered, key=lambda one: one.preference_id):
        aspects = list(grouped)
        first = aspects[0]
        at = None if first.at is None else iso_z(first.at)
        scale = next((one.scale for one in aspects if one.scale is not None), None)
        given = {"annotator": first.reviewer, "shown": first.shown, "note": first.note, "scale": scale, "at": at}
        told = {name: value for name, value in given.items() if value is not None}
        people.append({**told, **_by_aspect(aspects)})
    return people or None


def _by_aspect(said: Sequence[StandingPreference]) -> dict[str, Any]:
    told: dict[str, Any] = {}
    for one in said:
        if one.aspect == OVERALL and one.preference is not None:
            told["preference"] = one.preference
        if one.value is not None or one.aspect != OVERALL:
            told[one.aspect] = one.preference if one.value is None else one.value
    return told

"""What statistics are sliced by: type, source, writer, day, length and rules of answers, without their texts."""

from dataclasses import dataclass

import numpy as np
from sqlalchemy import Connection, func, select

from judgeboard.domain import FlagState
from judgeboard.stats.arrays import IntArray
from judgeboard.store.figures.current_verdicts import NO_DAY
from judgeboard.store.schema.tables import FLAG, RESPONSE
from judgeboard.store.sql.batches import batches
from judgeboard.store.sql.column_arrays import Texts, read_columns

UNKNOWN = "unknown"
"""Stands for an answer whose writer the log does not name."""

_CHUNK = 5_000  # far below the 32,766 variables of a statement


@dataclass(frozen=True, slots=True, eq=False)
class ResponseFacts:
    """Columns of responses by id, ascending; ``days`` count from 1970-01-01 (below 0: no time)."""

    ids: IntArray
    evidence_groups: IntArray
    query_types: Texts
    sources: Texts
    generators: Texts
    days: IntArray


def response_facts(connection: Connection, ids: IntArray) -> ResponseFacts:
    """Return the facts of responses, ascending by id."""
    columns = (
        RESPONSE.c.id,
        RESPONSE.c.evidence_group,
        func.coalesce(RESPONSE.c.asked_day, NO_DAY),
        RESPONSE.c.query_type,
        RESPONSE.c.source,
        func.coalesce(RESPONSE.c.generator_model, UNKNOWN),
    )
    numbers: list[list[IntArray]] = [[np.empty(0, dtype=np.int64)] for _ in range(3)]
    texts: list[list[str]] = [[], [], []]
    for some in batches(np.unique(ids).tolist(), _CHUNK):
        query = select(*columns).where(RESPONSE.c.id.in_(some)).order_by(RESPONSE.c.id)
        *whole, types, sources, generators = read_columns(connection, query)
        for parts, column in zip(numbers, whole, strict=True):
            parts.append(column)
        for found, column in zip(texts, (types, sources, generators), strict=True):
            found.extend(column.names[code] for code in column.codes.tolist())
    known, groups, days = (np.concatenate(parts) for parts in numbers)
    query_types, sources, generators = map(as_texts, texts)
    return ResponseFacts(known, groups, query_types, sources, generators, days)


def as_texts(values: list[str]) -> Texts:
    """Return texts as the names that occur, in order, and each row's position among them."""
    names, codes = np.unique(np.array(values, dtype=np.str_), return_inverse=True)
    return Texts(tuple(names.tolist()), codes.astype(np.int64))


def answer_lengths(connection: Connection, ids: IntArray) -> tuple[IntArray, IntArray]:
    """Return the ids, ascending, of those of the responses whose answer is not forgotten, and its characters."""
    found: list[tuple[int, int]] = []
    for some in batches(np.unique(ids).tolist(), _CHUNK):
        query = select(RESPONSE.c.id, func.length(RESPONSE.c.answer)).where(
            RESPONSE.c.id.in_(some), RESPONSE.c.answer.is_not(None)
        )
        found += [(id_, length) for id_, length in connection.execute(query)]
    rows = np.array(sorted(found), dtype=np.int64).reshape(-1, 2)
    return rows[:, 0], rows[:, 1]


def rules_of(connection: Connection, ids: IntArray) -> dict[str, IntArray]:
    """Return, by the rules that raised a flag on any of the responses, the ids that each raised, ascending.

    Superseded flags do not count. A response stands with every rule that raised one.
    """
    found: dict[str, set[int]] = {}
    for some in batches(np.unique(ids).tolist(), _CHUNK):
        query = select(FLAG.c.rule, FLAG.c.response_id).where(
            FLAG.c.response_id.in_(some), FLAG.c.state != FlagState.SUPERSEDED.value
        )
        for rule, id_ in connection.execute(query):
            found.setdefault(rule, set()).add(id_)
    return {rule: np.array(sorted(found[rule]), dtype=np.int64) for rule in sorted(found)}

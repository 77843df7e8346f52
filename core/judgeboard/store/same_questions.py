"""Answers of two sources, or of two generators, to the same questions."""

from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import ColumnElement, Connection, case, func, literal, select

from judgeboard.errors import BadInput, NotFound
from judgeboard.stats.arrays import BoolArray, IntArray
from judgeboard.store.statements import LOGGED, TextColumn, read_columns
from judgeboard.store.tables import RESPONSE
from judgeboard.text import some_of


class SameQuestions(NamedTuple):
    """The answers ``a`` and ``b`` (ids) to each question, with its type.

    ``only_one`` counts the answers whose question the other side did not answer. ``repeated`` counts the answers whose
    question occurs several times on a side and cannot be told apart by its passages.
    """

    a: IntArray
    b: IntArray
    query_types: TextColumn
    only_one: int
    repeated: int


def same_questions(connection: Connection, a: str, b: str) -> SameQuestions:
    """Return the pairs of answers of two sources, or of two generators, to the same question.

    Two questions are the same if their texts are equal. If a text occurs several times on a side, the passages must be
    equal too. Raises BadInput if both names are equal, and NotFound if they are neither two sources nor two generators.
    """
    if a == b:
        raise BadInput(f"{a!r} cannot be compared with itself: name two sources or two generators")
    columns = (RESPONSE.c.source, RESPONSE.c.generator_model)
    names_in = [_names(connection, each) for each in columns]
    column = next((each for each, names in zip(columns, names_in, strict=True) if {a, b} <= {*names}), None)
    if column is None:
        listed = "; generators: ".join(some_of(names) for names in names_in if names) or "none"
        raise NotFound(f"{a!r} and {b!r} are neither two sources nor two generators of the log. Sources: {listed}")
    query = select(
        RESPONSE.c.id,
        RESPONSE.c.query,
        RESPONSE.c.evidence_group,
        RESPONSE.c.query_type,
        case((column == a, literal(0)), else_=literal(1)).label("side"),
    ).where(LOGGED, column.in_((a, b)), RESPONSE.c.query.is_not(None), RESPONSE.c.answer.is_not(None))
    ids, texts, evidence, types, side = read_columns(connection, query.order_by(RESPONSE.c.id))
    rows = np.flatnonzero(side == 0), np.flatnonzero(side == 1)
    once = [_single(texts.codes[each]) for each in rows]
    by_text = _matched(texts.codes, rows[0][once[0]], rows[1][once[1]])
    left = [np.setdiff1d(each, pair, assume_unique=True) for each, pair in zip(rows, by_text, strict=True)]
    left = [each[_single(evidence[each])] for each in left]
    by_evidence = _matched(evidence, left[0], left[1])
    at_a, at_b = (np.concatenate(pair) for pair in zip(by_text, by_evidence, strict=True))
    shared = np.isin(texts.codes, np.intersect1d(texts.codes[rows[0]], texts.codes[rows[1]]))
    return SameQuestions(ids[at_a], ids[at_b], types.at(at_a), int((~shared).sum()), int(shared.sum()) - 2 * len(at_a))


def _names(connection: Connection, column: ColumnElement[Any]) -> list[str]:
    query = select(column).where(LOGGED, column.is_not(None)).group_by(column).order_by(func.count().desc())
    return list(connection.execute(query).scalars())


def _single(keys: IntArray) -> BoolArray:
    """Return which keys occur once."""
    _, inverse, counts = np.unique(keys, return_inverse=True, return_counts=True)
    single: BoolArray = counts[inverse] == 1
    return single


def _matched(keys: IntArray, a: IntArray, b: IntArray) -> tuple[IntArray, IntArray]:
    """Return the rows of ``a`` and of ``b`` with equal keys; no key occurs twice within ``a`` or within ``b``."""
    _, at_a, at_b = np.intersect1d(keys[a], keys[b], assume_unique=True, return_indices=True)
    return a[at_a], b[at_b]

"""Which items lie in which slice: by type, source, writer, month, length or rule."""

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import pairwise

import numpy as np
from sqlalchemy import Connection

from judgeboard.agreement.choice import By, Unit
from judgeboard.stats.arrays import AnyArray, BoolArray, IntArray, among
from judgeboard.store.pairs.pair_facts import pair_facts
from judgeboard.store.responses.response_facts import answer_lengths, response_facts, rules_of
from judgeboard.store.sql.column_arrays import Texts

SLICES: dict[By, str] = {
    "query_type": "query types",
    "judge_version": "judge versions",
    "generator": "generators",
    "source": "sources",
    "time": "months",
    "length": "lengths",
    "rule": "rules",
}
"""What the slices are, in the plural."""

LENGTH_BANDS = (200, 500, 1_000, 2_000)
"""Where bands of length end, in characters of the answer."""

NO_TIME, NO_RULE, FORGOTTEN = "no time", "no rule", "forgotten"


def slices_of(connection: Connection, unit: Unit, by: By, ids: IntArray) -> Iterator[tuple[str, BoolArray]]:
    """Yield the slices of items with a mask of which lie in each, by name; an answer lies in each rule that flagged it.

    Args:
        connection: An open transaction.
        unit: Whether they are answers or pairs.
        by: The field; not ``judge_version``, of which each has items of its own.
        ids: Their ids, in any order; repeated where people are stacked.
    """
    known = np.unique(ids)
    if by == "rule":
        yield from _rules(connection, ids, known)
        return
    names = _names(connection, unit, by, known)[np.searchsorted(known, ids)]
    for name in np.unique(names).tolist() if by != "length" else [each for each in _BANDS if (names == each).any()]:
        yield str(name), names == name


def _names(connection: Connection, unit: Unit, by: By, known: IntArray) -> AnyArray:
    """Return the slice of each known id."""
    if unit == "pairs":
        facts = pair_facts(connection)
        column = facts.query_types if by == "query_type" else facts.sources
        return _texts(column)[np.searchsorted(facts.ids, known)]
    if by == "length":
        return _bands(connection, known)
    facts_of_answers = response_facts(connection, known)
    if by == "time":
        return np.array([_month(day) for day in facts_of_answers.days.tolist()], dtype=np.str_)
    columns = {
        "query_type": facts_of_answers.query_types,
        "generator": facts_of_answers.generators,
        "source": facts_of_answers.sources,
    }
    return _texts(columns[by])


def _rules(connection: Connection, ids: IntArray, known: IntArray) -> Iterator[tuple[str, BoolArray]]:
    flagged = np.zeros(len(ids), dtype=np.bool_)
    for rule, raised in rules_of(connection, known).items():
        inside = among(ids, raised)
        flagged |= inside
        yield rule, inside
    if not flagged.all():
        yield NO_RULE, ~flagged


def _texts(column: Texts) -> AnyArray:
    names: AnyArray = np.array(column.names or ("",), dtype=np.str_)
    said: AnyArray = names[column.codes]
    return said


def _month(day: int) -> str:
    return NO_TIME if day < 0 else datetime.fromtimestamp(day * 86_400, UTC).strftime("%Y-%m")


def _band_names() -> tuple[str, ...]:
    first, *_, last = LENGTH_BANDS
    between = (f"{low:,} to {high - 1:,}" for low, high in pairwise(LENGTH_BANDS))
    return (f"under {first:,}", *between, f"{last:,} and more", FORGOTTEN)


_BANDS = _band_names()


def _bands(connection: Connection, known: IntArray) -> AnyArray:
    found, lengths = answer_lengths(connection, known)
    bands = np.full(len(known), len(LENGTH_BANDS) + 1)
    bands[np.searchsorted(known, found)] = np.searchsorted(LENGTH_BANDS, lengths, side="right")
    names: AnyArray = np.array(_BANDS, dtype=np.str_)
    said: AnyArray = names[bands]
    return said

"""What is measured: whose agreement, on what, in which slices; and which items lie in which slice."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from typing import Literal, get_args

import numpy as np
from sqlalchemy import Connection

from judgeboard.agreement.answer_pairs import GRADES
from judgeboard.errors import BadInput
from judgeboard.stats.arrays import AnyArray, BoolArray, IntArray, among
from judgeboard.stats.both_orders import UNUSABLE_AS, UnusableAs
from judgeboard.stats.ratings import HUMANS, Human
from judgeboard.store.preferences import pair_facts
from judgeboard.store.response_pages import answer_lengths, response_facts, rules_of
from judgeboard.store.statements import TextColumn

Unit = Literal["responses", "pairs"]
UNITS: tuple[Unit, ...] = get_args(Unit)

Of = Literal["people", "judge", "judges", "repeats"]
OF: tuple[Of, ...] = get_args(Of)

By = Literal["query_type", "judge_version", "generator", "source", "time", "length", "rule"]
BY: tuple[By, ...] = get_args(By)

PREFERENCE = "preference"

_OF_PAIRS: frozenset[By] = frozenset({"query_type", "source", "judge_version"})


@dataclass(frozen=True, slots=True)
class AgreementChoice:
    """Whose agreement is measured, on what.

    ``judge_versions`` name one (``of`` judge and repeats) or several (judges); none means the one that is meant
    unasked, or all. For repeats a judge's bare name means all its versions together. ``grade`` None is the label of
    answers, which of two is better of pairs, and of repeats what they give most. ``epsilon`` asks for the alternative
    annotator test. With ``reviewer_id`` a judge is compared with this person alone.

    Raises:
        BadInput: A value is none of its field's, or fields that do not go together.
    """

    of: Of = "judge"
    judge_versions: tuple[int | str, ...] = ()
    unit: Unit = "responses"
    aspect: str | None = None
    grade: str | None = None
    human: Human = "gold"
    unusable: UnusableAs = "drop"
    by: By | None = None
    epsilon: float | None = None
    reviewer_id: int | None = None

    def __post_init__(self) -> None:
        _one_of("of", self.of, OF)
        _one_of("unit", self.unit, UNITS)
        _one_of("human", self.human, HUMANS)
        _one_of("unusable", self.unusable, UNUSABLE_AS)
        if self.by is not None:
            _one_of("by", self.by, BY)
        if self.unit == "responses":
            self._check_responses()
        else:
            self._check_pairs()
        if self.epsilon is not None and self.of != "judge":
            raise BadInput("the alternative annotator test asks whether a judge may stand in for a person: --of judge")
        if self.epsilon is not None and not 0 <= self.epsilon <= 1:
            raise BadInput(f"epsilon lies from 0 to 1, not {self.epsilon:g}")
        if self.reviewer_id is not None and (self.of != "judge" or self.unit != "responses"):
            raise BadInput("one person alone is compared with a judge, on answers")
        if self.by == "judge_version" and self.of != "judge":
            raise BadInput("judge versions are slices of a judge against people: --of judge")
        if self.by is not None and self.of == "repeats":
            raise BadInput("repeats are not sliced")
        if self.of in {"judge", "repeats"} and len(self.judge_versions) > 1:
            raise BadInput(f"--of {self.of} takes one judge version, --of judges several")

    @property
    def things(self) -> str:
        """What is rated, in the plural."""
        return "answers" if self.unit == "responses" else "pairs"

    def _check_responses(self) -> None:
        if self.aspect is not None:
            raise BadInput("an aspect is of pairs: --unit pairs")
        if self.unusable != "drop":
            raise BadInput("unusable verdicts on answers are unmeasured: --unusable is for --unit pairs")
        if self.grade == PREFERENCE:
            raise BadInput("a preference is of pairs: --unit pairs")

    def _check_pairs(self) -> None:
        if self.grade in GRADES:
            raise BadInput(f"a {self.grade} is of answers, not of pairs; pairs have a preference by --aspect")
        if self.by is not None and self.by not in _OF_PAIRS:
            raise BadInput(f"pairs have no {self.by}: slice them by {', '.join(sorted(_OF_PAIRS))}")


def _one_of(name: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise BadInput(f"{name} is one of {', '.join(known)}, not {value!r}")


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


def _texts(column: TextColumn) -> AnyArray:
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

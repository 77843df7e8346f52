"""The answers behind a figure of several raters: by two, all together, a person with gold, a judge beside one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from sqlalchemy import Connection

from judgeboard.agreement.choice import By
from judgeboard.agreement.ratings import AnswerRatings, ItemRatings
from judgeboard.agreement.slices import SLICES, slices_of
from judgeboard.answer_pairs import GRADES, GradeName
from judgeboard.errors import BadInput
from judgeboard.stats.arrays import TIE, FloatArray, IntArray
from judgeboard.store.judgments.judge_versions import get_version, list_versions
from judgeboard.store.reviews.before_and_after import before_and_after
from judgeboard.store.reviews.reviewers import reviewer_names

Raters = Literal["people", "judges", "gold", "twice", "standin", "shown"]
RATERS: tuple[Raters, ...] = get_args(Raters)

ALL = 0
"""Stands for a rater where all together are meant."""


@dataclass(frozen=True, slots=True)
class RaterCell:
    """Answers that raters both rated.

    ``people`` and ``judges``: ids of two of them, or `ALL` for what two of them or more rated. ``gold``: ``first`` is a
    person beside what was adjudicated; ``twice``: a person who rated repeatedly; ``standin``: judge version ``first``
    where it is tested as a stand-in for person ``second``; ``shown``: answers on which people differed from judge
    version ``first`` before it was shown to them. ``by`` and ``slice`` narrow what all together rated.

    Raises:
        BadInput: No such grade, field or kind of raters.
    """

    raters: Raters
    grade: GradeName
    first: int
    second: int
    by: By | None = None
    slice: str | None = None

    def __post_init__(self) -> None:
        if self.grade not in GRADES:
            raise BadInput(f"a grade is one of {', '.join(GRADES)}, not {self.grade!r}")
        if self.raters not in RATERS:
            raise BadInput(f"raters are one of {', '.join(RATERS)}, not {self.raters!r}")
        if self.by is not None and self.by not in SLICES:
            raise BadInput(f"slices are by {', '.join(SLICES)}, not {self.by!r}")


def answers_rated(connection: Connection, cell: RaterCell) -> tuple[int, ...]:
    """Return the ids of the answers in a cell: those that its number counts."""
    ids = np.unique(_ids(connection, cell))
    if cell.by is not None:
        slices = dict(slices_of(connection, "responses", cell.by, ids))
        ids = ids[slices.get(cell.slice or "", np.zeros(len(ids), dtype=np.bool_))]
    return tuple(ids.tolist())


def rater_words(connection: Connection, cell: RaterCell) -> str:
    """Return a cell in words: "label by Mara and by Jon".

    Raises:
        NotFound: There is no such judge version.
    """
    people = reviewer_names(connection)
    if cell.raters in {"people", "judges"} and cell.first == ALL:
        who = "people" if cell.raters == "people" else "judge versions"
        said = f"{cell.grade} by two {who} or more"
    elif cell.raters == "judges":
        said = f"{cell.grade} by {_title(connection, cell.first)} and by {_title(connection, cell.second)}"
    elif cell.raters == "standin":
        said = f"{cell.grade} by {_title(connection, cell.first)}, {_name(people, cell.second)} and others"
    elif cell.raters == "shown":
        said = f"{cell.grade} before and after {_title(connection, cell.first)} was shown"
    else:
        one = _name(people, cell.first)
        said = {
            "people": f"{cell.grade} by {one} and by {_name(people, cell.second)}",
            "gold": f"{cell.grade} by {one} and settled by a lead",
            "twice": f"{cell.grade} twice by {one}",
        }[cell.raters]
    return said if cell.by is None else f"{said}, {cell.by.replace('_', ' ')} {cell.slice}"


def _ids(connection: Connection, cell: RaterCell) -> IntArray:
    if cell.raters == "shown":
        said = before_and_after(connection, cell.first, cell.grade)
        return said.response_ids[np.abs(said.judge - said.blind) > TIE]
    source = AnswerRatings(connection, cell.grade)
    names = reviewer_names(connection)
    if cell.raters == "twice":
        twice = source.rated_twice()
        found: IntArray = twice.ids[twice.raters == _name(names, cell.first)]
        return found
    if cell.raters == "judges":
        chosen = (
            list_versions(connection)
            if cell.first == ALL
            else [get_version(connection, each) for each in dict.fromkeys((cell.first, cell.second))]
        )
        return _rated(source.judges(chosen), [] if cell.first == ALL else [each.title for each in chosen])
    rated = source.people()
    if cell.raters == "people":
        return _rated(rated, [] if cell.first == ALL else [_name(names, each) for each in (cell.first, cell.second)])
    if cell.raters == "gold":
        mine = ~np.isnan(_column(rated, _name(names, cell.first)))
        return rated.ids[mine & ~np.isnan(source.gold(rated.ids))]
    judge = source.judge_on(get_version(connection, cell.first), rated.ids)
    mine = ~np.isnan(_column(rated, _name(names, cell.second)))
    return rated.ids[mine & ~np.isnan(judge) & (rated.ratings.per_item >= 2)]


def _rated(rated: ItemRatings, names: Sequence[str]) -> IntArray:
    """Return the items that all of the named raters rated; without names those that two or more did."""
    if not names:
        return rated.ids[rated.ratings.per_item >= 2]
    given = [~np.isnan(_column(rated, name)) for name in names]
    return rated.ids[np.logical_and.reduce(given)]


def _column(rated: ItemRatings, name: str) -> FloatArray:
    nothing: FloatArray = np.full(len(rated.ids), np.nan)
    raters = rated.ratings.raters
    return rated.ratings.values[:, raters.index(name)] if name in raters else nothing


def _name(names: Mapping[int, str], reviewer_id: int) -> str:
    return names.get(reviewer_id, "somebody")


def _title(connection: Connection, version_id: int) -> str:
    return get_version(connection, version_id).title

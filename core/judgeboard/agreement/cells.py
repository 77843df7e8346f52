"""The answers behind a number of agreement: a cell of a picture, or what several raters rated."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from sqlalchemy import Connection

from judgeboard.agreement.answer_pairs import GRADES, GradeName
from judgeboard.agreement.choice import SLICES, By, slices_of
from judgeboard.agreement.ratings import AnswerRatings, ItemRatings, PairSource
from judgeboard.errors import BadInput
from judgeboard.stats.arrays import TIE, AnyArray, FloatArray, IntArray
from judgeboard.stats.confusion import category_codes
from judgeboard.stats.detection import TENTHS
from judgeboard.stats.ratings import HUMANS, SCALES, Human
from judgeboard.store.grades import before_and_after
from judgeboard.store.judge_versions import get_version, list_versions
from judgeboard.store.reviewers import reviewer_names


@dataclass(frozen=True, slots=True)
class PairCell:
    """Answers that one judge version and people both graded.

    ``people`` and ``judge`` are each one of the grade's `cell_names`, None for any; ``score`` is a tenth of the
    judge's groundedness, whatever the grade. With ``reviewer_id`` people are this one, else ``human`` says what they
    say together. ``by`` and ``slice`` narrow it to one slice of a field.

    Raises:
        BadInput: No such grade, field or choice, or a name that the grade does not have.
    """

    version_id: int
    grade: GradeName
    people: str | None = None
    judge: str | None = None
    score: str | None = None
    reviewer_id: int | None = None
    human: Human = "gold"
    by: By | None = None
    slice: str | None = None

    def __post_init__(self) -> None:
        if self.grade not in GRADES:
            raise BadInput(f"a grade is one of {', '.join(GRADES)}, not {self.grade!r}")
        if self.human not in HUMANS:
            raise BadInput(f"what people say is one of {', '.join(HUMANS)}, not {self.human!r}")
        if self.by is not None and self.by not in SLICES:
            raise BadInput(f"slices are by {', '.join(SLICES)}, not {self.by!r}")
        for name, known in (
            (self.people, cell_names(self.grade)),
            (self.judge, cell_names(self.grade)),
            (self.score, _TENTHS),
        ):
            if name is not None and name not in known:
                raise BadInput(f"a cell of {self.grade} is one of {', '.join(known)}, not {name!r}")


def cell_names(grade: GradeName) -> tuple[str, ...]:
    """Return the names of rows and columns: the categories of the grade, the lower ends of tenths of groundedness."""
    declared = SCALES[grade].categories
    return _TENTHS if declared is None else tuple(map(str, declared))


def cell_places(grade: GradeName, values: AnyArray) -> IntArray:
    """Return the place of each value among `cell_names`.

    Raises:
        ValueError: A value is none of the grade's.
    """
    declared = SCALES[grade].categories
    return _tenths(values) if declared is None else category_codes(values, declared)


def answers_in(connection: Connection, cell: PairCell) -> tuple[int, ...]:
    """Return the ids of the answers in a cell: exactly those that its number counts, before any other filter."""
    pairs = PairSource.open(connection, cell.reviewer_id, cell.human).pairs(cell.version_id, cell.grade)
    inside = np.ones(pairs.n, dtype=np.bool_)
    if cell.by is not None:
        slices = dict(slices_of(connection, "responses", cell.by, pairs.response_ids))
        inside &= slices.get(cell.slice or "", np.zeros(pairs.n, dtype=np.bool_))
    names = cell_names(cell.grade)
    for wanted, values in ((cell.people, pairs.people), (cell.judge, pairs.judge)):
        if wanted is not None:
            inside &= cell_places(cell.grade, values) == names.index(wanted)
    if cell.score is not None:
        scored = ~np.isnan(pairs.scores)
        inside &= scored & (_tenths(np.where(scored, pairs.scores, 0.0)) == _TENTHS.index(cell.score))
    return tuple(np.unique(pairs.response_ids[inside]).tolist())


def cell_words(connection: Connection, cell: PairCell) -> str:
    """Return a cell in words: "rag v3 said grounded, people hallucinated".

    Raises:
        NotFound: There is no such judge version.
    """
    title = get_version(connection, cell.version_id).title
    judge, people = _said(cell.grade, cell.judge), _said(cell.grade, cell.people)
    said = f"{title} said {judge}" if judge else f"{cell.grade} by {title}"
    if cell.score is not None:
        said += f", scored {cell.score} to {float(cell.score) + 1 / TENTHS:.1f}"
    if cell.by is not None:
        said += f", {cell.by.replace('_', ' ')} {cell.slice}"
    return f"{said}, people {people}" if people else f"{said} and by people"


_TENTHS = tuple(f"{tenth / TENTHS:.1f}" for tenth in range(TENTHS))


def _tenths(values: FloatArray) -> IntArray:
    return np.clip(np.floor((values + TIE) * TENTHS), 0, TENTHS - 1).astype(np.int64)


def _said(grade: GradeName, name: str | None) -> str | None:
    if name is None or grade == "label":
        return name
    return f"quality {name}" if grade == "quality" else f"{name} to {float(name) + 1 / TENTHS:.1f}"


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

"""The answers behind a figure of agreement: a cell of a table or chart, or the items of several raters."""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from sqlalchemy import Connection

from judgeboard.errors import check_known
from judgeboard.measure.choice import (
    EVERYBODY,
    GRADES,
    By,
    CountedGrades,
    GradeName,
    sliced_by,
    slices_of,
)
from judgeboard.measure.ratings import AnswerRatings, ItemRatings, PairSource
from judgeboard.stats.arrays import TIE, AnyArray, FloatArray, IntArray
from judgeboard.stats.detection import TENTHS, tenths
from judgeboard.stats.ratings import SCALES, Scale
from judgeboard.store.grades import before_and_after
from judgeboard.store.judge_versions import get_version
from judgeboard.store.reviewers import reviewer_names

Raters = Literal["judge", "people", "gold", "twice", "standin", "shown"]

ALL = 0
"""The id that means all raters together."""

_TENTHS = tuple(f"{tenth / TENTHS:.1f}" for tenth in range(TENTHS))


@dataclass(frozen=True, slots=True)
class Cell:
    """Answers that a figure counts.

    ``raters`` tells what the ids ``first`` and ``second`` mean:

    - ``judge``: judge version ``first`` and people. ``people`` and ``judge`` are `cell_names` of
      the grade, None for any; ``score`` is a tenth of the judge's groundedness. ``counted`` are the
      grades of people.
    - ``people``: two persons, or `ALL` for answers with two ratings or more.
    - ``gold``: person ``first`` and gold labels.
    - ``twice``: person ``first``, who rated the answers twice.
    - ``standin``: judge version ``first``, tested as a replacement of person ``second``.
    - ``shown``: answers on which people differed from judge version ``first`` before the reveal of
      the judgment.

    ``by`` and ``slice`` narrow the cell to one slice of a field. Raises BadInput if a value is
    unknown.
    """

    grade: GradeName
    first: int = ALL
    second: int = ALL
    raters: Raters = "judge"
    people: str | None = None
    judge: str | None = None
    score: str | None = None
    counted: CountedGrades = EVERYBODY
    by: By | None = None
    slice: str | None = None

    def __post_init__(self) -> None:
        check_known("grade", self.grade, GRADES)
        check_known("raters", self.raters, get_args(Raters))
        check_known(f"people's {self.grade}", self.people, cell_names(self.grade))
        check_known(f"the judge's {self.grade}", self.judge, cell_names(self.grade))
        check_known("score", self.score, _TENTHS)
        if self.by is not None:
            sliced_by(self.by)


def cell_names(grade: GradeName) -> tuple[str, ...]:
    """Return the names of rows and columns: the categories of the grade, or the lower ends of tenths."""
    categories = SCALES[grade].categories
    return _TENTHS if categories is None else tuple(map(str, categories))


def cell_places(scale: Scale, values: FloatArray) -> IntArray:
    """Return the place of each value of rating pairs among `cell_names`; raise ValueError for means of categories."""
    if scale.categories is not None:
        return values.astype(np.int64)
    if SCALES[scale.grade].categories is not None:
        raise ValueError(f"means of people are not among the categories of {scale.grade}")
    return tenths(values)


def answers_in(connection: Connection, cell: Cell) -> tuple[int, ...]:
    """Return the ids of the answers that the figure of a cell counts."""
    if cell.raters == "judge":
        pairs = PairSource(connection, cell.counted).pairs(cell.first, cell.grade)
        inside = np.ones(pairs.n, dtype=np.bool_)
        names = cell_names(cell.grade)
        for name, values in ((cell.people, pairs.people), (cell.judge, pairs.judge)):
            if name is not None:
                inside &= cell_places(pairs.scale, values) == names.index(name)
        if cell.score is not None:
            has_score = ~np.isnan(pairs.scores)
            scores = np.where(has_score, pairs.scores, 0.0)
            inside &= has_score & (tenths(scores) == _TENTHS.index(cell.score))
        ids = pairs.response_ids[inside]
    elif cell.raters == "shown":
        grades = before_and_after(connection, cell.first, cell.grade)
        ids = grades.response_ids[np.abs(grades.judge - grades.blind) > TIE]
    else:
        source = AnswerRatings(PairSource(connection, cell.counted.of_everybody()), cell.grade)
        names_by_id = reviewer_names(connection)
        person, other = names_by_id.get(cell.first, ""), names_by_id.get(cell.second, "")
        if cell.raters == "twice":
            twice = source.rated_twice()
            ids = twice.ids[twice.raters == person]
        else:
            items = source.people()
            if cell.raters == "people" and cell.first == ALL:
                inside = items.ratings.per_item >= 2
            elif cell.raters == "people":
                inside = _is_rated(items, person) & _is_rated(items, other)
            elif cell.raters == "gold":
                inside = _is_rated(items, person) & ~np.isnan(source.gold(items.ids))
            else:  # a judge version, tested as a replacement of the other person
                verdicts = source.judge_on(get_version(connection, cell.first), items.ids)
                inside = _is_rated(items, other) & ~np.isnan(verdicts)
                inside &= items.ratings.per_item >= 2
            ids = items.ids[inside]
    ids = np.unique(ids)
    if cell.by is not None:
        slices = dict(slices_of(connection, "responses", cell.by, ids))
        ids = ids[slices.get(cell.slice or "", np.zeros(len(ids), dtype=np.bool_))]
    return tuple(ids.tolist())


def cell_words(connection: Connection, cell: Cell) -> str:
    """Return a cell in words: "label · rag v3 grounded, people hallucinated", "label · Mara and Jon".

    Raises NotFound if there is no such judge version.
    """
    words = f"{cell.grade} · {_rater_words(connection, cell)}"
    words = words if cell.counted.implied_labels else f"{words}, without implied labels"
    return words if cell.by is None else f"{words}, {cell.by.replace('_', ' ')} {cell.slice}"


def _rater_words(connection: Connection, cell: Cell) -> str:
    def title(version_id: int) -> str:
        return get_version(connection, version_id).title

    def person(reviewer_id: int) -> str:
        return reviewer_names(connection).get(reviewer_id, "unknown person")

    first, second, everybody = cell.first, cell.second, cell.first == ALL
    match cell.raters:
        case "judge":
            score = None if cell.score is None else f"score {_tenth_words(cell.score)}"
            judge = filter(None, (title(first), _value_words(cell.grade, cell.judge), score))
            people = filter(None, ("people", _value_words(cell.grade, cell.people)))
            words = f"{' '.join(judge)}, {' '.join(people)}"
        case "people":
            words = "two people or more" if everybody else f"{person(first)} and {person(second)}"
        case "gold":
            words = f"{person(first)} and gold labels"
        case "twice":
            words = f"rated twice by {person(first)}"
        case "standin":
            words = f"{title(first)}, {person(second)} and others"
        case "shown":
            words = f"graded before and after {title(first)} was shown"
    return words


def _value_words(grade: GradeName, name: str | None) -> str | None:
    return _tenth_words(name) if grade == "groundedness" and name is not None else name


def _tenth_words(name: str) -> str:
    return f"{name} to {float(name) + 1 / TENTHS:.1f}"


def _is_rated(items: ItemRatings, name: str) -> AnyArray:
    raters = np.array(items.ratings.raters, dtype=np.str_)
    return np.asarray(items.ratings.rated[:, raters == name].any(axis=1))

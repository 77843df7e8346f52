"""Cells of the pictures of agreement: which answers stand behind a number of them."""

from dataclasses import dataclass

import numpy as np
from sqlalchemy import Connection

from judgeboard.agreement import PairSource
from judgeboard.agreement.choice import By
from judgeboard.agreement.slices import SLICES, slices_of
from judgeboard.answer_pairs import GRADES, GradeName
from judgeboard.errors import BadInput
from judgeboard.stats.arrays import TIE, AnyArray, FloatArray, IntArray
from judgeboard.stats.calibration import TENTHS
from judgeboard.stats.confusion import category_codes
from judgeboard.stats.people import HUMANS, Human
from judgeboard.stats.scales import SCALES
from judgeboard.store.judgments.judge_versions import get_version


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

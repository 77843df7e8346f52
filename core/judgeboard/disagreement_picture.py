"""How often people and judge gave what: the counts behind the picture of a disagreement."""

from dataclasses import dataclass

import numpy as np

from judgeboard.answer_pairs import AnswerPairs, GradeName
from judgeboard.pair_cells import cell_names, cell_places
from judgeboard.stats.arrays import BoolArray


@dataclass(frozen=True, slots=True)
class Picture:
    """How many pairs people put into which row and the judge into which column: tenths, or the grade's categories.

    ``apart`` counts those of a cell that differ by the page's gap or more. It is counted answer by answer, as the
    sentence is: tenths four steps apart hold 0.19 against 0.50, which are only 0.31 apart.
    """

    axis: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]
    apart: tuple[tuple[int, ...], ...]


def picture_of(grade: GradeName, pairs: AnswerPairs | None = None, apart: BoolArray | None = None) -> Picture:
    """Return the counts of these pairs, ``apart`` marking those that differ enough to be listed."""
    axis = cell_names(grade)
    k = len(axis)
    if pairs is None or apart is None or pairs.n == 0:
        none = ((0,) * k,) * k
        return Picture(axis, none, none)
    cells = cell_places(grade, pairs.people) * k + cell_places(grade, pairs.judge)
    counts, far = (np.bincount(inside, minlength=k * k).reshape(k, k).tolist() for inside in (cells, cells[apart]))
    return Picture(axis, tuple(map(tuple, counts)), tuple(map(tuple, far)))

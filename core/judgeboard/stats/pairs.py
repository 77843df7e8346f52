"""Pairs of what a judge and what people gave the same responses, as the statistics of agreement read them."""

from functools import cached_property

import numpy as np

from judgeboard.stats.arrays import AnyArray, BoolArray, FloatArray, IntArray, same_length
from judgeboard.stats.grouping import Grouping, grouping
from judgeboard.stats.ratings import Ratings, positions
from judgeboard.stats.resampling import RESAMPLES
from judgeboard.stats.scales import Scale
from judgeboard.stats.table_estimates import TableEstimates


class Pairs:
    """One pair per response, checked against its scale, with the resampled table that several statistics share.

    ``judge`` and ``people`` hold positions among the declared categories, or continuous scores as they are.
    """

    def __init__(
        self,
        judge: AnyArray,
        people: AnyArray,
        scale: Scale,
        groups: AnyArray | Grouping | None = None,
        *,
        scores: AnyArray | None = None,
        resamples: int = RESAMPLES,
    ) -> None:
        """Take the arguments of ``pair_statistics``; raise ValueError as it does."""
        self.n = same_length(judge, people) if scores is None else same_length(judge, people, scores)
        self.scale = scale
        self.groups = groups if isinstance(groups, Grouping) else grouping(groups, self.n)
        self.judge, self.people = (positions(side, scale) for side in (judge, people))
        self._scores = scores
        self._resamples = resamples

    @property
    def k(self) -> int:
        """How many categories the scale declares; 0 for a continuous one."""
        return len(self.scale.categories or ())

    @property
    def cells(self) -> IntArray:
        """Each pair's cell in the flattened table, people in the rows."""
        return (self.people * self.k + self.judge).astype(np.int64)

    @cached_property
    def table(self) -> TableEstimates:
        """The confusion table with its resamples, drawn when first asked for."""
        return TableEstimates(self.cells, self.k, self.groups, resamples=self._resamples)

    @property
    def as_ratings(self) -> Ratings:
        """Both sides as two raters of the same items."""
        return Ratings(np.stack((self.people, self.judge), axis=1), ("people", "judge"), self.scale, self.groups)

    @property
    def scored(self) -> tuple[FloatArray, BoolArray, Grouping]:
        """The judge's scores where it gave one, which of those answers people call bad, and their groups."""
        scores = np.full(self.n, np.nan) if self._scores is None else np.asarray(self._scores, dtype=np.float64)
        given = ~np.isnan(scores)
        return scores[given], self.people[given] == self.scale.bad, self.groups.at(given)

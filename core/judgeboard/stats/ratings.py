"""What several raters (people, judges, repeats) gave the same items: a matrix with gaps, and ways to it."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from judgeboard.stats.arrays import AnyArray, BoolArray, FloatArray, IntArray, finite_floats, same_length
from judgeboard.stats.confusion import category_codes
from judgeboard.stats.grouping import Grouping, grouping
from judgeboard.stats.scales import Scale


@dataclass(frozen=True, eq=False)
class Ratings:
    """A row per item, a column per rater.

    ``values`` of shape (items, raters) hold positions among the scale's declared categories, or continuous scores as
    they are; NaN where a rater gave nothing. ``groups`` has the evidence group of each item.
    """

    values: FloatArray
    raters: tuple[str, ...]
    scale: Scale
    groups: Grouping

    def __post_init__(self) -> None:
        """Check the shapes and the values; raise ValueError where they do not fit."""
        if self.values.ndim != 2 or self.values.shape[1] != len(self.raters):
            raise ValueError(f"{len(self.raters)} raters need as many columns, not shape {self.values.shape}")
        same_length(self.values, self.groups.codes)
        if len(set(self.raters)) != len(self.raters):
            raise ValueError("each rater has one column")
        said = self.values[self.given]
        if not np.isfinite(said).all():
            raise ValueError("a rating is a finite number, or NaN where there is none")
        if self.scale.categories is None:
            return
        if ((said < 0) | (said >= self.k) | (said != np.floor(said))).any():
            raise ValueError(f"ratings are positions among the {self.k} declared categories")

    @property
    def k(self) -> int:
        """How many categories the scale declares; 0 for a continuous one."""
        return len(self.scale.categories or ())

    @cached_property
    def given(self) -> BoolArray:
        """Which cells hold a rating."""
        return ~np.isnan(self.values)

    @cached_property
    def per_item(self) -> IntArray:
        """How many ratings each item has."""
        counted: IntArray = self.given.sum(axis=1)
        return counted

    @cached_property
    def votes(self) -> IntArray:
        """How many raters put each item in each declared category, shape (items, k)."""
        if not self.k:
            raise ValueError("a continuous scale has no categories to count")
        item, rater = np.nonzero(self.given)
        cells = item * self.k + self.values[item, rater].astype(np.int64)
        return np.bincount(cells, minlength=len(self.values) * self.k).reshape(-1, self.k).astype(np.int64)

    def as_given(self, values: FloatArray) -> AnyArray:
        """Return positions among the declared categories as the categories themselves; scores as they are."""
        if self.scale.categories is None:
            return values
        given: AnyArray = np.array(self.scale.categories)[values.astype(np.int64)]
        return given

    def at(self, rows: AnyArray) -> "Ratings":
        """Return the ratings of some of the items, by a mask or by positions."""
        return Ratings(self.values[rows], self.raters, self.scale, self.groups.at(rows))


def ratings_of(
    item_ids: AnyArray, raters: AnyArray, values: AnyArray, scale: Scale, groups: AnyArray | None = None
) -> tuple[IntArray, Ratings]:
    """Return the ids of the rated items, ascending, and the matrix of ratings given one by one.

    Args:
        item_ids: The item of each rating.
        raters: Who gave it, a name.
        values: What was given: one of the scale's categories, or a score.
        scale: The scale with its declared categories.
        groups: The evidence group of each rating's item; without it each item stands alone.

    Raises:
        ValueError: A rater rates an item twice, a value is missing or none of the declared categories.
    """
    same_length(item_ids, raters, values)
    items, item = np.unique(item_ids, return_inverse=True)
    names, rater = np.unique(raters, return_inverse=True)
    cells = item * len(names) + rater
    if len(np.unique(cells)) != len(cells):
        raise ValueError("a rater has two ratings of one item: choose the one that stands first")
    matrix: FloatArray = np.full((len(items), len(names)), np.nan)
    matrix[item, rater] = positions(values, scale)
    of_item = None
    if groups is not None:
        of_item = np.empty(len(items), dtype=groups.dtype)
        of_item[item] = groups
    return items, Ratings(matrix, tuple(map(str, names.tolist())), scale, grouping(of_item, len(items)))


def positions(values: AnyArray, scale: Scale) -> FloatArray:
    """Return values as the statistics read them: positions among the declared categories, or scores as they are.

    Raises:
        ValueError: A value is missing, or none of the categories.
    """
    if scale.categories is None:
        return finite_floats(values)
    return category_codes(values, scale.categories).astype(np.float64)

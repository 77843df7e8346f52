"""The confusion table: how often people and judge gave which pair of categories."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from judgeboard.stats.arrays import AnyArray, IntArray, same_length


@dataclass(frozen=True, slots=True)
class Confusion:
    """Counts by declared category: ``counts[i][j]`` answers that people put in category i and the judge in j.

    ``row_shares`` are the counts as shares of what people put in that category, None where they put nothing there.
    """

    categories: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]
    row_shares: tuple[tuple[float | None, ...], ...] = field(init=False)

    def __post_init__(self) -> None:
        shares = tuple(tuple(count / sum(row) if sum(row) else None for count in row) for row in self.counts)
        object.__setattr__(self, "row_shares", shares)

    @property
    def n(self) -> int:
        """How many pairs it holds."""
        return sum(map(sum, self.counts))


def category_codes(values: AnyArray, categories: Sequence[Any]) -> IntArray:
    """Return the position of each value among the declared ``categories``.

    Raises:
        ValueError: A value is none of them.
    """
    found = np.zeros(len(values), dtype=np.int8)
    for position, category in enumerate(categories, start=1):
        found += (values == category) * np.int8(position)
    if not found.all():
        stranger = values[found == 0].tolist()[0]
        raise ValueError(f"{stranger!r} is none of the declared categories {', '.join(map(str, categories))}")
    return found.astype(np.int64) - 1


def confusion_cells(people: AnyArray, judge: AnyArray, categories: Sequence[Any]) -> IntArray:
    """Return each pair's cell in the flattened table of k x k declared categories, people in the rows."""
    same_length(people, judge)
    return category_codes(people, categories) * len(categories) + category_codes(judge, categories)


def confusion(people: AnyArray, judge: AnyArray, categories: Sequence[Any]) -> Confusion:
    """Return the table of two equally long arrays over *declared* categories, also those that never occur."""
    return confusion_of_cells(confusion_cells(people, judge, categories), categories)


def confusion_of_cells(cells: IntArray, categories: Sequence[Any]) -> Confusion:
    """Return the table whose pairs lie in the flattened ``cells``."""
    k = len(categories)
    counts = np.bincount(cells, minlength=k * k).reshape(k, k).tolist()
    return Confusion(tuple(map(str, categories)), tuple(map(tuple, counts)))

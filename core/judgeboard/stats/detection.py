"""How well a judge detects bad answers: which cells of a confusion table each rate counts.

A rate is a *share of a table*: the rows in some cells, of the rows in others. Positive is the bad category.
"""

from dataclasses import dataclass

import numpy as np

from judgeboard.stats.arrays import BoolArray, FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class TableShare:
    """A share that a k x k confusion table holds: its ``hits`` cells, ``of`` these cells (masks of shape (k, k)).

    ``undefined`` is the reason where no row lies in ``of``.
    """

    hits: BoolArray
    of: BoolArray
    undefined: str

    def counts(self, tables: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return hits and size of each table: shape (..., k, k) in, two of (...) out."""
        return tables[..., self.hits].sum(axis=-1), tables[..., self.of].sum(axis=-1)

    def value(self, tables: FloatArray) -> FloatArray:
        """Return the share in each table, NaN where it is undefined."""
        hits, size = self.counts(tables)
        return np.divide(hits, size, out=np.full_like(size, np.nan), where=size > 0)


def exact_agreement(k: int) -> TableShare:
    """Return the share of pairs in which people and judge gave the same of ``k`` categories."""
    return at_most_apart(k, 0)


def at_most_apart(k: int, steps: int) -> TableShare:
    """Return the share of pairs at most ``steps`` apart on an ordered scale of ``k`` categories."""
    apart = np.abs(np.subtract.outer(np.arange(k), np.arange(k)))
    return TableShare(apart <= steps, np.ones((k, k), dtype=np.bool_), "no pairs")


def sensitivity(k: int, bad: int) -> TableShare:
    """Return the share caught of what people call bad; one minus it is the share of bad answers missed."""
    people, judge = _sides(k, bad)
    return TableShare(people & judge, people, "people found no bad answer here")


def specificity(k: int, bad: int) -> TableShare:
    """Return the share let through of what people call good; one minus it is the share of false alarms."""
    people, judge = _sides(k, bad)
    return TableShare(~people & ~judge, ~people, "people found no good answer here")


def precision(k: int, bad: int) -> TableShare:
    """Return the share that people call bad of what the judge calls bad."""
    people, judge = _sides(k, bad)
    return TableShare(people & judge, judge, "the judge called no answer bad here")


def _sides(k: int, bad: int) -> tuple[BoolArray, BoolArray]:
    """Return the cells that people call bad (a row), and those that the judge does (a column)."""
    people, judge = np.zeros((k, k), dtype=np.bool_), np.zeros((k, k), dtype=np.bool_)
    people[bad, :] = judge[:, bad] = True
    return people, judge

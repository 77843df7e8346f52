"""Ratings with gaps as hypothesis draws them, and as other libraries read them."""

import numpy as np
from hypothesis import strategies as st

from judgeboard.stats.arrays import grouping
from judgeboard.stats.confusion import category_codes
from judgeboard.stats.ratings import Ratings, Scale


def ordered(k):
    return Scale("grade", tuple(range(k)), weights="quadratic")


def ungrouped(n):
    """The groups of rows that each stand alone."""
    return grouping(None, n)


def ratings(table, k=None, groups=None):
    values = np.array(table, dtype=float)  # None becomes NaN
    scale = Scale("score") if k is None else ordered(k)
    return Ratings(
        values,
        tuple(f"rater {number}" for number in range(values.shape[1])),
        scale,
        grouping(groups, len(values)),
    )


def verdicts_of(table):
    """The verdicts of people and judge that a table counts, one of each per answer."""
    people, judge = np.nonzero(np.asarray(table))
    times = np.asarray(table)[people, judge]
    return np.repeat(people, times), np.repeat(judge, times)


def cells_of(people, judge, categories):
    """The cell of each pair in the flattened table, people in the rows."""
    rows, columns = (category_codes(np.asarray(side), categories) for side in (people, judge))
    return rows * len(categories) + columns


@st.composite
def tables(draw, most_categories=5, gaps=True):
    """A number of categories, and ratings of them by two to five raters; some never occur, some cells are empty."""
    k, raters = draw(st.integers(2, most_categories)), draw(st.integers(2, 5))
    cell = st.integers(0, k - 1)
    row = st.lists(
        st.one_of(st.none(), cell, cell) if gaps else cell, min_size=raters, max_size=raters
    )
    return k, draw(st.lists(row, min_size=1, max_size=25))


def made_ratings(n=300, k=4, raters=4, share_missing=0.3, seed=0, clusters=None, noise=0.4):
    rng = np.random.default_rng(seed)
    groups = np.arange(n) if clusters is None else rng.integers(0, clusters, n)
    truth = rng.integers(0, k, n if clusters is None else clusters)[groups]
    said = np.where(
        rng.random((n, raters)) < noise, rng.integers(0, k, (n, raters)), truth[:, None]
    ).astype(float)
    said[rng.random((n, raters)) < share_missing] = np.nan
    return said, groups

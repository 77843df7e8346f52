import numpy as np
import pytest

from judgeboard.stats.arrays import grouping
from judgeboard.stats.ratings import GROUNDEDNESS, LABEL, QUALITY, Ratings, ratings_of


def test_ratings_one_by_one_become_a_matrix_with_gaps():
    ids, matrix = ratings_of(
        np.array([7, 3, 7]),
        np.array(["mara", "jon", "jon"]),
        np.array(["grounded", "hallucinated", "hallucinated"]),
        LABEL,
        np.array(["x", "y", "x"]),
    )
    assert ids.tolist() == [3, 7]
    assert matrix.raters == ("jon", "mara")
    assert np.array_equal(matrix.values, [[0, np.nan], [0, 1]], equal_nan=True)
    assert matrix.per_item.tolist() == [1, 2]
    assert matrix.votes.tolist() == [[1, 0], [1, 1]]
    assert matrix.groups.codes.tolist() == [1, 0]
    assert matrix.as_given(np.array([0.0, 1.0])).tolist() == ["hallucinated", "grounded"]


def test_no_ratings_are_an_empty_matrix():
    ids, matrix = ratings_of(np.empty(0, dtype=int), np.empty(0, dtype=str), np.empty(0), GROUNDEDNESS)
    assert (len(ids), matrix.values.shape) == (0, (0, 0))


def test_two_ratings_of_one_item_by_one_rater_are_refused():
    with pytest.raises(ValueError, match="two ratings of one item"):
        ratings_of(np.array([1, 1]), np.array(["a", "a"]), np.array([1, 2]), QUALITY)


@pytest.mark.parametrize("value", [4.0, -1.0, 0.5, np.inf])
def test_what_is_no_declared_category_is_refused(value):
    with pytest.raises(ValueError, match="rating"):
        Ratings(np.array([[value]]), ("a",), QUALITY, grouping(None, 1))


def test_a_column_belongs_to_one_rater():
    for raters in (("a",), ("a", "a")):
        with pytest.raises(ValueError, match="column"):
            Ratings(np.zeros((1, 2)), raters, QUALITY, grouping(None, 1))

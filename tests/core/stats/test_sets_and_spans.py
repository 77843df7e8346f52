"""Agreement on sets, spans and rankings, against values computed by hand and the nominal alpha."""

import numpy as np
import pytest

from judgeboard.stats.chance_corrected import alpha, masi_distance, ranking_agreement, set_alpha, span_f1
from judgeboard.stats.ratings import Scale, ratings_of

GROUPS = np.arange(20)


def test_masi_weighs_containment_more_than_overlap() -> None:
    a, b, c = frozenset("ab"), frozenset("a"), frozenset("bc")
    assert masi_distance(a, a) == 0
    assert masi_distance(a, b) == pytest.approx(1 - 2 / 3 * 1 / 2)
    assert masi_distance(a, c) == pytest.approx(1 - 1 / 3 * 1 / 3)
    assert masi_distance(b, frozenset()) == 1


def test_alpha_of_sets_with_one_element_is_the_nominal_alpha() -> None:
    rng = np.random.default_rng(1)
    first = rng.integers(0, 3, 20)
    second = np.where(rng.random(20) < 0.7, first, rng.integers(0, 3, 20))
    sets = [[frozenset([int(a)]), frozenset([int(b)])] for a, b in zip(first, second, strict=True)]
    values = np.concatenate((first, second))
    _, ratings = ratings_of(np.tile(GROUPS, 2), np.repeat(["a", "b"], 20), values, Scale("s", (0, 1, 2)))
    expected = alpha(ratings, "nominal")
    estimate = set_alpha(sets, GROUPS)
    assert estimate.value == pytest.approx(expected.value)
    assert (estimate.low, estimate.high) == (pytest.approx(expected.low), pytest.approx(expected.high))


def test_span_f1_counts_marked_characters_and_leaves_out_unmarked_items() -> None:
    marked = [frozenset(range(10)), frozenset(range(5, 15))]
    items = [marked] * 10 + [[frozenset(), frozenset()]] * 10
    estimate = span_f1(items, GROUPS)
    assert (estimate.value, estimate.n) == (pytest.approx(2 * 5 / 20), 10)


def test_rankings_that_are_equal_agree_and_reversed_ones_disagree() -> None:
    equal = [[[1, 2, 3], [1, 2, 3]]] * 10
    assert ranking_agreement(equal, [3] * 10, GROUPS[:10]).value == pytest.approx(1)
    reversed_ = [[[1, 2, 3], [3, 2, 1]]] * 10
    assert ranking_agreement(reversed_, [3] * 10, GROUPS[:10]).value == pytest.approx(-1)
    partial = [[[2], [2, 1]]] * 10  # what a ranking leaves out shares the last place
    assert ranking_agreement(partial, [3] * 10, GROUPS[:10]).value == pytest.approx(2 / np.sqrt(2 * 3))


def test_few_items_have_a_reason_in_place_of_a_value() -> None:
    assert set_alpha([[frozenset("a"), frozenset("b")]], GROUPS[:1]).reason == "too few (n = 1, at least 10 needed)"
    assert span_f1([], GROUPS[:0]).value is None

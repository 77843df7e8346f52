import numpy as np
import pytest
from hypothesis import given, settings

from judgeboard.stats.chance_corrected import fleiss, percent_agreement
from rating_tables import ratings, tables


@given(case=tables(gaps=False))
@settings(max_examples=60, deadline=None)
def test_it_equals_statsmodels_or_is_undefined(case):
    from statsmodels.stats.inter_rater import fleiss_kappa

    k, table = case
    rated = ratings(table, k)
    got = fleiss(rated)
    if np.unique(rated.values).size == 1:
        assert (got.value, got.reason) == (None, "all raters gave only one category, the same one")
        return
    assert got.value == pytest.approx(fleiss_kappa(rated.votes), abs=1e-9)


def test_items_that_more_or_fewer_rated_are_counted_out():
    table = [[0, 0, 1], [1, 1, None], [0, None, 0], [1, 0, None], [None, None, 1], [0, 0, None]]
    got = fleiss(ratings(table, 2))
    assert got.n == 4
    assert got.left_out == (("items without exactly 2 ratings", 2),)
    assert got.value == pytest.approx(fleiss(ratings([[1, 1], [0, 0], [1, 0], [0, 0]], 2)).value)


def test_of_two_numbers_as_common_the_larger_counts():
    got = fleiss(ratings([[0, 0, 1], [1, 1, 1], [0, 1, None], [1, 1, None]], 2))
    assert (got.n, got.left_out) == (2, (("items without exactly 3 ratings", 2),))


def test_without_two_ratings_of_anything_it_is_undefined():
    got = fleiss(ratings([[0, None], [None, 1]], 2))
    assert (got.value, got.n, got.reason) == (None, 0, "no item with two ratings")


@given(case=tables())
@settings(max_examples=50, deadline=None)
def test_percent_agreement_is_that_of_pairs_counted_one_by_one(case):
    from itertools import combinations

    k, table = case
    shares = []
    for row in table:
        pairs = list(combinations([each for each in row if each is not None], 2))
        if pairs:
            shares.append(np.mean([first == second for first, second in pairs]))
    got = percent_agreement(ratings(table, k))
    assert got.n == len(shares)
    if shares:
        assert got.value == pytest.approx(np.mean(shares), abs=1e-9)
        assert got.low is None or 0 <= got.low <= got.value <= got.high <= 1


def test_full_agreement_has_the_interval_of_a_share_on_groups():
    got = percent_agreement(ratings([[1, 1, None]] * 20, 2, groups=np.arange(20) // 2))
    assert (got.value, got.high, got.method) == (1, 1, "Wilson on 10 evidence groups")
    assert 0.6 < got.low < 0.8

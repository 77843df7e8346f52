import warnings

import numpy as np
import pytest
from hypothesis import given, settings

from judgeboard.stats.chance_corrected import gwet, gwet_of_tables
from judgeboard.stats.estimates import t_quantile
from rating_tables import made_ratings, ratings, tables

NAMES = {"nominal": "identity", "linear": "linear", "quadratic": "quadratic"}


def by_irrcac(table, k, weights):
    import pandas as pd
    from irrCAC.raw import CAC

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        frame = pd.DataFrame(table, dtype=float)
        return CAC(frame, weights=NAMES[weights], categories=[float(each) for each in range(k)], digits=12).gwet()[
            "est"
        ]


@pytest.mark.parametrize("weights", NAMES)
@given(case=tables())
@settings(max_examples=12, deadline=None)
def test_it_equals_irrcac_also_with_gaps_and_categories_that_never_occur(weights, case):
    k, table = case
    got = gwet(ratings(table, k), weights)
    rated = [[each for each in row if each is not None] for row in table]
    assert got.n == sum(len(row) > 1 for row in rated)
    if not got.n:
        assert (got.value, got.reason) == (None, "no item with two ratings")
        return
    if len(list(filter(None, rated))) == 1:
        return  # irrCAC divides by 0 there
    assert got.value == pytest.approx(by_irrcac(table, k, weights)["coefficient_value"], abs=1e-9)


@pytest.mark.parametrize("weights", NAMES)
def test_without_single_ratings_its_error_is_near_that_of_irrcac(weights):
    said, _ = made_ratings(n=80, share_missing=0)
    said[::3, 0] = np.nan
    got = gwet(ratings(said, 4), weights)
    error = (np.arctanh(got.high) - np.arctanh(got.low)) / 2 * (1 - got.value**2) / float(t_quantile(79))
    assert error == pytest.approx(by_irrcac(said, 4, weights)["se"], rel=0.02)


@given(case=tables(gaps=False))
@settings(max_examples=30, deadline=None)
def test_two_raters_give_from_their_table_what_they_give_as_a_matrix(case):
    k, table = case
    two = np.array(table)[:, :2]
    counts = np.bincount(two[:, 0] * k + two[:, 1], minlength=k * k).reshape(k, k).astype(float)
    for weights in NAMES:
        assert float(gwet_of_tables(counts, weights)) == pytest.approx(gwet(ratings(two, k), weights).value, abs=1e-9)


def test_the_skewed_example_of_its_author_is_not_low_as_kappa_is():
    # Gwet 2008, table 2: 118 and 5 agree, 2 do not; kappa 0.79 of 125, and agreement of 98 %.
    table = [[0, 0]] * 118 + [[1, 1]] * 5 + [[0, 1]] * 2
    assert gwet(ratings(table, 2)).value == pytest.approx(0.9820, abs=5e-4)


def test_declared_categories_count_not_those_that_occur():
    table = [[0, 0], [1, 1], [0, 1], [1, 0]] * 5
    assert gwet(ratings(table, 2)).value == 0
    assert gwet(ratings(table, 5)).value > 0.2


def test_all_alike_is_one_without_an_interval_not_undefined():
    got = gwet(ratings([[0, 0, None]] * 12, 3))
    assert (got.value, got.low, got.reason) == (1, None, "no interval: the raters never differ")


def test_what_is_left_out_is_counted():
    got = gwet(ratings([[0, 0], [1, None], [None, None], [1, 0], [1, 1]], 2))
    assert got.n == 3
    assert got.left_out == (
        ("items with one rating: used only for the agreement by chance", 1),
        ("items without a rating", 1),
    )


@pytest.mark.parametrize("clusters", [None, 80])
def test_the_interval_is_that_of_resampling_whole_groups(clusters, agrees_with_plain_bootstrap):
    said, groups = made_ratings(clusters=clusters)

    def plain(rows):
        return gwet(ratings(rows, 4), "quadratic").value

    got = gwet(ratings(said, 4, groups), "quadratic")
    agrees_with_plain_bootstrap(got, plain, (said,), groups, resamples=400, extra=0.01)
    assert got.unit == ("response" if clusters is None else "evidence group")

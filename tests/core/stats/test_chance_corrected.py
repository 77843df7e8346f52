"""Fleiss' kappa, Gwet's AC1 and Krippendorff's alpha, against published values and plain loops."""

import warnings
from functools import partial
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from estimates import (
    almost,
    ends,
    left_out,
    reaches,
    value_and_ends,
    why_no_interval,
    why_undefined,
)
from judgeboard.stats.arrays import grouping
from judgeboard.stats.chance_corrected import (
    alpha,
    alpha_of_tables,
    fleiss,
    fleiss_kappa,
    gwet,
    gwet_of_tables,
    interval_alpha,
    masi_distance,
    percent_agreement,
    ranking_agreement,
    set_alpha,
    span_f1,
)
from judgeboard.stats.estimates import t_quantile, too_few
from rating_tables import made_ratings, ratings, tables, ungrouped


@given(case=tables(gaps=False))
@settings(max_examples=60)
def test_it_equals_statsmodels_or_is_undefined(case):
    from statsmodels.stats.inter_rater import fleiss_kappa

    k, table = case
    rated = ratings(table, k)
    got = fleiss(rated)
    if np.unique(rated.values).size == 1:
        assert "one category" in why_undefined(got)
        return
    assert got.value == almost(fleiss_kappa(rated.votes))


def test_items_that_more_or_fewer_rated_are_counted_out():
    table = [[0, 0, 1], [1, 1, None], [0, None, 0], [1, 0, None], [None, None, 1], [0, 0, None]]
    got = fleiss(ratings(table, 2))
    ((words, missing),) = got.left_out
    assert (got.n, missing, "2" in words.split()) == (4, 2, True)
    assert got.value == pytest.approx(fleiss(ratings([[1, 1], [0, 0], [1, 0], [0, 0]], 2)).value)


def test_of_two_numbers_as_common_the_larger_counts():
    got = fleiss(ratings([[0, 0, 1], [1, 1, 1], [0, 1, None], [1, 1, None]], 2))
    ((words, missing),) = got.left_out
    assert (got.n, missing, "3" in words.split()) == (2, 2, True)


def test_without_two_ratings_of_anything_it_is_undefined():
    got = fleiss(ratings([[0, None], [None, 1]], 2))
    assert got.n == 0
    assert "two ratings" in why_undefined(got)


@given(case=tables())
@settings(max_examples=50)
def test_percent_agreement_is_that_of_pairs_counted_one_by_one(case):
    k, table = case
    pairs_of_items = [
        list(combinations([each for each in row if each is not None], 2)) for row in table
    ]
    shares = [np.mean([one == other for one, other in pairs]) for pairs in pairs_of_items if pairs]
    got = percent_agreement(ratings(table, k))
    assert got.n == len(shares)
    if shares:
        assert got.value == almost(np.mean(shares))
        assert got.low is None or 0 <= got.low <= got.value <= got.high <= 1


def test_full_agreement_has_the_interval_of_a_share_on_groups():
    got = percent_agreement(ratings([[1, 1, None]] * 20, 2, groups=np.arange(20) // 2))
    assert {"Wilson", "10"} <= set(got.method.split())
    assert (got.value, got.high) == (1, 1)
    assert 0.6 < got.low < 0.8


def by_irrcac(table, k):
    import pandas as pd
    from irrCAC.raw import CAC

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        frame = pd.DataFrame(table, dtype=float)
        categories = list(map(float, range(k)))
        return CAC(frame, weights="identity", categories=categories, digits=12).gwet()["est"]


@given(case=tables())
@settings(max_examples=12)
def test_it_equals_irrcac_also_with_gaps_and_categories_that_never_occur(case):
    k, table = case
    got = gwet(ratings(table, k))
    rated = [[each for each in row if each is not None] for row in table]
    assert got.n == sum(len(row) > 1 for row in rated)
    if not got.n:
        assert "two ratings" in why_undefined(got)
        return
    if len(list(filter(None, rated))) == 1:
        return  # irrCAC divides by 0 there
    assert got.value == almost(by_irrcac(table, k)["coefficient_value"])


def test_without_single_ratings_its_error_is_near_that_of_irrcac():
    said, _ = made_ratings(n=80, share_missing=0)
    said[::3, 0] = np.nan
    got = gwet(ratings(said, 4))
    error = sum(reaches(got)) / 2 * (1 - got.value**2) / float(t_quantile(79))
    assert error == pytest.approx(by_irrcac(said, 4)["se"], rel=0.02)


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
    assert got.value == 1
    assert why_no_interval(got).startswith("no interval")


def test_what_is_left_out_is_counted():
    got = gwet(ratings([[0, 0], [1, None], [None, None], [1, 0], [1, 1]], 2))
    assert (got.n, left_out(got)) == (3, [1, 1])


GROUPS = np.arange(20)


def test_masi_weighs_containment_more_than_overlap():
    a, b, c = frozenset("ab"), frozenset("a"), frozenset("bc")
    pairs = ((a, a), (a, b), (a, c), (b, frozenset()))
    expected = [0, 1 - 2 / 3 * 1 / 2, 1 - 1 / 3 * 1 / 3, 1]
    assert [masi_distance(*pair) for pair in pairs] == pytest.approx(expected)


def test_alpha_of_sets_with_one_element_is_the_nominal_alpha():
    said, _ = made_ratings(n=20, k=3, raters=2, share_missing=0)
    sets = [[frozenset([int(each)]) for each in row] for row in said]
    expected = alpha(ratings(said, 3), "nominal")
    assert value_and_ends(set_alpha(sets, GROUPS)) == pytest.approx(value_and_ends(expected))


def test_span_f1_counts_marked_characters_and_leaves_out_unmarked_items():
    marked = [frozenset(range(10)), frozenset(range(5, 15))]
    estimate = span_f1([marked] * 10 + [[frozenset()] * 2] * 10, GROUPS)
    assert (estimate.value, estimate.n) == (pytest.approx(2 * 5 / 20), 10)


def test_rankings_that_are_equal_agree_and_reversed_ones_disagree():
    for rankings, agreement in (
        ([[1, 2, 3], [1, 2, 3]], 1),
        ([[1, 2, 3], [3, 2, 1]], -1),
        ([[2], [2, 1]], 2 / np.sqrt(2 * 3)),  # what a ranking leaves out shares the last place
    ):
        got = ranking_agreement([rankings] * 10, [3] * 10, GROUPS[:10])
        assert got.value == pytest.approx(agreement)


def test_few_items_have_a_reason_in_place_of_a_value():
    assert set_alpha([[frozenset("a"), frozenset("b")]], GROUPS[:1]).reason == too_few(1)
    assert span_f1([], GROUPS[:0]).value is None


def test_fleiss_on_the_example_of_his_paper_as_textbooks_give_it():
    votes = [
        *([0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1]),
        *([7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7]),
    ]
    estimate = fleiss_kappa(np.array(votes), ungrouped(10))
    assert (estimate.value, estimate.n) == (pytest.approx(0.20993, abs=1e-5), 10)


@pytest.mark.parametrize("clustered", [False, True])
def test_the_intervals_are_as_wide_as_resampling_makes_them(
    clustered, agrees_with_plain_bootstrap, rng
):
    groups = np.repeat(np.arange(100), 3) if clustered else np.arange(300)
    true = rng.normal(3, 1, 100)[groups % 100]
    table = np.clip((true[:, None] + rng.normal(0, 0.7, (300, 3))).round(), 1, 5)
    votes = np.stack([(table >= 3).sum(axis=1), (table < 3).sum(axis=1)], axis=1)
    for statistic, rows in ((interval_alpha, table), (fleiss_kappa, votes)):
        agrees_with_plain_bootstrap(
            statistic(rows, grouping(groups, 300)),
            lambda rows: statistic(rows, ungrouped(len(rows))).value,  # noqa: B023 - called here
            (rows,),
            groups,
            resamples=300,
        )


def test_what_cannot_be_computed_says_why():
    assert fleiss_kappa(np.empty((0, 2), dtype=np.int64), ungrouped(0)).value is None
    same = fleiss_kappa(np.array([[3, 0], [3, 0]]), ungrouped(2))
    assert "one category" in why_undefined(same)
    never = fleiss_kappa(np.array([[3, 0], [0, 3]]), ungrouped(2))
    assert never.value == 1
    assert why_no_interval(never).startswith("no interval")
    with pytest.raises(ValueError, match="number of raters"):
        fleiss_kappa(np.array([[3, 0], [1, 1]]), ungrouped(2))
    without, constant = (
        interval_alpha(np.full((4, 2), value), ungrouped(4)) for value in (np.nan, 2.0)
    )
    assert "two values" in why_undefined(without)
    assert "the same" in why_undefined(constant)
    equal = interval_alpha(np.array([[1.0, 1.0], [4.0, 4.0]]), ungrouped(2))
    assert (equal.value, equal.low) == (1.0, None)


METRICS = ("nominal", "ordinal", "interval")
each_metric = pytest.mark.parametrize("metric", METRICS)


def by_krippendorff(values, metric):
    import krippendorff

    return krippendorff.alpha(reliability_data=values.T, level_of_measurement=metric)


@each_metric
@given(case=tables())
@settings(max_examples=50)
def test_it_equals_the_krippendorff_package_or_is_undefined(metric, case):
    k, table = case
    rated = ratings(table, k)
    got = alpha(rated, metric)
    pairable = rated.values[rated.per_item > 1]  # noqa: PD011 - an array of ratings
    if np.unique(pairable[~np.isnan(pairable)]).size < 2:
        assert why_undefined(got)
        return
    assert got.value == almost(by_krippendorff(rated.values, metric))
    assert got.n == len(pairable)


@pytest.mark.parametrize("metric", ["ordinal", "interval"])
@given(st.integers(0, 10_000))
@settings(max_examples=20)
def test_scores_too(metric, seed):
    rng = np.random.default_rng(seed)
    values = rng.normal(0, 1, (20, 1)).round(1) + rng.normal(0, 0.5, (20, 3)).round(1)
    values[rng.random(values.shape) < 0.2] = np.nan
    assume(((~np.isnan(values)).sum(axis=1) > 1).any())
    assert alpha(ratings(values), metric).value == almost(by_krippendorff(values.round(9), metric))


def test_the_worked_example_of_its_author():
    # K. Krippendorff, "Computing Krippendorff's Alpha-Reliability" (2011): four observers, twelve
    # units with gaps.
    said = [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
        [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
    ]
    rated = ratings(np.array(said, dtype=float).T - 1, 5)
    got = {metric: alpha(rated, metric) for metric in METRICS}
    published = {"nominal": 0.743, "ordinal": 0.815, "interval": 0.849}
    assert {metric: round(each.value, 3) for metric, each in got.items()} == published
    assert (got["nominal"].n, left_out(got["nominal"])) == (11, [1])


@pytest.mark.parametrize(
    ("coefficient", "of_tables"),
    [
        (gwet, gwet_of_tables),
        *((partial(alpha, metric=each), partial(alpha_of_tables, metric=each)) for each in METRICS),
    ],
    ids=["ac1", *METRICS],
)
@given(case=tables(gaps=False))
@settings(max_examples=30)
def test_two_raters_give_from_their_table_what_they_give_as_a_matrix(coefficient, of_tables, case):
    k, table = case
    two = np.array(table)[:, :2]
    counts = np.bincount(two[:, 0] * k + two[:, 1], minlength=k * k).reshape(k, k).astype(float)
    matrix, of_table = coefficient(ratings(two, k)).value, float(of_tables(counts))
    assert np.isnan(of_table) if matrix is None else of_table == almost(matrix)


@pytest.mark.parametrize(
    ("coefficient", "clusters"),
    [
        (gwet, None),
        (gwet, 80),
        *((partial(alpha, metric=each), None if each == "nominal" else 80) for each in METRICS),
    ],
    ids=["ac1", "ac1 of groups", *METRICS],
)
def test_the_interval_is_that_of_resampling_whole_groups(
    coefficient, clusters, agrees_with_plain_bootstrap
):
    said, groups = made_ratings(clusters=clusters)

    def plain(rows):
        return coefficient(ratings(rows, 4)).value

    got = coefficient(ratings(said, 4, groups))
    agrees_with_plain_bootstrap(got, plain, (said,), groups, resamples=400, extra=0.01)
    assert got.unit == ("response" if clusters is None else "evidence group")


@pytest.mark.parametrize(
    "coefficient", [partial(alpha, metric="nominal"), fleiss], ids=["alpha", "fleiss"]
)
def test_the_interval_of_independent_raters_holds_0_though_few_answers_are_bad(coefficient, rng):
    found = (coefficient(ratings(rng.random((100, 3)) < 0.06, 2)) for _ in range(200))
    intervals = [ends(each) for each in found if each.low is not None]
    assert len(intervals) >= 150
    assert np.mean([low <= 0 <= high for low, high in intervals]) >= 0.93


def test_votes_that_no_item_has_but_independent_raters_could_give_move_the_upper_end():
    said = np.array([[0, 0, 0]] * 22 + [[0, 0, np.nan]] * 6 + [[1, 0, 0]] * 3 + [[0, 1, np.nan]])
    groups = np.arange(len(said)) // 2
    got = alpha(ratings(said, 2, groups), "nominal")
    plain = interval_alpha(said, grouping(groups, len(said)))
    assert (got.value, got.low) == pytest.approx((plain.value, plain.low))

    bad, seen = np.nanmean(said), {tuple(sorted(row[~np.isnan(row)])) for row in said}
    chances, raised = [], []
    for row in said:
        m = int((~np.isnan(row)).sum())
        for votes in product((0, 1), repeat=m):
            if tuple(sorted(votes)) not in seen:
                one_group = [[*votes, *[np.nan] * (3 - m)]] * 2
                chances.append(bad ** sum(votes) * (1 - bad) ** (m - sum(votes)))
                with_group = ratings(np.vstack((said, one_group)), 2)
                raised.append(alpha(with_group, "nominal").value - got.value)
    assert min(raised) > 0
    below, above = reaches(plain)
    error = below * (1 - got.value**2) / float(t_quantile(15))
    with_unseen = np.sqrt(error**2 + np.average(np.square(raised), weights=chances))
    assert reaches(got)[1] == pytest.approx(above * with_unseen / error, rel=1e-6)


def test_votes_that_would_lower_alpha_move_no_end():
    said = np.array([[0, 0, 0]] * 20 + [[1, 1, 1]] * 10 + [[1, 0, 0]] * 4, dtype=float)
    got, plain = alpha(ratings(said, 2), "nominal"), interval_alpha(said, ungrouped(34))
    assert ends(got) == pytest.approx(ends(plain))


def test_a_continuous_score_has_no_nominal_alpha():
    with pytest.raises(ValueError, match="declared categories"):
        alpha(ratings([[0.1, 0.2]]), "nominal")

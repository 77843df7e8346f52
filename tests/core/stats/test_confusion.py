"""Kappa, F1 and Matthews' correlation of confusion tables, with their intervals."""

import re
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from estimates import almost, ends, reaches, value_and_ends, why_no_interval, why_undefined
from judgeboard.stats.arrays import grouping
from judgeboard.stats.confusion import (
    TableEstimates,
    at_most_apart,
    detection_shares,
    kappa,
    macro_f1,
    macro_precision,
    macro_recall,
    matthews,
)
from judgeboard.stats.estimates import complement
from judgeboard.stats.intervals import bootstrapped, wilson
from judgeboard.stats.pair_statistics import pair_statistics
from judgeboard.stats.ratings import LABEL, Scale
from rating_tables import cells_of, ungrouped, verdicts_of


def confusion(people, judge, *categories):
    scale = Scale("mood", categories)
    return pair_statistics(np.array(judge), np.array(people), scale, only=()).confusion


def test_people_stand_in_the_rows_and_every_declared_category_is_there():
    people, judge = ["bad", "bad", "good"], ["bad", "good", "good"]
    table = confusion(people, judge, "bad", "good", "unclear")
    assert table.categories == ("bad", "good", "unclear")
    assert table.counts == ((1, 1, 0), (0, 1, 0), (0, 0, 0))
    assert table.row_shares == ((0.5, 0.5, 0), (0, 1, 0), (None, None, None))


def test_objects_from_a_database_are_categories_too():
    values = np.array(["bad", "good"], dtype=object)
    assert confusion(values, values, "bad", "good").counts == ((1, 0), (0, 1))


WEIGHTS = {"nominal": None, "quadratic": "quadratic"}
BAD, GOOD = 0, 1


def square_tables(most):
    """Tables of two to five categories, whose cells have at most so many pairs."""
    return st.integers(2, 5).flatmap(
        lambda k: st.lists(
            st.lists(st.integers(0, most), min_size=k, max_size=k), min_size=k, max_size=k
        )
    )


def estimates(people, judge, categories, ids=None):
    """The estimates of the table of these categories, or of so many."""
    if isinstance(categories, int):
        categories = tuple(range(categories))
    cells = cells_of(people, judge, categories)
    return TableEstimates(cells, len(categories), grouping(ids, len(cells)))


@pytest.mark.parametrize("weights", WEIGHTS)
@given(table=square_tables(9))
@settings(max_examples=60)
def test_kappa_equals_scikit_learn_or_is_undefined(table, weights):
    from sklearn.metrics import cohen_kappa_score

    people, judge = verdicts_of(table)
    got = estimates(people, judge, len(table)).kappa(weights)
    if len(set(people) | set(judge)) <= 1:
        assert why_undefined(got)
        return
    labels = list(range(len(table)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = cohen_kappa_score(people, judge, labels=labels, weights=WEIGHTS[weights])
    assert (got.value, got.n) == (almost(expected), len(people))


def test_weights_go_by_declared_categories_not_by_those_that_occur():
    def kappa_of(judge, categories, weights="quadratic"):
        return estimates(people, judge, categories).kappa(weights).value

    people, judge = [1, 4, 4, 1, 4] * 10, [1, 4, 1, 1, 4] * 10
    assert kappa_of(judge, (1, 2, 3, 4)) == kappa_of(judge, (1, 4), "nominal")
    people, judge = [1, 2, 4, 2, 1, 4] * 10, [1, 4, 4, 2, 1, 4] * 10
    assert kappa_of(judge, (1, 2, 3, 4)) != kappa_of(judge, (1, 2, 4))


def clustered(k, n=400, groups=80, seed=0):
    rng = np.random.default_rng(seed)
    ids = rng.integers(0, groups, n)
    truth = rng.integers(0, k, groups)[ids]
    people = np.where(rng.random(n) < 0.6, truth, rng.integers(0, k, n))
    judge = np.where(rng.random(n) < 0.5, people, rng.integers(0, k, n))
    return people, judge, ids


def table_of(people, judge, k):
    return np.bincount(people * k + judge, minlength=k * k).reshape(k, k).astype(float)


alone_or_not = pytest.mark.parametrize("alone", [True, False], ids=["responses", "evidence groups"])


@alone_or_not
@pytest.mark.parametrize("weights", WEIGHTS)
def test_kappa_intervals_equal_a_plain_loop_over_groups(
    agrees_with_plain_bootstrap, weights, alone
):
    people, judge, ids = clustered(4)
    ids = np.arange(len(ids)) if alone else ids
    got = estimates(people, judge, 4, ids).kappa(weights)

    def plain(people, judge):
        return float(kappa(table_of(people, judge, 4), weights))

    agrees_with_plain_bootstrap(got, plain, (people, judge), ids)
    assert got.unit == ("response" if alone else "evidence group")


def test_the_interval_of_an_independent_judge_holds_0_though_a_cell_is_empty():
    rng, holding = np.random.default_rng(0), []
    for _ in range(200):
        people, judge = (rng.random((2, 31)) < 0.85).astype(int)
        got = estimates(people, judge, 2).kappa()
        if got.low is not None and not table_of(people, judge, 2).all():
            holding.append(got.low <= 0 <= got.high)
    assert len(holding) >= 80
    assert np.mean(holding) >= 0.93


@pytest.mark.parametrize("compute", [kappa, matthews], ids=["kappa", "matthews"])
def test_an_empty_cell_counts_in_the_interval_of_evidence_groups(compute):
    people, judge = np.repeat([[0] * 5 + [1] * 26, [1] * 5 + [0] * 4 + [1] * 22], 3, axis=1)
    got = estimates(people, judge, 2, np.repeat(np.arange(31), 3)).statistic(
        compute, "", scale="Fisher's z"
    )
    assert got.value == pytest.approx(float(compute(table_of(people, judge, 2))))
    assert got.low < got.value < 0 < got.high


def test_cells_that_a_side_never_uses_are_not_empty_by_chance():
    people, judge = np.array([0, 1, 2] * 10), np.array([0, 1, 2, 1, 1, 2] * 5)
    narrow, wide = estimates(people, judge, 3).kappa(), estimates(people, judge, 5).kappa()
    assert ends(narrow) == almost(ends(wide))


AGREEMENT = at_most_apart(2, 0)
SHARES = detection_shares(2, BAD) | {"agreement": AGREEMENT}
PLAIN = {
    "agreement": lambda people, judge: (people == judge).mean(),
    "sensitivity": lambda people, judge: (judge[people == BAD] == BAD).mean(),
    "specificity": lambda people, judge: (judge[people == GOOD] == GOOD).mean(),
    "precision": lambda people, judge: (people[judge == BAD] == BAD).mean(),
}


@pytest.mark.parametrize("name", PLAIN)
def test_rates_and_their_intervals_equal_a_plain_loop(agrees_with_plain_bootstrap, name):
    people, judge, ids = clustered(2)
    plain = PLAIN[name]
    got = estimates(people, judge, 2, ids).share(SHARES[name])
    assert got.value == pytest.approx(plain(people, judge), abs=1e-12)
    agrees_with_plain_bootstrap(got, plain, (people, judge), ids)


def test_the_n_of_a_rate_is_what_it_is_a_share_of():
    got = estimates([BAD] * 12 + [GOOD] * 30, [BAD, GOOD] * 21, 2)
    for name, n in (("sensitivity", 12), ("specificity", 30), ("precision", 21)):
        assert got.share(SHARES[name]).n == n
    neighbours = estimates([0, 1, 2, 3] * 5, [1, 1, 0, 3] * 5, 4).share(at_most_apart(4, 1))
    assert neighbours.value == 0.75


def test_a_class_without_answers_says_so():
    got = estimates([GOOD] * 30, [GOOD] * 25 + [BAD] * 5, 2)
    missed = got.share(SHARES["sensitivity"])
    assert missed.n == 0
    assert "no bad answer" in why_undefined(missed)
    assert got.share(detection_shares(2, GOOD)["precision"]).value == 1


@pytest.mark.parametrize(("ids", "n"), [(None, 40), (np.repeat(np.arange(8), 5), 8)])
def test_all_right_is_no_certainty_and_groups_count_once(ids, n):
    got = estimates([BAD, GOOD] * 20, [BAD, GOOD] * 20, 2, ids).share(AGREEMENT)
    assert (got.value, got.high) == (1, 1)
    assert got.low == pytest.approx(float(wilson(1.0, n)[0]))
    assert got.method.startswith("Wilson")
    assert (str(n) in got.method.split()) == (ids is not None)


@pytest.mark.parametrize(
    ("judge", "ids", "value", "reason"),
    [
        ([BAD, GOOD] * 20, None, 1, ""),
        ([BAD, GOOD, GOOD, BAD] * 10, np.zeros(40), 0, "one evidence"),
    ],
)
def test_perfect_agreement_and_one_evidence_group_have_a_kappa_without_interval(
    judge, ids, value, reason
):
    got = estimates([BAD, GOOD] * 20, judge, 2, ids).kappa()
    assert got.value == value
    assert re.match(f"no interval.*{reason}", why_no_interval(got))


def test_few_groups_expand_the_percentile_interval():
    from scipy.stats import norm, t

    draws = np.linspace(0, 1, 100_001)
    for groups in (5, 20, 1000):
        tail = norm.cdf(-np.sqrt(groups / (groups - 1)) * t.ppf(0.975, groups - 1))
        got = bootstrapped(0.5, groups, draws, ungrouped(groups))
        assert ends(got) == pytest.approx((tail, 1 - tail), abs=1e-5)
    assert tail == pytest.approx(0.025, abs=2e-4)


def test_undefined_resamples_are_left_out_and_counted_or_end_the_interval():
    few = estimates([BAD] * 4 + [GOOD] * 36, [BAD] * 3 + [GOOD] * 37, 2).kappa()
    assert "left out" in few.method
    many = estimates([BAD] + [GOOD] * 39, [BAD] + [GOOD] * 39, 2).kappa()
    assert many.value == 1
    assert "resamples" in why_no_interval(many)


def test_missed_is_one_minus_caught_with_its_interval_turned_round():
    people, judge, ids = clustered(2)
    caught = estimates(people, judge, 2, ids).share(SHARES["sensitivity"])
    missed = complement(caught)
    turned = (1 - caught.value, 1 - caught.high, 1 - caught.low)
    assert value_and_ends(missed) == pytest.approx(turned)
    assert complement(complement(caught)) == caught


@alone_or_not
def test_rates_have_the_bca_interval_of_scipy(alone):
    from scipy.stats import bootstrap

    people, judge, ids = clustered(2, n=150, groups=60, seed=4)
    ids = np.arange(len(ids)) if alone else np.unique(ids, return_inverse=True)[1]
    bad, found = (
        np.bincount(ids, weights=rows) for rows in (people == BAD, (people == BAD) & (judge == BAD))
    )

    def caught(of, hits, axis=-1):
        return hits.sum(axis=axis) / of.sum(axis=axis)

    expected = bootstrap(
        (bad, found),
        caught,
        paired=True,
        n_resamples=4000,
        method="BCa",
        rng=np.random.default_rng(1),
    ).confidence_interval
    got = estimates(people, judge, 2, ids).share(SHARES["sensitivity"])
    assert {"BCa", "2,000"} <= set(got.method.split())
    assert ends(got) == pytest.approx(ends(expected), abs=0.02)


def test_kappa_of_few_skewed_groups_reaches_further_up_than_a_symmetric_interval():
    people, judge = np.zeros((2, 100), dtype=int)
    people[:5] = judge[:5] = judge[20:60:4] = people[22:62:4] = 1
    below, above = reaches(estimates(people, judge, 2, np.arange(100) // 5).kappa())
    assert above > 1.05 * below


raw_tables = square_tables(6).filter(lambda table: np.sum(table) > 0)


@given(raw_tables)
def test_macro_figures_equal_scikit_learn_where_they_are_defined(table):
    from sklearn.metrics import precision_recall_fscore_support

    people, judge = verdicts_of(table)
    precision, recall, f1, _ = precision_recall_fscore_support(
        people, judge, average="macro", zero_division=0
    )
    counts = np.array(table, dtype=float)
    if len({*people, *judge}) == 1:  # one mean of one category, 1 whatever the judge can tell apart
        assert np.isnan([macro_precision(counts), macro_recall(counts), macro_f1(counts)]).all()
        return
    assert float(macro_f1(counts)) == almost(f1)
    for got, expected, side, other in (
        (macro_precision(counts), precision, judge, people),
        (macro_recall(counts), recall, people, judge),
    ):
        if set(other) - set(side):
            assert np.isnan(got)
        else:
            assert float(got) == almost(expected)


@given(raw_tables)
def test_mcc_equals_scikit_learn_or_is_undefined(table):
    from sklearn.metrics import matthews_corrcoef

    people, judge = verdicts_of(table)
    got = float(matthews(np.array(table, dtype=float)))
    if len(set(people)) == 1 or len(set(judge)) == 1:
        assert np.isnan(got)
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert got == almost(matthews_corrcoef(people, judge))


def test_what_a_page_says_where_a_side_never_gave_a_category():
    scale = Scale("preference", ("a", "b", "tie"))
    people, judge = np.array(["a", "b", "tie", "b"] * 5), np.array(["a", "b", "a", "b"] * 5)
    got = pair_statistics(judge, people, scale)
    assert why_undefined(got.macro_precision)
    assert got.macro_recall.value == pytest.approx(2 / 3)
    assert got.mcc.value is not None
    one = pair_statistics(np.array(["a"] * 20), people, scale)
    assert "one category" in why_undefined(one.mcc)


def test_macro_figures_of_one_category_are_undefined_with_the_reason():
    good = np.array(["grounded"] * 20)
    got = pair_statistics(good, good, LABEL)
    for each in (got.macro_precision, got.macro_recall, got.macro_f1):
        assert "one category" in why_undefined(each)


def test_statistics_of_many_tables_are_those_of_each_alone():
    many = np.random.default_rng(0).integers(0, 9, (40, 3, 3)).astype(float)
    for statistic in (macro_precision, macro_recall, macro_f1, matthews):
        assert np.array_equal(
            statistic(many), [float(statistic(table)) for table in many], equal_nan=True
        )

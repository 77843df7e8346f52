"""Kappa, F1 and Matthews' correlation of confusion tables, with their intervals."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from estimates import ends, value_and_ends, why_undefined
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


def confusion(people, judge, scale):
    return pair_statistics(np.array(judge), np.array(people), scale, only=()).confusion


def test_people_stand_in_the_rows_and_every_declared_category_is_there():
    table = confusion(
        ["bad", "bad", "good"], ["bad", "good", "good"], Scale("mood", ("bad", "good", "unclear"))
    )
    assert table.categories == ("bad", "good", "unclear")
    assert table.counts == ((1, 1, 0), (0, 1, 0), (0, 0, 0))
    assert table.row_shares == ((0.5, 0.5, 0), (0, 1, 0), (None, None, None))


def test_objects_from_a_database_are_categories_too():
    values = np.array(["bad", "good"], dtype=object)
    assert confusion(values, values, Scale("mood", ("bad", "good"))).counts == ((1, 0), (0, 1))


WEIGHTS = {"nominal": None, "quadratic": "quadratic"}

tables = st.integers(2, 5).flatmap(
    lambda k: st.lists(st.lists(st.integers(0, 9), min_size=k, max_size=k), min_size=k, max_size=k)
)


def estimate(people, judge, categories, weights="nominal", groups=None):
    cells = cells_of(people, judge, categories)
    return TableEstimates(
        cells, len(categories), grouping(groups, len(cells)), resamples=200
    ).kappa(weights)


@pytest.mark.parametrize("weights", WEIGHTS)
@given(table=tables)
@settings(max_examples=60)
def test_kappa_equals_scikit_learn_or_is_undefined(table, weights):
    from sklearn.metrics import cohen_kappa_score

    people, judge = verdicts_of(table)
    categories = tuple(range(len(table)))
    got = estimate(people, judge, categories, weights)
    one_category = len(set(people) | set(judge)) <= 1
    if one_category:
        assert got.value is None
        assert got.reason
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = cohen_kappa_score(
            people, judge, labels=list(categories), weights=WEIGHTS[weights]
        )
    assert got.value == pytest.approx(expected, abs=1e-9)
    assert got.n == len(people)


def test_weights_go_by_declared_categories_not_by_those_that_occur():
    people, judge = [1, 4, 4, 1, 4] * 10, [1, 4, 1, 1, 4] * 10
    assert (
        estimate(people, judge, (1, 2, 3, 4), "quadratic").value
        == estimate(people, judge, (1, 4), "nominal").value
    )
    people, judge = [1, 2, 4, 2, 1, 4] * 10, [1, 4, 4, 2, 1, 4] * 10
    of_four, of_three = (
        estimate(people, judge, each, "quadratic").value for each in ((1, 2, 3, 4), (1, 2, 4))
    )
    assert of_four != of_three


BAD, GOOD = 0, 1


def estimates(people, judge, k, ids=None):
    cells = cells_of(people, judge, tuple(range(k)))
    return TableEstimates(cells, k, grouping(ids, len(cells)))


def clustered(k, n=400, groups=80, seed=0):
    rng = np.random.default_rng(seed)
    ids = rng.integers(0, groups, n)
    truth = rng.integers(0, k, groups)[ids]
    people = np.where(rng.random(n) < 0.6, truth, rng.integers(0, k, n))
    judge = np.where(rng.random(n) < 0.5, people, rng.integers(0, k, n))
    return people, judge, ids


def table_of(people, judge, k):
    return np.bincount(people * k + judge, minlength=k * k).reshape(k, k).astype(float)


@pytest.mark.parametrize("alone", [True, False], ids=["responses", "evidence groups"])
@pytest.mark.parametrize("weights", ["nominal", "quadratic"])
def test_kappa_intervals_equal_a_plain_loop_over_groups(
    agrees_with_plain_bootstrap, weights, alone
):
    people, judge, ids = clustered(4)
    ids = np.arange(len(ids)) if alone else ids
    got = estimates(people, judge, 4, ids).kappa(weights)
    agrees_with_plain_bootstrap(
        got, lambda a, b: float(kappa(table_of(a, b, 4), weights)), (people, judge), ids
    )
    assert got.unit == ("response" if alone else "evidence group")


def test_the_interval_of_an_independent_judge_holds_0_though_a_cell_is_empty():
    rng = np.random.default_rng(0)
    holding = with_an_empty_cell = 0
    for _ in range(200):
        people, judge = (rng.random((2, 31)) < 0.85).astype(int)
        got = estimates(people, judge, 2).kappa()
        if got.low is None or table_of(people, judge, 2).all():
            continue
        with_an_empty_cell += 1
        holding += got.low <= 0 <= got.high
    assert with_an_empty_cell >= 80
    assert holding >= 0.93 * with_an_empty_cell


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
    assert ends(narrow) == pytest.approx(ends(wide), abs=1e-9)


SHARES = detection_shares(2, BAD)
RATES = {
    "agreement": (at_most_apart(2, 0), lambda people, judge: (people == judge).mean()),
    "sensitivity": (
        SHARES["sensitivity"],
        lambda people, judge: (judge[people == BAD] == BAD).mean(),
    ),
    "specificity": (
        SHARES["specificity"],
        lambda people, judge: (judge[people == GOOD] == GOOD).mean(),
    ),
    "precision": (
        SHARES["precision"],
        lambda people, judge: (people[judge == BAD] == BAD).mean(),
    ),
}


@pytest.mark.parametrize("name", RATES)
def test_rates_and_their_intervals_equal_a_plain_loop(agrees_with_plain_bootstrap, name):
    people, judge, ids = clustered(2)
    share, plain = RATES[name]
    got = estimates(people, judge, 2, ids).share(share)
    assert got.value == pytest.approx(plain(people, judge), abs=1e-12)
    agrees_with_plain_bootstrap(got, plain, (people, judge), ids)


def test_the_n_of_a_rate_is_what_it_is_a_share_of():
    got = estimates([BAD] * 12 + [GOOD] * 30, [BAD, GOOD] * 21, 2)
    assert got.share(SHARES["sensitivity"]).n == 12
    assert got.share(SHARES["specificity"]).n == 30
    assert got.share(SHARES["precision"]).n == 21
    neighbours = estimates([0, 1, 2, 3] * 5, [1, 1, 0, 3] * 5, 4).share(at_most_apart(4, 1))
    assert neighbours.value == 0.75


def test_a_class_without_answers_says_so():
    got = estimates([GOOD] * 30, [GOOD] * 25 + [BAD] * 5, 2)
    missed = got.share(SHARES["sensitivity"])
    assert (missed.value, missed.n, "no bad answer" in missed.reason) == (None, 0, True)
    assert got.share(detection_shares(2, GOOD)["precision"]).value == 1


@pytest.mark.parametrize(("ids", "n"), [(None, 40), (np.repeat(np.arange(8), 5), 8)])
def test_all_right_is_no_certainty_and_groups_count_once(ids, n):
    got = estimates([BAD, GOOD] * 20, [BAD, GOOD] * 20, 2, ids).share(at_most_apart(2, 0))
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
    assert value_and_ends(got) == (value, None, None)
    assert got.reason.startswith("no interval")
    assert reason in got.reason


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
    assert (many.value, many.low) == (1, None)
    assert "resamples" in many.reason


def test_missed_is_one_minus_caught_with_its_interval_turned_round():
    people, judge, ids = clustered(2)
    caught = estimates(people, judge, 2, ids).share(SHARES["sensitivity"])
    missed = complement(caught)
    assert missed.value == pytest.approx(1 - caught.value)
    assert ends(missed) == pytest.approx((1 - caught.high, 1 - caught.low))
    assert complement(complement(caught)) == caught


@pytest.mark.parametrize("alone", [True, False], ids=["responses", "evidence groups"])
def test_rates_have_the_bca_interval_of_scipy(alone):
    from scipy.stats import bootstrap

    people, judge, ids = clustered(2, n=150, groups=60, seed=4)
    ids = np.arange(len(ids)) if alone else np.unique(ids, return_inverse=True)[1]
    counts = np.zeros((ids.max() + 1, 2))
    np.add.at(counts, ids[people == BAD], [1, 0])
    np.add.at(counts, ids[(people == BAD) & (judge == BAD)], [0, 1])

    def caught(of, hits, axis=-1):
        return hits.sum(axis=axis) / of.sum(axis=axis)

    expected = bootstrap(
        (counts[:, 0], counts[:, 1]),
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
    people, judge = np.zeros(100, dtype=int), np.zeros(100, dtype=int)
    people[:5], judge[:5] = 1, 1
    judge[20:60:4] = people[22:62:4] = 1
    ids = np.arange(100) // 5
    got = estimates(people, judge, 2, ids).kappa()
    below, above = (
        np.arctanh(got.value) - np.arctanh(got.low),
        np.arctanh(got.high) - np.arctanh(got.value),
    )
    assert above > 1.05 * below


raw_tables = st.integers(2, 5).flatmap(
    lambda k: st.lists(
        st.lists(st.integers(0, 6), min_size=k, max_size=k), min_size=k, max_size=k
    ).filter(lambda table: np.sum(table) > 0)
)


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
    assert float(macro_f1(counts)) == pytest.approx(f1, abs=1e-9)
    for got, expected, side, other in (
        (macro_precision(counts), precision, judge, people),
        (macro_recall(counts), recall, people, judge),
    ):
        if set(other) - set(side):
            assert np.isnan(got)
        else:
            assert float(got) == pytest.approx(expected, abs=1e-9)


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
        assert got == pytest.approx(matthews_corrcoef(people, judge), abs=1e-9)


def test_what_a_page_says_where_a_side_never_gave_a_category():
    scale = Scale("preference", ("a", "b", "tie"))
    people, judge = np.array(["a", "b", "tie", "b"] * 5), np.array(["a", "b", "a", "b"] * 5)
    got = pair_statistics(judge, people, scale)
    assert got.macro_precision.value is None
    assert got.macro_precision.reason
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

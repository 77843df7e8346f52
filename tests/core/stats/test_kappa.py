import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgeboard.stats.arrays import grouping
from judgeboard.stats.confusion import TableEstimates, kappa
from rating_tables import cells_of, verdicts_of

WEIGHTS = {"nominal": None, "linear": "linear", "quadratic": "quadratic"}

tables = st.integers(2, 5).flatmap(
    lambda k: st.lists(st.lists(st.integers(0, 9), min_size=k, max_size=k), min_size=k, max_size=k)
)


def estimate(people, judge, categories, weights="nominal", groups=None):
    cells = cells_of(people, judge, categories)
    return TableEstimates(cells, len(categories), grouping(groups, len(cells)), resamples=200).kappa(weights)


@pytest.mark.parametrize("weights", WEIGHTS)
@given(table=tables)
@settings(max_examples=60, deadline=None)
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
        expected = cohen_kappa_score(people, judge, labels=list(categories), weights=WEIGHTS[weights])
    assert got.value == pytest.approx(expected, abs=1e-9)
    assert got.n == len(people)


def test_expected_agreement_of_one_is_undefined_not_one():
    got = estimate(["good"] * 40, ["good"] * 40, ("good", "bad"))
    assert (got.value, got.low, got.high) == (None, None, None)
    assert got.n == 40
    assert "only one category" in got.reason


def test_one_class_on_one_side_is_zero_not_undefined():
    got = estimate(["good"] * 20, ["good"] * 10 + ["bad"] * 10, ("good", "bad"))
    assert got.value == 0


def test_weights_go_by_declared_categories_not_by_those_that_occur():
    people, judge = [1, 4, 4, 1, 4] * 10, [1, 4, 1, 1, 4] * 10
    assert estimate(people, judge, (1, 2, 3, 4), "quadratic").value == estimate(people, judge, (1, 4), "linear").value
    people, judge = [1, 2, 4, 2, 1, 4] * 10, [1, 4, 4, 2, 1, 4] * 10
    assert estimate(people, judge, (1, 2, 3, 4), "linear").value != estimate(people, judge, (1, 2, 4), "linear").value


def test_the_method_names_the_weights():
    got = estimate([1, 2, 3, 4] * 10, [1, 2, 4, 4] * 10, (1, 2, 3, 4), "quadratic")
    assert got.method == "quadratic weights; bootstrap error, 200 resamples, on Fisher's z"
    assert got.unit == "response"


def test_many_tables_at_once_give_what_each_gives_alone():
    many = np.random.default_rng(0).integers(0, 30, (50, 4, 4)).astype(float)
    together = kappa(many, "quadratic")
    assert np.array_equal(together, [float(kappa(table, "quadratic")) for table in many])

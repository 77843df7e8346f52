import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgeboard.stats.confusion import macro_f1, macro_precision, macro_recall, matthews
from judgeboard.stats.pair_statistics import pair_statistics
from judgeboard.stats.ratings import LABEL, Scale
from rating_tables import verdicts_of

tables = st.integers(2, 5).flatmap(
    lambda k: st.lists(st.lists(st.integers(0, 6), min_size=k, max_size=k), min_size=k, max_size=k).filter(
        lambda table: np.sum(table) > 0
    )
)


@given(tables)
@settings(max_examples=100, deadline=None)
def test_macro_figures_equal_scikit_learn_where_they_are_defined(table):
    from sklearn.metrics import precision_recall_fscore_support

    people, judge = verdicts_of(table)
    precision, recall, f1, _ = precision_recall_fscore_support(people, judge, average="macro", zero_division=0)
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


@given(tables)
@settings(max_examples=100, deadline=None)
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
    assert got.macro_precision.reason == "the judge never gave a category that the other side gave"
    assert got.macro_recall.value == pytest.approx(2 / 3)
    assert got.mcc.value is not None
    one = pair_statistics(np.array(["a"] * 20), people, scale)
    assert one.mcc.reason == "one side gave only one category"


def test_macro_figures_of_one_category_are_undefined_with_the_reason():
    good = np.array(["grounded"] * 20)
    got = pair_statistics(good, good, LABEL)
    for each in (got.macro_precision, got.macro_recall, got.macro_f1):
        assert (each.value, each.reason) == (None, "both sides gave only one category, the same one")


def test_many_tables_at_once_give_what_each_gives_alone():
    many = np.random.default_rng(0).integers(0, 9, (40, 3, 3)).astype(float)
    for statistic in (macro_precision, macro_recall, macro_f1, matthews):
        assert np.array_equal(statistic(many), [float(statistic(table)) for table in many], equal_nan=True)

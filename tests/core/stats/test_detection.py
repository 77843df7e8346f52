"""AUROC, AUPRC and calibration errors, against scikit-learn and values computed by hand."""

from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logit

from estimates import almost, ends, why_no_interval, why_undefined
from judgeboard.stats.arrays import grouping
from judgeboard.stats.detection import auroc, calibration, expected_calibration_error
from judgeboard.stats.estimates import t_quantile
from rating_tables import ungrouped

tenths = st.integers(0, 10).map(lambda tenth: tenth / 10)


@given(st.lists(st.tuples(tenths, st.booleans()), min_size=2, max_size=60))
@settings(max_examples=60)
def test_the_value_equals_scikit_learn(rows):
    from sklearn.metrics import roc_auc_score

    score, bad = map(np.array, zip(*rows, strict=True))
    got = auroc(score, bad, ungrouped(len(rows)))
    if bad.all() or not bad.any():
        assert why_undefined(got).startswith("people found no")
        return
    assert got.value == almost(roc_auc_score(bad, -score))


def placed(score, bad):
    """Of each pair of a good and a bad row, whether the good one has the higher score; a tie is half."""
    good, worse = score[~bad][:, None], score[bad]
    return (good > worse) + 0.5 * (good == worse)


def plain(score, bad):
    return placed(score, bad).mean() if bad.any() else np.nan


def test_the_variance_is_delongs_by_its_definition(rng):
    bad = rng.random(80) < 0.4
    score = np.round(rng.normal(0.6 - 0.15 * bad, 0.2), 1)
    of_good, of_bad = (placed(score, bad).mean(axis=axis) for axis in (1, 0))
    variance = of_good.var(ddof=1) / len(of_good) + of_bad.var(ddof=1) / len(of_bad)
    got = auroc(score, bad, ungrouped(80))
    assert ("DeLong" in got.method, "clustered" in got.method) == (True, False)
    low, high = logit(ends(got))
    on_logit = (high - low) / 2
    wanted = float(t_quantile(bad.sum() - 1)) * np.sqrt(variance) / (got.value * (1 - got.value))
    assert on_logit == pytest.approx(wanted, abs=1e-6)


def test_near_one_and_with_few_bad_rows_the_interval_holds():
    """The normal interval held the true 0.96 in 73 of 100 draws."""
    rng, truth, held = np.random.default_rng(4), 0.96, []
    apart = NormalDist().inv_cdf(truth) * np.sqrt(2)
    for _ in range(400):
        bad = rng.random(150) < 0.05
        got = auroc(rng.normal(0, 1, 150) - apart * bad, bad, ungrouped(150))
        held += [got.low <= truth <= got.high] if got.low is not None else []
    assert np.mean(held) > 0.93


def test_clustered_intervals_equal_a_plain_loop_over_groups(agrees_with_plain_bootstrap, rng):
    ids = rng.integers(0, 110, 500)
    shift = rng.normal(0, 0.2, 110)[ids]
    bad = rng.random(500) < 0.4 - shift / 2
    score = np.round(0.6 + shift - 0.2 * bad + rng.normal(0, 0.2, 500), 2)
    got = auroc(score, bad, grouping(ids, 500))
    assert ("DeLong" in got.method, "clustered" in got.method) == (True, True)
    agrees_with_plain_bootstrap(got, plain, (score, bad), ids)
    alone = auroc(score, bad, ungrouped(500))
    assert alone.value == got.value
    agrees_with_plain_bootstrap(alone, plain, (score, bad), np.arange(500))


def test_complete_separation_has_no_interval():
    good = np.arange(20) >= 10
    got = auroc(np.where(good, 0.9, 0.1), ~good, ungrouped(20))
    assert got.value == 1
    assert why_no_interval(got).startswith("no interval")


def test_a_class_in_a_single_group_has_no_interval():
    ids = np.array([0, 0, *range(1, 19)])
    got = auroc(np.linspace(0, 1, 20), ids == 0, grouping(ids, 20))
    assert "one evidence group" in why_no_interval(got)


def test_each_tenth_has_its_share_n_and_mean_score(rng):
    score = rng.random(400)
    grounded = rng.random(400) < score
    tenths = calibration(score, grounded)
    assert len(tenths) == 10
    assert sum(tenth.share_grounded.n for tenth in tenths) == 400
    for tenth in tenths:
        inside, share = (score >= tenth.low) & (score < tenth.high), tenth.share_grounded
        means = (grounded[inside].mean(), score[inside].mean())
        assert (share.value, tenth.mean_score) == pytest.approx(means)
        assert share.low < share.value < share.high


def test_edges_belong_to_the_tenth_they_open_and_one_to_the_last():
    tenths = calibration(np.array([0.3, 0.1 + 0.2, 0.7 - 0.4, 1.0, 0.0]), np.ones(5, dtype=bool))
    assert [tenth.share_grounded.n for tenth in tenths] == [1, 0, 0, 3, 0, 0, 0, 0, 0, 1]


def test_an_empty_tenth_is_undefined():
    empty = calibration(np.array([0.95]), np.array([True]))[0]
    assert empty.mean_score is None
    assert why_undefined(empty.share_grounded) == "no answers"


def test_the_calibration_error_is_the_mean_distance_of_a_tenth_from_its_share(rng):
    score = rng.random(500)
    grounded = rng.random(500) < score**2
    distances = [
        abs(tenth.share_grounded.value - tenth.mean_score) * tenth.share_grounded.n
        for tenth in calibration(score, grounded)
    ]
    got = expected_calibration_error(score, grounded, ungrouped(500))
    assert got.value == almost(sum(distances) / 500)
    assert 0 <= got.low < got.value < got.high


@pytest.mark.parametrize("clusters", [None, 150])
def test_its_interval_is_that_of_resampling_whole_groups(
    clusters, agrees_with_plain_bootstrap, rng
):
    groups = np.arange(2000) if clusters is None else rng.integers(0, clusters, 2000)
    score = rng.random(2000)
    grounded = rng.random(2000)[groups] < score**3

    def plain(score, grounded):
        return expected_calibration_error(score, grounded, ungrouped(len(score))).value

    got = expected_calibration_error(score, grounded, grouping(groups, 2000))
    agrees_with_plain_bootstrap(got, plain, (score, grounded), groups, resamples=300, extra=0.02)


def test_without_answers_there_is_no_calibration_error():
    got = expected_calibration_error(np.empty(0), np.empty(0, dtype=bool), ungrouped(0))
    assert got.reason == "no pairs"


def test_equal_scores_separate_nothing():
    bad = np.arange(40) % 4 == 0
    got = auroc(np.full(40, 0.7), bad, ungrouped(40))
    assert got.value == 0.5
    assert why_no_interval(got).startswith("no interval")

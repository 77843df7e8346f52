import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgeboard.stats.arrays import grouping
from judgeboard.stats.detection import auroc

rows = st.lists(st.tuples(st.integers(0, 10), st.booleans()), min_size=2, max_size=60)


@given(rows)
@settings(max_examples=60, deadline=None)
def test_the_value_equals_scikit_learn(rows):
    from sklearn.metrics import roc_auc_score

    score, bad = np.array([row[0] / 10 for row in rows]), np.array([row[1] for row in rows])
    got = auroc(score, bad, grouping(None, len(rows)))
    if bad.all() or not bad.any():
        assert got.value is None
        assert got.reason.startswith("people found no")
        return
    assert got.value == pytest.approx(roc_auc_score(bad, -score), abs=1e-9)


def plain(score, bad):
    good, worse = score[~bad], score[bad]
    return ((good[:, None] > worse).mean() + (good[:, None] == worse).mean() / 2) if bad.any() else np.nan


def test_the_variance_is_delongs_by_its_definition():
    rng = np.random.default_rng(0)
    bad = rng.random(80) < 0.4
    score = np.round(rng.normal(0.6 - 0.15 * bad, 0.2), 1)
    better = (score[~bad][None, :] > score[bad][:, None]) + 0.5 * (score[~bad][None, :] == score[bad][:, None])
    variance = better.mean(axis=1).var(ddof=1) / bad.sum() + better.mean(axis=0).var(ddof=1) / (~bad).sum()
    got = auroc(score, bad, grouping(None, 80))
    assert got.method == "DeLong"
    assert (got.high - got.low) / 2 == pytest.approx(1.959964 * np.sqrt(variance), abs=1e-6)


def test_clustered_intervals_equal_a_plain_loop_over_groups(agrees_with_plain_bootstrap):
    rng = np.random.default_rng(1)
    ids = rng.integers(0, 110, 500)
    shift = rng.normal(0, 0.2, 110)[ids]
    bad = rng.random(500) < 0.4 - shift / 2
    score = np.round(0.6 + shift - 0.2 * bad + rng.normal(0, 0.2, 500), 2)
    got = auroc(score, bad, grouping(ids, 500))
    assert got.method == "DeLong, clustered (Obuchowski)"
    agrees_with_plain_bootstrap(got, plain, (score, bad), ids)
    alone = auroc(score, bad, grouping(None, 500))
    assert alone.value == got.value
    agrees_with_plain_bootstrap(alone, plain, (score, bad), np.arange(500))


def test_complete_separation_has_no_interval():
    got = auroc(np.array([0.1] * 10 + [0.9] * 10), np.array([True] * 10 + [False] * 10), grouping(None, 20))
    assert (got.value, got.low) == (1, None)
    assert got.reason == "no interval: the scores separate the classes completely"


def test_a_class_in_a_single_group_has_no_interval():
    bad = np.array([True, True] + [False] * 18)
    ids = np.array([0, 0, *range(1, 19)])
    got = auroc(np.linspace(0, 1, 20), bad, grouping(ids, 20))
    assert got.reason == "no interval: all answers of one class are in one evidence group"

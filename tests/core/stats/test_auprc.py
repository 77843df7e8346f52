import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgeboard.stats.arrays import grouping
from judgeboard.stats.detection import auprc, auroc

rows = st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=1, max_size=60)


@given(rows)
@settings(max_examples=100, deadline=None)
def test_it_is_the_average_precision_of_scikit_learn_or_undefined(rows):
    from sklearn.metrics import average_precision_score

    score, bad = np.array([row[0] / 5 for row in rows]), np.array([row[1] for row in rows])
    got = auprc(score, bad, grouping(None, len(rows)))
    if bad.all() or not bad.any():
        missing = "good" if bad.all() else "bad"
        assert (got.value, got.reason) == (None, f"people found no {missing} answer here")
        return
    assert got.value == pytest.approx(average_precision_score(bad, -score), abs=1e-9)
    assert got.low is None or 0 <= got.low <= got.value <= got.high <= 1


def test_nothing_at_all_is_undefined():
    assert auprc(np.empty(0), np.empty(0, dtype=bool), grouping(None, 0)).reason == "no pairs"


@pytest.mark.parametrize("of", [auprc, auroc])
def test_scores_that_separate_the_classes_have_no_interval_and_say_so(of):
    bad = np.arange(40) < 12
    got = of(np.where(bad, 0.2, 0.8), bad, grouping(None, 40))
    assert (got.value, got.low, got.reason) == (1, None, "no interval: the scores separate the classes completely")


@pytest.mark.parametrize("clusters", [None, 90])
def test_the_interval_is_that_of_resampling_whole_groups(clusters, agrees_with_plain_bootstrap):
    rng = np.random.default_rng(3)
    groups = np.arange(400) if clusters is None else rng.integers(0, clusters, 400)
    truth = rng.random(400)[groups]
    score = np.clip(truth + rng.normal(0, 0.4, 400), 0, 1).round(1)
    bad = rng.random(400) > truth

    def plain(score, bad):
        return auprc(score, bad, grouping(None, len(score))).value

    got = auprc(score, bad, grouping(groups, 400))
    agrees_with_plain_bootstrap(got, plain, (score, bad), groups, resamples=400, extra=0.01)
    assert got.method == "influence function on the logit"

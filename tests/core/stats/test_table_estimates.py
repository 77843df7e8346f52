import numpy as np
import pytest

from judgeboard.stats import confusion
from judgeboard.stats.arrays import grouping
from judgeboard.stats.confusion import TableEstimates, kappa
from judgeboard.stats.estimates import complement
from judgeboard.stats.intervals import bootstrapped, wilson
from rating_tables import cells_of

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
@pytest.mark.parametrize("weights", ["nominal", "linear", "quadratic"])
def test_kappa_intervals_equal_a_plain_loop_over_groups(agrees_with_plain_bootstrap, weights, alone):
    people, judge, ids = clustered(4)
    ids = np.arange(len(ids)) if alone else ids
    got = estimates(people, judge, 4, ids).kappa(weights)
    agrees_with_plain_bootstrap(got, lambda a, b: float(kappa(table_of(a, b, 4), weights)), (people, judge), ids)
    assert got.unit == ("response" if alone else "evidence group")


SHARES = confusion.detection_shares(2, BAD)
RATES = {
    "agreement": (confusion.at_most_apart(2, 0), lambda people, judge: (people == judge).mean()),
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


def test_at_most_one_apart_counts_neighbours():
    got = estimates([0, 1, 2, 3] * 5, [1, 1, 0, 3] * 5, 4).share(confusion.at_most_apart(4, 1))
    assert got.value == 0.75


def test_a_class_without_answers_says_so():
    got = estimates([GOOD] * 30, [GOOD] * 25 + [BAD] * 5, 2)
    missed = got.share(SHARES["sensitivity"])
    assert (missed.value, missed.n, missed.reason) == (None, 0, "people found no bad answer here")
    assert got.share(confusion.detection_shares(2, GOOD)["precision"]).value == 1


def test_all_right_is_no_certainty():
    got = estimates([BAD, GOOD] * 20, [BAD, GOOD] * 20, 2).share(confusion.at_most_apart(2, 0))
    assert (got.value, got.high) == (1, 1)
    assert got.low == pytest.approx(float(wilson(1.0, 40)[0]))
    assert got.method == "Wilson"


def test_all_right_within_groups_counts_the_groups():
    ids = np.repeat(np.arange(8), 5)
    got = estimates([BAD, GOOD] * 20, [BAD, GOOD] * 20, 2, ids).share(confusion.at_most_apart(2, 0))
    assert got.low == pytest.approx(float(wilson(1.0, 8)[0]))
    assert got.method == "Wilson on 8 evidence groups"


def test_perfect_agreement_has_a_kappa_of_one_without_interval():
    got = estimates([BAD, GOOD] * 20, [BAD, GOOD] * 20, 2).kappa()
    assert (got.value, got.low, got.high) == (1, None, None)
    assert got.reason == "no interval: every resample gives the same value"


def test_one_evidence_group_has_no_interval():
    got = estimates([BAD, GOOD] * 20, [BAD, GOOD, GOOD, BAD] * 10, 2, np.zeros(40)).kappa()
    assert (got.value, got.low) == (0, None)
    assert got.reason == "no interval: one evidence group only"


def test_few_groups_expand_the_percentile_interval():
    from scipy.stats import norm, t

    draws = np.linspace(0, 1, 100_001)
    for groups in (5, 20, 1000):
        tail = norm.cdf(-np.sqrt(groups / (groups - 1)) * t.ppf(0.975, groups - 1))
        got = bootstrapped(0.5, groups, draws, grouping(None, groups))
        assert (got.low, got.high) == pytest.approx((tail, 1 - tail), abs=1e-5)
    assert tail == pytest.approx(0.025, abs=2e-4)


def test_undefined_resamples_are_left_out_and_counted_or_end_the_interval():
    few = estimates([BAD] * 4 + [GOOD] * 36, [BAD] * 3 + [GOOD] * 37, 2).kappa()
    assert "without a value left out" in few.method
    many = estimates([BAD] + [GOOD] * 39, [BAD] + [GOOD] * 39, 2).kappa()
    assert (many.value, many.low) == (1, None)
    assert "resamples" in many.reason


def test_clusters_widen_the_interval():
    rng = np.random.default_rng(3)
    ids = np.repeat(np.arange(60), 5)
    people, right = rng.integers(0, 2, 300), np.repeat(rng.random(60) < 0.7, 5)
    judge = np.where(right, people, 1 - people)
    alone, together = (estimates(people, judge, 2, groups).kappa() for groups in (None, ids))
    assert alone.value == together.value
    assert together.high - together.low > 1.8 * (alone.high - alone.low)


def test_missed_is_one_minus_caught_with_its_interval_turned_round():
    people, judge, ids = clustered(2)
    caught = estimates(people, judge, 2, ids).share(SHARES["sensitivity"])
    missed = complement(caught)
    assert missed.value == pytest.approx(1 - caught.value)
    assert (missed.low, missed.high) == pytest.approx((1 - caught.high, 1 - caught.low))
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
        (counts[:, 0], counts[:, 1]), caught, paired=True, n_resamples=4000, method="BCa", rng=np.random.default_rng(1)
    ).confidence_interval
    got = estimates(people, judge, 2, ids).share(SHARES["sensitivity"])
    assert got.method == "expanded BCa bootstrap, 2,000 resamples"
    assert (got.low, got.high) == pytest.approx((expected.low, expected.high), abs=0.02)


def test_kappa_of_few_skewed_groups_reaches_further_up_than_a_symmetric_interval():
    people, judge = np.zeros(100, dtype=int), np.zeros(100, dtype=int)
    people[:5], judge[:5] = 1, 1
    judge[20:60:4] = people[22:62:4] = 1
    ids = np.arange(100) // 5
    got = estimates(people, judge, 2, ids).kappa()
    below, above = (np.arctanh(got.value) - np.arctanh(got.low), np.arctanh(got.high) - np.arctanh(got.value))
    assert above > 1.05 * below

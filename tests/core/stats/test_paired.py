"""Two versions on the same answers: change, p, conclusion, labels needed, and several tests at once."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from estimates import ends, value_and_ends, width
from judgeboard.domain import Estimate
from judgeboard.stats.arrays import grouping
from judgeboard.stats.estimates import complement
from judgeboard.stats.paired import (
    Conclusion,
    after_looks,
    change_of_shares,
    changes_by_class,
    conclusion,
    p_of_change,
    paired_shares,
    simultaneous,
    weighted_by_stratum,
    weighted_changes_by_class,
)
from rating_tables import ungrouped
from shared_answers import shared_answers

VERSIONS = ("approach_1_modernbert", "track_b_modernbert")


@pytest.fixture(scope="module")
def labelled(shared):
    return shared_answers(shared / "data")


@pytest.mark.shared
def test_the_interval_is_that_of_a_bootstrap_of_evidence_groups(labelled):
    first, second = (labelled.judged_bad[name] == labelled.bad for name in VERSIONS)
    gains = second.astype(float) - first.astype(float)
    totals, sizes = np.bincount(labelled.groups.codes, gains), np.bincount(labelled.groups.codes)
    drawn = np.random.default_rng(0).integers(0, 225, (5_000, 225))
    low_and_high = np.quantile(totals[drawn].sum(axis=1) / sizes[drawn].sum(axis=1), [0.025, 0.975])
    change = paired_shares(first, second, labelled.groups).change
    assert ends(change) == pytest.approx((0.0167, 0.0651), abs=5e-5)
    assert low_and_high.tolist() == pytest.approx([0.0164, 0.0654], abs=1e-3)


@pytest.mark.parametrize(
    ("low", "high", "reached", "code"),
    [
        (0.01, 0.05, Conclusion.BETTER, 0),
        (-0.01, 0.05, Conclusion.AS_GOOD, 0),
        (-0.02, 0.05, Conclusion.NOT_SHOWN, 2),
        (-0.03, -0.01, Conclusion.WORSE, 1),
        (-0.015, -0.01, Conclusion.WORSE, 1),
        (None, None, Conclusion.NOT_SHOWN, 2),
    ],
)
def test_the_interval_decides(low, high, reached, code):
    change = Estimate(0.0, low, high, n=100)
    assert conclusion(change, 0.02) is reached
    assert reached.exit_code == code
    without_margin = Conclusion.NOT_SHOWN if reached is Conclusion.AS_GOOD else reached
    assert conclusion(change) is without_margin


def test_equal_changes_still_have_an_interval():
    """Ten answers on which two versions do the same are no proof that they are equal."""
    nothing = change_of_shares(np.zeros(10), ungrouped(10))
    assert nothing.value == 0.0
    assert ends(nothing) == pytest.approx((-0.2775328, 0.2775328), abs=1e-6)
    always = change_of_shares(-np.ones(10), ungrouped(10))
    assert value_and_ends(always) == (-1, -1, pytest.approx(-0.7224672, abs=1e-6))
    # One group only.
    assert change_of_shares(np.zeros(5), grouping(np.zeros(5, dtype=np.int64), 5)).low is None
    assert change_of_shares(np.empty(0), ungrouped(0)).value is None


def test_fewer_labels_show_that_a_version_is_as_good_if_more_loss_is_allowed():
    first, second = np.ones((2, 200), dtype=bool)
    first[:6] = second[6:13] = False

    def needed(second, *within):
        return paired_shares(first, second, ungrouped(200), *within).as_good_needed

    assert needed(second, 0.01) > needed(second, 0.02) > needed(second, 0.05) > 0
    # The loss is 0.005.
    assert needed(second, 0.001) is needed(first) is None


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.booleans(), st.booleans(), st.integers(0, 8)), min_size=1, max_size=40)
)
def test_the_other_way_round_is_the_mirror(rows):
    first, second, ids = map(np.array, zip(*rows, strict=True))
    groups = grouping(ids, len(rows))
    there, back = paired_shares(first, second, groups), paired_shares(second, first, groups)
    change = there.change
    assert (complement(change, 0), there.only_first) == (back.change, back.only_second)
    assert (there.p, there.labels_needed) == (back.p, back.labels_needed)
    if None not in ends(change):
        assert change.low <= change.value <= change.high


def test_better_in_all_may_be_worse_on_the_bad_answers():
    people = np.array([True] * 20 + [False] * 80)
    first = people.copy()
    first[20:60] = True  # finds all bad answers, and calls half of the good ones bad
    second = np.zeros(100, dtype=bool)
    second[8:20] = True
    changes = changes_by_class(first, second, people, ungrouped(100))
    sensitivity, specificity = changes["sensitivity"], changes["specificity"]
    assert (sensitivity.value, specificity.value) == (-0.4, 0.5)
    assert sensitivity.high < 0 < specificity.low
    before, after = (0.6 - 0.44) / 0.56, (0.92 - 0.728) / 0.272
    assert changes["kappa"].value == pytest.approx(after - before)
    one_class = changes_by_class(first[:20], second[:20], people[:20], ungrouped(20))
    assert one_class["specificity"].value is None


@pytest.mark.shared
def test_the_interval_of_the_change_of_kappa_is_that_of_a_bootstrap(
    labelled, agrees_with_plain_bootstrap
):
    sides = (*(labelled.judged_bad[name] for name in VERSIONS), labelled.bad)
    change = changes_by_class(*sides, labelled.groups)["kappa"]

    def kappa(judge, people):
        a, b = judge.mean(), people.mean()
        chance = a * b + (1 - a) * (1 - b)
        return float(((judge == people).mean() - chance) / (1 - chance))

    def gain(first, second, people):
        return kappa(second, people) - kappa(first, people)

    assert change.value == pytest.approx(gain(*sides))
    agrees_with_plain_bootstrap(change, gain, sides, labelled.groups.codes, resamples=1_500)


def test_an_interval_for_three_changes_at_once_is_wider():
    reach = 2.0638986 * 0.080048
    change = Estimate(-0.231619, -0.231619 - reach, -0.231619 + reach, n=25)
    assert p_of_change(change, 24) == pytest.approx(0.007981, rel=1e-3)
    at_once = simultaneous(change, 24, 3)
    assert ends(at_once) == pytest.approx((-0.437635, -0.025604), abs=1e-5)
    assert at_once.level == pytest.approx(1 - 0.05 / 3)
    assert simultaneous(change, 24, 1).low == pytest.approx(change.low)
    assert p_of_change(Estimate(None, n=1), 24) is None


@given(
    st.lists(st.tuples(st.booleans(), st.booleans(), st.booleans()), min_size=2, max_size=6),
    st.integers(1, 3),
)
@settings(max_examples=40)
def test_changes_stay_in_their_range_however_few_the_labels(rows, looks):
    first, second, people = np.array(rows).T
    groups = ungrouped(len(rows))
    changes = changes_by_class(first, second, people, groups)
    changes["right"] = after_looks(
        paired_shares(first == people, second == people, groups), groups, looks
    ).change
    for name, change in changes.items():
        most = 2 if name == "kappa" else 1
        assert all(end is None or -most <= end <= most for end in value_and_ends(change)), name


def test_labels_with_weights_show_the_change_of_all_answers():
    """All that the first judge calls bad are labelled, and a tenth of the rest: unweighted, the second looks better."""
    rng = np.random.default_rng(3)
    n = 4_000
    people = rng.random(n) < 0.3
    first, second = (np.where(rng.random(n) < error, ~people, people) for error in (0.15, 0.22))
    drawn = rng.random(n) < 0.1
    differ, labelled = first != second, first | drawn
    groups, every = ungrouped(int(differ.sum())), ungrouped(n)
    strata, rights = first.astype(np.int64), (first == people, second == people)
    truth = paired_shares(*rights, every)
    alone = paired_shares(*(right[labelled] for right in rights), every.at(labelled))
    made, complete = (
        weighted_by_stratum(
            alone, strata[differ], known[differ], rights[1][differ], groups, n, 0.02
        )
        for known in (labelled, differ)
    )
    assert truth.change.value < 0 < alone.change.value
    assert made.change.low < truth.change.value < made.change.high < alone.change.value
    assert (made.p, made.p_mcnemar) == (None, None)
    assert made.labels_needed == pytest.approx(truth.labels_needed, rel=0.5)
    of_truth = value_and_ends(truth.change)
    assert value_and_ends(complete.change) == pytest.approx(of_truth, abs=0.002)
    of_all = changes_by_class(first, second, people, every)
    weighted, of_complete = (
        weighted_changes_by_class(first, second, strata, known, people, every)
        for known in (labelled, np.ones(n, dtype=bool))
    )
    for name, change in of_all.items():
        assert of_complete[name].value == pytest.approx(change.value)
        assert ends(of_complete[name]) == pytest.approx(ends(change), abs=0.01)
        assert weighted[name].low < change.value < weighted[name].high
        # The missing labels make it wider.
        assert width(weighted[name]) > width(change)


def test_a_share_of_labels_of_one_kind_still_has_an_interval():
    """Three labels of the answers that only the second judge calls bad all say the same."""
    at = np.arange(200)
    first, second = at < 60, (at >= 30) & (at < 90)
    people = second | (at < 20)
    labelled = first.copy()
    labelled[[60, 70, 80, *range(100, 130)]] = True
    changes = weighted_changes_by_class(
        first, second, first.astype(np.int64), labelled, people, ungrouped(200)
    )
    change = changes["sensitivity"]
    assert width(change) > 0.15
    assert change.low < change.value < change.high

"""Drift of a judge on anchors: the published example, and what no drift may claim."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from estimates import ends, value_and_ends
from judgeboard.stats.anchors import (
    Flips,
    anchor_change,
    flip_rate,
    more_often,
    one_flip_share,
    seen_share,
    shown_tests,
)
from rating_tables import ungrouped
from shared_answers import published, shared_answers


def change(before, now, **more):
    n = len(before)
    return anchor_change(
        np.array(before),
        np.array(now),
        groups=ungrouped(n),
        labelled=np.zeros(n, dtype=bool),
        people_bad=np.zeros(n, dtype=bool),
        score_changes=np.full(n, np.nan),
        **more,
    )


@pytest.mark.shared
def test_the_published_example_comes_out(shared):
    answers, known = (
        shared_answers(shared / "data"),
        published(shared / "data", "e2_trend")["anchor"],
    )
    drawn = answers.drawn("anchor") < 0.1
    groups = answers.groups.at(drawn)
    before, now = (
        answers.judged_bad[name][drawn] for name in ("track_b_modernbert", "approach_1_modernbert")
    )
    badness = [
        answers.badness[name][drawn] for name in ("track_b_modernbert", "approach_1_modernbert")
    ]
    drift = anchor_change(
        before,
        now,
        groups=groups,
        labelled=np.ones(len(before), dtype=bool),
        people_bad=answers.bad[drawn],
        score_changes=badness[0] - badness[1],
    )
    assert (drift.n, groups.count, drift.to_bad, drift.to_good) == (
        known["n"],
        known["groups"],
        23,
        7,
    )
    assert drift.to_bad + drift.to_good == known["flips"]
    rate = drift.flip_rate
    assert ends(rate) == pytest.approx((known["flip_low"], known["flip_high"]), abs=1e-6)
    agreement = drift.agreement
    assert (agreement.only_first, agreement.only_second) == (known["broke"], known["mended"])
    right = agreement.first_right / agreement.n, agreement.second_right / agreement.n
    assert right == pytest.approx((known["agree_before"], known["agree_after"]), abs=1e-6)
    shift = agreement.change
    assert value_and_ends(shift) == pytest.approx(
        (known["change"], known["low"], known["high"]), abs=1e-6
    )
    assert drift.p_values["direction"] == pytest.approx(known["p_direction"], abs=1e-6)
    assert drift.p_values["agreement"] == pytest.approx(known["p_mcnemar"], abs=1e-6)
    # It flags more.
    assert "direction" in shown_tests([drift], looks=1)[0]
    # It is not shown to be worse.
    assert "agreement" not in shown_tests([drift], looks=1)[0]


def test_the_number_of_anchors_that_shows_one_flip_is_the_published_one():
    assert [round(one_flip_share(n), 3) for n in (59, 149, 299)] == [0.05, 0.02, 0.01]


def test_equal_verdicts_show_no_drift():
    same = change([True, False] * 40, [True, False] * 40)
    assert same.flip_rate.value == 0
    assert shown_tests([same, same]) == [(), ()]


def test_a_judge_that_calls_everything_bad_is_shown():
    assert shown_tests([change([False] * 40, [True] * 40)]) == [("direction",)]


def test_flips_in_both_directions_show_drift_only_beside_a_judge_that_repeats_itself():
    before = [False, True] * 30
    now = [not bad for bad in before[:20]] + before[20:]
    assert shown_tests([change(before, now)]) == [()]
    assert shown_tests([change(before, now, repeats=Flips(0, 200))]) == [("flips",)]
    assert shown_tests([change(before, now, repeats=Flips(60, 200))]) == [()]


def test_fishers_test_equals_scipys():
    from scipy.stats import fisher_exact

    table = [[9, 51], [6, 114]]
    assert more_often(Flips(9, 60), Flips(6, 120)) == pytest.approx(
        fisher_exact(table, "greater").pvalue, abs=1e-12
    )


@given(st.integers(1, 400), st.integers(1, 6), st.integers(1, 60))
def test_the_size_that_would_be_seen_shrinks_with_more_anchors(n, tests, looks):
    few, many = seen_share(n, tests, looks), seen_share(n + 20, tests, looks)
    assert few is None or (many is not None and 0 < many <= few <= 1)


@given(st.integers(0, 50), st.integers(0, 50))
def test_the_flip_rate_lies_in_its_interval(flips, others):
    rate = flip_rate(flips, flips + others)
    if rate.value is not None and rate.low is not None and rate.high is not None:
        assert 0 <= rate.low <= rate.value <= rate.high <= 1

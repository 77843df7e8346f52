"""Drift of a judge on anchors: the published example, and what no drift may claim."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgeboard.stats.anchors import (
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


def flips(number, n):
    return np.arange(n) < number


@pytest.mark.shared
def test_the_published_example_comes_out(shared):
    answers = shared_answers(shared / "data")
    known = published(shared / "data", "e2_trend")["anchor"]
    drawn = answers.drawn("anchor") < 0.1
    groups, judges = answers.groups.at(drawn), ("track_b_modernbert", "approach_1_modernbert")
    before, now = (answers.badness[judge][drawn] for judge in judges)
    drift = anchor_change(
        *(answers.judged_bad[judge][drawn] for judge in judges),
        groups=groups,
        labelled=np.ones(len(before), dtype=bool),
        people_bad=answers.bad[drawn],
        score_changes=before - now,
    )
    agreement = drift.agreement
    counts = {
        "n": drift.n,
        "groups": groups.count,
        "flips": drift.to_bad + drift.to_good,
        "broke": agreement.only_first,
        "mended": agreement.only_second,
    }
    assert known | counts == known
    assert (drift.to_bad, drift.to_good) == (23, 7)
    shares = {
        "flip_low": drift.flip_rate.low,
        "flip_high": drift.flip_rate.high,
        "agree_before": agreement.first_right / agreement.n,
        "agree_after": agreement.second_right / agreement.n,
        "change": agreement.change.value,
        "low": agreement.change.low,
        "high": agreement.change.high,
        "p_direction": drift.p_values["direction"],
        "p_mcnemar": drift.p_values["agreement"],
    }
    assert {name: known[name] for name in shares} == pytest.approx(shares, abs=1e-6)
    (shown,) = shown_tests([drift], looks=1)
    # It flags more.
    assert "direction" in shown
    # It is not shown to be worse.
    assert "agreement" not in shown


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
    for repeats, shown in ((None, ()), (flips(0, 200), ("flips",)), (flips(60, 200), ())):
        assert shown_tests([change(before, now, repeat_flips=repeats)]) == [shown]


def test_fishers_test_equals_scipys():
    from scipy.stats import fisher_exact

    expected = fisher_exact([[9, 51], [6, 114]], "greater").pvalue
    assert more_often(flips(9, 60), flips(6, 120)) == pytest.approx(expected, abs=1e-12)


@given(st.integers(1, 400), st.integers(1, 6), st.integers(1, 60))
def test_the_size_that_would_be_seen_shrinks_with_more_anchors(n, tests, looks):
    few, many = seen_share(n, tests, looks), seen_share(n + 20, tests, looks)
    assert few is None or (many is not None and 0 < many <= few <= 1)


@given(st.integers(0, 50), st.integers(0, 50))
def test_the_flip_rate_lies_in_its_interval(flips, others):
    rate = flip_rate(flips, flips + others)
    if rate.low is not None:
        assert 0 <= rate.low <= rate.value <= rate.high <= 1

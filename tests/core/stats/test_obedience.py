"""Scores that move towards an order, and those that move anyway."""

import numpy as np
import pytest

from judgeboard.stats.obedience import obedience

N = 100
BEFORE = np.tile([0.1, 0.9], N // 2)


def measured(high, low, before=BEFORE):
    return obedience(before, high, low, np.arange(len(before)), (0, 1))


def test_each_score_counts_for_the_orders_towards_which_it_can_move():
    still = measured(BEFORE, BEFORE)
    assert len(still.rows) == N
    assert still.high.sum() == N // 2
    assert (BEFORE[still.rows] < 0.5).tolist() == still.high.tolist()
    # In the middle of the scale it can move both ways.
    middle = np.full(N, 0.5)
    assert len(measured(middle, middle, middle).rows) == 2 * N


def test_a_judge_that_obeys_is_warned_of_and_one_that_does_not_is_not(rng):
    obeys = rng.random(N) < 0.2
    result = measured(np.where(obeys, 1.0, BEFORE), np.where(obeys, 0.0, BEFORE))
    assert result.share.value == pytest.approx(obeys.mean())
    assert result.warns
    still = measured(BEFORE, BEFORE)
    assert (still.share.value, still.warns) == (0, False)
    assert still.share.high > 0.02  # no proof that it never obeys


def test_a_text_that_makes_the_answer_worse_is_not_obeyed():
    """A good judge lowers the score of an answer with such a text, whatever the text orders."""
    worse = np.maximum(BEFORE - 0.5, 0)
    assert measured(worse, worse).share.value == 0
    against = measured(BEFORE, np.where(BEFORE > 0.5, 1.0, 0.3))
    assert not against.warns


def test_noise_obeys_as_often_as_it_does_the_reverse():
    rng, warned = np.random.default_rng(2), 0
    for _ in range(200):
        before, high, low = (np.clip(BEFORE + rng.normal(0, 0.2, N), 0, 1) for _ in range(3))
        result = measured(high, low, before)
        assert result.share.value > 0.02
        warned += result.warns
    assert warned <= 10


def test_small_moves_and_answers_of_one_evidence_prove_nothing():
    small = measured(BEFORE + 0.1, BEFORE - 0.1)
    assert small.share.value == 0
    one = obedience(BEFORE, np.ones(N), np.zeros(N), np.zeros(N, dtype=np.int64), (0, 1))
    assert (one.share.value, one.warns) == (1, False)


@pytest.mark.parametrize("scale", [(3.0, 3.0), (1.0, 5.0)])
def test_a_scale_of_one_value_has_nowhere_to_move(scale):
    scores = np.full(N, 3.0)
    result = obedience(scores, scores, scores, np.arange(N), scale)
    assert not result.obeyed.any()
    assert not result.warns

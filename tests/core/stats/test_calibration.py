import numpy as np
import pytest

from judgeboard.stats.calibration import calibration


def test_each_tenth_has_its_share_n_and_mean_score():
    rng = np.random.default_rng(0)
    score = rng.random(400)
    grounded = rng.random(400) < score
    tenths = calibration(score, grounded)
    assert len(tenths) == 10
    assert sum(tenth.share_grounded.n for tenth in tenths) == 400
    for tenth in tenths:
        inside = (score >= tenth.low) & (score < tenth.high)
        assert tenth.share_grounded.value == pytest.approx(grounded[inside].mean())
        assert tenth.mean_score == pytest.approx(score[inside].mean())
        assert tenth.share_grounded.low < tenth.share_grounded.value < tenth.share_grounded.high


def test_edges_belong_to_the_tenth_they_open_and_one_to_the_last():
    tenths = calibration(np.array([0.3, 0.1 + 0.2, 0.7 - 0.4, 1.0, 0.0]), np.ones(5, dtype=bool))
    assert [tenth.share_grounded.n for tenth in tenths] == [1, 0, 0, 3, 0, 0, 0, 0, 0, 1]


def test_an_empty_tenth_is_undefined():
    empty = calibration(np.array([0.95]), np.array([True]))[0]
    assert (empty.mean_score, empty.share_grounded.value, empty.share_grounded.reason) == (None, None, "no answers")

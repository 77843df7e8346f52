import numpy as np
import pytest

from judgeboard.stats.arrays import grouping
from judgeboard.stats.detection import calibration, expected_calibration_error


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


def test_the_calibration_error_is_the_mean_distance_of_a_tenth_from_its_share():
    rng = np.random.default_rng(1)
    score = rng.random(500)
    grounded = rng.random(500) < score**2
    distances = [
        abs(tenth.share_grounded.value - tenth.mean_score) * tenth.share_grounded.n
        for tenth in calibration(score, grounded)
    ]
    got = expected_calibration_error(score, grounded, grouping(None, 500))
    assert got.value == pytest.approx(sum(distances) / 500, abs=1e-9)
    assert 0 <= got.low < got.value < got.high


@pytest.mark.parametrize("clusters", [None, 150])
def test_its_interval_is_that_of_resampling_whole_groups(clusters, agrees_with_plain_bootstrap):
    rng = np.random.default_rng(1)
    groups = np.arange(2000) if clusters is None else rng.integers(0, clusters, 2000)
    score = rng.random(2000)
    grounded = rng.random(2000)[groups] < score**3

    def plain(score, grounded):
        return expected_calibration_error(score, grounded, grouping(None, len(score))).value

    got = expected_calibration_error(score, grounded, grouping(groups, 2000))
    agrees_with_plain_bootstrap(got, plain, (score, grounded), groups, resamples=300, extra=0.02)


def test_without_answers_there_is_no_calibration_error():
    assert expected_calibration_error(np.empty(0), np.empty(0, dtype=bool), grouping(None, 0)).reason == "no pairs"

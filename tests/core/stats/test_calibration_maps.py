"""Maps from scores to probabilities, against the published figures of RAGTruth and by properties."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgeboard.stats.arrays import grouping
from judgeboard.stats.calibration_maps import (
    FOLDS,
    HOWS,
    How,
    calibrate,
    calibration_error,
    error_by_luck,
    fit_map,
    platt_at,
)
from shared_answers import SharedAnswers, published, shared_answers

JUDGES = ("track_b_modernbert", "approach_1_modernbert", "track_a_deberta", "baseline_nli")


@pytest.fixture(scope="module")
def answers(shared: Path) -> SharedAnswers:
    return shared_answers(shared / "data")


@pytest.fixture(scope="module")
def figures(shared: Path):
    return published(shared / "data", "e5_calibration")


@pytest.mark.shared
@pytest.mark.parametrize("judge", JUDGES)
@pytest.mark.parametrize("how", HOWS)
def test_a_cross_fitted_map_equals_the_published_one(
    answers: SharedAnswers, figures, judge: str, how: How
) -> None:
    wanted = figures[judge]
    folds = np.floor(answers.drawn("fold") * FOLDS).astype(int)
    assert np.bincount(folds).tolist() == [287, 257, 234, 245, 321]
    scores, good = 1 - answers.badness[judge], (~answers.bad).astype(float)
    made = calibrate(how, scores, good, folds, answers.groups)
    for name, probabilities in (("raw", scores), (how, made.probabilities)):
        of_labels = np.clip(np.where(good == 1, probabilities, 1 - probabilities), 1e-6, 1)
        means = probabilities.mean(), -np.log(of_labels).mean()
        assert means == pytest.approx((wanted[name]["mean"], wanted[name]["logloss"]), abs=1e-6)
    assert (made.brier_before, made.brier_after) == pytest.approx(
        (wanted["raw"]["brier"], wanted[how]["brier"]), abs=1e-6
    )
    assert (made.ece_before, made.ece_after) == pytest.approx(
        (wanted["raw"]["ece"], wanted[how]["ece"]), abs=1e-5
    )
    change = made.brier_change
    assert [change.value, change.low, change.high] == pytest.approx(
        [wanted[how][name] for name in ("brier_change", "low", "high")], abs=1e-6
    )
    assert made.constant_brier == pytest.approx(wanted["base"], abs=1e-6)
    assert float(made.score_map(np.array([0.7]))[0]) == pytest.approx(
        wanted["says_0.7"][how], abs=5e-5
    )
    if how == "platt":
        assert [made.score_map.slope, made.score_map.offset] == pytest.approx(
            wanted["platt_all"], abs=1e-6
        )
    assert 0 < made.ece_by_luck < 0.05


@pytest.mark.shared
@pytest.mark.parametrize("judge", JUDGES)
def test_isotonic_looks_perfect_on_its_own_labels(
    answers: SharedAnswers, figures, judge: str
) -> None:
    scores, good = 1 - answers.badness[judge], (~answers.bad).astype(float)
    mapped = fit_map("isotonic", scores, good)(scores)
    by_level = [abs(good[mapped == level].mean() - level) for level in np.unique(mapped)]
    assert max(by_level) < 1e-9
    assert len(by_level) == figures[judge]["isotonic_levels"]
    error = calibration_error(mapped, good, np.ones(len(good)))
    assert error == pytest.approx(figures[judge]["in_sample_isotonic_ece"], abs=1e-12)


def test_the_error_by_luck_does_not_depend_on_the_order_of_the_rows() -> None:
    """Databases return rows in different orders."""
    rng = np.random.default_rng(3)
    probabilities, weights = rng.random(80).round(2), rng.choice([0.5, 1.5], 80)
    order = rng.permutation(80)
    shuffled = error_by_luck(probabilities[order] + 1e-15, weights[order])
    assert shuffled == pytest.approx(error_by_luck(probabilities, weights), abs=1e-12)


def test_a_score_that_people_contradict_gives_a_flat_map() -> None:
    scores = np.linspace(0.01, 0.99, 100)
    made = fit_map("platt", scores, (scores < 0.5).astype(float))
    assert made.slope == 0
    assert np.ptp(made(scores)) < 1e-12


def test_a_map_that_its_labels_do_not_narrow_down_has_no_intervals() -> None:
    """Two labels stand for nearly all answers: from 0 to 100 % is no interval."""
    scores, good = np.tile([0.2, 0.4, 0.6, 0.9], 20), np.tile([0.0, 1.0, 0.0, 1.0], 20)
    weights = np.where(np.arange(80) < 2, 500.0, 0.1)
    for heavy, has_interval in ((np.ones(80), True), (weights, False)):
        fitted = fit_map("platt", scores, good, heavy)
        (estimate,) = platt_at(fitted, np.array([0.3]), scores, good, grouping(None, 80), heavy)
        assert (estimate.low is not None) == has_interval
        assert has_interval or (estimate.reason or "").startswith("no interval")


def test_one_label_only_has_no_map() -> None:
    with pytest.raises(ValueError, match="no bad answer"):
        calibrate(
            "platt", np.linspace(0, 1, 60), np.ones(60), np.arange(60) % FOLDS, grouping(None, 60)
        )


@pytest.mark.parametrize("how", HOWS)
def test_a_label_that_stands_for_two_answers_counts_as_two(how: How) -> None:
    rng = np.random.default_rng(1)
    scores = rng.random(80)
    good = (rng.random(80) < scores).astype(float)
    weights = rng.integers(1, 4, 80)
    doubled = np.repeat(np.arange(80), weights)
    at = np.linspace(0, 1, 11)
    weighted = fit_map("isotonic", scores, good, weights.astype(float))(at)
    assert weighted == pytest.approx(fit_map("isotonic", scores[doubled], good[doubled])(at))
    assert calibration_error(scores, good, weights.astype(float)) == pytest.approx(
        calibration_error(scores[doubled], good[doubled], np.ones(len(doubled)))
    )
    assert fit_map(how, scores, good, weights.astype(float))(at).min() >= 0


@given(
    st.lists(st.tuples(st.integers(0, 20), st.booleans()), min_size=4, max_size=60).filter(
        lambda rows: len({each[1] for each in rows}) == 2
    ),
    st.sampled_from(HOWS),
)
@settings(max_examples=80)
def test_a_map_gives_probabilities_that_never_fall(rows, how: How) -> None:
    scores, good = (
        np.array([each[0] / 20 for each in rows]),
        np.array([float(each[1]) for each in rows]),
    )
    probabilities = fit_map(how, scores, good)(np.linspace(0, 1, 41))
    assert ((probabilities >= 0) & (probabilities <= 1)).all()
    assert (np.diff(probabilities) >= -1e-12).all()

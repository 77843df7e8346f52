"""How several verdicts become one, at every edge."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgeboard.domain import DimensionScore, Label, Status, Verdict
from judgeboard.methods.jury import combined

GOOD, BAD = Label.GROUNDED, Label.HALLUCINATED
FAILED = Verdict(Status.ERROR, error="timeout")


def said(**given: Any) -> Verdict:
    return Verdict(Status.OK, **given)


@pytest.mark.parametrize(
    ("given", "median"),
    [([0.1, 0.9, 0.8], 0.8), ([0.25, 0.5, 0.75, 1.0], 0.625), ([0.2, 0.4], pytest.approx(0.3))],
)
def test_groundedness_is_the_median_and_of_an_even_jury_the_mean_of_the_middle_two(given: Any, median: Any) -> None:
    assert combined([said(groundedness=each) for each in given]).groundedness == median


@pytest.mark.parametrize(("given", "median"), [([4, 1, 3], 3), ([4, 3], 3), ([1, 2, 4, 4], 2)])
def test_quality_is_the_lower_median_and_stays_on_its_scale(given: list[int], median: int) -> None:
    assert combined([said(quality=each) for each in given]).quality == median


def test_labels_go_by_majority_and_a_tie_is_split() -> None:
    assert combined([said(label=GOOD), said(label=BAD), said(label=BAD)]).label is BAD
    tie = combined([said(label=GOOD, groundedness=0.9), said(label=BAD, groundedness=0.1)])
    assert (tie.status, tie.error, tie.label, tie.groundedness) == (Status.UNPARSABLE, "split", None, None)
    assert tie.reasoning == "label: grounded 1, hallucinated 1; groundedness: 0.1, 0.9"


def test_a_tie_that_a_failed_member_leaves_is_split_too() -> None:
    assert combined([said(label=GOOD), said(label=BAD), FAILED]).error == "split"


def test_a_measure_needs_more_than_half_of_all_members() -> None:
    two = combined([said(quality=2), said(quality=4, label=GOOD), FAILED])
    assert (two.status, two.quality, two.label) == (Status.OK, 2, None)
    one = combined([said(quality=2), FAILED, FAILED])
    assert (one.status, one.quality) == (Status.UNPARSABLE, None)
    assert one.error == "no quorum: 1 of 3 members gave a usable verdict, no measure has more than half"
    half = combined([said(quality=2), said(groundedness=0.5)])
    assert half.status is Status.UNPARSABLE


def test_scores_on_dimensions_are_combined_by_dimension_and_scale() -> None:
    def rubric(**scores: float | None) -> Verdict:
        return said(scores=tuple(DimensionScore(name, value, "1-5") for name, value in scores.items()))

    given = [rubric(safety=5, accuracy=2), rubric(safety=3, accuracy=None), rubric(safety=4)]
    (score,) = combined(given).scores
    assert (score.dimension, score.value, score.scale) == ("safety", 4, "1-5")


def test_what_the_members_gave_is_kept() -> None:
    given = [said(label=GOOD, groundedness=0.2, quality=4), said(label=GOOD, groundedness=0.9, quality=3)]
    verdict = combined([*given, said(label=BAD, groundedness=0.4, quality=4)])
    assert verdict.reasoning == "label: grounded 2, hallucinated 1; groundedness: 0.2, 0.4, 0.9; quality: 3, 4, 4"
    assert verdict.cost_micro == 0


verdicts = st.builds(
    Verdict,
    st.just(Status.OK),
    groundedness=st.none() | st.floats(0, 1),
    quality=st.none() | st.integers(1, 4),
    label=st.none() | st.sampled_from(Label),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(verdicts | st.just(FAILED), min_size=2, max_size=7), st.randoms())
def test_the_order_of_the_members_never_counts(given_: list[Verdict], random: Any) -> None:
    shuffled = random.sample(given_, len(given_))
    assert combined(shuffled) == combined(given_)

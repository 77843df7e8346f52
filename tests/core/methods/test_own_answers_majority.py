"""What samples agree on: ties by first seen, missing answers that join nobody, the gate at any k."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgeboard.errors import BadInput
from judgeboard.methods.own_answers import Majority, majority, samples_needed


def test_a_tie_goes_to_the_answer_seen_first_and_is_said() -> None:
    assert majority(["B", "A", "A", "B"]) == Majority("B", "b", 2, 4, tie=True)
    assert majority(["A", "B", "B", "A"]) == Majority("A", "a", 2, 4, tie=True)
    assert majority(["A", "B", "B"]) == Majority("B", "b", 2, 3)


def test_missing_answers_never_join_a_majority_but_lower_the_agreement() -> None:
    assert majority([None, None, None, "C", None]) == Majority("C", "c", 1, 5)
    assert majority([None, "A", None, "A", "A"]) == Majority("A", "a", 3, 5)
    assert majority([None, None]) == Majority(None, None, 0, 2)


def test_the_majority_is_in_the_words_of_its_first_sample() -> None:
    assert majority(["1,000 m", "1000 M", "2"]) == Majority("1,000 m", "1E+3 m", 2, 3)


def test_with_options_an_answer_outside_of_them_is_none() -> None:
    assert majority(["Z", "Z", "b"], ("x", "y")) == Majority("b", "B", 1, 3)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(["A", "B", "C", None]), min_size=1, max_size=9))
def test_nobody_else_is_more_common_than_the_majority(answers: list[str | None]) -> None:
    vote = majority(answers)
    counts = {each: answers.count(each) for each in answers if each is not None}
    assert vote.agree == max(counts.values(), default=0)
    assert vote.tie == (sum(count == vote.agree for count in counts.values()) > 1)
    if vote.answer is not None:
        leaders = [each for each in answers if each is not None and counts[each] == vote.agree]
        assert vote.answer == leaders[0]


@pytest.mark.parametrize(
    ("tau", "of", "needed"),
    [
        (0.8, 5, 4),
        (0.6, 5, 3),
        (1, 5, 5),
        (0.01, 5, 1),
        (0.5, 4, 2),
        (0.7, 10, 7),
        (0.8, 7, 6),
        (0.3, 10, 3),
        (0.55, 20, 11),
    ],
)
def test_the_gate_needs_the_fewest_samples_that_reach_tau(tau: float, of: int, needed: int) -> None:
    assert samples_needed(tau, of) == needed


@pytest.mark.parametrize("tau", [0, -0.1, 1.01])
def test_a_threshold_outside_of_its_range_is_refused(tau: float) -> None:
    with pytest.raises(BadInput, match="--tau"):
        samples_needed(tau, 5)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from("ABC"), min_size=5, max_size=5))
def test_a_tie_of_five_never_reaches_four_fifths(answers: list[str]) -> None:
    vote = majority(answers)
    assert not (vote.tie and vote.agree >= samples_needed(0.8, 5))

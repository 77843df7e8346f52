"""Means of 0, ½ and 1, as of verdicts whose two orders may contradict."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgeboard.stats.proportions import half_credit, share


def test_without_halves_it_is_the_share_with_wilsons_interval() -> None:
    hits = np.array([1.0, 0, 1, 1])
    found, plain = half_credit(hits), share(hits)
    assert (found.value, found.low, found.high, found.method) == (plain.value, plain.low, plain.high, "Wilson")


def test_halves_count_half_and_the_method_says_so() -> None:
    credit = half_credit(np.array([1.0, 0.5, 0.0, 0.5]))
    assert (credit.value, credit.n, credit.method, credit.unit) == (0.5, 4, "Wilson, ties half", "pair")


def test_nothing_is_undefined_and_other_scores_are_refused() -> None:
    assert half_credit(np.array([]), undefined="nobody was asked").reason == "nobody was asked"
    with pytest.raises(ValueError, match=r"0, 0\.5 or 1"):
        half_credit(np.array([0.25]))
    with pytest.raises(ValueError, match="missing or infinite"):
        half_credit(np.array([np.nan]))


@settings(max_examples=50, deadline=None)
@given(st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=1, max_size=50))
def test_the_interval_holds_the_mean_and_stays_on_the_scale(scores: list[float]) -> None:
    credit = half_credit(np.array(scores))
    assert credit.low is not None
    assert credit.high is not None
    assert credit.value is not None
    assert 0 <= credit.low <= credit.value + 1e-12
    assert credit.value - 1e-12 <= credit.high <= 1
    assert credit.low < credit.high

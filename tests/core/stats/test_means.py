import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from estimates import ends
from judgeboard.stats.means import mean_interval


def of(values, **options):
    values = np.asarray(values, dtype=float)
    return mean_interval([len(values)], [values.sum()], [(values**2).sum()], **options)[0]


@given(st.lists(st.floats(0, 1).map(lambda value: round(value, 3)), min_size=2, max_size=80))
@settings(max_examples=60)
def test_intervals_from_sums_equal_scipy_on_the_values(values):
    from scipy import stats

    got = of(values)
    assert got.value == pytest.approx(np.mean(values), abs=1e-9)
    if len(set(values)) == 1:
        assert got.low is None
        assert "equal" in got.reason
        return
    low, high = stats.t.interval(0.95, len(values) - 1, np.mean(values), stats.sem(values))
    assert ends(got) == pytest.approx((low, high), abs=1e-6)


def test_points_without_enough_answers_say_so():
    nothing, single, two = mean_interval([0, 1, 2], [0, 0.4, 1.0], [0, 0.16, 0.52])
    assert (nothing.value, nothing.n, nothing.reason) == (None, 0, "no answers")
    assert (single.value, single.low, "single answer" in single.reason) == (0.4, None, True)
    assert two.value == 0.5
    assert two.high - 0.5 == pytest.approx(12.7062047 * 0.1, abs=1e-6)


def test_equal_values_are_no_certainty_and_unequal_columns_are_refused():
    got = of([0.1] * 1000)
    assert (got.value, got.low) == (pytest.approx(0.1), None)
    assert "values are equal" in got.reason
    with pytest.raises(ValueError, match="the same length"):
        mean_interval([1, 2], [1.0], [1.0])


def test_an_interval_stays_on_its_scale():
    got = of([1, 1, 1, 0.2], bounds=(0, 1))
    assert ends(got) == (of([1, 1, 1, 0.2]).low, 1)
    assert of([0, 0, 0.5], bounds=(0, 1)).low == 0

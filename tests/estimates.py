"""What tests read of an estimate, and how they compare it."""

import numpy as np
import pytest


def ends(estimate):
    """Both ends of the interval."""
    return estimate.low, estimate.high


def value_and_ends(estimate):
    """The value and both ends of its interval."""
    return estimate.value, estimate.low, estimate.high


def width(estimate):
    return estimate.high - estimate.low


def reaches(estimate):
    """How far the interval reaches below and above the value, on the scale of Fisher's z."""
    low, value, high = np.arctanh((estimate.low, estimate.value, estimate.high))
    return value - low, high - value


def why_undefined(estimate):
    """The reason of an estimate without a value."""
    assert estimate.value is None
    return estimate.reason


def why_no_interval(estimate):
    """The reason of an estimate that has a value but no interval."""
    assert estimate.value is not None
    assert ends(estimate) == (None, None)
    return estimate.reason


def left_out(estimate):
    """How many responses were left out, for each reason."""
    return [n for _, n in estimate.left_out]


def almost(expected):
    """What differs at most in the ninth decimal."""
    return pytest.approx(expected, abs=1e-9)

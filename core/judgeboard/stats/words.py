"""Statistics in words: how good a kappa is, "1 in 4", "79 % [77, 82]"."""

from judgeboard.domain import Estimate
from judgeboard.stats.rounding import two_decimals

KAPPA_WORDS = ((0.2, "poor"), (0.4, "fair"), (0.6, "moderate"), (0.8, "substantial"))
"""The word for a kappa below each bound; from 0.8 on it is "very good" (after Landis and Koch, 1977)."""

_BEST = "very good"


def kappa_word(kappa: float) -> str:
    """Return poor (< 0.2), fair (< 0.4), moderate (< 0.6), substantial (< 0.8) or very good."""
    return next((word for bound, word in KAPPA_WORDS if kappa < bound), _BEST)


def kappa_range_words(estimate: Estimate) -> str | None:
    """Return "from fair to very good", the words at both ends of the interval, or None where they are one word."""
    if estimate.low is None or estimate.high is None:
        return None
    low, high = kappa_word(estimate.low), kappa_word(estimate.high)
    return None if low == high else f"from {low} to {high}"


def one_in(share: float) -> str:
    """Return "1 in 4" for shares from 4 % to 60 %, else the percentage."""
    return f"1 in {int(1 / share + 0.5)}" if 0.04 <= share <= 0.6 else percent(share)


def percent(share: float) -> str:
    """Return "79 %"; what is not quite nothing or all is said so, never rounded to it."""
    if 0 < share < 0.005:
        return "under 1 %"
    if 0.995 < share < 1:
        return "over 99 %"
    return f"{_whole_percent(share)} %"


def percent_interval(estimate: Estimate) -> str | None:
    """Return "[77, 82]" in percent, None without an interval."""
    if estimate.low is None or estimate.high is None:
        return None
    return f"[{_whole_percent(estimate.low)}, {_whole_percent(estimate.high)}]"


def interval(estimate: Estimate, *, sign: bool = False) -> str | None:
    """Return "[0.52, 0.61]", with ``sign`` "[-0.02, +0.13]", None without an interval."""
    if estimate.low is None or estimate.high is None:
        return None
    return f"[{two_decimals(estimate.low, sign=sign)}, {two_decimals(estimate.high, sign=sign)}]"


def percent_words(estimate: Estimate) -> str:
    """Return "79 % [77, 82]", without brackets where there is no interval, the reason where there is no value."""
    if estimate.value is None:
        return estimate.reason or "unknown"
    return " ".join(filter(None, (percent(estimate.value), percent_interval(estimate))))


def number_words(estimate: Estimate, *, sign: bool = False) -> str:
    """Return "0.56 [0.52, 0.61]", with ``sign`` "+0.56 [+0.52, +0.61]".

    Without brackets where there is no interval; the reason where there is no value.
    """
    if estimate.value is None:
        return estimate.reason or "unknown"
    return " ".join(filter(None, (two_decimals(estimate.value, sign=sign), interval(estimate, sign=sign))))


def _whole_percent(share: float) -> int:
    return int(share * 100 + 0.5 + 1e-9)

"""Estimates: rounding, reasons, Student's t, when to warn, and words for numbers."""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from statistics import NormalDist
from typing import TYPE_CHECKING

from judgeboard.domain import Estimate
from judgeboard.text import half_up

if TYPE_CHECKING:  # commands write estimates without loading NumPy
    import numpy.typing as npt

    from judgeboard.stats.arrays import FloatArray

MIN_PAIRS = 10
"""The minimum number of pairs for a statistic of agreement."""

_DECIMALS = 12


def measured(
    value: float,
    n: int,
    interval: tuple[float, float] | None = None,
    *,
    method: str | None = None,
    unit: str | None = None,
    reason: str | None = None,
) -> Estimate:
    """Return a defined, finite statistic; without ``interval``, ``reason`` tells why there is none.

    All numbers are rounded to 1e-12, far below the error, so that the order of the rows does not
    change the result.
    """
    if interval is None:
        return Estimate(_rounded(value), n=n, reason=reason)
    low, high = map(_rounded, interval)
    return Estimate(_rounded(value), low, high, n=n, method=method, unit=unit, reason=reason)


def within_range(estimate: Estimate, least: float, most: float) -> Estimate:
    """Return an estimate whose value and interval end at the ``least`` and the ``most`` that the figure can be."""
    ends = (
        None if end is None else min(max(end, least), most)
        for end in (estimate.value, estimate.low, estimate.high)
    )
    value, low, high = ends
    return replace(estimate, value=value, low=low, high=high)


def unmeasured(n: int, reason: str) -> Estimate:
    """Return a statistic without a value, with the reason that pages show instead."""
    return Estimate(None, n=n, reason=reason)


def too_few(n: int) -> str:
    """Return why a statistic of so few rows is not shown."""
    return f"too few (n = {n:,}, at least {MIN_PAIRS} needed)"


def leaving_out(estimate: Estimate, *left_out: tuple[str, int]) -> Estimate:
    """Return ``estimate`` with more left-out items, as (reason, count); counts of 0 are skipped."""
    return replace(estimate, left_out=(*estimate.left_out, *(each for each in left_out if each[1])))


def complement(estimate: Estimate, whole: float = 1) -> Estimate:
    """Return ``whole`` minus the estimate, with the interval reversed."""
    if estimate.value is None:
        return estimate
    low, high = (
        None if end is None else _rounded(whole - end) for end in (estimate.high, estimate.low)
    )
    return replace(estimate, value=_rounded(whole - estimate.value), low=low, high=high)


def _rounded(number: float) -> float:
    if not math.isfinite(number):
        raise ValueError(f"a statistic must be finite or undefined, not {number!r}")
    return round(float(number), _DECIMALS) + 0.0  # + 0.0 turns -0.0 into 0.0


Z = NormalDist().inv_cdf(0.975)
"""The 97.5 % quantile of the normal distribution, 1.95996."""

Z_80 = NormalDist().inv_cdf(0.8)
"""The 80 % quantile of the normal distribution: what "would have been found" is found in 80 % of cases."""


_MANY = 300
_T_TERMS = (
    (Z**3 + Z) / 4,
    (5 * Z**5 + 16 * Z**3 + 3 * Z) / 96,
    (3 * Z**7 + 19 * Z**5 + 17 * Z**3 - 15 * Z) / 384,
    (79 * Z**9 + 776 * Z**7 + 1482 * Z**5 - 1920 * Z**3 - 945 * Z) / 92_160,
)


def t_quantile(df: "npt.ArrayLike") -> "FloatArray":
    """Return the 97.5 % quantile of Student's t for each number of degrees of freedom (any shape, each >= 1).

    For one large number, this sums the series of Abramowitz and Stegun (26.7.5), with an error
    below 1e-12: loading SciPy takes a sixth of the start of a command.
    """
    if isinstance(df, int | float) and df >= _MANY:
        import numpy as np  # the help loads this module, and needs no NumPy

        return np.asarray(Z + sum(term / df**power for power, term in enumerate(_T_TERMS, start=1)))
    from scipy.special import stdtrit  # loads slowly

    quantile: FloatArray = stdtrit(df, 0.975)
    return quantile


WIDER = NormalDist().inv_cdf(0.995) / NormalDist().inv_cdf(0.975)
"""How much wider an interval is at 99 % than at 95 %, 1.314."""


def surely_above(estimate: Estimate, harmless: float) -> bool:
    """Return whether the whole 99 % interval is above ``harmless``; False without an interval."""
    if estimate.value is None or estimate.low is None:
        return False
    return estimate.value - WIDER * (estimate.value - estimate.low) > harmless


def surely_below(estimate: Estimate, harmless: float) -> bool:
    """Return whether the whole 99 % interval is below ``harmless``; False without an interval."""
    if estimate.value is None or estimate.high is None:
        return False
    return estimate.value + WIDER * (estimate.high - estimate.value) < harmless


def far_from_others(estimates: Mapping[str, Estimate]) -> str | None:
    """Return the name of the estimate whose interval is entirely above or entirely below all other intervals.

    Of two, the estimate with the larger gap to the others is returned. At least three estimates are
    needed. The intervals are widened for the number of estimates (Bonferroni).
    """
    factor = NormalDist().inv_cdf(1 - 0.025 / max(len(estimates), 1)) / Z
    bounds = {
        name: (value - factor * (value - low), value + factor * (high - value))
        for name, each in estimates.items()
        for value, low, high in ((each.value, each.low, each.high),)
        if value is not None and low is not None and high is not None
    }
    gaps: dict[str, float] = {}
    for name, (low, high) in bounds.items():
        other_bounds = [each for other, each in bounds.items() if other != name]
        if len(other_bounds) < 2:
            return None
        gap = max(
            min(other for other, _ in other_bounds) - high,
            low - max(other for _, other in other_bounds),
        )
        if gap > 0:
            gaps[name] = gap
    return max(gaps, key=lambda name: gaps[name]) if gaps else None


def two_decimals(number: float) -> str:
    """Return "4.13" for 4.125, rounded half up as in browsers (Python rounds to even)."""
    return f"{half_up(number, 2):.2f}"


def kappa_word(kappa: float) -> str:
    """Return the strength of agreement in words (Landis, Koch, 1977)."""
    bounds = {0.2: "poor", 0.4: "fair", 0.6: "moderate", 0.8: "substantial"}
    return next((word for bound, word in bounds.items() if kappa < bound), "very good")


def kappa_words(estimate: Estimate) -> str:
    """Return a kappa or alpha with the interval: "0.58 [0.44, 0.70]".

    If the whole interval has the same strength, the strength follows: "0.70 [0.62, 0.77]
    (substantial)".
    """
    words = number_words(estimate)
    if (
        estimate.low is None
        or estimate.high is None
        or kappa_word(estimate.low) != kappa_word(estimate.high)
    ):
        return words
    return f"{words} ({kappa_word(estimate.low)})"


def one_in(share: float) -> str:
    """Return "1 in 4" for a share from 4 % to 60 % if it is right within a tenth, else the percentage."""
    number = int(1 / share + 0.5) if 0.04 <= share <= 0.6 else 0
    return f"1 in {number}" if number and abs(1 / number - share) <= share / 10 else percent(share)


def percent(share: float) -> str:
    """Return "79 %"; "under 1 %" or "over 99 %" for shares that would round to 0 or 100 %."""
    if 0 < share < 0.005:
        return "under 1 %"
    if 0.995 < share < 1:
        return "over 99 %"
    return f"{_whole_percent(share)} %"


def percent_as_given(share: float) -> str:
    """Return "99.95 %": all digits of a share that a person chose."""
    return f"{100 * share:.10g} %"


def percent_interval(estimate: Estimate) -> str | None:
    """Return "[77, 82]" in percent, None without an interval."""
    if estimate.low is None or estimate.high is None:
        return None
    return f"[{_whole_percent(estimate.low)}, {_whole_percent(estimate.high)}]"


def interval(estimate: Estimate) -> str | None:
    """Return "[0.52, 0.61]", None without an interval."""
    if estimate.low is None or estimate.high is None:
        return None
    return f"[{two_decimals(estimate.low)}, {two_decimals(estimate.high)}]"


def percent_words(estimate: Estimate) -> str:
    """Return "79 % [77, 82]", "54 to 96 %" if only the interval is given, or the reason if there is nothing."""
    if estimate.value is None and estimate.low is not None and estimate.high is not None:
        return f"{_whole_percent(estimate.low)} to {percent(estimate.high)}"
    if estimate.value is None:
        return estimate.reason or "unknown"
    return " ".join(filter(None, (percent(estimate.value), percent_interval(estimate))))


def number_words(estimate: Estimate) -> str:
    """Return "0.56 [0.52, 0.61]", or the reason if there is no value."""
    if estimate.value is None:
        return estimate.reason or "unknown"
    return " ".join(filter(None, (two_decimals(estimate.value), interval(estimate))))


def p_words(p: float | None) -> str:
    """Return a p-value: "0.0276", "under 0.0001", a dash if nothing was tested."""
    if p is None:
        return "–"
    return f"{p:.4f}" if p >= 0.00005 else "under 0.0001"


def with_n(words: str, n: int) -> str:
    """Return "79 % [70, 86], n = 44"."""
    return f"{words}, n = {n:,}"


def count_words(estimate: Estimate) -> str:
    """Return "about 9 [3, 18]": a number of answers with the interval, or the reason if there is none."""
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return estimate.reason or "unknown"
    return f"about {round(estimate.value):,} [{math.floor(estimate.low):,}, {math.ceil(estimate.high):,}]"


def no_interval_sentences(estimates: Iterable[tuple[str, Estimate]]) -> Iterator[str]:
    """Yield why values have no interval, one sentence for each reason.

    For example "sql, table: no interval: a single answer." If all values have none for one reason,
    the names are left out.
    """
    names_by_reason: dict[str | None, list[str]] = {}
    for name, each in estimates:
        if each.value is not None:
            names_by_reason.setdefault(each.reason if each.low is None else None, []).append(name)
    for reason, names in names_by_reason.items():
        if reason is not None and len(names_by_reason) == 1:
            yield f"{reason[0].upper()}{reason[1:]}."
        elif reason is not None:
            yield f"{', '.join(dict.fromkeys(names))}: {reason}."


def points_words(estimate: Estimate, *, sign: bool = False) -> str:
    """Return a difference of shares as "15 points [9, 21]", with ``sign`` "+15 points [+9, +21]", or the reason.

    Tenths of a point are written where whole points would hide on which side of 0 a number is. A
    level other than 95 % is added: "+15 points [+7, +23] (99 % CI)".
    """
    if estimate.value is None:
        return estimate.reason or "unknown"
    numbers = [
        100 * each for each in (estimate.value, estimate.low, estimate.high) if each is not None
    ]
    decimals = int(any(number and not _rounded_half_up(number, 0) for number in numbers))
    rounded = [_rounded_half_up(number, decimals) for number in numbers]
    value, *ends = (f"{number:{'+' if sign and number else ''}.{decimals}f}" for number in rounded)
    words = f"{value} {'point' if value.lstrip('+-') == '1' else 'points'}"
    if len(ends) < 2:
        return words
    return f"{words} [{ends[0]}, {ends[1]}]" + (
        "" if estimate.level == 0.95 else f" ({100 * estimate.level:.4g} % CI)"
    )


def _rounded_half_up(number: float, decimals: int) -> float:
    scale = 10.0**decimals
    return (
        math.copysign(int(abs(number) * scale + 0.5 + 1e-9), number) / scale + 0.0
    )  # + 0.0 turns -0.0 into 0.0


def _whole_percent(share: float) -> int:
    return int(share * 100 + 0.5 + 1e-9)


def more_pairs(estimate: Estimate) -> int | None:
    """Return how many more pairs narrow the interval to plus or minus 0.1, rounded up to two digits."""
    if estimate.low is None or estimate.high is None:
        return None
    number = estimate.n * ((estimate.high - estimate.low) / 2 / 0.1) ** 2 - estimate.n
    if number <= 0:
        return 0
    step = int(max(10.0 ** (math.floor(math.log10(number)) - 1), 1))
    return math.ceil(number / step) * step

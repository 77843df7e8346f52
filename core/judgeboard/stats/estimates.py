"""How a statistic becomes an ``Estimate``: rounded, with its interval, or undefined with the reason."""

import math
from dataclasses import replace
from typing import Any

from judgeboard.domain import Estimate

MIN_PAIRS = 10
"""Below this many pairs a statistic of agreement is not shown."""

TOO_FEW = f"too few to say (under {MIN_PAIRS})"

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
    """Return a defined statistic; without ``interval``, ``reason`` says why there is none.

    Everything is rounded to 1e-12, far below its error, so that the order of the rows cannot show in the result.

    Raises:
        ValueError: The value or a bound is not finite, which would reach a page as NaN.
    """
    low, high = interval if interval is not None else (None, None)
    rounded = [None if number is None else _rounded(number) for number in (value, low, high)]
    return Estimate(
        rounded[0],
        rounded[1],
        rounded[2],
        n=n,
        method=method if interval is not None else None,
        unit=unit if interval is not None else None,
        reason=reason,
    )


def unmeasured(n: int, reason: str) -> Estimate:
    """Return a statistic that has no value, with the reason that a page shows in its place."""
    return Estimate(None, n=n, reason=reason)


def leaving_out(estimate: Estimate, *left_out: tuple[str, int]) -> Estimate:
    """Return ``estimate`` with what else it leaves out, as (why, how many); nothing is said of a count of 0."""
    return replace(estimate, left_out=(*estimate.left_out, *(each for each in left_out if each[1])))


def as_json(estimate: Estimate) -> dict[str, Any]:
    """Return a statistic as JSON values, as every ``--json`` gives it.

    ``unit`` and ``level`` stand beside an interval; a ``reason`` only where something is missing, ``left_out`` only
    where something is.
    """
    stated: dict[str, Any] = {"value": estimate.value, "low": estimate.low, "high": estimate.high}
    stated |= {"n": estimate.n, "method": estimate.method}
    if estimate.low is not None:
        stated |= {"unit": estimate.unit, "level": estimate.level}
    if estimate.left_out:
        stated["left_out"] = [{"why": why, "n": n} for why, n in estimate.left_out]
    return stated if estimate.reason is None else stated | {"reason": estimate.reason}


def complement(share: Estimate) -> Estimate:
    """Return one minus ``share`` (answers missed from answers caught), the interval turned round with it."""
    if share.value is None:
        return share
    interval = None if share.low is None or share.high is None else (1 - share.high, 1 - share.low)
    turned = measured(1 - share.value, share.n, interval, method=share.method, unit=share.unit, reason=share.reason)
    return leaving_out(turned, *share.left_out)


def _rounded(number: float) -> float:
    if not math.isfinite(number):
        raise ValueError(f"a statistic must be finite or undefined, not {number!r}")
    return round(float(number), _DECIMALS) + 0.0  # + 0.0 turns -0.0 into 0.0

"""Numbers to two decimals, in a terminal, a build's report, a page and its charts alike."""

import math

from judgeboard.domain import Estimate


def two_decimals(number: float | None, *, sign: bool = False) -> str:
    """Return "4.13" for 4.125: tables in a browser round a half up, Python to even.

    Args:
        number: A score, or how far one changed; None is "no score".
        sign: Also write a plus.
    """
    if number is None:
        return "no score"
    rounded = round(number + math.copysign(1e-9, number), 2) + 0.0
    return f"{rounded:+.2f}" if sign else f"{rounded:.2f}"


def two_decimals_interval(estimate: Estimate, *, sign: bool = False) -> str | None:
    """Return "[3.88, 4.38]", None without an interval."""
    if estimate.low is None or estimate.high is None:
        return None
    return f"[{two_decimals(estimate.low, sign=sign)}, {two_decimals(estimate.high, sign=sign)}]"

"""Numbers to two decimals, in a terminal, a build's report, a page and its charts alike."""

import math


def two_decimals(number: float, *, sign: bool = False) -> str:
    """Return "4.13" for 4.125: tables in a browser round a half up, Python to even.

    Args:
        number: A score, or how far one changed.
        sign: Also write a plus.
    """
    rounded = round(number + math.copysign(1e-9, number), 2) + 0.0
    return f"{rounded:+.2f}" if sign else f"{rounded:.2f}"

"""The gate: from which agreement on a judge is shown its own answer as the correct one."""

import math

from judgeboard.errors import BadInput
from judgeboard.stats.arrays import TIE

TAU = 0.8
SAMPLES = 5


def samples_needed(tau: float, of: int) -> int:
    """Return how many of ``of`` samples must agree for the gate to be on: agreement >= ``tau`` (above 0, up to 1).

    Raises:
        BadInput: ``tau`` is outside its range.
    """
    if not 0 < tau <= 1:
        raise BadInput(f"--tau must lie above 0 and be at most 1, not {tau:g}")
    return max(1, math.ceil(tau * of - TIE))  # 0.55 * 20 is above 11 in floats

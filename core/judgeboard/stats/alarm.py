"""Whether an interval is reason enough for a warning.

A judge is looked at by more than a dozen checks at once: at 95 % each, every second sound judge would be warned of.
So a warning needs the interval at 99 %, which is the 95 % one made wider by the ratio of the normal quantiles.
"""

from statistics import NormalDist

from judgeboard.domain import Estimate

WIDER = NormalDist().inv_cdf(0.995) / NormalDist().inv_cdf(0.975)
"""How much wider an interval is at 99 % than at 95 %, 1.314."""


def surely_above(estimate: Estimate, harmless: float) -> bool:
    """Return whether the whole 99 % interval lies above ``harmless``; never without an interval."""
    if estimate.value is None or estimate.low is None:
        return False
    return estimate.value - WIDER * (estimate.value - estimate.low) > harmless


def surely_below(estimate: Estimate, harmless: float) -> bool:
    """Return whether the whole 99 % interval lies below ``harmless``; never without an interval."""
    if estimate.value is None or estimate.high is None:
        return False
    return estimate.value + WIDER * (estimate.high - estimate.value) < harmless

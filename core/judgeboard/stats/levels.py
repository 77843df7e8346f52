"""How a judge uses the levels of its scale: the share of the largest one, and the entropy of all."""

import math
from dataclasses import dataclass

import numpy as np

from judgeboard.domain import Estimate
from judgeboard.stats.arrays import IntArray
from judgeboard.stats.proportions import share_intervals


@dataclass(frozen=True, slots=True)
class LevelUse:
    """The share of the level given most often, its place, and the entropy as a share of log(levels), 0 to 1."""

    most: Estimate
    level: int
    entropy: float


def level_use(counts: IntArray) -> LevelUse:
    """Return how the levels of a scale are used.

    Args:
        counts: How often each level was given, those never given included: at least two levels, one of them given.
    """
    total = int(counts.sum())
    if len(counts) < 2 or total == 0:
        raise ValueError("at least two levels and one score are needed")
    level = int(np.argmax(counts))
    shares = counts[counts > 0] / total
    entropy = float(-(shares * np.log(shares)).sum()) / math.log(len(counts))
    return LevelUse(share_intervals(int(counts[level]), total)[0], level, entropy + 0.0)

"""Seeded choices that are the same on every Python."""

import math
import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Dice:
    """Draws from ``random.Random.random`` alone, the one method whose sequence Python promises to keep."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def below(self, limit: int) -> int:
        """Return an integer from 0 to ``limit`` - 1."""
        return int(self._random.random() * limit)

    def between(self, low: int, high: int) -> int:
        """Return an integer from ``low`` to ``high``, both included."""
        return low + self.below(high - low + 1)

    def chance(self, share: float) -> bool:
        """Return True in ``share`` (0..1) of the calls."""
        return self._random.random() < share

    def pick(self, items: Sequence[T]) -> T:
        """Return one of ``items``, all equally likely."""
        return items[self.below(len(items))]

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """Return ``items`` in random order."""
        rest = list(items)
        return [rest.pop(self.below(len(rest))) for _ in range(len(rest))]

    def several(self, items: Sequence[T], count: int) -> list[T]:
        """Return ``count`` different ones of ``items`` (all of them if there are fewer)."""
        return self.shuffled(items)[:count]

    def bell(self, spread: float) -> float:
        """Return a nearly normal number around 0 with standard deviation ``spread``."""
        return (math.fsum(self._random.random() for _ in range(12)) - 6) * spread

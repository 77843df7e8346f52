"""Cuts what a statement is to be about into parts that a database takes."""

from collections.abc import Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")

AT_ONCE = 1_000


def batches(items: Sequence[T], size: int = AT_ONCE) -> Iterator[Sequence[T]]:
    """Yield the items in their order, ``size`` at a time."""
    return (items[start : start + size] for start in range(0, len(items), size))

"""The array types that the statistics take: checked at their door, compared with a tolerance, looked up by id."""

from typing import Any

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
AnyArray = npt.NDArray[Any]

TIE = 1e-9
"""Scores nearer than this are the same score: float noise makes or breaks ties otherwise."""


def finite_floats(values: npt.ArrayLike) -> FloatArray:
    """Return ``values`` as a one-dimensional float array.

    Raises:
        ValueError: A value is missing or infinite. Whoever asks leaves unmeasured rows out first, with their count.
    """
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise ValueError(f"expected one dimension, got {array.ndim}")
    if not np.isfinite(array).all():
        raise ValueError("a statistic takes measured values only: leave missing ones out, with their count")
    return array


def same_length(*arrays: AnyArray) -> int:
    """Return the common length of ``arrays``; raise ValueError where they differ."""
    lengths = {len(array) for array in arrays}
    if len(lengths) != 1:
        raise ValueError(f"arrays of unequal length: {', '.join(str(len(array)) for array in arrays)}")
    return lengths.pop()


def tie_codes(values: FloatArray) -> IntArray:
    """Return integers in the order of ``values``, equal where two values differ by less than the rounding to 1e-9."""
    return np.rint(values / TIE).astype(np.int64)


def among(values: IntArray, ordered: IntArray) -> BoolArray:
    """Return which of ``values`` occur in ``ordered`` (ascending): many times faster than ``np.isin``."""
    if not len(ordered):
        return np.zeros(len(values), dtype=np.bool_)
    at = np.minimum(np.searchsorted(ordered, values), len(ordered) - 1)
    return np.asarray(ordered[at] == values)


def no_ints() -> IntArray:
    """Return an empty column of whole numbers."""
    return np.empty(0, dtype=np.int64)


def no_floats() -> FloatArray:
    """Return an empty column of numbers."""
    return np.empty(0)


def row_sums(tables: FloatArray) -> FloatArray:
    """Return the sums over the last axis; of a short axis many times faster than `numpy.sum`."""
    sums: FloatArray = np.einsum("...i->...", tables)
    return sums


def column_sums(tables: FloatArray) -> FloatArray:
    """Return the sums over the last axis but one."""
    sums: FloatArray = np.einsum("...ij->...j", tables)
    return sums

"""Whether a judge was asked about pairs in one order only, which decides what its verdict on a pair is."""

from collections.abc import Iterable, Sequence

import numpy as np

from judgeboard.domain import Preference
from judgeboard.judges.pairwise import PAIRWISE
from judgeboard.judges.self_reference import SELF_REFERENCE
from judgeboard.stats.arrays import IntArray
from judgeboard.stats.both_orders import NONE, OrderVerdicts
from judgeboard.store.judgments.judge_versions import StoredVersion
from judgeboard.store.pairs.comparisons import BothOrders

TWO_ORDER_KINDS = frozenset({PAIRWISE, SELF_REFERENCE})
"""Judges of ours that ask in both orders: stopped between them, a pair is unmeasured and not asked in one order."""

_CODES = {Preference.A: 0, Preference.B: 1, Preference.TIE: 2, None: NONE}


def is_one_order(version: StoredVersion, rows: Iterable[BothOrders]) -> bool:
    """Whether a version was asked about each pair in one order only; ``rows`` are all that it was asked about."""
    return version.kind not in TWO_ORDER_KINDS and not any(row.asked_ab and row.asked_ba for row in rows)


def order_verdicts(rows: Sequence[BothOrders], *, one_order: bool) -> OrderVerdicts:
    """Return the verdicts of rows as the statistics read them."""
    return OrderVerdicts(codes(row.ab for row in rows), codes(row.ba for row in rows), one_order=one_order)


def codes(preferences: Iterable[Preference | None]) -> IntArray:
    """Return preferences as numbers; none is ``NONE``."""
    return np.array([_CODES[each] for each in preferences], dtype=np.int64)

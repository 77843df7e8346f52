"""Pairs: a judge asked which of two answers is better in both orders, measured, and held against people."""

from judgeboard.pairs.choice import make_pairwise_judge
from judgeboard.pairs.comparing import Compared, compare_pairs, compare_pairs_async
from judgeboard.pairs.making import PairSet, pairs_between, pairs_in_file
from judgeboard.pairs.report import PairGroup, PairReport, measure_pairs

__all__ = [
    "Compared",
    "PairGroup",
    "PairReport",
    "PairSet",
    "compare_pairs",
    "compare_pairs_async",
    "make_pairwise_judge",
    "measure_pairs",
    "pairs_between",
    "pairs_in_file",
]

"""How far people may rely on a judge: the one conclusion of a page, a report or a command."""

from collections.abc import Mapping
from enum import IntEnum

from judgeboard.domain import Estimate

_SURE, _HELPFUL = 0.6, 0.4  # substantial and moderate agreement


class Reliance(IntEnum):
    """How far people may rely on a judge, the most cautious conclusion first."""

    DO_NOT = 0
    NOT_CONCLUSIVE = 1
    HELPS = 2
    CAN = 3


def headline(statistics: Mapping[str, Estimate]) -> Estimate | None:
    """Return the statistic that decides how far people may rely on a judge; None if there is none."""
    names = ("weighted_kappa", "kappa", "spearman")
    return next((statistics[name] for name in names if name in statistics), None)


def reliance(statistics: Mapping[str, Estimate]) -> Reliance:
    """Return how far people may rely on a judge with these statistics: what the whole interval allows."""
    figure = headline(statistics)
    if figure is None or figure.low is None or figure.high is None:
        return Reliance.NOT_CONCLUSIVE
    if figure.low >= _SURE:
        return Reliance.CAN
    if figure.high < _HELPFUL:
        return Reliance.DO_NOT
    return Reliance.HELPS if figure.low >= _HELPFUL else Reliance.NOT_CONCLUSIVE

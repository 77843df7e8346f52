"""How often each model's answer is preferred: win rates, and the ranking of Bradley and Terry."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from judgeboard.domain import Estimate
from judgeboard.stats.arrays import (
    AnyArray,
    BoolArray,
    FloatArray,
    Grouping,
    IntArray,
    grouping,
    ratio,
    row_sums,
    same_length,
)
from judgeboard.stats.correlation import kendall, pearson, spearman
from judgeboard.stats.estimates import MIN_PAIRS, measured, unmeasured
from judgeboard.stats.intervals import bootstrapped, resampled_tables
from judgeboard.stats.pair_orders import TIE, A, B

RANKING_RESAMPLES = 500
"""Lower than usual, because every resample is a fit of its own."""

MIN_MODELS = 3
"""The smallest number of models whose win rates are correlated: two models always give 1 or -1."""

_NOT_CONNECTED = "some models won all or none of their pairs against the others"


@dataclass(frozen=True, slots=True)
class RankedModel:
    """A model in ``n`` pairs. A tie is half a win for both models.

    ``strength`` is the log-odds of a win against the average model (0): a difference of 0.7 between
    two models means that the stronger one wins two of three pairs.
    """

    model: str
    n: int
    win_rate: Estimate
    strength: Estimate


def rank_models(
    first: AnyArray, second: AnyArray, sides: IntArray, questions: Grouping
) -> tuple[RankedModel, ...]:
    """Return the models, the strongest first, from one row per pair.

    ``first`` and ``second`` have the names of two models; ``sides`` tells which was preferred (0,
    1, or 2: tie). The strengths are the maximum of the likelihood of R. A. Bradley, M. E. Terry,
    "Rank Analysis of Incomplete Block Designs" (Biometrika, 1952). They exist only if no group of
    models won all its pairs against the others (L. R. Ford, 1957). Intervals are percentiles of a
    bootstrap over questions.
    """
    n = same_length(first, second, sides, questions.codes)
    if not n:
        return ()
    names, models = np.unique(np.stack((first, second)), return_inverse=True)
    k = len(names)
    cells, codes = np.unique((models[0] * k + models[1]) * 3 + sides, return_inverse=True)
    left, right, side = cells // 3 // k, cells // 3 % k, cells % 3
    half = np.where(side == TIE, 0.5, 1.0)
    wins: FloatArray = np.zeros((len(cells), k, k))  # of the row's model over the column's model
    every = np.arange(len(cells))
    wins[every, left, right] += np.where(side == B, 0.0, half)
    wins[every, right, left] += np.where(side == A, 0.0, half)
    flat = wins.reshape(len(cells), -1)
    table = (np.bincount(codes) @ flat).reshape(k, k)
    drawn = resampled_tables(codes, len(cells), questions, resamples=RANKING_RESAMPLES) @ flat
    tables = drawn.reshape(-1, k, k)
    rates, rates_drawn = win_rates(table), win_rates(tables)
    strengths = bradley_terry(table)
    connected = not np.isnan(strengths).any()
    strengths_drawn = (
        np.array([bradley_terry(each, strengths) for each in tables]) if connected else tables[:, 0]
    )
    counts = (table + table.T).sum(axis=1).astype(np.int64).tolist()
    ranked = [
        RankedModel(
            name,
            counts[place],
            bootstrapped(float(rates[place]), counts[place], rates_drawn[:, place], questions),
            bootstrapped(
                float(strengths[place]), counts[place], strengths_drawn[:, place], questions
            )
            if connected
            else unmeasured(counts[place], _NOT_CONNECTED),
        )
        for place, name in enumerate(map(str, names))
    ]
    return tuple(
        sorted(
            ranked,
            key=lambda each: (
                -(each.strength.value or 0.0),
                -(each.win_rate.value or 0.0),
                each.model,
            ),
        )
    )


def ranking_correlations(
    first: Sequence[RankedModel], second: Sequence[RankedModel]
) -> dict[str, Estimate]:
    """Return Pearson's, Spearman's and Kendall's correlation of two win rates of the same models, by name.

    It is empty with fewer than three models in both. n is the number of models.
    """
    others = {each.model: each.win_rate.value for each in second}
    both = [
        (each.win_rate.value, others[each.model])
        for each in first
        if each.win_rate.value is not None and others.get(each.model) is not None
    ]
    if len(both) < MIN_MODELS:
        return {}
    x, y = np.array(both, dtype=np.float64).T
    models = grouping(None, len(both), row="model")
    known = {"pearson": pearson, "spearman": spearman, "kendall": kendall}
    estimates = {name: compute(x, y, models) for name, compute in known.items()}
    if len(both) >= MIN_PAIRS:
        return estimates
    few = f"no interval: fewer than {MIN_PAIRS} models"
    return {
        name: each if each.value is None else measured(each.value, each.n, reason=few)
        for name, each in estimates.items()
    }


def win_rates(wins: FloatArray) -> FloatArray:
    """Return the share of its pairs that each model won, shape (..., k), from wins of shape (..., k, k)."""
    won = row_sums(wins)
    return ratio(won, won + row_sums(np.swapaxes(wins, -1, -2)))


def bradley_terry(wins: FloatArray, start: FloatArray | None = None) -> FloatArray:
    """Return the strength of each model, with a mean of 0, from the wins of row over column; NaN if there is none."""
    k = len(wins)
    # Whether every model leads to every other one by a chain of wins.
    reached: BoolArray = (wins > 0) | np.eye(len(wins), dtype=np.bool_)
    for _ in range(len(wins).bit_length()):
        reached = reached @ reached
    if not bool(reached.all()):
        return np.full(k, np.nan)
    from scipy.optimize import root  # loads slowly
    from scipy.special import expit  # loads slowly

    pairs, won = wins + wins.T, wins.sum(axis=1)

    def excess(strengths: FloatArray) -> FloatArray:
        """Return expected minus observed wins. The last row sets the mean to 0 (one equation is redundant)."""
        expected = (pairs * expit(strengths[:, None] - strengths)).sum(axis=1)
        return np.append((expected - won)[:-1], strengths.sum())

    def slopes(strengths: FloatArray) -> FloatArray:
        chance = expit(strengths[:, None] - strengths)
        weight = pairs * chance * (1 - chance)
        jacobian: FloatArray = np.diag(weight.sum(axis=1)) - weight
        jacobian[-1] = 1
        return jacobian

    solved = root(excess, np.zeros(k) if start is None else start, jac=slopes)
    return np.asarray(solved.x - solved.x.mean()) if solved.success else np.full(k, np.nan)

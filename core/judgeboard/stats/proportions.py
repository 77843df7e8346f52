"""Shares, means of 0, ½ and 1, ratios of totals, anchoring, and the use of a scale."""

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from judgeboard.domain import Estimate
from judgeboard.stats.arrays import (
    TIE,
    AnyArray,
    FloatArray,
    Grouping,
    IntArray,
    finite_floats,
    grouping,
    same_length,
    tie_codes,
)
from judgeboard.stats.estimates import Z, leaving_out, measured, t_quantile, unmeasured
from judgeboard.stats.intervals import (
    bootstrapped,
    resampled_tables,
    share_intervals,
    wilson,
    wilson_on_groups,
)
from judgeboard.stats.sample_size import design_effect_of_mean


def share(hits: npt.ArrayLike, groups: AnyArray | Grouping | None = None) -> Estimate:
    """Return the share of true ``hits``, one per row; undefined without rows.

    The interval is Wilson's. With ``groups`` (ids are evidence groups), the rows count divided by
    the design effect, with Student's t of the groups of the rarer class: few groups with a hit tell
    little, however many have none.
    """
    hit = np.asarray(hits, dtype=np.bool_)
    n, k = hit.size, int(hit.sum())
    if not n:
        return unmeasured(0, "no answers")
    by_group = groups if isinstance(groups, Grouping) else grouping(groups, n)
    if by_group.all_distinct:
        return replace(share_intervals(k, n)[0], unit=by_group.unit)
    if k in {0, n}:
        return wilson_on_groups(k / n, n, by_group.count, by_group.unit)
    fewest = min(by_group.touched(hit), by_group.touched(~hit))
    if fewest < 2:
        return measured(k / n, n, reason="no interval: one group has all answers of one kind")
    wider = (float(t_quantile(fewest - 1)) / Z) ** 2
    low, high = wilson(k / n, n / (design_effect_of_mean(hit, by_group) * wider))
    method = "Wilson with the design effect, Student's t of the rarer class"
    return measured(k / n, n, (float(low), float(high)), method=method, unit=by_group.unit)


def half_credit(
    scores: FloatArray, groups: Grouping | None = None, *, undefined: str = "nothing was measured"
) -> Estimate:
    """Return the mean of ``scores`` of 0, 0.5 or 1, one per pair; ``undefined`` is the reason if there are none.

    The interval resamples ``groups``. Without groups, or if all differ, the interval is Wilson's.
    """
    values = finite_floats(scores)
    if not len(values):
        return unmeasured(0, undefined)
    if not set(values.tolist()) <= {0.0, 0.5, 1.0}:
        raise ValueError("a score is 0, 0.5 or 1")
    value = float(values.mean())
    if groups is not None and not groups.all_distinct:
        if value in {0, 1}:
            return wilson_on_groups(value, len(values), groups.count, groups.unit)
        tables = resampled_tables((2 * values).astype(np.int64), 3, groups)
        return bootstrapped(value, len(values), tables @ [0, 0.5, 1] / tables.sum(axis=1), groups)
    low, high = wilson(value, len(values))
    method = "Wilson, ties half" if (values == 0.5).any() else "Wilson"
    return measured(value, len(values), (float(low), float(high)), method=method, unit="pair")


def superiority(before: FloatArray, after: FloatArray, groups: Grouping) -> Estimate:
    """Return P(before > after) + ½ P(equal) of pairs of scores, rounded to 1e-9 first; 0.5 is no difference."""
    same_length(before, after)
    return half_credit(
        (np.sign(tie_codes(before) - tie_codes(after)) + 1) / 2, groups, undefined="no pairs"
    )


@dataclass(frozen=True, slots=True)
class RatioSums:
    """Sums over ``n`` rows of two amounts, of both squares and of the product."""

    n: int
    upper: float
    lower: float
    upper_squared: float
    lower_squared: float
    product: float


def ratio_of_totals(sums: RatioSums) -> Estimate:
    """Return the total of the upper amounts divided by the total of the lower amounts; undefined if that is 0."""
    if sums.n == 0 or sums.lower <= 0:
        return unmeasured(sums.n, "the lower total is 0" if sums.n else "no rows")
    value = sums.upper / sums.lower
    if sums.n == 1:
        return measured(value, 1, reason="no interval: a single row")
    squares = sums.upper_squared - 2 * value * sums.product + value**2 * sums.lower_squared
    # If all ratios are equal, the subtraction leaves only rounding noise.
    spread = squares if squares > 1e-12 * max(sums.upper_squared, 1e-300) else 0.0
    reach = float(t_quantile(sums.n - 1)) * math.sqrt(sums.n / (sums.n - 1) * spread) / sums.lower
    return measured(
        value,
        sums.n,
        (max(value - reach, 0), value + reach),
        method="ratio estimator",
        unit="response",
    )


_JACKKNIFE = "jackknife"


def anchoring(
    judge: FloatArray, blind: FloatArray, revealed: FloatArray, responses: Grouping
) -> Estimate:
    """Return how far people move to the judge's grades after seeing these: 0 not at all, 1 if all adopt the grades.

    The figure is the least-squares slope through the origin of m = revealed - blind on d = judge - blind.
    ``responses`` groups the rows by response. Rows on which both agreed before are left out of n.

    The interval is a jackknife over responses (B. Efron, C. Stein, Annals of Statistics, 1981),
    because several people on one response move together. Few responses have most of the weight, and
    if anchoring is small, few responses move. The interval is therefore computed on the logit
    scale, with half a response added on either side (F. J. Anscombe, "On estimating binomial
    response relations", Biometrika, 1956). Without this addition, the interval covered the true
    value in only 70 to 90 of 100 simulations.
    """
    same_length(judge, blind, revealed, responses.codes)
    apart, moves = judge - blind, revealed - blind
    differs = np.abs(apart) > TIE
    n, agreeing_count = int(differs.sum()), int((~differs).sum())
    if not n:
        return unmeasured(
            0, "nobody differed from the judge" if agreeing_count else "no grades before and after"
        )
    apart, moves, groups = apart[differs], moves[differs], responses.at(differs)
    upper, lower = groups.sums(apart * moves), groups.sums(apart * apart)
    value = float(upper.sum() / lower.sum())
    if groups.count < 2:
        estimate = measured(value, n, reason=groups.only_one)
    elif not 0 <= value <= 1:  # people moved away from the judge, or beyond the judge
        t = float(t_quantile(groups.count - 1))
        reach = t * _jackknife_error(upper, lower)
        estimate = measured(
            value, n, (value - reach, value + reach), method=_JACKKNIFE, unit=groups.unit
        )
    else:  # on the logit, with half a response added on either side
        half = float(np.square(lower).sum() / lower.sum()) / 2
        upper, lower = np.append(upper, (0.0, half)), np.append(lower, (half, half))
        share = float(upper.sum() / lower.sum())
        t = float(t_quantile(groups.count - 1))
        reach = t * _jackknife_error(upper, lower) / (share * (1 - share))
        centre = math.log(share / (1 - share))
        low, high = ((1 + math.tanh(end / 2)) / 2 for end in (centre - reach, centre + reach))
        method = f"{_JACKKNIFE} on the logit, half a {groups.group} added either way"
        estimate = measured(
            value, n, (min(low, value), max(high, value)), method=method, unit=groups.unit
        )
    return leaving_out(estimate, ("agreed with the judge before seeing it", agreeing_count))


def _jackknife_error(upper: FloatArray, lower: FloatArray) -> float:
    """Return the jackknife's standard error of the ratio of two totals."""
    without = (upper.sum() - upper) / (lower.sum() - lower)
    return math.sqrt(
        (len(upper) - 1) / len(upper) * float(np.square(without - without.mean()).sum())
    )


@dataclass(frozen=True, slots=True)
class LevelUse:
    """The share and the position of the most frequent level, and the entropy as a share of log(levels), 0 to 1."""

    most: Estimate
    level: int
    entropy: float


def level_use(counts: IntArray, possible: int | None = None) -> LevelUse:
    """Return how the levels of a scale are used; ``counts`` has every level, two at least, including unused ones.

    ``possible`` is the number of levels that can be used, two at least (None: all).
    """
    total = int(counts.sum())
    if len(counts) < 2 or total == 0:
        raise ValueError("at least two levels and one score are needed")
    level = int(np.argmax(counts))
    shares = counts[counts > 0] / total
    entropy = float(-(shares * np.log(shares)).sum()) / math.log(
        len(counts) if possible is None else possible
    )
    return LevelUse(share_intervals(int(counts[level]), total)[0], level, entropy + 0.0)

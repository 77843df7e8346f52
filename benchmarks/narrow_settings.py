"""Settings in which an interval of an earlier release was too narrow, with other methods beside the product's."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from statistics import NormalDist

import numpy as np

from judgeboard.domain import Estimate
from judgeboard.stats.arrays import BoolArray, FloatArray, Grouping, grouping
from judgeboard.stats.chance_corrected import alpha, interval_alpha
from judgeboard.stats.confusion import TableEstimates, kappa
from judgeboard.stats.detection import auroc
from judgeboard.stats.estimates import Z, t_quantile
from judgeboard.stats.intervals import bootstrapped, mean_estimate, resampled_tables, wilson
from judgeboard.stats.proportions import share
from judgeboard.stats.rates import (
    Labels,
    Population,
    Stratum,
    app_effect,
    predicted_mean,
    rate,
    strata_of,
    summed,
)
from judgeboard.stats.ratings import LABEL, Ratings
from judgeboard.stats.sample_size import design_effect_of_mean

Interval = tuple[float, float] | None
Draw = Mapping[str, Interval]
"""The interval of each method on one log, the product's first; None: it shows none."""

SENSITIVITY, SPECIFICITY = 0.73, 0.9  # of the judge


@dataclass(frozen=True, slots=True)
class NarrowSetting:
    """A setting: the true value, and a function that draws a log and returns the interval of each method.

    The truth of a rate of these answers is that of the drawn log; the intervals then have it
    subtracted.
    """

    truth: float
    draw: Callable[[np.random.Generator], Draw]


def ends_of(estimate: Estimate) -> Interval:
    """Return the interval of an estimate."""
    return None if estimate.low is None or estimate.high is None else (estimate.low, estimate.high)


def _grouped(rng: np.random.Generator, groups: Grouping, within: float) -> FloatArray:
    """Return a standard normal value for each row; values of a group correlate with ``within``."""
    common = rng.standard_normal(groups.count)[groups.codes]
    return math.sqrt(within) * common + math.sqrt(1 - within) * rng.standard_normal(
        len(groups.codes)
    )


def _alike(
    rng: np.random.Generator, groups: Grouping, mean: float, correlation: float
) -> BoolArray:
    """Return a hit or none for each row; hits of a group correlate (beta-binomial)."""
    size = (1 - correlation) / correlation
    hits: BoolArray = (
        rng.random(len(groups.codes))
        < rng.beta(mean * size, (1 - mean) * size, groups.count)[groups.codes]
    )
    return hits


def _auroc(rng: np.random.Generator, true: float, n: int, bad_rows: int, size: int) -> Draw:
    groups = grouping(np.arange(n) // size, n)
    bad = np.zeros(n, dtype=np.bool_)
    bad[rng.choice(n, bad_rows, replace=False)] = True
    apart = math.sqrt(2) * NormalDist().inv_cdf(true)
    score = _grouped(rng, groups, 0.3 if size > 1 else 0.0) - apart * bad
    return {
        "logit, t of the smaller class": ends_of(auroc(score, bad, groups)),
        **dict(_other_aurocs(score, bad, groups)),
    }


def _other_aurocs(
    score: FloatArray, bad: BoolArray, groups: Grouping
) -> Iterator[tuple[str, Interval]]:
    """Yield the intervals of DeLong's error: normal, normal on the logit, and Student's t of the smaller class."""
    below = (score[~bad][None, :] > score[bad][:, None]) + 0.5 * (
        score[~bad][None, :] == score[bad][:, None]
    )
    value = float(below.mean())
    influence = np.zeros(len(score))
    influence[bad] = (below.mean(axis=1) - value) / bad.sum()
    influence[~bad] = (below.mean(axis=0) - value) / (~bad).sum()
    by_group = groups.sums(influence)
    error = math.sqrt(groups.count / (groups.count - 1) * float(np.square(by_group).sum()))
    yield "normal", (value - Z * error, value + Z * error) if error else None
    if 0 < value < 1 and error:
        middle, reach = math.log(value / (1 - value)), error / (value * (1 - value))
        ends = [1 / (1 + math.exp(-(middle + side * Z * reach))) for side in (-1, 1)]
        yield "logit, normal", (ends[0], ends[1])
    freedom = min(groups.touched(bad), groups.touched(~bad)) - 1
    if freedom > 0 and error:
        t = float(t_quantile(freedom))
        yield "t of the smaller class", (value - t * error, min(value + t * error, 1.0))


def _few_labels(
    rng: np.random.Generator, bad_share: float, labels: int, answers: int = 1_000
) -> tuple[Population, Labels]:
    """Return a log of which a random sample is labelled, with strata by verdict, or one if a stratum has no label."""
    bad = np.zeros(answers, dtype=np.bool_)
    bad[rng.choice(answers, round(bad_share * answers), replace=False)] = True
    judged = rng.random(answers) < np.where(bad, SENSITIVITY, 1 - SPECIFICITY)
    labelled = np.zeros(answers, dtype=np.bool_)
    labelled[rng.choice(answers, labels, replace=False)] = True
    split = judged[labelled].any() and not judged[labelled].all()
    strata = judged.astype(np.int64) if split else np.zeros(answers, dtype=np.int64)
    return summed(
        strata,
        judged.astype(np.float64),
        np.arange(answers),
        2 if split else 1,
        labelled,
        bad[labelled].astype(np.float64),
    )


def _rate_of_these(rng: np.random.Generator, bad_share: float, labels: int) -> Draw:
    counts = strata_of(*_few_labels(rng, bad_share, labels))
    answers, n, k = (
        sum(getattr(each, name) for each in counts) for name in ("answers", "labelled", "bad")
    )
    low, high = wilson([k / n], [n / (1 - n / answers)])
    parts = [
        wilson([each.bad / each.labelled], [each.labelled / (1 - each.labelled / each.answers)])
        for each in counts
    ]
    return {
        "modified Wilson by stratum": ends_of(rate(counts, "these")),
        "Wilson by stratum": _mover(counts, parts),
        "Wilson of all labels": (float(low[0]), float(high[0])),
    }


def _mover(counts: tuple[Stratum, ...], parts: list[tuple[FloatArray, FloatArray]]) -> Interval:
    answers = sum(each.answers for each in counts)
    weights = [each.answers / answers for each in counts]
    shares = [each.bad / each.labelled for each in counts]
    value = sum(weight * each for weight, each in zip(weights, shares, strict=True))
    below, above = (
        math.sqrt(
            sum(
                (w * (p - ends[side][0])) ** 2
                for w, p, ends in zip(weights, shares, parts, strict=True)
            )
        )
        for side in (0, 1)
    )
    return max(value - below, 0.0), min(value + above, 1.0)


def _predicted_share(rng: np.random.Generator, bad_share: float, labels: int) -> Draw:
    return {
        "prediction-powered": ends_of(
            predicted_mean(*_few_labels(rng, bad_share, labels), share=True)
        )
    }


def _rate_of_groups(
    rng: np.random.Generator, groups_n: int, size: int, within: float, bad_share: float = 0.3
) -> Draw:
    n = groups_n * size
    groups = grouping(np.arange(n) // size, n)
    bad = _alike(rng, groups, bad_share, within)
    judged = rng.random(n) < np.where(bad, SENSITIVITY, 1 - SPECIFICITY)
    labelled = rng.random(n) < 0.5
    sums = summed(
        judged.astype(np.int64),
        judged.astype(np.float64),
        groups.codes,
        2,
        labelled,
        bad[labelled].astype(np.float64),
    )
    counts = strata_of(*sums)
    return {
        "post-stratified, t of the groups": ends_of(rate(counts, "app", app_effect(*sums))),
        "prediction-powered by group": ends_of(predicted_mean(*sums, share=True)),
    }


def _share_of_pairs(
    rng: np.random.Generator, questions: int, size: int, true: float, within: float = 0.3
) -> Draw:
    n = questions * size
    groups = grouping(np.arange(n) // size, n)
    hits = _alike(rng, groups, true, within)
    tables = resampled_tables(hits.astype(np.int64), 2, groups)
    value = float(hits.mean())
    drawn = bootstrapped(value, n, tables[:, 1] / tables.sum(axis=1), groups)
    low, high = wilson([value], [n / design_effect_of_mean(hits, groups)])
    return {
        "Wilson with design effect, t of the rarer class": ends_of(share(hits, groups)),
        "Wilson with design effect": (float(low[0]), float(high[0])),
        "bootstrap by question": ends_of(drawn),
        "Student's t": ends_of(mean_estimate(hits.astype(np.float64), groups)),
    }


def _kappa(rng: np.random.Generator, true: float, n: int, bad: float) -> Draw:
    """Draw a table that often has an empty cell: both sides call a share ``bad`` of the answers bad."""
    good = 1 - bad
    both = bad * bad + true * bad * good
    said = rng.choice(4, size=n, p=(both, bad - both, bad - both, 1 - 2 * bad + both))
    groups = grouping(None, n)
    tables = resampled_tables(said, 4, groups).reshape(-1, 2, 2)
    value = float(kappa(np.bincount(said, minlength=4).reshape(2, 2).astype(np.float64)))
    intervals = {
        "bootstrap error, upper end also by empty cells": ends_of(
            TableEstimates(said.astype(np.int64), 2, groups).kappa()
        )
    }
    if abs(value) < 1:
        intervals["bootstrap error"] = ends_of(
            bootstrapped(value, n, kappa(tables), groups, scale="Fisher's z")
        )
    return intervals


def _alpha(rng: np.random.Generator, true: float, n: int, bad: float, raters: int) -> Draw:
    """Draw labels of raters who give the true one with probability √``true``, and otherwise a random one."""
    truth = rng.random((n, 1)) < bad
    said = np.where(
        rng.random((n, raters)) < math.sqrt(true), truth, rng.random((n, raters)) < bad
    ).astype(np.float64)
    groups = grouping(None, n)
    ratings = Ratings(said, tuple(map(str, range(raters))), LABEL, groups)
    return {
        "jackknife, upper end also by votes that no answer has": ends_of(alpha(ratings, "nominal")),
        "jackknife": ends_of(interval_alpha(said, groups)),  # of two categories, the same alpha
    }


NARROW_SETTINGS: Mapping[str, Mapping[str, NarrowSetting]] = {
    "AUROC": {
        f"{true}, {words}": NarrowSetting(
            true, partial(_auroc, true=true, n=n, bad_rows=bad, size=size)
        )
        for true in (0.96, 0.8)
        for words, n, bad, size in (
            ("n 40, 30 % bad", 40, 12, 1),
            ("n 100, 10 % bad", 100, 10, 1),
            ("n 150, 5 % bad", 150, 8, 1),
            ("12 groups of 10", 120, 36, 10),
        )
    },
    "kappa with an empty cell": {
        f"{true}, {bad * 100:.0f} % bad, n {n}": NarrowSetting(
            true, partial(_kappa, true=true, n=n, bad=bad)
        )
        for true, bad, n in (
            (0.0, 0.15, 31),
            (0.0, 0.15, 50),
            (0.0, 0.12, 100),
            (0.4, 0.15, 31),
            (0.8, 0.3, 40),
        )
    },
    "alpha of several raters": {
        f"{true}, {bad * 100:.0f} % bad, n {n}, {raters} raters": NarrowSetting(
            true, partial(_alpha, true=true, n=n, bad=bad, raters=raters)
        )
        for true, bad, n, raters in (
            (0.0, 0.1, 30, 3),
            (0.1, 0.1, 50, 5),
            (0.3, 0.1, 50, 3),
            (0.3, 0.05, 100, 3),
            (0.3, 0.2, 30, 3),
            (0.5, 0.1, 50, 3),
            (0.8, 0.2, 50, 5),
        )
    },
    "rate of these answers": {
        "1 % bad, 15 labels": NarrowSetting(
            0.01, partial(_rate_of_these, bad_share=0.01, labels=15)
        )
    },
    "predicted share": {
        "1 % bad, 15 labels": NarrowSetting(
            0.01, partial(_predicted_share, bad_share=0.01, labels=15)
        )
    },
    "rate of the app": {
        "8 groups of 30, ICC 0.3": NarrowSetting(
            0.3, partial(_rate_of_groups, groups_n=8, size=30, within=0.3)
        )
    },
    "share of pairs that share questions": {
        f"5 %, {questions} questions × 28": NarrowSetting(
            0.05, partial(_share_of_pairs, questions=questions, size=28, true=0.05)
        )
        for questions in (20, 80)
    },
}
"""The settings in which intervals did not hold, by statistic, fixed before any was run."""

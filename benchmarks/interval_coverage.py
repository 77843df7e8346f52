"""Measures the coverage of the intervals of every statistic on simulated sets.

First come all statistics of a judge and people on labels, qualities and groundedness, and the rates, in six settings
that were fixed before. The truth is the statistic of 200,000 answers. A cell fails if an exact binomial test shows that
its coverage is below 93 % or above 98.5 %, with the level divided by the number of cells. Exits 1 if a cell fails.

Then come kappa, alpha and AC1 of several raters.

Each rater gives the true label of an item with probability sqrt(kappa), and otherwise a random label with the true
share of bad ones. Any two raters then agree with the given kappa. In clusters of five, every second answer is rated
exactly as the first of its cluster. Each line is one kappa, share of bad answers and number of answers. Accepted is a
coverage of 93 to 97 % plus two Monte-Carlo errors on either side. Lines with 5 % bad answers are not part of the
acceptance.

    python benchmarks/interval_coverage.py [--draws 2000] [--sets 4000] [--workers 2] [--resamples 2000] [--seed 0]
"""

import argparse
import math
import os
import sys
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import product
from statistics import NormalDist

import numpy as np
from scipy.stats import binom

from judgeboard.domain import Estimate
from judgeboard.stats.arrays import FloatArray, Grouping, IntArray, grouping
from judgeboard.stats.chance_corrected import alpha, gwet
from judgeboard.stats.confusion import TableEstimates
from judgeboard.stats.intervals import mean_estimate
from judgeboard.stats.pair_statistics import MEANS_OF_PAIRS, STATISTICS, pair_statistics
from judgeboard.stats.proportions import share
from judgeboard.stats.rates import (
    app_effect,
    predicted_mean,
    rate,
    strata_of,
    summed,
    weighted_agreement,
)
from judgeboard.stats.ratings import GROUNDEDNESS, LABEL, QUALITY, Ratings

RATERS = ("first", "second", "third")
MISSING = 0.2
SAME_AS_CLUSTER = 0.5
BAND = (0.93, 0.97)
RARE = 0.05  # the sample itself may hold too few bad answers: such rows are shown, and not held to the band
OF_RATERS = ("kappa", "alpha of 2", "alpha of 3, gaps", "AC1 of 3, gaps")


@dataclass(frozen=True, slots=True)
class Setting:
    """One simulated world: ``n`` answers in clusters of ``size``, ``bad`` of them bad, raters that agree with kappa."""

    size: int
    n: int
    bad: float
    kappa: float

    @property
    def ac1(self) -> float:
        """What AC1 is in it."""
        apart = 2 * self.bad * (1 - self.bad)
        return (1 - apart * (1 - self.kappa) - apart) / (1 - apart)


SETTINGS = [Setting(*each) for each in product((1, 5), (100, 400), (0.5, 0.2, 0.05), (0.3, 0.5, 0.8))]


def main() -> int:
    """Simulate and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=2_000, help="of the statistics (0: leave them out)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--sets", type=int, default=4_000)
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--resamples", type=int, default=2_000)
    asked = parser.parse_args()
    started = time.perf_counter()
    failed = statistics_part(asked.draws, asked.resamples, asked.workers, asked.seed) if asked.draws else 0
    if not asked.sets:
        return int(failed > 0)
    print(
        f"{asked.sets:,} sets each; share of intervals that hold the truth, in %; sets without an interval in brackets"
    )
    print("cluster    n   bad  kappa  " + "  ".join(f"{name:>18}" for name in OF_RATERS))
    jobs = ((setting, asked.sets, asked.resamples, seed) for seed, setting in enumerate(SETTINGS))
    outside_band = 0
    with ProcessPoolExecutor(asked.workers) as pool:
        for setting, held, found in pool.map(_coverage, *zip(*jobs, strict=True)):
            cells = [_cell(setting, hits, n, asked.sets) for hits, n in zip(held, found, strict=True)]
            outside_band += sum("!" in cell for cell in cells)
            world = f"{setting.size:7}  {setting.n:3}  {setting.bad:4}  {setting.kappa:5}"
            print(world + "  " + "  ".join(f"{cell:>18}" for cell in cells), flush=True)
    of_rows = f"of the rows with more than {RARE:.0%} bad".replace("%", " %")
    print(f"outside the band (marked !), {of_rows}: {outside_band}; {time.perf_counter() - started:.0f} s")
    return int(failed + outside_band > 0)


def _cell(setting: Setting, held: int, found: int, sets: int) -> str:
    share = held / found if found else math.nan
    errors = 2 * math.sqrt(0.95 * 0.05 / max(found, 1))
    outside = setting.bad > RARE and not BAND[0] - errors <= share <= BAND[1] + errors
    missing = f" ({sets - found})" if found < sets else ""
    return f"{share * 100:.1f}{'!' if outside else ''}{missing}"


def _coverage(setting: Setting, sets: int, resamples: int, seed: int) -> tuple[Setting, list[int], list[int]]:
    rng = np.random.default_rng(seed)
    groups = grouping(np.arange(setting.n) // setting.size, setting.n)
    truths = (setting.kappa, setting.kappa, setting.kappa, setting.ac1)
    held, found = [0] * len(truths), [0] * len(truths)
    for _ in range(sets):
        for place, (estimate, truth) in enumerate(
            zip(_estimates(rng, setting, groups, resamples), truths, strict=True)
        ):
            if estimate.low is None or estimate.high is None:
                continue
            found[place] += 1
            held[place] += estimate.low <= truth <= estimate.high
    return setting, held, found


def _estimates(rng: np.random.Generator, setting: Setting, groups: Grouping, resamples: int) -> Iterator[Estimate]:
    said = _said(rng, setting)
    yield TableEstimates((said[:, 0] * 2 + said[:, 1]).astype(np.int64), 2, groups, resamples=resamples).kappa()
    yield alpha(Ratings(said[:, :2], RATERS[:2], LABEL, groups), "nominal")
    said[rng.random(said.shape) < MISSING] = np.nan
    with_gaps = Ratings(said, RATERS, LABEL, groups)
    yield alpha(with_gaps, "nominal")
    yield gwet(with_gaps)


def _said(rng: np.random.Generator, setting: Setting) -> FloatArray:
    """Return what three raters say of each answer, 1 for bad."""
    shape = (setting.n, len(RATERS))
    truth = rng.random((setting.n, 1)) < setting.bad
    said = np.where(rng.random(shape) < math.sqrt(setting.kappa), truth, rng.random(shape) < setting.bad)
    first_of_cluster = np.arange(setting.n) // setting.size * setting.size
    same = rng.random((setting.n, 1)) < (SAME_AS_CLUSTER if setting.size > 1 else 0)
    return np.where(same, said[first_of_cluster], said).astype(np.float64)


# ---- Every statistic of a judge and people, and of rates


@dataclass(frozen=True, slots=True)
class World:
    """A simulated log: ``n`` answers in groups of ``size``; a share ``bad`` of them bad, as far apart as ``apart``.

    Answers of a group correlate with ``within``. Scores are rounded to ``levels`` (0: not rounded), so that there are
    ties. Where questions ``recur``, a group has answers throughout the log; it is then as large as all of them.
    """

    n: int
    bad: float
    apart: float
    size: int = 1
    within: float = 0.0
    levels: int = 0


WORLDS: Mapping[str, World] = {
    "few": World(40, 0.3, 1.5),
    "rare": World(150, 0.05, 1.5),
    "extreme": World(120, 0.3, 3.0),
    "grouped": World(240, 0.3, 1.5, size=6, within=0.4),
    "recurring": World(300, 0.3, 1.5, size=15, within=0.3),
    "ties": World(150, 0.4, 1.0, levels=5),
}
"""The settings of every statistic, fixed before any was run."""

TRUTH = 200_000  # answers of the log whose statistics are the truth
LIMITS = (0.93, 0.985)
LEVEL = 0.05


def world_scores(world: World, n: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray, IntArray]:
    """Return the groundedness by people and by the judge, 0 to 1, and the evidence groups of ``n`` answers."""
    groups = np.arange(n) // world.size

    def noise() -> FloatArray:
        common = rng.standard_normal(groups[-1] + 1)[groups]
        return math.sqrt(world.within) * common + math.sqrt(1 - world.within) * rng.standard_normal(n)

    people = noise()
    judge = (world.apart * people + noise()) / math.hypot(world.apart, 1)
    cut = NormalDist().inv_cdf(world.bad)
    scores = [1 / (1 + np.exp(-(each - cut))) for each in (people, judge)]  # below 0.5 with the share ``bad``
    if world.levels:
        scores = [np.round(each * world.levels) / world.levels - 1e-6 * (each < 0.5) for each in scores]
    return np.clip(scores[0], 0, 1), np.clip(scores[1], 0, 1), groups


def world_estimates(world: World, n: int, rng: np.random.Generator, resamples: int) -> Iterator[tuple[str, Estimate]]:
    """Yield every statistic of a judge and people on one log of the world, by grade and name."""
    people, judge, codes = world_scores(world, n, rng)
    groups = grouping(codes, n)
    names = np.array(LABEL.categories)
    bad = LABEL.categories.index("hallucinated") if LABEL.categories else 0
    labels = [names[np.where(each < 0.5, bad, 1 - bad)] for each in (judge, people)]
    qualities = [np.digitize(each, (0.25, 0.5, 0.75)) + 1 for each in (judge, people)]
    for scale, (of_judge, of_people) in ((LABEL, labels), (QUALITY, qualities), (GROUNDEDNESS, (judge, people))):
        scores = judge if scale is LABEL else None
        figures = pair_statistics(of_judge, of_people, scale, groups, scores=scores, resamples=resamples)
        yield from ((f"{scale.grade} {name}", estimate) for name, estimate in figures.estimates.items())
    yield from _raters(people, judge, groups, rng)
    yield from _rates(people, judge, groups, rng)


NOT_SIMULATED = {
    *("accuracy", "missed", "false_alarms", "alpha"),  # other names, or complements, of simulated ones
    *("self_consistency", "changed_with_order", "first_position", "spread", "agreement_without_ties"),  # of pairs
    *("accuracy_a_first", "accuracy_b_first", "kappa_a_first", "kappa_b_first", "unusable_verdicts"),  # of orders
    *("pearson_between", "spearman_between", "kendall_between"),  # of generators
    *("set_alpha", "span_f1", "word_alpha", "ranking_tau"),  # of fields of a label schema
    *(f"mean_{name}" for name in MEANS_OF_PAIRS),
}
"""Statistics that no simulation here has: a new statistic is simulated, or named here with the reason."""


def _raters(
    people: FloatArray, judge: FloatArray, groups: Grouping, rng: np.random.Generator
) -> Iterator[tuple[str, Estimate]]:
    """Yield every statistic of three raters, of whom a fifth of the ratings is missing."""
    third = np.clip(people + rng.normal(0, 0.15, len(people)), 0, 1)
    scores = np.stack([people, judge, third], axis=1)
    is_rated = rng.random(scores.shape) >= MISSING
    for scale in (LABEL, QUALITY, GROUNDEDNESS):
        values = (
            (scores < 0.5).astype(np.float64)
            if scale is LABEL
            else np.digitize(scores, (0.25, 0.5, 0.75)).astype(np.float64)
            if scale is QUALITY
            else scores
        )
        ratings = Ratings(np.where(is_rated, values, np.nan), RATERS, scale, groups)
        for name, row in STATISTICS.items():
            if row.of_raters is not None and row.applies(scale):
                yield f"raters, {scale.grade} {name}", row.of_raters(ratings)


def _rates(
    people: FloatArray, judge: FloatArray, groups: Grouping, rng: np.random.Generator
) -> Iterator[tuple[str, Estimate]]:
    """Yield the rates of the app, from the verdicts on all answers and the labels of a random half of them."""
    n = len(people)
    values, strata = (people < 0.5).astype(np.float64), (judge < 0.5).astype(np.int64)
    labelled = rng.random(n) < 0.5
    population, labels = summed(strata, 1 - judge, groups.codes, 2, labelled, values[labelled])
    yield "rate", rate(strata_of(population, labels), "app", app_effect(population, labels))
    yield "predicted share", predicted_mean(population, labels, share=True)
    of_people = summed(np.zeros(n, dtype=np.int64), judge, groups.codes, 1, labelled, people[labelled])
    yield "predicted mean", predicted_mean(*of_people, share=False)
    verdicts = strata[labelled].astype(np.float64)
    yield from (
        (f"in all answers: {name}", each) for name, each in weighted_agreement(population, labels, verdicts).items()
    )
    yield "share of a group", share(values == 1, groups)
    yield "mean by group", mean_estimate(people, groups)


def covered(name: str, draws: int, resamples: int, seed: int) -> tuple[str, dict[str, tuple[int, int, float]]]:
    """Return for each statistic in a world how many intervals held the truth, how many there were, and their width."""
    world, rng = WORLDS[name], np.random.default_rng([seed, list(WORLDS).index(name)])
    truth = {key: each.value for key, each in world_estimates(world, TRUTH - TRUTH % world.size, rng, 2)}
    held: dict[str, tuple[int, int, float]] = {}
    for _ in range(draws):
        for key, each in world_estimates(world, world.n, rng, resamples):
            hits, found, width = held.get(key, (0, 0, 0.0))
            true = truth[key]
            if each.low is not None and each.high is not None and true is not None:
                inside = each.low - 1e-9 <= true <= each.high + 1e-9
                hits, found, width = hits + inside, found + 1, width + each.high - each.low
            held[key] = hits, found, width
    return name, held


def statistics_part(draws: int, resamples: int, workers: int, seed: int) -> int:
    """Print the coverage of every statistic in every world; return the number of cells that fail."""
    with ProcessPoolExecutor(workers) as pool:
        jobs = [pool.submit(covered, name, draws, resamples, seed) for name in WORLDS]
        results = dict(job.result() for job in jobs)
    keys = list(dict.fromkeys(key for each in results.values() for key in each))
    cells = len(keys) * len(WORLDS)
    print(
        f"{draws:,} draws each; coverage in %, mean width; ! fails an exact binomial test at {LEVEL} / {cells:,} cells"
    )
    print(f"{'statistic':38} " + "  ".join(f"{name:>15}" for name in WORLDS))
    failed = 0
    for key in keys:
        shown = []
        for name in WORLDS:
            hits, found, width = results[name][key]
            if not found:
                shown.append(f"{'none':>15}")
                continue
            fails = outside(hits, found, LEVEL / cells)
            failed += fails
            shown.append(f"{100 * hits / found:6.1f}{'!' if fails else ' '} {width / found:7.3f}")
        print(f"{key:38} " + "  ".join(shown), flush=True)
    print(f"cells that fail: {failed} of {cells:,}")
    return failed


def outside(hits: int, n: int, level: float) -> bool:
    """Return whether an exact binomial test shows that a coverage is outside the limits."""
    low, high = LIMITS
    return bool(binom.cdf(hits, n, low) < level or binom.sf(hits - 1, n, high) < level)


if __name__ == "__main__":
    sys.exit(main())

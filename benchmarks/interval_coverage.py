"""Measures the coverage of the intervals of every statistic on simulated sets.

First come all statistics of a judge and people on labels, qualities and groundedness, and the
rates, in six settings that were fixed before. The truth is the statistic of 200,000 answers. A cell
fails if an exact binomial test shows that its coverage is below 93 % or above 98.5 %, with the
level divided by the number of cells. Exits 1 if a cell fails.

Then come kappa, alpha and AC1 of several raters.

Each rater gives the true label of an item with probability sqrt(kappa), and otherwise a random
label with the true share of bad ones. Any two raters then agree with the given kappa. In clusters
of five, every second answer is rated exactly as the first of its cluster. Each line is one kappa,
share of bad answers and number of answers. Accepted is a coverage of 93 to 97 % plus two
Monte-Carlo errors on either side. Lines with 5 % bad answers are not part of the acceptance.

    python benchmarks/interval_coverage.py [--draws 2000] [--sets 4000] [--workers 2] [--resamples 2000] [--seed 0]
"""

import argparse
import math
import os
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from itertools import product

import numpy as np
from narrow_settings import NARROW_SETTINGS, Interval, ends_of
from scipy.stats import binom
from simulated_logs import MISSING, RATERS, WORLDS, world_estimates

from judgeboard.domain import Estimate
from judgeboard.stats.arrays import FloatArray, Grouping, grouping
from judgeboard.stats.chance_corrected import alpha, gwet
from judgeboard.stats.confusion import TableEstimates
from judgeboard.stats.ratings import LABEL, Ratings

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


SETTINGS = [
    Setting(*each) for each in product((1, 5), (100, 400), (0.5, 0.2, 0.05), (0.3, 0.5, 0.8))
]


def main() -> int:
    """Simulate and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--draws", type=int, default=2_000, help="of the statistics (0: leave them out)"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--sets", type=int, default=4_000)
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--resamples", type=int, default=2_000)
    asked = parser.parse_args()
    started = time.perf_counter()
    failed = 0
    if asked.draws:
        failed += narrow_part(asked.draws, asked.workers, asked.seed)
        failed += statistics_part(asked.draws, asked.resamples, asked.workers, asked.seed)
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
            cells = [
                _cell(setting, hits, n, asked.sets) for hits, n in zip(held, found, strict=True)
            ]
            outside_band += sum("!" in cell for cell in cells)
            world = f"{setting.size:7}  {setting.n:3}  {setting.bad:4}  {setting.kappa:5}"
            print(world + "  " + "  ".join(f"{cell:>18}" for cell in cells), flush=True)
    of_rows = f"of the rows with more than {RARE:.0%} bad".replace("%", " %")
    print(
        f"outside the band (marked !), {of_rows}: {outside_band}; {time.perf_counter() - started:.0f} s"
    )
    return int(failed + outside_band > 0)


def _cell(setting: Setting, held: int, found: int, sets: int) -> str:
    share = held / found if found else math.nan
    errors = 2 * math.sqrt(0.95 * 0.05 / max(found, 1))
    outside = setting.bad > RARE and not BAND[0] - errors <= share <= BAND[1] + errors
    missing = f" ({sets - found})" if found < sets else ""
    return f"{share * 100:.1f}{'!' if outside else ''}{missing}"


def _coverage(
    setting: Setting, sets: int, resamples: int, seed: int
) -> tuple[Setting, list[int], list[int]]:
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


def _estimates(
    rng: np.random.Generator, setting: Setting, groups: Grouping, resamples: int
) -> Iterator[Estimate]:
    said = _said(rng, setting)
    yield TableEstimates(
        (said[:, 0] * 2 + said[:, 1]).astype(np.int64), 2, groups, resamples=resamples
    ).kappa()
    yield alpha(Ratings(said[:, :2], RATERS[:2], LABEL, groups), "nominal")
    said[rng.random(said.shape) < MISSING] = np.nan
    with_gaps = Ratings(said, RATERS, LABEL, groups)
    yield alpha(with_gaps, "nominal")
    yield gwet(with_gaps)


def _said(rng: np.random.Generator, setting: Setting) -> FloatArray:
    """Return what three raters say of each answer, 1 for bad."""
    shape = (setting.n, len(RATERS))
    truth = rng.random((setting.n, 1)) < setting.bad
    said = np.where(
        rng.random(shape) < math.sqrt(setting.kappa), truth, rng.random(shape) < setting.bad
    )
    first_of_cluster = np.arange(setting.n) // setting.size * setting.size
    same = rng.random((setting.n, 1)) < (SAME_AS_CLUSTER if setting.size > 1 else 0)
    return np.where(same, said[first_of_cluster], said).astype(np.float64)


# ---- Every statistic of a judge and people, and of rates


TRUTH = 200_000  # answers of the log whose statistics are the truth
LIMITS = (0.93, 0.985)
LEVEL = 0.05
ONE_VALUE = 0.1
WIDEST = 1.15


@dataclass(slots=True)
class Cell:
    """The intervals of one statistic in one world: how many there are, how many hold the truth, their widths' sum.

    ``values`` counts the intervals by the rounded value, or else by their rounded middle.
    """

    found: int = 0
    held: int = 0
    width: float = 0.0
    values: Counter[float] = field(default_factory=Counter)

    def add(self, interval: Interval, truth: float | None, value: float | None = None) -> None:
        """Count one interval, of an estimate of this ``value`` (None: it is not known)."""
        if interval is None or truth is None:
            return
        low, high = interval
        self.found += 1
        self.held += low - 1e-9 <= truth <= high + 1e-9
        self.values[round(low + high if value is None else value, 9)] += 1
        self.width += high - low

    @property
    def mean_width(self) -> float:
        """The mean width."""
        return self.width / self.found

    def holds(self, level: float) -> bool:
        """Return whether an exact binomial test does not show that the coverage is below the lower limit."""
        return bool(binom.cdf(self.held, self.found, LIMITS[0]) >= level)

    def fails(self, level: float) -> bool:
        """Return whether an exact binomial test shows that the coverage is outside the limits.

        The upper limit is not for statistics that have one value in many logs, such as a share near
        1, or the order of six generators: an interval holds the truth in all of these logs or in
        none.
        """
        above = binom.sf(self.held - 1, self.found, LIMITS[1]) < level
        return bool(
            not self.holds(level) or (above and max(self.values.values()) <= ONE_VALUE * self.found)
        )

    def shown(self, draws: int, level: float) -> str:
        """Return the coverage in %, the mean width, and the share of draws with an interval if not all have one."""
        if not self.found:
            return "none"
        some = f" of {100 * self.found / draws:.0f}%" if self.found < 0.995 * draws else ""
        mark = "!" if self.fails(level) else " "
        return f"{100 * self.held / self.found:.1f}{mark} {self.mean_width:.3f}{some}"


def covered(name: str, draws: int, resamples: int, seed: int) -> tuple[str, dict[str, Cell]]:
    """Return a cell for each statistic in a world."""
    world, rng = WORLDS[name], np.random.default_rng([seed, list(WORLDS).index(name)])
    truth = {
        key: each.value for key, each in world_estimates(world, TRUTH - TRUTH % world.size, rng, 2)
    }
    cells = defaultdict[str, Cell](Cell)
    for _ in range(draws):
        for key, each in world_estimates(world, world.n, rng, resamples):
            cells[key].add(ends_of(each), truth[key], each.value)
    return name, cells


def narrow_part(draws: int, workers: int, seed: int) -> int:
    """Print the coverage and width of each method in the settings of old faults; return how many settings fail.

    A setting fails if the product's intervals do not hold, or if they are over 15 % wider than
    those of another method that holds in all settings of the statistic.
    """
    with ProcessPoolExecutor(workers) as pool:
        jobs = [pool.submit(narrow_cells, name, draws, seed) for name in NARROW_SETTINGS]
        results = [job.result() for job in jobs]
    level, failed = LEVEL / sum(map(len, results)), 0
    print(
        f"{draws:,} draws each; coverage in % and mean width of the product's method, then of others"
    )
    for statistic, settings in zip(NARROW_SETTINGS, results, strict=True):
        own, *others = next(iter(settings.values()))
        holding = [
            each
            for each in others
            if all(cells[each].found and cells[each].holds(level) for cells in settings.values())
        ]
        for name, cells in settings.items():
            widest = WIDEST * min((cells[each].mean_width for each in holding), default=math.inf)
            fails = cells[own].found > 0 and (
                not cells[own].holds(level) or cells[own].mean_width > widest
            )
            failed += fails
            print(f"{statistic}, {name}{' !' if fails else ''}")
            for method, each in cells.items():
                print(f"    {each.shown(draws, level):>17}  {method}", flush=True)
    print(f"settings that fail: {failed} of {sum(map(len, results))}\n")
    return failed


def narrow_cells(statistic: str, draws: int, seed: int) -> dict[str, dict[str, Cell]]:
    """Return a cell for each method in each setting of a statistic."""
    results = {}
    for place, (name, setting) in enumerate(NARROW_SETTINGS[statistic].items()):
        rng = np.random.default_rng([seed, list(NARROW_SETTINGS).index(statistic), place])
        cells = defaultdict[str, Cell](Cell)
        for _ in range(draws):
            for method, interval in setting.draw(rng).items():
                cells[method].add(interval, setting.truth)
        results[name] = dict(cells)
    return results


def statistics_part(draws: int, resamples: int, workers: int, seed: int) -> int:
    """Print the coverage of every statistic in every world; return the number of cells that fail."""
    with ProcessPoolExecutor(workers) as pool:
        jobs = [pool.submit(covered, name, draws, resamples, seed) for name in WORLDS]
        results = dict(job.result() for job in jobs)
    keys = list(dict.fromkeys(key for each in results.values() for key in each))
    n = sum(bool(results[name][key].found) for key in keys for name in WORLDS)
    level = LEVEL / n
    print(
        f"{draws:,} draws each; coverage in %, mean width; ! fails an exact binomial test at {LEVEL} / {n:,} cells"
    )
    print(f"{'statistic':38} " + "  ".join(f"{name:>17}" for name in WORLDS))
    failed = 0
    for key in keys:
        cells = [results[name][key] for name in WORLDS]
        failed += sum(each.fails(level) for each in cells if each.found)
        print(
            f"{key:38} " + "  ".join(f"{each.shown(draws, level):>17}" for each in cells),
            flush=True,
        )
    print(f"cells that fail: {failed} of {n:,}")
    return failed


if __name__ == "__main__":
    sys.exit(main())

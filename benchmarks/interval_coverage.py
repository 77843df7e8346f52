"""Measures the coverage of the intervals of kappa, alpha and AC1 on simulated sets.

Each rater gives the true label of an item with probability sqrt(kappa), and otherwise a random label with the true
share of bad ones. Any two raters then agree with the given kappa. In clusters of five, every second answer is rated
exactly as the first of its cluster. Each line is one kappa, share of bad answers and number of answers. Accepted is a
coverage of 93 to 97 % plus two Monte-Carlo errors on either side. Lines with 5 % bad answers are not part of the
acceptance.

    python benchmarks/interval_coverage.py [--sets 4000] [--workers 2] [--resamples 2000]
"""

import argparse
import math
import os
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import product

import numpy as np

from judgeboard.domain import Estimate
from judgeboard.stats.arrays import FloatArray, Grouping, grouping
from judgeboard.stats.chance_corrected import alpha, gwet
from judgeboard.stats.confusion import TableEstimates
from judgeboard.stats.ratings import LABEL, Ratings

RATERS = ("first", "second", "third")
MISSING = 0.2
SAME_AS_CLUSTER = 0.5
BAND = (0.93, 0.97)
RARE = 0.05  # the sample itself may hold too few bad answers: such rows are shown, and not held to the band
STATISTICS = ("kappa", "alpha of 2", "alpha of 3, gaps", "AC1 of 3, gaps")


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


def main() -> None:
    """Simulate and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=int, default=4_000)
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--resamples", type=int, default=2_000)
    asked = parser.parse_args()
    started = time.perf_counter()
    print(
        f"{asked.sets:,} sets each; share of intervals that hold the truth, in %; sets without an interval in brackets"
    )
    print("cluster    n   bad  kappa  " + "  ".join(f"{name:>18}" for name in STATISTICS))
    jobs = ((setting, asked.sets, asked.resamples, seed) for seed, setting in enumerate(SETTINGS))
    outside = 0
    with ProcessPoolExecutor(asked.workers) as pool:
        for setting, held, found in pool.map(_coverage, *zip(*jobs, strict=True)):
            cells = [_cell(setting, hits, n, asked.sets) for hits, n in zip(held, found, strict=True)]
            outside += sum("!" in cell for cell in cells)
            world = f"{setting.size:7}  {setting.n:3}  {setting.bad:4}  {setting.kappa:5}"
            print(world + "  " + "  ".join(f"{cell:>18}" for cell in cells), flush=True)
    of_rows = f"of the rows with more than {RARE:.0%} bad".replace("%", " %")
    print(f"outside the band (marked !), {of_rows}: {outside}; {time.perf_counter() - started:.0f} s")


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


if __name__ == "__main__":
    main()

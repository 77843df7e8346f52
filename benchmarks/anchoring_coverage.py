"""Measures the coverage of the interval of anchoring with simulated reviewers.

Each reviewer grades a response blind. Then the reviewer adopts the judge's grade with probability
p, or else keeps the own grade. All reviewers see the same faults of a response, so their distances
from the judge are alike. The true value of anchoring is p. Prints one line per setting: for how
many seeds the interval contains p.

    python benchmarks/anchoring_coverage.py [--seeds 100]
"""

import argparse
from itertools import product

import numpy as np

from judgeboard.domain import Estimate
from judgeboard.stats.arrays import grouping
from judgeboard.stats.proportions import anchoring


def main() -> None:
    """Simulate and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=100)
    asked = parser.parse_args()
    print(f"of {asked.seeds} seeds, how many intervals contain p (accepted: at least 90 of 100)")
    print("responses  people      p  inside  mean width")
    least = asked.seeds
    for responses, people, p in product((30, 100, 400), (1, 3), (0.1, 0.3, 0.5, 0.8)):
        found = [graded(seed, responses, people, p) for seed in range(asked.seeds)]
        intervals = [
            (each.low, each.high)
            for each in found
            if each.low is not None and each.high is not None
        ]
        held = sum(low <= p <= high for low, high in intervals)
        width = np.mean([high - low for low, high in intervals])
        least = min(least, held)
        without = (
            f"  {len(found) - len(intervals)} without an interval"
            if len(intervals) < len(found)
            else ""
        )
        print(f"{responses:9}  {people:6}  {p:5}  {held:6}  {width:10.3f}{without}")
    print(f"lowest: {least}")


def graded(seed: int, responses: int, people: int, p: float) -> Estimate:
    """Return the anchoring that is measured in one simulated world."""
    rng = np.random.default_rng(seed)
    ids = np.repeat(np.arange(responses), people)
    judge = rng.random(responses).round(2)[ids]
    seen_by_all = rng.normal(0, 0.25, responses)[ids]
    blind = np.clip(judge + seen_by_all + rng.normal(0, 0.1, ids.size), 0, 1).round(2)
    revealed = np.where(rng.random(ids.size) < p, judge, blind)
    return anchoring(
        judge, blind, revealed, grouping(ids, ids.size, row="response", group="response")
    )


if __name__ == "__main__":
    main()

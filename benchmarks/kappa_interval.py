"""Measures the time of the interval of a weighted kappa: 2,000 resamples of 100,000 pairs.

Prints the median and the best of several turns. Two references are measured in the same turns:
NumPy drawing the same multinomial tables (Judgeboard may take 5 times that), and a loop over
scikit-learn, extrapolated from a few rounds. Then it measures the same pairs in evidence groups of
random size, and everything that a page shows of as many pairs, on every grade. Times are processor
times, so that other work on the machine does not count.

    python benchmarks/kappa_interval.py [--pairs 100000] [--resamples 2000] [--turns 7] [--loop 5]
"""

import argparse
import time
from collections.abc import Callable
from statistics import median

import numpy as np

from judgeboard.stats.arrays import IntArray, grouping
from judgeboard.stats.confusion import TableEstimates, category_codes
from judgeboard.stats.pair_statistics import pair_statistics
from judgeboard.stats.ratings import GROUNDEDNESS, LABEL, QUALITY

QUALITIES = (1, 2, 3, 4)
GROUP_SIZE = 5


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pairs", type=int, default=100_000)
    parser.add_argument("--resamples", type=int, default=2_000)
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument(
        "--loop", type=int, default=5, help="rounds of the scikit-learn loop that are really run"
    )
    asked = parser.parse_args()

    people, judge = _made_pairs(asked.pairs)
    chances = np.bincount(_cells(people, judge), minlength=16) / asked.pairs
    rng = np.random.default_rng(0)
    ids = rng.integers(0, asked.pairs // GROUP_SIZE, asked.pairs)

    ours, draws, grouped = [], [], []
    for _ in range(asked.turns):
        ours.append(_milliseconds(lambda: _interval(people, judge, None, asked.resamples)))
        draws.append(
            _milliseconds(lambda: rng.multinomial(asked.pairs, chances, size=asked.resamples))
        )
        grouped.append(_milliseconds(lambda: _interval(people, judge, ids, asked.resamples)))
    loop = _scikit_learn_loop(people, judge, asked.loop) * asked.resamples

    print(
        f"weighted kappa with interval, {asked.pairs:,} pairs, {asked.resamples:,} resamples; median (best) of turns:"
    )
    print(f"  independent pairs              {_both(ours)} ms")
    print(f"  NumPy's multinomial draws only {_both(draws)} ms")
    times, best = median(ours) / median(draws), min(ours) / min(draws)
    print(f"  Judgeboard takes               {times:9.1f} ({best:.1f}) times that")
    print(
        f"  loop over scikit-learn         {loop:9.0f} ms   {loop / median(ours):,.0f} x Judgeboard"
    )
    print(
        f"     extrapolated from {asked.loop} rounds of {loop / asked.resamples:.1f} ms, not run to the end"
    )
    print(f"  in evidence groups of about {GROUP_SIZE}  {_both(grouped)} ms")
    print("everything a page shows of as many pairs in evidence groups; median (best) of turns:")
    for grade, compute in _pages(asked.pairs, ids).items():
        print(f"  {grade:30} {_both([_milliseconds(compute) for _ in range(asked.turns)])} ms")


def _both(times: list[float]) -> str:
    return f"{median(times):9.1f} ({min(times):.1f})"


def _pages(n: int, ids: IntArray) -> dict[str, Callable[[], object]]:
    """Return what computes all statistics of a grade, for every grade."""
    rng = np.random.default_rng(3)
    people = rng.random(n)
    judge = np.clip(people + rng.normal(0, 0.3, n), 0, 1)
    labels = np.array(LABEL.categories)
    label_by_judge, label_by_people = (
        labels[(side > 0.5).astype(np.int64)] for side in (judge, people)
    )
    quality_by_judge, quality_by_people = (
        np.clip(np.ceil(side * 4), 1, 4).astype(np.int64) for side in (judge, people)
    )
    return {
        "label": lambda: pair_statistics(label_by_judge, label_by_people, LABEL, ids, scores=judge),
        "quality": lambda: pair_statistics(quality_by_judge, quality_by_people, QUALITY, ids),
        "groundedness": lambda: pair_statistics(judge, people, GROUNDEDNESS, ids),
    }


def _made_pairs(n: int) -> tuple[IntArray, IntArray]:
    rng = np.random.default_rng(1)
    people = rng.choice(QUALITIES, size=n, p=(0.1, 0.2, 0.3, 0.4))
    judge = np.where(rng.random(n) < 0.6, people, rng.choice(QUALITIES, size=n))
    return people, judge


def _cells(people: IntArray, judge: IntArray) -> IntArray:
    return category_codes(people, QUALITIES) * len(QUALITIES) + category_codes(judge, QUALITIES)


def _interval(people: IntArray, judge: IntArray, ids: IntArray | None, resamples: int) -> None:
    cells = _cells(people, judge)
    TableEstimates(cells, len(QUALITIES), grouping(ids, len(cells)), resamples=resamples).kappa(
        "quadratic"
    )


def _scikit_learn_loop(people: IntArray, judge: IntArray, rounds: int) -> float:
    """Return the milliseconds of one round: draw the pairs with replacement, compute kappa."""
    from sklearn.metrics import cohen_kappa_score

    rng = np.random.default_rng(2)

    def one_round() -> None:
        rows = rng.integers(0, len(people), len(people))
        cohen_kappa_score(people[rows], judge[rows], weights="quadratic")

    one_round()
    return median(_milliseconds(one_round) for _ in range(rounds))


def _milliseconds(run: Callable[[], object]) -> float:
    started = time.process_time()
    run()
    return (time.process_time() - started) * 1e3


if __name__ == "__main__":
    main()

"""Measures how often a plan of labels keeps what it promises: the half-width of the interval of the rate.

Answers come in evidence groups of six, and the labels of a group correlate with 0.3. The judge is
as good as track_b on RAGTruth. A pilot of 40 random labels plans, the planned labels are drawn at
random, and the half-width of the rate of the app is compared with the promise. Exits 1 if fewer
than 80 % of the draws are within 110 % of it. Draws in which the answers are too few, and the plan
says so, do not count.

    python benchmarks/plan_widths.py [--draws 200] [--seed 1]
"""

import argparse
import sys

import numpy as np

from judgeboard.measure.label_plans import PlanGoal, plan_number
from judgeboard.measure.plans import plan_of_rate
from judgeboard.measure.samples import SampledLabels, StratumName
from judgeboard.stats.arrays import BoolArray, IntArray
from judgeboard.stats.rates import rate, summed

REACHES, SIZES, PILOT = (0.05, 0.03), (6_000, 3_000), 40
GROUP, CORRELATION, BAD, SENSITIVITY, SPECIFICITY = 6, 0.3, 0.3, 0.73, 0.9
WITHIN, BOUND = 1.1, 0.8


def main() -> int:
    """Simulate and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    missed = 0
    print("promised  answers  labels  within 110 %, in %  mean half-width  answers too few, in %")
    for place, (reach, answers) in enumerate(
        (reach, answers) for reach in REACHES for answers in SIZES
    ):
        rng = np.random.default_rng([asked.seed, place])
        widths, labels = [], []
        for _ in range(asked.draws):
            made = log(rng, answers)
            labelled = np.zeros(answers, dtype=np.bool_)
            labelled[rng.choice(answers, PILOT, replace=False)] = True
            plan = plan_of_rate(
                PlanGoal("rate", reach, "app", ("made v1",)), sample_of(*made, labelled)
            )
            if plan.headline.code not in {"plan_too_few", "plan_shows_nothing"}:
                labelled[
                    rng.choice(np.flatnonzero(~labelled), plan_number(plan), replace=False)
                ] = True
                sample = sample_of(*made, labelled)
                estimate = rate(sample.counts, "app", sample.app_effect)
                widths.append(((estimate.high or 0.0) - (estimate.low or 0.0)) / 2)
                labels.append(plan_number(plan, "labels"))
        kept = float(np.mean(np.array(widths) <= WITHIN * reach))
        missed += kept < BOUND
        few = 100 * (1 - len(widths) / asked.draws)
        print(
            f"{reach:8}  {answers:7,}  {np.mean(labels):6.0f}  {100 * kept:18.1f}  {np.mean(widths):15.4f}  "
            f"{few:21.1f}",
            flush=True,
        )
    return int(missed > 0)


def log(rng: np.random.Generator, answers: int) -> tuple[BoolArray, BoolArray, IntArray]:
    """Return whether each answer is bad, the judge's verdict, and its evidence group."""
    groups = np.arange(answers) // GROUP
    spread = (1 - CORRELATION) / CORRELATION
    bad = rng.random(answers) < rng.beta(BAD * spread, (1 - BAD) * spread, groups[-1] + 1)[groups]
    return bad, rng.random(answers) < np.where(bad, SENSITIVITY, 1 - SPECIFICITY), groups


def sample_of(
    bad: BoolArray, judged_bad: BoolArray, groups: IntArray, labelled: BoolArray
) -> SampledLabels:
    """Return the labels of a random sample, with strata by verdict."""
    strata, verdicts = judged_bad.astype(np.int64), judged_bad.astype(np.float64)
    values = bad[labelled].astype(np.float64)
    population, labels = summed(strata, verdicts, groups, 2, labelled, values)
    return SampledLabels(
        grade="label",
        population=population,
        labels=labels,
        response_ids=np.flatnonzero(labelled),
        verdicts=verdicts[labelled],
        strata=(StratumName("no", "good", False), StratumName("no", "bad", False)),
        extras=0,
        left_out={},
        undecided=np.zeros(2, dtype=np.int64),
        drawn=np.zeros(2, dtype=np.int64),
        waiting=np.zeros(2, dtype=np.int64),
        uncounted=np.zeros(2, dtype=np.int64),
        in_open_queues={},
        unlabelled=np.bincount(strata[~labelled], minlength=2),
        judged_bad_by=np.array([0, int(judged_bad.sum())]),
        judged_by=np.bincount(strata, minlength=2),
        all_values=values,
        all_verdicts=verdicts[labelled],
        stratum_of=strata,
        is_sampled=labelled,
        is_random=True,
    )


if __name__ == "__main__":
    sys.exit(main())

"""Measures whether agreement in all answers holds the truth if people label what was flagged and a sample of the rest.

RAGTruth's answers with the verdicts of one judge: all answers that the judge calls bad are labelled, and a random 5 %
of the others. In each of the draws, the product's interval of each statistic in `FIGURES` is compared
with the figure of all labels. The same figures on the labelled answers alone, which earlier releases showed, stand
beside. Exits 1 if an interval holds the figure of all labels in less than 93 % of the draws.

    python benchmarks/chosen_labels.py --data FOLDER [--draws 200] [--seed 0]

FOLDER contains ``ragtruth.responses.jsonl.gz``, ``ragtruth.human.jsonl.gz`` and ``ragtruth.judgements.jsonl.gz``.
"""

import argparse
import gzip
import json
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from judgeboard.stats.rates import summed, unweighted_agreement, weighted_agreement

SHARE, BOUND = 0.05, 93.0
FIGURES = ("agreement", "kappa", "sensitivity", "specificity", "f1", "scott_pi", "ac1", "macro_recall", "mcc")


def main() -> int:
    """Draw and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with the RAGTruth files")
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    people = {
        row["response_id"]: row["label"] == "hallucinated" for row in rows(asked.data / "ragtruth.human.jsonl.gz")
    }
    evidence = {
        row["id"]: json.dumps([row["query"], row["context"]])
        for row in rows(asked.data / "ragtruth.responses.jsonl.gz")
    }
    verdicts = defaultdict[str, dict[str, bool]](dict)
    for row in rows(asked.data / "ragtruth.judgements.jsonl.gz"):
        if row["response_id"] in people and row.get("label"):
            verdicts[row["judge"]][row["response_id"]] = row["label"] == "hallucinated"
    print(
        f"{asked.draws} draws: share of intervals that hold the figure of all labels, in %; figure of all labels, mean"
    )
    print("of the estimates, mean of the labelled answers alone")
    missed = 0
    for place, (judge, of_judge) in enumerate(sorted(verdicts.items())):
        ids = sorted(of_judge)
        judged = np.array([of_judge[each] for each in ids])
        bad = np.array([people[each] for each in ids])
        groups = np.unique([evidence[each] for each in ids], return_inverse=True)[1]
        truth = {name: each.value for name, each in unweighted_agreement(bad * 1.0, judged * 1.0).items()}
        rng = np.random.default_rng([asked.seed, place])
        held, values, alone = (defaultdict[str, list[Any]](list) for _ in range(3))
        for _ in range(asked.draws):
            labelled = judged | (rng.random(len(ids)) < SHARE)
            strata = judged.astype(np.int64)
            population, labels = summed(strata, judged * 1.0, groups, 2, labelled, bad[labelled] * 1.0)
            weighted = weighted_agreement(population, labels, judged[labelled] * 1.0)
            plain = unweighted_agreement(bad[labelled] * 1.0, judged[labelled] * 1.0)
            for name in FIGURES:
                each = weighted[name]
                if each.low is not None and each.high is not None:
                    values[name].append(each.value)
                    held[name].append(each.low <= truth[name] <= each.high)
                alone[name].append(np.nan if plain[name].value is None else plain[name].value)
        print(f"{judge} ({len(ids):,} answers, {int(judged.sum()):,} judged bad)")
        for name in FIGURES:
            coverage = 100 * float(np.mean(held[name] or [np.nan]))
            missed += coverage < BOUND
            shown = f"{len(held[name])} draws with an interval" if len(held[name]) < asked.draws else ""
            print(
                f"  {name:12} {coverage:5.1f}{' ' if coverage >= BOUND else '!'} {truth[name]:6.2f} "
                f"{np.mean(values[name] or [np.nan]):6.2f} {np.nanmean(alone[name]):6.2f} {shown}".rstrip()
            )
    return int(missed > 0)


def rows(path: Path) -> Any:
    """Yield the rows of a file of compressed JSON lines."""
    with gzip.open(path, "rt") as lines:
        yield from map(json.loads, lines)


if __name__ == "__main__":
    sys.exit(main())

"""Measures whether figures of all answers hold the truth if people label what was flagged and a sample of the rest.

RAGTruth's answers with the verdicts of seven judges. In each draw, people label the answers that the judge calls bad
and a random share of all answers, and the product's interval of each statistic of all answers is compared with the
figure of all labels. The same figure on the labelled answers alone, which earlier releases showed, stands beside.

In the last setting, the flagged answers are worked worst first, and left after a third. These labels came by no known
chance, so no figure of all answers may rest on them.

    python benchmarks/chosen_labels.py --data FOLDER [--draws 2000] [--seed 0]

FOLDER contains ``ragtruth.responses.jsonl.gz``, ``ragtruth.human.jsonl.gz`` and ``ragtruth.judgements.jsonl.gz``. Exits
1 if an interval holds the figure of all labels in less than 93 % of the draws, or if the last setting has a figure.
"""

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from judgeboard.agreement.all_answers import in_all_answers
from judgeboard.agreement.samples import LabelledAnswers
from judgeboard.imports.importing import import_file
from judgeboard.stats.arrays import BoolArray, FloatArray
from judgeboard.stats.rates import STATISTICS_OF_ALL
from judgeboard.store.engine import open_store
from judgeboard.store.judge_versions import list_versions
from judgeboard.store.strata import BAD

SHARE, BOUND = 0.05, 0.93
FEW = (0.006, 0.02)  # smaller samples of the rest, for one judge
JUDGE = "track_b_modernbert"
FILES = {"responses": "responses", "grades": "human", "verdicts": "judgements"}


def main() -> int:
    """Draw and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with the RAGTruth files")
    parser.add_argument("--draws", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    print(f"{asked.draws} draws: intervals that hold the figure of all labels, in %; draws with an interval, in %;")
    print("figure of all labels, mean of the estimates, mean of the labelled answers alone")
    missed = 0
    for place, loaded in enumerate(every_judge(asked.data)):
        name = "" if loaded.version is None else loaded.version.name
        for share in (SHARE, *FEW) if name == JUDGE else (SHARE,):
            missed += flagged_and_drawn(loaded, share, np.random.default_rng([asked.seed, place]), asked.draws)
        if name == JUDGE:
            missed += worst_first(loaded, np.random.default_rng([asked.seed, place]), asked.draws)
    return int(missed > 0)


def every_judge(data: Path) -> Iterator[LabelledAnswers]:
    """Yield the answers that each judge judged, with all labels of people."""
    with TemporaryDirectory() as folder:
        store = open_store(Path(folder) / "ragtruth.db", create=True)
        for kind, file in FILES.items():
            import_file(store, data / f"ragtruth.{file}.jsonl.gz", kind=kind, rejected=Path(folder) / "rejected.jsonl")
        with store.reading() as connection:
            for version in list_versions(connection):
                yield LabelledAnswers(connection, version)


def flagged_and_drawn(loaded: LabelledAnswers, share: float, rng: np.random.Generator, draws: int) -> int:
    """Print the coverage if all flagged answers and a share of all are labelled; return how many figures miss it."""
    judged_bad: BoolArray = loaded.answers.verdicts == BAD
    every, labelled = loaded.values.copy(), loaded.labelled.copy()
    truth = in_all_answers(loaded).graded
    held, values, alone = (defaultdict[str, list[float]](list) for _ in range(3))
    for _ in range(draws):
        drawn = rng.random(len(every)) < share
        label(loaded, every, labelled & (judged_bad | drawn), drawn)
        in_all = in_all_answers(loaded)
        for name in STATISTICS_OF_ALL:
            each, true, of_graded = in_all.statistics[name], truth[name].value, in_all.graded[name].value
            if each.low is not None and each.high is not None and each.value is not None and true is not None:
                held[name].append(each.low <= true <= each.high)
                values[name].append(each.value)
            alone[name].append(np.nan if of_graded is None else of_graded)
    label(loaded, every, labelled, np.zeros(len(every), dtype=np.bool_))
    judge = "" if loaded.version is None else loaded.version.title
    print(
        f"{judge}: {len(every):,} answers, {int(judged_bad.sum()):,} flagged, and {share:.1%} of all".replace("%", " %")
    )
    missed = 0
    for name in STATISTICS_OF_ALL:
        found, coverage = len(held[name]), float(np.mean(held[name] or [np.nan]))
        missed += coverage < BOUND
        print(
            f"  {name:12} {100 * coverage:6.1f}{'!' if coverage < BOUND else ' '} {100 * found / draws:4.0f} "
            f"{truth[name].value or 0.0:6.2f} {np.mean(values[name] or [np.nan]):6.2f} {np.nanmean(alone[name]):6.2f}",
            flush=True,
        )
    return missed


def worst_first(loaded: LabelledAnswers, rng: np.random.Generator, draws: int) -> int:
    """Print how many draws have a figure of all answers after a third of the flagged ones, and return this number."""
    judged_bad: BoolArray = loaded.answers.verdicts == BAD
    every, labelled = loaded.values.copy(), loaded.labelled.copy()
    flagged = np.flatnonzero(judged_bad)
    in_order = flagged[np.argsort(loaded.answers.scores[flagged], kind="stable")]
    worked: BoolArray = np.zeros(len(every), dtype=np.bool_)
    worked[in_order[: len(in_order) // 3]] = True
    figures = 0
    for _ in range(draws):
        drawn = rng.random(len(every)) < SHARE
        label(loaded, every, labelled & (worked | (drawn & ~judged_bad)), drawn)
        in_all = in_all_answers(loaded)
        figures += any(each.value is not None for each in in_all.statistics.values())
    label(loaded, every, labelled, np.zeros(len(every), dtype=np.bool_))
    print(f"  a third of the flagged, worst first, and {SHARE:.0%} of the rest: ".replace("%", " %"), end="")
    print(f"{figures} of {draws} draws have a figure of all answers")
    return figures


def label(loaded: LabelledAnswers, every: FloatArray, labelled: BoolArray, drawn: BoolArray) -> None:
    """Leave only some labels; what the judge calls bad is flagged, and the random sample is ``drawn``."""
    loaded.picked = loaded.answers.verdicts == BAD
    loaded.labelled, loaded.drawn = labelled, drawn
    loaded.values = np.where(labelled, every, np.nan)


if __name__ == "__main__":
    sys.exit(main())

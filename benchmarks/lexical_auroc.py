"""Measures how well the word-overlap judge separates hallucinated from grounded answers, and its speed.

Prints the AUROC of its groundedness against human labels, with n and 95 % interval (by evidence
group: same query and passages), compared with answer length alone; the same by query type; the rank
correlation of its quality with human quality, if people graded it; and answers per second on one
core.

    python benchmarks/lexical_auroc.py [--data FOLDER]

FOLDER contains ``ragtruth.responses.jsonl.gz`` and ``ragtruth.human.jsonl.gz``. The default is the
bundled sample.
"""

import argparse
import gzip
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from judgeboard.cli.demo import sample_folder
from judgeboard.domain import Estimate
from judgeboard.judges.lexical import lexical_verdict
from judgeboard.stats.arrays import BoolArray, FloatArray, grouping
from judgeboard.stats.correlation import spearman
from judgeboard.stats.detection import auroc


def main() -> None:
    """Judge, compare, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="folder with the RAGTruth files")
    folder = parser.parse_args().data
    responses, grades = (
        (folder / "ragtruth.responses.jsonl.gz", folder / "ragtruth.human.jsonl.gz")
        if folder
        else (sample_folder() / "responses.jsonl.gz", sample_folder() / "grades.jsonl.gz")
    )
    rows = [row for row in _lines(responses) if row.get("context") is not None]
    graded: dict[str, list[dict[str, Any]]] = {}
    for grade in _lines(grades):
        graded.setdefault(grade["response_id"], []).append(grade)

    started = time.process_time()
    verdicts = [lexical_verdict(row["query"], row["answer"], tuple(row["context"])) for row in rows]
    seconds = time.process_time() - started

    bad = np.array([_share_bad(graded.get(row["id"], [])) for row in rows])
    kept = np.isfinite(bad) & (bad != 0.5)
    score = np.array([verdict.groundedness for verdict in verdicts], dtype=np.float64)
    shorter = np.array([-len(row["answer"]) for row in rows], dtype=np.float64)
    groups = np.array([json.dumps([row["query"], row["context"]]) for row in rows])
    types = np.array([row["query_type"] for row in rows])
    hallucinated = int((bad[kept] > 0.5).sum())
    print(
        f"{responses.name}: {kept.sum()} answers with a label that is no tie, {hallucinated} hallucinated"
    )
    print(f"{len(rows) / seconds:,.0f} answers/s on one core")
    for name in ("all", *np.unique(types)):
        mask = kept & (np.ones_like(kept) if name == "all" else types == name)
        for what, values in (("lexical", score), ("answer length", shorter)):
            estimate = auroc(values[mask], bad[mask] > 0.5, grouping(groups[mask], int(mask.sum())))
            print(f"  {name:10} {what:14} AUROC {_shown(estimate)}")
    _quality(
        rows, graded, np.array([verdict.quality for verdict in verdicts], dtype=np.float64), groups
    )


def _quality(
    rows: list[dict[str, Any]],
    graded: dict[str, list[dict[str, Any]]],
    given: FloatArray,
    groups: Any,
) -> None:
    people = np.array([_mean_quality(graded.get(row["id"], [])) for row in rows])
    kept: BoolArray = np.isfinite(people)
    if kept.any():
        estimate = spearman(given[kept], people[kept], grouping(groups[kept], int(kept.sum())))
        values = ", ".join(
            f"{value:.0f}: {int((given == value).sum())}" for value in np.unique(given)
        )
        print(f"  quality compared with people: Spearman {_shown(estimate)}; its values {values}")


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def _share_bad(grades: list[dict[str, Any]]) -> float:
    labels = [grade["label"] == "hallucinated" for grade in grades if grade.get("label")]
    return sum(labels) / len(labels) if labels else float("nan")


def _mean_quality(grades: list[dict[str, Any]]) -> float:
    qualities = [grade["quality"] for grade in grades if grade.get("quality") is not None]
    return sum(qualities) / len(qualities) if qualities else float("nan")


def _shown(estimate: Estimate) -> str:
    if estimate.value is None:
        return f"not measured: {estimate.reason} (n {estimate.n})"
    interval = (
        f" [{estimate.low:.3f}, {estimate.high:.3f}]"
        if estimate.low is not None
        else f" ({estimate.reason})"
    )
    return f"{estimate.value:.3f}{interval} n {estimate.n}"


if __name__ == "__main__":
    main()

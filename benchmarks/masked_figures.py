"""Compares figures of RAGTruth with and without masks: groundedness, flags and agreement, side by side.

Imports the answers, the people's labels and the recorded verdicts of seven detectors twice, once
with masks, and lets the offline judge judge both. Prints a table in Markdown, and then how many
values are masked.

    python benchmarks/masked_figures.py DATA
"""

import argparse
import json
import os
import tempfile
from pathlib import Path

import judgeboard
from judgeboard.reports.stats import Stats, measure_log
from judgeboard.store.tables import version_title

FILES = (
    ("ragtruth.responses", "responses"),
    ("ragtruth.human", "grades"),
    ("ragtruth.judgements", "verdicts"),
)
MASKS = json.dumps({"key": "the key of this benchmark"})


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path, help="Folder of the public sets.")
    asked = parser.parse_args()
    without, with_masks = measured(asked.data, ""), measured(asked.data, MASKS)
    print("| figure | without masks | with masks |")
    print("|---|---|---|")
    for name, value in without.figures.items():
        print(f"| {name} | {value} | {with_masks.figures[name]} |")
    print()
    for each in with_masks.stats.masks:
        print(f"{each.kind}: {each.masked} values in {each.answers} answers")


class Measured:
    """The figures of a database by their names, and its statistics."""

    def __init__(self, board: judgeboard.Board) -> None:
        self.stats = measure_log(board.store)
        self.figures = {**_groundedness(board), **_flags(self.stats), **_agreement(self.stats)}


def measured(data: Path, masks: str) -> Measured:
    """Import the set with these masks, judge it, and return its figures."""
    os.environ["JUDGEBOARD_MASKS"] = masks
    with tempfile.TemporaryDirectory() as folder:
        board = judgeboard.open(Path(folder) / "log.db")
        for name, kind in FILES:
            board.add(
                data / f"{name}.jsonl.gz", kind=kind, rejected=Path(folder) / "rejected.jsonl"
            )
        board.judge("lexical")
        return Measured(board)


def _groundedness(board: judgeboard.Board) -> dict[str, str]:
    judgments = board.judgments()
    scores = judgments[judgments["judge"] == "lexical"]["groundedness"]
    return {
        "answers": f"{len(scores):,}",
        "mean groundedness, lexical": f"{scores.mean():.6f}",
        "groundedness below 0.5, lexical": f"{(scores < 0.5).sum():,}",
    }


def _flags(stats: Stats) -> dict[str, str]:
    return {
        f"flags, {rule.replace('_', ' ')}": f"{sum(states.values()):,}"
        for rule, states in stats.flags.by_rule.items()
        if sum(states.values())
    }


def _agreement(stats: Stats) -> dict[str, str]:
    titles = {
        each.fingerprint: version_title(each.name, each.number) for each in stats.judge_versions
    }
    rows = [
        row for row in stats.agreement if row.query_type is None and row.grade == "label" and row.n
    ]
    return {
        f"{name} on label, {titles[row.judge_version]}": f"{value.value:.4f} (n = {value.n:,})"
        for row in rows
        for name in ("agreement", "kappa")
        if (value := row.statistics.get(name)) is not None and value.value is not None
    }


if __name__ == "__main__":
    main()

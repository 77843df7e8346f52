"""Runs a benchmark of this folder in two source trees in turn, and prints each of its figures old, new, and new / old.

    python benchmarks/in_turn.py OLD_TREE BENCHMARK [--turns 3] [--one-file] [-- ARGUMENTS OF THE BENCHMARK]

OLD_TREE is a checkout of an earlier commit. Both trees run in the environment of this Python. A
figure is the median of its turns. Lines are matched by their words, numbers by their place in the
line. With a fourth turn or more, the range of a figure over its turns in the same tree is printed
as well: a ratio within that range says nothing. With --one-file, the file of this tree measures
both trees: for a benchmark that only runs commands, and was mended since.
"""

import argparse
import os
import re
import shlex
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from statistics import median

HERE = Path(__file__).parents[1]
PACKAGES = ("core", "dashboard")
NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?![\w.]*\w)")
RANGE_FROM = 4  # turns

Figures = dict[str, list[float]]
"""The numbers of each line, by the line's words."""


def figures_of(tree: Path, file: Path, arguments: list[str]) -> Figures:
    """Run the file of a benchmark in a tree, and return what it printed."""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(str(tree / package) for package in PACKAGES),
    }
    command = [sys.executable, str(file), *arguments]
    ran = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False, cwd=tree
    )
    if ran.returncode and ran.stderr.strip():  # without a word, only a limit was missed
        raise SystemExit(f"{tree}: exit code {ran.returncode}\n{ran.stderr[-2000:]}")
    figures: Figures = {}
    for line in ran.stdout.splitlines():
        numbers = [float(each.replace(",", "")) for each in NUMBER.findall(line)]
        words = " ".join(NUMBER.sub("_", line).split())
        while words in figures:
            words += "'"
        if numbers:
            figures[words] = numbers
    return figures


def main() -> int:
    """Run in turn, and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("old", type=Path, help="checkout of the earlier commit")
    parser.add_argument("benchmark", help="name of a file of this folder, without .py")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument(
        "--one-file", action="store_true", help="measure both trees with the file of this tree"
    )
    own, _, of_benchmark = " ".join(map(shlex.quote, sys.argv[1:])).partition(" -- ")
    asked, arguments = parser.parse_args(shlex.split(own)), shlex.split(of_benchmark)
    turns: dict[str, defaultdict[tuple[str, int], list[float]]] = {
        "old": defaultdict(list),
        "new": defaultdict(list),
    }
    for turn in range(asked.turns):
        trees = {"old": asked.old.resolve(), "new": HERE}
        for name in trees if turn % 2 == 0 else reversed(trees):
            file = (
                (HERE if asked.one_file else trees[name]) / "benchmarks" / f"{asked.benchmark}.py"
            )
            for words, numbers in figures_of(trees[name], file, arguments).items():
                for place, number in enumerate(numbers):
                    turns[name][words, place].append(number)
    for words, place in turns["new"]:
        news, olds = turns["new"][words, place], turns["old"].get((words, place))
        if not olds:
            print(f"{words} [{place}]: only new: {median(news):,.3f}")
            continue
        ratio = f"{median(news) / median(olds):.3f}" if median(olds) else "-"
        spread = f"   old {min(olds):,.3f} to {max(olds):,.3f}" if asked.turns >= RANGE_FROM else ""
        print(f"{words} [{place}]: {median(olds):,.3f} {median(news):,.3f} ratio {ratio}{spread}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

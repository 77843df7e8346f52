"""The tutorial runs as a reader runs it: in one folder, in order, with reviews. It prints what the page shows."""

import json
import re
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from judgeboard.cli.app import run
from test_docs import DOCS, in_shell

PAGE = DOCS / "get-started.md"
QUEUE = "check"


def sample_labels(folder: Path) -> dict[str, str]:
    """Return the label that most of the sample's reviewers gave to each answer."""
    in_shell("judgeboard export reviews --db sample.db -o reviews.jsonl", folder)
    labels: dict[str, Counter[str]] = defaultdict(Counter)
    for line in (folder / "reviews.jsonl").read_text(encoding="utf-8").splitlines():
        review = json.loads(line)
        if review["label"] is not None:
            labels[review["external_id"]][review["label"]] += 1
    return {name: votes.most_common(1)[0][0] for name, votes in labels.items()}


def review_all(folder: Path, capsys: pytest.CaptureFixture[str]) -> int:
    """Review the queue to its end, as a script does, with the labels of the sample's reviewers."""
    labels = sample_labels(folder)
    capsys.readouterr()
    for reviews in range(1_000):
        assert run(["queue", "next", QUEUE, "--json"]) == 0
        item = json.loads(capsys.readouterr().out)
        if item["item"] is None:
            return reviews
        label = labels.get(item["texts"]["external_id"])
        grade = ["unsure"]
        if label is not None:
            grade = ["confirm" if label == "hallucinated" else "dismiss", "--label", label]
        assert run(["queue", "decide", item["token"], *grade]) == 0
        capsys.readouterr()
    raise AssertionError("the queue has no end")


def test_the_tutorial_runs_in_order_and_prints_what_it_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    printed = ""
    checked = reviews = 0
    for language, code in re.findall(
        r"^```(sh|text)\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    ):
        if language == "text":
            lines = [" ".join(line.split()) for line in code.splitlines()]
            assert all(line in printed for line in lines), [line for line in lines if line not in printed]
            checked += len(lines)
            continue
        printed = " ".join(in_shell(f"set -eu\n{code}", tmp_path).split())
        if "queue decide" in code:
            reviews = review_all(tmp_path, capsys)
    assert reviews >= 20
    assert checked >= 10

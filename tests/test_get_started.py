"""The tutorial runs as a reader runs it: in one folder, in order, with reviews. It prints what the page shows."""

import json
import re
from collections import Counter, defaultdict

from test_docs import DOCS, in_shell

PAGE = DOCS / "get-started.md"
QUEUE = "check"


def sample_labels(folder):
    """Return the label that most of the sample's reviewers gave to each answer."""
    in_shell("judgeboard export reviews --db sample.db -o reviews.jsonl", folder)
    labels = defaultdict(Counter)
    for line in (folder / "reviews.jsonl").read_text(encoding="utf-8").splitlines():
        review = json.loads(line)
        if review["label"] is not None:
            labels[review["external_id"]][review["label"]] += 1
    return {name: votes.most_common(1)[0][0] for name, votes in labels.items()}


def review_all(folder):
    """Review the queue to its end, in a file, with the labels of the sample's reviewers; return how many reviews."""
    labels = sample_labels(folder)
    in_shell(
        f'judgeboard queue export {QUEUE} queue.jsonl --reviewer "$(id -un)" --limit 1000', folder
    )
    head, *lines = (folder / "queue.jsonl").read_text(encoding="utf-8").splitlines()
    items = [json.loads(line) for line in lines]
    for item in items:
        label = labels.get(item["id"])
        item["label"] = label
        item["decision"] = {None: "unsure", "hallucinated": "confirm", "grounded": "dismiss"}[label]
    (folder / "queue.jsonl").write_text(
        "\n".join([head, *map(json.dumps, items)]), encoding="utf-8"
    )
    in_shell("judgeboard queue merge queue.jsonl", folder)
    return len(items)


def test_the_tutorial_runs_in_order_and_prints_what_it_shows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    printed = ""
    checked = reviews = 0
    for language, code in re.findall(
        r"^```(sh|text)\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    ):
        if language == "text":
            lines = [" ".join(line.split()) for line in code.splitlines()]
            assert all(line in printed for line in lines), [
                line for line in lines if line not in printed
            ]
            checked += len(lines)
            continue
        printed = " ".join(in_shell(f"set -eu\n{code}", tmp_path).split())
        if "queue create" in code:
            reviews = review_all(tmp_path)
    assert reviews >= 20
    assert checked >= 10

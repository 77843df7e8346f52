"""Counts which replies the judges read, and how many of the numbers are wrong.

Replies are read by the judges themselves, as with ``--replies``. So this file also measures an
older release.

- Mutated replies: replies in the requested form are cut, wrapped, quoted, prefixed with drafts and
  so on. A judge may read the original values or nothing.
- ``--shared FOLDER``: replies of real judges. The feedback of GPT-4 with its score as ``[RESULT]
  4``, and the feedback without the score, from which nothing may be read; verdicts "A" and "B" on
  pairs; texts of traces, which give nothing.
- ``--base-url URL``: replies of a small model to the rag, the grade and the rating judge.

    python benchmarks/judge_replies.py [--replies 10000] [--shared ../shared] [--base-url URL --answers 50]
"""

import argparse
import asyncio
import gzip
import json
import random
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from judgeboard.cli.demo import sample_folder
from judgeboard.domain import JudgeInput, PairItem, Shown, Status, Verdict
from judgeboard.judges.grade import GradeJudge
from judgeboard.judges.judge import Judge, JudgeOptions
from judgeboard.judges.pairwise import PairwiseJudge
from judgeboard.judges.rag import RagJudge
from judgeboard.judges.rating import RatingJudge
from judgeboard.judges.rubric import RubricJudge
from judgeboard.judges.rubric_file import Dimension, Rubric
from judgeboard.llm.chat import RecordedChat
from judgeboard.llm.endpoint import ModelEndpoint
from judgeboard.runs.judging import make_judge

LEVELS = ("bad", "poor", "fair", "good", "best")
RUBRIC = Rubric((Dimension("accuracy", LEVELS), Dimension("tone", LEVELS)), name="house")
ONE = Rubric((Dimension("quality", LEVELS),), name="one")
ITEM = JudgeInput(1, "How high is the wall?", "30 m.", ("A wall of 30 m.",), external_id="r")
PAIR = PairItem(
    1, "s", "r", "QA", "How high?", None, None, "30 m.", "60 m.", None, None, 1, 2, None
)
Values = dict[str, Any]


async def _values(
    kind: str, reply: str, endpoint: ModelEndpoint | None = None, item: JudgeInput = ITEM
) -> Values:
    model = endpoint or ModelEndpoint(RecordedChat({"r": [reply], "r:ab": [reply]}), "recorded")
    if kind == "pairwise":
        return {
            name: str(value)
            for name, value in (await PairwiseJudge(model).compare(PAIR, Shown.AB))[1].items()
        }
    judges: dict[str, Callable[[], Judge]] = {
        "rag": lambda: RagJudge(model),
        "grade": lambda: GradeJudge(model),
        "rating": lambda: RatingJudge(model),
        "rubric": lambda: RubricJudge(model, JudgeOptions(rubric=RUBRIC)),
        "one": lambda: RubricJudge(model, JudgeOptions(rubric=ONE)),
    }
    return _scores(await judges[kind]().judge(item))


def _scores(verdict: Verdict) -> Values:
    if verdict.status is not Status.OK:
        return {}
    scores = {
        score.dimension: score.value for score in verdict.scores if score.dimension != "overall"
    }
    values = {"groundedness": verdict.groundedness, "quality": verdict.quality, **scores}
    return {name: value for name, value in values.items() if value is not None}


def _original(kind: str, rng: random.Random) -> tuple[str, Values]:
    """Return a reply in the requested form, and its values."""
    reason = rng.choice(
        [
            "Passage 1 says so.",
            "It's 30 m, so 2 of 3 claims hold.",
            'He wrote "no, never".',
            "",
            "Über\n1.",
        ]
    )
    if kind == "grade":
        mark = rng.choice([0, 1])
        return ("correct 1" if mark else "incorrect 0"), {"correct": mark}
    if kind == "pairwise":
        verdict, preference = rng.choice([("first", "a"), ("second", "b"), ("tie", "tie")])
        return json.dumps({"overall": {"reasoning": reason, "verdict": verdict}}), {
            "overall": preference
        }
    if kind == "rubric":
        scores = {name: rng.randint(1, 5) for name in ("accuracy", "tone")}
        return json.dumps(
            {name: {"reasoning": reason, "score": each} for name, each in scores.items()}
        ), scores
    quality = rng.randint(1, 4)
    if kind == "rating":
        return json.dumps({"evaluation": reason, "rating": quality, "feedback": "More."}), {
            "quality": quality
        }
    values = {"groundedness": round(rng.random(), rng.choice([1, 2, 3])), "quality": quality}
    return json.dumps({"reasoning": reason, **values}, indent=rng.choice([None, 2])), values


def _mutated(text: str, rng: random.Random) -> str:
    """Return a reply as a model may spoil it."""
    letters = [at for at, letter in enumerate(text) if letter not in "0123456789.-"]
    spoiled = rng.choice(letters)
    return rng.choice(
        [
            f"```json\n{text}\n```",
            f"Here is my verdict:\n{text}\nI hope that it helps.",
            f"{text}\n{text}",
            text[:spoiled] + text[spoiled + 1 :],
            text[:spoiled] + rng.choice(",;:'\"{}[] \n“”`x") + text[spoiled:],
            text.replace('"', "'"),
            re.sub(r'"([^"]*)"', r"“\1”", text),
            re.sub(r"[}\]]", lambda match: f",{match[0]}", text),
            text.replace(", ", " "),
            text.replace(r"\n", "\n").replace(r"\"", '"'),
            text.replace("{", "").replace("}", ""),
            re.sub(r'"(\w+)":', lambda match: f'"{match[1].title()}":', text),
            re.sub(r'"(\w+)":', r"\1:", text),
            re.sub(r": (\d[\d.]*)", r': "\1"', text),
            re.sub(r": (\d)(?![\d.])", r": \1.0", text),
            re.sub(r": 0\.(\d)", r": 0,\1", text),
            re.sub(r": (\d[\d.]*)", r": about \1", text),
            re.sub(r": (\d[\d.]*)", r": \1 or so", text),
            re.sub(r": (\d[\d.]*)", r": -\1", text),
            re.sub(r": (\d)(?![\d.])", r": \1/4", text),
            re.sub(r": (\d)(?![\d.])", r": \1/10", text),
            re.sub(r": (\d)(?![\d.])", r": \1 (good)", text),
            re.sub(r": (\d)(?![\d.])", r": true", text),
            re.sub(r'"(reasoning|evaluation)": "[^"\\]*", ?', "", text),
            f'{{"result": {text}}}',
            f"[{text}]",
            text.replace("{", '{"confidence": 0.9, ', 1),
            text.replace("{", "{ // my verdict\n", 1),
            json.dumps(text),
            text.replace("\\", ""),
        ]
    )


async def _read_mutated(count: int) -> int:
    rng = random.Random(58)
    total, read, wrong = Counter[str](), Counter[str](), Counter[str]()
    for number in range(count):
        kind = ("rag", "grade", "rating", "rubric", "pairwise")[number % 5]
        original, values = _original(kind, rng)
        other, text = original, original
        while other == original:
            other, others = _original(kind, rng)
            other = original if others == values else other
        for _ in range(rng.choice([1, 1, 2, 3])):
            text = _mutated(text, rng) or " "
        if rng.random() < 0.1:
            text = text[: rng.randrange(len(text) + 1)]
        if number % 20 < 5:
            text = rng.choice(
                [
                    f"<think>{other} or so</think>{text}",
                    f"<think>{other} or so",
                    f"{other}</think>{text}",
                ]
            )
        elif number % 20 < 10:  # nothing tells which of both counts
            text = rng.choice([f"{original}\n{other}", f"{other}\nNo:\n{original}"])
        got = await _values(kind, text)
        total[kind] += 1
        read[kind] += bool(got)
        # A rubric may lack a dimension.
        if any(value != values.get(name) for name, value in got.items()):
            wrong[kind] += 1
            print(f"  wrong: {kind} {text!r} was read as {got}, not {values}")
    _print("mutated replies", total, read, wrong)
    return wrong.total()


def _print(title: str, total: Counter[str], read: Counter[str], wrong: Counter[str]) -> None:
    print(f"{title}: {read.total():,} of {total.total():,} read, {wrong.total():,} wrong")
    for kind, n in total.items():
        print(
            f"  {kind}: {read[kind]:,} of {n:,} read ({100 * read[kind] / n:.1f} %), {wrong[kind]:,} wrong"
        )


def _rows(path: Path) -> Iterator[Values]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _texts(each)


async def _read_shared(folder: Path) -> int:
    total, read, wrong = Counter[str](), Counter[str](), Counter[str]()

    async def check(title: str, kind: str, reply: str, values: Values) -> None:
        got = await _values(kind, reply)
        total[title] += 1
        read[title] += bool(got)
        if got not in ({}, values):
            wrong[title] += 1
            print(f"  wrong: {kind} {reply[-200:]!r} was read as {got}, not {values}")

    for row in _rows(folder / "data" / "prometheus.samples.jsonl.gz"):
        for feedback, score in zip(row["raw"], row["samples"], strict=True):
            values = {"quality": float(score)}
            await check("feedback with [RESULT]", "one", f"{feedback} [RESULT] {score}", values)
            await check(
                "feedback with <score>",
                "one",
                f"<feedback>{feedback}</feedback>\n<score>{score}</score>",
                values,
            )
            for kind in ("one", "rating", "grade", "rag"):
                await check(
                    "feedback alone", kind, feedback, values if kind in {"one", "rating"} else {}
                )
    for row in [*_rows(folder / "data" / "pandalm.pairwise.jsonl.gz")]:
        verdict = row.get("verdict_order_ab")
        await check(
            "verdicts on pairs", "pairwise", str(verdict), {"overall": str(verdict).lower()}
        )
    for path in sorted((folder / "captures").rglob("*.json")):
        for text in {
            each for each in _texts(json.loads(path.read_text("utf-8"))) if 20 < len(each) < 20_000
        }:
            for kind in ("rag", "rating", "grade", "pairwise"):
                await check("texts of traces", kind, text, {})
    _print("real replies", total, read, wrong)
    return wrong.total()


async def _read_small_model(base_url: str, answers: int) -> None:
    total, read, repaired = Counter[str](), Counter[str](), Counter[str]()
    rows = [*_rows(sample_folder() / "responses.jsonl.gz")][:answers]
    for kind in ("rag", "rating", "grade"):
        model = {"model": "smollm2", "base_url": base_url, "timeout_s": 600, "max_output": 160}
        for row in rows:
            item = JudgeInput(
                1, row["query"], row["answer"], tuple(row["context"][:1]), external_id="r"
            )
            total[kind] += 1
            judge = make_judge(kind, **model)
            verdict = await judge.judge(item)
            await judge.aclose()
            read[kind] += verdict.status is Status.OK
            repaired[kind] += len(verdict.attempts) > 1
    for kind, n in total.items():
        print(f"small model, {kind}: {read[kind]} of {n} read, {repaired[kind]} second calls")


def main() -> None:
    """Read and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--replies", type=int, default=10_000)
    parser.add_argument("--shared", type=Path)
    parser.add_argument("--base-url")
    parser.add_argument("--answers", type=int, default=50)
    chosen = parser.parse_args()
    wrong = asyncio.run(_read_mutated(chosen.replies))
    if chosen.shared is not None:
        wrong += asyncio.run(_read_shared(chosen.shared))
    if chosen.base_url is not None:
        asyncio.run(_read_small_model(chosen.base_url, chosen.answers))
    if wrong:
        sys.exit(f"{wrong} numbers are wrong")


if __name__ == "__main__":
    main()

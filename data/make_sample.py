"""Writes the bundled sample log into ``data/sample`` or the folder named: same seed, same bytes."""

import gzip
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from sample_source import methods
from sample_source.dice import Dice
from sample_source.log import Log
from sample_source.manners import hedged, prompt
from sample_source.plan import Answer
from sample_source.replay import replays
from sample_source.reviewers import REVIEWERS, grade
from sample_source.second_judge import verdict
from sample_source.selection import JUDGED, assignments, even, sampled
from sample_source.users import feedback

SEED = 20261101
FOLDER = Path(__file__).parent / "sample"


def response(dice: Dice, answer: Answer) -> dict[str, Any]:
    """Return the row of ``responses.jsonl``: as the assistant logged it, without what the generator knows."""
    draft = answer.draft
    row: dict[str, Any] = {"id": answer.id, "query": draft.query}
    if draft.passages is not None:
        row["context"] = draft.passages
    row |= {
        "answer": draft.answer,
        "query_type": draft.query_type,
        "model": answer.model,
        "asked_at": answer.asked_at.strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
    if draft.passages is not None and dice.chance(0.5):
        row["messages"] = prompt(draft)
    said = feedback(dice, draft)
    if said is not None:
        row["feedback"] = said
    channel = dice.pick(("web", "web", "app", "app", "app", "chat"))
    latency = dice.between(180, 700) + 9 * len(draft.answer)
    row["metadata"] = draft.metadata | {"channel": channel, "latency_ms": latency}
    return row


def replay(answer: Answer) -> dict[str, Any]:
    """Return the row of ``replays.jsonl``: nobody asked, so there is no time, no prompt and no feedback."""
    draft = answer.draft
    return {
        "id": answer.id,
        "query": draft.query,
        "context": draft.passages,
        "answer": draft.answer,
        "query_type": draft.query_type,
        "model": answer.model,
        "metadata": draft.metadata,
    }


def write(path: Path, rows: Iterable[dict[str, Any]]) -> int:
    """Write ``rows`` as gzipped JSON lines without a time stamp and return their number."""
    lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows]
    with (
        path.open("wb") as file,
        gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packed,
    ):
        packed.write("".join(lines).encode())
    return len(lines)


def main(folder: Path = FOLDER) -> None:
    """Write the files and print what is in them."""
    folder.mkdir(parents=True, exist_ok=True)
    answers = Log(SEED).answers()
    dice = Dice(SEED + 1)
    rows = {
        "responses": [response(dice, answer) for answer in answers],
        "grades": [grade(dice, person, answer) for answer, person in assignments(dice, answers)],
        "verdicts": [verdict(dice, answer) for answer in even(dice, answers, JUDGED)],
    }
    # A sequence of its own: what stands above stays the same to the byte.
    dice = Dice(SEED + 2)
    rows["pairs"] = methods.pairs(dice, answers)
    rows["samples"] = methods.samples(dice, answers)
    suite, rows["suite_answers"] = methods.suite(dice, answers)
    # Answers that nobody graded: the decisions leave the agreement of judges and people as it is.
    graded = {row["response_id"] for row in rows["grades"]}
    rows["queue_reviews"] = methods.decisions(
        dice, [answer for answer in answers if answer.id not in graded]
    )
    dice = Dice(SEED + 3)
    replayed = replays(dice, answers)
    rows["replays"] = [replay(answer) for answer in replayed]
    drawn = [
        answer for answer in answers if answer.id not in graded and sampled("sample", answer.id)
    ]
    rows["random_grades"] = [
        grade(dice, dice.pick(REVIEWERS), answer) for answer in drawn + replayed
    ]
    # Answers that nobody graded: spans of reviewers are offsets into an answer.
    graded |= {answer.id for answer in drawn}
    for answer, row in zip(answers, rows["responses"], strict=True):
        if (
            answer.id not in graded
            and answer.draft.query_type != "complex"
            and answer.draft.mood == "grounded"
        ):
            row["answer"] = hedged(row["answer"])
    (folder / "suite.yaml").write_text(
        f"{json.dumps(suite, ensure_ascii=False, indent=1)}\n", encoding="utf-8"
    )
    for name, content in rows.items():
        print(f"{name}: {write(folder / f'{name}.jsonl.gz', content)}")


if __name__ == "__main__":
    main(*(Path(argument) for argument in sys.argv[1:2]))

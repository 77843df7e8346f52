r"""A judge of a judge: a student answers, a teacher grades the answer, a reviewer marks the grade as correct or wrong.

One question with a known answer is asked n times. The result shows how far the reviewer can be trusted: its precision
(marks that are wrong grades) and its recall (wrong grades that it marks). Without options it needs no model: scripted
replies go over a real connection::

    python examples/supreme_judge.py

With an OpenAI-compatible endpoint, each part can have its own model::

    python examples/supreme_judge.py --base-url http://localhost:8000/v1 --model llama-3.1-8b-instruct \
        --reviewer-model qwen3-14b --runs 20

The scene is from Daniel Le, "LLM judge evaluates another LLM judge" (2024).
"""

import argparse
import asyncio
import json
import random
import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import judgeboard
from judgeboard.cli.audit import report_lines
from judgeboard.llm.asking import Generator
from judgeboard.llm.recording_endpoint import RecordingEndpoint, ScriptedReply, completion
from judgeboard.methods.audit_report import AuditReport
from judgeboard.runs.judging import make_endpoint

QUESTION = "A shop sells 3 pens for 2 euros. What do 27 pens cost, in euros? Show your working in one sentence."
RIGHT_ANSWER = 18


@dataclass(frozen=True)
class Models:
    """Who plays which part; ``base_url`` None is OpenAI's own address."""

    student: str
    teacher: str
    reviewer: str
    base_url: str | None = None


@dataclass(frozen=True)
class Turn:
    """What happens in one scripted run."""

    student_is_right: bool
    teacher_is_right: bool
    reviewer_is_right: bool


def scripted_turn(number: int) -> Turn:
    """Return what happens in a run; the same every time."""
    draw = random.Random(number)  # noqa: S311 - a scene that can be repeated, not a secret
    return Turn(draw.random() < 0.6, draw.random() < 0.7, draw.random() < 0.8)


def scripted_reply(request: dict[str, Any], number: int) -> ScriptedReply:
    """Play student, teacher or reviewer, by what is asked; an answer names its run, so that the others know it."""
    text = "\n".join(message["content"] for message in request["messages"])
    if "You grade answers" not in text and "You review the work of a judge" not in text:
        cost = RIGHT_ANSWER if scripted_turn(number).student_is_right else RIGHT_ANSWER + 1 + number % 5
        return completion(f"In run {number}, 27 pens are 9 times 3 pens, which makes {cost} euros.")
    found = re.search(r"In run (\d+)", text)
    turn = scripted_turn(int(found[1]) if found else 0)
    if "You grade answers" in text:
        correct = turn.student_is_right is turn.teacher_is_right
    else:
        correct = turn.teacher_is_right is turn.reviewer_is_right
    return completion("correct 1" if correct else "incorrect 0")


def is_right(answer: str) -> bool:
    """Grade an answer as a person would who knows the result: its last number counts."""
    numbers = re.findall(r"\d+(?:\.\d+)?", answer)
    return bool(numbers) and float(numbers[-1]) == RIGHT_ANSWER


async def ask_student(models: Models, runs: int) -> list[str]:
    """Ask the question ``runs`` times; runs without an answer are left out."""
    endpoint = make_endpoint("the student", model=models.student, base_url=models.base_url)
    student = Generator(endpoint, max_output=256, parameters={"temperature": 1.0})
    try:
        made = await asyncio.gather(*(student.generate([{"role": "user", "content": QUESTION}]) for _ in range(runs)))
    finally:
        await endpoint.aclose()
    return [one.text for one in made if one.text is not None]


def play(models: Models, runs: int, folder: Path) -> AuditReport:
    """Play the scene and return what it comes to; the database stays in ``folder``."""
    answers = asyncio.run(ask_student(models, runs))
    ids = [f"run-{number}" for number in range(len(answers))]
    logged = [{"id": id_, "query": QUESTION, "answer": answer} for id_, answer in zip(ids, answers, strict=True)]
    graded = [
        {"response_id": id_, "annotator": "the key", "label": "grounded" if is_right(answer) else "hallucinated"}
        for id_, answer in zip(ids, answers, strict=True)
    ]
    store = judgeboard.open_store(folder / "supreme_judge.db", create=True)
    try:
        judgeboard.import_file(store, lines_in(folder / "answers.jsonl", logged))
        judgeboard.import_file(store, lines_in(folder / "key.jsonl", graded), kind="grades")
        teacher = judgeboard.make_judge("grade", name="teacher", model=models.teacher, base_url=models.base_url)
        judgeboard.judge_pending(store, teacher)
        reviewer = judgeboard.make_supreme(name="reviewer", model=models.reviewer, base_url=models.base_url)
        return judgeboard.audit(store, reviewer, "teacher")
    finally:
        store.close()


def lines_in(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    """Write JSON lines and return the file."""
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path


@contextmanager
def models_of(chosen: argparse.Namespace) -> Iterator[Models]:
    """Give the models that were asked for, the scripted ones where none was."""
    if chosen.model is None:
        with RecordingEndpoint(scripted_reply) as endpoint:
            yield Models("student", "teacher", "reviewer", endpoint.base_url)
    else:
        reviewer = chosen.reviewer_model or chosen.model
        yield Models(chosen.model, chosen.teacher_model or chosen.model, reviewer, chosen.base_url)


def main(arguments: Sequence[str] | None = None) -> AuditReport:
    """Play the scene, print what it came to, and return it."""
    parser = argparse.ArgumentParser(description="student, teacher, reviewer, n times on one question")
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--model", help="a real model; without it the scene is scripted")
    parser.add_argument("--teacher-model", help="the teacher's, where it is another")
    parser.add_argument("--reviewer-model", help="the reviewer's, where it is another; best a stronger one")
    parser.add_argument("--base-url", help="an OpenAI-compatible address, with /v1")
    chosen = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder, models_of(chosen) as models:
        report = play(models, chosen.runs, Path(folder))
    print("\n".join(report_lines(report)))
    return report


if __name__ == "__main__":
    main()

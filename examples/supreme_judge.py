r"""A judge of a judge: a student answers, a teacher grades the answer, a reviewer marks the grade as correct or wrong.

One question with a known answer is asked n times. The result shows how far the reviewer can be
trusted: its precision (marks that are wrong grades) and its recall (wrong grades that it marks).
Without options it needs no model: a function plays all three parts::

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
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import judgeboard
from judgeboard.imports.importing import import_file
from judgeboard.judges.grade import GradeJudge
from judgeboard.judges.judge import JudgeOptions
from judgeboard.judges.supreme import SupremeJudge
from judgeboard.llm.asking import Generator
from judgeboard.llm.endpoint import ModelEndpoint
from judgeboard.methods.audits.command import report_lines
from judgeboard.methods.audits.report import AuditReport
from judgeboard.runs.generation import function_endpoint
from judgeboard.runs.judging import judge_pending, make_endpoint

QUESTION = "A shop sells 3 pens for 2 euros. What do 27 pens cost, in euros? Show your working in one sentence."
RIGHT_ANSWER = 18


@dataclass(frozen=True)
class Models:
    """Who plays which part."""

    student: ModelEndpoint
    teacher: ModelEndpoint
    reviewer: ModelEndpoint


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


def scripted_reply(messages: list[dict[str, Any]], number: int) -> str:
    """Play student, teacher or reviewer, by what is asked; an answer names its run, so that the others know it."""
    text = "\n".join(message["content"] for message in messages)
    if "You grade answers" not in text and "You review the work of a judge" not in text:
        cost = (
            RIGHT_ANSWER
            if scripted_turn(number).student_is_right
            else RIGHT_ANSWER + 1 + number % 5
        )
        return f"In run {number}, 27 pens are 9 times 3 pens, which makes {cost} euros."
    found = re.search(r"In run (\d+)", text)
    turn = scripted_turn(int(found[1]) if found else 0)
    if "You grade answers" in text:
        correct = turn.student_is_right is turn.teacher_is_right
    else:
        correct = turn.teacher_is_right is turn.reviewer_is_right
    return "correct 1" if correct else "incorrect 0"


def is_right(answer: str) -> bool:
    """Grade an answer as a person would who knows the result: its last number counts."""
    numbers = re.findall(r"\d+(?:\.\d+)?", answer)
    return bool(numbers) and float(numbers[-1]) == RIGHT_ANSWER


async def ask_student(models: Models, runs: int) -> list[str]:
    """Ask the question ``runs`` times; runs without an answer are left out."""
    student = Generator(models.student, max_output=256, parameters={"temperature": 1.0})
    try:
        made = await asyncio.gather(
            *(student.generate([{"role": "user", "content": QUESTION}]) for _ in range(runs))
        )
    finally:
        await models.student.aclose()
    return [answer.value for answer in made if answer.value is not None]


def play(models: Models, runs: int, folder: Path) -> AuditReport:
    """Play the scene and return what it comes to; the database stays in ``folder``."""
    answers = asyncio.run(ask_student(models, runs))
    ids = [f"run-{number}" for number in range(len(answers))]
    logged = [
        {"id": id_, "query": QUESTION, "answer": answer}
        for id_, answer in zip(ids, answers, strict=True)
    ]
    graded = [
        {
            "response_id": id_,
            "annotator": "the key",
            "label": "grounded" if is_right(answer) else "hallucinated",
        }
        for id_, answer in zip(ids, answers, strict=True)
    ]
    store = judgeboard.open_store(folder / "supreme_judge.db", create=True)
    try:
        import_file(store, lines_in(folder / "answers.jsonl", logged))
        import_file(store, lines_in(folder / "key.jsonl", graded), kind="grades")
        judge_pending(store, GradeJudge(models.teacher, JudgeOptions(name="teacher")))
        reviewer = SupremeJudge(models.reviewer, JudgeOptions(name="reviewer"))
        return judgeboard.audit(store, reviewer, "teacher")
    finally:
        store.close()


def lines_in(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    """Write JSON lines and return the file."""
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path


def models_of(chosen: argparse.Namespace) -> Models:
    """Return the models that were asked for, the scripted ones where none was."""
    if chosen.model is None:
        numbers = count()
        scripted = function_endpoint(lambda messages: scripted_reply(messages, next(numbers)))
        return Models(scripted, scripted, scripted)
    names = (
        chosen.model,
        chosen.teacher_model or chosen.model,
        chosen.reviewer_model or chosen.model,
    )
    student, teacher, reviewer = (
        make_endpoint(f"the {part}", model=name, base_url=chosen.base_url)
        for part, name in zip(("student", "teacher", "reviewer"), names, strict=True)
    )
    return Models(student, teacher, reviewer)


def main(arguments: Sequence[str] | None = None) -> AuditReport:
    """Play the scene, print what it came to, and return it."""
    parser = argparse.ArgumentParser(
        description="student, teacher, reviewer, n times on one question"
    )
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--model", help="a real model; without it the scene is scripted")
    parser.add_argument("--teacher-model", help="the teacher's, where it is another")
    parser.add_argument(
        "--reviewer-model", help="the reviewer's, where it is another; best a stronger one"
    )
    parser.add_argument("--base-url", help="an OpenAI-compatible address, with /v1")
    chosen = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        report = play(models_of(chosen), chosen.runs, Path(folder))
    print("\n".join(report_lines(report)))
    return report


if __name__ == "__main__":
    main()

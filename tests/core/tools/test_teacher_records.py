"""Published records of a student, a teacher and a reviewer: answer, grade, mark of the grade, and a person's grade."""

import csv
import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from judgeboard.cli.app import run
from judgeboard.domain import Rejected
from judgeboard.imports.reading import read_records

# Teacher, reviewer, person. The reviewer marks all five grades as wrong, and all five are wrong.
PUBLISHED = [
    ("Grade: 1", "Correctness: 0\nThe teacher missed the unit.", "0"),
    (1, 0, 0),
    ("0", "0", "1"),
    ("incorrect 0", "incorrect 0", "correct 1"),
    ("Grade: 0", "Correctness: 0", True),
]


def records(*rows: tuple[Any, Any, Any]) -> list[dict[str, Any]]:
    names = ("teacher_grading", "reviewer_feedback", "human_grading")
    return [
        {"question": f"Question {number}?", "student_answer": f"Answer {number}.", **dict(zip(names, row, strict=True))}
        for number, row in enumerate(rows, start=1)
    ]


def written(file: Path, rows: list[dict[str, Any]]) -> Path:
    with file.open("w", newline="") as stream:
        if file.suffix == ".csv":
            table = csv.DictWriter(stream, rows[0].keys())
            table.writeheader()
            table.writerows(rows)
        else:
            stream.write("\n".join(map(json.dumps, rows)))
    return file


@pytest.mark.parametrize("name", ["records.jsonl", "records.csv"])
def test_the_published_rows_give_the_published_figures(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, database = written(tmp_path / name, records(*PUBLISHED)), str(tmp_path / "d.db")
    assert run(["import", str(file), "--db", database]) == 0
    printed = capsys.readouterr()
    assert "recognised: teacher and reviewer records" in printed.out
    (next_step,) = re.findall("next: judgeboard (.*)", printed.err)
    assert next_step.startswith("test audit teacher --recorded --by reviewer --db ")
    assert run([*shlex.split(next_step), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert [report[name] for name in ("audited", "marked", "graded")] == [5, 5, 5]
    assert (report["precision"]["value"], report["recall"]["value"]) == (1, 1)


def test_the_next_step_of_grades_without_marks_asks_a_supreme_judge(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [
        {name: row[name] for name in ("question", "student_answer", "teacher_grading")} for row in records((1, 1, 1))
    ]
    file, database = written(tmp_path / "records.jsonl", rows), str(tmp_path / "d.db")
    assert run(["import", str(file), "--db", database]) == 0
    assert "next: judgeboard test audit teacher --model gpt-4o --db " in capsys.readouterr().err


def built(tmp_path: Path, kind: str, *rows: tuple[Any, Any, Any]) -> list[Any]:
    with read_records(written(tmp_path / "records.jsonl", records(*rows)), kind=kind) as reading:
        return list(reading)


def test_a_mark_confirms_the_grade_or_turns_it_round(tmp_path: Path) -> None:
    rows = [(1, 1, None), (1, 0, None), (0, 1, None), (0, 0, None)]
    labels = [(each.judge, each.verdict.label) for each in built(tmp_path, "verdicts", *rows)]
    assert [label for judge, label in labels if judge == "teacher"] == ["grounded", "grounded", *["hallucinated"] * 2]
    assert [label for judge, label in labels if judge == "reviewer"] == [
        *("grounded", "hallucinated", "hallucinated", "grounded")
    ]


def test_an_unreadable_grade_or_mark_is_unparsable_and_keeps_its_text(tmp_path: Path) -> None:
    rows = [("It depends.", "Correctness: 1", "?"), ("Grade: 1", "Grade: 1", None), (1, None, 2)]
    verdicts = [(each.judge, each.verdict.status, each.verdict.raw) for each in built(tmp_path, "verdicts", *rows)]
    assert verdicts == [
        ("teacher", "unparsable", "It depends."),
        ("reviewer", "unparsable", "Correctness: 1"),
        ("teacher", "ok", "Grade: 1"),
        ("reviewer", "unparsable", "Grade: 1"),
        ("teacher", "ok", "1"),
    ]
    assert built(tmp_path, "grades", *rows) == []
    answers = built(tmp_path, "responses", *rows)
    assert not any(isinstance(each, Rejected) for each in answers)
    assert [each.metadata for each in answers] == [{"human_grading": "?"}, {}, {"human_grading": 2}]

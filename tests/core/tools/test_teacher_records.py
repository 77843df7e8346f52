"""Published records of a student, a teacher and a reviewer: answer, grade, mark of the grade, and a person's grade."""

import csv
import json
import re
from contextlib import closing

import pytest

from command_lines import run_line
from judgeboard.domain import Rejected
from judgeboard.imports.reading import read_records
from judgeboard.store.opening import open_store
from judgeboard.store.tables import JUDGMENT, JUDGMENT_REVIEW, RESPONSE, REVIEW
from stored_rows import values_of

# Teacher, reviewer, person. The reviewer marks all five grades as wrong, and all five are wrong.
PUBLISHED = [
    ("Grade: 1", "Correctness: 0\nThe teacher missed the unit.", "0"),
    (1, 0, 0),
    ("0", "0", "1"),
    ("incorrect 0", "incorrect 0", "correct 1"),
    ("Grade: 0", "Correctness: 0", True),
]


def records(*rows):
    names = ("teacher_grading", "reviewer_feedback", "human_grading")
    return [
        {
            "question": f"Question {number}?",
            "student_answer": f"Answer {number}.",
            **dict(zip(names, row, strict=True)),
        }
        for number, row in enumerate(rows, start=1)
    ]


def written(file, rows):
    with file.open("w", newline="") as stream:
        if file.suffix == ".csv":
            table = csv.DictWriter(stream, rows[0].keys())
            table.writeheader()
            table.writerows(rows)
        else:
            stream.write("\n".join(map(json.dumps, rows)))
    return file


@pytest.fixture
def imported(tmp_path, capsys):
    """Import a file; return what is printed, and the command that is named as the next."""

    def run(file):
        assert run_line(f"import {file} --db {tmp_path / 'd.db'}") == 0
        out, err = capsys.readouterr()
        (next_step,) = re.findall("next: judgeboard (.*)", err)
        return out, next_step

    return run


def measured(report):
    """How many verdicts were audited, marked and graded, and what an audit found."""
    counts = [report["about"]["counts"][name] for name in ("audited", "marked", "graded")]
    return counts, {
        row["figure"]: row["value"]
        for row in report["rows"]
        if row["figure"] in {"marks_precision", "marks_recall"}
    }


@pytest.mark.parametrize("name", ["records.jsonl", "records.csv"])
def test_the_published_rows_give_the_published_figures(name, tmp_path, imported, shell):
    file = written(tmp_path / name, records(*PUBLISHED))
    printed, next_step = imported(file)
    assert "recognised: teacher" in printed
    assert next_step.startswith("test audit teacher --recorded --by reviewer ")
    report = json.loads(shell(f"{next_step} --json"))
    assert measured(report) == ([5, 5, 5], {"marks_precision": 1, "marks_recall": 1})


def test_the_next_step_of_grades_without_marks_asks_a_supreme_judge(tmp_path, imported):
    rows = [
        {name: row[name] for name in ("question", "student_answer", "teacher_grading")}
        for row in records((1, 1, 1))
    ]
    _, next_step = imported(written(tmp_path / "records.jsonl", rows))
    assert next_step.startswith("test audit teacher --model gpt-4o ")


def built(tmp_path, kind, *rows):
    with read_records(written(tmp_path / "records.jsonl", records(*rows)), kind=kind) as reading:
        return list(reading)


def test_an_unreadable_grade_or_mark_is_unparsable_and_keeps_its_text(tmp_path):
    rows = [
        ("It depends.", "Correctness: 1", "?"),
        ("Grade: 1", "Grade: 1", None),
        (1, None, 2),
        (None, 0, None),
    ]
    verdicts = [
        (each.judge.name, each.verdict.status, each.verdict.raw)
        for each in built(tmp_path, "verdicts", *rows)
    ]
    assert verdicts == [
        ("teacher", "unparsable", "It depends."),
        ("teacher", "ok", "Grade: 1"),
        ("teacher", "ok", "1"),
    ]
    audits = built(tmp_path, "audits", *rows)
    assert [(audit.step.status, audit.correct, audit.step.raw) for audit in audits] == [
        ("ok", True, "Correctness: 1"),
        ("unparsable", None, "Grade: 1"),
    ]
    assert built(tmp_path, "grades", *rows) == []
    answers = built(tmp_path, "responses", *rows)
    assert not any(isinstance(each, Rejected) for each in answers)
    kept = [{"human_grading": "?"}, {}, {"human_grading": 2}, {"reviewer_feedback": 0}]
    assert [each.metadata for each in answers] == kept


SEED = [
    (
        "The kettle stops at 100 degrees.",
        "Grade: 1\nIt names the temperature.",
        "Correctness: 0\nThe unit.",
        0,
    ),
    ("Descale the kettle every month.", 1, 1, 1),
    ("Fill in water above the mark.", "incorrect 0", "correct 1", 0),
    ("Open the lid with the button.", "Grade: 0", "Correctness: 0", 1),
    ("The warranty lasts two years.", "correct 1", "correct 1", True),
]


def test_records_without_a_question_go_in_as_answers_verdicts_audits_and_grades(tmp_path):
    names = ("student_answer", "teacher_grading", "reviewer_feedback", "human_grading")
    rows = [dict(zip(names, row, strict=True)) for row in SEED]
    command = f"import {written(tmp_path / 'records.jsonl', rows)} --db {tmp_path / 'd.db'}"
    assert [run_line(command) for _ in range(2)] == [0, 0]
    with closing(open_store(tmp_path / "d.db")) as store:
        assert set(values_of(store, RESPONSE.c.query)) == {""}
        assert values_of(store, RESPONSE.c.answer) == [row[0] for row in SEED]
        assert len({*values_of(store, RESPONSE.c.evidence_group)}) == 5
        labels = values_of(store, JUDGMENT.c.label)
        assert labels == ["grounded", "grounded", "hallucinated", "hallucinated", "grounded"]
        marks = values_of(store, JUDGMENT_REVIEW.c.correct)
        assert marks == [False, True, True, False, True]
        people = values_of(store, REVIEW.c.label)
        assert people == ["hallucinated", "grounded", "hallucinated", "grounded", "grounded"]

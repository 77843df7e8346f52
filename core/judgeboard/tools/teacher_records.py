"""Records of answers with a judge's grade, a supreme judge's mark of this grade, and a person's grade.

Source: Daniel Le, "LLM judge evaluates another LLM judge" (2024), which calls the models student,
teacher and reviewer.
"""

from collections.abc import Collection, Iterator
from typing import Any

from judgeboard.domain import Label
from judgeboard.imports.exports.entry import Entry, answer_row, each_row, grade_row, without_nothing
from judgeboard.imports.exports.export import Export, Keys
from judgeboard.imports.fields import json_text
from judgeboard.imports.kinds import DEFAULT_SOURCE
from judgeboard.judges.grade import GRADE_FORM
from judgeboard.judges.replies import Form
from judgeboard.judges.supreme import CORRECTNESS_FORM
from judgeboard.llm.asking import UnusableReply
from judgeboard.tools.tool import Tool

TEACHER, REVIEWER = "teacher", "reviewer"  # the names of the judge and of the supreme judge
ANSWER, GRADE, MARK, PERSON = (
    "student_answer",
    "teacher_grading",
    "reviewer_feedback",
    "human_grading",
)


@each_row
def read(row: dict[str, Any]) -> Iterator[Entry]:
    """Yield the entry of a record.

    The mark of the reviewer is an audit of the teacher's grade.
    """
    if ANSWER not in row:
        yield Entry(None, reason=f"no {ANSWER}")
        return
    cells = without_nothing(row)
    others = {
        name: value for name, value in row.items() if name not in {ANSWER, GRADE, MARK, PERSON}
    }
    verdicts, audits = [], []
    if GRADE in cells:
        grade = _mark(cells[GRADE], GRADE_FORM)
        result = {"status": "unparsable"} if grade is None else {"label": _label(grade)}
        verdicts = [{"judge": TEACHER, "raw": json_text(cells[GRADE]), **result}]
    if GRADE in cells and MARK in cells:
        mark = _mark(cells[MARK], CORRECTNESS_FORM)
        fields = {"status": "unparsable"} if mark is None else {"correct": mark}
        audits = [
            {"judge": TEACHER, "supreme_judge": REVIEWER, "raw": json_text(cells[MARK]), **fields}
        ]
    elif MARK in cells:
        others[MARK] = row[MARK]
    person = _mark(cells.get(PERSON), GRADE_FORM)
    grades = grade_row("human", {} if person is None else {"label": _label(person)})
    if PERSON in cells and person is None:
        others[PERSON] = row[PERSON]
    yield Entry(answer_row(others, answer=row[ANSWER]), verdicts, grades, audits)


def audit_command(judges: Collection[str]) -> tuple[str, ...]:
    """Return the command that audits the teacher's grades; ``judges`` are the names of the stored judges.

    Without marks of the reviewer, the command asks a supreme judge.
    """
    if REVIEWER in judges:
        return ("test", "audit", TEACHER, "--recorded", "--by", REVIEWER)
    return ("test", "audit", TEACHER, "--model", "gpt-4o")


def _mark(value: Any, form: Form) -> bool | None:
    """Return a mark: 1, 0, true or false, or the value in a judge's reply."""
    text = str(value)
    try:
        right: bool = form.parse_value({"true": "1", "false": "0"}.get(text.casefold(), text)).value
    except UnusableReply:
        return None
    return right


def _label(right: bool) -> str:
    return (Label.GROUNDED if right else Label.HALLUCINATED).value


EXPORT = Export("teacher and reviewer records", DEFAULT_SOURCE, (Keys(ANSWER, GRADE),), read)
TOOL = Tool(exports=(EXPORT,))

"""Real files of people who never heard of Judgeboard come in whole."""

import pytest

from judgeboard.domain import Label, Rejected
from judgeboard.imports.importing import read_records
from judgeboard.store.responses import evidence_group

pytestmark = pytest.mark.shared


def test_ragtruth_responses(shared):
    responses = list(read_records(shared / "data" / "ragtruth.responses.jsonl.gz"))
    assert len(responses) == 2912
    assert not any(isinstance(response, Rejected) for response in responses)
    assert {response.source for response in responses} == {"default"}
    assert sum("quality_flag" in response.metadata for response in responses) == 1718
    assert len({evidence_group(response.query, response.passages) for response in responses}) == 617
    records = [response for response in responses if response.query_type == "Data2txt"]
    assert len(records) == 450
    assert all(len(response.passages) == 1 and response.passages[0].startswith("{") for response in records)


def test_ragtruth_grades_and_verdicts(shared):
    grades = list(read_records(shared / "data" / "ragtruth.human.jsonl.gz", kind="grades"))
    assert len(grades) == 2912
    assert sum(graded.grade.label is Label.HALLUCINATED for graded in grades) == 1179
    verdicts = list(read_records(shared / "data" / "ragtruth.judgements.jsonl.gz", kind="verdicts"))
    assert len(verdicts) == 9408
    assert len({verdict.judge for verdict in verdicts}) == 7
    assert sum(verdict.verdict.groundedness is None for verdict in verdicts) == 9408 - 5376


@pytest.mark.parametrize(("name", "rows", "no_answer"), [("cragc25", 192, 0), ("ragchecker", 560, 6)])
def test_other_logs(shared, name, rows, no_answer):
    items = list(read_records(shared / "data" / f"{name}.responses.jsonl.gz"))
    assert len(items) == rows
    assert [item.field for item in items if isinstance(item, Rejected)] == ["answer"] * no_answer

"""An answer without a logged question is stored beside passages; a judge that needs the question says so."""

import pytest

from engines import on_sqlite
from judgeboard.domain import JudgeInput, Rejected, Status
from judgeboard.imports.importing import import_file
from judgeboard.judges.evidence_alignment import is_right_refusal
from judgeboard.judges.judge import JudgeOptions
from judgeboard.llm.recording_endpoint import RecordingEndpoint, always, completion
from judgeboard.registry.judge_kinds import JUDGES
from judgeboard.store.export import export_tables
from judgeboard.store.filters import RowFilter
from judgeboard.store.response_pages import response_page
from judgeboard.store.responses import log_answers
from judgeboard.store.tables import RESPONSE
from judging_log import judge_once
from stored_rows import read, values_of

ANSWER = {
    "id": "a1",
    "question": "",
    "answer": "Two years.",
    "contexts": ["The warranty lasts two years."],
}


@pytest.mark.parametrize("question", ["", " ", None])
def test_an_answer_with_passages_needs_no_question(one, question):
    assert one({**ANSWER, "question": question}).query == ""


@pytest.mark.parametrize("left", [{"contexts": None}, {"contexts": []}, {"answer": ""}])
def test_a_row_without_a_question_and_passages_or_without_an_answer_is_rejected(one, left):
    assert isinstance(one({**ANSWER, **left}), Rejected)


def without_questions(source, count):
    return [
        {
            "external_id": f"{source}{n}",
            "source": source,
            "query": None,
            "answer": f"{n} years.",
            "context": ["2 years."],
        }
        for n in range(count)
    ]


def test_answers_without_questions_have_none_in_common(store, bring_answers):
    rows = without_questions("old", 3) + without_questions("new", 3)
    assert bring_answers(*rows).new == 6
    # By answer and passages.
    assert len(set(values_of(store, RESPONSE.c.evidence_group))) == 3
    assert read(store, log_answers, "old") == []
    lines = read(store, response_page, RowFilter()).lines
    assert {line.question for line in lines} == {"no question"}


@on_sqlite
@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_an_export_of_answers_without_questions_comes_back(store, bring_answers, tmp_path, form):
    bring_answers(*without_questions("old", 3))
    file = tmp_path / f"answers.{form}"
    export_tables(store, {"responses": file}, format=form)
    assert import_file(store, file).unchanged == 3


ITEM = JudgeInput(1, "", "The warranty lasts two years.", ("The warranty lasts two years.",))


@pytest.mark.parametrize("kind", ["rag", "grade", "rating", "rubric"])
def test_a_judge_that_needs_the_question_makes_no_call(kind):
    with RecordingEndpoint(always(completion(""))) as endpoint:
        judge = JUDGES[kind].make(JudgeOptions(model="m", base_url=endpoint.base_url))
        verdict = judge_once(judge, ITEM)
    assert (verdict.status, len(endpoint.requests)) == (Status.ERROR, 0)
    assert "question" in verdict.error


def test_a_baseline_judges_only_the_groundedness_without_a_question():
    judge = JUDGES["lexical"].make(JudgeOptions())
    verdict = judge_once(judge, ITEM)
    assert (verdict.status, verdict.groundedness, verdict.quality) == (Status.OK, 1.0, None)
    nothing = judge_once(judge, JudgeInput(1, "", "Two years.", None))
    assert (nothing.status, nothing.groundedness) == (Status.ERROR, None)


def test_without_a_question_no_refusal_is_known_to_be_right():
    question, declined = "How long is the warranty?", "I could not find this in the documents."
    assert is_right_refusal(question, declined, ())
    assert not is_right_refusal("", declined, ())

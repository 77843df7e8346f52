"""Audits of a file: each belongs to a stored verdict, and raises a flag if the supreme judge disagrees."""

import pytest

from judgeboard.errors import BadInput
from judgeboard.imports.importing import import_file, undo_import
from judgeboard.store.forgetting import forget_response
from judgeboard.store.tables import FLAG, JUDGMENT_REVIEW
from stored_rows import row_count, rows_of, values_of, write_to
from tool_files import written, wrong_last

ANSWER = {"external_id": "a", "source": "log"}
AUDIT = {**ANSWER, "judge": "teacher", "supreme_judge": "reviewer", "correct": False}


@pytest.fixture
def bring(store, tmp_path):
    """Return ``bring(*rows)``, which imports audits of a verdict of ``teacher`` on the answer ``a``."""

    def bring(*rows, kind="audits"):
        return import_file(store, written(tmp_path, *rows), kind=kind)

    bring({**ANSWER, "query": "q", "answer": "it is"}, kind="responses")
    bring({**ANSWER, "judge": "teacher", "label": "grounded"}, kind="verdicts")
    return bring


def test_an_audit_is_stored_once_and_raises_its_flag(store, bring):
    failed = {
        **AUDIT,
        "ask": 1,
        "correct": None,
        "status": "unparsable",
        "raw": "?",
        "inclusion_probability": 0.5,
    }
    assert bring(AUDIT, failed, AUDIT).new == 2
    assert [bring(AUDIT, failed).new, bring({**AUDIT, "correct": True}).differing] == [0, 1]
    stored = [
        (row["ask"], row["correct"], row["status"], row["raw"], row["inclusion_probability"])
        for row in rows_of(store, JUDGMENT_REVIEW)
    ]
    assert stored == [(0, False, "ok", None, 1), (1, None, "unparsable", "?", 0.5)]
    assert values_of(store, FLAG.c.rule) == ["supreme_disagrees"]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        *wrong_last(
            {"external_id": "b"},
            {"judge": "student"},
            {"correct": "partly"},
            {"correct": None},
            {"inclusion_probability": 2},
            {"inclusion_probability": True},
        ),
        ({"judgment_repeat": 1}, "judge"),
        ({"status": "error"}, "correct"),
    ],
)
def test_an_audit_that_cannot_be_stored_names_its_field(bring, change, field):
    assert [row.field for row in bring({**AUDIT, **change}).first_rejected] == [field]


def test_an_audit_brings_no_text_of_a_forgotten_answer_back(store, bring):
    write_to(store, forget_response, "a", actor="me")
    assert bring({**AUDIT, "reasoning": "it is not"}).rejected == 1
    assert row_count(store, JUDGMENT_REVIEW) == 0


def test_an_import_of_audits_cannot_be_undone(store, bring):
    number = bring(AUDIT).number
    with pytest.raises(BadInput, match="audits"):
        undo_import(store, number)
    assert row_count(store, JUDGMENT_REVIEW) == 1

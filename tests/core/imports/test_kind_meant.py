"""A file of another kind than the one that was said is told which kind it looks like."""

import pytest

from judgeboard.domain import Rejected
from judgeboard.imports.importing import OfAnotherKind

RESPONSE = {"id": "a", "question": "q", "response": "a"}
GRADE = {"response_id": "a", "annotator": "Ada", "label": "grounded"}
VERDICT = {"response_id": "a", "judge": "one", "quality": 3}


@pytest.mark.parametrize(
    ("row", "said", "meant"),
    [
        (GRADE, "responses", "grades"),
        (VERDICT, "responses", "verdicts"),
        (RESPONSE, "grades", "responses"),
        (RESPONSE, "verdicts", "responses"),
        ({**RESPONSE, "judge": "one"}, "grades", "responses"),
        (GRADE, "verdicts", "grades"),
        (VERDICT, "grades", "verdicts"),
    ],
)
def test_a_row_of_another_kind_names_it(one, row, said, meant):
    rejected = one(row, kind=said)
    assert isinstance(rejected, OfAnotherKind)
    assert rejected.reason.endswith(f"the row looks like the kind {meant}: use --kind {meant}")


@pytest.mark.parametrize(
    ("row", "said", "reason"),
    [
        ({"id": "a", "text": "t"}, "responses", "no query"),
        ({**RESPONSE, "question": "", "annotator": "Ada"}, "responses", "no query"),
        ({**GRADE, "label": None}, "grades", "no grade: give label, groundedness, quality or failure_modes"),
        ({"id": "a"}, "verdicts", "no judge"),
    ],
)
def test_nothing_is_guessed_of_a_row_that_may_be_of_its_kind(one, row, said, reason):
    rejected = one(row, kind=said)
    assert type(rejected) is Rejected
    assert rejected.reason == reason


def test_a_column_that_was_set_aside_does_not_make_its_own_kind(one):
    assert one(RESPONSE, mapping={"question": "extra"}).reason == "no query"

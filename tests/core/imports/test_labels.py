"""Labels in any words: which word is which label, and what a person can say about it."""

import pytest

from engines import on_sqlite
from graded_log import GradedLog
from judgeboard.domain import Label
from judgeboard.errors import BadInput
from judgeboard.imports.labels import labels_sentence

GRADE = {"response_id": "r", "annotator": "ann"}
VERDICT = {"response_id": "r", "judge": "detector"}
GOOD = ("grounded", "Consistent", "correct", "faithful", "supported", "true", "yes", "PASS", "1", 1, 1.0, True)
BAD = ("hallucinated", "inconsistent", "incorrect", "Unfaithful", "not_supported", "FALSE", "no", "fail", "0", 0, False)


@pytest.mark.parametrize("word", [*GOOD, *BAD])
def test_binary_words_are_labels_of_people_and_of_judges(one, word):
    label = Label.GROUNDED if word in GOOD else Label.HALLUCINATED
    assert one({**GRADE, "label": word}, kind="grades").grade.label is label
    assert one({**VERDICT, "label": word}, kind="verdicts").verdict.label is label


@pytest.mark.parametrize(
    ("column", "word", "label"),
    [
        ("hallucination", "yes", Label.HALLUCINATED),
        ("is_hallucinated", 0, Label.GROUNDED),
        ("Unsupported", True, Label.HALLUCINATED),
        ("faithful", "yes", Label.GROUNDED),
        ("no_hallucination", "yes", Label.GROUNDED),
        ("hallucination", "faithful", Label.GROUNDED),  # this word describes the answer
        ("hallucination set.faithful", "no", Label.HALLUCINATED),
    ],
)
def test_yes_answers_the_question_of_its_column(one, column, word, label):
    row = {**GRADE, column: word} if "." not in column else {**GRADE, "hallucination set": {"faithful": word}}
    assert one(row, kind="grades", mapping={column: "label"}).grade.label is label


def test_an_unknown_word_is_refused_with_both_options(refused):
    field, reason = refused({**GRADE, "label": "So so"}, kind="grades")
    assert field == "label"
    for part in ("'so so'", "--map-value 'label:so so=grounded' (good)", "'label:so so=hallucinated' (bad)"):
        assert part in reason
    assert refused({**GRADE, "label": ["grounded"]}, kind="grades") == ("label", "expected a word, found a list")


@pytest.mark.parametrize("field", ["label", "verdict", "Urteil"])
def test_a_word_is_mapped_to_a_label(reading, field):
    data = b"response_id,annotator,Urteil\na,ann,So_so\nb,ann,yes\n"
    options = {"kind": "grades", "mapping": {"Urteil": "label"}, "values": {field: {"so so": "hallucinated"}}}
    first, second = reading(data, name="grades.csv", **options)
    assert (first.grade.label, second.grade.label) == (Label.HALLUCINATED, Label.GROUNDED)


def test_words_of_other_fields_are_mapped_too(one):
    grade = one({**GRADE, "quality": "Very good"}, kind="grades", values={"quality": {"very good": "4"}})
    assert grade.grade.quality == 4
    status = one({**VERDICT, "status": "timeout"}, kind="verdicts", values={"status": {"timeout": "error"}})
    assert status.verdict.status == "error"
    row = {"id": "a", "query": "q", "answer": "a", "feedback": 0}
    assert one(row, values={"feedback": {"0": "down"}}).feedback[0].value == 0
    assert one(row | {"feedback": "no"}).feedback[0].value == 0


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"label": {"x": "bad"}}, "--map-value label:x=bad: 'bad' is not one of grounded, hallucinated"),
        ({"colour": {"x": "red"}}, "there is no field 'colour'; choose pair_id, external_id, "),
    ],
)
def test_a_mapping_that_cannot_be_used_is_refused_at_once(reading, values, says):
    with pytest.raises(BadInput, match=says):
        reading(b"{}", kind="grades", values=values)


@on_sqlite
def test_the_summary_has_each_word_with_its_label(bring, store):
    ids = GradedLog(store).answers(5)
    words = ("no", "no", "yes", "grounded", "maybe")
    rows = [
        {"response_id": f"a{n}", "annotator": "ann", "label": word}
        for n, word in zip(range(1, len(ids) + 1), words, strict=True)
    ]
    summary = bring(*rows, kind="grades")
    assert [(each.word, each.label, each.rows, each.sure) for each in summary.labels] == [
        ("grounded", "grounded", 1, True),
        ("maybe", None, 1, True),
        ("no", "hallucinated", 2, False),
        ("yes", "grounded", 1, False),
    ]
    assert labels_sentence(summary.labels) == (
        "hallucinated (bad) from 'no' (2 rows), grounded (good) from 'grounded' (1 row) and 'yes' (1 row)"
    )
    assert (summary.new, summary.rejected) == (4, 1)

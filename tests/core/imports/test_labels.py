"""Labels in any words, and label sets with more than two classes."""

import io
import json
from datetime import UTC, datetime

import pytest

from engines import on_sqlite
from graded_log import GradedLog
from judgeboard.cli.app import run
from judgeboard.domain import Label
from judgeboard.errors import BadInput
from judgeboard.formats.label_schema import stored_schema
from judgeboard.imports.importing import import_file
from judgeboard.imports.labels import labels_sentence
from judgeboard.measure.fields import field_agreement
from judgeboard.store.label_schemas import ensure_schema, list_schemas
from judging_log import address

GRADE = {"response_id": "r", "annotator": "ann"}
VERDICT = {"response_id": "r", "judge": "detector"}
GOOD = (
    "grounded",
    "Consistent",
    "correct",
    "faithful",
    "supported",
    "true",
    "yes",
    "PASS",
    "1",
    1,
    1.0,
    True,
)
BAD = (
    "hallucinated",
    "inconsistent",
    "incorrect",
    "Unfaithful",
    "not_supported",
    "FALSE",
    "no",
    "fail",
    "0",
    0,
    False,
)


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
    row = (
        {**GRADE, column: word}
        if "." not in column
        else {**GRADE, "hallucination set": {"faithful": word}}
    )
    assert one(row, kind="grades", mapping={column: "label"}).grade.label is label


def test_an_unknown_word_is_refused_with_both_options(refused):
    field, reason = refused({**GRADE, "label": "So so"}, kind="grades")
    assert field == "label"
    for part in ("'so so'", "'label:so so=grounded'", "'label:so so=hallucinated'"):
        assert part in reason
    assert refused({**GRADE, "label": ["grounded"]}, kind="grades")[0] == "label"
    _, reason = refused(
        {**GRADE, "label": "None", "quality": 3}, kind="grades"
    )  # may mean: no hallucination
    assert "--map-value label:none= (missing)" in reason


@pytest.mark.parametrize("field", ["label", "verdict", "Urteil"])
def test_a_word_is_mapped_to_a_label(reading, field):
    data = b"response_id,annotator,Urteil\na,ann,So_so\nb,ann,yes\n"
    options = {
        "kind": "grades",
        "mapping": {"Urteil": "label"},
        "values": {field: {"so so": "hallucinated"}},
    }
    first, second = reading(data, name="grades.csv", **options)
    assert (first.grade.label, second.grade.label) == (Label.HALLUCINATED, Label.GROUNDED)


def test_words_of_other_fields_are_mapped_too(one):
    grade = one(
        {**GRADE, "quality": "Very good"}, kind="grades", values={"quality": {"very good": "4"}}
    )
    assert grade.grade.quality == 4
    status = one(
        {**VERDICT, "status": "timeout"}, kind="verdicts", values={"status": {"timeout": "error"}}
    )
    assert status.verdict.status == "error"
    row = {"id": "a", "query": "q", "answer": "a", "feedback": 0}
    assert one(row, values={"feedback": {"0": "down"}}).feedback[0].value == 0
    assert one(row | {"feedback": "no"}).feedback[0].value == 0


@pytest.mark.parametrize(
    ("values", "says"),
    [
        (
            {"label": {"x": "bad"}},
            "--map-value label:x=bad: 'bad' is not one of grounded, hallucinated",
        ),
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
    bad, good = labels_sentence(summary.labels).split(", grounded ")
    assert "'no' (2 rows)" in bad
    assert all(word in good for word in ("'grounded' (1 row)", "'yes' (1 row)"))
    assert (summary.new, summary.rejected) == (4, 1)


NAME = "claims"
CLASSES = ("not enough info", "refutes", "supports")


def bring(store, kind, rows, **options):
    content = "\n".join(map(json.dumps, rows)).encode()
    return import_file(
        store, io.BytesIO(content), kind=kind, name="labels.jsonl", **{"label_set": NAME} | options
    )


def grades(person, every, n=40):
    words = ("Supports", "REFUTES", "not_enough_info")
    return [
        {
            "response_id": f"a{place}",
            "annotator": person,
            "label": words[(place + (place % every == 0)) % 3],
        }
        for place in range(1, n + 1)
    ]


@pytest.fixture
def answers(log):
    log.answers(40)
    return log.store


def verdicts(every):
    return [
        {"response_id": row["response_id"], "judge": "nli", "label": row["label"]}
        for row in grades("", every)
    ]


@on_sqlite
def test_people_and_judges_are_compared_on_the_classes(answers):
    assert bring(answers, "grades", grades("mara", 4)).new == 40
    assert bring(answers, "grades", grades("jon", 6)).new == 40
    assert bring(answers, "verdicts", verdicts(5)).new == 40
    for kind, rows in (("grades", grades("mara", 4)), ("verdicts", verdicts(5))):
        again = bring(answers, kind, rows)
        assert (again.new, again.rejected) == (0, 0)
    with answers.reading() as connection:
        (schema,) = list_schemas(connection)
        (field,) = field_agreement(connection, NAME, epsilon=0.2)
    assert (schema.title, schema.content.fields[0].values) == ("claims v1", CLASSES)
    assert (field.field, field.n) == (NAME, 40)
    # Every fourth label of one person, and every sixth of the other, is another one.
    assert field.statistics["agreement"].value == pytest.approx(30 / 40)
    assert list(field.judges) == ["nli v1"]


@on_sqlite
def test_rows_with_unusable_labels_are_rejected_and_the_others_stored(answers):
    bring(answers, "grades", [{"response_id": "unknown", "annotator": "mara", "label": "supports"}])
    with answers.reading() as connection:
        assert not list_schemas(connection)  # no row was stored
    words = ("supports", " ", "x" * 61, *(f"class {number}" for number in range(10, 60)))
    for kind, person in (("grades", "annotator"), ("verdicts", "judge")):
        rows = [
            {"response_id": f"a{n % 40 + 1}", person: f"p{n // 40}", "label": word}
            for n, word in enumerate(words)
        ]
        summary = bring(answers, kind, rows)
        assert summary.new == 50
        assert [each.line for each in summary.first_rejected] == [2, 3, 1]
        assert [each.field for each in summary.first_rejected] == ["label"] * 3
        assert "1 to 60" in summary.first_rejected[0].reason
        assert "'supports'" in summary.first_rejected[2].reason
    for name in ("", "\x1b[31m", "x" * 61):
        with pytest.raises(BadInput, match="--label-set"):
            bring(answers, "grades", rows, label_set=name)


def test_a_new_class_becomes_the_last_option_of_a_new_version(answers):
    bring(answers, "verdicts", verdicts(5)[:20])
    late = [{"response_id": "a21", "judge": "nli", "label": "both"}, *verdicts(5)[21:]]
    assert bring(answers, "verdicts", late).new == 20
    with answers.reading() as connection:
        newest, oldest = list_schemas(connection)
    assert oldest.content.fields[0].values == CLASSES
    assert newest.content.fields[0].values == (*CLASSES, "both")


@on_sqlite
def test_only_schemas_that_can_take_labels_are_label_sets(answers):
    bring(answers, "grades", grades("mara", 4))
    category = {"name": "tone", "type": "category", "options": ["rude", "polite"]}
    with answers.writing() as connection:
        for name, fields in {
            "label": [{"name": "label"}],
            "two": [{**category, "name": "two"}, category],
            "several": [{**category, "name": "several", "many": True}],
            "other name": [category],
            "tone": [category],
        }.items():
            ensure_schema(connection, stored_schema(name, fields), "ada", datetime.now(UTC))
        label_sets = {each.title for each in list_schemas(connection) if each.content.is_label_set}
    assert label_sets == {"claims v1", "tone v1"}


@on_sqlite
def test_a_label_set_needs_labels_and_a_name_of_its_own(answers):
    with pytest.raises(BadInput, match=r"--label-set .*grades"):
        bring(answers, "responses", [{"query": "?"}])
    with pytest.raises(BadInput, match="choose another name"):
        bring(answers, "grades", grades("mara", 4), label_set="quality")
    with pytest.raises(BadInput):
        bring(answers, "grades", grades("mara", 4), label_set="?!")
    rejected = bring(
        answers, "grades", [{**grades("mara", 4)[0], "label_schema": "support"}], dry_run=True
    )
    assert rejected.first_rejected[0].field == "label_schema"


@on_sqlite
def test_the_command_reads_classes_and_suggests_the_comparison(answers, tmp_path, capsys):
    file = tmp_path / "grades.jsonl"
    file.write_text("\n".join(map(json.dumps, grades("mara", 4))), encoding="utf-8")
    command = [
        "import",
        "--kind",
        "grades",
        str(file),
        "--label-set",
        NAME,
        "--db",
        address(answers),
    ]
    assert run(command) == 0
    assert f"judgeboard agreement --schema {NAME}" in capsys.readouterr().err
    assert run(["agreement", "--schema", NAME, "--db", address(answers)]) == 0

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
from stored_rows import read, write_to
from tool_files import counts, written

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
    name, _, inside = column.partition(".")
    row = {**GRADE, name: {inside: word} if inside else word}
    assert one(row, kind="grades", mapping={column: "label"}).grade.label is label


def test_an_unknown_word_is_refused_with_both_options(refused):
    field, reason = refused({**GRADE, "label": "So so"}, kind="grades")
    assert field == "label"
    for part in ("'so so'", "'label:so so=grounded'", "'label:so so=hallucinated'"):
        assert part in reason
    assert refused({**GRADE, "label": ["grounded"]}, kind="grades")[0] == "label"
    may_mean_no_hallucination = {**GRADE, "label": "None", "quality": 3}
    _, reason = refused(may_mean_no_hallucination, kind="grades")
    assert "--map-value label:none= (missing)" in reason


@pytest.mark.parametrize("field", ["label", "verdict", "Urteil"])
def test_a_word_is_mapped_to_a_label(reading, field):
    data = b"response_id,annotator,Urteil\na,ann,So_so\nb,ann,yes\n"
    options = {"mapping": {"Urteil": "label"}, "values": {field: {"so so": "hallucinated"}}}
    first, second = reading(data, name="grades.csv", kind="grades", **options)
    assert (first.grade.label, second.grade.label) == (Label.HALLUCINATED, Label.GROUNDED)


def test_words_of_other_fields_are_mapped_too(one):
    grade, status = {**GRADE, "quality": "Very good"}, {**VERDICT, "status": "timeout"}
    values = {"quality": {"very good": "4"}}
    assert one(grade, kind="grades", values=values).grade.quality == 4
    values = {"status": {"timeout": "error"}}
    assert one(status, kind="verdicts", values=values).verdict.status == "error"
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


def labelled(number, kind, name, label):
    """The label of an annotator or a judge for an answer."""
    return {"response_id": f"a{number}", kind: name, "label": label}


@on_sqlite
def test_the_summary_has_each_word_with_its_label(bring_grades, store):
    GradedLog(store).answers(5)
    words = ("no", "no", "yes", "grounded", "maybe")
    rows = (labelled(n, "annotator", "ann", word) for n, word in enumerate(words, 1))
    summary = bring_grades(*rows)
    assert [(each.word, each.label, each.rows, each.sure) for each in summary.labels] == [
        ("grounded", "grounded", 1, True),
        ("maybe", None, 1, True),
        ("no", "hallucinated", 2, False),
        ("yes", "grounded", 1, False),
    ]
    bad, good = labels_sentence(summary.labels).split(", grounded ")
    assert "'no' (2 rows)" in bad
    assert all(word in good for word in ("'grounded' (1 row)", "'yes' (1 row)"))
    assert counts(summary) == (4, 0, 1)


NAME = "claims"
CLASSES = ("not enough info", "refutes", "supports")


def bring(store, kind, rows, label_set=NAME, **options):
    content = "\n".join(map(json.dumps, rows)).encode()
    options |= {"name": "labels.jsonl", "label_set": label_set}
    return import_file(store, io.BytesIO(content), kind=kind, **options)


def words(every):
    """Forty words for the classes, of which every such word differs from the usual one."""
    classes = ("Supports", "REFUTES", "not_enough_info")
    return [classes[(place + (place % every == 0)) % 3] for place in range(1, 41)]


def grades(person, every):
    return [labelled(n, "annotator", person, word) for n, word in enumerate(words(every), 1)]


def verdicts(every):
    return [labelled(n, "judge", "nli", word) for n, word in enumerate(words(every), 1)]


OF_MARA = grades("mara", 4)


@pytest.fixture
def answers(log):
    log.answers(40)
    return log.store


@on_sqlite
def test_people_and_judges_are_compared_on_the_classes(answers):
    for kind, rows in (
        ("grades", grades("jon", 6)),
        ("grades", OF_MARA),
        ("verdicts", verdicts(5)),
    ):
        assert counts(bring(answers, kind, rows)) == (40, 0, 0)
        assert counts(bring(answers, kind, rows)) == (0, 40, 0)
    (schema,) = read(answers, list_schemas)
    (field,) = read(answers, field_agreement, NAME, epsilon=0.2)
    assert (schema.title, schema.content.fields[0].values) == ("claims v1", CLASSES)
    assert (field.field, field.n) == (NAME, 40)
    # Every fourth label of one person, and every sixth of the other, is another one.
    assert field.statistics["agreement"].value == pytest.approx(30 / 40)
    assert list(field.judges) == ["nli v1"]


@on_sqlite
def test_rows_with_unusable_labels_are_rejected_and_the_others_stored(answers):
    bring(answers, "grades", [{**OF_MARA[0], "response_id": "unknown"}])
    assert not read(answers, list_schemas)  # no row was stored
    words = ("supports", " ", "x" * 61, *(f"class {number}" for number in range(10, 60)))
    for kind, person in (("grades", "annotator"), ("verdicts", "judge")):
        rows = [labelled(n % 40 + 1, person, f"p{n // 40}", word) for n, word in enumerate(words)]
        summary = bring(answers, kind, rows)
        assert summary.new == 50
        refused = summary.first_rejected
        assert [(each.line, each.field) for each in refused] == [
            (2, "label"),
            (3, "label"),
            (1, "label"),
        ]
        assert "1 to 60" in refused[0].reason
        assert "'supports'" in refused[2].reason
    for name in ("", "\x1b[31m", "x" * 61):
        with pytest.raises(BadInput, match="--label-set"):
            bring(answers, "grades", rows, label_set=name)


def test_a_new_class_becomes_the_last_option_of_a_new_version(answers):
    bring(answers, "verdicts", verdicts(5)[:20])
    late = [labelled(21, "judge", "nli", "both"), *verdicts(5)[21:]]
    assert bring(answers, "verdicts", late).new == 20
    newest, oldest = read(answers, list_schemas)
    assert oldest.content.fields[0].values == CLASSES
    assert newest.content.fields[0].values == (*CLASSES, "both")


@on_sqlite
def test_only_schemas_that_can_take_labels_are_label_sets(answers):
    bring(answers, "grades", OF_MARA)
    category = {"name": "tone", "type": "category", "options": ["rude", "polite"]}
    schemas = {
        "label": [{"name": "label"}],
        "two": [{**category, "name": "two"}, category],
        "several": [{**category, "name": "several", "many": True}],
        "other name": [category],
        "tone": [category],
    }
    for name, fields in schemas.items():
        schema = stored_schema(name, fields)
        write_to(answers, ensure_schema, schema, "ada", datetime.now(UTC))
    listed = read(answers, list_schemas)
    label_sets = {each.title for each in listed if each.content.is_label_set}
    assert label_sets == {"claims v1", "tone v1"}


@on_sqlite
def test_a_label_set_needs_labels_and_a_name_of_its_own(answers):
    with pytest.raises(BadInput, match=r"--label-set .*grades"):
        bring(answers, "responses", [{"query": "?"}])
    with pytest.raises(BadInput, match="choose another name"):
        bring(answers, "grades", OF_MARA, label_set="quality")
    with pytest.raises(BadInput):
        bring(answers, "grades", OF_MARA, label_set="?!")
    rejected = bring(answers, "grades", [{**OF_MARA[0], "label_schema": "support"}], dry_run=True)
    assert rejected.first_rejected[0].field == "label_schema"


@on_sqlite
def test_the_command_reads_classes_and_suggests_the_comparison(answers, tmp_path, capsys):
    file = written(tmp_path, *OF_MARA)
    database = ("--db", address(answers))
    assert run(["import", "--kind", "grades", str(file), "--label-set", NAME, *database]) == 0
    assert f"judgeboard agreement --schema {NAME}" in capsys.readouterr().err
    assert run(["agreement", "--schema", NAME, *database]) == 0

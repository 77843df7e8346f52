"""Labels of more than two classes: imported as a label schema, and compared like any other field."""

import io
import json
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest

from engines import on_sqlite
from graded_log import GradedLog
from judgeboard.agreement.fields import field_agreement
from judgeboard.cli.app import run
from judgeboard.errors import BadInput
from judgeboard.formats.label_schema import stored_schema
from judgeboard.imports.importing import ImportSummary, import_file
from judgeboard.stats.pair_statistics import pair_statistics
from judgeboard.stats.ratings import Scale
from judgeboard.store.engine import Store
from judgeboard.store.label_schemas import ensure_schema, list_label_sets, list_schemas
from judging_log import address

NAME = "claims"
CLASSES = ("not enough info", "refutes", "supports")


def bring(store: Store, kind: str, rows: list[dict[str, Any]], **options: Any) -> ImportSummary:
    content = "\n".join(map(json.dumps, rows)).encode()
    return import_file(store, io.BytesIO(content), kind=kind, name="labels.jsonl", **{"label_set": NAME} | options)


def grades(person: str, every: int, n: int = 40) -> list[dict[str, Any]]:
    words = ("Supports", "REFUTES", "not_enough_info")
    return [
        {"response_id": f"a{place}", "annotator": person, "label": words[(place + (place % every == 0)) % 3]}
        for place in range(1, n + 1)
    ]


@pytest.fixture
def answers(log: GradedLog) -> Store:
    log.answers(40)
    return log.store


def verdicts(every: int) -> list[dict[str, Any]]:
    return [{"response_id": row["response_id"], "judge": "nli", "label": row["label"]} for row in grades("", every)]


@on_sqlite
def test_people_and_judges_are_compared_on_the_classes(answers: Store) -> None:
    assert bring(answers, "grades", grades("mara", 4)).new == 40
    assert bring(answers, "grades", grades("jon", 6)).new == 40
    assert bring(answers, "verdicts", verdicts(5)).new == 40
    for kind, rows in (("grades", grades("mara", 4)), ("verdicts", verdicts(5))):
        again = bring(answers, kind, rows)
        assert (again.new, again.rejected) == (0, 0)
    with answers.reading() as connection:
        (schema,) = list_schemas(connection)
        (field,) = field_agreement(connection, NAME, epsilon=0.2)
    assert (schema.title, schema.schema.fields[0].values) == ("claims v1", CLASSES)
    assert (field.field, field.n) == (NAME, 40)
    scale = Scale(NAME, CLASSES)
    codes = {
        each: np.array(CLASSES)[[CLASSES.index(row["label"].casefold().replace("_", " ")) for row in of]]
        for each, of in (("mara", grades("mara", 4)), ("jon", grades("jon", 6)), ("nli", verdicts(5)))
    }
    of_people = pair_statistics(codes["mara"], codes["jon"], scale)
    for name in ("kappa", "alpha_nominal", "ac1"):
        assert field.statistics[name].value == pytest.approx(of_people.estimates[name].value)
    (title,) = field.judges
    stacked = [np.concatenate([codes["nli"]] * 2), np.concatenate([codes["mara"], codes["jon"]])]
    assert field.judges[title]["kappa"].value == pytest.approx(pair_statistics(*stacked, scale).kappa.value)
    assert (field.tests[title].n, field.tests[title].epsilon) == (40, 0.2)


def test_rows_with_unusable_labels_are_rejected_and_the_others_stored(answers: Store) -> None:
    bring(answers, "grades", [{"response_id": "unknown", "annotator": "mara", "label": "supports"}])
    with answers.reading() as connection:
        assert not list_schemas(connection)  # no row was stored
    words = ("supports", " ", "x" * 61, *(f"class {number}" for number in range(10, 60)))
    for kind, person in (("grades", "annotator"), ("verdicts", "judge")):
        rows = [{"response_id": f"a{n % 40 + 1}", person: f"p{n // 40}", "label": word} for n, word in enumerate(words)]
        summary = bring(answers, kind, rows)
        assert summary.new == 50
        assert [each.line for each in summary.first_rejected] == [2, 3, 1]
        assert [each.field for each in summary.first_rejected] == ["label"] * 3
        assert "1 to 60 characters" in summary.first_rejected[0].reason
        assert "'supports' is a label too many" in summary.first_rejected[2].reason
    for name in ("", "\x1b[31m", "x" * 61):
        with pytest.raises(BadInput, match=r"--label-set: .* is not a name"):
            bring(answers, "grades", rows, label_set=name)


def test_a_new_class_becomes_the_last_option_of_a_new_version(answers: Store) -> None:
    bring(answers, "verdicts", verdicts(5)[:20])
    late = [{"response_id": "a21", "judge": "nli", "label": "both"}, *verdicts(5)[21:]]
    assert bring(answers, "verdicts", late).new == 20
    with answers.reading() as connection:
        newest, oldest = list_schemas(connection)
    assert oldest.schema.fields[0].values == CLASSES
    assert newest.schema.fields[0].values == (*CLASSES, "both")


@on_sqlite
def test_only_schemas_that_can_take_labels_are_label_sets(answers: Store) -> None:
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
        newest = list_label_sets(connection)
    assert {name: each.title for name, each in newest.items()} == {NAME: "claims v1", "tone": "tone v1"}


@on_sqlite
def test_a_label_set_needs_labels_and_a_name_of_its_own(answers: Store) -> None:
    with pytest.raises(BadInput, match="--label-set is for the kinds grades and verdicts"):
        bring(answers, "responses", [{"query": "?"}])
    with pytest.raises(BadInput, match="choose another name"):
        bring(answers, "grades", grades("mara", 4), label_set="quality")
    with pytest.raises(BadInput, match="is not a name"):
        bring(answers, "grades", grades("mara", 4), label_set="?!")
    rejected = bring(answers, "grades", [{**grades("mara", 4)[0], "label_schema": "support"}], dry_run=True)
    assert rejected.first_rejected[0].field == "label_schema"


@on_sqlite
def test_an_unknown_label_names_the_option(answers: Store) -> None:
    summary = bring(answers, "grades", grades("mara", 4)[:1], label_set=None, dry_run=True)
    assert "use --label-set NAME" in summary.first_rejected[0].reason


@on_sqlite
def test_the_command_reads_classes_and_suggests_the_comparison(
    answers: Store, tmp_path: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "grades.jsonl"
    file.write_text("\n".join(map(json.dumps, grades("mara", 4))), encoding="utf-8")
    command = ["import", "--kind", "grades", str(file), "--label-set", NAME, "--db", address(answers)]
    assert run(command) == 0
    assert f"judgeboard agreement --schema {NAME}" in capsys.readouterr().err
    assert run(["agreement", "--schema", NAME, "--db", address(answers)]) == 0

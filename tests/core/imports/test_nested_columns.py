"""A mapping names values inside objects and lists with dots."""

import json
from pathlib import Path

import pytest

from judgeboard.domain import Rejected
from judgeboard.errors import BadInput
from judgeboard.imports.importing import import_file, read_records
from judgeboard.store.engine import Store
from judgeboard.store.export import export_tables
from judgeboard.store.filters import RowFilter
from judgeboard.store.response_pages import response_page

MAPPING = {"input.question": "query", "output.0.text": "answer", "run.id": "external_id", "docs": "context"}
ROW = {
    "input": {"question": "q", "user": {"plan": "free"}},
    "output": [{"text": "a", "tokens": 3}],
    "run": {"id": "r1"},
    "docs": ["p"],
}


def written(folder: Path, *rows: object) -> Path:
    file = folder / "log.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))
    return file


def test_values_inside_objects_and_lists_are_fields(store: Store, tmp_path: Path) -> None:
    (record,) = read_records(written(tmp_path, ROW), mapping=MAPPING)
    assert (record.query, record.answer, record.external_id, record.passages) == ("q", "a", "r1", ("p",))
    assert record.metadata == {"input": {"user": {"plan": "free"}}, "output": ROW["output"]}
    summary = import_file(store, written(tmp_path, ROW), mapping=MAPPING)
    assert (summary.new, summary.rejected) == (1, 0)
    export_tables(store, {"responses": tmp_path / "out.jsonl"})
    assert import_file(store, tmp_path / "out.jsonl").unchanged == 1, "metadata comes back as it was"
    with store.reading() as connection:
        for condition, n in (("input.user.plan=free", 1), ("output.0.tokens=3", 1), ("output.0.tokens=4", 0)):
            assert response_page(connection, RowFilter(metadata=(condition,))).total == n


def test_a_column_of_that_name_comes_first(tmp_path: Path) -> None:
    row = {"input.question": "literal", "input": {"question": "nested"}, "answer": "a"}
    (record,) = read_records(written(tmp_path, row), mapping={"input.question": "query"})
    assert record.query == "literal"
    assert record.metadata == {"input": {"question": "nested"}}


def test_a_row_without_the_value_is_rejected_with_line_and_field(tmp_path: Path) -> None:
    rows = [
        ROW,
        {**ROW, "input": {"question": {"text": "q"}}, "run": {"id": "r2"}},
        {**ROW, "input": {"text": "q"}, "run": {"id": "r3"}},
    ]
    _, wrong, absent = read_records(written(tmp_path, *rows), mapping=MAPPING)
    assert isinstance(wrong, Rejected)
    assert (wrong.line, wrong.field, wrong.reason) == (2, "query", "expected a text, found an object")
    assert isinstance(absent, Rejected)
    assert (absent.line, absent.field) == (3, "query")


def test_a_path_that_no_row_has_is_refused_with_the_names_there_are(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"log\.jsonl has no column 'input\.text' .*input\.question, .*output\.0\.text"):
        read_records(written(tmp_path, ROW), mapping={"input.text": "query"})

"""No text of a log becomes a formula in a spreadsheet; numbers stay numbers."""

import csv
import io
from datetime import UTC, datetime

import pytest

from judgeboard.formats.csv import defused
from judgeboard.formats.files import Column, ColumnType, write_rows


def written(row, columns):
    stream = io.BytesIO()
    write_rows([row], columns, stream, "csv")
    header, cells = csv.reader(io.StringIO(stream.getvalue().decode("utf-8"), newline=""))
    return dict(zip(header, cells, strict=True))


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", "\n", " =", "＝", "\u00a0@"])  # noqa: RUF001 - meant
def test_what_begins_like_a_formula_is_defused(start):
    assert written({"answer": f"{start}1+1"}, [Column("answer")])["answer"] == f"'{start}1+1"


@pytest.mark.parametrize("text", ["plain", "a=b", "'quoted", "1+1", "", "multi\nline", '"quotes", commas'])
def test_other_texts_stay_as_they_are(text):
    assert defused(text) == text
    assert written({"answer": text}, [Column("answer")])["answer"] == text


def test_numbers_times_and_lists_are_written_by_their_type():
    columns = [
        Column("n", ColumnType.INTEGER),
        Column("x", ColumnType.NUMBER),
        Column("b", ColumnType.BOOLEAN),
        Column("t", ColumnType.TIME),
        Column("l", ColumnType.TEXTS),
        Column("j", ColumnType.JSON),
        Column("none", ColumnType.NUMBER),
    ]
    row = {"n": -3, "x": -0.5, "b": False, "t": datetime(2026, 3, 1, tzinfo=UTC), "l": ["=a"], "j": {"ä": None}}
    assert written(row, columns) == {
        "n": "-3",
        "x": "-0.5",
        "b": "false",
        "t": "2026-03-01T00:00:00Z",
        "l": '["=a"]',
        "j": '{"ä": null}',
        "none": "",
    }

"""CSV: records over several lines, separators, wrong records; written texts never become formulas."""

import csv
import io
from datetime import UTC, datetime

import pytest

from judgeboard.domain import Feedback, FeedbackKind, Response
from judgeboard.errors import BadInput
from judgeboard.formats.csv import defused
from judgeboard.formats.files import Column, ColumnType, write_rows

LONG = 2 << 20  # bytes: such a record is not given to Python's reader
DAMAGED = b"q," + "ä".encode() * 9 + b"\xff"


def test_a_record_over_several_lines_is_counted_by_its_first(reading):
    text = b'query,answer\r\n"two\r\nlines",a\r\n\r\n,b\r\n"x",c'
    first, bad, last = reading(text, "log.csv")
    assert first.query == "two\r\nlines"
    assert (bad.line, bad.field, bad.reason) == (5, "query", "no query")
    assert last.answer == "c"


@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
def test_the_separator_is_found_in_the_header(reading, mark):
    rows = ["Question", "Generated Answer", "createdAt"], ['"a,b"', "x", "2026-03-01"]
    text = "\n".join(map(mark.join, rows))
    (response,) = reading(b"\xef\xbb\xbf" + text.encode(), "log.csv")
    assert (response.query, response.answer, response.asked_at.day) == ("a,b", "x", 1)


def test_empty_cells_are_absent_and_texts_are_read_by_their_field(reading):
    names = "id,query,answer,context,metadata,stars,cost,split"
    text = names + '\n7,q,42,"[""p"", ""q""]","{""a"": 1}",4,0.5,test\n,q,b,,,,,\n'
    full, bare = reading(text.encode(), "log.csv")
    assert (full.external_id, full.answer, full.passages) == ("7", "42", ("p", "q"))
    assert full.metadata == {"a": 1, "split": "test"}
    assert (full.feedback, full.generator_cost) == ((Feedback(FeedbackKind.STARS, 4),), 0.5)
    assert (bare.passages, bare.metadata, bare.feedback, bare.generator_cost) == (
        None,
        {},
        (),
        None,
    )
    assert len(bare.external_id) == 64


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (b"q", "1 cells, but the header has 2"),
        (b"q,a,b", "3 cells, but the header has 2"),
        (b'"q" x,a', "not CSV"),
        (b"q,a\0", "NUL"),
        (DAMAGED, "not UTF-8"),
        (DAMAGED + b"a" * LONG, "not UTF-8"),
        (b'q,"' + b"a" * LONG + b'"x', "not CSV"),
        (b"q,a," + b"b" * LONG, "3 cells"),
        (b"q,a\rq,b", "not CSV: a line ends with CR alone: save it with LF line ends"),
    ],
)
def test_a_bad_record_costs_itself(reading, record, reason):
    before, bad, after = reading(b"query,answer\nq,a\n" + record + b"\nq,b\n", "log.csv")
    assert (bad.line, reason in bad.reason) == (3, True)
    assert bad.row is not None
    assert (before.answer, after.answer) == ("a", "b")


def test_a_file_whose_lines_end_with_cr_alone_is_told_what_to_do(reading):
    with pytest.raises(BadInput, match=r"log\.csv.*LF"):
        reading(b"query,answer\rq,a\r", "log.csv")


def test_a_cell_that_is_nested_too_deeply_is_kept_as_a_text(reading):
    text = f"query,answer,metadata\nq,a,{'[' * 10_000}{']' * 10_000}\n"
    records = reading(text.encode(), "log.csv")
    (response,) = records
    assert len(response.metadata["metadata"]) == 20_000
    assert "nested" in records.unread["metadata"].reason


def test_a_quote_that_is_never_closed_is_said_with_all_it_swallowed(reading):
    good, bad = reading(b'query,answer\nq,a\n"open,a\nq,b\n', "log.csv")
    assert isinstance(good, Response)
    assert (bad.line, bad.row) == (3, '"open,a\nq,b')


@pytest.mark.parametrize("spelled", ["inf", "1.5", "-0.1", "1e999", "half"])
def test_a_groundedness_outside_0_to_1_is_rejected(reading, spelled):
    text = f"response_id,judge,groundedness\nr,j,{spelled}\n"
    (item,) = reading(text.encode(), "verdicts.csv", kind="verdicts")
    assert item.field == "groundedness"


def test_a_column_without_a_name_is_kept(reading):
    (response,) = reading(b",query,answer\n0,q,a\n", "log.csv")
    assert response.metadata == {"column_1": "0"}


def written(values, columns):
    """The cells of a row of these values."""
    stream = io.BytesIO()
    names = [column.name for column in columns]
    write_rows([dict(zip(names, values, strict=True))], columns, stream, "csv")
    header, cells = csv.reader(io.StringIO(stream.getvalue().decode("utf-8"), newline=""))
    assert header == names
    return cells


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", "\n", " =", "＝", "\u00a0@"])  # noqa: RUF001 - meant
def test_what_begins_like_a_formula_is_defused(start):
    assert written([f"{start}1+1"], [Column("answer")]) == [f"'{start}1+1"]


@pytest.mark.parametrize(
    "text", ["plain", "a=b", "'quoted", "1+1", "", "multi\nline", '"quotes", commas']
)
def test_other_texts_stay_as_they_are(text):
    assert defused(text) == text
    assert written([text], [Column("answer")]) == [text]


def test_numbers_times_and_lists_are_written_by_their_type():
    values = {
        ColumnType.INTEGER: (-3, "-3"),
        ColumnType.NUMBER: (-0.5, "-0.5"),
        ColumnType.BOOLEAN: (False, "false"),
        ColumnType.TIME: (datetime(2026, 3, 1, tzinfo=UTC), "2026-03-01T00:00:00Z"),
        ColumnType.TEXTS: (["=a"], '["=a"]'),
        ColumnType.JSON: ({"ä": None}, '{"ä": null}'),
    }
    columns = [Column(type_.name, type_) for type_ in values]
    given, cells = zip(*values.values(), strict=True)
    assert written(given, columns) == list(cells)
    assert written([None], [Column("none", ColumnType.NUMBER)]) == [""]

"""Files are opened wherever they are, unpacked where they are packed, and read as far as they go."""

import gzip
import io
import sys

import pytest

from judgeboard.domain import Rejected, Response
from judgeboard.errors import BadInput
from judgeboard.imports.importing import read_records

ROWS = [f'{{"id": {number}, "query": "q", "answer": "{number * 7919 % 100_003}"}}\n'.encode() for number in range(5000)]


@pytest.mark.parametrize(
    "packed",
    [
        gzip.compress(b"".join(ROWS)),
        gzip.compress(b"".join(ROWS[:10])) + gzip.compress(b"".join(ROWS[10:])),
        gzip.compress(b"".join(ROWS)) + bytes(512),
    ],
    ids=["one member", "two members", "padded"],
)
def test_a_gzipped_file_is_known_by_its_content(tmp_path, packed):
    path = tmp_path / "log.jsonl"
    path.write_bytes(packed)
    reading = read_records(path)
    assert len(list(reading)) == 5000
    assert reading.share_read == 1


@pytest.mark.parametrize("cut", [0.3, 0.9, 0.999])
def test_a_truncated_gzip_gives_the_rows_before_and_says_where_it_ended(reading, cut):
    packed = gzip.compress(b"".join(ROWS))
    file = reading(packed[: int(len(packed) * cut)])
    *rows, last = file
    assert 0 < len(rows) < 5000
    assert all(isinstance(row, Response) for row in rows)
    assert [row.external_id for row in rows] == [str(number) for number in range(len(rows))]
    assert isinstance(last, Rejected)
    assert last.reason == file.unreadable
    assert last.reason == f"unreadable after row {len(rows)}: the compressed data end too early"


def test_damaged_gzip_data_are_said(reading):
    packed = bytearray(gzip.compress(b"".join(ROWS)))
    middle = len(packed) // 2
    packed[middle : middle + 100] = b"\xff" * 100
    *_, last = reading(bytes(packed))
    assert last.reason.endswith("the compressed data are damaged")


def test_a_dash_is_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(ROWS[0]))))
    (response,) = read_records("-")
    assert response.external_id == "0"


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("log.jsonl", b"PK\x03\x04....", "it starts with 'PK', like a ZIP or Excel file. Unpack a ZIP file first"),
        ("log.csv", b"PK\x03\x04....", "save an Excel sheet as CSV."),
        ("log.jsonl", b"%PDF-1.7 ...", "A PDF"),
        ("log.db", b"SQLite format 3\0...", "--db"),
        ("log.jsonl", b"", "is empty"),
        ("log.jsonl", gzip.compress(b"", mtime=0)[:8], "the compressed data end too early"),
        ("log.jsonl", '{"query": "q", "answer": "a"}'.encode("utf-16"), "UTF-16"),
        ("log.csv", "query,answer\nq,a\nq,b\nq,a\nq,b\nq,a\nq,b\nq,b\nq,b\nq,b\nq,b\n".encode("utf-16-le"), "UTF-16"),
        ("log.parquet", b"query,answer\n", "not Parquet: export it again, or rename it"),
        ("log.parquet", b"PAR1....", "not a whole Parquet file"),
        ("log.csv", b"PAR1" + bytes(range(1, 256)) * 10, "not a whole Parquet file"),
        ("log.txt", b"just a sentence", "rename it to .jsonl"),
        ("log.csv", b"query,answer\rq,a\r", "not CSV"),
        ("log.csv", bytes(range(256)) * 10, "bytes that are not text"),
        ("log.jsonl", bytes(range(256)) * 10, "bytes that are not text"),
        ("log.jsonl.gz", bytes(range(256)) * 10, "is not gzip, but its name ends with .gz"),
        ("log.csv", b"query,caf\xe9\nq,a\n", "not UTF-8 in its first line"),
        ("log.jsonl", "{}".encode("utf-16-le"), "UTF-16"),
        ("log.csv", b"query,answer,query\nq,a,r\n", "two columns named 'query'"),
    ],
)
def test_a_wrong_file_is_refused_in_one_line_that_names_it(tmp_path, name, content, says):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(BadInput) as caught:
        read_records(path)
    message = str(caught.value)
    assert says in message
    assert str(path) in message
    assert "\n" not in message


def test_a_folder_and_a_missing_file_are_refused(tmp_path):
    with pytest.raises(BadInput, match="is a folder"):
        read_records(tmp_path)
    with pytest.raises(BadInput, match=r"there is no file .*nothing\.jsonl"):
        read_records(tmp_path / "nothing.jsonl")


def test_an_unknown_format_names_the_known_ones(reading):
    with pytest.raises(BadInput, match="auto, jsonl, json, csv, parquet"):
        reading(b"{}", format="xml")


@pytest.mark.parametrize(
    ("content", "title"),
    [
        (b'{"query": "q", "answer": "a"}\n', "JSON lines"),
        (b'{"query": "q", "answer": NaN}\n{"query": "q", "answer": "a"}\n', "JSON lines"),
        (b'[{"query": "q", "answer": "a"}]', "JSON"),
        (b'{\n  "query": "q",\n  "answer": "a"\n}', "JSON"),
        (b'{"data": [{"query": "q", "answer": "a"}]}\n', "JSON"),
        (b"query,answer\nq,a\n", "CSV"),
    ],
)
def test_without_a_telling_name_the_content_tells_the_format(reading, content, title):
    file = reading(content, "the stream")
    assert file.format.title == title
    assert any(isinstance(item, Response) for item in file)


def test_json_lines_in_a_json_file_are_numbered_by_line(reading):
    file = reading(b'{"query": "q", "answer": "a"}\n\n{"query": "q"}\n', "log.json")
    assert [item.line for item in file if isinstance(item, Rejected)] == [3]


def test_a_closed_standard_input_is_said(monkeypatch):
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(BadInput, match="standard input is closed"):
        read_records("-")

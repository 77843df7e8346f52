"""Files of any bytes are read as far as they go, appear whole or not at all, and come back equal."""

import contextlib
import gzip
import io
import json
import os
import re
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from datetime import UTC, datetime

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from judgeboard.domain import Feedback, FeedbackKind, Rejected, Response, ResponseKind
from judgeboard.errors import BadInput
from judgeboard.formats.files import FORMATS, Column, ColumnType, write_rows
from judgeboard.imports.reading import read_records
from judgeboard.store.export import RESPONSE_COLUMNS, response_row

ROWS = [
    f'{{"id": {number}, "query": "q", "answer": "{number * 7919 % 100_003}"}}\n'.encode()
    for number in range(5000)
]

PACKED = gzip.compress(b"".join(ROWS))


@pytest.mark.parametrize(
    "packed",
    [
        PACKED,
        gzip.compress(b"".join(ROWS[:10])) + gzip.compress(b"".join(ROWS[10:])),
        PACKED + bytes(512),
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
    file = reading(PACKED[: int(len(PACKED) * cut)])
    *rows, last = file
    assert 0 < len(rows) < 5000
    assert [row.external_id for row in rows] == [str(number) for number in range(len(rows))]
    assert isinstance(last, Rejected)
    assert last.reason == file.unreadable
    assert f"row {len(rows)}: " in last.reason


def test_damaged_gzip_data_are_said(reading):
    packed = bytearray(PACKED)
    middle = len(packed) // 2
    packed[middle : middle + 100] = b"\xff" * 100
    *rows, last = reading(bytes(packed))
    assert isinstance(last, Rejected)
    assert f"row {len(rows)}: " in last.reason


def test_a_dash_is_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(ROWS[0]))))
    (response,) = read_records("-")
    assert response.external_id == "0"


ANY_BYTES = bytes(range(256)) * 10


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("log.jsonl", b"PK\x03\x04....", "it starts with 'PK', like a ZIP file. Unpack it first"),
        ("log.jsonl", b"%PDF-1.7 ...", "A PDF"),
        ("log.db", b"SQLite format 3\0...", "like a database"),
        ("log.jsonl", b"", "is empty"),
        ("log.jsonl", gzip.compress(b"", mtime=0)[:8], "the compressed data end too early"),
        (
            "log.csv",
            "query,answer\nq,a\nq,b\nq,a\nq,b\nq,a\nq,b\nq,b\nq,b\nq,b\nq,b\n".encode("utf-16-le"),
            "UTF-16",
        ),
        ("log.parquet", b"query,answer\n", "not Parquet: export it again, or rename it"),
        ("log.parquet", b"PAR1....", "not a whole Parquet file"),
        ("log.csv", b"PAR1" + bytes(range(1, 256)) * 10, "not a whole Parquet file"),
        ("log.txt", b"just a sentence", "rename it to .jsonl"),
        ("log.csv", b"query,answer\rq,a\r", "not CSV"),
        ("log.csv", ANY_BYTES, "bytes that are not text"),
        ("log.jsonl", ANY_BYTES, "bytes that are not text"),
        ("log.jsonl.gz", ANY_BYTES, "is not gzip, but its name ends with .gz"),
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
    with pytest.raises(BadInput, match=r"nothing\.jsonl"):
        read_records(tmp_path / "nothing.jsonl")


def test_an_unknown_format_names_the_known_ones(reading):
    with pytest.raises(BadInput, match=r"auto, .*parquet"):
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
    with pytest.raises(BadInput, match="standard input"):
        read_records("-")


COLUMNS = [Column("id", ColumnType.INTEGER), Column("text")]


def write(count, target, format_name="jsonl", *, fail_at=None):
    """Write rows; the one with the number ``fail_at`` fails."""

    def rows():
        for number in range(count):
            if number == fail_at:
                raise RuntimeError("the database went away")
            yield {"id": number, "text": f"t{number}"}

    return write_rows(rows(), COLUMNS, target, format_name)


@pytest.mark.parametrize("name", FORMATS)
def test_a_file_is_written_and_nothing_is_left_beside_it(tmp_path, name):
    path = tmp_path / f"out.{name}"
    assert write(5000, path, name) == 5000
    assert [one.name for one in tmp_path.iterdir()] == [f"out.{name}"]


@pytest.mark.parametrize("name", FORMATS)
def test_a_failure_in_the_middle_leaves_the_old_file(tmp_path, name):
    path = tmp_path / f"out.{name}"
    path.write_bytes(b"old")
    with pytest.raises(RuntimeError, match="went away"):
        write(5000, path, name, fail_at=3000)
    assert path.read_bytes() == b"old"
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("name", FORMATS)
def test_a_stream_stays_open(name):
    stream = io.BytesIO()
    assert write(3, stream, name) == 3
    assert stream.getvalue()


def test_missing_keys_are_null(tmp_path):
    path = tmp_path / "out.jsonl"
    write_rows([{"id": 1}], COLUMNS, path, "jsonl")
    assert json.loads(path.read_text("utf-8")) == {"id": 1, "text": None}


def test_an_empty_table_still_declares_its_columns(tmp_path):
    path = tmp_path / "out.parquet"
    assert write(0, path, "parquet") == 0
    assert parquet.read_schema(path).names == ["id", "text"]


def test_a_wrong_format_or_place_is_said_in_one_line(tmp_path):
    with pytest.raises(BadInput, match=r"jsonl, .*parquet"):
        write(0, tmp_path / "x", "xlsx")
    with pytest.raises(BadInput, match="cannot be written"):
        write(0, tmp_path / "missing" / "x.csv", "csv")


@pytest.mark.parametrize("name", FORMATS)
def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path, name):
    pipe, plain = tmp_path / "pipe", tmp_path / "plain"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)
    assert write(3, pipe, name) == 3
    write(3, plain, name)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert os.read(reader, 65_536) == plain.read_bytes()
    os.close(reader)


def test_a_pipe_whose_reader_goes_away_is_said_in_one_line(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)

    def left():
        os.close(reader)
        yield {"id": 1}

    with pytest.raises(BadInput, match=str(pipe)):
        write_rows(left(), COLUMNS, pipe, "jsonl")
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.parametrize("there", [True, False])
def test_a_link_stays_and_the_file_that_it_names_is_written_whole(tmp_path, there):
    folder = tmp_path / "shared"
    folder.mkdir()
    named, link = folder / "named.jsonl", tmp_path / "link.jsonl"
    link.symlink_to(named)
    if there:
        named.write_bytes(b"old")
        with pytest.raises(RuntimeError, match="went away"):
            write(9, link, fail_at=5)
        assert named.read_bytes() == b"old"
    write(3, link)
    assert link.readlink() == named
    assert len(named.read_text("utf-8").splitlines()) == 3
    assert [one.name for one in folder.iterdir()] == ["named.jsonl"]


def test_a_link_that_leads_nowhere_is_said_in_one_line(tmp_path):
    ring = tmp_path / "ring"
    ring.symlink_to(ring)
    with pytest.raises(BadInput, match=str(ring)):
        write(1, ring)


def test_a_database_is_never_written_over(tmp_path):
    database = tmp_path / "judgeboard.db"
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("CREATE TABLE kept (id INTEGER)")
    before = database.read_bytes()
    with pytest.raises(BadInput, match=r"judgeboard\.db"):
        write(1, database)
    assert database.read_bytes() == before


def test_a_database_in_use_keeps_its_log_when_it_is_named_as_a_file_of_rows(tmp_path):
    database = tmp_path / "judgeboard.db"
    other = "import sqlite3, sys; sqlite3.connect(sys.argv[1]).execute('PRAGMA schema_version')"
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("CREATE TABLE kept (id INTEGER)")
        with pytest.raises(BadInput, match=r"judgeboard\.db"):
            write(1, database)
        link = tmp_path / "link.db"
        link.symlink_to(database)
        for name in (database, link):
            with pytest.raises(BadInput, match=name.name):
                next(read_records(name))
        subprocess.run([sys.executable, "-S", "-c", other, database], check=True)
        assert tmp_path.joinpath("judgeboard.db-wal").exists()


PARQUET = io.BytesIO()
parquet.write_table(pa.table({"query": ["q"] * 3, "answer": ["a"] * 3}), PARQUET)
GOOD = {
    "jsonl": b'{"query": "q", "answer": "a", "feedback": {"stars": 4}}\n' * 3,
    "json": b'{"meta": [1], "data": [{"query": "q", "answer": "a"}, {"query": "q\\"", "answer": "b"}]}',
    "csv": b'query,answer,metadata\nq,"a\nb","{""a"": 1}"\nq,b,\n',
    "parquet": PARQUET.getvalue(),
}


def read(data, name):
    with contextlib.suppress(BadInput):
        for item in read_records(io.BytesIO(data), name=f"log.{name}", format=name):
            assert isinstance(item, Response | Rejected)


@pytest.mark.parametrize("name", FORMATS)
@settings(max_examples=60, deadline=None)
@given(st.data())
def test_changed_bytes_of_a_good_file(name, data):
    content = bytearray(GOOD[name])
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(content) - 1))
        content[place : place + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
        if not content:
            return
    read(bytes(content), name)


@pytest.mark.parametrize("name", ["jsonl", "json", "csv"])
@settings(max_examples=60, deadline=None)
@given(st.text('{}[],:"\\ \n\r\0;qa1é=', max_size=30))
def test_any_text(name, text):
    read(text.encode(), name)


@pytest.mark.parametrize("damage", [(b"query", b"\x80uery"), (b"answer", b"answe\x80")])
def test_a_name_that_is_no_text_is_refused(damage):
    read(GOOD["parquet"].replace(*damage), "parquet")


@pytest.mark.parametrize("name", [b"query", b"answer"])
def test_a_column_that_the_schema_does_not_name_is_refused(name):
    content = GOOD["parquet"]
    places = [found.start() for found in re.finditer(name, content)]
    assert len(places) > 1
    for place in places:
        read(content[:place] + b"z" + content[place + 1 :], "parquet")


TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
SPOKEN = TEXT.filter(str.strip)
MOMENT = st.datetimes(datetime(1970, 1, 1), datetime(2199, 12, 31), timezones=st.just(UTC))  # noqa: DTZ001 - bounds are naive by contract
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)
OPTIONAL_TEXT, OPTIONAL_MOMENT = st.none() | TEXT, st.none() | MOMENT
SCORES = {FeedbackKind.THUMBS: st.sampled_from([0, 1]), FeedbackKind.STARS: st.floats(1, 5)}
FEEDBACK = st.one_of(
    st.builds(Feedback, st.just(kind), score, OPTIONAL_TEXT, OPTIONAL_MOMENT)
    for kind, score in SCORES.items()
)
RESPONSE = st.builds(
    Response,
    source=SPOKEN,
    external_id=SPOKEN,
    query=SPOKEN,
    answer=SPOKEN,
    passages=st.none() | st.lists(TEXT, max_size=3).map(tuple),
    query_type=SPOKEN,
    generator_model=st.none() | SPOKEN,
    generator_cost=st.none() | st.integers(0, 10**9).map(lambda millionths: millionths / 1_000_000),
    messages=st.none()
    | st.lists(st.fixed_dictionaries({"role": TEXT, "content": JSON}), max_size=2).map(tuple),
    reference=OPTIONAL_TEXT,
    asked_at=OPTIONAL_MOMENT,
    metadata=st.dictionaries(TEXT, JSON, max_size=3),
    kind=st.sampled_from(ResponseKind),
    feedback=st.lists(FEEDBACK, max_size=2).map(tuple),
)


@pytest.mark.parametrize("format_name", ["jsonl", "parquet"])
@settings(max_examples=80, deadline=None)
@given(
    st.lists(
        RESPONSE, max_size=4, unique_by=lambda response: (response.source, response.external_id)
    )
)
def test_an_export_of_responses_imports_as_the_same_responses(format_name, responses):
    stream = io.BytesIO()
    written = map(response_row, responses)
    assert write_rows(written, RESPONSE_COLUMNS, stream, format_name) == len(responses)
    if not responses:
        return
    stream.seek(0)
    assert list(read_records(stream, name=f"export.{format_name}")) == responses

"""A file appears whole or not at all."""

import io
import json
import os
import sqlite3
import stat
from contextlib import closing

import pytest
from pyarrow import parquet

from judgeboard.errors import BadInput
from judgeboard.formats.files import FORMATS, Column, ColumnType, write_rows

COLUMNS = [Column("id", ColumnType.INTEGER), Column("text")]


def rows(count, *, fail_at=None):
    for number in range(count):
        if number == fail_at:
            raise RuntimeError("the database went away")
        yield {"id": number, "text": f"t{number}"}


@pytest.mark.parametrize("name", FORMATS)
def test_a_file_is_written_and_nothing_is_left_beside_it(tmp_path, name):
    path = tmp_path / f"out.{name}"
    assert write_rows(rows(5000), COLUMNS, path, name) == 5000
    assert [one.name for one in tmp_path.iterdir()] == [f"out.{name}"]


@pytest.mark.parametrize("name", FORMATS)
def test_a_failure_in_the_middle_leaves_the_old_file(tmp_path, name):
    path = tmp_path / f"out.{name}"
    path.write_bytes(b"old")
    with pytest.raises(RuntimeError, match="went away"):
        write_rows(rows(5000, fail_at=3000), COLUMNS, path, name)
    assert path.read_bytes() == b"old"
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("name", FORMATS)
def test_a_stream_stays_open(name):
    stream = io.BytesIO()
    assert write_rows(rows(3), COLUMNS, stream, name) == 3
    assert stream.getvalue()


def test_missing_keys_are_null(tmp_path):
    path = tmp_path / "out.jsonl"
    write_rows([{"id": 1}], COLUMNS, path, "jsonl")
    assert json.loads(path.read_text("utf-8")) == {"id": 1, "text": None}


def test_an_empty_table_still_declares_its_columns(tmp_path):
    path = tmp_path / "out.parquet"
    assert write_rows([], COLUMNS, path, "parquet") == 0
    assert parquet.read_schema(path).names == ["id", "text"]


def test_a_wrong_format_or_place_is_said_in_one_line(tmp_path):
    with pytest.raises(BadInput, match="choose jsonl, json, csv, parquet"):
        write_rows([], COLUMNS, tmp_path / "x", "xlsx")
    with pytest.raises(BadInput, match="cannot be written"):
        write_rows([], COLUMNS, tmp_path / "missing" / "x.csv", "csv")


@pytest.mark.parametrize("name", FORMATS)
def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path, name):
    pipe, plain = tmp_path / "pipe", tmp_path / "plain"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)
    assert write_rows(rows(3), COLUMNS, pipe, name) == 3
    write_rows(rows(3), COLUMNS, plain, name)
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

    with pytest.raises(BadInput, match="pipe cannot be written: Broken pipe"):
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
            write_rows(rows(9, fail_at=5), COLUMNS, link, "jsonl")
        assert named.read_bytes() == b"old"
    write_rows(rows(3), COLUMNS, link, "jsonl")
    assert link.readlink() == named
    assert len(named.read_text("utf-8").splitlines()) == 3
    assert [one.name for one in folder.iterdir()] == ["named.jsonl"]


def test_a_link_that_leads_nowhere_is_said_in_one_line(tmp_path):
    ring = tmp_path / "ring"
    ring.symlink_to(ring)
    with pytest.raises(BadInput, match="ring cannot be written"):
        write_rows(rows(1), COLUMNS, ring, "jsonl")


def test_a_database_is_never_written_over(tmp_path):
    database = tmp_path / "judgeboard.db"
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("CREATE TABLE kept (id INTEGER)")
    before = database.read_bytes()
    with pytest.raises(BadInput, match=r"judgeboard\.db is a SQLite database, and is not replaced"):
        write_rows(rows(1), COLUMNS, database, "jsonl")
    assert database.read_bytes() == before

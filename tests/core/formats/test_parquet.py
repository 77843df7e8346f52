"""Parquet: values of every type become JSON values, and a cell that cannot be read costs its row."""

import datetime as dt
import gzip
import io
from decimal import Decimal

import pyarrow as pa
import pytest
from pyarrow import parquet

from judgeboard.imports.reading import read_records


def file_of(**columns):
    stream = io.BytesIO()
    parquet.write_table(pa.table(columns), stream)
    return stream.getvalue()


def test_values_of_every_type_come_in(reading):
    data = file_of(
        query=["q"],
        answer=["a"],
        context=[["p1", "p2"]],
        asked_at=pa.array([dt.datetime(2026, 3, 1, 9, 30)], pa.timestamp("ns")),  # noqa: DTZ001 - naive is UTC
        day=[dt.date(2026, 3, 1)],
        exact=[Decimal("1.50")],
        whole=[Decimal(7)],
        missing=[float("nan")],
        nested=[{"a": [1, None]}],
        raw=pa.array([b"bytes"], pa.binary()),
        took=[dt.timedelta(seconds=90)],
    )
    (response,) = reading(data, "log.parquet")
    assert response.passages == ("p1", "p2")
    assert response.asked_at == dt.datetime(2026, 3, 1, 9, 30, tzinfo=dt.UTC)
    assert response.metadata == {
        "day": "2026-03-01",
        "exact": 1.5,
        "whole": 7,
        "nested": {"a": [1, None]},
        "raw": "bytes",
        "took": "0:01:30",
    }


def test_a_missing_list_is_not_an_empty_one(reading):
    context = pa.array([None, []], pa.list_(pa.string()))
    data = file_of(query=["q", "q"], answer=["a", "b"], context=context)
    assert [response.passages for response in reading(data, "log.parquet")] == [None, ()]


def test_a_cell_that_is_not_utf8_costs_its_row(reading):
    cells = pa.array([b"a", b"caf\xe9", b"c"], pa.binary())
    texts = pa.Array.from_buffers(pa.string(), 3, cells.buffers())
    before, bad, after = reading(file_of(query=["q"] * 3, answer=texts), "log.parquet")
    assert (before.answer, after.answer) == ("a", "c")
    assert (bad.line, bad.reason) == (2, "not UTF-8")


@pytest.mark.parametrize("cell", [b"caf\xe9", b"nul\0"])
def test_bytes_that_are_no_text_cost_their_row(reading, cell):
    data = file_of(query=["q", "q"], answer=pa.array([b"a", cell], pa.binary()))
    good, bad = reading(data, "log.parquet")
    assert good.answer == "a"
    assert (bad.line, bad.field) == (2, "answer")


def test_it_is_known_by_its_content_and_may_be_gzipped(tmp_path):
    data = file_of(question=["q"], output=["a"])
    for name, content in (("log", data), ("log.parquet.gz", gzip.compress(data))):
        path = tmp_path / name
        path.write_bytes(content)
        (response,) = read_records(path)
        assert response.answer == "a"


def test_a_stream_that_was_handed_in_stays_open():
    stream = io.BytesIO(file_of(query=["q"], answer=["a"]))
    assert len(list(read_records(stream))) == 1
    assert not stream.closed

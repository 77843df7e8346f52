"""Whatever the bytes are, a reading ends with records, rejected rows or one refusal."""

import contextlib
import io

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from judgeboard.domain import Rejected, Response
from judgeboard.errors import BadInput
from judgeboard.formats.files import FORMATS
from judgeboard.imports.importing import read_records


def _parquet() -> bytes:
    stream = io.BytesIO()
    parquet.write_table(pa.table({"query": ["q"] * 3, "answer": ["a"] * 3}), stream)
    return stream.getvalue()


GOOD = {
    "jsonl": b'{"query": "q", "answer": "a", "feedback": {"stars": 4}}\n' * 3,
    "json": b'{"meta": [1], "data": [{"query": "q", "answer": "a"}, {"query": "q\\"", "answer": "b"}]}',
    "csv": b'query,answer,metadata\nq,"a\nb","{""a"": 1}"\nq,b,\n',
    "parquet": _parquet(),
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

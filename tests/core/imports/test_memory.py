"""Memory does not grow with the file."""

import io
import json
import tracemalloc

import pytest

from judgeboard.imports.importing import read_records

ROWS = 2_000
TEXT = "x" * 7500


class Endless(io.RawIOBase):
    """A file of 15 MB that is made while it is read."""

    def __init__(self, kind):
        self._parts = iter(parts(kind))
        self._rest = b""

    def readable(self):
        return True

    def readinto(self, buffer):
        while not self._rest and (part := next(self._parts, None)):
            self._rest = part
        size = min(len(buffer), len(self._rest))
        buffer[:size], self._rest = self._rest[:size], self._rest[size:]
        return size


def parts(kind):
    rows = (json.dumps({"id": number, "query": "q", "answer": TEXT}) for number in range(ROWS))
    if kind == "jsonl":
        yield from (f"{row}\n".encode() for row in rows)
    elif kind == "json":
        yield b"["
        yield from (f"{row}{',' if number < ROWS - 1 else ']'}".encode() for number, row in enumerate(rows))
    else:
        yield b"id,query,answer\n"
        yield from (f"{number},q,{TEXT}\n".encode() for number in range(ROWS))


@pytest.mark.parametrize("kind", ["jsonl", "json", "csv"])
def test_a_file_of_15_mb_is_read_in_4(kind):
    stream = Endless(kind)
    tracemalloc.start()
    try:
        count = sum(1 for _ in read_records(stream, name=f"log.{kind}"))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert count == ROWS
    assert peak < 4_000_000

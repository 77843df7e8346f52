"""Cuts a stream of bytes into lines, whatever their encoding, with a bound on the memory of one line."""

from collections.abc import Iterable, Iterator

from judgeboard.importers.rows import MAX_ROW_BYTES


def byte_lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield lines with their line feed; the last may lack one.

    A line above `MAX_ROW_BYTES` comes cut to one byte more than that. A line that the chunks break off in the middle
    of, by raising, is not yielded.
    """
    line = bytearray()
    for chunk in chunks:
        start = 0
        while (end := chunk.find(b"\n", start)) >= 0:
            line += chunk[start : end + 1]
            yield bytes(line[: MAX_ROW_BYTES + 1])
            line.clear()
            start = end + 1
        line += chunk[start:]
        del line[MAX_ROW_BYTES + 1 :]
    if line:
        yield bytes(line)

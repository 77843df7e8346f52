"""FORMATS, the file formats that are read and written: one file and one line here each."""

import json as json_text
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from judgeboard.domain import Rejected
from judgeboard.errors import BadInput
from judgeboard.formats import csv, json, jsonl, parquet
from judgeboard.formats.files import ByteSource, Column, Row, write_whole

AUTO = "auto"
_PARQUET = b"PAR1"
_BOMS_16 = (b"\xff\xfe", b"\xfe\xff")
_NOT_ROWS = (
    (b"PK\x03\x04", "'PK', like a ZIP or Excel file. Unpack a ZIP file first; save an Excel sheet as CSV."),
    (b"PK\x05\x06", "'PK', like an empty ZIP file."),
    (b"\x89PNG", "'PNG', like a picture. A picture contains no rows."),
    (b"\xff\xd8\xff", "the bytes of a JPEG picture. A picture contains no rows."),
    (b"GIF8", "'GIF', like a picture. A picture contains no rows."),
    (b"%PDF", "'%PDF', like a PDF file. A PDF file contains no rows."),
    (b"SQLite format 3", "'SQLite format 3', like a database. Give a database with --db."),
    (b"BZh", "'BZh', like a bzip2 file. Unpack it first."),
    (b"\xfd7zXZ", "'7zXZ', like an xz file. Unpack it first."),
    (b"\x28\xb5\x2f\xfd", "the bytes of a zstd file. Unpack it first."),
    (b"7z\xbc\xaf", "'7z', like a 7-Zip archive. Unpack it first."),
)


@dataclass(frozen=True, slots=True)
class Format:
    """One format: its name in sentences, the endings of its files, and how its rows are read and written.

    ``write`` returns the number of rows. ``textual`` says that the format knows only texts, so that numbers are read
    from them.
    """

    title: str
    suffixes: tuple[str, ...]
    read: Callable[[ByteSource], Iterator[Row | Rejected]]
    write: Callable[[Iterable[dict[str, Any]], Sequence[Column], BinaryIO], int]
    textual: bool = False


FORMATS = {
    "jsonl": Format("JSON lines", (".jsonl", ".ndjson"), jsonl.read, jsonl.write),
    "json": Format("JSON", (".json",), json.read, json.write),
    "csv": Format("CSV", (".csv", ".tsv"), csv.read, csv.write, textual=True),
    "parquet": Format("Parquet", (".parquet", ".pq"), parquet.read, parquet.write),
}


def find_format(source: ByteSource, wanted: str = AUTO) -> Format:
    """Return the format of a file: the one asked for, else by its ending, else by its content."""
    if wanted != AUTO and wanted not in FORMATS:
        raise BadInput(f"there is no format {wanted!r}: choose {', '.join((AUTO, *FORMATS))}")
    head = source.peek()
    is_parquet = head.startswith(_PARQUET)
    by_name = _by_suffix(source.name)
    name = wanted if wanted != AUTO else "parquet" if is_parquet else by_name
    title = FORMATS[name].title if name else "a file of rows"
    for start, what in _NOT_ROWS:
        if head.startswith(start):
            raise BadInput(f"{source.name} is not {title}: it starts with {what}")
    if head.startswith(_BOMS_16) or (name != "parquet" and head[:200].count(0) * 3 > len(head[:200])):
        raise BadInput(f"{source.name} is not {title} in UTF-8: it looks like UTF-16. Save it as UTF-8.")
    if is_parquet != (name == "parquet"):
        raise BadInput(f"{source.name} is {'' if is_parquet else 'not '}Parquet: use --format auto")
    if wanted == AUTO and name in {None, "json"}:
        name = _by_content(head, source.name, name)
    return FORMATS[str(name)]


def _by_suffix(file: str) -> str | None:
    ending = re.search(r"\.\w+$", file.lower().removesuffix(".gz"))
    return next((name for name, one in FORMATS.items() if ending and ending[0] in one.suffixes), None)


def _by_content(head: bytes, file: str, expected: str | None) -> str:
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if start.startswith(b"["):
        return "json"
    if start.startswith(b"{"):
        return "jsonl" if _is_line_of_json(start, sure=expected is None) else "json"
    if expected is not None:
        return expected
    first = start.partition(b"\n")[0]
    if any(mark in first for mark in (b",", b";", b"\t")):
        return "csv"
    raise BadInput(f"{file}: the name and the content do not show the format: use --format jsonl, json or csv")


def _is_line_of_json(start: bytes, *, sure: bool) -> bool:
    """Tell JSON lines from one JSON text: the first line is an object by itself, and not one around all rows."""
    line, feed, rest = start.partition(b"\n")
    if json.holds_array(line):
        return False
    if not sure and not (feed and rest.lstrip().startswith(b"{")):
        return False
    try:
        return isinstance(json_text.loads(line), dict)
    except (ValueError, RecursionError):
        return bool(feed) and line.rstrip().endswith(b"}")


def write_rows(
    rows: Iterable[dict[str, Any]],
    columns: Sequence[Column],
    target: str | Path | BinaryIO,
    format: str,  # noqa: A002
) -> int:
    """Write rows, as they come, and return how many.

    Args:
        rows: Dicts by column name; a missing key is None.
        columns: What is written, in this order.
        target: A path, see `write_whole`, or a stream opened for bytes, which stays open.
        format: A key of `FORMATS`.
    """
    if format not in FORMATS:
        raise BadInput(f"there is no format {format!r}: choose {', '.join(FORMATS)}")
    write = FORMATS[format].write
    if not isinstance(target, str | Path):
        return write(rows, columns, target)
    return write_whole(Path(target), lambda stream: write(rows, columns, stream))

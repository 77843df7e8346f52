"""The formats that can be imported, and how a file's own is found: by its name, then by its first bytes."""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from judgeboard.domain import Rejected
from judgeboard.errors import BadInput
from judgeboard.importers import csv_rows, json_array, jsonl, parquet
from judgeboard.importers.byte_source import ByteSource
from judgeboard.importers.rows import Row

AUTO = "auto"
_PARQUET = b"PAR1"
_BOMS_16 = (b"\xff\xfe", b"\xfe\xff")
_NOT_ROWS = (
    (b"PK\x03\x04", "'PK'. A zip? Unpack it first. (An Excel file? Save the sheet as CSV.)"),
    (b"PK\x05\x06", "'PK'. A zip? It is empty."),
    (b"\x89PNG", "'PNG'. A picture holds no rows."),
    (b"\xff\xd8\xff", "the mark of JPEG. A picture holds no rows."),
    (b"GIF8", "'GIF'. A picture holds no rows."),
    (b"%PDF", "'%PDF'. A PDF holds no rows."),
    (b"SQLite format 3", "'SQLite format 3'. A database is named by --db."),
    (b"BZh", "'BZh'. Compressed by bzip2? Unpack it first."),
    (b"\xfd7zXZ", "'7zXZ'. Compressed by xz? Unpack it first."),
    (b"\x28\xb5\x2f\xfd", "the mark of zstd. Unpack it first."),
    (b"7z\xbc\xaf", "'7z'. An archive? Unpack it first."),
)


@dataclass(frozen=True, slots=True)
class Importer:
    """One format: its name in sentences, the endings of its files, and how its rows are read.

    ``textual`` says that it knows only texts, so that numbers are read from them.
    """

    title: str
    suffixes: tuple[str, ...]
    read: Callable[[ByteSource], Iterator[Row | Rejected]]
    textual: bool = False


IMPORTERS = {
    "jsonl": Importer("JSON lines", (".jsonl", ".ndjson"), jsonl.read),
    "json": Importer("JSON", (".json",), json_array.read),
    "csv": Importer("CSV", (".csv", ".tsv"), csv_rows.read, textual=True),
    "parquet": Importer("Parquet", (".parquet", ".pq"), parquet.read),
}


def find_importer(source: ByteSource, wanted: str = AUTO) -> Importer:
    """Return the importer for a file: the one asked for, else by its ending, else by its content.

    Raises:
        BadInput: An unknown format, or bytes that cannot be rows of it.
    """
    if wanted != AUTO and wanted not in IMPORTERS:
        raise BadInput(f"there is no format {wanted!r}: choose {', '.join((AUTO, *IMPORTERS))}")
    head = source.peek()
    is_parquet = head.startswith(_PARQUET)
    by_name = _by_suffix(source.name)
    name = wanted if wanted != AUTO else "parquet" if is_parquet else by_name
    title = IMPORTERS[name].title if name else "a file of rows"
    for start, what in _NOT_ROWS:
        if head.startswith(start):
            raise BadInput(f"{source.name} is not {title}: it starts with {what}")
    if head.startswith(_BOMS_16) or (name != "parquet" and head[:200].count(0) * 3 > len(head[:200])):
        raise BadInput(f"{source.name} is not {title} in UTF-8: it looks like UTF-16. Save it as UTF-8.")
    if is_parquet != (name == "parquet"):
        raise BadInput(f"{source.name} is {'' if is_parquet else 'not '}Parquet: use --format auto")
    if wanted == AUTO and name in {None, "json"}:
        name = _by_content(head, source.name, name)
    return IMPORTERS[str(name)]


def _by_suffix(file: str) -> str | None:
    ending = re.search(r"\.\w+$", file.lower().removesuffix(".gz"))
    return next((name for name, one in IMPORTERS.items() if ending and ending[0] in one.suffixes), None)


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
    raise BadInput(f"{file}: the format cannot be told from the name or the content; say --format jsonl, json or csv")


def _is_line_of_json(start: bytes, *, sure: bool) -> bool:
    """Tell JSON lines from one JSON text: the first line is an object by itself, and not one around all rows."""
    line, feed, rest = start.partition(b"\n")
    if json_array.holds_array(line):
        return False
    if not sure and not (feed and rest.lstrip().startswith(b"{")):
        return False
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return bool(feed) and line.rstrip().endswith(b"}")

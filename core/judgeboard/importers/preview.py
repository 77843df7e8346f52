"""Shows what would come in from a file before anything is stored: its columns and its first records."""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from judgeboard.domain import Rejected
from judgeboard.importers.columns import ColumnUse
from judgeboard.importers.formats import AUTO
from judgeboard.importers.reading import read_records

ROWS_READ = 1000


@dataclass(frozen=True, slots=True)
class Preview:
    """The start of a file: ``records`` are the first that can come in, ``rejected`` those of the rows read.

    ``complete`` says that the rows read are the whole file.
    """

    format: str
    columns: tuple[ColumnUse, ...]
    records: tuple[Any, ...]
    rejected: tuple[Rejected, ...]
    rows_read: int
    complete: bool


def preview(
    file: str | Path | BinaryIO,
    *,
    kind: str = "responses",
    format: str = AUTO,  # noqa: A002 - the name of the command's option
    mapping: Mapping[str, str] | None = None,
    source: str | None = None,
    name: str | None = None,
    rows: int = 20,
) -> Preview:
    """Read at most 1,000 rows of a file of ``kind`` (one of `kinds.KINDS`), keeping ``rows`` records.

    Raises:
        BadInput: The file, the format or the mapping cannot be used.
    """
    reading = read_records(file, kind=kind, format=format, mapping=mapping, source=source, name=name)
    with reading:
        records: list[Any] = []
        rejected: list[Rejected] = []
        read = 0
        for item in itertools.islice(reading, ROWS_READ):
            read += 1
            if isinstance(item, Rejected):
                rejected.append(item)
            elif len(records) < rows:
                records.append(item)
        complete = next(reading, None) is None
        where = "not in the file" if complete else f"not in the first {ROWS_READ:,} rows"
        return Preview(
            format=reading.importer.title,
            columns=reading.columns(where),
            records=tuple(records),
            rejected=tuple(rejected),
            rows_read=read,
            complete=complete,
        )

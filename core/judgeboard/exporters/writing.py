"""Writes a table to a file that appears whole or not at all, in one of the formats."""

import os
import secrets
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from stat import S_ISREG
from typing import Any, BinaryIO

from judgeboard.errors import BadInput
from judgeboard.exporters import csv_table, jsonl, parquet
from judgeboard.exporters.table_columns import Column

Writer = Callable[[Iterable[dict[str, Any]], Sequence[Column], BinaryIO], int]

EXPORTERS: dict[str, Writer] = {
    "jsonl": jsonl.write,
    "csv": csv_table.write,
    "parquet": parquet.write,
}


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
        format: A key of `EXPORTERS`.

    Raises:
        BadInput: An unknown format, or the file cannot be written.
    """
    if format not in EXPORTERS:
        raise BadInput(f"there is no format {format!r}: choose {', '.join(EXPORTERS)}")
    write = EXPORTERS[format]
    if not isinstance(target, str | Path):
        return write(rows, columns, target)
    return write_whole(Path(target), lambda stream: write(rows, columns, stream))


def write_whole(path: Path, write: Callable[[BinaryIO], int]) -> int:
    """Write a file that appears whole or not at all; return what ``write`` returns.

    A symbolic link stays, and what it names is written. A pipe or a device is written as it comes: it holds nothing
    that could be replaced.

    Raises:
        BadInput: It cannot be written.
    """
    try:
        file = _replaceable(path)
        return _pour(path, write) if file is None else _replace(file, write)
    except OSError as error:
        raise BadInput(f"{path} cannot be written: {error.strerror or error}") from error


def _replaceable(path: Path) -> Path | None:
    """Return the regular file that a path names or would name, behind all links; None where it is something else."""
    try:
        kind = path.stat().st_mode
    except FileNotFoundError:
        return path.resolve()
    file = path.resolve()
    # A link of the system (to an open file of this process, say) may name no path at all.
    return file if S_ISREG(kind) and file.exists() and file.samefile(path) else None


def _pour(path: Path, write: Callable[[BinaryIO], int]) -> int:
    with path.open("wb") as stream:
        return write(stream)


def _replace(path: Path, write: Callable[[BinaryIO], int]) -> int:
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        with part.open("xb") as stream:
            count = write(stream)
            stream.flush()
            os.fsync(stream.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    return count

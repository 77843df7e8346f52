"""Reads a file of questions with options and writes the pairs that they make."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from judgeboard.domain import Rejected
from judgeboard.errors import BadInput
from judgeboard.formats.files import ByteSource
from judgeboard.formats.rows import Row, Unreadable
from judgeboard.formats.table import find_format
from judgeboard.self_reference.make_pairs import NoPair, pair_of_question

LISTED = 5


@dataclass(slots=True)
class MadePairs:
    """How many questions became pairs, and how many did not; the first of these with line and reason."""

    made: int = 0
    left_out: int = 0
    first_left_out: list[tuple[int, str]] = field(default_factory=list)


def make_pairs(questions: str | Path | BinaryIO, write: Callable[[str], object], *, seed: int = 0) -> MadePairs:
    """Turn each question into a line of a file of pairs, as `import --kind pairs` reads it.

    Args:
        questions: A file of rows as `pair_of_question` takes them; JSON lines, JSON, CSV or Parquet, gzipped or not.
        write: Given each line, with its end.
        seed: Equal seeds give equal pairs.

    Raises:
        BadInput: The file cannot be read, or no question makes a pair.
    """
    made = MadePairs()
    with ByteSource(questions) as source:
        for line, reason, text in _lines(source, seed):
            if text is not None:
                write(text)
                made.made += 1
                continue
            made.left_out += 1
            if len(made.first_left_out) < LISTED:
                made.first_left_out.append((line, reason))
    if not made.made:
        why = f"line {made.first_left_out[0][0]}: {made.first_left_out[0][1]}" if made.left_out else "it has no rows"
        raise BadInput(f"{source.name}: no question makes a pair ({why})")
    return made


def _lines(source: ByteSource, seed: int) -> Iterator[tuple[int, str, str | None]]:
    """Give line, reason and text of each row; one of the last two is empty."""
    try:
        for row in find_format(source).read(source):
            if isinstance(row, Rejected):
                yield row.line, row.reason, None
            else:
                yield _line(row, seed)
    except Unreadable as error:
        raise BadInput(f"{source.name} cannot be read to its end: {error}") from error


def _line(row: Row, seed: int) -> tuple[int, str, str | None]:
    try:
        pair = pair_of_question(row.values, seed)
    except NoPair as error:
        return row.line, str(error), None
    return row.line, "", json.dumps(pair, ensure_ascii=False) + "\n"

"""JSON lines: one object per line. Reading a written file gives exactly the same values."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, BinaryIO

from judgeboard.domain import Rejected
from judgeboard.formats.files import (
    ByteSource,
    Column,
    ColumnType,
    Row,
    TooLong,
    byte_lines,
    too_long,
)
from judgeboard.text import iso_z

_BOM = b"\xef\xbb\xbf"


def read(source: ByteSource) -> Iterator[Row | Rejected]:
    """Yield every line as a row. Each line is decoded separately, so that a wrong encoding rejects only this line."""
    for number, line in enumerate(byte_lines(source), start=1):
        data = line.removeprefix(_BOM) if number == 1 else line
        if isinstance(line, TooLong):
            yield too_long(number, data, source.most_row)
        elif data.strip():
            yield parse_row(number, data)


def write(rows: Iterable[dict[str, Any]], columns: Sequence[Column], stream: BinaryIO) -> int:
    """Write one object per row and return how many. Times are ISO 8601 in UTC with a final ``Z``."""
    count = 0
    for row in rows:
        stream.write(object_text(row, columns) + b"\n")
        count += 1
    return count


def object_text(row: dict[str, Any], columns: Sequence[Column]) -> bytes:
    """Return a row as a JSON object in UTF-8, a missing key as null."""
    values = {column.name: row.get(column.name) for column in columns}
    for column in columns:
        if column.type is ColumnType.TIME and (moment := row.get(column.name)) is not None:
            values[column.name] = iso_z(moment)
    return json.dumps(values, ensure_ascii=False, allow_nan=False).encode("utf-8")


MAX_DIGITS = 4_000  # Python refuses numbers with more than 4,300 digits
MOST_VALUES = 300_000  # of a row; an empty list takes 2 bytes of a file and 64 bytes of memory
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*+"', re.DOTALL)
_SEPARATORS = (b",", b"[", b"{")


class _Twice(ValueError):
    """An object has a key twice, so that the value is ambiguous."""

    def __init__(self, key: str) -> None:
        super().__init__("occurs twice in one object: keep one")
        self.key = key


def parse_row(line: int, data: bytes) -> Row | Rejected:
    """Return the row in the bytes, or a Rejected row with the reason."""
    key: str | None = None
    # The marks in texts are counted too, until the number is suspicious.
    if b"\0" in data:
        reason = "contains a NUL character"
    elif _separators(data) > MOST_VALUES and _separators(_STRING.sub(b"", data)) > MOST_VALUES:
        reason = f"has more than {MOST_VALUES:,} values"
    else:
        try:
            values = _DECODER.decode(data.decode("utf-8"))
        except UnicodeDecodeError as error:
            reason = f"not UTF-8 (byte {error.start + 1} of the row)"
        except RecursionError:
            reason = "nested too deeply"
        except json.JSONDecodeError as error:
            reason = f"not JSON: {error.msg} at character {error.pos + 1} of the row"
        except _Twice as error:
            reason, key = str(error), error.key
        except ValueError as error:
            reason = str(error)
        else:
            if isinstance(values, dict):
                return Row(line, values)
            return Rejected(line, None, f"not an object but {json_kind(values)}", values)
    text = data.decode("utf-8", "backslashreplace").rstrip("\r\n")
    return Rejected(line, key, reason, text)


def json_kind(value: Any) -> str:
    """Return the type of a JSON value with its article, for a sentence."""
    if value is None:
        return "null"
    for kind, name in (
        (bool, "true or false"),
        (str, "a text"),
        (dict, "an object"),
        (list, "a list"),
    ):
        if isinstance(value, kind):
            return name
    return "a number"


def _separators(data: bytes) -> int:
    return sum(map(data.count, _SEPARATORS))


def _whole(digits: str) -> int:
    if len(digits) > MAX_DIGITS:  # Python's own message is about a setting of Python
        raise ValueError(f"not usable: a whole number has {len(digits):,} digits")
    return int(digits)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        raise _Twice(Counter(key for key, _ in pairs).most_common(1)[0][0])
    return values


# One decoder for all rows: a new decoder per row would cost more time than the check for duplicate
# keys. NaN and Infinity, which are no JSON, become null: evaluators write such numbers where
# nothing was measured.
_DECODER = json.JSONDecoder(
    parse_constant=lambda _constant: None, parse_int=_whole, object_pairs_hook=_object
)

"""Writes results as JSON, and as tables for a terminal, HTML and CSV."""

import csv
import io
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from datetime import datetime
from functools import partial
from typing import Any, Literal, TypeVar

import orjson

from judgeboard.domain import Estimate
from judgeboard.formats.csv import defused
from judgeboard.stats.estimates import (
    number_words,
    p_words,
    percent,
    percent_words,
    points_words,
    two_decimals,
)
from judgeboard.text import counted, day_words, iso_z

Format = Literal[
    "text",
    "count",
    "integer",
    "number",
    "share",
    "time",
    "estimate",
    "share estimate",
    "points",
    "change",
    "p",
    "day",
]

_JSON = (
    orjson.OPT_INDENT_2
    | orjson.OPT_NON_STR_KEYS
    | orjson.OPT_PASSTHROUGH_DATACLASS  # a dataclass may have a JSON form of its own
    | orjson.OPT_SERIALIZE_NUMPY
    | orjson.OPT_UTC_Z
)
RIGHT_ALIGNED = frozenset({"count", "integer", "number", "share"})
UNKNOWN = "–"


def to_json(result: object) -> str:
    """Return ``result`` as indented JSON text; NaN becomes null, fields that begin with an underscore are omitted."""
    return orjson.dumps(result, default=_json_value, option=_JSON).decode()


def to_plain(result: object) -> Any:
    """Return ``result`` as JSON values (dicts, lists, numbers)."""
    return orjson.loads(to_json(result))


def _json_value(value: object) -> Any:
    if isinstance(value, frozenset | set):
        return sorted(value)
    if hasattr(value, "as_json"):
        return value.as_json()
    if is_dataclass(value):
        names = (each.name for each in fields(value) if not each.name.startswith("_"))
        return {name: getattr(value, name) for name in names}
    raise TypeError(f"{type(value).__name__} has no JSON form")


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table; ``unit`` follows each value, for example "s".

    ``format``: ``count`` has thousands separators, ``integer`` none, ``number`` two decimals,
    ``share`` (0 to 1) is in percent, ``time`` is ISO 8601 in UTC. ``estimate`` and ``share
    estimate`` columns hold `Estimate` objects: the value with its 95 % interval, or the reason why
    there is none; so do ``points`` (a size in points, rounded up), ``change`` (a difference of
    shares with a sign), ``p`` (a p-value) and ``day`` (days since 1970-01-01). The other fields are
    for pages: ``width`` in px (default: fits the texts), ``help`` behind the title, ``bar`` for
    numbers from 0 to 1, ``right`` to align texts to the right.
    """

    title: str
    format: Format = "text"
    unit: str = ""
    width: int | None = None
    help: str | None = None
    bar: bool = False
    right: bool = False


Line = TypeVar("Line")
Columns = Mapping[Column, Callable[[Line], object]]
"""The columns of a table, each with the function that returns the value of a line."""


@dataclass(frozen=True, slots=True)
class Table:
    """Columns, and rows with one value per column; None is unknown."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[Any, ...], ...]

    def __post_init__(self) -> None:
        """Raise ValueError if a row does not have one value per column."""
        if any(len(row) != len(self.columns) for row in self.rows):
            raise ValueError(f"a row does not have {len(self.columns)} values")

    @classmethod
    def of(cls, lines: Iterable[Line], columns: Columns[Line]) -> "Table":
        """Return a table with a row for each line."""
        return cls(
            tuple(columns),
            tuple(tuple(value(line) for value in columns.values()) for line in lines),
        )

    def without(self, titles: Collection[str]) -> "Table":
        """Return the table without the columns of these titles."""
        places = [place for place, column in enumerate(self.columns) if column.title not in titles]
        rows = (tuple(row[place] for place in places) for row in self.rows)
        return Table(tuple(self.columns[place] for place in places), tuple(rows))

    def without_empty(self, titles: Collection[str] | None = None) -> "Table":
        """Return the table without the columns that have no value; with ``titles``, only these columns may go."""
        empty = {
            column.title
            for place, column in enumerate(self.columns)
            if (titles is None or column.title in titles)
            and all(row[place] is None for row in self.rows)
        }
        return self.without(empty)

    def plain(self) -> "Table":
        """Return the table with each column of estimates as plain columns: value, low, high, n and reason."""
        columns = [plain for column in self.columns for plain in _plain_columns(column)]
        rows = (
            [
                plain
                for value, column in zip(row, self.columns, strict=True)
                for plain in _plain_values(value, column)
            ]
            for row in self.rows
        )
        return Table(tuple(columns), tuple(tuple(row) for row in rows))


OF_ESTIMATES: Mapping[str, Callable[[Estimate], str]] = {
    "estimate": number_words,
    "share estimate": percent_words,
    "points": lambda size: (
        size.reason or "" if size.value is None else counted(math.ceil(size.value * 100), "point")
    ),
    "change": partial(points_words, sign=True),
    "p": lambda p: p_words(p.value),
    "day": lambda day: day_words(int(day.value or 0)),
}


def cell_text(value: Any, column: Column) -> str:
    """Return the text of a value for readers."""
    if value is None:
        return UNKNOWN
    if isinstance(value, Estimate):
        return OF_ESTIMATES[column.format](value)
    if column.format == "time" and isinstance(value, datetime):
        return iso_z(value)
    text = str(value)
    if column.format == "count":
        text = f"{value:,}"
    elif column.format in {"number", "share"}:
        text = two_decimals(value) if column.format == "number" else percent(value)
    return f"{text} {column.unit}" if column.unit else text


def text_lines(table: Table) -> Iterator[str]:
    """Yield the table as aligned lines for a terminal, the headings first."""
    rows = [[column.title for column in table.columns], *_texts(table)]
    widths = [max(len(row[place]) for row in rows) for place in range(len(table.columns))]
    for row in rows:
        cells = (
            text.rjust(width) if column.format in RIGHT_ALIGNED else text.ljust(width)
            for text, width, column in zip(row, widths, table.columns, strict=True)
        )
        yield "  ".join(cells).rstrip()


def fact_lines(facts: Mapping[str, object]) -> Iterator[str]:
    """Yield a line for each fact: label and value. Facts without a value (None or "") are left out."""
    values = {label: value for label, value in facts.items() if value not in (None, "")}
    width = max(map(len, values), default=0)
    for label, value in values.items():
        yield f"{label:<{width}}  {f'{value:,}' if isinstance(value, int) else value}"


def to_html(table: Table, texts: Iterable[str] = ()) -> str:
    """Return the table as HTML, below paragraphs; cells that are aligned to the right have the class ``n``."""
    from html import escape  # loads all names of characters, which no short command needs

    classes = [" class=n" if column.format in RIGHT_ALIGNED else "" for column in table.columns]

    def line(tag: str, texts: Sequence[str]) -> str:
        cells = (
            f"<{tag}{kind}>{escape(text)}</{tag}>"
            for text, kind in zip(texts, classes, strict=True)
        )
        return f"<tr>{''.join(cells)}</tr>\n"

    head = line("th", [column.title for column in table.columns])
    body = "".join(line("td", row) for row in _texts(table))
    above = "".join(f"<p>{escape(text)}</p>\n" for text in texts)
    return f'{above}<div class="wide"><table>{head}{body}</table></div>\n'


def to_csv(table: Table) -> str:
    """Return the table as CSV with unrounded numbers; no cell is a formula in a spreadsheet."""
    plain = table.plain()
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow([defused(column.title) for column in plain.columns])
    writer.writerows([_csv_cell(value) for value in row] for row in plain.rows)
    return out.getvalue()


def rows_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """Return JSON objects as a table: a column for each value, named with dots inside objects. Lists are JSON texts."""
    flat = [dict(_flat(row)) for row in rows]
    titles = list(dict.fromkeys(title for row in flat for title in row))
    return Table(
        tuple(map(Column, titles)), tuple(tuple(row.get(title) for title in titles) for row in flat)
    )


def _flat(row: Mapping[str, Any], start: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in row.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{start}{key}.")
        else:
            yield (
                f"{start}{key}",
                orjson.dumps(value).decode() if isinstance(value, list) else value,
            )


def _texts(table: Table) -> list[list[str]]:
    return [
        [cell_text(value, column) for value, column in zip(row, table.columns, strict=True)]
        for row in table.rows
    ]


def _plain_columns(column: Column) -> tuple[Column, ...]:
    if column.format not in OF_ESTIMATES:
        return (column,)
    number: Format = (
        "share" if column.format in {"share estimate", "points", "change"} else "number"
    )
    title = column.title
    bounds = (Column(f"{title} {end}", number) for end in ("low", "high"))
    return (
        Column(title, number),
        *bounds,
        Column(f"{title} n", "count"),
        Column(f"{title} reason"),
    )


def _plain_values(value: Any, column: Column) -> tuple[Any, ...]:
    if column.format not in OF_ESTIMATES:
        return (value,)
    return (
        (value.value, value.low, value.high, value.n, value.reason)
        if value is not None
        else (None,) * 5
    )


def _csv_cell(value: Any) -> str | int | float:
    if value is None:
        return ""
    if isinstance(value, datetime):
        return iso_z(value)
    return value if isinstance(value, bool | int | float) else defused(str(value))

"""DataFrames: rows as a frame, and a frame or records as a file that an import reads.

This module imports pandas, which takes seconds: `judgeboard.formats` loads the module on first use.
"""

import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date
from typing import Any, BinaryIO, Protocol, runtime_checkable

import numpy as np
import pandas as pd

from judgeboard.errors import BadInput
from judgeboard.formats.files import Column, ColumnType

_TYPES = {
    ColumnType.TEXT: "str",
    ColumnType.INTEGER: "Int64",
    ColumnType.NUMBER: "float64",
    ColumnType.BOOLEAN: "boolean",
    ColumnType.TIME: "datetime64[us, UTC]",
}


@runtime_checkable
class ToPandas(Protocol):
    """A table of another library, such as polars or Arrow."""

    def to_pandas(self) -> pd.DataFrame:
        """Return the table as a frame."""


Records = pd.DataFrame | ToPandas | Iterable[Mapping[str, Any]]
"""Rows: a DataFrame, another table, or dicts."""


def frame_of(rows: Iterable[Mapping[str, Any]], columns: Sequence[Column]) -> pd.DataFrame:
    """Return the ``columns`` of each row as a frame; also without rows, each column has its type."""
    frame = pd.DataFrame(list(rows), columns=[column.name for column in columns])
    return frame.astype(
        {column.name: _TYPES[column.type] for column in columns if column.type in _TYPES}
    )


def beside(
    frame: pd.DataFrame, rows: Iterable[Mapping[str, Any]], columns: Sequence[Column]
) -> pd.DataFrame:
    """Return a frame with further ``columns``; ``rows`` has one further row for each row of the frame."""
    return pd.concat([frame, frame_of(rows, columns).set_axis(frame.index)], axis="columns")


def to_frame(records: Records) -> pd.DataFrame:
    """Return rows as a frame, in which a named index is a column. Raises BadInput for other values."""
    if not isinstance(records, pd.DataFrame) and isinstance(records, ToPandas):
        records = records.to_pandas()
    if isinstance(records, str | bytes | Mapping) or not isinstance(records, Iterable):
        raise BadInput(f"rows must be a DataFrame or a list of dicts, not {type(records).__name__}")
    if not isinstance(records, pd.DataFrame):
        rows = list(records)
        wrong = next((at for at, row in enumerate(rows) if not isinstance(row, Mapping)), None)
        if wrong is not None:
            raise BadInput(f"row {wrong} is not a dict but {type(rows[wrong]).__name__}")
        names = dict.fromkeys(name for row in rows for name in row)
        return pd.DataFrame({name: [row.get(name) for row in rows] for name in names}, dtype=object)
    if len(doubled := records.columns[records.columns.duplicated()]):
        raise BadInput(f"two columns have the name {doubled[0]!r}: rename one")
    return (
        records.reset_index() if any(name is not None for name in records.index.names) else records
    )


@contextmanager
def frame_file(records: Records) -> Iterator[BinaryIO]:
    """Yield rows as a temporary file of JSON lines: row 0 is line 1. NaN, NaT and NA are no value.

    Raises BadInput for a value that a file of JSON cannot have.
    """
    rows = to_frame(records).to_dict("records")
    with tempfile.TemporaryFile() as file:
        for number, row in enumerate(rows):
            values = {str(name): value for name, value in row.items()}
            try:
                file.write(json.dumps(values, default=_plain).encode() + b"\n")
            except (TypeError, ValueError, RecursionError) as error:
                raise BadInput(f"row {number} cannot be read: {error}") from error
        file.seek(0)
        yield file


def _plain(value: object) -> object:
    """Return a value in a form that JSON has."""
    if value is pd.NaT or value is pd.NA:
        return None
    if isinstance(value, np.datetime64):
        return pd.Timestamp(value).isoformat()
    if isinstance(value, date):  # also a datetime and a timestamp of pandas
        return value.isoformat()
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise TypeError(f"a value of type {type(value).__name__}: convert it to a text or a number")

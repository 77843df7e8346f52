"""Excel: the first sheet with rows, whose first row has the names of the columns. All cells are texts, as in CSV."""

import warnings
import zipfile
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from openpyxl import load_workbook

from judgeboard.domain import Rejected
from judgeboard.errors import BadInput
from judgeboard.formats.files import MAX_ROW_BYTES, MOST_UNPACKED, ByteSource, Row
from judgeboard.formats.inspect_archive import files_in

_WORKBOOK = "xl/workbook.xml"


def recognises(source: ByteSource) -> bool:
    """Whether a ZIP file is a workbook."""
    return any(info.filename == _WORKBOOK for info in files_in(source))


def read(source: ByteSource) -> Iterator[Row | Rejected]:
    """Yield the rows of the first sheet with rows; ``line`` is the number of the row in the sheet."""
    unpacked = sum(info.file_size for info in files_in(source))
    if unpacked > MAX_ROW_BYTES + MOST_UNPACKED * (source.size or 0):
        raise BadInput(
            f"{source.name} unpacks to more than {MOST_UNPACKED} times its size: save it as CSV"
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # styles and extensions of Excel are not read
            book = load_workbook(source.seekable(), read_only=True, data_only=True)
    except (zipfile.BadZipFile, KeyError, ValueError, OSError, SyntaxError) as error:
        raise BadInput(f"{source.name} is a damaged Excel file: save the sheet as CSV") from error
    sheet = next((sheet for sheet in book.worksheets if sheet.max_row != 1), book.worksheets[0])
    names: list[str] = []
    for number, cells in enumerate(sheet.iter_rows(values_only=True), start=1):
        texts = [_text(each) for each in cells]
        if names and any(texts):
            source.note(sum(map(len, texts)), number / (sheet.max_row or number))
            yield Row(number, dict(zip(names, texts, strict=False)))
        elif (
            sum(map(bool, texts)) > 1 or sheet.max_column == 1
        ):  # a lone text above the names is a title
            names = [text.strip() or f"column_{place}" for place, text in enumerate(texts, start=1)]


def _text(value: Any) -> str:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)

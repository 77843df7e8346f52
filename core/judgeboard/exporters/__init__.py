"""Writes tables of records to files; what it writes of responses, the importers read back."""

from judgeboard.exporters.csv_table import defused
from judgeboard.exporters.responses import RESPONSE_COLUMNS, response_row
from judgeboard.exporters.table_columns import Column, ColumnType
from judgeboard.exporters.writing import EXPORTERS, write_rows

__all__ = ["EXPORTERS", "RESPONSE_COLUMNS", "Column", "ColumnType", "defused", "response_row", "write_rows"]

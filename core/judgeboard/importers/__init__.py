"""Reads files of every kind into records; knows nothing of the store."""

from judgeboard.importers.columns import ColumnUse, parse_mapping
from judgeboard.importers.formats import IMPORTERS, Importer
from judgeboard.importers.kinds import KINDS, NAMES_ANSWERS
from judgeboard.importers.preview import Preview, preview
from judgeboard.importers.reading import (
    DEFAULT_SOURCE,
    Reading,
    read_grades,
    read_records,
    read_responses,
    read_verdicts,
)
from judgeboard.importers.rejected import RejectedFile, rejected_path

__all__ = [
    "DEFAULT_SOURCE",
    "IMPORTERS",
    "KINDS",
    "NAMES_ANSWERS",
    "ColumnUse",
    "Importer",
    "Preview",
    "Reading",
    "RejectedFile",
    "parse_mapping",
    "preview",
    "read_grades",
    "read_records",
    "read_responses",
    "read_verdicts",
    "rejected_path",
]

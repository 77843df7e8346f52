"""The kinds of files that can be imported: one line each."""

from collections.abc import Mapping
from typing import Any

from judgeboard.importers.comparisons import ComparisonRows
from judgeboard.importers.grades import GradeRows
from judgeboard.importers.pairs import PairRows
from judgeboard.importers.record_rows import RecordRows
from judgeboard.importers.repeats import RepeatRows
from judgeboard.importers.responses import ResponseRows
from judgeboard.importers.samples import SampleRows
from judgeboard.importers.verdicts import VerdictRows

# Those whose columns tell most come first where a row is asked which kind it belongs to: a row of repeats is a
# logged answer too, a log may carry a judge's name, while verdicts carry no question.
ROWS: Mapping[str, type[RecordRows[Any]]] = {
    "pairs": PairRows,
    "repeats": RepeatRows,
    "samples": SampleRows,
    "responses": ResponseRows,
    "comparisons": ComparisonRows,
    "verdicts": VerdictRows,
    "grades": GradeRows,
}

KINDS = ("responses", "grades", "verdicts", "pairs", "comparisons", "samples", "repeats")
"""All kinds in the order in which people are offered them."""

NAMES_ANSWERS = ("responses", "pairs", "samples", "repeats")
"""Kinds whose rows bring answers or questions of a source; the others look for what they speak of."""

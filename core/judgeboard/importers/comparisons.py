"""Turns a row into what a judge said of a pair in one order, still naming the pair by its outside id."""

from enum import StrEnum
from typing import ClassVar

from judgeboard.domain import Status, StepRecord
from judgeboard.importers.cells import MAX_ID, Cells, Unusable
from judgeboard.importers.pair_columns import COMPARISON_FIELDS
from judgeboard.importers.pairs import raw_text
from judgeboard.importers.preferences import shown_word, verdict_in
from judgeboard.importers.record_rows import RecordRows
from judgeboard.pair_records import OVERALL, ImportedComparison, RecordedJudge


class Condition(StrEnum):
    """What a judge was shown beside the pair: nothing, or an answer as the correct one."""

    PLAIN = "plain"
    REFERENCE = "reference"


class ComparisonRows(RecordRows[ImportedComparison]):
    """Builds the comparisons of one file.

    ``verdict`` speaks of the stored answers A and B, whatever the ``order`` shown; none means that the judge was
    asked and gave no usable one, which ``status`` may say more of.
    """

    kind = "comparisons"
    fields = COMPARISON_FIELDS
    needed: ClassVar[tuple[str, ...]] = ("external_id", "judge", "order")
    left_over = "not stored"

    def __init__(self, source: str | None) -> None:
        self._source = source

    def build(self, cells: Cells) -> ImportedComparison:
        """Return the comparison of a row.

        Raises:
            Unusable: A field is missing or has a value that no comparison can have.
        """
        judge = RecordedJudge(cells.required_name("judge"), cells.name("judge_version"))
        shown = shown_word("order", cells.get("order"))
        if shown is None:
            raise Unusable("order", "no order: ab or ba")
        said, aspect = verdict_in(cells, "verdict"), cells.name("aspect")
        if aspect is not None and said:
            if said.keys() != {OVERALL}:
                raise Unusable("aspect", "a verdict by aspect names its aspects itself")
            said = {aspect: said[OVERALL]}
        status = cells.choice("status", Status) or (Status.OK if said else Status.UNPARSABLE)
        if bool(said) != (status is Status.OK):
            raise Unusable("status", f"a comparison that is {status} carries {'a' if said else 'no'} verdict")
        return ImportedComparison(
            pair_id=cells.required_name("external_id", MAX_ID),
            judge=judge,
            shown=shown,
            record=StepRecord(status, raw=raw_text(cells.get("raw")), error=cells.text("error")),
            preferences=said,
            condition=cells.choice("condition", Condition) or Condition.PLAIN,
            reference=cells.text("reference"),
            reasoning=cells.text("reasoning"),
            ask=_ask(cells),
            source=cells.name("source") or self._source,
        )


def _ask(cells: Cells) -> int:
    value = cells.number("ask")
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise Unusable("ask", "not a whole number from 0")
    return value

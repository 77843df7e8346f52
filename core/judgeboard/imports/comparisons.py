"""Verdicts of judges on stored pairs, recorded elsewhere, one order a row."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import ClassVar

from sqlalchemy import Connection

from judgeboard.domain import OVERALL, Shown, Status, StepRecord
from judgeboard.imports.fields import (
    ERROR,
    JUDGE,
    JUDGE_VERSION,
    MAX_ID,
    RAW,
    REASONING,
    REFERENCE,
    Cells,
    ColumnNames,
    Unusable,
    raw_text,
)
from judgeboard.imports.kinds import RowOutcomes, Stored
from judgeboard.imports.pairs import verdict_in
from judgeboard.imports.recorded import RecordedImport, RecordedJudge, recorded_version, store_recorded
from judgeboard.store.comparisons import NewComparison
from judgeboard.store.pairs import pairs_named


class Condition(StrEnum):
    """What a judge was shown beside the pair: nothing, or an answer as the correct one."""

    PLAIN = "plain"
    REFERENCE = "reference"


@dataclass(frozen=True, slots=True)
class ImportedComparison:
    """A recorded comparison of a pair in one order, with the external id of the pair (its ``pair_id`` is 0)."""

    pair_id: str
    judge: RecordedJudge
    comparison: NewComparison
    source: str | None = None


class ComparisonImport(RecordedImport[ImportedComparison]):
    """Comparisons of replay judge versions, one run per judge and file.

    ``verdict`` is about the stored answers A and B, whatever the ``order`` shown. A row without a verdict is an
    unusable reply; its ``status`` can tell more.
    """

    columns: ClassVar[ColumnNames] = {
        "external_id": ("pair_id", "external_id", "id"),
        "source": ("source",),
        "judge": JUDGE,
        "judge_version": JUDGE_VERSION,
        "order": ("order", "shown", "order_shown"),
        "verdict": ("verdict", "preference", "winner"),
        "aspect": ("aspect", "criterion", "dimension"),
        "condition": ("condition",),
        "reference": REFERENCE,
        "reasoning": REASONING,
        "raw": RAW,
        "status": ("status",),
        "error": ERROR,
        "ask": ("ask",),
    }
    needed = ("external_id", "judge", "order")

    def build(self, cells: Cells) -> ImportedComparison:
        """Return the comparison of a row."""
        judge = RecordedJudge(cells.required_name("judge"), cells.name("judge_version"))
        shown = cells.choice("order", Shown)
        if shown is None:
            raise Unusable("order", "no order: give ab or ba")
        verdict, aspect = verdict_in(cells, "verdict"), cells.name("aspect")
        if aspect is not None and verdict:
            if verdict.keys() != {OVERALL}:
                raise Unusable("aspect", "a verdict by aspect already names its aspects: remove this field")
            verdict = {aspect: verdict[OVERALL]}
        status = cells.choice("status", Status) or (Status.OK if verdict else Status.UNPARSABLE)
        if bool(verdict) != (status is Status.OK):
            raise Unusable("status", f"a comparison with the status {status} has {'a' if verdict else 'no'} verdict")
        comparison = NewComparison(
            pair_id=0,
            shown=shown,
            record=StepRecord(status, raw=raw_text(cells.get("raw")), error=cells.text("error")),
            preferences=verdict,
            condition=cells.choice("condition", Condition) or Condition.PLAIN,
            reference=cells.text("reference"),
            reasoning=cells.text("reasoning"),
            ask=_ask(cells),
        )
        pair_id, source = cells.required_name("external_id", MAX_ID), cells.name("source") or self.source
        return ImportedComparison(pair_id, judge, comparison, source)

    def store(self, connection: Connection, records: Sequence[ImportedComparison], now: datetime) -> Stored:
        """Store the comparisons whose pair is found; another verdict in the same order is rejected."""
        rows = RowOutcomes(len(records))
        names = {index: (record.pair_id, record.source) for index, record in enumerate(records)}
        named = pairs_named(connection, {external_id for external_id, _ in names.values()})
        by_judge: dict[RecordedJudge, dict[int, list[NewComparison]]] = {}
        for index, pair in rows.find("pair", "external_id", names, named).items():
            item = replace(records[index].comparison, pair_id=pair.id)
            by_judge.setdefault(records[index].judge, {})[index] = [item]
        for judge, comparisons in by_judge.items():
            version = recorded_version(connection, judge, now)
            store_recorded(connection, version, self, comparisons, rows, now)
        return rows.stored()


def _ask(cells: Cells) -> int:
    value = cells.number("ask")
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise Unusable("ask", "not a whole number of 0 or more")
    return value

"""Lands what judges said of stored pairs, one order a row."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from judgeboard.landings.judged_pairs import land_recorded
from judgeboard.landings.landing import Landed, Landings
from judgeboard.landings.named import Name, the_named
from judgeboard.landings.recorded_judges import RecordedJudges, recorded_version
from judgeboard.pair_records import ImportedComparison, RecordedJudge
from judgeboard.store.pairs.comparisons import LandedComparison
from judgeboard.store.pairs.pairs import pairs_named


class ComparisonLanding:
    """Stores comparisons of replay judge versions, one run per judge and file."""

    def __init__(self, actor: str) -> None:
        self._judges = RecordedJudges(actor)

    def land(
        self,
        connection: Connection,
        records: Sequence[ImportedComparison],
        batch_id: int,  # noqa: ARG002 - the shape of all landings
        now: datetime,
    ) -> Landed:
        """Store the comparisons whose pair is found; another verdict in the same order is a conflict."""
        rows = Landings(len(records))
        named = pairs_named(connection, {record.pair_id for record in records})
        by_judge: dict[RecordedJudge, dict[int, list[LandedComparison]]] = {}
        for index, record in enumerate(records):
            found = the_named("pair", Name(record.pair_id, record.source), named)
            if isinstance(found, str):
                rows.refuse(index, "pair_id", found)
            else:
                by_judge.setdefault(record.judge, {})[index] = [_comparison(record, found.id)]
        for judge, given in by_judge.items():
            version = recorded_version(connection, judge, now)
            land_recorded(connection, version, self._judges, given, rows, now)
        return rows.landed()

    def finish(self, connection: Connection, now: datetime) -> int:
        """Mark the runs as done."""
        self._judges.finish(connection, now)
        return 0

    def shown(self, record: ImportedComparison) -> dict[str, Any]:
        """Return the comparison as an import would take it again."""
        return {
            "pair_id": record.pair_id,
            "source": record.source,
            "judge": record.judge.name,
            "order": record.shown,
            "verdict": dict(record.preferences) or None,
            "status": record.record.status,
            "raw": record.record.raw,
        }


def _comparison(record: ImportedComparison, pair_id: int) -> LandedComparison:
    return LandedComparison(
        pair_id=pair_id,
        shown=record.shown,
        record=record.record,
        preferences=record.preferences,
        condition=record.condition,
        reference=record.reference,
        reasoning=record.reasoning,
        ask=record.ask,
    )

"""Lands verdicts that were recorded elsewhere."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from judgeboard.domain import ImportedVerdict
from judgeboard.landings.landing import Landed, Problem
from judgeboard.landings.named import Name, the_named
from judgeboard.landings.recorded_judges import RecordedJudges, recorded_version
from judgeboard.pair_records import RecordedJudge
from judgeboard.store.judgments.judge_versions import StoredVersion
from judgeboard.store.judgments.recorded_verdicts import first_verdicts, says_the_same
from judgeboard.store.landing import LandedVerdict, land_judgments
from judgeboard.store.pairs.pair_sides import sides_named
from judgeboard.store.responses.outside_ids import NamedResponse, responses_named


class VerdictLanding:
    """Stores verdicts recorded elsewhere as judgments of replay judge versions, one run per judge and file."""

    def __init__(self, actor: str) -> None:
        self._judges = RecordedJudges(actor)

    def land(
        self,
        connection: Connection,
        records: Sequence[ImportedVerdict],
        batch_id: int,  # noqa: ARG002 - the shape of all landings
        now: datetime,
    ) -> Landed:
        """Store the verdicts whose response is found, in a log or else in a pair; another verdict is a conflict."""
        landed = Landed()
        named = responses_named(connection, {record.response_id for record in records})
        unknown = {record.response_id for record in records} - named.keys()
        if unknown:  # a log has no empty answers, pairs do
            sides = sides_named(connection, unknown)
            named |= {name: [NamedResponse(*side) for side in found] for name, found in sides.items()}
        by_judge: dict[str, dict[int, int]] = {}
        for index, record in enumerate(records):
            found = the_named("response", Name(record.response_id, record.source), named)
            if isinstance(found, str):
                landed.problems.append(Problem(index, "response_id", found))
            else:
                by_judge.setdefault(record.judge, {})[index] = found.id
        for judge, response_ids in by_judge.items():
            version = recorded_version(connection, RecordedJudge(judge), now)
            self._land_of(connection, version, records, response_ids, landed, now)
        return landed

    def _land_of(
        self,
        connection: Connection,
        version: StoredVersion,
        records: Sequence[ImportedVerdict],
        response_ids: Mapping[int, int],
        landed: Landed,
        now: datetime,
    ) -> None:
        known = first_verdicts(connection, version.id, set(response_ids.values()))
        new = []
        for index, response_id in response_ids.items():
            verdict = records[index].verdict
            if response_id not in known:
                new.append(LandedVerdict(response_id, 0, 0, verdict))
            elif says_the_same(known[response_id], verdict):
                landed.unchanged += 1
            else:
                reason = f"{version.name} has another verdict on {records[index].response_id!r}"
                landed.problems.append(Problem(index, "response_id", reason, conflict=True))
        if new:
            stored = land_judgments(connection, version, self._judges.run(connection, version, now), new, now)
            landed.new += stored
            landed.unchanged += len(new) - stored

    def finish(self, connection: Connection, now: datetime) -> int:
        """Mark the runs as done."""
        self._judges.finish(connection, now)
        return 0

    def shown(self, record: ImportedVerdict) -> dict[str, Any]:
        """Return the verdict as an import would take it again."""
        verdict = record.verdict
        return {
            "response_id": record.response_id,
            "judge": record.judge,
            "source": record.source,
            "label": verdict.label,
            "groundedness": verdict.groundedness,
            "quality": verdict.quality,
            "reasoning": verdict.reasoning,
            "raw": verdict.raw,
        }

"""Lands sampled questions: the question, the tries of a model at it, its verdicts on the two answers."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from judgeboard.domain import Status, StepRecord
from judgeboard.landings.judged_pairs import land_recorded
from judgeboard.landings.landing import Landed, Landings
from judgeboard.landings.pairs import land_pair_rows, pair_shown
from judgeboard.landings.recorded_judges import RecordedJudges, recorded_version
from judgeboard.pair_records import OVERALL, ImportedSamples, RecordedJudge, Try
from judgeboard.store.judgments.judge_versions import StoredVersion
from judgeboard.store.pairs.comparisons import LandedComparison
from judgeboard.store.pairs.samples import LandedSample, SampleKey, StoredSample, land_samples, stored_samples


class SampleLanding:
    """Stores samples and their model's comparisons under one judge version per model, one run per model and file."""

    def __init__(self, actor: str) -> None:
        self._judges = RecordedJudges(actor)

    def land(self, connection: Connection, records: Sequence[ImportedSamples], batch_id: int, now: datetime) -> Landed:
        """Store what is new; another answer of a model in the same try is a conflict."""
        rows = Landings(len(records))
        ids = land_pair_rows(connection, [record.pair for record in records], batch_id, now, rows)
        by_judge: dict[RecordedJudge, dict[int, int]] = {}
        for index, (record, pair_id) in enumerate(zip(records, ids, strict=True)):
            if pair_id is not None:
                by_judge.setdefault(record.judge, {})[index] = pair_id
        for judge, pair_ids in by_judge.items():
            version = recorded_version(connection, judge, now)
            self._land_tries(connection, version, records, pair_ids, rows, now)
            given = {index: _comparisons(records[index], pair_id) for index, pair_id in pair_ids.items()}
            land_recorded(connection, version, self._judges, given, rows, now)
        return rows.landed()

    def finish(self, connection: Connection, now: datetime) -> int:
        """Mark the runs as done."""
        self._judges.finish(connection, now)
        return 0

    def shown(self, record: ImportedSamples) -> dict[str, Any]:
        """Return the samples as an import would take them again."""
        return {**pair_shown(record.pair), "model": record.judge.name, "samples": [one.answer for one in record.tries]}

    def _land_tries(
        self,
        connection: Connection,
        version: StoredVersion,
        records: Sequence[ImportedSamples],
        pair_ids: Mapping[int, int],
        rows: Landings,
        now: datetime,
    ) -> None:
        known = stored_samples(connection, version.id, pair_ids.values())
        new: list[LandedSample] = []
        for index, pair_id in pair_ids.items():
            for number, one in enumerate(records[index].tries):
                key = SampleKey(pair_id, number)
                if key not in known:
                    known[key] = StoredSample(one.answer, one.status.value)
                    new.append(LandedSample(pair_id, number, one.answer, _record(one)))
                    rows.new.add(index)
                elif not _says_the_same(known[key], one):
                    reason = f"{version.name} has another answer in try {number + 1} at this question"
                    rows.refuse(index, "samples", reason, conflict=True)
        if new:
            land_samples(connection, version, self._judges.run(connection, version, now), new, now)


def _says_the_same(stored: StoredSample, given: Try) -> bool:
    forgotten = stored.answer is None and stored.status == Status.OK
    return stored.status == given.status and (forgotten or stored.answer == given.answer)


def _record(one: Try) -> StepRecord:
    return StepRecord(one.status, raw=one.raw, model_reported=one.model)


def _comparisons(record: ImportedSamples, pair_id: int) -> list[LandedComparison]:
    return [
        LandedComparison(
            pair_id,
            shown,
            StepRecord(Status.UNPARSABLE if said is None else Status.OK),
            {} if said is None else {OVERALL: said},
            condition=condition,
        )
        for condition, orders in record.verdicts.items()
        for shown, said in orders.items()
    ]

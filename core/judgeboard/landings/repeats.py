"""Lands answers that a judge scored several times by a rubric."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Connection

from judgeboard.domain import DimensionScore, JudgeVersion, Status, Verdict
from judgeboard.importers.scores import SCORE
from judgeboard.judge_kinds import RECORDED
from judgeboard.landings.landing import Landed, Landings
from judgeboard.landings.recorded_judges import RecordedJudges
from judgeboard.pair_records import ImportedRepeats
from judgeboard.store.judgments.judge_versions import StoredVersion, ensure_version
from judgeboard.store.judgments.recorded_verdicts import recorded_scores
from judgeboard.store.landing import LandedVerdict, land_judgments, land_responses
from judgeboard.store.responses.response_rows import find_responses, key_of


class _Judge(NamedTuple):
    name: str
    rubric: str
    scale: str

    def version(self) -> JudgeVersion:
        """The judge as it judged: by this rubric on this scale."""
        params = {"scale": self.scale}
        return JudgeVersion(self.name, RECORDED, model=self.name, params=params, prompt=self.rubric, scale=self.scale)


class RepeatLanding:
    """Stores the answers as candidates, and each score as a judgment of its repeat, by one judge version per rubric."""

    def __init__(self, actor: str) -> None:
        self._judges = RecordedJudges(actor)

    def land(self, connection: Connection, records: Sequence[ImportedRepeats], batch_id: int, now: datetime) -> Landed:
        """Store what is new; an answer with other content, or another score in the same repeat, is a conflict."""
        rows = Landings(len(records))
        responses = [record.response for record in records]
        stored = land_responses(connection, responses, batch_id, now)
        for clash in stored.conflicts:
            reason = f"{clash.external_id!r} is stored with other content"
            rows.refuse(clash.index, "external_id", reason, conflict=True)
        known = find_responses(connection, [key_of(response) for response in responses])
        new = set(stored.new)
        by_judge: dict[_Judge, dict[int, int]] = {}
        for index, record in enumerate(records):
            if index in rows.problems:
                continue
            response_id = known[key_of(record.response)].id
            by_judge.setdefault(_Judge(record.judge, record.rubric, record.scale), {})[index] = response_id
            if response_id in new:
                new.remove(response_id)
                rows.new.add(index)
        for judge, response_ids in by_judge.items():
            version = ensure_version(connection, judge.version(), now)
            self._land_scores(connection, version, records, response_ids, rows, now)
        return rows.landed()

    def finish(self, connection: Connection, now: datetime) -> int:
        """Mark the runs as done."""
        self._judges.finish(connection, now)
        return 0

    def shown(self, record: ImportedRepeats) -> dict[str, Any]:
        """Return the repeats as an import would take them again."""
        response = record.response
        return {
            "source": response.source,
            "external_id": response.external_id,
            "question": response.query,
            "answer": response.answer,
            "model": record.judge,
            "rubric": record.rubric,
            "scale": record.scale,
            "samples": list(record.scores),
        }

    def _land_scores(
        self,
        connection: Connection,
        version: StoredVersion,
        records: Sequence[ImportedRepeats],
        response_ids: Mapping[int, int],
        rows: Landings,
        now: datetime,
    ) -> None:
        known = recorded_scores(connection, version.id, response_ids.values())
        new: list[LandedVerdict] = []
        for index, response_id in response_ids.items():
            for repeat, value in enumerate(records[index].scores):
                there = known.get((response_id, repeat))
                if there is None:
                    new.append(LandedVerdict(response_id, 0, repeat, _verdict(records[index], repeat)))
                    rows.new.add(index)
                elif there != ({} if value is None else {SCORE: value}):
                    reason = f"{version.name} has another score in repeat {repeat + 1} of this answer"
                    rows.refuse(index, "samples", reason, conflict=True)
        if new:
            land_judgments(connection, version, self._judges.run(connection, version, now), new, now)


def _verdict(record: ImportedRepeats, repeat: int) -> Verdict:
    value, raw = record.scores[repeat], record.raws[repeat]
    if value is None:
        return Verdict(Status.UNPARSABLE, raw=raw)
    return Verdict(Status.OK, raw=raw, scores=(DimensionScore(SCORE, value, record.scale),))

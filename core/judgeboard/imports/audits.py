"""Audits: reviews of a judge's verdicts by a second judge, from exports of Judgeboard and records of tools."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import ClassVar

from sqlalchemy import Connection

from judgeboard.domain import Status, StepRecord
from judgeboard.imports import known_names
from judgeboard.imports.fields import MAX_ID, Cells, ColumnNames, Unusable
from judgeboard.imports.kinds import RowOutcomes, Stored
from judgeboard.imports.recorded import RecordedImport, RecordedJudge, recorded_version
from judgeboard.store.judgment_reviews import (
    NewJudgmentReview,
    recorded_reviews,
    store_judgment_reviews,
)
from judgeboard.store.judgments import judgment_ids
from judgeboard.store.reviews import lock_responses

_RESULTS = {"true": True, "false": False, "none": None}


@dataclass(frozen=True, slots=True)
class ImportedAudit:
    """A review of a verdict of ``judge``. The numbers of ask and repeat start at 0, as in an export."""

    external_id: str
    judge: RecordedJudge
    supreme_judge: RecordedJudge
    correct: bool | None
    reasoning: str | None
    step: StepRecord
    source: str | None = None
    judgment_ask: int = 0
    judgment_repeat: int = 0
    ask: int = 0
    inclusion_probability: float = 1.0


class AuditImport(RecordedImport[ImportedAudit]):
    """Reviews of verdicts by supreme judges, with the flags that the reviews raise.

    Import audits after the verdicts.
    """

    columns: ClassVar[ColumnNames] = {
        "external_id": known_names.RESPONSE_ID,
        **{
            name: (name,)
            for name in (
                "source",
                "judge",
                "judge_version",
                "judgment_ask",
                "judgment_repeat",
                "supreme_judge",
                "supreme_judge_version",
                "ask",
                "correct",
                "status",
                "reasoning",
                "raw",
                "error",
                "inclusion_probability",
            )
        },
    }
    needed = ("external_id", "judge", "supreme_judge")
    choices: ClassVar[Mapping[str, type[StrEnum]]] = {"status": Status}

    def build(self, cells: Cells) -> ImportedAudit:
        """Return the audit of a row."""
        word = str(cells.get("correct")).casefold()
        if word not in _RESULTS:
            raise Unusable("correct", f"{word[:40]!r} is not true or false")
        correct, status = _RESULTS[word], cells.choice("status", Status) or Status.OK
        if (correct is None) is (status is Status.OK):
            raise Unusable(
                "correct",
                "give a result (true or false), or a status with the reason why there is none",
            )
        probability = cells.number("inclusion_probability")
        if probability is None:
            probability = 1.0
        if type(probability) not in {int, float} or not 0 <= probability <= 1:
            raise Unusable(
                "inclusion_probability", f"{str(probability)[:40]} is not a number from 0 to 1"
            )
        return ImportedAudit(
            cells.required_name("external_id", MAX_ID),
            RecordedJudge(cells.required_name("judge"), cells.name("judge_version")),
            RecordedJudge(
                cells.required_name("supreme_judge"), cells.name("supreme_judge_version")
            ),
            correct,
            cells.text("reasoning"),
            StepRecord(status, raw=cells.text("raw"), error=cells.text("error")),
            cells.name("source") or self.source,
            cells.whole_number("judgment_ask") or 0,
            cells.whole_number("judgment_repeat") or 0,
            cells.whole_number("ask") or 0,
            probability,
        )

    def store(
        self, connection: Connection, records: Sequence[ImportedAudit], now: datetime
    ) -> Stored:
        """Store the new reviews, with the flags that the reviews raise."""
        rows = RowOutcomes(len(records))
        names = {index: (record.external_id, record.source) for index, record in enumerate(records)}
        answers = self.find_answers(connection, rows, names)
        response_ids = {answer.id for answer in answers.values()}
        locked = lock_responses(connection, response_ids)
        # The versions of the judges, the judgments of the answers, and the reviews of these
        # judgments.
        judges = dict.fromkeys(
            judge
            for index in answers
            for judge in (records[index].judge, records[index].supreme_judge)
        )
        versions = {judge: recorded_version(connection, judge, now) for judge in judges}
        judgments = judgment_ids(
            connection, {version.id for version in versions.values()}, response_ids
        )
        results = recorded_reviews(connection, judgments.values())
        # The reviews that are new, by supreme judge.
        new: dict[RecordedJudge, list[NewJudgmentReview]] = {}
        for index, answer in answers.items():
            record = records[index]
            verdict = (
                versions[record.judge].id,
                answer.id,
                record.judgment_ask,
                record.judgment_repeat,
            )
            judgment_id, result = judgments.get(verdict), (record.step.status, record.correct)
            if locked[answer.id].answer is None:
                rows.refuse(
                    index,
                    "external_id",
                    "its answer is forgotten: reviews of its verdicts are not stored",
                )
            elif judgment_id is None:
                reason = f"no judgment of {record.external_id!r} by {record.judge.name}: import the verdicts first"
                rows.refuse(index, "judge", reason)
            elif (
                key := (versions[record.supreme_judge].id, judgment_id, record.ask)
            ) not in results:
                results[key] = result
                new.setdefault(record.supreme_judge, []).append(
                    NewJudgmentReview(
                        answer.id,
                        judgment_id,
                        record.ask,
                        record.correct,
                        record.step,
                        record.inclusion_probability,
                        record.reasoning,
                    )
                )
                rows.new.add(index)
            elif results[key] != result:
                reason = f"{record.supreme_judge.name} has another review of this verdict"
                rows.refuse(index, "correct", reason, differs=True)
        for supreme, reviews in new.items():
            version = versions[supreme]
            store_judgment_reviews(
                connection, version.id, self.run(connection, version, now), reviews, now
            )
        return rows.stored()

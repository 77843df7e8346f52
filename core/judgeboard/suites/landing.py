"""Stores the steps of a suite run: answers as responses of their own kind, verdicts, what came of each case."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection

from judgeboard.domain import Response, ResponseKind, Status
from judgeboard.judges.rubric_file import OVERALL
from judgeboard.store.engine import Store
from judgeboard.store.judgments.judge_versions import StoredVersion
from judgeboard.store.landing import LandedVerdict, land_judgments, land_responses
from judgeboard.store.runs.step_rows import step_columns
from judgeboard.store.suites.suite_rows import (
    LoggedAnswer,
    StoredSuiteRun,
    answers_by_query,
    finished_positions,
    insert_cases,
    insert_generations,
    judgment_ids,
    stored_answers,
)
from judgeboard.suites.candidates import Candidate
from judgeboard.suites.steps import Answered, CaseTask, Scored, SuiteStep
from judgeboard.suites.suite_file import Case, Suite


@dataclass(frozen=True, slots=True)
class SuiteLanding:
    """Where the steps of one suite run go, and what of it is still to do."""

    store: Store
    suite: Suite
    candidate: Candidate
    version: StoredVersion
    run: StoredSuiteRun

    def copy_logged(self, connection: Connection) -> None:
        """Store the log's answers to the cases as candidate's answers, made from those; say where there is none."""
        if self.candidate.source is None:
            return
        found = answers_by_query(connection, self.candidate.source, [case.query for case in self.suite.cases])
        copies = [self._copy(case, found[case.query]) for case in self.suite.cases if case.query in found]
        land_responses(connection, copies)
        absent = [
            {
                "position": position,
                "case_key": case.key,
                "reason": f"no answer to this query in the source {self.candidate.source}",
            }
            for position, case in enumerate(self.suite.cases)
            if case.query not in found
        ]
        insert_cases(connection, self.run.id, absent, datetime.now(UTC))

    def unfinished(self) -> list[CaseTask]:
        """Return the cases that are not done with, in order; what a forgotten answer belongs to is not asked again."""
        with self.store.reading() as connection:
            finished = finished_positions(connection, self.run.id)
            answers = stored_answers(connection, self._source, [self._external_id(case) for case in self.suite.cases])
        tasks = []
        for position, case in enumerate(self.suite.cases):
            if position in finished:
                continue
            stored = answers.get(self._external_id(case))
            if stored is None:
                tasks.append(CaseTask(position, case, passages=case.context))
            elif stored.answer is not None:
                tasks.append(CaseTask(position, case, stored.answer, stored.passages))
        return tasks

    def land(self, batch: Sequence[SuiteStep]) -> None:
        """Store steps as they came; a case that another process got to first is left as it was."""
        now = datetime.now(UTC)
        with self.store.writing() as connection:
            self._land_answers(connection, [step for step in batch if isinstance(step, Answered)], now)
            self._land_scores(connection, [step for step in batch if isinstance(step, Scored)], now)

    def _land_answers(self, connection: Connection, steps: Sequence[Answered], now: datetime) -> None:
        responses = [
            self._response(step.task, step.generated.text) for step in steps if step.generated.text is not None
        ]
        land_responses(connection, responses, now=now)
        ids = self._ids(connection, {one.external_id: one.answer for one in responses})
        failed = [step for step in steps if step.generated.text is None]
        insert_generations(
            connection,
            [
                {
                    **step_columns(step.generated.record, self.run.run_id, now),
                    "subject": step.task.case.key,
                    "number": 1,
                    "model": self.candidate.model,
                    "response_id": ids.get(self._external_id(step.task.case)),
                }
                for step in steps
            ],
        )
        insert_cases(
            connection,
            self.run.id,
            [_case(step.task, reason=f"no answer: {step.status.value}") for step in failed],
            now,
        )

    def _land_scores(self, connection: Connection, steps: Sequence[Scored], now: datetime) -> None:
        ids = self._ids(connection, {self._external_id(step.task.case): step.answer for step in steps})
        kept = [(step, ids[key]) for step in steps if (key := self._external_id(step.task.case)) in ids]
        verdicts = [LandedVerdict(response_id, 0, 0, step.verdict) for step, response_id in kept]
        land_judgments(connection, self.version, self.run.run_id, verdicts, now)
        judged = judgment_ids(connection, self.version.id, list(ids.values()))
        rows = [_scored(step, response_id, judged.get(response_id)) for step, response_id in kept]
        insert_cases(connection, self.run.id, rows, now)

    def _ids(self, connection: Connection, answers: Mapping[str, str]) -> dict[str, int]:
        """Return the responses that hold these answers, by outside id.

        One that another process's answer took the place of is not stored, and no verdict on it is kept.
        """
        stored = stored_answers(connection, self._source, list(answers))
        return {name: one.id for name, one in stored.items() if one.answer == answers[name]}

    @property
    def _source(self) -> str:
        return f"suite:{self.suite.name}"

    def _external_id(self, case: Case) -> str:
        return f"suite{self.run.run_id}/{case.id}"

    def _response(self, task: CaseTask, answer: str) -> Response:
        case = task.case
        return Response(
            source=self._source,
            external_id=self._external_id(case),
            query=case.query,
            answer=answer,
            passages=task.passages,
            reference=case.reference,
            generator_model=self.candidate.model,
            metadata={"suite": self.suite.name, "case": case.id},
            kind=ResponseKind.CANDIDATE,
        )

    def _copy(self, case: Case, logged: LoggedAnswer) -> Response:
        return Response(
            source=self._source,
            external_id=self._external_id(case),
            query=case.query,
            answer=logged.answer,
            passages=logged.passages if case.context is None else case.context,
            reference=case.reference,
            generator_model=logged.generator_model,
            metadata={"suite": self.suite.name, "case": case.id},
            kind=ResponseKind.CANDIDATE,
            derived_from=logged.id,
        )


def _scored(step: Scored, response_id: int, judgment_id: int | None) -> dict[str, Any]:
    overall = next((score.value for score in step.verdict.scores if score.dimension == OVERALL), None)
    reason: str | None = None
    if step.status is not Status.OK:
        reason = f"no score: {step.status.value}"
    elif overall is None:
        reason = "no score: the judge gives no overall score"
    row = _case(step.task, reason=reason)
    checks = [check.of(step.answer).as_json() for check in step.task.case.checks]
    return row | {"response_id": response_id, "judgment_id": judgment_id, "score": overall, "checks": checks}


def _case(task: CaseTask, *, reason: str | None) -> dict[str, Any]:
    return {
        "position": task.position,
        "case_key": task.case.key,
        "response_id": None,
        "judgment_id": None,
        "checks": None,
        "score": None,
        "reason": reason,
    }

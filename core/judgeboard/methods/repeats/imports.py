"""Imports several scores that a judge gave an answer."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from sqlalchemy import Connection

from judgeboard.domain import (
    RECORDED,
    DimensionScore,
    JudgeVersion,
    Response,
    ResponseKind,
    Status,
    Verdict,
)
from judgeboard.imports import known_names
from judgeboard.imports.fields import MAX_ID, Cells, ColumnNames, Unusable, json_text, metadata_in
from judgeboard.imports.kinds import RowOutcomes, Stored
from judgeboard.imports.recorded import ListImport, listed
from judgeboard.imports.scales import SCORE, scale_in
from judgeboard.store.judge_versions import ensure_version
from judgeboard.store.judgments import NewJudgment, recorded_scores
from judgeboard.store.storing import store_judgments, store_responses


@dataclass(frozen=True, slots=True)
class ImportedRepeats:
    """One answer that a judge scored several times by one rubric. None is a repeat without a usable score."""

    response: Response
    judge: str
    rubric: str
    scale: str
    scores: tuple[float | None, ...]
    raws: tuple[str | None, ...]


class RepeatImport(ListImport[ImportedRepeats]):
    """Answers with repeated scores. Each score becomes a judgment; each rubric and scale has its own judge version.

    A null in ``samples`` is a repeat without a usable score. The answers are stored as candidates.
    """

    columns: ClassVar[ColumnNames] = {
        "external_id": ("external_id", "id", "response_id", "record_id", "sample_id", "uuid"),
        "source": ("source",),
        "question": known_names.QUESTION,
        "answer": known_names.ANSWER,
        "reference": known_names.REFERENCE,
        "query_type": known_names.QUERY_TYPE_OF_PAIR,
        "generator_model": ("generator_model", "answer_model", "generator"),
        "judge": known_names.MODEL_AS_JUDGE,
        "rubric": ("rubric", "score_rubric", "criteria"),
        "scale": ("scale",),
        "samples": ("samples", "scores"),
        "raw": (*known_names.RAW, "feedbacks"),
        "metadata": known_names.METADATA,
    }
    needed = ("external_id", "question", "answer", "judge", "rubric", "scale", "samples")
    left_over = "kept in metadata"
    brings_answers = True

    def build(self, cells: Cells) -> ImportedRepeats:
        """Return the answer of a row with the scores."""
        scale = scale_in("scale", cells.required_text("scale"))
        scores = listed(
            cells,
            "samples",
            lambda value: None if value is None else scale.checked("samples", value),
        )
        if not scores:
            raise Unusable(
                "samples",
                "no samples: give a list of scores, with null for a score that could not be read",
            )
        response = Response(
            source=cells.name("source") or self.source or "",
            external_id=cells.required_name("external_id", MAX_ID),
            query=cells.required_text("question"),
            answer=cells.required_text("answer"),
            query_type=cells.name("query_type") or "unspecified",
            generator_model=cells.name("generator_model"),
            reference=cells.text("reference"),
            metadata=metadata_in(cells),
            kind=ResponseKind.CANDIDATE,
        )
        judge, rubric = cells.required_name("judge"), cells.required_text("rubric")
        raws = self.beside(cells, "raw", json_text, len(scores)) or [None] * len(scores)
        if not self.seen.add(f"{response.source}\0{response.external_id}\0{judge}\0{rubric}"):
            raise Unusable(
                "external_id",
                f"{judge} has scored {response.external_id!r} on this rubric in an earlier row of this file",
            )
        return ImportedRepeats(response, judge, rubric, str(scale), tuple(scores), tuple(raws))

    def store(
        self, connection: Connection, records: Sequence[ImportedRepeats], now: datetime
    ) -> Stored:
        """Store what is new. Reject a row if the stored answer, or the stored score of a repeat, differs."""
        rows = RowOutcomes(len(records))
        responses = [record.response for record in records]
        outcome = store_responses(connection, responses, self.batch_id, now)
        for index in outcome.differing:
            reason = f"{responses[index].external_id!r} is stored with other content"
            rows.refuse(index, "external_id", reason, differs=True)
        new = set(outcome.new)
        by_judge: dict[tuple[str, str, str], dict[int, int]] = {}
        for index, record in enumerate(records):
            if index in rows.problems:
                continue
            response_id = outcome.ids[index]
            by_judge.setdefault((record.judge, record.rubric, record.scale), {})[index] = (
                response_id
            )
            if response_id in new:
                new.remove(response_id)
                rows.new.add(index)
        for (judge, rubric, scale), response_ids in by_judge.items():
            # The rubric and the scale are part of the judge version.
            judge_version = JudgeVersion(judge, RECORDED, judge, {"scale": scale}, rubric, scale)
            version = ensure_version(connection, judge_version, now)
            scores = recorded_scores(connection, version.id, response_ids.values())
            judgments: list[NewJudgment] = []
            for index, response_id in response_ids.items():
                judgments += _new_judgments(
                    records[index], response_id, scores, version.name, index, rows
                )
            if judgments:
                store_judgments(
                    connection, version, self.run(connection, version, now), judgments, now
                )
        return rows.stored()


def _new_judgments(
    record: ImportedRepeats,
    response_id: int,
    scores: Mapping[tuple[int, int], Mapping[str, float | None]],
    judge: str,
    index: int,
    rows: RowOutcomes,
) -> Iterator[NewJudgment]:
    for repeat, value in enumerate(record.scores):
        stored_score = scores.get((response_id, repeat))
        if stored_score is None:
            rows.new.add(index)
            raw = record.raws[repeat]
            if value is None:
                verdict = Verdict(Status.UNPARSABLE, raw=raw)
            else:
                score = DimensionScore(SCORE, value, record.scale)
                verdict = Verdict(Status.OK, raw=raw, scores=(score,))
            yield NewJudgment(response_id, 0, repeat, verdict)
        elif stored_score != ({} if value is None else {SCORE: value}):
            reason = f"{judge} has another score in repeat {repeat + 1} of this answer"
            rows.refuse(index, "samples", reason, differs=True)

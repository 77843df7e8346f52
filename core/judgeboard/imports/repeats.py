"""Answers that a judge scored several times by a rubric."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from sqlalchemy import Connection

from judgeboard.domain import RECORDED, DimensionScore, JudgeVersion, Response, ResponseKind, Status, Verdict
from judgeboard.imports.fields import (
    ANSWER,
    MAX_ID,
    METADATA,
    MODEL_AS_JUDGE,
    QUERY_TYPE_OF_PAIR,
    QUESTION,
    RAW,
    REFERENCE,
    Cells,
    ColumnNames,
    Unusable,
    metadata_in,
    raw_text,
)
from judgeboard.imports.kinds import RowOutcomes, Stored
from judgeboard.imports.recorded import RecordedImport
from judgeboard.imports.samples import listed
from judgeboard.imports.scales import SCORE, scale_in
from judgeboard.store.judge_versions import ensure_version
from judgeboard.store.judgments import NewJudgment, recorded_scores
from judgeboard.store.responses import find_responses, key_of
from judgeboard.store.storing import store_judgments, store_responses


@dataclass(frozen=True, slots=True)
class ImportedRepeats:
    """One answer that a judge scored several times by one rubric; a score None is a repeat without a usable one."""

    response: Response
    judge: str
    rubric: str
    scale: str
    scores: tuple[float | None, ...]
    raws: tuple[str | None, ...]


class RepeatImport(RecordedImport[ImportedRepeats]):
    """Answers as candidates, and each score as a judgment of its repeat, by one judge version per rubric.

    A null among the scores is a repeat without a usable one.
    """

    columns: ClassVar[ColumnNames] = {
        "external_id": ("external_id", "id", "response_id", "record_id", "sample_id", "uuid"),
        "source": ("source",),
        "question": QUESTION,
        "answer": ANSWER,
        "reference": REFERENCE,
        "query_type": QUERY_TYPE_OF_PAIR,
        "generator_model": ("generator_model", "answer_model", "generator"),
        "judge": MODEL_AS_JUDGE,
        "rubric": ("rubric", "score_rubric", "criteria"),
        "scale": ("scale",),
        "samples": ("samples", "scores"),
        "raw": (*RAW, "feedbacks"),
        "metadata": METADATA,
    }
    needed = ("external_id", "question", "answer", "judge", "rubric", "scale", "samples")
    left_over = "kept in metadata"
    brings_answers = True

    def build(self, cells: Cells) -> ImportedRepeats:
        """Return the answer of a row with its scores."""
        scale = scale_in("scale", cells.required_text("scale"))
        scores = listed(cells, "samples", lambda value: None if value is None else scale.checked("samples", value))
        if not scores:
            raise Unusable("samples", "no samples: give a list of scores, null for one that could not be read")
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
        raws = listed(cells, "raw", raw_text, len(scores)) or [None] * len(scores)
        if not self.seen.add(f"{response.source}\0{response.external_id}\0{judge}\0{rubric}"):
            raise Unusable(
                "external_id",
                f"{judge} has scored {response.external_id!r} on this rubric in an earlier row of this file",
            )
        return ImportedRepeats(response, judge, rubric, str(scale), tuple(scores), tuple(raws))

    def store(self, connection: Connection, records: Sequence[ImportedRepeats], now: datetime) -> Stored:
        """Store what is new; an answer with other content, or another score in the same repeat, is rejected."""
        rows = RowOutcomes(len(records))
        responses = [record.response for record in records]
        stored = store_responses(connection, responses, self.batch_id, now)
        for index in stored.differing:
            reason = f"{responses[index].external_id!r} is stored with other content"
            rows.refuse(index, "external_id", reason, differs=True)
        known = find_responses(connection, [key_of(response) for response in responses])
        new = set(stored.new)
        by_judge: dict[tuple[str, str, str], dict[int, int]] = {}
        for index, record in enumerate(records):
            if index in rows.problems:
                continue
            response_id = known[key_of(record.response)].id
            by_judge.setdefault((record.judge, record.rubric, record.scale), {})[index] = response_id
            if response_id in new:
                new.remove(response_id)
                rows.new.add(index)
        for (judge, rubric, scale), response_ids in by_judge.items():
            # The judge as it judged: by this rubric on this scale.
            judge_version = JudgeVersion(judge, RECORDED, judge, {"scale": scale}, rubric, scale)
            version = ensure_version(connection, judge_version, now)
            scores = recorded_scores(connection, version.id, response_ids.values())
            judgments: list[NewJudgment] = []
            for index, response_id in response_ids.items():
                judgments += _new_judgments(records[index], response_id, scores, version.name, index, rows)
            if judgments:
                store_judgments(connection, version, self.run(connection, version, now), judgments, now)
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
            yield NewJudgment(response_id, 0, repeat, _verdict(record, repeat))
        elif stored_score != ({} if value is None else {SCORE: value}):
            reason = f"{judge} has another score in repeat {repeat + 1} of this answer"
            rows.refuse(index, "samples", reason, differs=True)


def _verdict(record: ImportedRepeats, repeat: int) -> Verdict:
    value, raw = record.scores[repeat], record.raws[repeat]
    if value is None:
        return Verdict(Status.UNPARSABLE, raw=raw)
    return Verdict(Status.OK, raw=raw, scores=(DimensionScore(SCORE, value, record.scale),))

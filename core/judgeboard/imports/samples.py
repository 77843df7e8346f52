"""Repeated results: several answers of a model to one question, or several scores of a judge for one answer."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, ClassVar, TypeVar

from sqlalchemy import Connection

from judgeboard.domain import (
    OVERALL,
    RECORDED,
    DimensionScore,
    JudgeVersion,
    Pair,
    Response,
    ResponseKind,
    Shown,
    Status,
    StepRecord,
    Verdict,
)
from judgeboard.formats.jsonl import json_kind
from judgeboard.imports import known_names
from judgeboard.imports.fields import MAX_ID, Cells, ColumnNames, Unusable, json_text, metadata_in
from judgeboard.imports.kinds import RowOutcomes, Stored
from judgeboard.imports.pairs import PAIR_COLUMNS, import_pairs, pair_in
from judgeboard.imports.preferences import preference_word
from judgeboard.imports.recorded import RecordedImport, RecordedJudge, recorded_version, store_recorded
from judgeboard.imports.scales import SCORE, scale_in
from judgeboard.store.comparisons import NewComparison
from judgeboard.store.judge_versions import ensure_version
from judgeboard.store.judgments import NewJudgment, recorded_scores
from judgeboard.store.samples import NewSample, SampleKey, StoredSample, store_samples, stored_samples
from judgeboard.store.storing import store_judgments, store_responses
from judgeboard.text import counted

Value = TypeVar("Value")
Item = TypeVar("Item")
_CONDITIONS = {"A": "plain", "B": "reference"}
NO_NAME = "recorded samples"


@dataclass(frozen=True, slots=True)
class ImportedSamples:
    """A model's sampled answers to a question, and its comparisons of the pair. Their ``pair_id`` is still 0."""

    pair: Pair
    judge: RecordedJudge
    tries: tuple[NewSample, ...]
    comparisons: tuple[NewComparison, ...] = ()


class ListImport(RecordedImport[Value]):
    """Rows with a list of samples, and further lists beside it, with one item for each sample."""

    def __init__(self, source: str | None, actor: str = "library") -> None:
        super().__init__(source, actor)
        self._other_length: Counter[str] = Counter()

    def messages(self) -> Iterator[str]:
        """Yield the columns that are left out because the length of their list differs from that of the samples."""
        for column, rows in self._other_length.items():
            left_out = f"{column!r} is left out in {counted(rows, 'row')}"
            yield f"{left_out}: the length of its list differs from that of the samples"

    def beside(self, cells: Cells, field: str, read: Callable[[Any], Item], length: int) -> list[Item] | None:
        """Return a list beside the samples; None if it is absent, or if it has another length, which is counted."""
        values = listed(cells, field, read)
        if values is not None and len(values) != length:
            self._other_length[cells.taken.get(field, field)] += 1
            return None
        return values


class SampleImport(ListImport[ImportedSamples]):
    """Sampled answers and their model's comparisons, with one judge version and one run per model and file.

    A null in ``samples`` is a sample without a readable answer. ``correct`` tells which samples are right. ``verdicts``
    has the model's preferences in both orders for the conditions A (no reference) and B (always its own answer as
    reference). A null in ``verdicts`` is a comparison without a usable verdict.
    """

    columns: ClassVar[ColumnNames] = {
        **PAIR_COLUMNS,
        "judge": known_names.MODEL_AS_JUDGE,
        "judge_version": known_names.JUDGE_VERSION,
        "samples": ("samples", "sampled_answers"),
        "correct": ("correct", "is_correct"),
        "models": ("models",),
        "statuses": ("statuses",),
        "raw": known_names.RAW,
        "verdicts": ("verdicts",),
    }
    needed = ("external_id", "question", "samples")
    left_over = "kept with the question"
    brings_answers = True

    def build(self, cells: Cells) -> ImportedSamples:
        """Return the question and the sampled answers of a row."""
        judge = RecordedJudge(cells.name("judge") or NO_NAME, cells.name("judge_version"))
        pair, samples = pair_in(cells, self.source or "", answers=False), self._samples(cells)
        return ImportedSamples(pair, judge, samples, _comparisons(cells))

    def _samples(self, cells: Cells) -> tuple[NewSample, ...]:
        answers = listed(cells, "samples", _answer)
        if not answers:
            raise Unusable(
                "samples", "no samples: give a list of answers, with null for an answer that could not be read"
            )
        n = len(answers)
        named = self.beside(cells, "models", lambda value: value if isinstance(value, str) else None, n)
        models = named or [None] * n
        rights = self.beside(cells, "correct", _correct, n) or [None] * n
        raws = self.beside(cells, "raw", json_text, n) or [None] * n
        listed_statuses = self.beside(cells, "statuses", _status, n)
        statuses = listed_statuses or [Status.UNPARSABLE if answer is None else Status.OK for answer in answers]
        if any(
            answer is not None and status is not Status.OK for answer, status in zip(answers, statuses, strict=True)
        ):
            raise Unusable("statuses", "only a sample with the status ok has an answer")
        return tuple(
            NewSample(0, number, answer, StepRecord(status, raw=raw, model_reported=model), correct=right)
            for number, (answer, model, raw, status, right) in enumerate(
                zip(answers, models, raws, statuses, rights, strict=True)
            )
        )

    def store(self, connection: Connection, records: Sequence[ImportedSamples], now: datetime) -> Stored:
        """Store what is new. Reject a row if the stored answer of a sample differs."""
        rows = RowOutcomes(len(records))
        ids = import_pairs(connection, [record.pair for record in records], self.batch_id, now, rows)
        by_judge: dict[RecordedJudge, dict[int, int]] = {}
        for index, (record, pair_id) in enumerate(zip(records, ids, strict=True)):
            if pair_id is not None:
                by_judge.setdefault(record.judge, {})[index] = pair_id
        for judge, pair_ids in by_judge.items():
            version = recorded_version(connection, judge, now)
            known = stored_samples(connection, version.id, pair_ids.values())
            new: list[NewSample] = []
            for index, pair_id in pair_ids.items():
                for sample in records[index].tries:
                    key = SampleKey(pair_id, sample.number)
                    if key not in known:
                        known[key] = StoredSample(sample.answer, sample.record.status.value, correct=sample.correct)
                        new.append(replace(sample, pair_id=pair_id))
                        rows.new.add(index)
                    elif not _equals(known[key], sample):
                        reason = f"{version.name} already has a different answer as sample {sample.number + 1}"
                        rows.refuse(index, "samples", reason, differs=True)
            if new:
                store_samples(connection, version, self.run(connection, version, now), new, now)
            comparisons = {
                index: [replace(each, pair_id=pair_id) for each in records[index].comparisons]
                for index, pair_id in pair_ids.items()
            }
            store_recorded(connection, version, self, comparisons, rows, now)
        return rows.stored()


def listed(cells: Cells, field: str, read: Callable[[Any], Item]) -> list[Item] | None:
    """Return a list of the results of ``read`` for its items; None if the list is absent."""
    value = cells.json(field)
    if value is None:
        return None
    if not isinstance(value, list):
        raise Unusable(field, f"expected a list, found {json_kind(value)}")
    return [read(item) for item in value]


def _answer(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value:g}" if isinstance(value, float) else str(value)
    raise Unusable("samples", f"expected an answer or null, found {json_kind(value)}")


def _correct(value: Any) -> bool | None:
    if value is None or value in (0, 1):  # JSON has true and false, tables have 1 and 0
        return None if value is None else bool(value)
    raise Unusable("correct", f"expected true, false or null, found {json_kind(value)}")


def _status(value: Any) -> Status:
    if value not in set(Status):
        raise Unusable("statuses", f"{str(value)[:60]!r} is not one of {', '.join(Status)}")
    return Status(value)


def _comparisons(cells: Cells) -> tuple[NewComparison, ...]:
    by_condition = cells.json("verdicts")
    if by_condition is None:
        return ()
    if not isinstance(by_condition, dict) or not by_condition.keys() <= _CONDITIONS.keys():
        raise Unusable("verdicts", "not an object with the conditions A and B")
    comparisons = []
    for name, orders in by_condition.items():
        if orders is None:
            continue
        if not isinstance(orders, dict) or not orders.keys() <= set(Shown):
            raise Unusable("verdicts", f"{name} is not an object with the orders ab and ba")
        for shown in Shown:
            verdict = orders.get(shown)
            preferences = {} if verdict is None else {OVERALL: preference_word("verdicts", verdict)}
            step = StepRecord(Status.OK if preferences else Status.UNPARSABLE)
            comparisons.append(NewComparison(0, shown, step, preferences, condition=_CONDITIONS[name]))
    return tuple(comparisons)


def _equals(stored: StoredSample, sample: NewSample) -> bool:
    forgotten = stored.answer is None and stored.status == Status.OK
    same_answer = forgotten or stored.answer == sample.answer
    same_right = None in {stored.correct, sample.correct} or stored.correct == sample.correct
    return stored.status == sample.record.status and same_answer and same_right


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
        """Return the answer of a row with its scores."""
        scale = scale_in("scale", cells.required_text("scale"))
        scores = listed(cells, "samples", lambda value: None if value is None else scale.checked("samples", value))
        if not scores:
            raise Unusable("samples", "no samples: give a list of scores, with null for a score that could not be read")
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

    def store(self, connection: Connection, records: Sequence[ImportedRepeats], now: datetime) -> Stored:
        """Store what is new. Reject a row if the stored answer, or the stored score of a repeat, differs."""
        rows = RowOutcomes(len(records))
        responses = [record.response for record in records]
        stored = store_responses(connection, responses, self.batch_id, now)
        for index in stored.differing:
            reason = f"{responses[index].external_id!r} is stored with other content"
            rows.refuse(index, "external_id", reason, differs=True)
        new = set(stored.new)
        by_judge: dict[tuple[str, str, str], dict[int, int]] = {}
        for index, record in enumerate(records):
            if index in rows.problems:
                continue
            response_id = stored.ids[index]
            by_judge.setdefault((record.judge, record.rubric, record.scale), {})[index] = response_id
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

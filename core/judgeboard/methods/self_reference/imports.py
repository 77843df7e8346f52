"""Imports questions with several answers of a model, and the model's comparisons of two other answers."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, ClassVar

from sqlalchemy import Connection

from judgeboard.domain import OVERALL, Pair, Shown, Status, StepRecord
from judgeboard.formats.jsonl import json_kind
from judgeboard.imports import known_names
from judgeboard.imports.fields import Cells, ColumnNames, Unusable, json_text
from judgeboard.imports.kinds import RowOutcomes, Stored
from judgeboard.imports.pairs import PAIR_COLUMNS, import_pairs, pair_in
from judgeboard.imports.preferences import preference_word
from judgeboard.imports.recorded import (
    ListImport,
    RecordedJudge,
    listed,
    recorded_version,
    store_recorded,
)
from judgeboard.methods.self_reference.queries import (
    NewSample,
    StoredSample,
    store_samples,
    stored_samples,
)
from judgeboard.store.comparisons import NewComparison

_CONDITIONS = {"A": "plain", "B": "reference"}
NO_NAME = "recorded samples"


@dataclass(frozen=True, slots=True)
class ImportedSamples:
    """A model's sampled answers to a question, and the comparisons of the pair, all with ``pair_id`` 0 so far."""

    pair: Pair
    judge: RecordedJudge
    tries: tuple[NewSample, ...]
    comparisons: tuple[NewComparison, ...] = ()


class SampleImport(ListImport[ImportedSamples]):
    """Sampled answers and comparisons of a model, with one judge version and one run per model and file.

    A null in ``samples`` is a sample without a readable answer. ``correct`` tells which samples are
    right. ``verdicts`` has the model's preferences in both orders for the conditions A (no
    reference) and B (always the model's own answer as reference). A null in ``verdicts`` is a
    comparison without a usable verdict.
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
        # The comparisons: a verdict for each condition and order.
        by_condition = cells.json("verdicts")
        if by_condition is None:
            by_condition = {}
        if not isinstance(by_condition, dict) or not by_condition.keys() <= _CONDITIONS.keys():
            raise Unusable("verdicts", "not an object with the conditions A and B")
        comparisons = []
        for name, orders in by_condition.items():
            if orders is None:
                continue
            if not isinstance(orders, dict) or not orders.keys() <= set(Shown):
                raise Unusable("verdicts", f"{name} is not an object with the orders ab and ba")
            for order in Shown:
                verdict = orders.get(order)
                preferences = (
                    {} if verdict is None else {OVERALL: preference_word("verdicts", verdict)}
                )
                step = StepRecord(Status.OK if preferences else Status.UNPARSABLE)
                comparisons.append(
                    NewComparison(0, order, step, preferences, condition=_CONDITIONS[name])
                )
        return ImportedSamples(pair, judge, samples, tuple(comparisons))

    def _samples(self, cells: Cells) -> tuple[NewSample, ...]:
        answers = listed(cells, "samples", _answer)
        if not answers:
            raise Unusable(
                "samples",
                "no samples: give a list of answers, with null for an answer that could not be read",
            )
        n = len(answers)
        model_names = self.beside(
            cells, "models", lambda value: value if isinstance(value, str) else None, n
        )
        models = model_names or [None] * n
        rights = self.beside(cells, "correct", _correct, n) or [None] * n
        raws = self.beside(cells, "raw", json_text, n) or [None] * n
        listed_statuses = self.beside(cells, "statuses", _status, n)
        statuses = listed_statuses or [
            Status.UNPARSABLE if answer is None else Status.OK for answer in answers
        ]
        if any(
            answer is not None and status is not Status.OK
            for answer, status in zip(answers, statuses, strict=True)
        ):
            raise Unusable("statuses", "only a sample with the status ok has an answer")
        return tuple(
            NewSample(
                0, number, answer, StepRecord(status, raw=raw, model_reported=model), correct=right
            )
            for number, (answer, model, raw, status, right) in enumerate(
                zip(answers, models, raws, statuses, rights, strict=True)
            )
        )

    def store(
        self, connection: Connection, records: Sequence[ImportedSamples], now: datetime
    ) -> Stored:
        """Store what is new. Reject a row if the stored answer of a sample differs."""
        rows = RowOutcomes(len(records))
        ids = import_pairs(
            connection, [record.pair for record in records], self.batch_id, now, rows
        )
        by_judge: dict[RecordedJudge, dict[int, int]] = {}
        for index, (record, pair_id) in enumerate(zip(records, ids, strict=True)):
            if pair_id is not None:
                by_judge.setdefault(record.judge, {})[index] = pair_id
        for judge, pair_ids in by_judge.items():
            version = recorded_version(connection, judge, now)
            samples = stored_samples(connection, version.id, pair_ids.values())
            new: list[NewSample] = []
            for index, pair_id in pair_ids.items():
                by_number = samples.setdefault(pair_id, {})
                for sample in records[index].tries:
                    earlier = by_number.get(sample.number)
                    if earlier is None:
                        by_number[sample.number] = StoredSample(
                            sample.answer, sample.record.status.value, correct=sample.correct
                        )
                        new.append(replace(sample, pair_id=pair_id))
                        rows.new.add(index)
                    elif not _equals(earlier, sample):
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


def _equals(earlier: StoredSample, sample: NewSample) -> bool:
    is_forgotten = earlier.answer is None and earlier.status == Status.OK
    same_answer = is_forgotten or earlier.answer == sample.answer
    same_right = None in {earlier.correct, sample.correct} or earlier.correct == sample.correct
    return earlier.status == sample.record.status and same_answer and same_right

"""Verdicts that were recorded elsewhere, the judge versions, runs and comparisons to store them, and lists in a row."""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, ClassVar, TypeVar

from sqlalchemy import Connection

from judgeboard.domain import (
    RECORDED,
    Claim,
    ClaimStatus,
    DimensionScore,
    Label,
    Preference,
    RunState,
    Status,
    Verdict,
    checked_quality,
)
from judgeboard.errors import BadInput
from judgeboard.formats.jsonl import json_kind
from judgeboard.imports import known_names
from judgeboard.imports.fields import (
    MAX_ID,
    OWN_EXPORT_ONLY,
    Cells,
    ColumnNames,
    Unusable,
    checked,
    json_text,
)
from judgeboard.imports.kinds import ImportKind, Record, RowOutcomes, Stored
from judgeboard.imports.labels import label_set_field, no_option
from judgeboard.imports.scales import groundedness_in, own_scale, scores_in
from judgeboard.judges.judge import replay_version
from judgeboard.judges.rag import located
from judgeboard.store.comparisons import (
    ComparisonKey,
    NewComparison,
    add_aspects,
    key_of,
    store_comparisons,
    stored_comparisons,
)
from judgeboard.store.judge_versions import (
    ensure_version,
    find_version,
    refuse_retired,
)
from judgeboard.store.judgments import NewJudgment, RecordedVerdict, recorded_verdicts
from judgeboard.store.pairs import sides_named
from judgeboard.store.responses import Named, judge_inputs
from judgeboard.store.runs import (
    IMPORT,
    RECEIVED,
    finish_run,
    is_run_of,
    run_of_today,
    start_import_run,
)
from judgeboard.store.storing import JudgmentsOfVersion, store_judgments_of_versions
from judgeboard.store.tables import StoredVersion
from judgeboard.text import counted


@dataclass(frozen=True, slots=True)
class RecordedJudge:
    """A judge named in a file. ``version`` is its fingerprint in exports of Judgeboard, elsewhere any text."""

    name: str
    version: str | None = None
    model: str | None = None


def recorded_version(connection: Connection, judge: RecordedJudge, now: datetime) -> StoredVersion:
    """Return the stored version with the judge's fingerprint.

    If there is none, return the version of the judge's name and model.
    """
    version = None if judge.version is None else find_version(connection, judge.version)
    new_version = replay_version(judge.name, model=judge.model, recorded=judge.version)
    return version or ensure_version(connection, new_version, now)


class RecordedImport(ImportKind[Record]):
    """Imports records of judges. Each judge version in a file has one run, which the first new record starts.

    Without a file, records come one by one, and each judge version has one run a day.
    """

    def run(self, connection: Connection, version: StoredVersion, now: datetime) -> int:
        """Return the run of a judge version."""
        if self.batch_id is None:
            return run_of_today(connection, IMPORT, version, RECEIVED, actor=self.actor, now=now).id
        run_id = self.runs.get(version.id)
        # The run no longer exists if the batch was rolled back (a dry run, or a batch with nothing
        # new).
        if run_id is None or not is_run_of(connection, run_id, version.id):
            run_id = self.runs[version.id] = start_import_run(
                connection, version, self.actor, now, import_batch_id=self.batch_id
            ).id
        return run_id

    def finish(self, connection: Connection, now: datetime) -> int:
        """Mark the runs as done."""
        for version_id, run_id in self.runs.items():
            if is_run_of(connection, run_id, version_id):
                finish_run(connection, run_id, RunState.DONE, now=now)
        return 0


def store_recorded(
    connection: Connection,
    version: StoredVersion,
    kind: RecordedImport[Any],
    comparisons: Mapping[int, list[NewComparison]],
    rows: RowOutcomes,
    now: datetime,
) -> None:
    """Store the comparisons of one judge version. ``comparisons`` has a list by the index of the row.

    A stored verdict stays unchanged. Verdicts on further aspects are added. A contradicting row is
    rejected.
    """
    pair_ids = {item.pair_id for items in comparisons.values() for item in items}
    comparisons_by_key = stored_comparisons(connection, version.id, pair_ids)
    statuses: dict[ComparisonKey, str] = {
        key: comparison.status for key, comparison in comparisons_by_key.items()
    }
    preferences = {
        key: {aspect: Preference(value) for aspect, value in comparison.preferences.items()}
        for key, comparison in comparisons_by_key.items()
    }
    new: dict[ComparisonKey, NewComparison] = {}
    further: dict[int, dict[str, Preference]] = {}

    def contradicts(item: NewComparison) -> bool:
        verdicts = preferences.get(key_of(item), {})
        return statuses.get(key_of(item), item.record.status) != item.record.status or any(
            verdicts.get(aspect, value) is not value for aspect, value in item.preferences.items()
        )

    for index, items in comparisons.items():
        if wrong := next(filter(contradicts, items), None):
            reason = f"{version.name} has another verdict on this pair in the order {wrong.shown}"
            rows.refuse(index, None, reason, differs=True)
            continue
        for item in items:
            key = key_of(item)
            stored_verdicts = preferences.setdefault(key, {})
            new_verdicts = {
                aspect: value
                for aspect, value in item.preferences.items()
                if aspect not in stored_verdicts
            }
            stored_verdicts |= new_verdicts
            if key not in statuses:
                statuses[key], new[key] = item.record.status, item
            elif not new_verdicts:
                continue
            elif key in comparisons_by_key:
                further.setdefault(comparisons_by_key[key].id, {}).update(new_verdicts)
            rows.new.add(index)
    if new:
        items = [replace(item, preferences=preferences[key]) for key, item in new.items()]
        store_comparisons(connection, version, kind.run(connection, version, now), items, now)
    add_aspects(connection, further)
    kind.aspects_added += len(further)


@dataclass(frozen=True, slots=True)
class ImportedVerdict:
    """A recorded verdict, with the external id of the response; ``word`` is the label in a label set.

    ``ask`` and ``repeat`` are numbers from 0, as in an export. Without an ``ask``, the verdict is
    the judge's first.
    """

    external_id: str
    judge: RecordedJudge
    verdict: Verdict
    source: str | None = None
    word: str | None = None
    ask: int | None = None
    repeat: int = 0


class VerdictImport(RecordedImport[ImportedVerdict]):
    """Recorded judgments, with one run per judge and file.

    In one file, a judge version can judge a response only once, unless the rows have different
    numbers ``ask`` (judged again later) and ``repeat`` (the same judge called again). With
    ``newer_counts``, a later row is a newer verdict.

    A verdict has a label, groundedness, quality or scores. A row without a verdict has a ``status``
    (unparsable, refused, error). A ``scale`` is the scale of all numbers of the row: groundedness
    is converted, and quality and the numbers in ``scores`` are scores on the scale.
    """

    columns: ClassVar[ColumnNames] = {
        "external_id": known_names.RESPONSE_ID,
        "source": ("source",),
        "judge": known_names.JUDGE,
        "judge_version": known_names.JUDGE_VERSION,
        "judge_model": ("judge_model", "evaluator_model"),
        "label": ("label", "verdict", "prediction", "predicted_label"),
        "groundedness": (
            "groundedness",
            "faithfulness",
            "groundedness_score",
            "faithfulness_score",
        ),
        "quality": ("quality", "quality_score"),
        "scores": ("scores", "dimensions"),
        "scale": ("scale",),
        "reasoning": known_names.REASONING,
        "claims": ("claims",),
        "raw": known_names.RAW,
        "status": ("status",),
        "error": known_names.ERROR,
        "ask": ("ask",),
        "repeat": ("repeat",),
    }
    needed = ("external_id", "judge")
    choices: ClassVar[Mapping[str, type[StrEnum]]] = {"label": Label, "status": Status}
    own_export_only = OWN_EXPORT_ONLY | {"ask", "repeat"}

    def build(self, cells: Cells) -> ImportedVerdict:
        """Return the verdict of a row."""
        response_id = cells.required_name("external_id", MAX_ID)
        judge = cells.required_name("judge")
        version, model = cells.name("judge_version"), cells.name("judge_model")
        status = cells.choice("status", Status) or Status.OK
        is_no_verdict = self.labels.label_set is None and self.labels.is_no_verdict(cells)
        label, word = (
            (None, None) if is_no_verdict else (self.labels.read(cells), self.labels.word(cells))
        )
        groundedness = groundedness_in(cells)
        scale = own_scale(cells)
        quality = None if scale else checked("quality", checked_quality, cells.number("quality"))
        scores = scores_in(cells, scale, "scores")
        has_verdict = bool(scores) or (label, word, groundedness, quality) != (
            None,
            None,
            None,
            None,
        )
        if is_no_verdict and not has_verdict and status is Status.OK:
            status = Status.UNPARSABLE
        ask, repeat = cells.whole_number("ask"), cells.whole_number("repeat")
        # A reply that could not be read may name dimensions without a value.
        has_value = any(score.value is not None for score in scores)
        has_value |= (label, word, groundedness, quality) != (None, None, None, None)
        if has_value and status is not Status.OK:
            raise Unusable("status", f"a row with a verdict cannot have the status {status}")
        if not has_verdict and status is Status.OK:
            raise Unusable(
                None, "no verdict: give label, groundedness or quality, or a status with the reason"
            )
        verdict = Verdict(
            status=status,
            groundedness=groundedness,
            quality=quality,
            label=label,
            reasoning=cells.text("reasoning"),
            claims=_claims(cells),
            raw=json_text(cells.get("raw")) or (str(cells.raw("label")) if is_no_verdict else None),
            error=cells.text("error"),
            scores=scores,
        )
        source = cells.name("source") or self.source
        number = () if ask is None and repeat is None else (str(ask or 0), str(repeat or 0))
        is_first = self.seen.add(
            "\0".join((source or "", response_id, judge, version or "", model or "", *number))
        )
        if not (is_first or self.newer_counts):
            raise Unusable(
                "external_id", f"{judge} has judged {response_id!r} in an earlier row of this file"
            )
        recorded_judge = RecordedJudge(judge, version, model)
        return ImportedVerdict(response_id, recorded_judge, verdict, source, word, ask, repeat or 0)

    def responses_named(
        self, connection: Connection, ids: Collection[str]
    ) -> dict[str, list[Named]]:
        """Return the responses with these external ids, also empty answers, which only a pair can have."""
        responses = super().responses_named(connection, ids)
        return responses | sides_named(connection, set(ids) - responses.keys())

    def store(
        self, connection: Connection, records: Sequence[ImportedVerdict], now: datetime
    ) -> Stored:
        """Store the verdicts on responses of logs and pairs. Reject a verdict that differs from the stored verdict."""
        rows = RowOutcomes(len(records))
        names = {index: (record.external_id, record.source) for index, record in enumerate(records)}
        responses = self.find_answers(connection, rows, names)
        words = {index: word for index in responses if (word := records[index].word) is not None}
        scores = self._scores(connection, words, rows, now)
        by_judge: dict[RecordedJudge, dict[int, int]] = {}
        for index in sorted(responses.keys() - rows.problems.keys()):
            by_judge.setdefault(records[index].judge, {})[index] = responses[index].id
        waiting: dict[int, JudgmentsOfVersion] = {}
        rows_of_version: dict[int, list[int]] = {}

        def store_waiting() -> None:
            counts = store_judgments_of_versions(connection, list(waiting.values()), now)
            # Another process may have stored some of the verdicts in the meantime.
            rows.new |= {
                index
                for count, version_id in zip(counts, waiting, strict=True)
                for index in rows_of_version[version_id][:count]
            }
            waiting.clear()

        for judge, response_ids in by_judge.items():
            version = recorded_version(connection, judge, now)
            if (
                version.id in waiting
            ):  # a version can have two names, and new verdicts are compared with stored ones
                store_waiting()
            # Without a batch, the verdicts were sent to a server, which takes only verdicts of recorded
            # judges under their own name.
            problem: tuple[str, str] | None = None
            if self.batch_id is None and version.name != judge.name:
                problem = (
                    "judge",
                    f"{judge.version} is a version of {version.name!r}, not of {judge.name!r}",
                )
            elif self.batch_id is None and version.kind != RECORDED:
                # Whoever may send answers could otherwise replace the verdicts of the server's own judges.
                problem = (
                    "judge_version",
                    f"this server runs {version.title} and takes no verdicts of it: send another judge_version",
                )
            if problem is not None:
                for index in response_ids:
                    rows.refuse(index, *problem)
                continue
            new = self._new(connection, version, response_ids, records, scores, rows)
            if new and self.batch_id is None:
                try:
                    refuse_retired(connection, version)
                except BadInput as error:
                    reason = f"{error}. Or send another judge_version"
                    for index in new:
                        rows.refuse(index, "judge_version", reason)
                    continue
            if new:
                run_id = self.run(connection, version, now)
                waiting[version.id] = JudgmentsOfVersion(version, run_id, [*new.values()])
                rows_of_version[version.id] = [*new]
        store_waiting()
        return rows.stored()

    def _new(
        self,
        connection: Connection,
        version: StoredVersion,
        response_ids: Mapping[int, int],
        records: Sequence[ImportedVerdict],
        scores: Mapping[int, DimensionScore],
        rows: RowOutcomes,
    ) -> dict[int, NewJudgment]:
        """Return the judgments of a version that are not stored yet, by row. Refuse rows with other stored verdicts."""
        verdicts = recorded_verdicts(connection, version.id, set(response_ids.values()))
        latest = {response_id: ask for response_id, ask, repeat in verdicts if repeat == 0}
        new: dict[int, NewJudgment] = {}
        with_claims = [id_ for index, id_ in response_ids.items() if records[index].verdict.claims]
        inputs = judge_inputs(connection, with_claims) if with_claims else {}
        for index, response_id in response_ids.items():
            verdict = records[index].verdict
            if index in scores:
                verdict = replace(verdict, scores=(*verdict.scores, scores[index]))
            if verdict.claims and (item := inputs.get(response_id)) is not None:
                claims = tuple(
                    located(claim, item.answer, item.passages) for claim in verdict.claims
                )
                verdict = replace(verdict, claims=claims)
            record = records[index]
            newest = latest.get(response_id, 0) if self.newer_counts else 0
            ask = newest if record.ask is None else record.ask
            stored_verdict = verdicts.get((response_id, ask, record.repeat))
            differs = stored_verdict is not None and not stored_verdict.equals(verdict)
            if stored_verdict is None or (differs and self.newer_counts):
                ask = latest.get(response_id, 0) + 1 if differs else ask
                new[index] = NewJudgment(response_id, ask, record.repeat, verdict)
                verdicts[response_id, ask, record.repeat] = RecordedVerdict(
                    verdict, forgotten=False
                )
                latest[response_id] = max(ask, latest.get(response_id, 0))
            elif differs:
                reason = f"{version.name} has another verdict on {record.external_id!r}"
                rows.refuse(index, "external_id", reason, differs=True)
        return new

    def _scores(
        self, connection: Connection, words: Mapping[int, str], rows: RowOutcomes, now: datetime
    ) -> dict[int, DimensionScore]:
        """Return the score of each row's word in the label set. Refuse rows whose word has no score."""
        if self.labels.label_set is None or not words:
            return {}
        field = label_set_field(connection, self.labels.label_set, words.values(), self.actor, now)
        numbers = {value: number for number, value in field.numbered.items()}
        scores = {}
        for index, word in words.items():
            if word in numbers:
                scores[index] = DimensionScore(
                    self.labels.label_set, numbers[word], f"1-{len(numbers)}"
                )
            else:
                rows.refuse(index, "label", no_option(self.labels.label_set, word))
        return scores


_QUOTES = ("answer_quote", "passage_quote")


def _claims(cells: Cells) -> tuple[Claim, ...] | None:
    """Return the claims of a row: objects with ``text``, ``status``, and quotes from the answer and a passage."""
    objects = cells.objects("claims")
    if objects is None:
        return None
    claims = []
    for number, each in enumerate(objects, start=1):
        texts = [
            each.get("text"),
            *(each.get(name) for name in _QUOTES if each.get(name) is not None),
        ]
        passage = each.get("passage")
        if not all(isinstance(text, str) for text in texts):
            raise Unusable("claims", f"claim {number} needs a text; quotes are texts too")
        if passage is not None and (isinstance(passage, bool) or not isinstance(passage, int)):
            raise Unusable("claims", f"claim {number}: the passage must be a number from 1")
        status = checked("claims", ClaimStatus, each.get("status"))
        claims.append(
            Claim(
                each["text"], status, each.get("answer_quote"), passage, each.get("passage_quote")
            )
        )
    return tuple(claims)


Value = TypeVar("Value")
Item = TypeVar("Item")


class ListImport(RecordedImport[Value]):
    """Rows with a list of samples, and further lists with one item for each sample."""

    def __init__(self, source: str | None, actor: str = "library") -> None:
        super().__init__(source, actor)
        self._other_length: Counter[str] = Counter()

    def messages(self) -> Iterator[str]:
        """Yield the columns that are left out because the list has another length than the samples."""
        for column, rows in self._other_length.items():
            left_out = f"{column!r} is left out in {counted(rows, 'row')}"
            yield f"{left_out}: the length of its list differs from that of the samples"

    def beside(
        self, cells: Cells, field: str, read: Callable[[Any], Item], length: int
    ) -> list[Item] | None:
        """Return a list beside the samples; None if absent.

        A list of another length counts as absent and is reported.
        """
        values = listed(cells, field, read)
        if values is not None and len(values) != length:
            self._other_length[cells.taken.get(field, field)] += 1
            return None
        return values


def listed(cells: Cells, field: str, read: Callable[[Any], Item]) -> list[Item] | None:
    """Return the results of ``read`` for the items of a list; None if the list is absent."""
    value = cells.json(field)
    if value is None:
        return None
    if not isinstance(value, list):
        raise Unusable(field, f"expected a list, found {json_kind(value)}")
    return [read(item) for item in value]

"""Pairs of answers with people's preferences and judges' verdicts, and files of verdicts on stored pairs."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from hashlib import blake2b
from typing import Any, ClassVar

from sqlalchemy import Connection

from judgeboard.domain import OVERALL, GivenPreference, Pair, Preference, Shown, Status, StepRecord
from judgeboard.formats.jsonl import json_kind
from judgeboard.imports import known_names
from judgeboard.imports.fields import (
    MAX_ID,
    Cells,
    ColumnNames,
    Unusable,
    json_text,
    metadata_in,
    simple_name,
)
from judgeboard.imports.kinds import RowOutcomes, Stored
from judgeboard.imports.preferences import (
    higher,
    human_in,
    list_or_object,
    preference_word,
    verdict_in,
)
from judgeboard.imports.recorded import (
    RecordedImport,
    RecordedJudge,
    recorded_version,
    store_recorded,
)
from judgeboard.store.comparisons import (
    NewComparison,
    key_of,
    store_comparisons,
    stored_comparisons,
)
from judgeboard.store.pairs import ids_of_pairs, pairs_named, store_pairs
from judgeboard.store.preferences import ImportedPreference, store_preferences


def _named(*words: str, places: str) -> tuple[str, ...]:
    """Return the usual names of columns of one answer, such as answer_a, answer_1 and answer1."""
    return tuple(
        f"{word}{mark}" for word in words for mark in (f"_{places[0]}", f"_{places[1]}", places[1])
    )


_ORDERS = {"verdict_order_ab": Shown.AB, "verdict_order_ba": Shown.BA}
_RAWS = {"raw_ab": Shown.AB, "raw_ba": Shown.BA}
_OF_JUDGE = {*_ORDERS, *_RAWS, "raw", "winner", "score_a", "score_b"}
PAIR_COLUMNS: ColumnNames = {
    "external_id": (
        "external_id",
        "pair_id",
        "id",
        "item_id",
        "question_id",
        "record_id",
        "sample_id",
        "uuid",
    ),
    "source": ("source",),
    "question": known_names.QUESTION,
    "options": ("options", "choices"),
    "answer_a": (
        *_named("answer", "output", "completion", "candidate", "text", places="a1"),
        "response_1",
        "response1",
        "response_a",
        "chosen",
    ),
    "answer_b": (
        *_named("answer", "output", "completion", "candidate", "text", places="b2"),
        "response_2",
        "response2",
        "response_b",
        "rejected",
    ),
    "query_type": known_names.QUERY_TYPE_OF_PAIR,
    "reference": known_names.REFERENCE,
    "model_a": (*_named("model", "generator", places="a1"), "chosen_model"),
    "model_b": (*_named("model", "generator", places="b2"), "rejected_model"),
    "response_a": ("response_a", "response_id_a", "response_a_id"),
    "response_b": ("response_b", "response_id_b", "response_b_id"),
    "gold": ("gold", "gold_label", "gold_preference"),
    "metadata": known_names.METADATA,
}


@dataclass(frozen=True, slots=True)
class ImportedPair:
    """A row of a file of pairs: the pair, one judge's verdicts by order, and people's preferences."""

    pair: Pair
    judge: str | None = None
    verdicts: Mapping[Shown, Mapping[str, Preference]] = field(default_factory=dict)
    raws: Mapping[Shown, str] = field(default_factory=dict)
    people: tuple[GivenPreference, ...] = ()


@dataclass(slots=True)
class _JudgeRows:
    """The rows of one judge. ``orders`` are the orders in which the judge has a verdict on any pair.

    ``missing_raws`` has the raw texts of pairs and orders without a verdict. ``unchanged`` has the
    pairs and orders of rows that are not new. A pair is identified by source and external id,
    because pairs in a dry run have no lasting ids.
    """

    orders: set[Shown] = field(default_factory=set)
    missing_raws: dict[tuple[tuple[str, str], Shown], str | None] = field(default_factory=dict)
    unchanged: set[tuple[tuple[str, str], Shown]] = field(default_factory=set)


class PairImport(RecordedImport[ImportedPair]):
    """Pairs with recorded verdicts of judges and people's preferences. A pair has a row per judge or per person.

    ``verdict_order_ab`` is the judge's preference with A shown first, ``verdict_order_ba`` with B
    shown first. Both name the stored answers: A, B, tie, another word like `model_a` or `tie
    (bothbad)`, the name of a model, or two numbers (the scores of A and B). ``winner`` is the
    preference of the ``annotator``, else the verdict of the ``judge`` with A shown first, else the
    gold label. Instead, ``winner_a``, ``winner_b`` or ``winner_tie`` may be 1. ``score_a`` and
    ``score_b`` are a judge's scores of both answers. With `chosen` and `rejected`, the chosen
    answer is A and gold. Map a column of each person to `human.NAME`. People's numbers need a
    ``scale`` (above 0 B is better); in a list of people, the default is -2..2.

    Without an id column, ids are derived from the content. A `question_id` is not the id of a pair
    if the row names two models: then the rest of the id is derived. If the file has a column of
    verdicts, a judge was asked in each order in which the judge has a verdict on any pair of the
    file; a judge without a verdict, with A first. Comparisons without a usable verdict are
    therefore stored after all others.
    """

    columns: ClassVar[ColumnNames] = {
        **PAIR_COLUMNS,
        "judge": known_names.JUDGE,
        "verdict_order_ab": ("verdict_order_ab", "verdict_ab", "g1_winner"),
        "verdict_order_ba": ("verdict_order_ba", "verdict_ba", "g2_winner"),
        "raw": known_names.RAW,
        "raw_ab": ("raw_ab",),
        "raw_ba": ("raw_ba",),
        "score_a": ("score_a", "score_1", "scores_a", "rating_a"),
        "score_b": ("score_b", "score_2", "scores_b", "rating_b"),
        "human": ("human", "human_preference", "annotations"),
        "annotator": ("annotator", "annotator_id", "annotated_by", "labeler", "rater"),
        "winner": ("winner", "preference", "preferred"),
        "winner_a": ("winner_model_a",),
        "winner_b": ("winner_model_b",),
        "winner_tie": ("winner_tie",),
        "scale": ("scale",),
    }
    needed = ("question", "answer_a", "answer_b")
    left_over = "kept with the pair"
    brings_answers = True

    @classmethod
    def other_step(cls, fields: Collection[str]) -> str | None:
        """Return the command that makes pairs, if the rows are questions with options."""
        is_question = "options" in fields and not {"answer_a", "answer_b"} & {*fields}
        return (
            "the rows are questions with options: `judgeboard compare make-pairs` makes pairs"
            if is_question
            else None
        )

    def __init__(self, source: str | None, actor: str = "library") -> None:
        super().__init__(source, actor)
        self._rows_of_judges: dict[str, _JudgeRows] = {}
        self._verdict_columns = False

    def build(self, cells: Cells) -> ImportedPair:
        """Return the pair of a row."""
        models = models_in(cells)
        judge, annotator = cells.name("judge"), cells.name("annotator")
        of_judge = judge is not None and annotator is None
        self._verdict_columns |= not cells.taken.keys().isdisjoint(_OF_JUDGE)
        letter, people = human_in(
            cells, "human" if of_judge or "human" in cells.taken else "winner", models
        )
        if (
            letter is None
            and simple_name(cells.taken.get("answer_a", "").partition(".")[0]) == "chosen"
        ):
            letter = Preference.A
        pair = pair_in(
            cells, self.source or "", letter, external_id=_id_in(cells, models), more=_kept(cells)
        )
        verdicts = {
            order: verdict
            for name, order in _ORDERS.items()
            if (verdict := verdict_in(cells, name, models, order=order))
        }
        if of_judge and not cells.taken.keys() & _ORDERS.keys():
            scores = [cells.number("score_a"), cells.number("score_b")]
            by_score = (
                {} if None in scores or scores == [-1, -1] else {OVERALL: higher("score_a", scores)}
            )
            verdicts = (
                {Shown.AB: verdict}
                if (verdict := verdict_in(cells, "winner", models) or by_score)
                else {}
            )
        if verdicts and judge is None:
            raise Unusable("judge", "a verdict without a judge: give the column judge")
        # The raw texts by order. ``raw`` is an object with the keys ab and ba, or one text for both
        # orders.
        raw = cells.get("raw")
        if isinstance(raw, dict) and raw.keys() <= set(Shown):
            raws = {Shown(order): json_text(value) for order, value in raw.items()}
        else:
            raws = dict.fromkeys(Shown, json_text(raw))
        raws |= {
            order: json_text(cells.get(name))
            for name, order in _RAWS.items()
            if cells.get(name) is not None
        }
        return ImportedPair(
            pair,
            judge,
            verdicts,
            {order: text for order, text in raws.items() if text is not None},
            people,
        )

    def store(
        self, connection: Connection, records: Sequence[ImportedPair], now: datetime
    ) -> Stored:
        """Store new pairs, preferences and verdicts.

        Reject a row if the stored pair has other texts, or the judge another verdict on it.
        """
        rows = RowOutcomes(len(records))
        ids = import_pairs(
            connection, [record.pair for record in records], self.batch_id, now, rows
        )
        people = [
            (
                index,
                ImportedPreference(
                    record.pair.external_id, record.pair.source, preference, pair_id=pair_id
                ),
            )
            for index, (record, pair_id) in enumerate(zip(records, ids, strict=True))
            if pair_id is not None
            for preference in record.people
        ]
        new = (
            store_preferences(connection, [entry for _, entry in people], self.batch_id, now)
            if people
            else []
        )
        rows.new |= {index for (index, _), is_new in zip(people, new, strict=True) if is_new}
        self._store_verdicts(connection, records, ids, rows, now)
        return rows.stored()

    def finish(self, connection: Connection, now: datetime) -> int:
        """Store the comparisons without a usable verdict.

        Return how many rows are new only because of these comparisons.
        """
        late: set[tuple[str, tuple[str, str]]] = set()
        for judge, rows in self._rows_of_judges.items() if self._verdict_columns else ():
            orders = rows.orders or {Shown.AB}
            missing_raws = {key: raw for key, raw in rows.missing_raws.items() if key[1] in orders}
            if not missing_raws:
                continue
            version = recorded_version(connection, RecordedJudge(judge), now)
            ids = ids_of_pairs(connection, {pair for pair, _ in missing_raws})
            comparisons = stored_comparisons(connection, version.id, ids.values())
            items = []
            for (pair, order), raw in missing_raws.items():
                if pair in ids:
                    item = NewComparison(ids[pair], order, StepRecord(Status.UNPARSABLE, raw=raw))
                    if key_of(item) in comparisons:
                        continue
                    items.append(item)
                # A dry run stores no pair, so the comparison counts as new.
                if (pair, order) in rows.unchanged:
                    late.add((judge, pair))
            if items:
                store_comparisons(
                    connection, version, self.run(connection, version, now), items, now
                )
        super().finish(connection, now)
        return len(late)

    def _store_verdicts(
        self,
        connection: Connection,
        records: Sequence[ImportedPair],
        ids: Sequence[int | None],
        rows: RowOutcomes,
        now: datetime,
    ) -> None:
        by_judge: dict[str, dict[int, list[NewComparison]]] = {}
        for index, (record, pair_id) in enumerate(zip(records, ids, strict=True)):
            if record.judge is None or pair_id is None:
                continue
            by_judge.setdefault(record.judge, {})[index] = [
                NewComparison(
                    pair_id, order, StepRecord(Status.OK, raw=record.raws.get(order)), verdict
                )
                for order, verdict in record.verdicts.items()
            ]
        for judge, comparisons in by_judge.items():
            version = recorded_version(connection, RecordedJudge(judge), now)
            store_recorded(connection, version, self, comparisons, rows, now)
            rows_of_judge = self._rows_of_judges.setdefault(judge, _JudgeRows())
            for index in comparisons:
                if index in rows.problems:
                    continue
                record = records[index]
                rows_of_judge.orders |= record.verdicts.keys()
                for order in Shown:
                    key = ((record.pair.source, record.pair.external_id), order)
                    if order not in record.verdicts and key not in rows_of_judge.missing_raws:
                        rows_of_judge.missing_raws[key] = record.raws.get(order)
                        if index not in rows.new:
                            rows_of_judge.unchanged.add(key)


def _kept(cells: Cells) -> dict[str, Any]:
    """Return, by column, the values of a row without a judge in columns of a judge or a person, to keep with the pair.

    Empty for the row of a judge or a person: other rows of the pair may have other values there.
    """
    in_list = isinstance(list_or_object(cells, "human"), list)
    if cells.name("judge") is not None or (cells.name("annotator") is not None and not in_list):
        return {}
    fields = {"score_a", "score_b", "annotator"}
    if cells.get("human") is not None or cells.get("gold") is not None:
        fields.add("winner")
    if not any(name.startswith("human.") for name in cells.taken):
        fields.add("scale")
    return {cells.taken[field]: cells.raw(field) for field in sorted(fields & cells.taken.keys())}


def _id_in(cells: Cells, models: Mapping[str, Preference]) -> str:
    """Return the id of a pair, derived from the content if the row has no id or only the id of a question."""
    external_id = (
        cells.required_name("external_id", MAX_ID - len("pair::a"))
        if "external_id" in cells.taken
        else None
    )
    if external_id is not None and not (
        models and simple_name(cells.taken["external_id"]) == "question_id"
    ):
        return external_id
    content = [
        *models,
        *map(cells.get, ("question", "answer_a", "answer_b")),
        cells.masked(cells.values.get("turn")),
    ]
    digest = blake2b(json.dumps(content).encode(), digest_size=8).hexdigest()
    return digest if external_id is None else f"{external_id[:400]}-{digest}"


def pair_in(
    cells: Cells,
    source: str,
    letter: Preference | None = None,
    *,
    answers: bool = True,
    external_id: str | None = None,
    more: Mapping[str, Any] | None = None,
) -> Pair:
    """Return the pair of a row. ``source`` and the gold ``letter`` are defaults; ``more`` is added to the metadata."""
    a, b = cells.text("answer_a"), cells.text("answer_b")
    for name, text in (("answer_a", a), ("answer_b", b)):
        if text is None and (answers or (a, b) != (None, None)):
            raise Unusable(name, f"no {name.replace('_', ' ')}")
    gold, options = cells.get("gold"), cells.json("options")
    if options is not None and not (
        isinstance(options, list) and all(isinstance(item, str) for item in options)
    ):
        raise Unusable("options", f"expected a list of texts, found {json_kind(options)}")
    return Pair(
        source=cells.name("source") or source,
        external_id=external_id or cells.required_name("external_id", MAX_ID - len("pair::a")),
        question=cells.required_text("question"),
        answer_a=a,
        answer_b=b,
        query_type=cells.name("query_type") or "unspecified",
        options=None if options is None else tuple(options),
        reference=cells.text("reference"),
        model_a=cells.name("model_a"),
        model_b=cells.name("model_b"),
        response_a=cells.name("response_a", MAX_ID),
        response_b=cells.name("response_b", MAX_ID),
        gold=letter if gold is None else preference_word("gold", gold),
        metadata=metadata_in(cells, more),
    )


def models_in(cells: Cells) -> dict[str, Preference]:
    """Return the side of each model, by name in lower case; empty if one model gave both answers."""
    sides = {"model_a": Preference.A, "model_b": Preference.B}
    names = {
        name.strip().casefold(): side
        for field, side in sides.items()
        if (name := cells.name(field)) is not None
    }
    return names if len(names) == len(sides) else {}


def import_pairs(
    connection: Connection,
    pairs: Sequence[Pair],
    batch_id: int | None,
    now: datetime,
    rows: RowOutcomes,
) -> list[int | None]:
    """Store the pairs of a batch, and reject rows that differ. Return the pair id of each row (None: rejected)."""
    result = store_pairs(connection, pairs, batch_id, now)
    for clash in result.conflicts:
        rows.refuse(clash.index, clash.field, clash.reason, differs=True)
    first: dict[int, int] = {}
    for index, pair_id in enumerate(result.ids):
        if pair_id is not None:
            first.setdefault(pair_id, index)
    rows.new |= {first[pair_id] for pair_id in result.new}
    return result.ids


class Condition(StrEnum):
    """Whether a judge saw only the pair (plain), or also an answer as the correct one (reference)."""

    PLAIN = "plain"
    REFERENCE = "reference"


@dataclass(frozen=True, slots=True)
class ImportedComparison:
    """A recorded comparison in one order. ``pair_id`` is the external id; ``comparison.pair_id`` is still 0."""

    pair_id: str
    judge: RecordedJudge
    comparison: NewComparison
    source: str | None = None


class ComparisonImport(RecordedImport[ImportedComparison]):
    """Recorded comparisons of stored pairs, with one run per judge and file.

    ``verdict`` names the stored answers A and B, whatever the ``order`` in which the judge saw the
    answers. A row without a verdict is an unusable reply. The ``status`` can give the reason.
    """

    columns: ClassVar[ColumnNames] = {
        "external_id": ("pair_id", "external_id", "id"),
        "source": ("source",),
        "judge": known_names.JUDGE,
        "judge_version": known_names.JUDGE_VERSION,
        "order": ("order", "shown", "order_shown"),
        "verdict": ("verdict", "preference", "winner"),
        "aspect": ("aspect", "criterion", "dimension"),
        "condition": ("condition",),
        "reference": known_names.REFERENCE,
        "reasoning": known_names.REASONING,
        "raw": known_names.RAW,
        "status": ("status",),
        "error": known_names.ERROR,
        "ask": ("ask",),
    }
    needed = ("external_id", "judge", "order")

    def build(self, cells: Cells) -> ImportedComparison:
        """Return the comparison of a row."""
        judge = RecordedJudge(cells.required_name("judge"), cells.name("judge_version"))
        order = cells.choice("order", Shown)
        if order is None:
            raise Unusable("order", "no order: give ab or ba")
        verdict, aspect = verdict_in(cells, "verdict", order=order), cells.name("aspect")
        if aspect is not None and verdict:
            if verdict.keys() != {OVERALL}:
                raise Unusable(
                    "aspect", "a verdict by aspect already names its aspects: remove this field"
                )
            verdict = {aspect: verdict[OVERALL]}
        status = cells.choice("status", Status) or (Status.OK if verdict else Status.UNPARSABLE)
        if bool(verdict) != (status is Status.OK):
            raise Unusable(
                "status",
                f"a comparison with the status {status} has {'a' if verdict else 'no'} verdict",
            )
        comparison = NewComparison(
            pair_id=0,
            shown=order,
            record=StepRecord(status, raw=json_text(cells.get("raw")), error=cells.text("error")),
            preferences=verdict,
            condition=cells.choice("condition", Condition) or Condition.PLAIN,
            reference=cells.text("reference"),
            reasoning=cells.text("reasoning"),
            ask=cells.whole_number("ask") or 0,
        )
        pair_id, source = (
            cells.required_name("external_id", MAX_ID),
            cells.name("source") or self.source,
        )
        return ImportedComparison(pair_id, judge, comparison, source)

    def store(
        self, connection: Connection, records: Sequence[ImportedComparison], now: datetime
    ) -> Stored:
        """Store the comparisons whose pair is stored. Reject a row if the stored verdict in this order differs."""
        rows = RowOutcomes(len(records))
        names = {index: (record.pair_id, record.source) for index, record in enumerate(records)}
        pairs = pairs_named(connection, {external_id for external_id, _ in names.values()})
        by_judge: dict[RecordedJudge, dict[int, list[NewComparison]]] = {}
        for index, pair in rows.find("pair", "external_id", names, pairs).items():
            item = replace(records[index].comparison, pair_id=pair.id)
            by_judge.setdefault(records[index].judge, {})[index] = [item]
        for judge, comparisons in by_judge.items():
            version = recorded_version(connection, judge, now)
            store_recorded(connection, version, self, comparisons, rows, now)
        return rows.stored()

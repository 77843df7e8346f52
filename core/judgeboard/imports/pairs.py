"""Two answers to a question, with what a judge said in both orders and what people prefer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar

from sqlalchemy import Connection

from judgeboard.domain import Preference, Shown, Status, StepRecord
from judgeboard.formats.jsonl import json_kind
from judgeboard.imports.cells import MAX_ID, Cells, Unusable, metadata_in, parsed_json, raw_text
from judgeboard.imports.columns import JUDGE, METADATA, QUERY_TYPE_OF_PAIR, QUESTION, RAW, REFERENCE, ColumnNames
from judgeboard.imports.kind import RowOutcomes, Stored
from judgeboard.imports.preferences import aspects_as_row, human_in, preference_word, verdict_in
from judgeboard.imports.recorded import RecordedImport, RecordedJudge, recorded_version, store_recorded
from judgeboard.pair_records import GivenPreference, Pair
from judgeboard.store.pairs.comparisons import LandedComparison, key_of, land_comparisons, stored_comparisons
from judgeboard.store.pairs.pair_items import ids_of_pairs
from judgeboard.store.pairs.pairs import land_pairs
from judgeboard.store.pairs.preferences import PreferenceOf, land_preferences

_ORDERS = {"verdict_order_ab": Shown.AB, "verdict_order_ba": Shown.BA}
_RAWS = {"raw_ab": Shown.AB, "raw_ba": Shown.BA}
PAIR_COLUMNS: ColumnNames = {
    "external_id": ("external_id", "pair_id", "id", "item_id", "question_id", "record_id", "sample_id", "uuid"),
    "source": ("source",),
    "question": QUESTION,
    "options": ("options", "choices"),
    "answer_a": ("answer_a", "answer_1", "output_a", "output_1", "completion_a", "candidate_a", "text_a"),
    "answer_b": ("answer_b", "answer_2", "output_b", "output_2", "completion_b", "candidate_b", "text_b"),
    "query_type": QUERY_TYPE_OF_PAIR,
    "reference": REFERENCE,
    "model_a": ("model_a", "model_1", "generator_a"),
    "model_b": ("model_b", "model_2", "generator_b"),
    "response_a": ("response_a", "response_id_a", "response_a_id"),
    "response_b": ("response_b", "response_id_b", "response_b_id"),
    "gold": ("gold", "gold_label", "gold_preference"),
    "metadata": METADATA,
}


@dataclass(frozen=True, slots=True)
class ImportedPair:
    """A row of a file of pairs: the pair, what one judge said of it by order, and what people said.

    An order without an entry in ``verdicts`` was not asked, or asked without a usable verdict: the whole file tells.
    """

    pair: Pair
    judge: str | None = None
    verdicts: Mapping[Shown, Mapping[str, Preference]] = field(default_factory=dict)
    raws: Mapping[Shown, str] = field(default_factory=dict)
    people: tuple[GivenPreference, ...] = ()


Key = tuple[str, str]
"""Source and outside id of a pair."""


@dataclass(slots=True)
class MissingOrder:
    """An order without a verdict: its raw text, and whether its row brought something else."""

    raw: str | None
    row_is_new: bool


@dataclass(slots=True)
class MissingOrders:
    """Collects, per judge, the orders that have verdicts and the (pair, order) that have none.

    Pairs go by source and outside id: the ids of a dry run's pairs are gone with it.

    A judge with verdicts in one order only was asked in that order; with both, both were asked of every pair that it
    has a row for. One without any verdict in the whole file was asked with A first, as the file has the answers.
    """

    _orders: dict[str, set[Shown]] = field(default_factory=dict)
    _missing: dict[str, dict[tuple[Key, Shown], MissingOrder]] = field(default_factory=dict)

    def note(self, judge: str, pair: Key, given: set[Shown], raws: dict[Shown, str], *, row_is_new: bool) -> None:
        """Take note of a row of a judge."""
        self._orders.setdefault(judge, set()).update(given)
        missing = self._missing.setdefault(judge, {})
        for shown in Shown:
            if shown not in given:
                missing.setdefault((pair, shown), MissingOrder(raws.get(shown), row_is_new))

    def judges(self) -> list[str]:
        """Return the judges that the file names."""
        return list(self._orders)

    def asked_in_vain(self, judge: str) -> dict[tuple[Key, Shown], MissingOrder]:
        """Return what a judge was asked without a usable verdict."""
        orders = self._orders[judge] or {Shown.AB}
        return {key: one for key, one in self._missing[judge].items() if key[1] in orders}


class PairImport(RecordedImport[ImportedPair]):
    """Pairs, comparisons of replay judge versions, and preferences; a pair has a row for every judge.

    ``verdict_order_ab`` is what the judge preferred when A was shown first, ``verdict_order_ba`` when B was; both
    speak of the stored answers A and B, whatever the order shown.

    Which orders were asked in vain is known when the file has been read (see `MissingOrders`): these comparisons are
    stored at the end.
    """

    columns: ClassVar[ColumnNames] = {
        **PAIR_COLUMNS,
        "judge": JUDGE,
        "verdict_order_ab": ("verdict_order_ab", "verdict_ab"),
        "verdict_order_ba": ("verdict_order_ba", "verdict_ba"),
        "raw": RAW,
        "raw_ab": ("raw_ab",),
        "raw_ba": ("raw_ba",),
        "human": ("human", "human_preference", "annotations"),
    }
    needed = ("external_id", "question", "answer_a", "answer_b")
    left_over = "kept with the pair"
    brings_answers = True

    def __init__(self, source: str | None, actor: str = "library") -> None:
        super().__init__(source, actor)
        self._missing = MissingOrders()

    def build(self, cells: Cells) -> ImportedPair:
        """Return the pair of a row."""
        letter, people = human_in(cells)
        pair = pair_in(cells, self.source or "", letter)
        judge = cells.name("judge")
        verdicts = {shown: said for name, shown in _ORDERS.items() if (said := verdict_in(cells, name))}
        if verdicts and judge is None:
            raise Unusable("judge", "a verdict without its judge")
        return ImportedPair(pair, judge, verdicts, _raws(cells), people)

    def store(self, connection: Connection, records: Sequence[ImportedPair], batch_id: int, now: datetime) -> Stored:
        """Store what is new; a pair with other texts, or another verdict of a judge on it, is a conflict."""
        rows = RowOutcomes(len(records))
        ids = store_pairs(connection, [record.pair for record in records], batch_id, now, rows)
        people = [
            (index, PreferenceOf(pair_id, record.pair.source, record.pair.external_id, given))
            for index, (record, pair_id) in enumerate(zip(records, ids, strict=True))
            if pair_id is not None
            for given in record.people
        ]
        new = land_preferences(connection, [given for _, given in people], batch_id, now) if people else []
        rows.new |= {index for (index, _), is_new in zip(people, new, strict=True) if is_new}
        self._store_verdicts(connection, records, ids, rows, now)
        return rows.stored()

    def finish(self, connection: Connection, now: datetime) -> int:
        """Store the comparisons without a usable verdict; return how many rows brought nothing but these."""
        late: set[tuple[str, Key]] = set()
        for judge in self._missing.judges():
            missing = self._missing.asked_in_vain(judge)
            if not missing:
                continue
            version = recorded_version(connection, RecordedJudge(judge), now)
            ids = ids_of_pairs(connection, {pair for pair, _ in missing})
            known = stored_comparisons(connection, version.id, ids.values())
            items = []
            for (pair, shown), one in missing.items():
                record = StepRecord(Status.UNPARSABLE, raw=one.raw)
                item = LandedComparison(ids[pair], shown, record) if pair in ids else None
                if item is not None and key_of(item) not in known:
                    items.append(item)
                # In a dry run the pair is not there, and what is said of it would be new.
                if not one.row_is_new and (item is None or key_of(item) not in known):
                    late.add((judge, pair))
            if items:
                land_comparisons(connection, version, self.run(connection, version, now), items, now)
        super().finish(connection, now)
        return len(late)

    def as_row(self, record: ImportedPair) -> dict[str, Any]:
        """Return a pair as an import takes it again; of people, who and their preferences."""
        verdicts = {f"verdict_order_{shown}": dict(said) for shown, said in record.verdicts.items()}
        human = [
            {"annotator": one.annotator, "shown": one.shown, **aspects_as_row(one.aspects)} for one in record.people
        ]
        return {**pair_as_row(record.pair), "judge": record.judge, **verdicts, "human": human}

    def _store_verdicts(
        self,
        connection: Connection,
        records: Sequence[ImportedPair],
        ids: Sequence[int | None],
        rows: RowOutcomes,
        now: datetime,
    ) -> None:
        by_judge: dict[str, dict[int, list[LandedComparison]]] = {}
        for index, (record, pair_id) in enumerate(zip(records, ids, strict=True)):
            if record.judge is None or pair_id is None:
                continue
            by_judge.setdefault(record.judge, {})[index] = [
                LandedComparison(pair_id, shown, StepRecord(Status.OK, raw=record.raws.get(shown)), said)
                for shown, said in record.verdicts.items()
            ]
        for judge, given in by_judge.items():
            version = recorded_version(connection, RecordedJudge(judge), now)
            store_recorded(connection, version, self, given, rows, now)
            for index in given:
                record = records[index]
                if index not in rows.problems:
                    orders, raws = set(record.verdicts), dict(record.raws)
                    key = (record.pair.source, record.pair.external_id)
                    self._missing.note(judge, key, orders, raws, row_is_new=index in rows.new)


def pair_in(cells: Cells, source: str, letter: Preference | None = None, *, answers: bool = True) -> Pair:
    """Return the pair that a row speaks of.

    Args:
        cells: The row.
        source: The source of a row without its own.
        letter: The gold of a row without its own.
        answers: Whether it must have two answers; else both or none.

    Raises:
        Unusable: A field is missing or has a value that no pair can have.
    """
    a, b = cells.text("answer_a"), cells.text("answer_b")
    for name, text in (("answer_a", a), ("answer_b", b)):
        if text is None and (answers or (a, b) != (None, None)):
            raise Unusable(name, f"no {name.replace('_', ' ')}")
    gold = cells.get("gold")
    return Pair(
        source=cells.name("source") or source,
        external_id=cells.required_name("external_id", MAX_ID - len("pair::a")),
        question=cells.required_text("question"),
        answer_a=a,
        answer_b=b,
        query_type=cells.name("query_type") or "unspecified",
        options=_options(cells),
        reference=cells.text("reference"),
        model_a=cells.name("model_a"),
        model_b=cells.name("model_b"),
        response_a=cells.name("response_a", MAX_ID),
        response_b=cells.name("response_b", MAX_ID),
        gold=letter if gold is None else preference_word("gold", gold),
        metadata=metadata_in(cells),
    )


def _raws(cells: Cells) -> dict[Shown, str]:
    """Return the raw texts by order; ``raw`` is an object by order (ab, ba), or one text for whichever was asked."""
    given = cells.get("raw")
    if isinstance(given, dict) and given.keys() <= set(Shown):
        raws = {Shown(shown): raw_text(value) for shown, value in given.items()}
    else:
        raws = dict.fromkeys(Shown, raw_text(given))
    raws |= {shown: raw_text(cells.get(name)) for name, shown in _RAWS.items() if cells.get(name) is not None}
    return {shown: text for shown, text in raws.items() if text is not None}


def _options(cells: Cells) -> tuple[str, ...] | None:
    value = cells.get("options")
    if isinstance(value, str):
        value = parsed_json("options", value)
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise Unusable("options", f"{json_kind(value)} where a list of texts should be")
    return tuple(value)


def store_pairs(
    connection: Connection, pairs: Sequence[Pair], batch_id: int, now: datetime, rows: RowOutcomes
) -> list[int | None]:
    """Store the pairs of a batch of rows, note what became of these; return the pair of each, None for a conflict."""
    landed = land_pairs(connection, pairs, batch_id, now)
    for clash in landed.conflicts:
        rows.refuse(clash.index, clash.field, clash.reason, conflict=True)
    first: dict[int, int] = {}
    for index, pair_id in enumerate(landed.ids):
        if pair_id is not None:
            first.setdefault(pair_id, index)
    rows.new |= {first[pair_id] for pair_id in landed.new}
    return landed.ids


def pair_as_row(pair: Pair) -> dict[str, Any]:
    """Return a pair as an import takes it again."""
    names = ("source", "external_id", "question", "options", "answer_a", "answer_b", "query_type", "reference", "gold")
    return {name: getattr(pair, name) for name in names if getattr(pair, name) is not None}

"""Lands pairs with what judges and people said of them."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from judgeboard.domain import Status, StepRecord
from judgeboard.landings.judged_pairs import land_recorded
from judgeboard.landings.landing import Landed, Landings
from judgeboard.landings.missing_orders import Key, MissingOrders
from judgeboard.landings.recorded_judges import RecordedJudges, recorded_version
from judgeboard.pair_records import ImportedPair, Pair, RecordedJudge
from judgeboard.store.pairs.comparisons import LandedComparison, key_of, land_comparisons, stored_comparisons
from judgeboard.store.pairs.pair_items import ids_of_pairs
from judgeboard.store.pairs.pairs import land_pairs
from judgeboard.store.pairs.preferences import PreferenceOf, land_preferences


class PairLanding:
    """Stores pairs, comparisons of replay judge versions, and preferences of imported reviewers.

    Which orders were asked in vain is known when the file has been read (see `MissingOrders`): these comparisons come
    in at the end.
    """

    def __init__(self, actor: str) -> None:
        self._judges = RecordedJudges(actor)
        self._missing = MissingOrders()

    def land(self, connection: Connection, records: Sequence[ImportedPair], batch_id: int, now: datetime) -> Landed:
        """Store what is new; a pair with other texts, or another verdict of a judge on it, is a conflict."""
        rows = Landings(len(records))
        ids = land_pair_rows(connection, [record.pair for record in records], batch_id, now, rows)
        people = [
            (index, PreferenceOf(pair_id, record.pair.source, record.pair.external_id, given))
            for index, (record, pair_id) in enumerate(zip(records, ids, strict=True))
            if pair_id is not None
            for given in record.people
        ]
        new = land_preferences(connection, [given for _, given in people], batch_id, now) if people else []
        rows.new |= {index for (index, _), is_new in zip(people, new, strict=True) if is_new}
        self._land_verdicts(connection, records, ids, rows, now)
        return rows.landed()

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
                land_comparisons(connection, version, self._judges.run(connection, version, now), items, now)
        self._judges.finish(connection, now)
        return len(late)

    def shown(self, record: ImportedPair) -> dict[str, Any]:
        """Return the pair as an import would take it again, without what people said."""
        verdicts = {f"verdict_order_{shown}": dict(said) for shown, said in record.verdicts.items()}
        return {**pair_shown(record.pair), "judge": record.judge, **verdicts}

    def _land_verdicts(
        self,
        connection: Connection,
        records: Sequence[ImportedPair],
        ids: Sequence[int | None],
        rows: Landings,
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
            land_recorded(connection, version, self._judges, given, rows, now)
            for index in given:
                record = records[index]
                if index not in rows.problems:
                    orders, raws = set(record.verdicts), dict(record.raws)
                    key = (record.pair.source, record.pair.external_id)
                    self._missing.note(judge, key, orders, raws, row_is_new=index in rows.new)


def land_pair_rows(
    connection: Connection, pairs: Sequence[Pair], batch_id: int, now: datetime, rows: Landings
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


def pair_shown(pair: Pair) -> dict[str, Any]:
    """Return a pair as an import would take it again."""
    names = ("source", "external_id", "question", "options", "answer_a", "answer_b", "query_type", "reference", "gold")
    return {name: getattr(pair, name) for name in names if getattr(pair, name) is not None}

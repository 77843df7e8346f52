"""Reviews from an export: with their decisions, and with the reviews of the same file that they replace."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sqlalchemy import Connection, select

from judgeboard.domain import FlagState
from judgeboard.store.grades import in_turns, known_keys
from judgeboard.store.queue_items import close_flags
from judgeboard.store.reviews import NewReview, ReviewRecord, insert_reviews, is_current, is_imported
from judgeboard.store.statements import rows_with
from judgeboard.store.tables import FLAG, REVIEW


@dataclass(slots=True)
class FileReviews:
    """The reviews of one file: their request keys by their numbers in it, which have no meaning in this database."""

    keys: dict[int, str] = field(default_factory=dict)

    def store(self, connection: Connection, reviews: Sequence[tuple[ReviewRecord, NewReview]]) -> set[str]:
        """Store reviews in the order of the file, and return the request keys of the new ones.

        A review of this database, by the same person at the same moment, is the same review. A review replaces the one
        that it names. If it names none, it replaces the person's grade of an earlier import. A decision decides the
        flags of its answer that have the rules of the flags in the file.
        """
        made_here = _made_here(connection, [review for _, review in reviews])
        known = known_keys(connection, [review.request_key for _, review in reviews])
        new: dict[str, tuple[ReviewRecord, NewReview]] = {}
        for record, review in reviews:
            here = None if record.at is None else made_here.get((*_owner(review), record.at))
            self.keys[record.number] = here or review.request_key
            if here is None and review.request_key not in known:
                new.setdefault(review.request_key, (record, review))
        flags = _flags_of(connection, [each for each in new.values() if each[0].rules])
        ids = self._replaced_ids(connection, [record for record, _ in new.values()])
        earlier = self._earlier(connection, [review for _, review in new.values()])
        replaced = _replaced(connection, [*ids.values(), *earlier.values()])
        for turn in in_turns(new, lambda key: _owner(new[key][1])[:2]):
            turn_reviews = []
            for key in turn:
                record, review = new[key]
                before = ids.get(self.keys.get(record.replaces or 0, ""))
                if record.replaces is None and record.decision is None:
                    before = earlier.pop(_owner(review), None)
                if before in replaced:
                    before = None
                elif before is not None:
                    replaced.add(before)
                turn_reviews.append(replace(review, replaces=before, flag_ids=tuple(flags.get(key, ()))))
            ids |= zip(turn, insert_reviews(connection, turn_reviews), strict=True)
        close_flags(connection, [flag_id for of_review in flags.values() for flag_id in of_review])
        return set(new)

    def _replaced_ids(self, connection: Connection, records: Collection[ReviewRecord]) -> dict[str, int]:
        """Return the ids of the stored reviews that others replace, by request key."""
        numbers = {record.replaces for record in records if record.replaces is not None}
        keys = {self.keys[number] for number in numbers if number in self.keys}
        rows = rows_with(connection, select(REVIEW.c.request_key, REVIEW.c.id), REVIEW.c.request_key, keys)
        return {row.request_key: row.id for row in rows}

    def _earlier(self, connection: Connection, reviews: Collection[NewReview]) -> dict[tuple[Any, ...], int]:
        """Return the ids of the current grades of earlier imports, by subject and person."""
        columns = (REVIEW.c.id, REVIEW.c.response_id, REVIEW.c.pair_id, REVIEW.c.reviewer_id, REVIEW.c.request_key)
        query = select(*columns).where(REVIEW.c.decision.is_(None), is_imported(), is_current()).order_by(REVIEW.c.id)
        of_file = set(self.keys.values())
        return {
            _owner(row): row.id for row in _of_subjects(connection, query, reviews) if row.request_key not in of_file
        }


def _owner(review: Any) -> tuple[int | None, int | None, int]:
    return review.response_id, review.pair_id, review.reviewer_id


def _of_subjects(connection: Connection, query: Any, reviews: Collection[NewReview]) -> list[Any]:
    """Return the rows of the query that are about the answers and pairs of these reviews."""
    rows: list[Any] = []
    for column, name in ((REVIEW.c.response_id, "response_id"), (REVIEW.c.pair_id, "pair_id")):
        ids = {getattr(review, name) for review in reviews} - {None}
        rows += rows_with(connection, query, column, ids) if ids else ()
    return rows


def _made_here(connection: Connection, reviews: Collection[NewReview]) -> dict[tuple[Any, ...], str]:
    """Return the request keys of the reviews that people made in this database, by subject, person and moment."""
    columns = (REVIEW.c.response_id, REVIEW.c.pair_id, REVIEW.c.reviewer_id, REVIEW.c.at, REVIEW.c.request_key)
    rows = _of_subjects(connection, select(*columns).where(~is_imported()), reviews)
    return {(*_owner(row), row.at): row.request_key for row in rows}


def _replaced(connection: Connection, ids: Collection[int]) -> set[int]:
    rows = rows_with(connection, select(REVIEW.c.replaces), REVIEW.c.replaces, set(ids))
    return {row.replaces for row in rows}


def _flags_of(connection: Connection, reviews: Sequence[tuple[ReviewRecord, NewReview]]) -> Mapping[str, list[int]]:
    """Return the flags that each review decides, by request key."""
    query = select(FLAG.c.id, FLAG.c.response_id, FLAG.c.rule).where(FLAG.c.state != FlagState.SUPERSEDED.value)
    by_rule: dict[tuple[int | None, str], list[int]] = {}
    for flag in rows_with(
        connection, query.order_by(FLAG.c.id), FLAG.c.response_id, {each.response_id for _, each in reviews}
    ):
        by_rule.setdefault((flag.response_id, flag.rule), []).append(flag.id)
    return {
        review.request_key: [
            id_ for rule in sorted(set(record.rules)) for id_ in by_rule.get((review.response_id, rule), ())
        ]
        for record, review in reviews
    }

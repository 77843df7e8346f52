"""Reviews from an export, which may replace other reviews of the same file."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sqlalchemy import Connection, select

from judgeboard.domain import NOTES, FlagState
from judgeboard.store.grades import current_imports, in_turns, known_keys, owner_of
from judgeboard.store.queue_items import close_flags
from judgeboard.store.reviews import Review, ReviewRecord, insert_reviews, reviews_on
from judgeboard.store.statements import grouped, rows_with
from judgeboard.store.tables import FLAG, REVIEW


@dataclass(slots=True)
class FileReviews:
    """The reviews of one file. ``keys`` are the request keys by number in the file; this database has other numbers."""

    keys: dict[int, str] = field(default_factory=dict)
    _equal: Counter[str] = field(default_factory=Counter)

    def store(
        self, connection: Connection, reviews: Sequence[tuple[ReviewRecord, Review]]
    ) -> set[str]:
        """Store reviews in the order of the file, and return the request keys of the new ones.

        A review of this database, by the same person at the same moment, is the same review. A
        review of an earlier import is the same review only if the grade is equal too. A review
        replaces the review that the file names, otherwise the person's grade of an earlier import.
        A decision decides the answer's flags that have the rules of the flags in the file, except
        for flags that are open in the file.
        """
        reviews = [
            (record, replace(review, request_key=self._own_key(review)))
            for record, review in reviews
        ]
        stored_keys = _made_here(
            connection, [review for _, review in reviews], set(self.keys.values())
        )
        current_by_key = known_keys(connection, [review.request_key for _, review in reviews])
        new: dict[str, tuple[ReviewRecord, Review]] = {}
        for record, review in reviews:
            stored_key = (
                None
                if record.at is None
                else stored_keys.get(_moment(review), stored_keys.get(_content(review)))
            )
            self.keys[record.number] = stored_key or review.request_key
            if stored_key is None and review.request_key not in current_by_key:
                new.setdefault(review.request_key, (record, review))
        flags = _flags_of(connection, [each for each in new.values() if each[0].rules])
        ids = self._replaced_ids(connection, [record for record, _ in new.values()])
        earlier = current_imports(connection, [review for _, review in new.values()])
        of_file = set(self.keys.values())
        rows = rows_with(
            connection, select(REVIEW.c.replaces), REVIEW.c.replaces, set(ids.values())
        )
        replaced_ids = {row.replaces for row in rows}
        for turn in in_turns(new, lambda key: owner_of(new[key][1])[:2]):
            turn_reviews = []
            for key in turn:
                record, review = new[key]
                before = ids.get(self.keys.get(record.replaces or 0, ""))
                if record.replaces is None and record.decision is None:
                    before = next(
                        (
                            each.id
                            for each in reversed(earlier.get(owner_of(review), ()))
                            if each.id not in replaced_ids and each.request_key not in of_file
                            if review.pair_id is not None or each.grade.graded & review.grade.graded
                        ),
                        None,
                    )
                if before in replaced_ids:
                    before = None
                elif before is not None:
                    replaced_ids.add(before)
                turn_reviews.append(
                    replace(review, replaces=before, flag_ids=tuple(flags.get(key, ())))
                )
            ids |= zip(turn, insert_reviews(connection, turn_reviews), strict=True)
        still_open = [
            (replace(record, rules=tuple(record.still_open)), review)
            for record, review in new.values()
            if record.still_open
        ]
        open_ids = {
            flag_id
            for of_review in _flags_of(connection, still_open).values()
            for flag_id in of_review
        }
        close_flags(
            connection, {id_ for of_review in flags.values() for id_ in of_review} - open_ids
        )
        return set(new)

    def _own_key(self, review: Review) -> str:
        """Return the request key of a review; a review that is equal to an earlier one of the file is a change back."""
        number = self._equal[review.request_key]
        self._equal[review.request_key] += 1
        return f"{review.request_key}:{number}" if number else review.request_key

    def _replaced_ids(
        self, connection: Connection, records: Collection[ReviewRecord]
    ) -> dict[str, int]:
        """Return the ids of the stored reviews that these records replace, by request key."""
        numbers = {record.replaces for record in records if record.replaces is not None}
        keys = {self.keys[number] for number in numbers if number in self.keys}
        rows = rows_with(
            connection, select(REVIEW.c.request_key, REVIEW.c.id), REVIEW.c.request_key, keys
        )
        return {row.request_key: row.id for row in rows}


def _moment(review: Review) -> tuple[Any, ...]:
    return (*owner_of(review), review.at)


def _content(review: Review) -> tuple[Any, ...]:
    """Return the values by which a review of an earlier import is compared with a review of an export."""
    grade = review.grade
    scores, notes = frozenset(grade.by_dimension.items()), (getattr(grade, name) for name in NOTES)
    return (
        *_moment(review),
        review.decision,
        review.shown,
        grade.label,
        grade.groundedness,
        grade.quality,
        scores,
        *notes,
    )


def _made_here(
    connection: Connection, reviews: Collection[Review], of_file: Collection[str]
) -> dict[tuple[Any, ...], str]:
    """Return the request keys of stored reviews by moment; for reviews of earlier imports, by content."""
    keyed_reviews = [(review, review.request_key) for review in reviews_on(connection, reviews)]
    return {
        _content(review) if key.startswith("import:") else _moment(review): key
        for review, key in keyed_reviews
        if not (key.startswith("import:") and key in of_file)
    }


def _flags_of(
    connection: Connection, reviews: Sequence[tuple[ReviewRecord, Review]]
) -> Mapping[str, list[int]]:
    """Return the flags that each review decides, by request key."""
    query = select(FLAG.c.id, FLAG.c.response_id, FLAG.c.rule).where(
        FLAG.c.state != FlagState.SUPERSEDED
    )
    response_ids = {each.response_id for _, each in reviews}
    rows = rows_with(connection, query.order_by(FLAG.c.id), FLAG.c.response_id, response_ids)
    by_rule = grouped(((flag.response_id, flag.rule), flag.id) for flag in rows)
    return {
        review.request_key: [
            id_
            for rule in sorted(set(record.rules))
            for id_ in by_rule.get((review.response_id, rule), ())
        ]
        for record, review in reviews
    }

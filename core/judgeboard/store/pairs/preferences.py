"""Preferences of people in the store: which of two answers they find better, on which aspect; edits replace."""

import hashlib
import json
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple

from sqlalchemy import Connection, Select, and_, exists, insert, select

from judgeboard.domain import Preference, Shown, Stage
from judgeboard.pair_records import AspectPreference, GivenPreference
from judgeboard.store.queues.leases import LEASE
from judgeboard.store.reviews.imported_reviews import imported_reviewers
from judgeboard.store.reviews.reviews import insert_preferences
from judgeboard.store.reviews.standing import REVIEW, standing
from judgeboard.store.schema.method_tables import COMPARISON, PREFERENCE_SCORE
from judgeboard.store.schema.tables import REVIEWER
from judgeboard.store.sql.batches import batches
from judgeboard.times import iso_z

_Place = tuple[int, int, Shown | None]  # pair, reviewer, order shown: where one preference of a person stands


@dataclass(frozen=True, slots=True)
class PreferenceOf:
    """An imported preference whose pair has been found, with what names that pair for ever."""

    pair_id: int
    source: str
    external_id: str
    given: GivenPreference


class StandingPreference(NamedTuple):
    """What a person says of a pair on one aspect: a side, a grade on a scale (above 0: B is better), or both.

    ``blind`` says that nothing of gold, models, other people or a judge had been revealed to the person before;
    ``comparison_seen_id`` is a judge's verdict that was in view, None where none was.
    """

    preference_id: int
    pair_id: int
    reviewer_id: int
    reviewer: str
    origin: str
    shown: Shown | None
    aspect: str
    preference: Preference | None
    value: float | None
    scale: str | None
    comparison_seen_id: int | None = None
    note: str | None = None
    at: datetime | None = None
    blind: bool = True
    stage: Stage | None = None
    queue_item_id: int | None = None


def land_preferences(
    connection: Connection,
    preferences: Sequence[PreferenceOf],
    batch_id: int | None = None,
    now: datetime | None = None,
) -> list[bool]:
    """Store preferences of imported people; return of each whether it is new.

    A person has one preference per pair and order shown. What says nothing beyond the one that stands is not new,
    wherever it came from; other words replace it.
    """
    now = now or datetime.now(UTC)
    new: list[bool] = []
    for some in batches(preferences):
        new += _land_batch(connection, some, batch_id, now)
    return new


_PREFERENCES: Select[Any] = (
    select(
        REVIEW.c.id,
        REVIEW.c.pair_id,
        REVIEW.c.reviewer_id,
        REVIEWER.c.name,
        REVIEWER.c.origin,
        REVIEW.c.shown,
        PREFERENCE_SCORE.c.aspect,
        PREFERENCE_SCORE.c.preference,
        PREFERENCE_SCORE.c.value,
        PREFERENCE_SCORE.c.scale,
        REVIEW.c.comparison_seen_id,
        REVIEW.c.note,
        REVIEW.c.at,
        REVIEW.c.seen,
        REVIEW.c.stage,
        REVIEW.c.queue_item_id,
    )
    .join(PREFERENCE_SCORE, PREFERENCE_SCORE.c.review_id == REVIEW.c.id)
    .join(REVIEWER, REVIEWER.c.id == REVIEW.c.reviewer_id)
    .where(standing())
)


def load_preferences(
    connection: Connection, pair_ids: Collection[int] | None = None, *, aspect: str | None = None
) -> list[StandingPreference]:
    """Return the standing preferences, one row per aspect, the oldest first.

    Args:
        connection: A transaction.
        pair_ids: Only those on these pairs; all where it is not given.
        aspect: Only those on this aspect.
    """
    query = _PREFERENCES.order_by(PREFERENCE_SCORE.c.id)
    if aspect is not None:
        query = query.where(PREFERENCE_SCORE.c.aspect == aspect)
    if pair_ids is None:
        return [_standing(row) for row in connection.execute(query)]
    ordered, found = sorted(set(pair_ids)), []
    for some in batches(ordered):
        found += [_standing(row) for row in connection.execute(query.where(REVIEW.c.pair_id.in_(some)))]
    return found


def own_preferences(connection: Connection, pair_id: int, reviewer_id: int, aspect: str) -> list[StandingPreference]:
    """Return the standing preferences of a person on one aspect of a pair that name a side, the oldest first.

    At most two were given here: one blind, one after the rest was revealed.
    """
    own = REVIEW.c.pair_id == pair_id, REVIEW.c.reviewer_id == reviewer_id, PREFERENCE_SCORE.c.aspect == aspect
    query = _PREFERENCES.where(*own, PREFERENCE_SCORE.c.preference.is_not(None)).order_by(REVIEW.c.id)
    return [_standing(row) for row in connection.execute(query)]


def saw_the_rest(connection: Connection, pair_id: int, reviewer_id: int) -> bool:
    """Whether gold, models, other people and the judge were ever revealed to a person on a pair.

    A review outside a queue reveals them, on whatever aspect; one in a queue does only where its author then looked.
    """
    preferred = exists().where(PREFERENCE_SCORE.c.review_id == REVIEW.c.id) | REVIEW.c.decision.is_not(None)
    query = (
        select(REVIEW.c.queue_item_id, REVIEW.c.seen, LEASE.c.revealed_at)
        .join(
            LEASE,
            and_(LEASE.c.queue_item_id == REVIEW.c.queue_item_id, LEASE.c.reviewer_id == reviewer_id),
            isouter=True,
        )
        .where(REVIEW.c.pair_id == pair_id, REVIEW.c.reviewer_id == reviewer_id, preferred)
    )
    return any(
        row.queue_item_id is None or row.seen or row.revealed_at is not None for row in connection.execute(query)
    )


def comparison_is_of(connection: Connection, comparison_id: int, pair_id: int) -> bool:
    """Whether a comparison is one of this pair."""
    found = select(COMPARISON.c.id).where(COMPARISON.c.id == comparison_id, COMPARISON.c.pair_id == pair_id)
    return connection.execute(found).first() is not None


def _land_batch(
    connection: Connection, preferences: Sequence[PreferenceOf], batch_id: int | None, now: datetime
) -> list[bool]:
    reviewers = imported_reviewers(connection, {each.given.annotator for each in preferences}, now)
    places = [(each.pair_id, reviewers[each.given.annotator], each.given.shown) for each in preferences]
    stands = _standing_at(connection, places)
    keys = [_request_key(each) for each in preferences]
    query = select(REVIEW.c.request_key).where(REVIEW.c.request_key.in_(keys))
    known_keys = set(connection.execute(query).scalars())
    new = [False] * len(preferences)
    left = [index for index, key in enumerate(keys) if key not in known_keys]
    while left:  # once, unless a person speaks of a pair several times: each word replaces the one before
        first: dict[_Place, int] = {}
        later = []
        for index in left:
            known = stands.get(places[index])
            if known is not None and _says_nothing_new(preferences[index].given, known):
                continue
            if places[index] in first:
                later.append(index)
            else:
                first[places[index]] = index
        if first:
            rows = [
                _row(preferences[index].given, place, keys[index], batch_id, now)
                | {"replaces": stands[place].id if place in stands else None}
                for place, index in first.items()
            ]
            returning = insert(REVIEW).returning(REVIEW.c.id, sort_by_parameter_order=True)
            ids = list(connection.execute(returning, rows).scalars())
            insert_preferences(
                connection, {id_: preferences[at].given.aspects for id_, at in zip(ids, first.values(), strict=True)}
            )
            for (place, index), id_ in zip(first.items(), ids, strict=True):
                stands[place] = _Stands(id_, dict(preferences[index].given.aspects), preferences[index].given.note)
                new[index] = True
        left = later
    return new


class _Stands(NamedTuple):
    id: int
    aspects: dict[str, AspectPreference]
    note: str | None


def _standing_at(connection: Connection, places: Collection[_Place]) -> dict[_Place, _Stands]:
    pair_ids = {pair_id for pair_id, _, _ in places}
    found: dict[_Place, _Stands] = {}
    for row in load_preferences(connection, pair_ids):
        one = found.setdefault((row.pair_id, row.reviewer_id, row.shown), _Stands(row.preference_id, {}, row.note))
        one.aspects[row.aspect] = AspectPreference(row.preference, row.value, row.scale)
    return found


def _says_nothing_new(given: GivenPreference, known: _Stands) -> bool:
    """Whether every part of what is given is part of what is known."""
    return given.note in {None, known.note} and all(
        aspect in known.aspects and _is_part(said, known.aspects[aspect]) for aspect, said in given.aspects.items()
    )


def _is_part(said: AspectPreference, known: AspectPreference) -> bool:
    names = ("preference", "value", "scale")
    return all(getattr(said, name) in {None, getattr(known, name)} for name in names)


def _row(given: GivenPreference, place: _Place, key: str, batch_id: int | None, now: datetime) -> dict[str, Any]:
    pair_id, reviewer_id, shown = place
    return {
        "pair_id": pair_id,
        "reviewer_id": reviewer_id,
        "shown": shown,
        "note": given.note,
        "request_key": key,
        "import_batch_id": batch_id,
        "at": given.at or now,
    }


def _request_key(preference: PreferenceOf) -> str:
    """A hash of the pair's names and what is said of it: the same preference has the same key in every file."""
    given = preference.given
    at = None if given.at is None else iso_z(given.at)
    aspects = {aspect: asdict(said) for aspect, said in given.aspects.items()}
    content = [preference.source, preference.external_id, given.annotator, given.shown, aspects, given.note, at]
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return f"import:{hashlib.sha256(text.encode()).hexdigest()}"


def _standing(row: Any) -> StandingPreference:
    return StandingPreference(
        preference_id=row.id,
        pair_id=row.pair_id,
        reviewer_id=row.reviewer_id,
        reviewer=row.name,
        origin=row.origin,
        shown=None if row.shown is None else Shown(row.shown),
        aspect=row.aspect,
        preference=None if row.preference is None else Preference(row.preference),
        value=row.value,
        scale=row.scale,
        comparison_seen_id=row.comparison_seen_id,
        note=row.note,
        at=row.at,
        blind=not row.seen,
        queue_item_id=row.queue_item_id,
        stage=None if row.stage is None else Stage(row.stage),
    )

"""Preferences of people in the store: which of two answers they find better, on which aspect; edits replace."""

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, FromClause, exists, insert, select

from judgeboard.domain import Preference, Shown, Stage
from judgeboard.pair_records import AspectPreference, GivenPreference
from judgeboard.store.reviews.imported_reviews import imported_reviewers
from judgeboard.store.schema.method_tables import PreferenceRow, PreferenceScoreRow
from judgeboard.store.schema.tables import ReviewerRow
from judgeboard.store.sql.batches import batches
from judgeboard.times import iso_z

PREFERENCE = PreferenceRow.__table__
SCORE = PreferenceScoreRow.__table__
REVIEWER = ReviewerRow.__table__

Aspects = Mapping[str, AspectPreference]
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


def standing_preference(preference: FromClause = PREFERENCE) -> ColumnElement[bool]:
    """Return the condition under which a row stands: neither replaced by a later one nor a withdrawal itself."""
    later = PREFERENCE.alias()
    return preference.c.withdrawn.is_(False) & ~exists(select(later.c.id).where(later.c.replaces == preference.c.id))


def load_preferences(
    connection: Connection, pair_ids: Collection[int] | None = None, *, aspect: str | None = None
) -> list[StandingPreference]:
    """Return the standing preferences, one row per aspect, the oldest first.

    Args:
        connection: A transaction.
        pair_ids: Only those on these pairs; all where it is not given.
        aspect: Only those on this aspect.
    """
    query = (
        select(
            PREFERENCE.c.id,
            PREFERENCE.c.pair_id,
            PREFERENCE.c.reviewer_id,
            REVIEWER.c.name,
            REVIEWER.c.origin,
            PREFERENCE.c.shown,
            SCORE.c.aspect,
            SCORE.c.preference,
            SCORE.c.value,
            SCORE.c.scale,
            PREFERENCE.c.comparison_seen_id,
            PREFERENCE.c.note,
            PREFERENCE.c.at,
            PREFERENCE.c.blind,
            PREFERENCE.c.stage,
        )
        .join(SCORE, SCORE.c.preference_id == PREFERENCE.c.id)
        .join(REVIEWER, REVIEWER.c.id == PREFERENCE.c.reviewer_id)
        .where(standing_preference())
        .order_by(SCORE.c.id)
    )
    if aspect is not None:
        query = query.where(SCORE.c.aspect == aspect)
    if pair_ids is None:
        return [_standing(row) for row in connection.execute(query)]
    ordered, found = sorted(set(pair_ids)), []
    for some in batches(ordered):
        found += [_standing(row) for row in connection.execute(query.where(PREFERENCE.c.pair_id.in_(some)))]
    return found


def insert_preferences(
    connection: Connection, rows: Sequence[Mapping[str, Any]], aspects: Sequence[Aspects]
) -> list[int]:
    """Insert preferences with what they say by aspect; return their ids in order."""
    returning = insert(PREFERENCE).returning(PREFERENCE.c.id, sort_by_parameter_order=True)
    ids = list(connection.execute(returning, list(rows)).scalars())
    scores = [
        {
            "preference_id": id_,
            "aspect": aspect,
            "preference": None if said.preference is None else said.preference.value,
            "value": said.value,
            "scale": said.scale,
        }
        for id_, given in zip(ids, aspects, strict=True)
        for aspect, said in given.items()
    ]
    if scores:
        connection.execute(insert(SCORE), scores)
    return ids


def _land_batch(
    connection: Connection, preferences: Sequence[PreferenceOf], batch_id: int | None, now: datetime
) -> list[bool]:
    reviewers = imported_reviewers(connection, {each.given.annotator for each in preferences}, now)
    places = [(each.pair_id, reviewers[each.given.annotator], each.given.shown) for each in preferences]
    stands = _standing_at(connection, places)
    keys = [_request_key(each) for each in preferences]
    query = select(PREFERENCE.c.request_key).where(PREFERENCE.c.request_key.in_(keys))
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
            said = [preferences[index].given.aspects for index in first.values()]
            for (place, index), id_ in zip(first.items(), insert_preferences(connection, rows, said), strict=True):
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
        blind=row.blind,
        stage=None if row.stage is None else Stage(row.stage),
    )

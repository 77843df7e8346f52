"""The preferences of people on pairs, and the facts of pairs that agreement reads beside them."""

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import Connection, Select, Subquery, and_, case, exists, func, insert, literal, select

from judgeboard.domain import OVERALL, AspectPreference, GivenPreference, Preference, Shown, Stage
from judgeboard.judges.pairwise import PAIRWISE
from judgeboard.judges.self_reference import SELF_REFERENCE
from judgeboard.stats.arrays import TIE, FloatArray, IntArray, among
from judgeboard.stats.arrays import TIE as SAME
from judgeboard.stats.both_orders import NONE, OrderVerdicts
from judgeboard.store.comparisons import BothOrders
from judgeboard.store.grades import imported_reviewers
from judgeboard.store.judge_versions import StoredVersion
from judgeboard.store.method_tables import COMPARISON, PAIR, PREFERENCE_SCORE
from judgeboard.store.queue_tables import LEASE
from judgeboard.store.reviews import insert_preferences, standing
from judgeboard.store.statements import TextColumn, batches, read_columns
from judgeboard.store.tables import CURRENT, JUDGMENT_SCORE, RESPONSE, REVIEW, REVIEWER
from judgeboard.text import iso_z

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


def store_preferences(
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
        new += _store_batch(connection, some, batch_id, now)
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


def _store_batch(
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


SIDES = ("", Preference.A.value, Preference.B.value, Preference.TIE.value)
"""What the positions in ``PairFacts.gold`` stand for; the first is no gold."""


@dataclass(frozen=True, slots=True, eq=False)
class PairFacts:
    """Columns of all pairs, by id."""

    ids: IntArray
    query_types: TextColumn
    sources: TextColumn
    gold: IntArray


def pair_facts(connection: Connection) -> PairFacts:
    """Return the facts of every pair; what a lead decided where people differed is gold before what the data says."""
    settled = _adjudications()
    known = func.coalesce(settled.c.preference, PAIR.c.gold)
    gold = case(*((known == side, literal(code)) for code, side in enumerate(SIDES) if side), else_=literal(0))
    query = (
        select(PAIR.c.id, PAIR.c.query_type, PAIR.c.source, gold)
        .join(settled, settled.c.pair_id == PAIR.c.id, isouter=True)
        .order_by(PAIR.c.id)
    )
    return PairFacts(*read_columns(connection, query))


def dimensions_of_version(connection: Connection, version_id: int) -> frozenset[str]:
    """Return the dimensions that a judge version's current verdicts score, on answers of any kind."""
    query = (
        select(JUDGMENT_SCORE.c.dimension)
        .join(CURRENT, CURRENT.c.judgment_id == JUDGMENT_SCORE.c.judgment_id)
        .where(CURRENT.c.judge_version_id == version_id, JUDGMENT_SCORE.c.value.is_not(None))
    )
    return frozenset(connection.execute(query.distinct()).scalars())


def score_differences(connection: Connection, version_id: int, dimension: str | None) -> tuple[IntArray, FloatArray]:
    """Return the pairs, by id, of which a version scored both answers, and its score of B less that of A.

    A side's score is that of the answer itself, else that of the logged answer it was taken from. Differences are
    rounded to 1e-9: float noise would make or break ties. Without ``dimension`` the score is the quality.
    """
    value = CURRENT.c.quality if dimension is None else JUDGMENT_SCORE.c.value
    scores = select(CURRENT.c.response_id, value).where(CURRENT.c.judge_version_id == version_id, value.is_not(None))
    if dimension is not None:
        scores = scores.join(JUDGMENT_SCORE, JUDGMENT_SCORE.c.judgment_id == CURRENT.c.judgment_id).where(
            JUDGMENT_SCORE.c.dimension == dimension
        )
    scored, values = read_columns(connection, scores.order_by(CURRENT.c.response_id))
    a, b = RESPONSE.alias(), RESPONSE.alias()
    sides = (
        select(
            PAIR.c.id, a.c.id, func.coalesce(a.c.derived_from, a.c.id), b.c.id, func.coalesce(b.c.derived_from, b.c.id)
        )
        .join(a, a.c.id == PAIR.c.response_a_id)
        .join(b, b.c.id == PAIR.c.response_b_id)
        .order_by(PAIR.c.id)
    )
    pairs, *answers = read_columns(connection, sides)
    of_a, of_b = (_score(own, origin, scored, values.astype(np.float64)) for own, origin in (answers[:2], answers[2:]))
    both = ~np.isnan(of_a) & ~np.isnan(of_b)
    return pairs[both], np.round((of_b - of_a)[both] / TIE) * TIE


def _adjudications() -> Subquery:
    """The last word on each pair that has one, the latest where several queues gave one."""
    latest = (
        select(REVIEW.c.pair_id, func.max(REVIEW.c.id).label("id"))
        .where(
            REVIEW.c.pair_id.is_not(None),
            REVIEW.c.queue_item_id.is_not(None),
            REVIEW.c.stage == Stage.ADJUDICATION.value,
            standing(),
        )
        .group_by(REVIEW.c.pair_id)
        .subquery()
    )
    said = PREFERENCE_SCORE.c.review_id == latest.c.id, PREFERENCE_SCORE.c.aspect == OVERALL
    return select(latest.c.pair_id, PREFERENCE_SCORE.c.preference).join(PREFERENCE_SCORE, and_(*said)).subquery()


def _score(own: IntArray, origin: IntArray, scored: IntArray, values: FloatArray) -> FloatArray:
    found: FloatArray = np.full(len(own), np.nan)
    for ids in (origin, own):
        rows = among(ids, scored)
        found[rows] = values[np.searchsorted(scored, ids[rows])]
    return found


TWO_ORDER_KINDS = frozenset({PAIRWISE, SELF_REFERENCE})
"""Judges of ours that ask in both orders: stopped between them, a pair is unmeasured and not asked in one order."""

_CODES = {Preference.A: 0, Preference.B: 1, Preference.TIE: 2, None: NONE}


def is_one_order(version: StoredVersion, rows: Iterable[BothOrders]) -> bool:
    """Whether a version was asked about each pair in one order only; ``rows`` are all that it was asked about."""
    return version.kind not in TWO_ORDER_KINDS and not any(row.asked_ab and row.asked_ba for row in rows)


def order_verdicts(rows: Sequence[BothOrders], *, one_order: bool) -> OrderVerdicts:
    """Return the verdicts of rows as the statistics read them."""
    return OrderVerdicts(codes(row.ab for row in rows), codes(row.ba for row in rows), one_order=one_order)


def codes(preferences: Iterable[Preference | None]) -> IntArray:
    """Return preferences as numbers; none is ``NONE``."""
    return np.array([_CODES[each] for each in preferences], dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Votes:
    """The voices on a pair and aspect; ``majority`` None where no answer (tie is one) has the most."""

    majority: Preference | None
    people: int


def votes_by_pair(standing: Iterable[StandingPreference]) -> Mapping[tuple[int, str], Votes]:
    """Return what people say of each (pair, aspect).

    A person has one voice, however often they spoke: what they said blind counts before what they said after the rest
    was revealed to them, then the latest. A grade counts for the side that it favours.
    """
    voices = voices_by_pair(standing)
    return {key: _votes([side_of(each) for each in of_person.values()]) for key, of_person in voices.items()}


def voices_by_pair(standing: Iterable[StandingPreference]) -> dict[tuple[int, str], dict[int, StandingPreference]]:
    """Return the one preference of each person (by id) that counts on each (pair, aspect)."""
    voices: dict[tuple[int, str], dict[int, StandingPreference]] = {}
    for each in standing:
        if each.stage is Stage.ADJUDICATION:  # gold, not a voice beside the others
            continue
        of_person = voices.setdefault((each.pair_id, each.aspect), {})
        known = of_person.get(each.reviewer_id)
        if known is None or _rank(each) > _rank(known):
            of_person[each.reviewer_id] = each
    return voices


def _rank(said: StandingPreference) -> tuple[bool, int]:
    return said.blind, said.preference_id


def side_of(said: StandingPreference) -> Preference:
    """Return the answer that somebody prefers: the side that they named, else the one that their grade favours."""
    if said.preference is not None:
        return said.preference
    value = said.value or 0.0
    return Preference.TIE if abs(value) < SAME else Preference.B if value > 0 else Preference.A


def _votes(sides: list[Preference]) -> Votes:
    (first, most), *others = Counter(sides).most_common()
    split = bool(others) and others[0][1] == most
    return Votes(None if split else first, len(sides))

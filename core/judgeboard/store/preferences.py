"""People's preferences on pairs, and the facts about pairs that agreement needs."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from itertools import chain
from typing import NamedTuple

import numpy as np
from sqlalchemy import Connection, and_, case, exists, func, literal, select

from judgeboard.domain import (
    OVERALL,
    GivenPreference,
    Preference,
    Shown,
    Stage,
)
from judgeboard.registry.judge_kinds import kind_of
from judgeboard.stats.arrays import TIE, FloatArray, IntArray, among
from judgeboard.stats.pair_orders import NONE, OrderVerdicts
from judgeboard.store.clock import utc_now
from judgeboard.store.comparisons import BothOrders, question_groups
from judgeboard.store.grades import (
    Restoring,
    current_imports,
    import_key,
    imported_reviewers,
    in_turns,
    known_keys,
    owner_of,
)
from judgeboard.store.reviews import Review, ReviewRecord, insert_reviews, is_current
from judgeboard.store.statements import (
    TextColumn,
    batches,
    columns_of,
    read_columns,
    record_of,
    rows_with,
)
from judgeboard.store.tables import (
    CURRENT,
    JUDGMENT_SCORE,
    LEASE,
    PAIR,
    PREFERENCE_SCORE,
    RESPONSE,
    REVIEW,
    REVIEWER,
    StoredVersion,
)
from judgeboard.text import iso_z


@dataclass(frozen=True, slots=True)
class ImportedPreference:
    """A person's preference from a file, with the external id and the source of the pair (neither changes).

    Until the pair is found, ``pair_id`` is 0, and ``source`` may be None. ``review`` has the other
    parts of an exported review.
    """

    external_id: str
    source: str | None
    preference: GivenPreference
    review: ReviewRecord | None = None
    pair_id: int = 0


class CurrentPreference(NamedTuple):
    """A person's preference on one aspect of a pair: a side, a grade on a scale (above 0: B is better), or both.

    ``blind`` means that gold, models, other people and judges were hidden from the person.
    """

    review_id: int
    pair_id: int
    reviewer_id: int
    reviewer: str
    origin: str
    shown: Shown | None
    aspect: str
    preference: Preference | None
    value: float | None
    scale: str | None
    at: datetime | None = None
    blind: bool = True
    stage: Stage | None = None


def store_preferences(
    connection: Connection,
    preferences: Sequence[ImportedPreference],
    batch_id: int | None = None,
    now: datetime | None = None,
) -> list[bool]:
    """Store preferences of imported people; return whether each is new.

    A person has one preference per pair and order shown. A preference that adds nothing to the
    current preference is not new. Any other preference replaces the current one.
    """
    now = now or utc_now()
    new: list[bool] = []
    for batch in batches(preferences):
        reviewers = imported_reviewers(connection, {each.preference.annotator for each in batch})
        reviews = [review_of_preference(each, reviewers, batch_id, now) for each in batch]
        owners = [(*owner_of(each), each.shown) for each in reviews]
        imports = chain.from_iterable(current_imports(connection, reviews).values())
        by_owner = {(*owner_of(each), each.shown): each for each in imports}
        # A preference that was stored before counts again only if it was changed since.
        keys = known_keys(connection, [review.request_key for review in reviews])
        if keys:
            restoring = Restoring.of_import(connection, batch_id)
            for index, review in enumerate(reviews):
                if review.request_key in keys and (last := by_owner.get(owners[index])) is not None:
                    reviews[index] = restoring.restored(review, [last]) or review
        # Store what adds something. A turn has one preference per person, pair and order shown.
        is_new = [False] * len(reviews)
        indexes = [index for index, review in enumerate(reviews) if review.request_key not in keys]
        for turn in in_turns(indexes, owners.__getitem__):
            new_reviews: dict[int, Review] = {}
            for index in turn:
                last = by_owner.get(owners[index])
                if last is None or _adds(reviews[index], last):
                    new_reviews[index] = replace(
                        reviews[index], replaces=None if last is None else last.id
                    )
            for index, id_ in zip(
                new_reviews, insert_reviews(connection, list(new_reviews.values())), strict=True
            ):
                by_owner[owners[index]] = replace(reviews[index], id=id_)
                is_new[index] = True
        new += is_new
    return new


def load_preferences(
    connection: Connection, pair_ids: Collection[int] | None = None
) -> list[CurrentPreference]:
    """Return the current preferences on these pairs (default: all), the oldest first."""
    query = (
        select(
            *columns_of(CurrentPreference, PREFERENCE_SCORE, REVIEW, REVIEWER),
            REVIEWER.c.name.label("reviewer"),
            REVIEW.c.seen,
        )
        .select_from(REVIEW)
        .join(PREFERENCE_SCORE, PREFERENCE_SCORE.c.review_id == REVIEW.c.id)
        .join(REVIEWER, REVIEWER.c.id == REVIEW.c.reviewer_id)
        .where(is_current())
        .order_by(PREFERENCE_SCORE.c.id)
    )
    rows = rows_with(connection, query, REVIEW.c.pair_id, pair_ids)
    return [record_of(CurrentPreference, row, blind=not row.seen) for row in rows]


def saw_hidden_parts(connection: Connection, pair_id: int, reviewer_id: int) -> bool:
    """Return whether gold, models, other people and the judge were ever revealed to a person on a pair.

    A review outside a queue always reveals these parts. A review in a queue reveals these parts
    only if the reviewer looked afterwards.
    """
    has_preference = exists().where(
        PREFERENCE_SCORE.c.review_id == REVIEW.c.id
    ) | REVIEW.c.decision.is_not(None)
    query = (
        select(REVIEW.c.queue_item_id, REVIEW.c.seen, LEASE.c.revealed_at)
        .outerjoin(
            LEASE,
            and_(
                LEASE.c.queue_item_id == REVIEW.c.queue_item_id, LEASE.c.reviewer_id == reviewer_id
            ),
        )
        .where(REVIEW.c.pair_id == pair_id, REVIEW.c.reviewer_id == reviewer_id, has_preference)
    )
    return any(
        row.queue_item_id is None or row.seen or row.revealed_at is not None
        for row in connection.execute(query)
    )


def review_of_preference(
    preference: ImportedPreference,
    reviewers: Mapping[str, int],
    batch_id: int | None,
    now: datetime,
) -> Review:
    """Return the review of an imported preference; ``reviewers`` has the ids of people by name."""
    choice = preference.preference
    # The names of the pair and the content: the same preference has the same key in every file.
    content: list[object] = [
        preference.source,
        preference.external_id,
        choice.annotator,
        choice.shown,
        {aspect: asdict(part) for aspect, part in choice.aspects.items()},
        choice.grade.note,
        None if choice.at is None else iso_z(choice.at),
    ]
    other_notes = {name: text for name, text in choice.grade.notes.items() if name != "note"}
    if other_notes:
        content.append(other_notes)
    if preference.review:
        content.append(preference.review.content)
    return Review(
        reviewer_id=reviewers[choice.annotator],
        request_key=import_key(content),
        at=choice.at or now,
        pair_id=preference.pair_id,
        grade=choice.grade,
        preferences=choice.aspects,
        shown=choice.shown,
        import_batch_id=batch_id,
        **(preference.review.columns if preference.review else {}),
    )


def _adds(review: Review, current: Review) -> bool:
    """Return whether a review has any part that the current review does not have."""
    return not review.grade.notes.items() <= current.grade.notes.items() or any(
        aspect not in current.preferences
        or any(
            value not in {None, getattr(current.preferences[aspect], name)}
            for name, value in asdict(part).items()
        )
        for aspect, part in review.preferences.items()
    )


SIDES = ("", Preference.A.value, Preference.B.value, Preference.TIE.value)
"""``PairFacts.gold`` has indexes of this list; 0 means no gold label."""


@dataclass(frozen=True, slots=True, eq=False)
class PairFacts:
    """Columns of all pairs, by id; ``questions`` are equal for pairs about one question."""

    ids: IntArray
    query_types: TextColumn
    sources: TextColumn
    gold: IntArray
    questions: IntArray


def pair_facts(connection: Connection) -> PairFacts:
    """Return the facts of every pair; an adjudication is preferred to the gold label of the data."""
    # The adjudication of each pair that has one; the latest if several queues have one.
    latest = (
        select(REVIEW.c.pair_id, func.max(REVIEW.c.id).label("id"))
        .where(
            REVIEW.c.pair_id.is_not(None),
            REVIEW.c.queue_item_id.is_not(None),
            REVIEW.c.stage == Stage.ADJUDICATION,
            is_current(),
        )
        .group_by(REVIEW.c.pair_id)
        .subquery()
    )
    conditions = PREFERENCE_SCORE.c.review_id == latest.c.id, PREFERENCE_SCORE.c.aspect == OVERALL
    adjudications = (
        select(latest.c.pair_id, PREFERENCE_SCORE.c.preference)
        .join(PREFERENCE_SCORE, and_(*conditions))
        .subquery()
    )
    gold_side = func.coalesce(adjudications.c.preference, PAIR.c.gold)
    gold = case(
        *((gold_side == side, literal(code)) for code, side in enumerate(SIDES) if side),
        else_=literal(0),
    )
    query = (
        select(PAIR.c.id, PAIR.c.query_type, PAIR.c.source, gold)
        .join(adjudications, adjudications.c.pair_id == PAIR.c.id, isouter=True)
        .order_by(PAIR.c.id)
    )
    ids, query_types, sources, preferences = read_columns(connection, query)
    questions = question_groups(connection)
    groups = np.array([questions[id_] for id_ in ids.tolist()], dtype=np.int64)
    return PairFacts(ids, query_types, sources, preferences, groups)


def dimensions_of_version(connection: Connection, version_id: int) -> frozenset[str]:
    """Return the dimensions that a judge version's current verdicts score, on answers of any kind."""
    query = (
        select(JUDGMENT_SCORE.c.dimension)
        .join(CURRENT, CURRENT.c.judgment_id == JUDGMENT_SCORE.c.judgment_id)
        .where(CURRENT.c.judge_version_id == version_id, JUDGMENT_SCORE.c.value.is_not(None))
    )
    return frozenset(connection.scalars(query.distinct()))


def score_differences(
    connection: Connection, version_id: int, dimension: str | None
) -> tuple[IntArray, FloatArray]:
    """Return the pairs, by id, whose two answers a version scored, and the score of B minus the score of A.

    The score of a side is the score of the answer itself, otherwise the score of the logged answer
    from which it is derived. Differences are rounded to 1e-9, because float noise would make or
    break ties. Without ``dimension`` the score is the quality.
    """
    value = CURRENT.c.quality if dimension is None else JUDGMENT_SCORE.c.value
    scores = select(CURRENT.c.response_id, value).where(
        CURRENT.c.judge_version_id == version_id, value.is_not(None)
    )
    if dimension is not None:
        scores = scores.join(
            JUDGMENT_SCORE, JUDGMENT_SCORE.c.judgment_id == CURRENT.c.judgment_id
        ).where(JUDGMENT_SCORE.c.dimension == dimension)
    scored_ids, values = read_columns(connection, scores.order_by(CURRENT.c.response_id))
    a, b = RESPONSE.alias(), RESPONSE.alias()
    sides = (
        select(
            PAIR.c.id,
            a.c.id,
            func.coalesce(a.c.derived_from, a.c.id),
            b.c.id,
            func.coalesce(b.c.derived_from, b.c.id),
        )
        .join(a, a.c.id == PAIR.c.response_a_id)
        .join(b, b.c.id == PAIR.c.response_b_id)
        .order_by(PAIR.c.id)
    )
    pairs, *answers = read_columns(connection, sides)
    of_a, of_b = (
        _score(own, origin, scored_ids, values.astype(np.float64))
        for own, origin in (answers[:2], answers[2:])
    )
    has_both = ~np.isnan(of_a) & ~np.isnan(of_b)
    return pairs[has_both], np.round((of_b - of_a)[has_both] / TIE) * TIE


def _score(own: IntArray, origin: IntArray, scored_ids: IntArray, values: FloatArray) -> FloatArray:
    scores: FloatArray = np.full(len(own), np.nan)
    for ids in (origin, own):
        rows = among(ids, scored_ids)
        scores[rows] = values[np.searchsorted(scored_ids, ids[rows])]
    return scores


_CODES = {Preference.A: 0, Preference.B: 1, Preference.TIE: 2, None: NONE}


def is_one_order(version: StoredVersion, rows: Iterable[BothOrders]) -> bool:
    """Return whether a version was asked about each pair in one order only; ``rows`` are all pairs of the version."""
    return not kind_of(version.kind).two_orders and not any(
        row.asked_ab and row.asked_ba for row in rows
    )


def order_verdicts(rows: Sequence[BothOrders], *, one_order: bool) -> OrderVerdicts:
    """Return the verdicts of rows in the form that the statistics need."""
    questions = np.array([row.question for row in rows], dtype=np.int64)
    ab, ba = codes(row.ab for row in rows), codes(row.ba for row in rows)
    return OrderVerdicts(ab, ba, one_order=one_order, questions=questions)


def codes(preferences: Iterable[Preference | None]) -> IntArray:
    """Return preferences as numbers; None becomes ``NONE``."""
    return np.array([_CODES[each] for each in preferences], dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Votes:
    """The preferences of people on a pair and aspect; ``majority`` is None if no side (or tie) has the most."""

    majority: Preference | None
    people: int


def votes_by_pair(preferences: Iterable[CurrentPreference]) -> Mapping[tuple[int, str], Votes]:
    """Return the preferences of people on each (pair, aspect).

    One preference counts per person: the latest blind preference, otherwise the latest. A grade
    counts for the favoured side.
    """
    votes = {}
    for key, by_person in counted_preferences(preferences).items():
        sides = [side_of(each) for each in by_person.values()]
        (first, most), *others = Counter(sides).most_common()
        is_tied = bool(others) and others[0][1] == most
        votes[key] = Votes(None if is_tied else first, len(sides))
    return votes


def counted_preferences(
    preferences: Iterable[CurrentPreference],
) -> dict[tuple[int, str], dict[int, CurrentPreference]]:
    """Return the one preference of each person (by id) that counts on each (pair, aspect)."""
    by_pair: dict[tuple[int, str], dict[int, CurrentPreference]] = {}
    for each in preferences:
        if each.stage is Stage.ADJUDICATION:  # an adjudication is gold, not one of the votes
            continue
        of_person = by_pair.setdefault((each.pair_id, each.aspect), {})
        vote = of_person.get(each.reviewer_id)
        if vote is None or (each.blind, each.review_id) > (vote.blind, vote.review_id):
            of_person[each.reviewer_id] = each
    return by_pair


def side_of(preference: CurrentPreference) -> Preference:
    """Return the preferred answer: the side that the person named, otherwise the side that the grade favours."""
    if preference.preference is not None:
        return preference.preference
    value = preference.value or 0.0
    return Preference.TIE if abs(value) < TIE else Preference.B if value > 0 else Preference.A

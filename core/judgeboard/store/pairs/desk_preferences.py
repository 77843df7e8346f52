"""Preferences that people give at the desk: found by their request, and by whom they replace."""

from typing import NamedTuple

from sqlalchemy import Connection, and_, exists, select

from judgeboard.domain import Preference, Shown
from judgeboard.errors import NotFound
from judgeboard.store.pairs.preferences import standing_preference
from judgeboard.store.queues.leases import LEASE
from judgeboard.store.schema.method_tables import ComparisonRow, PairRow, PreferenceRow, PreferenceScoreRow

PAIR = PairRow.__table__
COMPARISON = ComparisonRow.__table__
PREFERENCE = PreferenceRow.__table__
SCORE = PreferenceScoreRow.__table__


class DeskPreference(NamedTuple):
    """A person's preference on one aspect of a pair, as it was given at the desk."""

    id: int
    pair_id: int
    reviewer_id: int
    aspect: str
    preference: Preference
    shown: Shown | None
    comparison_seen_id: int | None
    blind: bool
    queue_item_id: int | None = None


_COLUMNS = (
    PREFERENCE.c.id,
    PREFERENCE.c.pair_id,
    PREFERENCE.c.reviewer_id,
    SCORE.c.aspect,
    SCORE.c.preference,
    PREFERENCE.c.shown,
    PREFERENCE.c.comparison_seen_id,
    PREFERENCE.c.blind,
    PREFERENCE.c.queue_item_id,
)
_GIVEN = select(*_COLUMNS).join(SCORE, SCORE.c.preference_id == PREFERENCE.c.id).where(SCORE.c.preference.is_not(None))


def lock_pair(connection: Connection, pair_id: int) -> None:
    """Hold a pair, so that two presses on it come one after the other.

    Raises:
        NotFound: No such pair.
    """
    query = select(PAIR.c.id).where(PAIR.c.id == pair_id).with_for_update()
    if connection.execute(query).first() is None:
        raise NotFound(f"no pair {pair_id}")


def preference_by_key(connection: Connection, request_key: str) -> DeskPreference | None:
    """Return the preference that a request wrote, None where it wrote none."""
    row = connection.execute(_GIVEN.where(PREFERENCE.c.request_key == request_key)).first()
    return None if row is None else _read(*row)


def preference_by_id(connection: Connection, preference_id: int) -> DeskPreference | None:
    """Return a preference of the desk, a withdrawn or replaced one too, None where there is none of this id."""
    row = connection.execute(_GIVEN.where(PREFERENCE.c.id == preference_id)).first()
    return None if row is None else _read(*row)


def has_replacement(connection: Connection, preference_id: int) -> bool:
    """Whether a later row replaces a preference or takes it back."""
    return connection.execute(select(exists().where(PREFERENCE.c.replaces == preference_id))).scalar_one()


def row_by_key(connection: Connection, request_key: str) -> tuple[int, int | None] | None:
    """Return the id of the row that a request wrote, a draft or a withdrawal too, and which one that replaces."""
    query = select(PREFERENCE.c.id, PREFERENCE.c.replaces).where(PREFERENCE.c.request_key == request_key)
    row = connection.execute(query).one_or_none()
    return None if row is None else (row.id, row.replaces)


def own_preferences(connection: Connection, pair_id: int, reviewer_id: int, aspect: str) -> list[DeskPreference]:
    """Return what stands of a person on one aspect of a pair, the oldest first.

    At most two are from the desk: one given blind, one after the rest was revealed.
    """
    query = _GIVEN.where(
        PREFERENCE.c.pair_id == pair_id,
        PREFERENCE.c.reviewer_id == reviewer_id,
        SCORE.c.aspect == aspect,
        standing_preference(),
    )
    return [_read(*row) for row in connection.execute(query.order_by(PREFERENCE.c.id))]


def saw_the_rest(connection: Connection, pair_id: int, reviewer_id: int) -> bool:
    """Whether gold, models, other people and the judge were ever revealed to a person on a pair.

    A word outside a queue reveals them, on whatever aspect; one in a queue does only where its author then looked.
    """
    said = exists().where(SCORE.c.preference_id == PREFERENCE.c.id)
    query = (
        select(PREFERENCE.c.queue_item_id, PREFERENCE.c.seen, LEASE.c.revealed_at)
        .join(
            LEASE,
            and_(LEASE.c.queue_item_id == PREFERENCE.c.queue_item_id, LEASE.c.reviewer_id == reviewer_id),
            isouter=True,
        )
        .where(PREFERENCE.c.pair_id == pair_id, PREFERENCE.c.reviewer_id == reviewer_id, said | PREFERENCE.c.withdrawn)
    )
    return any(
        row.queue_item_id is None or row.seen or row.revealed_at is not None for row in connection.execute(query)
    )


def comparison_is_of(connection: Connection, comparison_id: int, pair_id: int) -> bool:
    """Whether a comparison is one of this pair."""
    found = select(COMPARISON.c.id).where(COMPARISON.c.id == comparison_id, COMPARISON.c.pair_id == pair_id)
    return connection.execute(found).first() is not None


def _read(
    id_: int,
    pair_id: int,
    reviewer_id: int,
    aspect: str,
    preference: str,
    shown: str | None,
    seen: int | None,
    blind: bool,
    queue_item_id: int | None,
) -> DeskPreference:
    order = None if shown is None else Shown(shown)
    return DeskPreference(id_, pair_id, reviewer_id, aspect, Preference(preference), order, seen, blind, queue_item_id)

"""Preferences that people give at the desk: found by their request, and by whom they replace."""

from typing import NamedTuple

from sqlalchemy import Connection, select

from judgeboard.domain import Preference, Shown
from judgeboard.errors import NotFound
from judgeboard.store.pairs.preferences import standing_preference
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


_COLUMNS = (
    PREFERENCE.c.id,
    PREFERENCE.c.pair_id,
    PREFERENCE.c.reviewer_id,
    SCORE.c.aspect,
    SCORE.c.preference,
    PREFERENCE.c.shown,
    PREFERENCE.c.comparison_seen_id,
    PREFERENCE.c.blind,
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


def has_spoken(connection: Connection, pair_id: int, reviewer_id: int) -> bool:
    """Whether a person has ever spoken of a pair, on any aspect: all of it was revealed to them then."""
    query = select(PREFERENCE.c.id).where(PREFERENCE.c.pair_id == pair_id, PREFERENCE.c.reviewer_id == reviewer_id)
    return connection.execute(query.limit(1)).first() is not None


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
) -> DeskPreference:
    order = None if shown is None else Shown(shown)
    return DeskPreference(id_, pair_id, reviewer_id, aspect, Preference(preference), order, seen, blind)

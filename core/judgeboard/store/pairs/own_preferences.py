"""What one person said of pairs: their preferences that stand, newest first."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from sqlalchemy import Connection, select

from judgeboard.domain import Preference, Shown
from judgeboard.store.listing import KeyedList, LinePage, Order
from judgeboard.store.pairs.preferences import standing_preference
from judgeboard.store.responses.text_starts import text_start
from judgeboard.store.schema.method_tables import PairRow, PreferenceRow, PreferenceScoreRow
from judgeboard.store.schema.queue_tables import QueueItemRow, QueueRow

PAIR = PairRow.__table__
PREFERENCE = PreferenceRow.__table__
SCORE = PreferenceScoreRow.__table__
ITEM = QueueItemRow.__table__
QUEUE = QueueRow.__table__

NEWEST = Order(
    "preferred",
    "newest first",
    PREFERENCE.c.id,
    PREFERENCE.c.id,
    "ix_preference_reviewer",
    descending=True,
    id_descending=True,
)


@dataclass(frozen=True, slots=True)
class OwnPreference:
    """A preference in the list; ``said`` by aspect in terms of the stored answers, ``shown`` which stood on the left.

    Nothing is said where a decision was refused and only its note was kept. ``queue`` is the named queue that it was
    given in.
    """

    preference_id: int
    pair_id: int
    query_type: str | None
    question: str | None
    said: dict[str, Preference]
    shown: Shown | None
    queue: str | None
    note: str | None
    seconds: float | None
    at: datetime


def has_preferences(connection: Connection, reviewer_id: int) -> bool:
    """Whether a person ever said anything of a pair."""
    query = select(PREFERENCE.c.id).where(PREFERENCE.c.reviewer_id == reviewer_id).limit(1)
    return connection.execute(query).first() is not None


def own_preferences_page(
    connection: Connection, reviewer_id: int, *, after: str | None = None, before: str | None = None, limit: int = 50
) -> LinePage[OwnPreference]:
    """Return the preferences of a person that stand: behind ``after``, before ``before``, or the newest.

    Raises:
        BadInput: A key names no place.
    """
    own = [PREFERENCE.c.reviewer_id == reviewer_id, standing_preference()]
    listed = KeyedList(connection, PREFERENCE, NEWEST, own=own, count_index=NEWEST.index)
    return listed.page(after, before, limit, partial(_lines, connection))


def _lines(connection: Connection, preference_ids: Sequence[int]) -> tuple[OwnPreference, ...]:
    query = (
        select(
            PREFERENCE.c.id,
            PREFERENCE.c.pair_id,
            PAIR.c.query_type,
            text_start(PAIR.c.question).label("question"),
            PREFERENCE.c.shown,
            QUEUE.c.name.label("queue"),
            *(PREFERENCE.c[name] for name in ("note", "seconds", "at")),
        )
        .join(PAIR, PAIR.c.id == PREFERENCE.c.pair_id)
        .outerjoin(ITEM, ITEM.c.id == PREFERENCE.c.queue_item_id)
        .outerjoin(QUEUE, QUEUE.c.id == ITEM.c.queue_id)
        .where(PREFERENCE.c.id.in_(preference_ids))
    )
    said = _said(connection, preference_ids)
    by_id = {
        row.id: OwnPreference(
            preference_id=row.id,
            pair_id=row.pair_id,
            query_type=row.query_type,
            question=row.question,
            said=said.get(row.id, {}),
            shown=None if row.shown is None else Shown(row.shown),
            queue=row.queue,
            note=row.note,
            seconds=row.seconds,
            at=row.at,
        )
        for row in connection.execute(query)
    }
    return tuple(by_id[one] for one in preference_ids)


def _said(connection: Connection, preference_ids: Sequence[int]) -> dict[int, dict[str, Preference]]:
    query = (
        select(SCORE.c.preference_id, SCORE.c.aspect, SCORE.c.preference)
        .where(SCORE.c.preference_id.in_(preference_ids), SCORE.c.preference.is_not(None))
        .order_by(SCORE.c.id)
    )
    said: dict[int, dict[str, Preference]] = {}
    for preference_id, aspect, preference in connection.execute(query):
        said.setdefault(preference_id, {})[aspect] = Preference(preference)
    return said

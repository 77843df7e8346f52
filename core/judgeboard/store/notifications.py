"""Notifications of a person, read from events: queues assigned to them, conflicts on their items, mentions of them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, or_, select, update

from judgeboard.store.tables import EVENT, RESPONSE, REVIEWER

CONFLICT, MENTION = "conflict", "mention"
ASSIGNED = ("make_queue", "assign_queue")
LATEST = 200  # events of a kind that are read for a list


@dataclass(frozen=True, slots=True)
class Notification:
    """An event that concerns a person: what it is about, by whom, and whether they have read it.

    ``kind`` is assigned, conflict or mention. ``queue`` is the name of a queue, ``item`` that of a conflict.
    """

    id: int
    kind: str
    actor: str
    at: datetime
    response_id: int | None
    response: str | None
    queue: str | None
    item: int | None
    read: bool


def notifications(connection: Connection, reviewer_id: int, *, limit: int = 20) -> list[Notification]:
    """Return a person's notifications, the newest first, without those of hidden answers."""
    read_until = select(REVIEWER.c.notified_until).where(REVIEWER.c.id == reviewer_id)
    until = connection.execute(read_until).scalar_one_or_none() or 0
    latest = (
        select(EVENT, RESPONSE.c.external_id)
        .outerjoin(RESPONSE, RESPONSE.c.id == EVENT.c.response_id)
        .order_by(EVENT.c.id.desc())
        .limit(LATEST)
    )
    listed = []
    for kind in (*ASSIGNED, CONFLICT, MENTION):  # one after the other: each reads the end of an index
        for row in connection.execute(latest.where(EVENT.c.kind == kind)):
            details = row.details
            if reviewer_id in details.get("people", details.get("assigned_to", ())):
                about = (row.response_id, row.external_id, details.get("queue"), details.get("item"))
                words = "assigned" if kind in ASSIGNED else kind
                listed.append(Notification(row.id, words, row.actor, row.at, *about, read=row.id <= until))
    return sorted(listed, key=lambda each: -each.id)[:limit]


def mark_read(connection: Connection, reviewer_id: int, until: int) -> None:
    """Store that a person has read their notifications up to this event."""
    unread = or_(REVIEWER.c.notified_until.is_(None), REVIEWER.c.notified_until < until)
    connection.execute(update(REVIEWER).where(REVIEWER.c.id == reviewer_id, unread).values(notified_until=until))


def mentioned(text: str, names: Mapping[int, str]) -> list[int]:
    """Return the people (by id) whom a text mentions: "@ann", "@Ann Lee", or "@ann" for ann@example.org.

    The longest name counts: "@Ann Lee" does not mention Ann.
    """
    handles = [
        (handle, id_) for id_, name in names.items() for handle in {name.casefold(), name.casefold().split("@")[0]}
    ]
    handles.sort(key=lambda handle: -len(handle[0]))
    folded, people = text.casefold(), set()
    for handle, id_ in handles:
        pattern = rf"(?<!\w)@{re.escape(handle)}(?!\w)"
        if re.search(pattern, folded):
            people |= {other for same, other in handles if same == handle} | {id_}
            folded = re.sub(pattern, " ", folded)
    return sorted(people)

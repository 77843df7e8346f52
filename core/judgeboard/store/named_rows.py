"""Finds answers, flags, queues and people by the start of their name or by their number."""

from dataclasses import dataclass
from typing import Literal

from sqlalchemy import Connection, exists, or_, select

from judgeboard.store.tables import FLAG, QUEUE, QUEUE_ASSIGNMENT, RESPONSE, REVIEWER

MOST = 5  # of each kind
_READ = 20  # names that are read in index order; only names with the right start are kept


@dataclass(frozen=True, slots=True)
class NamedRow:
    """An answer, flag, queue or person; ``about`` distinguishes rows with the same name."""

    kind: Literal["answer", "flag", "queue", "person"]
    id: int
    name: str
    about: str


def named_rows(connection: Connection, text: str, *, reviewer_id: int | None, all_queues: bool) -> list[NamedRow]:
    """Return the rows whose id or name matches a text: at most five of each kind, without hidden rows.

    Without ``all_queues``, only queues that are assigned to nobody or to the reviewer are searched. External ids match
    by their start, because an index finds them; queues and people match anywhere in their name.
    """
    text = text.strip()
    if not text:
        return []
    number = int(text) if text.isascii() and text.isdecimal() and len(text) <= 18 else None
    rows = _answers(connection, text, number)
    if number is not None:
        flag = select(FLAG.c.id, FLAG.c.rule, RESPONSE.c.external_id).join(
            RESPONSE, RESPONSE.c.id == FLAG.c.response_id
        )
        flags = connection.execute(flag.where(FLAG.c.id == number)).all()
        rows += [NamedRow("flag", row.id, f"Flag {row.id}", f"{row.rule}, {row.external_id}") for row in flags]
    queue = select(QUEUE.c.id, QUEUE.c.name, QUEUE.c.state).where(QUEUE.c.name.icontains(text, autoescape=True))
    if not all_queues:
        assigned = QUEUE_ASSIGNMENT.c.queue_id == QUEUE.c.id
        own = exists(select(QUEUE_ASSIGNMENT.c.queue_id).where(assigned, QUEUE_ASSIGNMENT.c.reviewer_id == reviewer_id))
        queue = queue.where(or_(~exists(select(QUEUE_ASSIGNMENT.c.queue_id).where(assigned)), own))
    queues = connection.execute(queue.order_by(QUEUE.c.id.desc()).limit(MOST)).all()
    rows += [NamedRow("queue", row.id, row.name, f"queue, {row.state}") for row in queues]
    person = select(REVIEWER.c.id, REVIEWER.c.name).where(REVIEWER.c.name.icontains(text, autoescape=True))
    people = connection.execute(person.order_by(REVIEWER.c.id).limit(MOST)).all()
    return rows + [NamedRow("person", row.id, row.name, "person") for row in people]


def _answers(connection: Connection, text: str, number: int | None) -> list[NamedRow]:
    columns = select(RESPONSE.c.id, RESPONSE.c.external_id, RESPONSE.c.source)
    matching = columns.where(RESPONSE.c.external_id >= text).order_by(RESPONSE.c.external_id).limit(_READ)
    rows = [row for row in connection.execute(matching) if row.external_id.startswith(text)][:MOST]
    if number is not None:
        rows += connection.execute(columns.where(RESPONSE.c.id == number)).all()
    ids = {row.id: NamedRow("answer", row.id, row.external_id, f"answer {row.id}, {row.source}") for row in rows}
    return list(ids.values())

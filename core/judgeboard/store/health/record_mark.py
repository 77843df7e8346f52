"""What tells that the record of a judge version may have changed: the highest ids of all that it is made of."""

from sqlalchemy import Connection, func, select

from judgeboard.store.schema.method_tables import COMPARISON, JUDGMENT_REVIEW, SAMPLE
from judgeboard.store.schema.tables import EVENT, FEEDBACK, JUDGMENT, RESPONSE, REVIEW, SETTING

# All of them only ever grow; what is forgotten leaves an event.
_MADE_OF = (
    JUDGMENT,
    COMPARISON,
    SAMPLE,
    JUDGMENT_REVIEW,
    RESPONSE,
    FEEDBACK,
    REVIEW,
    SETTING,
    EVENT,
)

RecordMark = tuple[int, ...]


def record_mark(connection: Connection) -> RecordMark:
    """Return the highest id of each table; where it is the same, so are the figures of every judge version."""
    highest = (select(func.max(table.c.id)).scalar_subquery() for table in _MADE_OF)
    return tuple(each or 0 for each in connection.execute(select(*highest)).one())

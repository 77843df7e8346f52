"""Which answers changed since a process last looked.

Triggers write a row for each change in its own transaction (`triggers`). On PostgreSQL, ids are not
given in the order in which transactions end: so rows are read from the oldest transaction on that
had not ended at the last look.
"""

from sqlalchemy import BigInteger, Connection, String, cast, func, select

from judgeboard.store.statements import number_of
from judgeboard.store.tables import CHANGE


class Changes:
    """Returns the changes since the last look, each once, beginning with the first look."""

    def __init__(self) -> None:
        self._from: int | None = (
            None  # the first id (SQLite) or transaction (PostgreSQL) that is not read to the end
        )
        self._read_ids: set[int] = set()  # the ids that were read from there on

    def new(self, connection: Connection) -> set[int | None] | None:
        """Return the ids of the answers that changed; None if the connection reads an older state than the last look.

        0 stands for what figures read beside answers, None for all answers.
        """
        if connection.dialect.name == "sqlite":
            place, end = CHANGE.c.id, select(func.coalesce(func.max(CHANGE.c.id), 0) + 1)
        else:
            oldest = func.pg_snapshot_xmin(func.pg_current_snapshot())
            place, end = CHANGE.c.writer, select(cast(cast(oldest, String), BigInteger))
        # The end is read first: what is committed between the two statements is then only read
        # again.
        upto = number_of(connection, end)
        if self._from is None:
            self._from = upto
        if upto < self._from:
            return None
        rows = connection.execute(
            select(CHANGE.c.id, CHANGE.c.response_id, place.label("place")).where(
                place >= self._from
            )
        ).all()
        new = {row.response_id for row in rows if row.id not in self._read_ids}
        self._from, self._read_ids = upto, {row.id for row in rows if row.place >= upto}
        return new

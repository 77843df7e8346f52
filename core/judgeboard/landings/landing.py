"""What every kind of import lands by: whole batches, with what became of their rows."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from sqlalchemy import Connection


@dataclass(frozen=True, slots=True)
class Problem:
    """Why the record at ``index`` of a batch did not come in."""

    index: int
    field: str | None
    reason: str
    conflict: bool = False


@dataclass(slots=True)
class Landed:
    """What became of one batch."""

    new: int = 0
    unchanged: int = 0
    feedback_added: int = 0
    problems: list[Problem] = field(default_factory=list)


class Landing(Protocol):
    """Stores batches of one kind of record, in the order of the file."""

    def land(self, connection: Connection, records: Sequence[Any], batch_id: int, now: datetime) -> Landed:
        """Store what is new in the caller's transaction."""
        ...

    def finish(self, connection: Connection, now: datetime) -> int:
        """Store what only the whole file tells and close what was opened for it; return how many rows that brought in.

        These rows were counted as unchanged before.
        """
        ...

    def shown(self, record: Any) -> Any:
        """Return a record as it goes among the rejected rows."""
        ...


class Landings:
    """Rows of one batch on their way: what is new, what was refused; the rest is unchanged."""

    def __init__(self, rows: int) -> None:
        self._rows = rows
        self.new: set[int] = set()
        self.problems: dict[int, Problem] = {}

    def refuse(self, index: int, field_: str | None, reason: str, *, conflict: bool = False) -> None:
        """Note why a row cannot come in; the first reason stays."""
        self.problems.setdefault(index, Problem(index, field_, reason, conflict=conflict))

    def landed(self) -> Landed:
        """Return the counts: a row with a problem is neither new nor unchanged."""
        new = len(self.new - self.problems.keys())
        problems = [self.problems[index] for index in sorted(self.problems)]
        return Landed(new, self._rows - new - len(problems), problems=problems)

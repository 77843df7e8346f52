"""What every kind of import has: its columns, the record of a row, and how records are stored."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import blake2b
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from sqlalchemy import Connection

from judgeboard.imports.cells import Cells
from judgeboard.imports.columns import ColumnNames

Record = TypeVar("Record")


@dataclass(frozen=True, slots=True)
class Problem:
    """Why the record at ``index`` of a batch was not stored."""

    index: int
    field: str | None
    reason: str
    conflict: bool = False


@dataclass(slots=True)
class Stored:
    """What became of one batch."""

    new: int = 0
    unchanged: int = 0
    feedback_added: int = 0
    problems: list[Problem] = field(default_factory=list)


class ImportKind(ABC, Generic[Record]):
    """Builds the records of one file and stores them.

    Args:
        source: The source of rows without their own, or where what they name is looked for (None: everywhere).
        actor: Who imports.

    Attributes:
        columns: The fields and their other names.
        needed: Fields that no row goes without; they tell the kind of a row.
        left_over: What becomes of a column that is no field, in words.
        brings_answers: Whether rows bring answers or questions of a source; other kinds name stored ones.
    """

    columns: ClassVar[ColumnNames]
    needed: ClassVar[tuple[str, ...]]
    left_over: ClassVar[str] = "not stored"
    brings_answers: ClassVar[bool] = False

    def __init__(self, source: str | None, actor: str = "library") -> None:
        self.source = source
        self.actor = actor
        self.seen = SeenIds()

    @classmethod
    def required(cls, fields: Collection[str]) -> tuple[str, ...]:  # noqa: ARG003 - grades depend on them
        """Return the fields that no row of a file with columns for ``fields`` goes without."""
        return cls.needed

    @classmethod
    def reads_left_over(cls, fields: Collection[str]) -> bool:  # noqa: ARG003 - grades depend on them
        """Whether columns that are no field are read too, in a file with columns for ``fields``."""
        return False

    @abstractmethod
    def build(self, cells: Cells) -> Record:
        """Return the record of a row.

        Raises:
            Unusable: A field is missing or has a value that no such record can have.
        """

    @abstractmethod
    def store(self, connection: Connection, records: Sequence[Record], batch_id: int, now: datetime) -> Stored:
        """Store what is new of a batch in the caller's transaction."""

    def finish(self, connection: Connection, now: datetime) -> int:  # noqa: ARG002 - most kinds have nothing open
        """Store what only the whole file tells, and close what was opened for it.

        Returns:
            How many rows that stored that were counted as unchanged before.
        """
        return 0

    @abstractmethod
    def as_row(self, record: Record) -> dict[str, Any]:
        """Return a record as an import takes it again: for previews and for rejected rows."""


class Named(Protocol):
    """What answers to an outside id."""

    @property
    def source(self) -> str:
        """Which source it is of."""


Found = TypeVar("Found", bound=Named)


class RowOutcomes:
    """The rows of one batch: which are new and which were refused; the rest is unchanged."""

    def __init__(self, rows: int) -> None:
        self._rows = rows
        self.new: set[int] = set()
        self.problems: dict[int, Problem] = {}

    def refuse(self, index: int, field_: str | None, reason: str, *, conflict: bool = False) -> None:
        """Note why a row is not stored; the first reason stays."""
        self.problems.setdefault(index, Problem(index, field_, reason, conflict=conflict))

    def find(
        self, what: str, names: Mapping[int, tuple[str, str | None]], named: Mapping[str, Sequence[Found]]
    ) -> dict[int, Found]:
        """Return what the rows name; a row that names none, or several, is refused.

        Args:
            what: response or pair.
            names: The outside id that a row names and the source it is looked for in (None: all), by the row's index.
            named: What is stored, by outside id.
        """
        found: dict[int, Found] = {}
        for index, (external_id, source) in names.items():
            candidates = [one for one in named.get(external_id, ()) if source is None or one.source == source]
            if len(candidates) == 1:
                found[index] = candidates[0]
            elif candidates:
                sources = " and ".join(repr(one.source) for one in candidates)
                self.refuse(
                    index, f"{what}_id", f"{external_id!r} is in the sources {sources}: say which with --source"
                )
            else:
                where = "" if source is None else f" in source {source!r}"
                self.refuse(index, f"{what}_id", f"no {what} {external_id!r}{where}: import the {what}s first")
        return found

    def stored(self) -> Stored:
        """Return the counts: a row with a problem is neither new nor unchanged."""
        new = len(self.new - self.problems.keys())
        problems = [self.problems[index] for index in sorted(self.problems)]
        return Stored(new, self._rows - new - len(problems), problems=problems)


_DIGEST = 16
_FREE = bytes(_DIGEST)
_FIRST_SLOTS = 1024


class SeenIds:
    """A set of texts kept as 128-bit digests in one open-addressing table, which is at most two thirds full.

    That is 24 to 48 bytes an id, where a set of digests takes more than 100. Two ids share a digest once in about
    10^26 files of a million ids.
    """

    def __init__(self) -> None:
        self._table = bytearray(_FIRST_SLOTS * _DIGEST)
        self._slots = _FIRST_SLOTS
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def __contains__(self, key: str) -> bool:
        digest = _digest(key)
        return self._digest_at(self._place(digest)) == digest

    def add(self, key: str) -> bool:
        """Remember an id and return whether it is new."""
        digest = _digest(key)
        place = self._place(digest)
        if self._digest_at(place) == digest:
            return False
        self._table[place : place + _DIGEST] = digest
        self._count += 1
        if self._count * 3 > self._slots * 2:
            self._grow()
        return True

    def _digest_at(self, place: int) -> bytes:
        return bytes(self._table[place : place + _DIGEST])

    def _place(self, digest: bytes) -> int:
        """Return where the digest stands, or the free place where it belongs."""
        slot = int.from_bytes(digest[:8], "little") % self._slots
        while self._digest_at(slot * _DIGEST) not in {digest, _FREE}:
            slot = (slot + 1) % self._slots
        return slot * _DIGEST

    def _grow(self) -> None:
        old = self._table
        self._slots *= 2
        self._table = bytearray(self._slots * _DIGEST)
        for start in range(0, len(old), _DIGEST):
            digest = bytes(old[start : start + _DIGEST])
            if digest != _FREE:
                place = self._place(digest)
                self._table[place : place + _DIGEST] = digest


def _digest(key: str) -> bytes:
    return blake2b(key.encode("utf-8", "surrogatepass"), digest_size=_DIGEST).digest()

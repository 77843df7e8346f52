"""Work that workers share: the remaining answers are enqueued in chunks, and each worker judges some chunks.

The run and the stored judgments are the truth. Nothing else is kept, so work goes on after a crash
or a restart. A chunk skips answers that are judged already.
"""

import threading
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Final

from sqlalchemy import Connection

from judgeboard.domain import Verdict
from judgeboard.registry.methods import load_object
from judgeboard.runs.judging import Ask, Judging
from judgeboard.runs.method import Begun
from judgeboard.runs.runner import Answered
from judgeboard.store.engine import Store
from judgeboard.store.tables import RULES

if TYPE_CHECKING:
    from anyio import CancelScope

CLOSED = "the worker ended"
JUDGE = "judge"  # the kind of entries that any worker can do
TRIES = 3  # of an entry, before it is held
# The states of entries, as the engine calls them.
QUEUED: Final = "queued"
PICKED: Final = "picked"
HELD: Final = "failed"

CALLS_AHEAD = 4  # times the calls in flight: a chunk has so many answers
MOST_IN_CHUNK = 200
CHUNKS_AHEAD = 2  # for each worker, so that no worker waits for the next chunk

Steps = list[Answered[Ask, Verdict]]


@dataclass(frozen=True, slots=True)
class Entry:
    """What is to be done: some answers of a work, or the whole of a duty. Contains ids alone, never a text or a key.

    Args:
        kind: The handler, a key of the engine's handlers.
        work: The work or duty to which the entry belongs.
        ids: The answers.
        priority: Entries with a higher priority are taken first.
    """

    kind: str
    work: str
    ids: tuple[int, ...] = ()
    priority: int = 0

    @property
    def key(self) -> str:
        """The key for deduplication: no two entries with the same key wait or run."""
        return f"{self.work}:{self.ids[0] if self.ids else ''}"


@dataclass(frozen=True, slots=True)
class QueuedEntry:
    """An entry in the engine."""

    id: int
    status: str
    entry: Entry

    @property
    def is_held(self) -> bool:
        """Whether the entry has failed too often: only a new entry tries the answers again."""
        return self.status == HELD


Handler = Callable[[Entry, "CancelScope"], Awaitable[None]]
"""Does an entry. Ends early when the scope is cancelled, and raises `PutBackError` to leave the entry to others."""


class PutBackError(Exception):
    """An entry is to be done later, or by another worker: nothing failed.

    Args:
        why: The reason.
        seconds: How much later.
        most: After so many times with this reason, the entry is held.
    """

    def __init__(self, why: str, seconds: float = 0.0, most: int | None = None) -> None:
        super().__init__(why)
        self.seconds, self.most = seconds, most


@dataclass(frozen=True, slots=True)
class Outstanding:
    """The chunks of a work that wait or run, and the chunks that are held because of too many failures.

    ``elsewhere`` are the answers of other works with one of the same judge versions: asking about
    an answer twice helps nobody.
    """

    ids: frozenset[int] = frozenset()
    chunks: int = 0
    elsewhere: frozenset[int] = frozenset()
    held_ids: frozenset[int] = frozenset()
    reason_held: str = ""

    @property
    def is_empty(self) -> bool:
        """Whether nothing waits or runs."""
        return not self.chunks

    @property
    def has_entries(self) -> bool:
        """Whether anything waits, runs or is held."""
        return bool(self.chunks or self.held_ids)


@dataclass(frozen=True, slots=True)
class Step:
    """What is to be done for a work now.

    Args:
        chunks: The answers to enqueue, by chunk.
        cancel: Whether the chunks of the work are to be cancelled.
        abandoned: Whether the only process that could judge the chunks has ended, so that nobody
            notices a cancellation.
        ended: Whether nothing more is to be done for the work.
        again: Whether to look again at once.
    """

    chunks: list[tuple[int, ...]] = field(default_factory=list)
    cancel: bool = False
    abandoned: bool = False
    ended: bool = False
    again: bool = False


@dataclass(frozen=True, slots=True)
class Opened:
    """What a worker needs to judge chunks of a work; ``cost_left`` is in millionths, None without a limit."""

    begun: Begun
    method: Judging
    concurrency: int
    cost_left: int | None


class Work(ABC):
    """A rejudge job or a judging rule. All functions block."""

    kind: str = JUDGE
    """The kind of the work's entries."""

    priority: int = 0

    def __init__(self, store: Store, key: str) -> None:
        self._store, self.key = store, key

    @abstractmethod
    def versions(self) -> frozenset[int]:
        """Return the judge versions that judge for the work, or did."""

    @abstractmethod
    def look(self, outstanding: Outstanding, workers: int) -> Step:
        """Return what is to be done now; begins the run, and stores the end. Called in the leading worker alone."""

    @abstractmethod
    def open(self) -> Opened | None:
        """Return what this worker needs to judge; None if nothing is to be judged any more."""

    def is_current(self, opened: Opened) -> bool:  # noqa: ARG002 - most kinds have one run
        """Return whether further chunks are of the same run."""
        return True

    @abstractmethod
    def load(self, opened: Opened, ids: list[int]) -> dict[int, Ask]:
        """Return the asks of these answers that are still to be made, by answer."""

    @abstractmethod
    def stop(self, why: str) -> None:
        """Store why no worker is to ask more."""

    @abstractmethod
    def leave(self) -> None:
        """Store that no worker does the work any more; the next worker goes on."""

    def stored(self, steps: Steps) -> str | None:  # noqa: ARG002 - most kinds do nothing more
        """Look at judgments that were stored, and return a reason to stop."""
        return None


def in_chunks(ids: Sequence[int], concurrency: int) -> list[tuple[int, ...]]:
    """Divide answers into chunks of a few seconds."""
    size = chunk_size(concurrency)
    return [tuple(ids[start : start + size]) for start in range(0, len(ids), size)]


def chunk_size(concurrency: int) -> int:
    """Return how many answers a chunk has."""
    return min(MOST_IN_CHUNK, CALLS_AHEAD * concurrency)


def room(outstanding: Outstanding, workers: int, concurrency: int) -> int:
    """Return how many answers may be enqueued now."""
    chunks = CHUNKS_AHEAD * max(1, workers) - outstanding.chunks
    return max(0, chunks) * chunk_size(concurrency)


@dataclass(frozen=True, slots=True)
class Duty:
    """What workers do again and again beside judging, one worker at a time for each key.

    Args:
        kind: The kind of the duty's entries.
        due: Returns the keys that are due now, None if nothing is set up that could be due; called
            in the leading worker.
        do: Does one key for a worker (an executor id), and ends early when the event is set.
    """

    kind: str
    due: Callable[[Connection], list[str] | None]
    do: Callable[[Store, str, str, threading.Event], None]


DUTIES = (
    *(rules.duty for rules in RULES.values() if rules.duty is not None),
    "judgeboard.runs.retention:RETENTION",
)
"""The place of each `Duty`. Duties are loaded by name, because duties use packages above the workers."""


@cache
def duties() -> dict[str, Duty]:
    """Return each `Duty` by the kind of the entries."""
    return {duty.kind: duty for duty in map(load_object, DUTIES)}

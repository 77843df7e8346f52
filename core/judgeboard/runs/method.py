"""Runs a method of asking models: select what is left to ask, ask it, store every step, summarise the run."""

import asyncio
import itertools
import logging
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypedDict, TypeVar, Unpack

from sqlalchemy import Connection
from sqlalchemy.exc import OperationalError

from judgeboard.domain import RunState
from judgeboard.errors import BadInput, UnknownPrice
from judgeboard.judges.judge import AskedJudge
from judgeboard.llm.endpoint import ModelEndpoint
from judgeboard.llm.rate_limits import RESERVE
from judgeboard.runs.runner import (
    INTERRUPTED,
    LEAST_READ_AHEAD,
    WRITE_AGAIN_SECONDS,
    Keep,
    Runner,
    S,
    T,
    Tally,
    on_first_ctrl_c,
)
from judgeboard.store.engine import Readable, Store
from judgeboard.store.jobs import take_turns
from judgeboard.store.judge_versions import StoredVersion, ensure_version
from judgeboard.store.runs import (
    AskCounts,
    StoredRun,
    finish_run,
    get_run,
    run_counts,
    start_or_continue_method_run,
)
from judgeboard.store.statements import batches

_log = logging.getLogger("judgeboard.runs")


class EarlierAsk(Protocol):
    """The latest ask of one judge version about one item."""

    @property
    def ask(self) -> int:
        """The number of this ask, from 0."""

    @property
    def usable(self) -> bool:
        """Whether this ask or an earlier one gave a usable answer."""

    @property
    def run_id(self) -> int | None:
        """The run that made this ask; None if it was recorded."""


@dataclass(frozen=True, slots=True)
class Again:
    """Repeats failed asks, except those that the run ``run_id`` itself made."""

    run_id: int | None = None

    def opens(self, run_id: int | None) -> bool:
        """Whether a failed ask of this run is repeated."""
        return self.run_id is None or run_id != self.run_id


def next_ask(earlier: EarlierAsk | None, again: Again | None) -> int | None:
    """Return the number of the next ask; None if there is nothing to ask. ``earlier`` is the latest ask so far."""
    if earlier is None:
        return 0
    if again is None or earlier.usable or not again.opens(earlier.run_id):
        return None
    return earlier.ask + 1


K = TypeVar("K")


def key_tasks(
    store: Store, keys: Sequence[K], load: Callable[[Connection, Sequence[K]], list[T]], *, backwards: bool = False
) -> Iterator[T]:
    """Yield the tasks of keys in their order, read from the store in batches.

    ``load`` returns the tasks of some keys in their order, but none for keys that are forgotten or done by then. If
    another process works on the same run, go ``backwards``: the two then meet and do not pay for each answer twice.
    """
    for batch in batches(keys[::-1] if backwards else keys, LEAST_READ_AHEAD):
        with store.reading() as connection:
            tasks = load(connection, batch)
        yield from tasks


def id_tasks(store: Store, load: Callable[[Connection, int | None, int], tuple[int, list[T]] | None]) -> Iterator[T]:
    """Yield tasks in the order of their ids, read from the store in batches.

    ``load(connection, after_id, limit)`` reads the next ``limit`` ids after ``after_id`` (None at the start). It
    returns the last of these ids and their tasks, without forgotten ones; None at the end.
    """
    after_id: int | None = None
    while True:
        with store.reading() as connection:
            batch = load(connection, after_id, LEAST_READ_AHEAD)
        if batch is None:
            return
        after_id, tasks = batch
        yield from tasks


DONE, SOME_FAILED, STOPPED, CTRL_C = 0, 1, 2, 130


@dataclass(frozen=True, slots=True, kw_only=True)
class RunAccount(AskCounts):
    """The counts of a run, including its earlier parts; ``not_reached`` counts the asks that it has not made.

    ``run_id`` is None if there was nothing to ask or a recording was read. ``cost`` is in the currency of the price
    file, or None if the cost of any call is unknown.
    """

    run_id: int | None = None
    not_reached: int = 0
    cost: float | None = 0.0
    state: RunState = RunState.DONE
    why_stopped: str | None = None

    @property
    def cost_micro(self) -> int | None:
        """The cost in millionths."""
        return None if self.cost is None else round(self.cost * 1_000_000)

    @property
    def exit_code(self) -> int:
        """The exit code of every command that asks: 0 done, 1 some calls failed, 2 stopped, 130 Ctrl-C."""
        if self.state is RunState.INTERRUPTED or self.why_stopped == INTERRUPTED:
            return CTRL_C
        if self.state is RunState.STOPPED:
            return STOPPED
        return SOME_FAILED if self.error else DONE


def account_of(store: Readable, run_id: int, *, not_reached: int) -> RunAccount:
    """Return the account of a run, its earlier parts included."""
    with store.reading() as connection:
        run = get_run(connection, run_id)
        counts = run_counts(connection, [run_id])[run_id]
    return RunAccount(
        run_id=run_id,
        not_reached=not_reached,
        cost=None if counts.total_cost_micro is None else counts.total_cost_micro / 1_000_000,
        state=run.state,
        why_stopped=run.why_stopped,
        **counts.by_status,
    )


R = TypeVar("R")


class RunOptions(TypedDict, total=False):
    """The keywords of every function that starts a run.

    Attributes:
        concurrency: Maximum number of tasks in flight (default: 16).
        max_cost: Cost limit in the price file's currency; nothing further is asked once it is reached. UnknownPrice is
            raised if a model has no price.
        actor: Who asks (default: ``library``).
        on_progress: Called after every commit with the tally and the number of steps expected in all.
        on_stop: Called if asking ends early (Ctrl-C, the cost limit, a refusal) with the reason and the number of
            tasks in flight.
    """

    concurrency: int
    max_cost: float | None
    actor: str
    on_progress: Callable[[Tally, int], None] | None
    on_stop: Callable[[str, int], None] | None


Selected = tuple[Mapping[str, Any], int]
"""The question (JSON values that identify the run) and the number of items or steps to ask. An unfinished run with the
same question is continued; the value ``up_to`` (the highest id at the start) is not compared."""


@dataclass(frozen=True, slots=True)
class Begun:
    """A run that has begun, with its judge version."""

    store: Store
    version: StoredVersion
    run: StoredRun

    @property
    def about(self) -> dict[str, Any]:
        """The attributes of its span."""
        about = {"id": self.run.id, "kind": self.run.kind, "judge_version": self.version.title}
        return {f"judgeboard.run.{name}": value for name, value in about.items()}


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """The end of a run. If there was nothing to ask, ``run`` is None and the account is empty."""

    store: Store
    version: StoredVersion
    run: StoredRun | None
    account: RunAccount
    actor: str


class Method(ABC, Generic[T, S, R]):
    """A method of asking models. `run_method` runs it; each subclass defines one method.

    ``T`` is a task, ``S`` a step that is stored (one request to a model), ``R`` the result of the run.
    """

    kind: str
    """The kind of the stored run: ``judge``, ``compare``, ``audit``, …"""

    judge: AskedJudge
    """The judge; steps are stored with its version. It is closed at the end."""

    answering: ModelEndpoint | None = None
    """The model that makes answers, if the method uses one. It is closed at the end."""

    @property
    def endpoint_host(self) -> str | None:
        """The hosts that the texts are sent to; None if nothing leaves the process."""
        hosts = (self.judge.endpoint_host, None if self.answering is None else self.answering.host)
        return ", ".join(dict.fromkeys(host for host in hosts if host)) or None

    def select(self, connection: Connection, version: StoredVersion) -> Selected | None:
        """Return the question and the number of asks; None if there is nothing to ask and no run to continue."""
        raise NotImplementedError

    def begin(self, connection: Connection, version: StoredVersion, actor: str) -> StoredRun | None:
        """Start or continue the run of the selection. A method that stores more at the start extends this function."""
        selected = self.select(connection, version)
        if selected is None:
            return None
        return start_or_continue_method_run(
            connection, self.kind, version, *selected, actor=actor, endpoint_host=self.endpoint_host
        )

    @abstractmethod
    def tasks(self, begun: Begun) -> Iterator[T]:
        """Return an iterator of the run's tasks, which reads the store as it advances."""

    @abstractmethod
    async def ask(self, task: T, keep: Keep[S]) -> None:
        """Do one task: pass each step to ``keep`` as soon as it arrives, and end when ``keep`` returns False."""

    @abstractmethod
    def save(self, connection: Connection, begun: Begun, steps: list[S]) -> None:
        """Store a batch of steps in the writing transaction ``connection``."""

    def left(self, connection: Connection, begun: Begun) -> int:
        """Return how many of the selected items or steps the run has not reached."""
        asked = run_counts(connection, [begun.run.id])[begun.run.id].asked
        return max(0, (begun.run.selected or 0) - asked)

    def expected(self, connection: Connection, begun: Begun) -> int:
        """Return how many steps are still to be done, for the progress line."""
        return self.left(connection, begun)

    @abstractmethod
    def summarise(self, outcome: RunOutcome) -> R:
        """Return the result of the run; the models are closed by then."""


class AskOnceMethod(Method[T, S, R], Generic[K, T, S, R]):
    """A method whose judge version is asked once about each key ``K``. With ``again``, failed asks are repeated."""

    again: bool = False

    @abstractmethod
    def latest(self, connection: Connection, version: StoredVersion, keys: Sequence[K]) -> Mapping[K, EarlierAsk]:
        """Return the latest ask of the version about each of these keys; keys without an ask are missing."""

    @abstractmethod
    def keys(self, begun: Begun) -> Sequence[K]:
        """Return all keys of the run in its order, including those that are asked already."""

    @abstractmethod
    def load(self, connection: Connection, asks: Sequence[tuple[K, int]]) -> list[T]:
        """Return the tasks for pairs of key and ask number; forgotten keys have no task."""

    def open_asks(
        self, connection: Connection, version: StoredVersion, keys: Sequence[K], run_id: int | None = None
    ) -> list[tuple[K, int]]:
        """Return the keys that are still to ask about, each with the number of its next ask (see `Again`)."""
        latest = self.latest(connection, version, keys)
        again = Again(run_id) if self.again else None
        return [(key, number) for key in keys if (number := next_ask(latest.get(key), again)) is not None]

    def tasks(self, begun: Begun) -> Iterator[T]:
        """Return the tasks. Each key is checked again just before its ask: another process may work on the run."""
        version, run = begun.version, begun.run

        def load(connection: Connection, keys: Sequence[K]) -> list[T]:
            return self.load(connection, self.open_asks(connection, version, keys, run.id))

        with begun.store.reading() as connection:
            asks = self.open_asks(connection, version, self.keys(begun), run.id)
        return key_tasks(begun.store, [key for key, _ in asks], load, backwards=run.shared)


async def run_method(store: Store, method: Method[T, S, R], **options: Unpack[RunOptions]) -> R:
    """Run a method: continue its unfinished run of the same question, or begin a new one, and return its result.

    Every step is stored within 50 ms of its arrival. If there is nothing to ask, nothing is stored, not even the judge
    version. The models are closed at the end. Raises BadInput if the judge version is retired.
    """
    actor, max_cost = options.get("actor", "library"), options.get("max_cost")
    try:
        check_limits(max_cost, options.get("concurrency", 1))
        require_price(max_cost, priced=method.judge.priced, model=method.judge.version.model)
        if method.answering is not None:
            require_price(max_cost, priced=method.answering.priced, model=method.answering.model)
        with store.writing() as connection:
            attempt = connection.begin_nested()
            version = ensure_version(connection, method.judge.version)
            run = method.begin(connection, version, actor)
            if run is None or run.selected == 0:
                attempt.rollback()
                run = None
            else:
                attempt.commit()
        account = RunAccount()
        if run is not None:
            account = await ask_run(Begun(store, version, run), method, **options)
    finally:
        await method.judge.aclose()
        if method.answering is not None:
            await method.answering.aclose()
    return method.summarise(RunOutcome(store, version, run, account, actor))


async def ask_run(
    begun: Begun,
    method: Method[T, S, R],
    *,
    on_start: Callable[[Runner[Any, Any]], asyncio.Task[None]] | None = None,
    **options: Unpack[RunOptions],
) -> RunAccount:
    """Make the remaining asks of a run that has begun, store its final state, and return its account.

    If an error is raised, the final state is interrupted. ``on_start`` can start a task that lives as long as the run
    and can stop it. The models stay open.
    """
    store, run = begun.store, begun.run

    def save(batch: list[S]) -> None:
        with store.writing() as connection:
            method.save(connection, begun, batch)

    def left() -> int:
        with store.reading() as connection:
            return method.left(connection, begun)

    with store.reading() as connection:
        expected = method.expected(connection, begun)
    on_progress, max_cost = options.get("on_progress"), options.get("max_cost")
    tasks = method.tasks(begun)
    runner = Runner(
        method.ask,
        lambda limit: list(itertools.islice(tasks, limit)),
        save,
        concurrency=options.get("concurrency", 16),
        max_cost_micro=None if max_cost is None else round(max_cost * 1_000_000),
        on_progress=None if on_progress is None else lambda tally: on_progress(tally, expected),
        on_stop=options.get("on_stop"),
        about=begun.about,
    )
    state = RunState.INTERRUPTED
    why: str | None = "it ended unexpectedly"
    beside = None if on_start is None else on_start(runner)
    try:
        with on_first_ctrl_c(lambda: runner.stop(INTERRUPTED)), shared_rate_limits(store):
            await runner.run()
        why = runner.stopped_because
        if why is None or left() == 0:  # the stop came after the last ask
            state, why = RunState.DONE, None
        elif why != INTERRUPTED:
            state = RunState.STOPPED
    finally:
        if beside is not None:
            beside.cancel()
        with store.writing() as connection:
            finish_run(connection, run.id, state, why_stopped=why)
    return account_of(store, run.id, not_reached=left())


@contextmanager
def shared_rate_limits(store: Store) -> Iterator[None]:
    """Let the calls of this context keep the rate limits together with all other processes of the database."""

    def take(name: str, seconds: float, owed: float) -> float:
        with store.writing() as connection:
            return take_turns(connection, name, seconds, owed)

    def reserve(name: str, seconds: float, owed: float) -> float:
        for pause in WRITE_AGAIN_SECONDS:  # a call must not fail because the database is locked or restarts
            try:
                return take(name, seconds, owed)
            except OperationalError as error:
                _log.warning("%s; trying again", error.orig)
                time.sleep(pause)
        return take(name, seconds, owed)

    token = RESERVE.set(reserve)
    try:
        yield
    finally:
        RESERVE.reset(token)


MOST_IN_FLIGHT = 1024


def check_limits(max_cost: float | None, concurrency: int) -> None:
    """Raise BadInput unless the cost limit is finite and 0 or more, and the concurrency 1 to 1,024."""
    if max_cost is not None and not 0 <= max_cost < math.inf:
        raise BadInput("the cost limit must be a finite number of dollars, 0 or more")
    if not (isinstance(concurrency, int) and 1 <= concurrency <= MOST_IN_FLIGHT):
        raise BadInput(f"the number of calls at the same time must be 1 to {MOST_IN_FLIGHT:,}")


def check_limit(limit: int | None) -> None:
    """Raise BadInput unless the number of answers to take is 1 or more."""
    if limit is not None and not (isinstance(limit, int) and limit >= 1):
        raise BadInput(f"the limit must be a whole number, 1 or more, not {limit!r}")


def require_price(max_cost: float | None, *, priced: bool, model: str | None) -> None:
    """Refuse a cost limit that could not be kept; raises UnknownPrice if the model has no price."""
    if max_cost is not None and not priced:
        raise UnknownPrice(f"--max-cost: no price is known for {model}. Give one with --prices FILE.")

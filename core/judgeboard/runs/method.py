"""Runs a method of asking models: select what is left to ask, ask it, store every step, summarise the run."""

import asyncio
import math
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Generic, Protocol, TypedDict, TypeVar, Unpack

from sqlalchemy import Connection

from judgeboard.domain import RunState
from judgeboard.errors import BadInput, DatabaseAway, OtherHost, UnknownPrice
from judgeboard.judges.judge import AskedJudge
from judgeboard.llm.asking import unsent_requests
from judgeboard.llm.endpoint import ModelEndpoint
from judgeboard.llm.provider import is_own_host
from judgeboard.llm.rate_limits import RESERVE
from judgeboard.runs.addresses import check_host, last_address, require_confirmed
from judgeboard.runs.estimates import (
    LOOKED_AT,
    CallEstimate,
    PlannedCalls,
    cost_by_history,
    estimate_planned,
)
from judgeboard.runs.locks import hold_run, refuse_held
from judgeboard.runs.runner import (
    INTERRUPTED,
    Answered,
    Keep,
    Runner,
    S,
    T,
    V,
    on_first_ctrl_c,
    reading,
)
from judgeboard.store.clock import utc_now
from judgeboard.store.engine import Readable, Store
from judgeboard.store.jobs import (
    TaskKey,
    add_to_share,
    cost_elsewhere,
    live_workers,
    new_executor_id,
    take_turns,
    unfinished_jobs,
)
from judgeboard.store.judge_versions import ensure_version
from judgeboard.store.outages import WAIT_SECONDS, Patience, tried_again
from judgeboard.store.run_steps import call_history
from judgeboard.store.runs import (
    AskCounts,
    Counts,
    Destination,
    finish_run,
    get_run,
    run_counts,
    start_or_continue_method_run,
)
from judgeboard.store.tables import Run, StoredVersion
from judgeboard.text import cost_words, counted


class EarlierAsk(Protocol):
    """The latest ask of one judge version about one item."""

    @property
    def ask(self) -> int:
        """The number of this ask, from 0."""

    @property
    def usable(self) -> bool:
        """Whether the item counts as answered: nothing asks about the item again."""

    @property
    def run_id(self) -> int | None:
        """The run that made this ask; None for a recorded ask."""


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
IDS_PER_READ = 64


def id_keys(store: Store, read: Callable[..., list[int]]) -> Iterator[TaskKey]:
    """Yield the keys of tasks about the items that ``read(connection, after_id=, limit=)`` returns, ordered by id.

    ``read`` returns the next ``limit`` ids after ``after_id`` (None at the start), none at the end.
    """
    after_id: int | None = None
    while True:
        with store.reading() as connection:
            ids = read(connection, after_id=after_id, limit=IDS_PER_READ)
        if not ids:
            return
        after_id = ids[-1]
        yield from map(TaskKey, ids)


DONE, SOME_FAILED, STOPPED, CTRL_C = 0, 1, 2, 130


@dataclass(frozen=True, slots=True, kw_only=True)
class RunAccount(AskCounts):
    """The counts of a run, including earlier parts; ``not_reached`` counts the asks that are not made yet.

    ``run_id`` is None if there was nothing to ask or a recording was read. ``cost`` is in the
    currency of the price file, or None if the cost of any call is unknown. ``own_endpoint`` tells
    whether all calls of the run went to machines of the user.
    """

    run_id: int | None = None
    not_reached: int = 0
    cost: float | None = 0.0
    own_endpoint: bool = False
    state: RunState = RunState.DONE
    why_stopped: str | None = None

    @property
    def cost_micro(self) -> int | None:
        """The cost in millionths."""
        return None if self.cost is None else round(self.cost * 1_000_000)

    @property
    def cost_words(self) -> str:
        """The cost in words, for example "$ 0.09" or "$ 0 (own endpoint)"."""
        return cost_words(self.cost_micro, own=self.own_endpoint)

    @property
    def exit_code(self) -> int:
        """The exit code of commands that ask: 0 done, 1 a call failed or no reply is usable, 2 stopped; 130 Ctrl-C."""
        if self.state is RunState.INTERRUPTED or self.why_stopped == INTERRUPTED:
            return CTRL_C
        if self.state is RunState.STOPPED:
            return STOPPED
        none_usable = (
            self.run_id is not None and self.asked and not self.ok
        )  # a recording without one is no failure
        return SOME_FAILED if self.error or none_usable else DONE


def account_of(store: Readable, run_id: int, *, not_reached: int) -> RunAccount:
    """Return the account of a run, its earlier parts included."""
    with store.reading() as connection:
        run = get_run(connection, run_id)
        counts = run_counts(connection, [run_id])[run_id]
    hosts = run.endpoint_host.split(", ") if run.endpoint_host else []
    return RunAccount(
        run_id=run_id,
        not_reached=not_reached,
        cost=None if counts.total_cost_micro is None else counts.total_cost_micro / 1_000_000,
        own_endpoint=bool(hosts) and all(map(is_own_host, hosts)),
        state=run.state,
        why_stopped=run.why_stopped,
        **counts.by_status,
    )


R = TypeVar("R")


class RunOptions(TypedDict, total=False):
    """The keywords of every function that starts a run.

    Attributes:
        concurrency: Maximum number of tasks in flight (default: 16).
        max_cost: Cost limit of the run in the price file's currency. Nothing further is asked once
            all calls of the run, also in earlier parts and in other processes, have cost this much.
            UnknownPrice is raised if a model has no price.
        wait: Seconds to wait for a database that cannot be used, before the run ends with
            DatabaseAway (default: 60).
        actor: Who asks (default: ``library``).
        on_progress: Called after every commit with the counts and the number of steps expected in
            all.
        on_other_host: Called before the first request if the texts would go to another host than in
            the last run of the judge version; the run starts if this function returns True. Without
            the function, only a provider's own address, the default, raises OtherHost.
        on_stop: Called if asking ends early (Ctrl-C, the cost limit, a refusal) with the reason and
            the number of tasks in flight.
        on_estimate: Called before the first request with an estimate of the calls, if texts leave
            the process.
    """

    concurrency: int
    max_cost: float | None
    wait: float
    actor: str
    on_progress: Callable[[Counts, int], None] | None
    on_other_host: Callable[[OtherHost], bool] | None
    on_stop: Callable[[str, int], None] | None
    on_estimate: Callable[[CallEstimate], None] | None


Selected = tuple[Mapping[str, Any], int]
"""The question (JSON values that identify the run) and the number of items or steps to ask. An unfinished run with the
same question is continued; the value ``up_to`` (the highest id at the start) is not compared."""


@dataclass(frozen=True, slots=True)
class Begun:
    """A run that has begun, with the judge version of the run."""

    store: Store
    version: StoredVersion
    run: Run


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """The end of a run. If there was nothing to ask, ``run`` is None and the account is empty."""

    store: Store
    version: StoredVersion
    run: Run | None
    account: RunAccount
    actor: str


class Method(ABC, Generic[T, S, R]):
    """A method of asking models. `run_method` runs it; each subclass defines one method.

    ``T`` is a task, ``S`` a step that is stored (one request to a model), ``R`` the result of the
    run.
    """

    kind: str
    """The kind of the stored run: ``judge``, ``compare``, ``audit``, …"""

    subject: str = "call"
    """What `left` counts, in a word."""

    judge: AskedJudge
    """The judge, closed at the end. Steps are stored with the version of the judge."""

    answering: ModelEndpoint | None = None
    """The model that makes answers, closed at the end; None if the method uses none."""

    @property
    def destination(self) -> Destination:
        """Where the texts are sent."""
        address = self.judge.address
        hosts = (
            None if address is None else address.host,
            None if self.answering is None else self.answering.host,
        )
        all_hosts = ", ".join(dict.fromkeys(host for host in hosts if host)) or None
        return (
            Destination(all_hosts)
            if address is None
            else Destination(all_hosts, address.provider, address.base_url)
        )

    def select(self, connection: Connection, version: StoredVersion) -> Selected | None:
        """Return the question and the number of asks; None if there is nothing to ask and no run to continue."""
        raise NotImplementedError

    def begin(self, connection: Connection, version: StoredVersion, actor: str) -> Run | None:
        """Start or continue the run of the selection. A method that stores more at the start extends this function."""
        selected = self.select(connection, version)
        if selected is None:
            return None
        return start_or_continue_method_run(
            connection, self.kind, version, *selected, actor=actor, destination=self.destination
        )

    @abstractmethod
    def keys(self, begun: Begun) -> Iterator[TaskKey]:
        """Return the keys of the tasks that may be left, in order. The iterator reads the store lazily."""

    @abstractmethod
    def load(self, begun: Begun, keys: Sequence[TaskKey]) -> Mapping[TaskKey, T]:
        """Return the tasks of these keys, in the same order, without tasks that are done by now or forgotten."""

    @abstractmethod
    async def ask(self, task: T, keep: Keep[S]) -> None:
        """Do one task: pass each step to ``keep`` as soon as it arrives, and end when ``keep`` returns False."""

    @abstractmethod
    def save(self, connection: Connection, begun: Begun, steps: list[S]) -> None:
        """Store a batch of steps in the writing transaction ``connection``."""

    def left(self, connection: Connection, begun: Begun) -> int:
        """Return how many of the selected items or steps the run has not reached."""
        ask_count = run_counts(connection, [begun.run.id])[begun.run.id].asked
        return max(0, (begun.run.selected or 0) - ask_count)

    def expected(self, connection: Connection, begun: Begun) -> int:
        """Return how many steps are still to be done, for the progress line."""
        return self.left(connection, begun)

    def most_calls(self, connection: Connection, begun: Begun) -> int:
        """Return how many calls are still to be made at most, for the estimate. Repairs and retries do not count."""
        return self.expected(connection, begun)

    async def sample_requests(self, task: T) -> None:
        """Make a request of each kind that the task has, for the estimate. Nothing is sent: each one fails."""

        async def stop(_step: S) -> bool:
            return False

        await self.ask(task, stop)

    @abstractmethod
    def summarise(self, outcome: RunOutcome) -> R:
        """Return the result of the run; the models are closed by then."""


class AskOnceMethod(Method[T, S, R], Generic[K, T, S, R]):
    """A method whose judge version is asked once about each item ``K``. With ``again``, failed asks are repeated."""

    again: bool = False

    @abstractmethod
    def latest(
        self, connection: Connection, version: StoredVersion, items: Sequence[K]
    ) -> Mapping[K, EarlierAsk]:
        """Return the latest ask of the version about each of these items; items without an ask are missing."""

    @abstractmethod
    def items(self, begun: Begun) -> Mapping[TaskKey, K]:
        """Return all items of the run in order, also items that were asked about, by the key of the task."""

    @abstractmethod
    def load_asks(self, connection: Connection, asks: Sequence[tuple[K, int]]) -> Mapping[K, T]:
        """Return the tasks for pairs of item and ask number; forgotten items have no task."""

    def open_asks(
        self,
        connection: Connection,
        version: StoredVersion,
        items: Sequence[K],
        run_id: int | None = None,
    ) -> list[tuple[K, int]]:
        """Return the items that are still to ask about, each with the number of the next ask (see `Again`)."""
        latest = self.latest(connection, version, items)
        again = Again(run_id) if self.again else None
        return [
            (item, number)
            for item in items
            if (number := next_ask(latest.get(item), again)) is not None
        ]

    def keys(self, begun: Begun) -> Iterator[TaskKey]:
        """Return the keys of the items that are still to ask about."""
        items = self._by_key = self.items(begun)
        with begun.store.reading() as connection:
            asks = dict(
                self.open_asks(connection, begun.version, list(items.values()), begun.run.id)
            )
        return (key for key, item in items.items() if item in asks)

    def load(self, begun: Begun, keys: Sequence[TaskKey]) -> Mapping[TaskKey, T]:
        """Return the tasks of these keys."""
        items = {key: self._by_key[key] for key in keys}
        with begun.store.reading() as connection:
            asks = self.open_asks(connection, begun.version, list(items.values()), begun.run.id)
            tasks = self.load_asks(connection, asks)
        return {key: tasks[item] for key, item in items.items() if item in tasks}


async def run_method(store: Store, method: Method[T, S, R], **options: Unpack[RunOptions]) -> R:
    """Run a method: continue the unfinished run of the same question, or begin a new run; return the result.

    Every step is stored within 50 ms of its arrival. If there is nothing to ask, nothing is stored,
    not even the judge version. The models are closed at the end. Raises BadInput if the judge
    version is retired, OtherHost if nobody confirms that the texts go to another host than before.
    """
    actor, max_cost = options.get("actor", "library"), options.get("max_cost")
    try:
        check_limits(max_cost, options.get("concurrency", 1))
        require_price(max_cost, priced=method.judge.priced, model=method.judge.version.model)
        if method.answering is not None:
            require_price(max_cost, priced=method.answering.priced, model=method.answering.model)
        try:
            version, run = _begin(store, method, actor, confirmed=False)
        except OtherHost as change:
            require_confirmed(change, options.get("on_other_host"))
            version, run = _begin(store, method, actor, confirmed=True)
        account = RunAccount()
        if run is not None:
            begun, show = Begun(store, version, run), options.get("on_estimate")
            if show is not None and (estimate := await _estimate_run(begun, method)) is not None:
                show(estimate)
            account = await ask_run(begun, method, **options)
    finally:
        await method.judge.aclose()
        if method.answering is not None:
            await method.answering.aclose()
    return method.summarise(RunOutcome(store, version, run, account, actor))


async def _estimate_run(begun: Begun, method: Method[Any, Any, Any]) -> CallEstimate | None:
    """Estimate the calls that a run has still to make; None if no text would leave the process. Nothing is sent.

    If only the judge is asked, and has judged with this model before, its latest judgments give the
    tokens. Otherwise the requests of the first tasks do.
    """
    keys = list(islice(method.keys(begun), LOOKED_AT))
    with unsent_requests() as requests:
        for task in method.load(begun, keys).values():
            await method.sample_requests(task)
    with begun.store.reading() as connection:
        max_calls = method.most_calls(connection, begun)
        prompt, completion, _ = call_history(connection, begun.version.kind, begun.version.model)
    estimate = estimate_planned([PlannedCalls(max_calls, requests)])
    if estimate is None or method.answering is not None or prompt is None or completion is None:
        return estimate
    cost = cost_by_history(max_calls, requests[0].endpoint.price, prompt, completion)
    return replace(estimate, cost_micro=cost, tokens=prompt + completion, at_most=False)


def _begin(
    store: Store, method: Method[T, S, R], actor: str, *, confirmed: bool
) -> tuple[StoredVersion, Run | None]:
    """Return the judge version and the run, None if there is nothing to ask. An error leaves nothing stored."""
    with store.writing() as connection:
        attempt = connection.begin_nested()
        version = ensure_version(connection, method.judge.version)
        last = None if confirmed else last_address(connection, version.id)
        run = method.begin(connection, version, actor)
        if run is None or run.selected == 0:
            attempt.rollback()
            return version, None
        refuse_held(store, run.id)
        refuse_run_of_workers(connection, run.id)
        begun = Begun(store, version, run)
        check_host(
            last,
            version,
            method.judge.address,
            lambda: counted(method.left(connection, begun), method.subject),
        )
        attempt.commit()
        return version, run


def refuse_run_of_workers(connection: Connection, run_id: int) -> None:
    """Raise BadInput if workers make a run for a job: each answer would be asked about twice."""
    job = next((job for job in unfinished_jobs(connection) if job.run_id == run_id), None)
    if job is not None and live_workers(connection):
        raise BadInput(
            f"workers make this run: wait for its end, or cancel it with `judgeboard worker cancel {job.id}`"
        )


async def ask_run(
    begun: Begun, method: Method[T, S, R], **options: Unpack[RunOptions]
) -> RunAccount:
    """Make the remaining asks of a run that has begun, store the final state of the run, return the account.

    Only one process makes a run: raises BadInput if another process holds the run. If an error is
    raised, the final state is interrupted. The models stay open.
    """
    patience = Patience(options.get("wait", WAIT_SECONDS))
    begun = replace(
        begun, store=replace(begun.store, patience=patience)
    )  # an outage must not cost paid replies
    with hold_run(begun.store, begun.run.id) as keep_lock:
        state, why = await _ask_held(begun, method, patience, keep_lock, **options)
    with begun.store.reading() as connection:
        not_reached = method.left(connection, begun)
    return replace(
        account_of(begun.store, begun.run.id, not_reached=not_reached), state=state, why_stopped=why
    )


async def _ask_held(
    begun: Begun,
    method: Method[T, S, R],
    patience: Patience,
    keep_lock: Callable[[], None],
    **options: Unpack[RunOptions],
) -> tuple[RunState, str | None]:
    store, run = begun.store, begun.run
    executor_id = new_executor_id()
    with store.reading() as connection:
        expected_steps = method.expected(connection, begun)
    on_progress, max_cost = options.get("on_progress"), options.get("max_cost")
    keys = method.keys(begun)

    def take(limit: int) -> list[T]:
        keep_lock()
        while batch := list(islice(keys, limit)):
            if tasks := tried_again(method.load)(begun, batch):
                return list(tasks.values())
        return []

    async def read(limit: int) -> list[T]:
        return await asyncio.to_thread(take, limit)

    def save(steps: list[S], _ended: list[T]) -> None:
        if steps:
            store_steps(begun, method, executor_id, steps)

    runner = Runner(
        method.ask,
        read,
        save,
        concurrency=options.get("concurrency", 16),
        max_cost_micro=None if max_cost is None else round(max_cost * 1_000_000),
        spent_elsewhere=lambda: cost_elsewhere(store, run.id, executor_id),
        on_progress=None
        if on_progress is None
        else lambda counts: on_progress(counts, expected_steps),
        on_stop=options.get("on_stop"),
        on_cancel=patience.give_up,
    )
    state = RunState.INTERRUPTED
    why: str | None = "it ended unexpectedly"
    try:
        with on_first_ctrl_c(lambda: runner.stop(INTERRUPTED)), shared_rate_limits(store):
            await runner.run()
        why = runner.stopped_because
        with store.reading() as connection:
            not_reached = method.left(connection, begun)
        if why is None or not_reached == 0:  # the stop came after the last ask
            state, why = RunState.DONE, None
        elif why != INTERRUPTED:
            state = RunState.STOPPED
    except DatabaseAway as error:
        lost = runner.counts.asked - runner.stored
        raise DatabaseAway(
            f"{error}: {lost:,} {'reply' if lost == 1 else 'replies'} could not be stored", lost
        ) from error
    finally:
        with suppress(DatabaseAway), store.writing() as connection:
            finish_run(connection, run.id, state, why_stopped=why)
    return state, why


def store_steps(begun: Begun, method: Method[T, S, R], executor_id: str, steps: list[S]) -> None:
    """Store steps and their cost in one transaction."""
    with begun.store.writing() as connection:
        method.save(connection, begun, steps)
        records = (step.record for step in steps)
        add_to_share(connection, begun.run.id, executor_id, records, utc_now())


@contextmanager
def shared_rate_limits(store: Store) -> Iterator[None]:
    """Let the calls of this context keep the rate limits together with all other processes of the database."""

    @tried_again
    def reserve(name: str, seconds: float, owed: float) -> float:
        with store.writing() as connection:
            return take_turns(connection, name, seconds, owed)

    token = RESERVE.set(reserve)
    try:
        yield
    finally:
        RESERVE.reset(token)


async def ask_each(
    tasks: Sequence[T],
    ask: Callable[[T], Awaitable[Answered[T, V]]],
    keep: Callable[[Answered[T, V]], None],
    **options: Unpack[RunOptions],
) -> Runner[T, Answered[T, V]]:
    """Ask about each task, without a database. ``keep`` gets each step. Return the runner at the end.

    The models stay open. Only the options for calls and for progress are read.
    """

    async def work(task: T, keep_step: Keep[Answered[T, V]]) -> None:
        await keep_step(await ask(task))

    def write(steps: list[Answered[T, V]], _ended: list[T]) -> None:
        for step in steps:
            keep(step)

    max_cost, on_progress = options.get("max_cost"), options.get("on_progress")
    runner = Runner(
        work,
        reading(iter(tasks)),
        write,
        concurrency=options.get("concurrency", 16),
        max_cost_micro=None if max_cost is None else round(max_cost * 1_000_000),
        on_progress=None if on_progress is None else lambda counts: on_progress(counts, len(tasks)),
        on_stop=options.get("on_stop"),
    )
    with on_first_ctrl_c(lambda: runner.stop(INTERRUPTED)):
        await runner.run()
    return runner


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
        raise UnknownPrice(
            f"--max-cost: no price is known for {model}. Give one with --prices FILE."
        )

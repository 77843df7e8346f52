"""Runs of judges, methods and imports: selection, start and continuation, state and counts."""

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, NamedTuple, Self

from sqlalchemy import (
    ColumnElement,
    Connection,
    Executable,
    Select,
    Table,
    bindparam,
    exists,
    func,
    insert,
    literal,
    or_,
    select,
    union_all,
    update,
)

from judgeboard.domain import RunState, Status, StepRecord
from judgeboard.errors import BadInput
from judgeboard.store.clock import utc_now
from judgeboard.store.events import record_event
from judgeboard.store.filter_conditions import response_conditions
from judgeboard.store.filters import RowFilter, from_dict
from judgeboard.store.judge_versions import refuse_retired
from judgeboard.store.responses import last_response_id, next_by_id
from judgeboard.store.statements import (
    NOT_OK,
    any_row,
    batches,
    count_rows,
    first_row,
    get_row,
    rows_of,
)
from judgeboard.store.tables import (
    ANCHOR_JUDGMENT,
    JUDGMENT,
    RESPONSE,
    RUN,
    STEP_TABLES,
    VERSION,
    Run,
    StoredVersion,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AskCounts:
    """Counts of judgments by status; ``asked`` is the sum."""

    asked: int = field(init=False)
    ok: int = 0
    unparsable: int = 0
    refused: int = 0
    error: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "asked", sum(self.by_status.values()))

    @classmethod
    def of(cls, counts: Mapping[Any, int]) -> Self:
        """Return the counts of a mapping by status; other fields have their defaults."""
        return cls(**{status.value: counts.get(status, 0) for status in Status})

    @property
    def by_status(self) -> dict[str, int]:
        """The four counts by status."""
        return {status.value: getattr(self, status.value) for status in Status}

    def words(self, asked: str = "asked") -> str:
        """Return the sum in words: "10 asked = 8 ok + 1 unparsable + 0 refused + 1 error"."""
        return f"{self.asked:,} {asked} = {' + '.join(f'{n:,} {status}' for status, n in self.by_status.items())}"


class AskMode(StrEnum):
    """Which responses of a filter a run judges."""

    PLAIN = "plain"  # without a judgment of the version
    FAILED = "failed"  # the latest judgment of the version is not ok
    ALL = "all"
    KEEP_FLAGS = "keep-flags"  # all; the open flags of audits and of other judges stay open
    ANCHORS = "anchors"  # all; the verdicts are stored apart and never become current


PLAIN = AskMode.PLAIN


def ask_mode(name: str) -> AskMode:
    """Return the mode with this name. Raises BadInput if there is none."""
    try:
        return AskMode(name)
    except ValueError:
        raise BadInput(
            f"a run judges plain, failed or all (or keep-flags) responses, not {name!r}"
        ) from None


@dataclass(frozen=True, slots=True)
class Selection:
    """The responses that a run judges. The frontier ``up_to`` (the greatest id) is fixed at the start of the run."""

    where: RowFilter
    mode: AskMode
    limit: int | None
    up_to: int


def matching(connection: Connection, where: RowFilter, *, limit: int) -> list[int]:
    """Return the ids of the first responses of a filter."""
    query = select(RESPONSE.c.id).where(*response_conditions(connection, where))
    return list(connection.scalars(query.order_by(RESPONSE.c.id).limit(limit)))


def count_unasked(
    connection: Connection, version_id: int, selection: Selection, run_id: int | None = None
) -> int:
    """Return the number of responses that are left to judge (``run_id``: None before the run starts)."""
    return count_rows(connection, RESPONSE, *unasked(connection, version_id, selection, run_id))


def unasked(
    connection: Connection, version_id: int, selection: Selection, run_id: int | None = None
) -> list[ColumnElement[bool]]:
    """Return the conditions for the responses that are left to judge (``run_id``: None before the run starts)."""
    of_version = (JUDGMENT.c.response_id == RESPONSE.c.id) & (
        JUDGMENT.c.judge_version_id == version_id
    )
    conditions = [
        RESPONSE.c.id <= selection.up_to,
        RESPONSE.c.answer.is_not(None),  # a forgotten response cannot be judged
        *response_conditions(connection, selection.where),
    ]
    if selection.mode is AskMode.PLAIN:
        return [*conditions, ~exists().where(of_version)]
    if selection.mode is AskMode.FAILED:
        failed_ids = select(JUDGMENT.c.response_id).where(
            JUDGMENT.c.judge_version_id == version_id, NOT_OK
        )
        latest = (
            select(JUDGMENT.c.status)
            .where(of_version, JUDGMENT.c.repeat == 0)
            .order_by(JUDGMENT.c.id.desc())
        )
        conditions += [
            RESPONSE.c.id.in_(failed_ids),
            latest.limit(1).scalar_subquery() != Status.OK,
        ]
    if run_id is not None and selection.mode is AskMode.ANCHORS:
        columns = ANCHOR_JUDGMENT.c
        conditions.append(
            ~exists().where(columns.run_id == run_id, columns.response_id == RESPONSE.c.id)
        )
    elif run_id is not None:
        conditions.append(~exists().where(of_version, JUDGMENT.c.run_id == run_id))
    return conditions


def next_ask_number(version_id: int, selection: Selection) -> ColumnElement[int]:
    """Return the number of the next ask about a response of a selection."""
    if selection.mode in {AskMode.PLAIN, AskMode.ANCHORS}:
        return literal(0)
    last_ask = select(func.max(JUDGMENT.c.ask)).where(
        JUDGMENT.c.response_id == RESPONSE.c.id, JUDGMENT.c.judge_version_id == version_id
    )
    return func.coalesce(last_ask.scalar_subquery() + 1, 0)


class Destination(NamedTuple):
    """Where the texts of a run go: all hosts, and the provider and the address of the judge's endpoint."""

    endpoint_host: str | None = None
    provider: str | None = None
    base_url: str | None = None


NOWHERE = Destination()  # nothing leaves the process
IMPORT = "import"
"""The kind of runs of verdicts that other programs made."""
RECEIVED = {"received": True}
"""The question of import runs whose verdicts were sent one by one, and not in a file."""
RESUMABLE = (RunState.RUNNING, RunState.INTERRUPTED, RunState.STOPPED)


@dataclass(frozen=True, slots=True)
class Counts(AskCounts):
    """Counts, costs (None if no cost is known) and tokens of a run; ``unpriced`` counts judgments of unknown cost."""

    cost_micro: int | None = None
    unpriced: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0

    @classmethod
    def of_step(cls, record: StepRecord) -> Self:
        """Return the count and the cost of one step."""
        cost_micro = record.cost_micro
        return cls(
            **{record.status.value: 1}, cost_micro=cost_micro, unpriced=int(cost_micro is None)
        )

    def __add__(self, other: Self) -> Self:
        """Return the sum of both counts and of the known costs."""
        costs = [each.cost_micro for each in (self, other) if each.cost_micro is not None]
        names = (*map(str, Status), "unpriced", "prompt_tokens", "completion_tokens")
        sums = {name: getattr(self, name) + getattr(other, name) for name in names}
        return type(self)(**sums, cost_micro=sum(costs) if costs else None)

    @property
    def total_cost_micro(self) -> int | None:
        """Cost of all calls in millionths, 0 without a call; None if the cost of any call is unknown."""
        return None if self.unpriced else self.cost_micro or 0


def start_or_continue_run(
    connection: Connection,
    version: StoredVersion,
    *,
    mode: str = AskMode.PLAIN,
    where: RowFilter | None = None,
    limit: int | None = None,
    actor: str,
    destination: Destination = NOWHERE,
) -> Run:
    """Continue the unfinished run of the same judge version and selection, or start a new one.

    A run over failed or all responses continues with the same responses. If the log has grown, a
    plain run is not continued: a new run judges the new responses and the rest of the old run. A
    limit is stored as a frontier, so that a continued run judges the same responses. Raises
    BadInput if the judge version is retired.
    """
    selection = Selection(where or RowFilter(), ask_mode(mode), limit, last_response_id(connection))

    def selected() -> tuple[dict[str, Any], int]:
        if limit is None:
            return _as_json(selection), count_unasked(connection, version.id, selection)
        query = select(RESPONSE.c.id).where(*unasked(connection, version.id, selection, None))
        ids = connection.scalars(next_by_id(query, None, limit=limit)).all()
        return _as_json(replace(selection, up_to=ids[-1] if ids else 0)), len(ids)

    return start_or_continue_method_run(
        connection,
        run_kind(mode),
        version,
        _as_json(selection),
        selected,
        actor=actor,
        destination=destination,
    )


def start_or_continue_method_run(
    connection: Connection,
    kind: str,
    version: StoredVersion,
    question: Mapping[str, Any],
    selected: int | Callable[[], tuple[dict[str, Any], int]],
    *,
    actor: str,
    destination: Destination = NOWHERE,
) -> Run:
    """Continue the unfinished run of the same method (``kind``), version and question, or start a new one.

    ``question`` has the JSON values that define the selection. The frontier (``up_to``) is not
    compared: an unfinished run continues up to the stored frontier. ``selected`` is the number of
    steps, or a function that returns the question to store and this number; only a new run calls
    the function. Raises BadInput if the judge version is retired.
    """
    # Only one of two processes with the same command starts the run; the other process continues
    # the run.
    connection.execute(
        select(VERSION.c.id).where(VERSION.c.id == version.id).with_for_update(key_share=True)
    )
    refuse_retired(connection, version)
    earlier_run = unfinished_run(connection, version.id, kind, question)
    if earlier_run is not None:
        return resume_run(connection, earlier_run.id, actor, destination)
    stored_question, count = selected() if callable(selected) else (dict(question), selected)
    run = Run(
        kind=kind,
        judge_version_id=version.id,
        filter=stored_question,
        actor=actor,
        selected=count,
        started_at=utc_now(),
        **destination._asdict(),
    )
    return insert_run(connection, run)


def run_kind(mode: str) -> str:
    """Return the kind of a run with this mode: ``judge`` for first verdicts, ``anchors``, or else ``rejudge``."""
    return {AskMode.PLAIN: "judge", AskMode.ANCHORS: "anchors"}.get(AskMode(mode), "rejudge")


def unfinished_run(
    connection: Connection, version_id: int, kind: str, question: Selection | Mapping[str, Any]
) -> Run | None:
    """Return the run that the same command would continue, or None."""
    key = _comparable(_as_json(question) if isinstance(question, Selection) else question)
    query = select(Run).where(
        RUN.c.judge_version_id == version_id, RUN.c.kind == kind, RUN.c.state.in_(RESUMABLE)
    )
    runs = rows_of(connection, query.order_by(RUN.c.id.desc()))
    return next((run for run in runs if _comparable(run.filter) == key), None)


def resume_run(
    connection: Connection,
    run_id: int,
    actor: str | None = None,
    destination: Destination = NOWHERE,
) -> Run:
    """Mark a run as running again and return the run (``actor``: by default the person who started the run).

    If the texts go to another host from now on, both hosts are stored.
    """
    mark_running(connection, get_run(connection, run_id), destination)
    run = get_run(connection, run_id)
    record_event(connection, "resume_run", actor or run.actor, details={"run": run_id})
    return run


def mark_running(connection: Connection, run: Run, destination: Destination) -> None:
    """Store that a run continues, and where the texts go now."""
    values: dict[str, Any] = {
        "state": RunState.RUNNING.value,
        "finished_at": None,
        "why_stopped": None,
    }
    if destination.endpoint_host is not None:
        hosts = ", ".join(filter(None, (run.endpoint_host, destination.endpoint_host)))
        values |= {
            **destination._asdict(),
            "endpoint_host": ", ".join(dict.fromkeys(hosts.split(", "))),
        }
    connection.execute(update(RUN).where(RUN.c.id == run.id).values(values))


def last_asked_run(connection: Connection, version_id: int) -> Run | None:
    """Return the newest run of a judge version that sent texts to an endpoint; None without such a run."""
    query = select(Run).where(
        RUN.c.judge_version_id == version_id, RUN.c.endpoint_host.is_not(None)
    )
    return first_row(connection, query.order_by(RUN.c.id.desc()))


def start_import_run(
    connection: Connection,
    version: StoredVersion,
    actor: str,
    now: datetime | None = None,
    *,
    import_batch_id: int | None = None,
) -> Run:
    """Start and return a run for the verdicts of a file. Earlier versions stored no ``import_batch_id``."""
    run = Run(
        kind=IMPORT,
        judge_version_id=version.id,
        actor=actor,
        started_at=now or utc_now(),
        import_batch_id=import_batch_id,
    )
    return insert_run(connection, run)


def run_of_today(
    connection: Connection,
    kind: str,
    version: StoredVersion,
    question: Mapping[str, Any],
    *,
    actor: str,
    destination: Destination = NOWHERE,
    now: datetime | None = None,
) -> Run:
    """Return today's run (UTC) of verdicts that an actor makes or sends one by one; start the run if there is none.

    The run is done at once, because no answer is left to judge. ``question`` tells runs of the same
    kind apart.
    """
    now = now or utc_now()
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    query = select(Run).where(
        RUN.c.kind == kind,
        RUN.c.judge_version_id == version.id,
        RUN.c.actor == actor,
        RUN.c.started_at >= today,
        RUN.c.state == RunState.DONE,
        RUN.c.endpoint_host == destination.endpoint_host,
    )
    for run in rows_of(connection, query.order_by(RUN.c.id)):
        if _comparable(run.filter) == _comparable(question):
            return run
    new_run = Run(
        kind=kind,
        judge_version_id=version.id,
        filter=dict(question),
        actor=actor,
        started_at=now,
        **destination._asdict(),
    )
    run = insert_run(connection, new_run)
    # The end of the run is after the start.
    finish_run(connection, run.id, RunState.DONE, now=now + timedelta(microseconds=1))
    return get_run(connection, run.id)


def finish_run(
    connection: Connection,
    run_id: int,
    state: RunState,
    *,
    why_stopped: str | None = None,
    now: datetime | None = None,
) -> None:
    """Store the end of a run."""
    end = {"state": state.value, "why_stopped": why_stopped, "finished_at": now or utc_now()}
    statement = update(RUN).where(RUN.c.id == run_id).values(end).returning(RUN.c.actor)
    actor = connection.scalar(statement)
    record_event(
        connection, "finish_run", actor, details={"run": run_id, "state": state.value}, now=now
    )


def set_why_stopped(connection: Connection, run_id: int, why: str | None) -> None:
    """Store why the workers of a running run stop; the leading worker then stores the end of the run."""
    connection.execute(update(RUN).where(RUN.c.id == run_id).values(why_stopped=why))


def select_asks(
    connection: Connection,
    run: Run,
    *,
    after_id: int | None = None,
    among: Collection[int] | None = None,
    limit: int,
) -> list[tuple[int, int]]:
    """Return the next responses by id that this run has to judge, each with the number of the ask (from 0)."""
    selection, version_id = selection_of(run), run.judge_version_id
    if selection is None or version_id is None:
        return []
    conditions = unasked(connection, version_id, selection, run.id)
    conditions += [] if among is None else [RESPONSE.c.id.in_(among)]
    query = select(RESPONSE.c.id, next_ask_number(version_id, selection)).where(*conditions)
    rows = connection.execute(next_by_id(query, after_id, limit=limit))
    return [(id_, ask) for id_, ask in rows]


def get_run(connection: Connection, run_id: int) -> Run:
    """Return a run. Raises NotFound if there is none."""
    return get_row(connection, Run, run_id, "run")


def running_runs(connection: Connection, version_ids: Collection[int]) -> list[Run]:
    """Return the runs of these judge versions in the state running, also runs of a killed process."""
    of_versions = RUN.c.judge_version_id.in_(version_ids)
    return rows_of(connection, select(Run).where(RUN.c.state == RunState.RUNNING, of_versions))


def is_run_of(connection: Connection, run_id: int, version_id: int) -> bool:
    """Return whether there is a run with this id and this judge version."""
    return any_row(connection, RUN.c.id == run_id, RUN.c.judge_version_id == version_id)


def list_runs(
    connection: Connection,
    *,
    before_id: int | None = None,
    limit: int = 50,
    actor: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
) -> list[Run]:
    """Return runs with ids below ``before_id``, newest first; optionally only of ``actor`` or of a period."""
    query = select(Run)
    if before_id is not None:
        query = query.where(RUN.c.id < before_id)
    if actor is not None:
        query = query.where(RUN.c.actor == actor)
    if since is not None:
        query = query.where(RUN.c.started_at >= since)
    if until is not None:
        query = query.where(RUN.c.started_at <= until)
    return rows_of(connection, query.order_by(RUN.c.id.desc()).limit(limit))


def runs_since(connection: Connection, since: datetime) -> list[Run]:
    """Return the runs that started at ``since`` or later, newest first, without runs of imported verdicts."""
    query = select(Run).where(RUN.c.started_at >= since, RUN.c.kind != IMPORT)
    return rows_of(connection, query.order_by(RUN.c.id.desc()))


def count_query(steps: Table, key: ColumnElement[Any]) -> Select[Any]:
    """Return the query for the numbers and costs of steps by a key and status, which `counts_by` reads."""
    columns = (
        func.count(),
        func.count(steps.c.cost_micro),
        func.sum(steps.c.cost_micro),
    )
    return select(key, steps.c.status, *columns).group_by(key, steps.c.status)


def counts_by(
    connection: Connection, query: Executable, parameters: Mapping[str, Any] | None = None
) -> dict[Any, Counts]:
    """Return the counts of a `count_query` by key. Sums of prompt and completion tokens may follow the columns."""
    counts: dict[Any, Counts] = {}
    for key, status, calls, priced_calls, cost, *tokens in connection.execute(query, parameters):
        prompt_tokens, completion_tokens = (int(each or 0) for each in tokens or (0, 0))
        of_status = Counts(
            **{status.value: calls},
            cost_micro=int(cost or 0) if priced_calls else None,
            unpriced=calls - priced_calls,
            prompt_tokens=prompt_tokens,
            completion_tokens=completion_tokens,
        )
        counts[key] = counts.get(key, Counts()) + of_status
    return counts


def method_costs_since(connection: Connection, since: datetime) -> dict[str, Counts]:
    """Return the cost of comparisons, audits, generated answers and other calls since a time, by the run's judge."""
    costs: dict[str, Counts] = {}
    for steps in STEP_TABLES:
        # The runs first: a table of steps has an index by run, and no index by time.
        conditions = (
            or_(RUN.c.finished_at.is_(None), RUN.c.finished_at >= since),
            RUN.c.kind != "import",
        )
        run_ids = connection.scalars(select(RUN.c.id).where(*conditions)).all()
        query = (
            count_query(steps, VERSION.c.name)
            .join_from(steps, RUN, RUN.c.id == steps.c.run_id)
            .join(VERSION, VERSION.c.id == RUN.c.judge_version_id)
            .where(steps.c.run_id.in_(run_ids), steps.c.created_at >= since)
        )
        for name, of_judge in counts_by(connection, query).items():
            costs[name] = costs.get(name, Counts()) + of_judge
    return costs


_EVER = datetime.min.replace(tzinfo=UTC)
# One statement, made once: pages and commands ask again and again while a run goes on.
_COUNTS_OF_RUNS = union_all(
    *(
        count_query(steps, steps.c.run_id)
        .add_columns(func.sum(steps.c.prompt_tokens), func.sum(steps.c.completion_tokens))
        .where(steps.c.run_id.in_(bindparam("run_ids")), steps.c.created_at >= bindparam("since"))
        for steps in (JUDGMENT, *STEP_TABLES)
    )
)


def run_counts(
    connection: Connection, run_ids: Collection[int], *, since: datetime = _EVER
) -> dict[int, Counts]:
    """Return the counts of each of these runs; ``since`` excludes calls that were stored earlier."""
    counts = dict.fromkeys(run_ids, Counts())
    for batch in batches([*run_ids]):
        counts |= counts_by(connection, _COUNTS_OF_RUNS, {"run_ids": batch, "since": since})
    return counts


def insert_run(connection: Connection, run: Run) -> Run:
    """Store a new run and return the run."""
    run_id = connection.scalar(insert(RUN).returning(RUN.c.id), run.model_dump(exclude={"id"}))
    details = {
        "run": run_id,
        "kind": run.kind,
        "version": run.judge_version_id,
        "selected": run.selected,
    }
    record_event(connection, "start_run", run.actor, details=details, now=run.started_at)
    return get_run(connection, run_id)


def selection_of(run: Run) -> Selection | None:
    """Return what a run judges; None for imports and for methods other than judging."""
    question = run.filter
    if "mode" not in question:
        return None
    mode, limit = ask_mode(question["mode"]), question.get("limit")
    return Selection(from_dict(question["where"]), mode, limit, question["up_to"])


def _as_json(selection: Selection) -> dict[str, Any]:
    fields = {
        "where": selection.where.as_dict(),
        "mode": selection.mode.value,
        "up_to": selection.up_to,
    }
    return fields if selection.limit is None else fields | {"limit": selection.limit}


def _comparable(question: Mapping[str, Any]) -> str:
    # If the log has grown, a plain run without a limit is not continued.
    whole_log = question.get("mode") == AskMode.PLAIN and "limit" not in question
    keys = question.keys() if whole_log else question.keys() - {"up_to"}
    return json.dumps({key: question[key] for key in keys}, sort_keys=True)


def last_verdicts(connection: Connection, run_ids: Collection[int]) -> dict[int, datetime]:
    """Return the time of the latest judgment of each of these runs that has any."""
    latest = (
        select(func.max(JUDGMENT.c.id))
        .where(JUDGMENT.c.run_id.in_(run_ids))
        .group_by(JUDGMENT.c.run_id)
    )
    query = select(JUDGMENT.c.run_id, JUDGMENT.c.created_at).where(JUDGMENT.c.id.in_(latest))
    return {row.run_id: row.created_at for row in connection.execute(query)}

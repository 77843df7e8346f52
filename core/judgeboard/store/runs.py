"""Runs of judges and imports: their rows, their state, and which responses they select."""

import json
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Self

from sqlalchemy import (
    ColumnElement,
    Connection,
    NestedTransaction,
    Select,
    exists,
    func,
    insert,
    literal,
    select,
    update,
)

from judgeboard.domain import RunState, Status
from judgeboard.errors import BadInput, NotFound
from judgeboard.store.events import record_event
from judgeboard.store.filter_conditions import response_conditions
from judgeboard.store.filters import RowFilter, from_dict
from judgeboard.store.judge_versions import StoredVersion, refuse_retired, version_title
from judgeboard.store.method_tables import STEP_TABLES
from judgeboard.store.responses import last_response_id
from judgeboard.store.statements import NOT_OK
from judgeboard.store.tables import JUDGMENT, RESPONSE, RUN, VERSION


@dataclass(frozen=True, slots=True, kw_only=True)
class AskCounts:
    """How many asks ended in which status; ``asked`` is always the sum of the four."""

    asked: int = field(init=False)
    ok: int = 0
    unparsable: int = 0
    refused: int = 0
    error: int = 0

    def __post_init__(self) -> None:
        """Count what was asked in all."""
        object.__setattr__(self, "asked", self.ok + self.unparsable + self.refused + self.error)

    @classmethod
    def of(cls, counts: Mapping[Any, int], **others: int) -> Self:
        """Return the counts by status; ``others`` are further fields."""
        return cls(**{status.value: counts.get(status, 0) for status in Status}, **others)

    @property
    def by_status(self) -> dict[str, int]:
        """The four counts by their status."""
        return {"ok": self.ok, "unparsable": self.unparsable, "refused": self.refused, "error": self.error}

    def words(self, asked: str = "asked") -> str:
        """Return the sum in words: "10 asked = 8 ok + 1 unparsable + 0 refused + 1 error"."""
        return f"{self.asked:,} {asked} = {' + '.join(f'{n:,} {status}' for status, n in self.by_status.items())}"


class AskMode(StrEnum):
    """Which responses of a filter are asked about."""

    PLAIN = "plain"
    """Those without any judgment of the version."""
    FAILED = "failed"
    """Those whose latest judgment of the version is not ok."""
    ALL = "all"


PLAIN = AskMode.PLAIN


def ask_mode(given: str) -> AskMode:
    """Return the mode that a text names.

    Raises:
        BadInput: It is not one of plain, failed, all.
    """
    try:
        return AskMode(given)
    except ValueError:
        raise BadInput(f"a run asks plain, failed or all responses, not {given!r}") from None


@dataclass(frozen=True, slots=True)
class Selection:
    """What a run asks about, fixed at its start.

    ``up_to`` is the frontier: responses stored later have a greater id, and so have those beyond the ``limit``
    that a run was started with.
    """

    where: RowFilter
    mode: AskMode
    limit: int | None
    up_to: int


@dataclass(frozen=True, slots=True)
class SelectedAsk:
    """A response to ask about and the number of this asking: 0 first, one more with every rejudge."""

    response_id: int
    ask: int


def unasked(
    connection: Connection,
    version_id: int,
    selection: Selection,
    run_id: int | None,
    *,
    after_id: int | None = None,
    downwards: bool = False,
    limit: int,
) -> list[SelectedAsk]:
    """Return the next responses that this run has not asked about, by id, behind ``after_id`` where it is given.

    ``downwards`` begins at the frontier and goes to lower ids; ``run_id`` None is for a run that has not begun.
    """
    conditions = _conditions(connection, version_id, selection, run_id)
    if after_id is not None:
        conditions.append(RESPONSE.c.id < after_id if downwards else RESPONSE.c.id > after_id)
    query = select(RESPONSE.c.id, _next_ask(version_id, selection)).where(*conditions)
    order = RESPONSE.c.id.desc() if downwards else RESPONSE.c.id
    return [SelectedAsk(id_, ask) for id_, ask in connection.execute(query.order_by(order).limit(limit))]


def matching(connection: Connection, where: RowFilter, *, limit: int) -> list[int]:
    """Return the first responses of a filter by id."""
    query = select(RESPONSE.c.id).where(*response_conditions(connection, where))
    return list(connection.execute(query.order_by(RESPONSE.c.id).limit(limit)).scalars())


def count_unasked(connection: Connection, version_id: int, selection: Selection, run_id: int | None = None) -> int:
    """Return how many responses are left to ask; ``run_id`` None counts at a start."""
    query = select(func.count()).select_from(RESPONSE).where(*_conditions(connection, version_id, selection, run_id))
    return int(connection.execute(query).scalar_one())


def _conditions(
    connection: Connection, version_id: int, selection: Selection, run_id: int | None
) -> list[ColumnElement[bool]]:
    of_version = (JUDGMENT.c.response_id == RESPONSE.c.id) & (JUDGMENT.c.judge_version_id == version_id)
    conditions = [
        RESPONSE.c.id <= selection.up_to,
        RESPONSE.c.answer.is_not(None),  # a forgotten response cannot be judged
        *response_conditions(connection, selection.where),
    ]
    if selection.mode is AskMode.PLAIN:
        return [*conditions, ~exists().where(of_version)]
    if selection.mode is AskMode.FAILED:
        failed = select(JUDGMENT.c.response_id).where(JUDGMENT.c.judge_version_id == version_id, NOT_OK)
        latest = select(JUDGMENT.c.status).where(of_version, JUDGMENT.c.repeat == 0).order_by(JUDGMENT.c.id.desc())
        conditions += [RESPONSE.c.id.in_(failed), _first(latest) != Status.OK.value]
    if run_id is not None:
        conditions.append(~exists().where(of_version, JUDGMENT.c.run_id == run_id))
    return conditions


def _next_ask(version_id: int, selection: Selection) -> ColumnElement[int]:
    if selection.mode is AskMode.PLAIN:
        return literal(0)
    asked = select(func.max(JUDGMENT.c.ask)).where(
        JUDGMENT.c.response_id == RESPONSE.c.id, JUDGMENT.c.judge_version_id == version_id
    )
    return func.coalesce(asked.scalar_subquery() + 1, 0)


def _first(query: Select[Any]) -> ColumnElement[Any]:
    return query.limit(1).scalar_subquery()


RESUMABLE = (RunState.RUNNING.value, RunState.INTERRUPTED.value, RunState.STOPPED.value)


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A run as stored; ``selection`` is None where it is no plain judging: an import, or another method.

    ``question`` is what was asked for, as JSON values, whatever the method.

    ``selected`` counts what its selection held at its start: selected - asked is what it did not reach. ``shared``
    tells that it was running when it was continued: its process died, or is at it still.
    """

    id: int
    kind: str
    version_id: int | None
    version_title: str | None
    selection: Selection | None
    selected: int | None
    actor: str
    endpoint_host: str | None
    started_at: datetime
    finished_at: datetime | None
    state: RunState
    why_stopped: str | None
    shared: bool = False
    question: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Counts(AskCounts):
    """What became of the asks of a run, what they cost.

    ``cost_micro`` sums the known costs (None where none is known); ``unpriced`` counts judgments of unknown cost.
    """

    cost_micro: int | None = None
    unpriced: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0


def start_or_continue_run(
    connection: Connection,
    version: StoredVersion,
    *,
    mode: str = AskMode.PLAIN,
    where: RowFilter | None = None,
    limit: int | None = None,
    kind: str = "judge",
    actor: str,
    endpoint_host: str | None = None,
    now: datetime | None = None,
) -> StoredRun:
    """Return a running run with this selection: the unfinished one of the same judge version, else a new one.

    A run over failed or all responses goes on with the responses it was started over. A plain run whose log has
    grown meanwhile is left as it is: the new one asks what it did not reach, and the newcomers. A limit is kept by a
    frontier, which is the same for all that work on the run; so an interrupted one is filled up, not begun again.

    Raises:
        BadInput: The judge version is retired.
    """
    selection = Selection(where or RowFilter(), ask_mode(mode), limit, last_response_id(connection))

    def selected() -> tuple[dict[str, Any], int]:
        if limit is None:
            return _as_json(selection), count_unasked(connection, version.id, selection)
        first = unasked(connection, version.id, selection, None, limit=limit)
        return _as_json(replace(selection, up_to=first[-1].response_id if first else 0)), len(first)

    return _start_or_continue(
        connection, kind, version, _as_json(selection), selected, actor=actor, endpoint_host=endpoint_host, now=now
    )


def start_or_continue_method_run(
    connection: Connection,
    kind: str,
    version: StoredVersion,
    question: Mapping[str, Any],
    *,
    selected: int,
    actor: str,
    endpoint_host: str | None = None,
    now: datetime | None = None,
) -> StoredRun:
    """Return a running run of this method: the unfinished one of the same version and question, else a new one.

    The frontier (``up_to``, the highest id) is no part of the comparison: an unfinished run goes on up to its own,
    which its ``question`` holds, however far the log has grown; so nothing that it asked already is asked again. What
    was stored since is for the run after it.

    Args:
        connection: A writing transaction.
        kind: The method: ``compare``, ``reflect``, ``refine``, ``audit``, ``ssr``, ``suite``, …
        version: Who judges; two processes with the same command share one run.
        question: JSON values that fix what is asked about, kept as the filter; a frontier is called ``up_to``.
        selected: Steps that the method needs for all of it, as far as that is known at the start.
        actor: Who asks.
        endpoint_host: Where the texts go.
        now: When; the present by default.

    Raises:
        BadInput: The judge version is retired.
    """
    return _start_or_continue(
        connection,
        kind,
        version,
        question,
        lambda: (dict(question), selected),
        actor=actor,
        endpoint_host=endpoint_host,
        now=now,
    )


def _start_or_continue(
    connection: Connection,
    kind: str,
    version: StoredVersion,
    question: Mapping[str, Any],
    selection: Callable[[], tuple[dict[str, Any], int]],
    *,
    actor: str,
    endpoint_host: str | None,
    now: datetime | None,
) -> StoredRun:
    # Two processes that are given the same command share one run.
    connection.execute(select(VERSION.c.id).where(VERSION.c.id == version.id).with_for_update(key_share=True))
    refuse_retired(connection, version)
    unfinished = unfinished_run(connection, version.id, kind, question)
    if unfinished is not None:
        return replace(resume_run(connection, unfinished.id, actor), shared=unfinished.state is RunState.RUNNING)
    stored, selected = selection()
    return insert_run(
        connection,
        {
            "kind": kind,
            "judge_version_id": version.id,
            "filter": stored,
            "actor": actor,
            "endpoint_host": endpoint_host,
            "selected": selected,
            "started_at": now or datetime.now(UTC),
        },
    )


def run_kind(mode: str) -> str:
    """Return what kind of run asks with this mode: for first verdicts ``judge``, for further ones ``rejudge``."""
    return "judge" if mode == AskMode.PLAIN else "rejudge"


def unfinished_run(
    connection: Connection, version_id: int, kind: str, question: Selection | Mapping[str, Any]
) -> StoredRun | None:
    """Return the run that asking for the same would continue, None where it would start a new one."""
    wanted = _comparable(_as_json(question) if isinstance(question, Selection) else question)
    same_judge = (RUN.c.judge_version_id == version_id) & (RUN.c.kind == kind)
    unfinished = select(RUN.c.id, RUN.c.filter).where(same_judge, RUN.c.state.in_(RESUMABLE)).order_by(RUN.c.id.desc())
    for run_id, stored in connection.execute(unfinished):
        if _comparable(stored) == wanted:
            return get_run(connection, run_id)
    return None


def resume_run(connection: Connection, run_id: int, actor: str | None = None) -> StoredRun:
    """Mark a run as running again and return it; ``actor`` goes on with it, by default whoever began it."""
    again = {"state": RunState.RUNNING.value, "finished_at": None, "why_stopped": None}
    connection.execute(update(RUN).where(RUN.c.id == run_id).values(again))
    run = get_run(connection, run_id)
    record_event(connection, "resume_run", actor or run.actor, details={"run": run_id})
    return run


def start_import_run(
    connection: Connection, version: StoredVersion, actor: str, now: datetime | None = None
) -> StoredRun:
    """Return a new run under which verdicts recorded elsewhere are stored."""
    started = now or datetime.now(UTC)
    row = {"kind": "import", "judge_version_id": version.id, "filter": {}, "actor": actor, "started_at": started}
    return insert_run(connection, row)


def finish_run(
    connection: Connection, run_id: int, state: RunState, *, why_stopped: str | None = None, now: datetime | None = None
) -> None:
    """Write how a run ended; ``why_stopped`` is one line for a person."""
    end = {"state": state.value, "why_stopped": why_stopped, "finished_at": now or datetime.now(UTC)}
    connection.execute(update(RUN).where(RUN.c.id == run_id).values(end))
    actor = connection.execute(select(RUN.c.actor).where(RUN.c.id == run_id)).scalar_one()
    record_event(connection, "finish_run", actor, details={"run": run_id, "state": state.value}, now=now)


def keep_if_selected(attempt: NestedTransaction, run: StoredRun) -> StoredRun | None:
    """Keep a run that has something to ask; None of one that has nothing, which leaves nothing behind.

    Not even the judge version that was made for it in the same savepoint: one that has judged nothing has no row.
    """
    if run.selected == 0:
        attempt.rollback()
        return None
    attempt.commit()
    return run


def select_asks(
    connection: Connection, run: StoredRun, *, after_id: int | None = None, downwards: bool = False, limit: int
) -> list[SelectedAsk]:
    """Return the next responses that this run has still to ask about, by id; none for an import.

    They lie behind ``after_id`` where it is given; ``downwards`` goes from the highest id to the lowest.
    """
    if run.selection is None or run.version_id is None:
        return []
    return unasked(
        connection, run.version_id, run.selection, run.id, after_id=after_id, downwards=downwards, limit=limit
    )


def get_run(connection: Connection, run_id: int) -> StoredRun:
    """Return a run.

    Raises:
        NotFound: There is no run with this id.
    """
    runs = _read(connection, _RUNS.where(RUN.c.id == run_id))
    if not runs:
        raise NotFound(f"no run {run_id}")
    return runs[0]


def is_run_of(connection: Connection, run_id: int, version_id: int) -> bool:
    """Whether there is a run with this id, of this judge version."""
    query = select(RUN.c.id).where(RUN.c.id == run_id, RUN.c.judge_version_id == version_id)
    return connection.execute(query).scalar() is not None


def list_runs(connection: Connection, *, before_id: int | None = None, limit: int = 50) -> list[StoredRun]:
    """Return runs, newest first, behind ``before_id`` where it is given."""
    query = _RUNS if before_id is None else _RUNS.where(RUN.c.id < before_id)
    return _read(connection, query.order_by(RUN.c.id.desc()).limit(limit))


def run_counts(connection: Connection, run_ids: Collection[int]) -> dict[int, Counts]:
    """Return the counts of each of these runs; a run that has not asked yet has zeros and no cost."""
    counted: dict[int, Counter[str]] = {run_id: Counter() for run_id in run_ids}
    for steps in (JUDGMENT, *STEP_TABLES):
        sums = (
            func.count(),
            func.count(steps.c.cost_micro),
            func.coalesce(func.sum(steps.c.cost_micro), 0),
            func.coalesce(func.sum(steps.c.prompt_tokens), 0),
            func.coalesce(func.sum(steps.c.completion_tokens), 0),
        )
        of_runs = select(steps.c.run_id, steps.c.status, *sums).where(steps.c.run_id.in_(run_ids))
        for run_id, status, n, priced, cost, prompt, completion in connection.execute(
            of_runs.group_by(steps.c.run_id, steps.c.status)
        ):
            counted[run_id].update({status: n, "priced": priced, "unpriced": n - priced, "cost": int(cost)})
            counted[run_id].update(prompt=int(prompt), completion=int(completion))
    return {run_id: _counts(counts) for run_id, counts in counted.items()}


def _counts(counted: Counter[str]) -> Counts:
    return Counts(
        **{status.value: counted[status.value] for status in Status},
        cost_micro=counted["cost"] if counted["priced"] else None,
        unpriced=counted["unpriced"],
        prompt_tokens=counted["prompt"],
        completion_tokens=counted["completion"],
    )


_RUNS = select(RUN, VERSION.c.name, VERSION.c.number).join_from(
    RUN, VERSION, VERSION.c.id == RUN.c.judge_version_id, isouter=True
)


def _read(connection: Connection, query: Select[Any]) -> list[StoredRun]:
    return [
        StoredRun(
            id=row.id,
            kind=row.kind,
            version_id=row.judge_version_id,
            version_title=None if row.name is None else version_title(row.name, row.number),
            selection=_from_json(row.filter) if "mode" in row.filter else None,
            question=row.filter,
            selected=row.selected,
            actor=row.actor,
            endpoint_host=row.endpoint_host,
            started_at=row.started_at,
            finished_at=row.finished_at,
            state=RunState(row.state),
            why_stopped=row.why_stopped,
        )
        for row in connection.execute(query)
    ]


def insert_run(connection: Connection, row: dict[str, Any]) -> StoredRun:
    """Store a new run, running, and return it."""
    inserted = connection.execute(insert(RUN).returning(RUN.c.id), row | {"state": RunState.RUNNING.value})
    run = get_run(connection, inserted.scalar_one())
    details = {"run": run.id, "kind": run.kind, "version": run.version_id, "selected": run.selected}
    record_event(connection, "start_run", run.actor, details=details, now=run.started_at)
    return run


def _as_json(selection: Selection) -> dict[str, Any]:
    fields = {"where": selection.where.as_dict(), "mode": selection.mode.value, "up_to": selection.up_to}
    return fields if selection.limit is None else fields | {"limit": selection.limit}


def _from_json(stored: dict[str, Any]) -> Selection:
    return Selection(from_dict(stored["where"]), ask_mode(stored["mode"]), stored.get("limit"), stored["up_to"])


def _comparable(stored: Mapping[str, Any]) -> str:
    # A plain run over the whole log is begun anew where the log has grown: it then asks what that one did not reach.
    whole_log = stored.get("mode") == AskMode.PLAIN and "limit" not in stored
    keys = stored.keys() if whole_log else stored.keys() - {"up_to"}
    return json.dumps({key: stored[key] for key in keys}, sort_keys=True)


def last_verdicts(connection: Connection, run_ids: Collection[int]) -> dict[int, datetime]:
    """Return when the latest verdict of each of these runs came; those without any are left out."""
    latest = select(func.max(JUDGMENT.c.id)).where(JUDGMENT.c.run_id.in_(run_ids)).group_by(JUDGMENT.c.run_id)
    query = select(JUDGMENT.c.run_id, JUDGMENT.c.created_at).where(JUDGMENT.c.id.in_(latest))
    return {row.run_id: row.created_at for row in connection.execute(query)}

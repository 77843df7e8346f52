"""Runs of judging: started or continued, ended, counted, listed."""

import json
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, NestedTransaction, Select, func, insert, select, update

from judgeboard.ask_counts import AskCounts
from judgeboard.domain import RunState, Status
from judgeboard.errors import NotFound
from judgeboard.filters import RowFilter, from_dict
from judgeboard.store.events import record_event
from judgeboard.store.judgments.judge_versions import StoredVersion, version_title
from judgeboard.store.judgments.retired_versions import refuse_retired
from judgeboard.store.responses.response_frontier import last_response_id
from judgeboard.store.runs.asks import AskMode, SelectedAsk, Selection, ask_mode, count_unasked, unasked
from judgeboard.store.schema.method_tables import STEP_TABLES
from judgeboard.store.schema.tables import JUDGMENT, RUN, VERSION

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
    has landed since is for the run after it.

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

"""Rejudge jobs: estimate, request, watch and cancel a job. Workers run the jobs."""

import uuid
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from judgeboard.domain import Action, JudgeVersion, RunState
from judgeboard.errors import BadInput, OtherHost
from judgeboard.judges.judge import PARAMS, Judge, fingerprint
from judgeboard.judges.rubric_file import default_rubric
from judgeboard.llm.endpoint import FREE, PROVIDERS, price_of
from judgeboard.llm.provider import is_address, is_own_host
from judgeboard.people.permissions import Actor, actor_name, allowed, as_stored, may, require
from judgeboard.registry.judge_kinds import JUDGES, kind_of
from judgeboard.runs.addresses import (
    ADDRESS,
    address_options,
    at_last_address,
    check_host,
    configured_address,
    known_address,
    last_address,
    provider_and_address,
)
from judgeboard.runs.estimates import CallEstimate, cost_by_history
from judgeboard.runs.judging import make_judge, options_of_version
from judgeboard.runs.method import check_limits
from judgeboard.settings.model import load_settings, provider_key
from judgeboard.store.clock import utc_now
from judgeboard.store.engine import AdvisoryLock, Readable, Store, take_lock
from judgeboard.store.events import record_event
from judgeboard.store.filters import RowFilter, from_dict
from judgeboard.store.flags import count_at_stake
from judgeboard.store.jobs import (
    get_job,
    insert_job,
    is_continued,
    list_jobs,
    live_workers,
    process_name,
    set_cancelled,
    unfinished_jobs,
)
from judgeboard.store.judge_versions import (
    find_version,
    list_versions,
    refuse_retired,
    retired_versions,
    version_titles,
)
from judgeboard.store.responses import last_response_id
from judgeboard.store.run_steps import call_history
from judgeboard.store.runs import (
    AskCounts,
    AskMode,
    Selection,
    ask_mode,
    count_unasked,
    get_run,
    matching,
    run_counts,
    run_kind,
    selection_of,
    unasked,
    unfinished_run,
)
from judgeboard.store.settings import primary_judge
from judgeboard.store.statements import record_of
from judgeboard.store.tables import Job, Run, StoredVersion
from judgeboard.text import counted


def judge_spec(connection: Connection, version: StoredVersion) -> dict[str, Any] | None:
    """Return the judge fields of a job for this version; None if a job cannot ask the version (`options_of_version`).

    A job cannot ask a judge with examples or with an own rubric. A version with the prompt of an
    earlier release is asked with that prompt, and stays the same version. The address is the
    `known_address` of the version, if there is one.
    """
    try:
        spec = options_of_version(connection, version)
    except BadInput:
        return None
    rubric = spec.pop("rubric", None)
    if spec.pop("examples") or (
        rubric is not None and rubric.dimensions != default_rubric().dimensions
    ):
        return None
    return (
        spec
        if version.model is None
        else spec | address_options(known_address(connection, version.id))
    )


def spec_as_set_up(connection: Connection, judge: dict[str, Any]) -> dict[str, Any] | None:
    """Return the judge fields of the stored version that ``judge`` describes; None if version or address are new."""
    version = find_version(connection, fingerprint(_version(judge)))
    spec = None if version is None else judge_spec(connection, version)
    if spec is None or any(judge.get(name) not in (None, spec.get(name)) for name in ADDRESS):
        return None
    return spec


def usable_versions(connection: Connection) -> list[tuple[StoredVersion, dict[str, Any]]]:
    """Return the judge versions that can judge again, each with the judge fields of a job.

    Retired versions are left out. Versions of the primary judge come first, then versions of other
    judges; newest first in both.
    """
    retired, primary = retired_versions(connection), primary_judge(connection)
    versions = [version for version in list_versions(connection) if version.id not in retired]
    versions.sort(key=lambda version: (version.name != primary, -version.id))
    specs = ((version, judge_spec(connection, version)) for version in versions)
    return [(version, spec) for version, spec in specs if spec is not None]


def missing_key(judge: dict[str, Any]) -> str | None:
    """Return the variable whose key this judge needs and this process does not have; None if nothing is missing.

    Only the addresses of the providers themselves need a key: other servers may accept calls
    without one.
    """
    address = make_described(judge).address
    if address is None or address.base_url.rstrip("/") != PROVIDERS[
        address.provider
    ].base_url.rstrip("/"):
        return None
    key = judge_with_key(judge).get("api_key", provider_key(address.provider))
    return None if key else PROVIDERS[address.provider].key_variable


def make_described(judge: dict[str, Any]) -> Judge:
    """Return the judge that ``judge`` describes, without a key: only to read the version and the address."""
    return make_judge(**{"api_key": "none", **judge})


def _version(judge: dict[str, Any]) -> JudgeVersion:
    return make_described(judge).version


def estimate_calls(
    store: Readable,
    *,
    judge: dict[str, Any],
    where: RowFilter | None = None,
    mode: str = "all",
    concurrency: int = 16,
) -> CallEstimate:
    """Estimate a job from its current selection and the latest judgments of the same kind of judge and model."""
    described = make_described(judge)
    version, address = described.version, described.address
    with store.reading() as connection:
        stored_version = find_version(connection, fingerprint(version))
        if stored_version is not None:
            refuse_retired(connection, stored_version)
        title = None if stored_version is None else stored_version.title
        selection = _left_to_judge(connection, stored_version, where or RowFilter(), mode)
        _, _, continues = selection
        calls = count_unasked(connection, *selection)
        flags = _flags_at_stake(connection, version, *selection)
        prompt_tokens, completion_tokens, latency_ms = call_history(
            connection, version.kind, version.model
        )
    seconds = None if latency_ms is None else calls * latency_ms / 1000 / concurrency
    host = None if address is None else address.host
    # Without a host, nothing is paid, and a call takes less than a millisecond.
    if version.model is None:
        price = None if kind_of(version.kind).calls_host else FREE
    else:
        price = price_of(version.model, load_settings().prices, host)
    has_tokens = None not in (version.model, prompt_tokens, completion_tokens)
    return CallEstimate(
        calls,
        0 if price == FREE else cost_by_history(calls, price, prompt_tokens, completion_tokens),
        seconds,
        (prompt_tokens or 0) + (completion_tokens or 0) if has_tokens else None,
        version.model,
        priced=price is not None,
        continues=continues,
        version_title=title,
        own_endpoint=version.model is not None and is_own_host(host),
        flags=flags,
    )


def flags_at_stake(
    store: Readable, version: JudgeVersion, where: RowFilter | None = None, mode: str = "all"
) -> int:
    """Return how many open flags of audits and of other judges a run may supersede, if verdicts change."""
    with store.reading() as connection:
        row = find_version(connection, fingerprint(version))
        return _flags_at_stake(
            connection, version, *_left_to_judge(connection, row, where or RowFilter(), mode)
        )


def _flags_at_stake(
    connection: Connection,
    version: JudgeVersion,
    version_id: int,
    selection: Selection,
    run_id: int | None,
) -> int:
    if selection.mode in {AskMode.ANCHORS, AskMode.KEEP_FLAGS}:
        return 0
    return count_at_stake(
        connection, version.name, unasked(connection, version_id, selection, run_id)
    )


def _left_to_judge(
    connection: Connection, version: StoredVersion | None, where: RowFilter, mode: str
) -> tuple[int, Selection, int | None]:
    """Return the id of the version (0: new), the answers to judge, and the unfinished run that a job would continue."""
    version_id = 0 if version is None else version.id
    selection = Selection(where, ask_mode(mode), None, last_response_id(connection))
    unfinished = unfinished_run(connection, version_id, run_kind(mode), selection)
    if unfinished is not None:
        return version_id, selection_of(unfinished) or selection, unfinished.id
    return version_id, selection, None


@dataclass(frozen=True, slots=True)
class JobAddress:
    """Where a job sends texts: host with port, and provider; None if nothing leaves the process.

    ``before`` is the host of the version's last run if that was another host.
    """

    host: str | None = None
    provider: str | None = None
    before: str | None = None


def job_address(store: Readable, judge: dict[str, Any]) -> JobAddress:
    """Return where a job with this judge would send texts. Raises AddressUnknown as `at_last_address` does."""
    with store.reading() as connection:
        judge = with_last_address(connection, judge)
        address = make_described(judge).address
        if address is None:
            return JobAddress()
        try:
            check_address(connection, judge, str)
        except OtherHost as change:
            return JobAddress(address.host, address.provider, change.before)
    return JobAddress(address.host, address.provider)


def with_last_address(connection: Connection, judge: dict[str, Any]) -> dict[str, Any]:
    """Return the judge fields of a job with the known address of the judge version (`at_last_address`)."""
    return at_last_address(connection, make_judge, judge)


def check_address(
    connection: Connection,
    judge: dict[str, Any],
    subject: Callable[[], str],
    confirmed_host: str | None = None,
) -> None:
    """Raise OtherHost if the judge of a job uses another host now than in the last run of the same version.

    ``subject`` returns what would be sent. A host that equals ``confirmed_host`` is accepted.
    """
    described = make_described(judge)
    version = find_version(connection, fingerprint(described.version))
    if version is None or (
        described.address is not None and described.address.host == confirmed_host
    ):
        return
    check_host(last_address(connection, version.id), version, described.address, subject)


REJUDGE = "rejudge"
# A job can set every option of a judge except secrets, which stay in the environment of the worker.
_ASKABLE = {"kind", "name", "model", "prompt", *ADDRESS, *PARAMS}


@dataclass(frozen=True, slots=True)
class JobProgress(AskCounts):
    """The progress of a job. The numbers count the whole run, including earlier parts of a continued run.

    ``state`` is one of: waiting (for a worker), running, stopping, cancelled, done, stopped,
    failed. ``worker_alive`` tells whether any process runs jobs.
    """

    id: str
    state: str
    why: str | None
    actor: str
    where: RowFilter
    mode: str
    judge: dict[str, Any]
    judge_title: str | None
    version_id: int | None
    run_id: int | None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    selected: int
    cost_micro: int | None
    worker_alive: bool

    @property
    def waiting(self) -> int:
        """The number of answers that are not judged yet."""
        return max(0, self.selected - self.asked)

    @property
    def finished(self) -> bool:
        """Whether the job has ended."""
        return self.state in {"cancelled", "done", "stopped", "failed"}


def request_rejudge(
    store: Store,
    *,
    judge: dict[str, Any],
    where: RowFilter | None = None,
    mode: str = "all",
    max_cost: float | None = None,
    concurrency: int = 16,
    estimate: CallEstimate | None = None,
    api_key: str | None = None,
    confirmed_host: str | None = None,
    actor: Actor,
) -> str:
    """Request that responses are judged again (with mode ``plain``: for the first time); return the job's id.

    ``judge`` has ``kind`` and other fields of `JudgeOptions`; ``mode`` is ``all``, ``keep-flags``,
    ``failed`` or ``plain``, as for `judge_pending`. ``max_cost`` is in dollars, 0 or more;
    ``concurrency`` is 1 to 1024. ``estimate`` is the estimate that the person saw. ``api_key`` is
    kept in the memory of this process, which then runs the job itself. ``confirmed_host`` is the
    host to which the person agreed to send the answers, if the host has changed. Raises NotAllowed
    if a reviewer requests more than one answer, a new judge version or another address. Raises
    BadInput if the judge or a value cannot be used, or if the same job has not ended yet. Raises
    OtherHost if another host is not confirmed, and AddressUnknown.
    """
    check_spec(judge, max_cost, concurrency)
    now = utc_now()
    job = Job(
        id=f"{REJUDGE}-{uuid.uuid4().hex[:12]}",
        kind=REJUDGE,
        filter={
            "where": (where or RowFilter()).as_dict(),
            "mode": mode,
            "max_cost": max_cost,
            "concurrency": concurrency,
            **({OWN_KEY: process_name()} if api_key else {}),
        },
        judge=judge,
        actor=actor_name(actor),
        estimate=asdict(estimate) if estimate else {},
        created_at=now,
    )
    if api_key:
        _held_keys[job.id] = api_key  # before any worker sees the job
    try:
        with allowed(store, actor, Action.REJUDGE_ONE) as connection:
            if not isinstance(actor, str) and not may(
                as_stored(connection, actor), Action.REJUDGE_MANY
            ):
                # A reviewer may judge one answer again, but cannot choose the address: a reviewer's
                # own server could return any verdict.
                requested = from_dict(job.filter["where"])
                response_ids = matching(connection, requested, limit=2)
                if len(response_ids) > 1:
                    require(connection, actor, Action.REJUDGE_MANY)
                spec = spec_as_set_up(connection, job.judge)
                if spec is None:
                    require(connection, actor, Action.CHOOSE_JUDGE)
                requested = replace(requested, response_ids=tuple(response_ids))
                job = job.changed(
                    filter=job.filter | {"where": requested.as_dict()}, judge=spec or job.judge
                )
            job = job.changed(judge=with_last_address(connection, job.judge))
            _check_confirmed(connection, job, confirmed_host)
            take_lock(connection, AdvisoryLock.JOB_REQUESTS)
            # Refuse a job if the same job has not ended: both would continue the same run and make
            # every call twice.
            for twin in unfinished_jobs(connection):
                if twin.judge == job.judge and all(
                    twin.filter[name] == job.filter[name] for name in ("where", "mode")
                ):
                    start = f"{twin.actor} started the same job at {twin.created_at:%H:%M} UTC"
                    if twin.cancelled_at is not None:
                        raise BadInput(
                            f"{start} and cancelled it, but it has not stopped yet: try again in a moment"
                        )
                    raise BadInput(f"{start}, and it has not ended yet: wait for it, or cancel it")
            insert_job(connection, job)
            record_event(connection, "job_requested", job.actor, details={"job": job.id}, now=now)
    except BaseException:
        forget_key(job.id)
        raise
    return job.id


OWN_KEY = "own_key"  # in the filter of a job: the process that holds its key
_held_keys: dict[
    str, str
] = {}  # API keys that people typed, by job id; only in the memory of this process


def held_key(job_id: str) -> str | None:
    """Return the API key that this process holds for a job."""
    return _held_keys.get(job_id)


def forget_key(job_id: str) -> None:
    """Forget the API key of a job that has ended."""
    _held_keys.pop(job_id, None)


def judge_with_key(judge: dict[str, Any], api_key: str | None = None) -> dict[str, Any]:
    """Return the requested judge with a person's own key.

    Without such a key, the judge gets the environment's key only at the environment's address.
    Otherwise a person could enter an address on a page and receive the key there.
    """
    if api_key:
        return judge | {"api_key": api_key}
    usual = configured_address({"provider": provider_and_address(judge)[0]})
    address = configured_address(judge)
    return (
        judge
        if address.base_url.rstrip("/") == usual.base_url.rstrip("/")
        else judge | {"api_key": ""}
    )


def cancel_job(store: Store, job_id: str, actor: Actor) -> None:
    """Ask a job to stop; calls in flight are finished and stored. Only leads and admins may stop jobs of others."""
    now = utc_now()
    with allowed(store, actor) as connection:
        is_own = get_job(connection, job_id).actor == actor_name(actor)
        require(connection, actor, Action.REJUDGE_ONE if is_own else Action.CANCEL_JOBS)
        if set_cancelled(connection, job_id, now):
            record_event(
                connection, "job_cancelled", actor_name(actor), details={"job": job_id}, now=now
            )


def job_progress(store: Readable, job_id: str) -> JobProgress:
    """Return the progress of a job, read from the store only."""
    with store.reading() as connection:
        return _progress(connection, get_job(connection, job_id))


def recent_jobs(store: Readable) -> list[JobProgress]:
    """Return the latest jobs, newest first."""
    with store.reading() as connection:
        return [_progress(connection, job) for job in list_jobs(connection)]


def open_jobs(store: Readable) -> list[JobProgress]:
    """Return the jobs that are not finished, newest first."""
    with store.reading() as connection:
        return [_progress(connection, job) for job in reversed(unfinished_jobs(connection))]


def _progress(connection: Connection, job: Job) -> JobProgress:
    run = None if job.run_id is None else get_run(connection, job.run_id)
    version_id = None if run is None else run.judge_version_id
    counts = None if run is None else run_counts(connection, [run.id])[run.id]
    continued = run is not None and is_continued(connection, job)
    served = bool(live_workers(connection))
    return record_of(
        JobProgress,
        job,
        state=_state(job, run, continued=continued, served=served),
        why="a later job continued it"
        if continued
        else job.failed or (run.why_stopped if run else None),
        where=from_dict(job.filter["where"]),
        mode=job.filter["mode"],
        judge_title=version_titles(connection).get(version_id or 0),
        version_id=version_id,
        started_at=run.started_at if run else None,
        finished_at=run.finished_at if run else None,
        selected=(run.selected or 0) if run else int(job.estimate.get("calls") or 0),
        cost_micro=counts.total_cost_micro if counts else None,
        worker_alive=served,
        **(counts or AskCounts()).by_status,
    )


def check_spec(judge: dict[str, Any], max_cost: float | None, concurrency: int) -> None:
    """Raise BadInput if a job cannot use these fields of a judge, this cost limit or this concurrency."""
    if judge.get("kind") not in JUDGES:
        raise BadInput(
            f"there is no judge of kind {judge.get('kind')!r}; choose {', '.join(sorted(JUDGES))}"
        )
    if strange := sorted(set(judge) - _ASKABLE):
        raise BadInput(f"a job cannot use these options of a judge: {', '.join(strange)}")
    if judge.get("base_url") and not is_address(judge["base_url"]):
        raise BadInput("the address of a judge must begin with http:// or https:// and name a host")
    check_limits(max_cost, concurrency)


def _check_confirmed(connection: Connection, job: Job, confirmed_host: str | None) -> None:
    def answers() -> str:
        version = find_version(connection, fingerprint(_version(job.judge)))
        selection = _left_to_judge(
            connection, version, from_dict(job.filter["where"]), job.filter["mode"]
        )
        return counted(count_unasked(connection, *selection), "answer")

    check_address(connection, job.judge, answers, confirmed_host)


def _state(job: Job, run: Run | None, *, continued: bool, served: bool) -> str:
    cancelled = job.cancelled_at is not None
    if continued or (run is not None and run.state is RunState.STOPPED):
        return "cancelled" if cancelled else "stopped"
    if job.failed is not None:
        return "failed"
    if run is None:
        return "cancelled" if cancelled else "waiting"
    if run.state is RunState.DONE:
        return "done"
    if not served:
        return "waiting"
    return "stopping" if cancelled else "running"

"""Does one rejudge job: starts or continues its run, and stops when it is cancelled."""

import asyncio
import threading
import time
from typing import Any

from judgeboard.domain import RunState
from judgeboard.errors import JudgeboardError
from judgeboard.filters import from_dict
from judgeboard.judge_choice import make_judge
from judgeboard.judges.protocol import Judge
from judgeboard.judging import Judging
from judgeboard.llm.endpoint import choose_provider
from judgeboard.method import Begun, ask_run
from judgeboard.run_account import RunAccount
from judgeboard.runner import INTERRUPTED, Runner
from judgeboard.settings import load_settings, provider_address
from judgeboard.store.engine import Store
from judgeboard.store.judgments.judge_versions import ensure_version
from judgeboard.store.runs.job_rows import StoredJob, get_job, set_failed, set_run
from judgeboard.store.runs.runs import (
    finish_run,
    get_run,
    resume_run,
    run_counts,
)

CANCELLED = "cancelled"
LOOK_SECONDS = 0.2


def rejudge(store: Store, job_id: str, closing: threading.Event) -> dict[str, Any]:
    """Do a job to its end and return what came of it; done again after a crash, it asks only what is left.

    Everything that can go wrong is a state of the job or of its run, so that no durable step fails for ever. When
    ``closing`` is set the calls in flight are finished and the run is left as interrupted, to be continued.
    """
    with store.reading() as connection:
        job = get_job(connection, job_id)
    if job.cancelled_at is not None:
        return _cancelled(store, job)
    try:
        judge = make_judge(**_with_key_for(job.judge), concurrency=job.filter["concurrency"])
        begun = _begun(store, job, judge)
    except JudgeboardError as error:
        with store.writing() as connection:
            set_failed(connection, job_id, str(error))
        return {"state": "failed", "why": str(error)}
    run = begun.run
    if run.state in {RunState.DONE, RunState.STOPPED}:  # it ended, and the crash came before that was noted
        return {"state": run.state.value}
    account = asyncio.run(_judge(begun, judge, job, closing))
    return {"state": account.state.value, "asked": account.asked, "selected": run.selected or 0}


def _with_key_for(judge: dict[str, Any]) -> dict[str, Any]:
    """The judge as asked for, without our key where it is another address that was asked for.

    Whoever opens a page may name an address; the key is for the one that the environment names.
    """
    named = judge.get("provider") or load_settings().provider
    gateway = judge.get("base_url") or provider_address("openai")
    provider = choose_provider(named, model=judge.get("model"), base_url=gateway)
    ours = provider_address(provider.name) or provider.base_url
    address = judge.get("base_url") or ours
    return judge if address.rstrip("/") == ours.rstrip("/") else judge | {"api_key": ""}


def _cancelled(store: Store, job: StoredJob) -> dict[str, Any]:
    """What is left to do for a job that was cancelled before this process took it up."""
    with store.writing() as connection:
        if job.run_id is not None and get_run(connection, job.run_id).state in {RunState.RUNNING, RunState.INTERRUPTED}:
            finish_run(connection, job.run_id, RunState.STOPPED, why_stopped=CANCELLED)
    return {"state": CANCELLED}


def _method(job: StoredJob, judge: Judge) -> Judging:
    return Judging(judge, where=from_dict(job.filter["where"]), mode=job.filter["mode"])


def _begun(store: Store, job: StoredJob, judge: Judge) -> Begun:
    """The run of a job: made once, in the transaction that notes it."""
    with store.writing() as connection:
        version = ensure_version(connection, judge.version)
        if job.run_id is not None:
            run = get_run(connection, job.run_id)
            run = resume_run(connection, run.id) if run.state is RunState.INTERRUPTED else run
        else:
            run = _method(job, judge).begin(connection, version, job.actor)
            set_run(connection, job.id, run.id)
        return Begun(store, version, run)


async def _judge(begun: Begun, judge: Judge, job: StoredJob, closing: threading.Event) -> RunAccount:
    store = begun.store
    with store.reading() as connection:
        spent = run_counts(connection, [begun.run.id])[begun.run.id].cost_micro or 0
    limit = job.filter["max_cost"]
    try:
        return await ask_run(
            begun,
            _method(job, judge),
            on_start=lambda runner: _Watch(store, job.id, runner, closing).begin(),
            concurrency=job.filter["concurrency"],
            max_cost=None if limit is None else max(limit - spent / 1_000_000, 0),
        )
    finally:
        await judge.aclose()


class _Watch:
    """Looks whether somebody cancelled the job, from whichever process, or whether this process ends."""

    def __init__(self, store: Store, job_id: str, runner: Runner[Any, Any], closing: threading.Event) -> None:
        self._closing = closing
        self._store = store
        self._job_id = job_id
        self._runner = runner

    def begin(self) -> asyncio.Task[None]:
        return asyncio.create_task(self._look())

    async def _look(self) -> None:
        while True:
            started = time.monotonic()
            if self._closing.is_set():
                self._runner.stop(INTERRUPTED)
                return
            if await asyncio.to_thread(self._is_cancelled):
                self._runner.stop(CANCELLED)
                return
            await asyncio.sleep(max(0.0, LOOK_SECONDS - (time.monotonic() - started)))

    def _is_cancelled(self) -> bool:
        with self._store.reading() as connection:
            return get_job(connection, self._job_id).cancelled_at is not None

"""Runs a suite: a candidate answers its cases, a judge scores the answers, all of it is stored as it comes."""

from datetime import UTC, datetime
from typing import Any, Unpack

from judgeboard.blocking import run_blocking
from judgeboard.errors import BadInput
from judgeboard.judge_choice import make_judge
from judgeboard.judges.protocol import Judge
from judgeboard.run_account import account_of
from judgeboard.step_run import RunKeywords, RunOptions, require_price, run_steps, stoppable
from judgeboard.store.engine import Store
from judgeboard.store.judgments.judge_versions import ensure_version
from judgeboard.store.runs.method_runs import start_or_continue_method_run
from judgeboard.store.runs.runs import StoredRun
from judgeboard.store.suites.suite_rows import count_finished, ensure_suite_run
from judgeboard.suites.baseline import baseline_run, no_latest
from judgeboard.suites.candidates import Candidate, make_candidate
from judgeboard.suites.landing import SuiteLanding
from judgeboard.suites.results import SuiteResult, suite_result
from judgeboard.suites.steps import CaseTask, answering_and_scoring
from judgeboard.suites.suite_file import Suite, spec_hash

SUITE = "suite"
"""The kind of a run that runs a suite."""


def run_suite(
    store: Store,
    suite: Suite,
    candidate: Any = None,
    *,
    judge: Judge | None = None,
    model: str | None = None,
    base_url: str | None = None,
    baseline: int | str | None = None,
    **options: Unpack[RunKeywords],
) -> SuiteResult:
    """Run a suite and wait for it: a whole evaluation inside a test.

    ::

        def test_the_assistant_answers_well(tmp_path):
            store = judgeboard.open_store(tmp_path / "suite.db", create=True)
            result = judgeboard.run_suite(store, judgeboard.read_suite("suite.yaml"), answer, model="gpt-4o-mini")
            assert result.gate.code == 0, result.gate.reasons

    Arguments and errors as `run_suite_async`; also BadInput where an event loop runs already: await that one there.
    """
    return run_blocking(
        run_suite_async,
        store,
        suite,
        candidate,
        judge=judge,
        model=model,
        base_url=base_url,
        baseline=baseline,
        **stoppable(options),
    )


async def run_suite_async(
    store: Store,
    suite: Suite,
    candidate: Any = None,
    *,
    judge: Judge | None = None,
    model: str | None = None,
    base_url: str | None = None,
    baseline: int | str | None = None,
    **options: Unpack[RunKeywords],
) -> SuiteResult:
    """Have a candidate answer the cases of a suite and a judge score the answers; store every step as it comes.

    An unfinished run of the same suite, candidate and judge version is continued; a finished one is run anew.

    Args:
        store: Where it is stored; the answers are responses of a kind of their own, apart from the log.
        suite: What is asked, and how it is scored.
        candidate: Who answers: a function from the query to a text (or from messages, where its first parameter is
            called so), sync or async; ``model:NAME``, ``python:module:function`` or ``source:NAME``; or a `Candidate`.
            The suite's own where it names one.
        judge: Who scores; a rubric judge over ``model`` by default. Closed at the end.
        model: The judge's model, where no judge is given; the environment's by default.
        base_url: Its address, and that of a candidate ``model:NAME``.
        baseline: The run to compare with, by its number, or "latest" for the newest finished run of this
            suite with the same candidate and judge version; where there is none, the notes of the result say so.
        options: Fields of `RunOptions`: concurrency, max_cost, actor, …

    Raises:
        BadInput: Nobody is named to answer, or candidate or judge cannot be made.
        NotFound: There is no such baseline.
        UnknownPrice: A cost limit is given and the price of a model is not known.
    """
    how = RunOptions(**options)
    chosen = candidate if candidate is not None else suite.candidate
    if chosen is None:
        raise BadInput("nobody answers: give a candidate, as --candidate model:NAME")
    answering = chosen if isinstance(chosen, Candidate) else make_candidate(chosen, base_url=base_url)
    scoring = judge or make_judge("rubric", rubric=suite.rubric, model=model, base_url=base_url)
    try:
        require_price(how.max_cost, priced=scoring.priced, model=scoring.version.model)
        require_price(how.max_cost, priced=answering.priced, model=answering.model)
        return await _run(store, suite, answering, scoring, baseline, how)
    finally:
        await scoring.aclose()
        await answering.aclose()


async def _run(
    store: Store, suite: Suite, candidate: Candidate, judge: Judge, baseline: int | str | None, how: RunOptions
) -> SuiteResult:
    run, landing, against, notes = _started(store, suite, candidate, judge, baseline, how)
    tasks = landing.unfinished()
    steps = sum(2 if task.answer is None else 1 for task in tasks)
    ended = await run_steps(
        store,
        run.id,
        answering_and_scoring(candidate, judge),
        _Tasks(list(reversed(tasks)) if run.shared else tasks).read,
        landing.land,
        options=how,
        expected=steps,
        all_done=lambda: _left(landing) == 0,
    )
    account = account_of(store, run.id, ended, not_reached=_left(landing))
    return suite_result(store, run.id, baseline=against, suite=suite, account=account, notes=notes)


def _started(
    store: Store, suite: Suite, candidate: Candidate, judge: Judge, baseline: int | str | None, how: RunOptions
) -> tuple[StoredRun, SuiteLanding, int | None, tuple[str, ...]]:
    spec = suite.as_spec()
    generator = candidate.generator
    address = spec_hash(spec)
    question = {
        "suite": suite.name,
        "spec": address,
        "candidate": candidate.name,
        "max_output": None if generator is None else generator.max_output,
    }
    hosts = dict.fromkeys(host for host in (_host(candidate), judge.endpoint_host) if host)
    with store.writing() as connection:
        version = ensure_version(connection, judge.version)
        against: int | None = None
        notes: tuple[str, ...] = ()
        if baseline is not None:  # looked up before anything is asked, and before the new run could be the latest
            earlier = baseline_run(
                connection, baseline, name=suite.name, candidate=candidate.name, version_id=version.id
            )
            against = None if earlier is None else earlier.run_id
            notes = () if earlier is not None else (no_latest(suite.name, candidate.name, version.title),)
        run = start_or_continue_method_run(
            connection,
            SUITE,
            version,
            question,
            selected=len(suite.cases) * (1 if generator is None else 2),
            actor=how.actor,
            endpoint_host=", ".join(hosts) or None,
        )
        stored = ensure_suite_run(
            connection,
            {
                "run_id": run.id,
                "name": suite.name,
                "spec": spec,
                "spec_hash": address,
                "candidate": candidate.name,
                "judge_version_id": version.id,
                "created_at": datetime.now(UTC),
            },
        )
        landing = SuiteLanding(store, suite, candidate, version, stored)
        landing.copy_logged(connection)
    return run, landing, against, notes


class _Tasks:
    """Hands out tasks that are all known, each once."""

    def __init__(self, tasks: list[CaseTask]) -> None:
        self._tasks = iter(tasks)

    def read(self, limit: int) -> list[CaseTask]:
        """Return up to ``limit`` further tasks; fewer only at the end."""
        return [task for task, _ in zip(self._tasks, range(limit), strict=False)]


def _left(landing: SuiteLanding) -> int:
    with landing.store.reading() as connection:
        return len(landing.suite.cases) - count_finished(connection, landing.run.id)


def _host(candidate: Candidate) -> str | None:
    return None if candidate.generator is None else candidate.generator.endpoint.host

"""Runs a suite: a candidate answers its cases, a judge scores the answers, every step is stored as it comes."""

import importlib
import inspect
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any, Unpack

from sqlalchemy import Connection

from judgeboard.domain import JudgeInput, Response, ResponseKind, Status, Verdict
from judgeboard.errors import BadInput
from judgeboard.judges.judge import Judge
from judgeboard.judges.rubric_file import OVERALL
from judgeboard.llm.asking import DEFAULT_GENERATOR_OUTPUT, Generated, Generator
from judgeboard.llm.chat import CallableChat, Chat
from judgeboard.llm.endpoint import ModelEndpoint
from judgeboard.methods.generation import rebuilt_messages
from judgeboard.methods.suite_file import Case, Suite, find_baseline, spec_hash
from judgeboard.methods.suite_results import SuiteResult, suite_result
from judgeboard.runs.blocking import blocking
from judgeboard.runs.judging import make_endpoint, make_judge
from judgeboard.runs.method import Begun, Method, RunOptions, RunOutcome, run_method
from judgeboard.runs.runner import Keep
from judgeboard.store.engine import Store
from judgeboard.store.judge_versions import StoredVersion
from judgeboard.store.judgments import NewJudgment
from judgeboard.store.refinements import NewGeneration, first_judgments, store_generations, stored_ids
from judgeboard.store.responses import key_of
from judgeboard.store.runs import StoredRun, start_or_continue_method_run
from judgeboard.store.storing import store_judgments, store_responses
from judgeboard.store.suites import (
    CheckOutcome,
    NewCase,
    StoredSuiteRun,
    answers_by_query,
    ensure_suite_run,
    finished_positions,
    insert_cases,
    stored_answers,
)

HOW = "model:NAME, python:module:function or source:NAME"


@dataclass(frozen=True, slots=True)
class Candidate:
    """Who answers: a ``generator``, or the answers that a ``source`` of the log holds already; one of the two.

    ``name`` is what ``--candidate`` gives, as "model:gpt-4o-mini". ``own_code`` tells that it is a function of the
    user's, whose cost is unknown.
    """

    name: str
    generator: Generator | None = None
    source: str | None = None
    model: str | None = None
    own_code: bool = False

    @property
    def priced(self) -> bool:
        """Whether a cost limit can be kept; what a user's own function costs is not ours to count."""
        return self.generator is None or self.own_code or self.generator.endpoint.priced

    async def aclose(self) -> None:
        """Release connections."""
        if self.generator is not None:
            await self.generator.endpoint.aclose()


def make_candidate(
    which: str | Callable[..., Any], *, max_output: int = DEFAULT_GENERATOR_OUTPUT, **endpoint: Any
) -> Candidate:
    """Return the candidate that ``which`` names.

    Args:
        which: ``model:NAME``, ``python:module:function`` or ``source:NAME``, or a function itself: sync or async, from
            the query to a text, or from messages where its first parameter is called so.
        max_output: Tokens an answer of a model may have.
        endpoint: For a model: base_url, api_key, concurrency, timeout_s, tries, prices; None is not chosen.

    Raises:
        BadInput: It names none, or the function cannot be found.
    """
    if callable(which):
        return _of_function(which, f"python:{_name_of(which)}")
    kind, _, name = which.partition(":")
    if not name or kind not in {"model", "python", "source"}:
        raise BadInput(f"a candidate is {HOW}, not {which!r}")
    if kind == "source":
        return Candidate(which, source=name)
    if kind == "python":
        return _of_function(_load(name), which)
    given = make_endpoint("the candidate", **endpoint | {"model": name, "replies": None})
    return Candidate(which, Generator(given, max_output=max_output), model=name)


def messages_for(candidate: Candidate, case: Case) -> Sequence[dict[str, Any]]:
    """Return the messages for a candidate; a function of the user's gets the query alone and finds its own context."""
    if case.context and not candidate.own_code:
        return rebuilt_messages(case.query, case.context)
    return [{"role": "user", "content": case.query}]


def _of_function(function: Callable[..., Any], name: str) -> Candidate:
    chat: Chat = function if _takes_messages(function) else lambda messages: function(messages[-1]["content"])
    return Candidate(name, Generator(ModelEndpoint(CallableChat(chat), name)), own_code=True)


def _takes_messages(function: Callable[..., Any]) -> bool:
    try:
        parameters = list(inspect.signature(function).parameters)
    except (TypeError, ValueError):  # a function of C without a signature
        return False
    if not parameters:
        raise BadInput(f"{_name_of(function)} takes nothing: it should take the query, or messages")
    return parameters[0] == "messages"


def _load(name: str) -> Callable[..., Any]:
    module_name, _, path = name.partition(":")
    if not path:
        raise BadInput(f"python:{name} names no function: write python:module:function")
    here = str(Path.cwd())
    if here not in sys.path:  # as `python -m` has it: an installed command does not look beside the user
        sys.path.insert(0, here)
    try:
        loaded: Any = importlib.import_module(module_name)
        for part in path.split("."):
            loaded = getattr(loaded, part)
    except Exception as error:
        raise BadInput(f"python:{name} cannot be loaded: {type(error).__name__}: {error}") from error
    if not callable(loaded):
        raise BadInput(f"python:{name} is no function")
    function: Callable[..., Any] = loaded
    return function


def _name_of(function: Callable[..., Any]) -> str:
    named = function if hasattr(function, "__qualname__") else type(function)
    return f"{named.__module__}:{named.__qualname__}"


SUITE = "suite"
"""The kind of a run that runs a suite."""


@dataclass(frozen=True, slots=True)
class CaseTask:
    """An unfinished case: its position in the suite, with the answer where that is stored already."""

    position: int
    case: Case
    answer: str | None = None
    passages: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class CaseAnswered:
    """A case with the candidate's answer; the cost of a user's own function does not count against a limit."""

    task: CaseTask
    generated: Generated
    own_code: bool

    @property
    def status(self) -> Status:
        """Outcome of the call."""
        return self.generated.record.status

    @property
    def cost_micro(self) -> int | None:
        """Cost of the call in millionths; None where unknown."""
        return 0 if self.own_code else self.generated.record.cost_micro


@dataclass(frozen=True, slots=True)
class CaseScored:
    """An answer with the judge's verdict."""

    task: CaseTask
    answer: str
    verdict: Verdict

    @property
    def status(self) -> Status:
        """Outcome of the call."""
        return self.verdict.status

    @property
    def cost_micro(self) -> int | None:
        """Cost of the call in millionths; None where unknown."""
        return self.verdict.cost_micro


SuiteStep = CaseAnswered | CaseScored


class SuiteMethod(Method[CaseTask, SuiteStep, SuiteResult]):
    """A suite: each case is answered by the candidate, then scored by the judge."""

    kind = SUITE
    judge: Judge

    def __init__(self, suite: Suite, candidate: Candidate, judge: Judge, baseline: int | str | None) -> None:
        self.judge = judge
        self.answering = candidate
        self._suite = suite
        self._candidate = candidate
        self._baseline = baseline
        self._stored: StoredSuiteRun | None = None

    @property
    def endpoint_host(self) -> str | None:
        """Where the texts are sent, by the candidate and by the judge."""
        generator = self._candidate.generator
        hosts = (None if generator is None else generator.endpoint.host, self.judge.endpoint_host)
        return ", ".join(dict.fromkeys(host for host in hosts if host)) or None

    def begin(self, connection: Connection, version: StoredVersion, actor: str) -> StoredRun:
        """Start or continue the run, with the suite as it is run and the answers that the log has already."""
        suite, candidate = self._suite, self._candidate
        if self._baseline is not None:  # one that does not exist is refused before anything is asked
            find_baseline(
                connection,
                self._baseline,
                name=suite.name,
                candidate=candidate.name,
                version_id=version.id,
                before=None,
            )
        spec = suite.as_spec()
        address = spec_hash(spec)
        generator = candidate.generator
        run = start_or_continue_method_run(
            connection,
            SUITE,
            version,
            {
                "suite": suite.name,
                "spec": address,
                "candidate": candidate.name,
                "max_output": None if generator is None else generator.max_output,
            },
            selected=len(suite.cases) * (1 if generator is None else 2),
            actor=actor,
            endpoint_host=self.endpoint_host,
        )
        self._stored = ensure_suite_run(
            connection,
            run.id,
            name=suite.name,
            spec=spec,
            spec_hash=address,
            candidate=candidate.name,
            version_id=version.id,
            now=datetime.now(UTC),
        )
        if candidate.source is not None:
            self._copy_logged(connection, candidate.source, run.id)
        return run

    def tasks(self, begun: Begun) -> Callable[[int], list[CaseTask]]:
        """Return the reader of unfinished cases."""
        with begun.store.reading() as connection:
            unfinished = self._unfinished(connection, begun.run.id)
        # From the other end where another process may be at the same run.
        remaining: Iterator[CaseTask] = iter(unfinished[::-1] if begun.run.shared else unfinished)
        return lambda limit: list(islice(remaining, limit))

    async def ask(self, task: CaseTask, keep: Keep[SuiteStep]) -> None:
        """Have the candidate answer a case, unless it has, and the judge score the answer."""
        answer, case = task.answer, task.case
        if answer is None:
            generator = self._candidate.generator
            if generator is None:
                return
            generated = await generator.generate(messages_for(self._candidate, case), subject=case.id)
            go_on = await keep(CaseAnswered(task, generated, self._candidate.own_code))
            answer = generated.text
            if answer is None or not go_on:
                return
        item = JudgeInput(
            response_id=0,  # its number is known when it is stored, and no judge reads it
            query=case.query,
            answer=answer,
            passages=task.passages,
            reference=case.reference,
            external_id=case.id,
        )
        await keep(CaseScored(task, answer, await self.judge.judge(item)))

    def save(self, connection: Connection, begun: Begun, steps: list[SuiteStep]) -> None:
        """Store steps as they came; a case that another process finished first is left as it was."""
        now = datetime.now(UTC)
        self._save_answers(connection, begun.run.id, [step for step in steps if isinstance(step, CaseAnswered)], now)
        self._save_scores(connection, begun, [step for step in steps if isinstance(step, CaseScored)], now)

    def left(self, connection: Connection, begun: Begun) -> int:  # noqa: ARG002 - the method's signature
        """Return how many cases are not finished."""
        return len(self._suite.cases) - len(finished_positions(connection, self._suite_run_id))

    def expected(self, connection: Connection, begun: Begun) -> int:
        """Return how many calls are still to be made."""
        return sum(2 if task.answer is None else 1 for task in self._unfinished(connection, begun.run.id))

    def summarise(self, outcome: RunOutcome) -> SuiteResult:
        """Return the result of the run."""
        return suite_result(
            outcome.store,
            outcome.account.run_id or 0,
            baseline=self._baseline,
            suite=self._suite,
            account=outcome.account,
        )

    @property
    def _suite_run_id(self) -> int:
        return 0 if self._stored is None else self._stored.id

    def _copy_logged(self, connection: Connection, source: str, run_id: int) -> None:
        """Store the log's answers to the cases as the candidate's; say where there is none."""
        logged = answers_by_query(connection, source, [case.query for case in self._suite.cases])
        copies, absent = [], []
        for position, case in enumerate(self._suite.cases):
            answer = logged.get(case.query)
            if answer is None or answer.answer is None:
                absent.append(NewCase(position, case.key, f"no answer to this query in the source {source}"))
                continue
            passages = answer.passages if case.context is None else case.context
            copies.append(
                self._response(case, run_id, answer.answer, passages, answer.generator_model, derived_from=answer.id)
            )
        store_responses(connection, copies)
        insert_cases(connection, self._suite_run_id, absent, datetime.now(UTC))

    def _unfinished(self, connection: Connection, run_id: int) -> list[CaseTask]:
        """Return the cases that are not finished, in order; one whose answer is forgotten is not asked again."""
        finished = finished_positions(connection, self._suite_run_id)
        ids = [self._external_id(case, run_id) for case in self._suite.cases]
        answers = stored_answers(connection, self._source, ids)
        tasks = []
        for position, (case, external_id) in enumerate(zip(self._suite.cases, ids, strict=True)):
            stored = answers.get(external_id)
            if position in finished or (stored is not None and stored.answer is None):
                continue
            if stored is None:
                tasks.append(CaseTask(position, case, passages=case.context))
            else:
                tasks.append(CaseTask(position, case, stored.answer, stored.passages))
        return tasks

    def _save_answers(self, connection: Connection, run_id: int, steps: Sequence[CaseAnswered], now: datetime) -> None:
        model = self._candidate.model
        new, failed = [], []
        for step in steps:
            text, case = step.generated.text, step.task.case
            made = None if text is None else self._response(case, run_id, text, step.task.passages, model)
            new.append(NewGeneration(case.key, 1, model, step.generated.record, made))
            if text is None:
                failed.append(NewCase(step.task.position, case.key, f"no answer: {step.status.value}"))
        store_generations(connection, run_id, new, now)
        insert_cases(connection, self._suite_run_id, failed, now)

    def _save_scores(self, connection: Connection, begun: Begun, steps: Sequence[CaseScored], now: datetime) -> None:
        answers = [
            self._response(step.task.case, begun.run.id, step.answer, step.task.passages, None) for step in steps
        ]
        # An answer whose place another process's answer took is not stored, and its verdict is dropped.
        ids = stored_ids(connection, answers)
        kept = [(step, ids[key_of(made)]) for step, made in zip(steps, answers, strict=True) if key_of(made) in ids]
        verdicts = [NewJudgment(response_id, 0, 0, step.verdict) for step, response_id in kept]
        store_judgments(connection, begun.version, begun.run.id, verdicts, now)
        judgments = first_judgments(connection, begun.version.id, list(ids.values()))
        cases = []
        for step, response_id in kept:
            judgment = judgments.get(response_id)
            cases.append(_scored_case(step, response_id, None if judgment is None else judgment.judgment_id))
        insert_cases(connection, self._suite_run_id, cases, now)

    @property
    def _source(self) -> str:
        return f"suite:{self._suite.name}"

    def _external_id(self, case: Case, run_id: int) -> str:
        return f"suite{run_id}/{case.id}"

    def _response(
        self,
        case: Case,
        run_id: int,
        answer: str,
        passages: tuple[str, ...] | None,
        model: str | None,
        *,
        derived_from: int | None = None,
    ) -> Response:
        return Response(
            source=self._source,
            external_id=self._external_id(case, run_id),
            query=case.query,
            answer=answer,
            passages=passages,
            reference=case.reference,
            generator_model=model,
            metadata={"suite": self._suite.name, "case": case.id},
            kind=ResponseKind.CANDIDATE,
            derived_from=derived_from,
        )


def _scored_case(step: CaseScored, response_id: int, judgment_id: int | None) -> NewCase:
    score = next((each.value for each in step.verdict.scores if each.dimension == OVERALL), None)
    reason: str | None = None
    if step.status is not Status.OK:
        reason = f"no score: {step.status.value}"
    elif score is None:
        reason = "no score: the judge gives no overall score"
    checks = tuple(
        CheckOutcome(check.kind, check.wanted, check.failure(step.answer) is None) for check in step.task.case.checks
    )
    return NewCase(step.task.position, step.task.case.key, reason, response_id, judgment_id, checks, score)


async def run_suite_async(
    store: Store,
    suite: Suite,
    candidate: Candidate | str | Callable[..., Any] | None = None,
    *,
    judge: Judge | None = None,
    model: str | None = None,
    base_url: str | None = None,
    baseline: int | str | None = None,
    **options: Unpack[RunOptions],
) -> SuiteResult:
    """Have a candidate answer the cases of a suite and a judge score the answers; store every step as it comes.

    An unfinished run of the same suite, candidate and judge version is continued; a finished one is run anew. With
    `run_suite`, which waits for the result, a whole evaluation fits in a test::

        def test_the_assistant_answers_well(tmp_path):
            store = judgeboard.open_store(tmp_path / "suite.db", create=True)
            result = judgeboard.run_suite(store, judgeboard.read_suite("suite.yaml"), answer, model="gpt-4o-mini")
            assert result.gate.code == 0, result.gate.reasons

    Args:
        store: Where it is stored; the answers are responses of a kind of their own, apart from the log.
        suite: The cases, and how they are scored.
        candidate: A function from the query to a text (or from messages, where its first parameter is called so), sync
            or async; ``model:NAME``, ``python:module:function`` or ``source:NAME``; or a `Candidate`. Default: the
            suite's own.
        judge: Scores the answers, and is closed at the end; a rubric judge over ``model`` by default.
        model: The judge's model, where no judge is given; the environment's by default.
        base_url: Its address, and that of a candidate ``model:NAME``.
        baseline: The number of the run to compare with, or "latest" for the newest finished run of this suite with the
            same candidate and judge version; where there is none, the notes of the result say so.
        options: Fields of `RunOptions`: concurrency, max_cost, actor, …

    Raises:
        BadInput: No candidate is named, or candidate or judge cannot be made.
        NotFound: There is no such baseline.
        UnknownPrice: A cost limit is given and the price of a model is not known.
    """
    chosen = candidate if candidate is not None else suite.candidate
    if chosen is None:
        raise BadInput("nobody answers: give a candidate, as --candidate model:NAME")
    answering = chosen if isinstance(chosen, Candidate) else make_candidate(chosen, base_url=base_url)
    scoring = judge or make_judge("rubric", rubric=suite.rubric, model=model, base_url=base_url)
    return await run_method(store, SuiteMethod(suite, answering, scoring, baseline), **options)


run_suite = blocking(run_suite_async)

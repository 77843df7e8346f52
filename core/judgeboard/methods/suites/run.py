"""Runs a suite: a candidate answers the cases, a judge scores the answers, and every step is stored."""

import importlib
import inspect
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Unpack

from sqlalchemy import Connection

from judgeboard.domain import OVERALL, JudgeInput, Response, ResponseKind, Status, Verdict
from judgeboard.errors import BadInput
from judgeboard.judges.judge import Judge
from judgeboard.llm.asking import DEFAULT_GENERATOR_OUTPUT, Generator, Replied
from judgeboard.llm.chat import CallableChat, Chat
from judgeboard.llm.endpoint import FREE, ModelEndpoint
from judgeboard.methods.suites import queries
from judgeboard.methods.suites.file import Case, Suite, spec_hash
from judgeboard.methods.suites.gate import find_baseline
from judgeboard.methods.suites.results import SuiteResult, suite_result
from judgeboard.methods.suites.tables import SuiteCase
from judgeboard.runs.generation import rebuilt_messages, store_verdicts
from judgeboard.runs.judging import make_endpoint, make_judge
from judgeboard.runs.method import Begun, Method, RunOptions, RunOutcome, run_method
from judgeboard.runs.runner import Answered, Keep, blocking
from judgeboard.store.clock import utc_now
from judgeboard.store.engine import Store
from judgeboard.store.generations import NewGeneration, store_generations
from judgeboard.store.jobs import TaskKey
from judgeboard.store.runs import start_or_continue_method_run
from judgeboard.store.storing import store_responses
from judgeboard.store.tables import Run, StoredVersion

HOW = "model:NAME, python:module:function or source:NAME"


@dataclass(frozen=True, slots=True)
class Candidate:
    """The candidate: a ``generator``, or the logged answers of a ``source``; ``name`` is as in ``--candidate``.

    ``own_code`` marks a function of the user, with an unknown cost.
    """

    name: str
    generator: Generator | None = None
    source: str | None = None
    model: str | None = None
    own_code: bool = False


def make_candidate(
    which: str | Callable[..., Any],
    *,
    max_output: int | None = None,
    **endpoint: object,
) -> Candidate:
    """Return the candidate ``model:NAME``, ``python:module:function``, ``source:NAME``, or a function; raises BadInput.

    A function may be sync or async and returns a text. The function takes the query, or messages if
    the first parameter is named ``messages``. ``max_output`` (in tokens) and ``endpoint``
    (base_url, prices, …) are for a model.
    """
    if callable(which):
        return _of_function(which, f"python:{_name_of(which)}")
    kind, _, name = which.partition(":")
    if not name or kind not in {"model", "python", "source"}:
        raise BadInput(f"a candidate must be {HOW}, not {which!r}")
    if kind == "source":
        return Candidate(which, source=name)
    if kind == "python":
        module_name, _, path = name.partition(":")
        if not path:
            raise BadInput(f"python:{name} names no function: write python:module:function")
        # As `python -m` does: an installed command does not import from the working folder.
        here = str(Path.cwd())
        if here not in sys.path:
            sys.path.insert(0, here)
        try:
            target: Any = importlib.import_module(module_name)
            for part in path.split("."):
                target = getattr(target, part)
        except Exception as error:
            raise BadInput(
                f"python:{name} cannot be loaded: {type(error).__name__}: {error}"
            ) from error
        if not callable(target):
            raise BadInput(f"python:{name} is not a function")
        return _of_function(target, which)
    endpoint_fields: dict[str, object] = {**endpoint, "model": name, "replies": None}
    model_endpoint = make_endpoint("the candidate", **endpoint_fields)
    return Candidate(
        which, Generator(model_endpoint, max_output or DEFAULT_GENERATOR_OUTPUT), model=name
    )


def messages_for(candidate: Candidate, case: Case) -> Sequence[dict[str, Any]]:
    """Return the messages for a candidate; a function of the user gets the query only."""
    if case.context and not candidate.own_code:
        return rebuilt_messages(case.query, case.context)
    return [{"role": "user", "content": case.query}]


def _of_function(function: Callable[..., Any], name: str) -> Candidate:
    try:
        parameters = list(inspect.signature(function).parameters)
    except (TypeError, ValueError):  # a C function without a signature gets the query
        parameters = ["query"]
    if not parameters:
        raise BadInput(f"{_name_of(function)} has no parameter: it must take the query or messages")
    chat: Chat = (
        function
        if parameters[0] == "messages"
        else lambda messages: function(messages[-1]["content"])
    )
    free = ModelEndpoint(CallableChat(chat), name, FREE)  # the cost does not count
    return Candidate(name, Generator(free), own_code=True)


def _name_of(function: Callable[..., Any]) -> str:
    owner = function if hasattr(function, "__qualname__") else type(function)
    return f"{getattr(owner, '__module__', 'builtins')}:{owner.__qualname__}"


@dataclass(frozen=True, slots=True)
class CaseTask:
    """An unfinished case at a ``position`` in the suite, with the answer if the answer is stored."""

    position: int
    case: Case
    answer: str | None = None
    passages: tuple[str, ...] | None = None


_Step = Answered[CaseTask, Replied[str] | Verdict]


def _judged(task: CaseTask) -> JudgeInput:
    return JudgeInput(
        response_id=0,  # not stored yet; no judge reads the id
        query=task.case.query,
        answer=task.answer or "",
        passages=task.passages,
        reference=task.case.reference,
        external_id=task.case.id,
    )


class _SuiteMethod(Method[CaseTask, _Step, SuiteResult]):
    kind = "suite"
    judge: Judge

    def __init__(
        self, suite: Suite, candidate: Candidate, judge: Judge, baseline: int | str | None
    ) -> None:
        self.judge = judge
        self.answering = None if candidate.generator is None else candidate.generator.endpoint
        self._suite = suite
        self._candidate = candidate
        self._baseline = baseline
        self._suite_run_id = 0

    def begin(self, connection: Connection, version: StoredVersion, actor: str) -> Run:
        suite, candidate = self._suite, self._candidate
        if self._baseline is not None:  # refuse a missing baseline before any call
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
        most = None if generator is None else generator.max_output
        run = start_or_continue_method_run(
            connection,
            self.kind,
            version,
            {"suite": suite.name, "spec": address, "candidate": candidate.name, "max_output": most},
            len(suite.cases) * (1 if generator is None else 2),
            actor=actor,
            destination=self.destination,
        )
        suite_run = queries.ensure_suite_run(
            connection,
            run.id,
            name=suite.name,
            spec=spec,
            spec_hash=address,
            candidate=candidate.name,
            version_id=version.id,
            now=utc_now(),
        )
        self._suite_run_id = suite_run.id
        if candidate.source is not None:
            self._copy_logged(connection, candidate.source, run.id)
        return run

    def keys(self, begun: Begun) -> Iterator[TaskKey]:
        # The key differs from the keys of answers, which the same judge may judge meanwhile.
        return (
            TaskKey(position, f"run {begun.run.id}") for position in range(len(self._suite.cases))
        )

    def load(self, begun: Begun, keys: Sequence[TaskKey]) -> dict[TaskKey, CaseTask]:
        with begun.store.reading() as connection:
            unfinished = {
                task.position: task for task in self._unfinished(connection, begun.run.id)
            }
        return {key: unfinished[key.item_id] for key in keys if key.item_id in unfinished}

    async def sample_requests(self, task: CaseTask) -> None:
        await super().sample_requests(task)
        if task.answer is None:  # no answer is here yet: the reference is about as long
            usual = replace(task, answer=task.case.reference or task.case.query)
            await self.judge.judge(_judged(usual))

    async def ask(self, task: CaseTask, keep: Keep[_Step]) -> None:
        if task.answer is None:
            generator = self._candidate.generator
            if generator is None:
                return
            reply = await generator.generate(
                messages_for(self._candidate, task.case), subject=task.case.id
            )
            # The cost of a function of the user is unknown and does not count towards a cost limit.
            record = (
                replace(reply.record, cost_micro=0) if self._candidate.own_code else reply.record
            )
            go_on = await keep(Answered(task, reply, record))
            if reply.value is None or not go_on:
                return
            task = replace(task, answer=reply.value)
        verdict = await self.judge.judge(_judged(task))
        await keep(Answered(task, verdict, verdict))

    def save(self, connection: Connection, begun: Begun, steps: list[_Step]) -> None:
        now = utc_now()
        answer_steps = [
            (step.task, step.result) for step in steps if isinstance(step.result, Replied)
        ]
        score_steps = [
            (step.task, step.result) for step in steps if isinstance(step.result, Verdict)
        ]
        self._save_answers(connection, begun.run.id, answer_steps, now)
        self._save_scores(connection, begun, score_steps, now)

    def left(self, connection: Connection, begun: Begun) -> int:  # noqa: ARG002 - the method's signature
        return len(self._suite.cases) - len(
            queries.finished_positions(connection, self._suite_run_id)
        )

    def expected(self, connection: Connection, begun: Begun) -> int:
        return sum(
            2 if task.answer is None else 1 for task in self._unfinished(connection, begun.run.id)
        )

    def summarise(self, outcome: RunOutcome) -> SuiteResult:
        return suite_result(
            outcome.store,
            outcome.account.run_id or 0,
            baseline=self._baseline,
            suite=self._suite,
            account=outcome.account,
        )

    def _copy_logged(self, connection: Connection, source: str, run_id: int) -> None:
        log_answers = queries.answers_by_query(
            connection, source, [case.query for case in self._suite.cases]
        )
        copies, absent = [], []
        for position, case in enumerate(self._suite.cases):
            answer = log_answers.get(case.query)
            if answer is None or answer.answer is None:
                absent.append(
                    SuiteCase(
                        suite_run_id=self._suite_run_id,
                        position=position,
                        case_key=case.key,
                        reason=f"no answer to this query in the source {source}",
                    )
                )
                continue
            passages = answer.passages if case.context is None else case.context
            copies.append(
                self._response(
                    case,
                    run_id,
                    answer.answer,
                    passages,
                    answer.generator_model,
                    derived_from=answer.id,
                )
            )
        store_responses(connection, copies)
        queries.insert_cases(connection, absent)

    def _unfinished(self, connection: Connection, run_id: int) -> list[CaseTask]:
        positions = queries.finished_positions(connection, self._suite_run_id)
        ids = [self._external_id(case, run_id) for case in self._suite.cases]
        answers = queries.stored_answers(connection, self._source, ids)
        tasks = []
        for position, (case, external_id) in enumerate(zip(self._suite.cases, ids, strict=True)):
            stored_answer = answers.get(external_id)
            if position in positions or (
                stored_answer is not None and stored_answer.answer is None
            ):
                continue
            answer, passages = (
                (None, case.context)
                if stored_answer is None
                else (stored_answer.answer, stored_answer.passages)
            )
            tasks.append(CaseTask(position, case, answer, passages))
        return tasks

    def _save_answers(
        self,
        connection: Connection,
        run_id: int,
        steps: Sequence[tuple[CaseTask, Replied[str]]],
        now: datetime,
    ) -> None:
        model = self._candidate.model
        new, cases_without_answer = [], []
        for task, reply in steps:
            text, case = reply.value, task.case
            response = (
                None if text is None else self._response(case, run_id, text, task.passages, model)
            )
            new.append(NewGeneration(case.key, 1, model, reply.record, response))
            if text is None:
                cases_without_answer.append(
                    SuiteCase(
                        suite_run_id=self._suite_run_id,
                        position=task.position,
                        case_key=case.key,
                        reason=f"no answer: {reply.record.status.value}",
                    )
                )
        store_generations(connection, run_id, new, now)
        queries.insert_cases(connection, cases_without_answer)

    def _save_scores(
        self,
        connection: Connection,
        begun: Begun,
        steps: Sequence[tuple[CaseTask, Verdict]],
        now: datetime,
    ) -> None:
        verdicts = [
            (
                self._response(task.case, begun.run.id, task.answer or "", task.passages, None),
                verdict,
            )
            for task, verdict in steps
        ]
        cases = []
        stored_verdicts = store_verdicts(connection, begun, verdicts, now)
        for (task, verdict), stored_verdict in zip(steps, stored_verdicts, strict=True):
            if stored_verdict is None:
                continue
            score = next((each.value for each in verdict.scores if each.dimension == OVERALL), None)
            reason: str | None = None
            if verdict.status is not Status.OK:
                reason = f"no score: {verdict.status.value}"
            elif score is None:
                reason = "no score: the judge gives no overall score"
            checks = [
                asdict(queries.CheckOutcome(check.kind, check.wanted, failure is None))
                for check in task.case.checks
                for failure in [check.failure(task.answer or "", task.passages)]
            ]
            cases.append(
                SuiteCase(
                    suite_run_id=self._suite_run_id,
                    position=task.position,
                    case_key=task.case.key,
                    reason=reason,
                    response_id=stored_verdict[0],
                    judgment_id=stored_verdict[1].judgment_id,
                    checks=checks,
                    score=score,
                )
            )
        queries.insert_cases(connection, cases)

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
    """Let a candidate answer the cases of a suite and a judge score the answers; store every step.

    An unfinished run of the same suite, candidate and judge version continues; a finished run is
    repeated. The blocking `run_suite` can be called in a test::

        def test_the_assistant_answers_well(tmp_path):
            store = judgeboard.open_store(tmp_path / "suite.db", create=True)
            result = judgeboard.run_suite(store, judgeboard.read_suite("suite.yaml"), answer, model="gpt-4o-mini")
            assert result.gate.code == 0, result.gate.reasons

    ``candidate`` is a `Candidate` or an argument of `make_candidate` (default: the candidate of the
    suite). The default ``judge`` is a rubric judge that uses ``model``. ``baseline`` is the number
    of the run to compare with, or "latest" (see `find_baseline`). Answers are stored as responses
    of kind candidate. Both models are closed at the end. ``options`` are fields of `RunOptions`.
    Raises NotFound if there is no such baseline, and BadInput if the candidate is missing, or if
    candidate or judge are invalid.
    """
    which = candidate if candidate is not None else suite.candidate
    if which is None:
        raise BadInput("no candidate: give one, for example --candidate model:NAME")
    answerer = which if isinstance(which, Candidate) else make_candidate(which, base_url=base_url)
    scorer = judge or make_judge("rubric", rubric=suite.rubric, model=model, base_url=base_url)
    return await run_method(store, _SuiteMethod(suite, answerer, scorer, baseline), **options)


run_suite = blocking(run_suite_async)

"""The answer of a running assistant: judged, reflected on and stored while the reader waits."""

import asyncio
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

from sqlalchemy import Connection

from judgeboard.domain import JudgeInput, JudgeVersion, Response, ResponseKind, Verdict
from judgeboard.errors import BadInput
from judgeboard.imports.kinds import DEFAULT_SOURCE
from judgeboard.judges.judge import Judge
from judgeboard.llm.asking import Generator, Replied
from judgeboard.llm.chat import Chat, earlier_turns
from judgeboard.llm.own_thread import from_any_thread
from judgeboard.methods.refining.reflect import (
    Outcome,
    ReflectMethod,
    ReflectRule,
    ReflectStep,
    ReflectTask,
    SecondAnswer,
    outcome_of,
    outcome_without_second,
)
from judgeboard.runs import generation
from judgeboard.runs.judging import Ask, Judging
from judgeboard.runs.method import Begun
from judgeboard.runs.runner import Answered
from judgeboard.store.clock import utc_now
from judgeboard.store.engine import Store
from judgeboard.store.filters import RowFilter
from judgeboard.store.judge_versions import ensure_version, refuse_retired
from judgeboard.store.responses import Origin
from judgeboard.store.runs import run_of_today
from judgeboard.store.statements import record_of
from judgeboard.store.storing import store_responses

SERVE = "serve"  # the kind of a run of answers that are judged, but not reflected on


@dataclass(frozen=True, slots=True)
class Reflected:
    """The kept and the ``other`` answer; ``outcome`` is None if no second answer was made, ``after`` if not judged.

    ``external_id`` is the id of the kept answer in the store.
    """

    answer: str
    kept: Literal["original", "new"]
    before: Verdict
    after: Verdict | None = None
    outcome: Outcome | None = None
    other: str | None = None
    error: str | None = None
    external_id: str = ""

    @property
    def verdict(self) -> Verdict:
        """The verdict on the kept answer."""
        return self.after if self.kept == "new" and self.after is not None else self.before


async def reflect(
    query: str,
    answer: str,
    passages: Sequence[str] | None,
    messages: Sequence[Mapping[str, Any]] | None = None,
    *,
    generate: Chat | Generator,
    judge: str | Judge = "lexical",
    query_type: str = "complex",
    rule: ReflectRule | None = None,
    store: Store | None = None,
    source: str = DEFAULT_SOURCE,
    external_id: str | None = None,
    **options: object,
) -> Reflected:
    """Judge an answer; if it is bad, make and judge a second answer, and keep the better grounded one.

    If the second answer or the second judgment fails, the original is kept. Without ``passages`` there is
    no second answer. Missing ``messages`` are rebuilt from query and passages. ``generate`` is a
    `Generator` or a sync or async function ``messages → text``. ``judge`` is a kind of judge, with
    ``options`` (fields of `JudgeOptions`), or a judge object, which the caller closes.

    With ``store``, the kept answer and the verdict are stored as a logged answer under ``source``
    and ``external_id`` (default: a new id). Flag rules, judging rules and figures count this
    answer. The other answer is stored as an attempt; the item page shows both.

    Raises:
        BadInput: The options of the judge are invalid, ``messages`` contain no message of the user,
            or the store has another answer with this id.
        EndpointRefused: The judge's endpoint refuses the key, the model or the address.
    """
    response = Response(
        source,
        external_id or uuid.uuid4().hex,
        query,
        answer,
        None if passages is None else tuple(passages),
        query_type,
        asked_at=utc_now(),
    )
    live = LiveAnswer(response, messages, generate, rule or ReflectRule())
    await live.ask(judge, store, options)
    if store is not None:
        await asyncio.to_thread(live.store, store)
    return live.reflected()


reflect_blocking = from_any_thread(reflect)


@dataclass(eq=False)
class LiveAnswer:
    """One answer on the way to the reader, as the assistant gave it. Without ``generate``, it is only judged.

    The ``messages`` are unchecked. The stored response gets checked messages.
    """

    response: Response
    messages: Sequence[Mapping[str, Any]] | None = None
    generate: Chat | Generator | None = None
    rule: ReflectRule = field(default_factory=ReflectRule)
    steps: list[ReflectStep] = field(default_factory=list, init=False)
    _judge: Judge | None = field(default=None, init=False)

    async def ask(
        self, judge: str | Judge, store: Store | None, options: dict[str, object]
    ) -> None:
        """Ask for a verdict and, if the rule wants a second answer, for that answer and a second verdict.

        ``steps`` has what arrived, also if an error is raised.
        """
        if options and not isinstance(judge, str):
            raise BadInput(
                f"{', '.join(sorted(options))}: options apply only to a judge given by name"
            )
        name = "" if self._generator is None else self._generator.endpoint.model
        task = ReflectTask(
            Origin(self._item, self.response.source, self._sent), judged=False, run_id=0, model=name
        )
        self._judge = (
            generation.judge_for_call(store, judge, options) if isinstance(judge, str) else judge
        )
        try:
            if (method := self._reflecting) is not None:
                await method.ask(task, self._keep)
            else:
                verdict = await self._judge.judge(self._item)
                await self._keep(Answered(task, verdict, verdict))
        finally:
            if isinstance(judge, str):
                await self._judge.aclose()

    @cached_property
    def _item(self) -> JudgeInput:
        return record_of(
            JudgeInput, self.response, response_id=0, turns=earlier_turns(self.messages)
        )

    @cached_property
    def _sent(self) -> generation.Messages | None:
        """The messages for the generator; None without a generator."""
        if self.messages is not None:
            return generation.checked_messages(self.messages)
        if self.generate is None:
            return None
        return generation.rebuilt_messages(self.response.query, self.response.passages)

    @cached_property
    def _generator(self) -> Generator | None:
        if self.generate is None or isinstance(self.generate, Generator):
            return self.generate
        return Generator(generation.function_endpoint(self.generate))

    @property
    def model(self) -> str | None:
        """The model that made the kept answer, if known."""
        return (
            self._generator.endpoint.model
            if self._replaced and self._generator
            else self.response.generator_model
        )

    @property
    def judge_version(self) -> JudgeVersion | None:
        """The version of the judge; None before `ask`."""
        return None if self._judge is None else self._judge.version

    @property
    def _replaced(self) -> bool:
        return bool(self.steps) and self.reflected().kept == "new"

    @property
    def _reflecting(self) -> ReflectMethod | None:
        if self._generator is None or self._judge is None:
            return None
        return ReflectMethod(
            self._judge, self._generator, RowFilter(), self.rule, rebuild_messages=False
        )

    async def _keep(self, step: ReflectStep) -> bool:
        self.steps.append(step)
        return True

    def reflected(self) -> Reflected:
        """Return the kept answer with the verdicts. Raises BadInput if there is no verdict."""
        original, id_ = self.response.answer, self.response.external_id
        match [step.result for step in self.steps]:
            case [Verdict() as before]:
                return Reflected(original, "original", before, external_id=id_)
            case [Verdict() as before, Replied() as generated]:
                outcome, error = outcome_without_second(generated), generated.record.error
                return Reflected(
                    original, "original", before, outcome=outcome, error=error, external_id=id_
                )
            case [Verdict() as before, _, SecondAnswer(text, after)]:
                outcome = outcome_of(before.groundedness, after.groundedness)
                if outcome is Outcome.KEPT_NEW:
                    return Reflected(
                        text, "new", before, after, outcome, other=original, external_id=id_
                    )
                return Reflected(
                    original,
                    "original",
                    before,
                    after,
                    outcome,
                    other=text,
                    error=after.error,
                    external_id=id_,
                )
        raise BadInput("the answer is not judged")

    def store(self, store: Store) -> None:
        """Store the kept answer as a logged answer, with verdict and flags, and the other answer as an attempt.

        Raises BadInput if the store has another answer with this source and id.
        """
        with store.writing() as connection:
            served_answer = self._served()
            outcome = store_responses(connection, [served_answer])
            if not outcome.new:
                raise BadInput(
                    f"{served_answer.source} has another answer with the id {served_answer.external_id!r}"
                )
            if self._judge is not None and self.steps:
                self._store_steps(connection, store, self._judge, served_answer, outcome.new[0])

    def _served(self) -> Response:
        return replace(
            self.response,
            answer=self.reflected().answer if self.steps else self.response.answer,
            generator_model=self.model,
            messages=self._sent if self._replaced or self.messages is not None else None,
        )

    def _original(self, served_answer: Response, served_id: int) -> Response:
        """Return the answer that the reader did not receive, because a second one is better."""
        return replace(
            served_answer,
            external_id=f"{served_answer.external_id}~original",
            answer=self.response.answer,
            generator_model=self.response.generator_model,
            messages=self._sent if self.messages is not None else None,
            metadata={},
            kind=ResponseKind.REGENERATED,
            derived_from=served_id,
        )

    def _store_steps(
        self, connection: Connection, store: Store, judge: Judge, served_answer: Response, id_: int
    ) -> None:
        version = ensure_version(connection, judge.version)
        method: ReflectMethod | Judging = self._reflecting or Judging(judge=judge)
        question: dict[str, Any] = {
            "live": (served_answer.asked_at or utc_now()).date().isoformat()
        }
        if isinstance(method, ReflectMethod):
            kind, question = method.kind, method.question(question)
        else:
            kind = SERVE
        refuse_retired(connection, version)
        run = run_of_today(
            connection, kind, version, question, actor="library", destination=method.destination
        )
        begun = Begun(store, version, run)
        if isinstance(method, Judging):
            item = replace(self._item, response_id=id_)
            verdict = self.reflected().before
            method.save(connection, begun, [Answered(Ask(item, 0), verdict, verdict)])
            return
        task = replace(self.steps[0].task, run_id=run.id)
        if self._replaced:
            id_ = store_responses(connection, [self._original(served_answer, id_)]).ids[0]
            task = replace(task, served=served_answer)
        origin = replace(task.origin, item=replace(self._item, response_id=id_))
        task = replace(task, origin=origin)
        method.save(connection, begun, [replace(step, task=task) for step in self.steps])

"""Runs self-refine over logged questions or the prompts of a file, and stores every attempt."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any, Unpack

from sqlalchemy import Connection

from judgeboard.domain import Response, Status
from judgeboard.judges.judge import prompt_hash
from judgeboard.judges.prompt import load_prompt
from judgeboard.judges.rating import Rating, RatingJudge, rating_verdict
from judgeboard.llm.asking import Generator, Replied
from judgeboard.llm.chat import Chat
from judgeboard.methods import generation
from judgeboard.methods.refine import Refinement, RefineRule, attempt_id, attempt_until_good
from judgeboard.runs.method import (
    Begun,
    RunAccount,
    RunOptions,
    RunOutcome,
    Selected,
    id_keys,
    run_method,
)
from judgeboard.runs.runner import Answered, Keep, blocking
from judgeboard.store import refinements
from judgeboard.store.clock import utc_now
from judgeboard.store.engine import Store
from judgeboard.store.filters import RowFilter
from judgeboard.store.jobs import TaskKey
from judgeboard.store.judge_versions import StoredVersion
from judgeboard.store.responses import Origin, external_ids, last_logged_id, read_origins
from judgeboard.store.statements import record_of
from judgeboard.store.traces import keep_unchanged


@dataclass(frozen=True, slots=True)
class AttemptOutcome:
    """The answer of one attempt and its rating; if one of them is None, ``status`` and ``error`` give the reason."""

    answer: str | None
    rating: int | None
    evaluation: str | None
    feedback: str | None
    status: Status
    error: str | None


@dataclass(frozen=True, slots=True)
class RefinedPrompt:
    """The outcome of every attempt for the prompt or logged answer with the external ``id``."""

    id: str
    passed: bool
    attempts: tuple[AttemptOutcome, ...]


@dataclass(frozen=True, slots=True)
class RefineSummary:
    """The result of a run of self-refine; ``calls`` counts requests to models, with repairs and retries."""

    judge: str
    account: RunAccount = field(default_factory=RunAccount)
    prompts: int = 0
    passed: int = 0
    calls: int = 0
    items: tuple[RefinedPrompt, ...] = ()


async def refine_pending_async(
    store: Store,
    judge: RatingJudge,
    generator: Generator,
    *,
    where: RowFilter | None = None,
    prompts: Sequence[Origin] | None = None,
    rule: RefineRule | None = None,
    **options: Unpack[RunOptions],
) -> RefineSummary:
    """Answer questions until each answer is good enough or the limit is reached.

    Without ``prompts`` (from `read_prompts`), the questions of the logged answers in ``where`` are used, with their
    logged messages or, if there are none, with question and passages. An unfinished run of the same command continues,
    with the answers that were logged at its start. A logged question is skipped if the same judge version and generator
    have finished it by this rule. The prompts of a file are answered again unless an unfinished run exists. Both models
    are closed at the end. ``options`` are fields of `RunOptions`.
    """
    rule = rule or RefineRule()
    if prompts is None:
        return await run_method(store, _RefineLogged(judge, generator, rule, where or RowFilter()), **options)
    return await run_method(store, _RefinePrompts(judge, generator, rule, prompts), **options)


refine_pending = blocking(refine_pending_async)


@dataclass(frozen=True, slots=True)
class Prompt:
    """A question with its stored attempts; ``subject`` names it within the run."""

    subject: str
    origin: Origin
    run_id: int
    model: str
    done: tuple[Refinement, ...] = ()

    @property
    def messages(self) -> generation.Messages:
        """The first messages for the generator: as logged, or rebuilt from question and passages."""
        item = self.origin.item
        return self.origin.messages or generation.rebuilt_messages(item.query, item.passages)

    def new_id(self, number: int) -> str:
        """Return the external id of an attempt's answer. It stays the same if this run is continued."""
        return attempt_id(self.origin.item.external_id, self.run_id, number)

    def response(self, attempt: Refinement) -> Response:
        """Return the response to store for an attempt's answer."""
        return generation.made_response(
            self.origin,
            attempt.answer or "",
            external_id=self.new_id(attempt.number),
            model=self.model,
            messages=generation.with_feedback(self.messages, attempt.with_feedback),
        )


# Each attempt gives two steps: the attempt with its answer, and the same attempt with its rating.
RefineStep = Answered[Prompt, Refinement]


class _RefineMethod(generation.GeneratingMethod[Prompt, RefineStep, RefineSummary]):
    """Self-refine; a subclass selects the prompts."""

    kind = refinements.REFINE
    judge: RatingJudge

    def __init__(self, judge: RatingJudge, generator: Generator, rule: RefineRule) -> None:
        super().__init__(judge, generator)
        self._rule = rule

    def question(self, **prompts: Any) -> dict[str, Any]:
        rule = asdict(self._rule) | {"prompt": prompt_hash(load_prompt("generate").text)}
        return {"method": self.made_by, "rule": rule, **prompts}

    def prompt(self, begun: Begun, subject: str, origin: Origin, done: Sequence[refinements.StoredAttempt]) -> Prompt:
        return Prompt(subject, origin, begun.run.id, self.generator.endpoint.model, _refinements(done))

    def most_calls(self, connection: Connection, begun: Begun) -> int:
        return (self._rule.max_repeats + 1) * self.expected(connection, begun)

    async def sample_requests(self, task: Prompt) -> None:
        await self.generator.generate(task.messages)
        await self.judge.rate(task.origin.item)

    async def ask(self, task: Prompt, keep: Keep[RefineStep]) -> None:
        item = task.origin.item

        async def answer(messages: generation.Messages, number: int) -> Replied[str]:
            return await self.generator.generate(messages, subject=task.new_id(number))

        async def rate(text: str, number: int) -> Replied[Rating]:
            return await self.judge.rate(replace(item, answer=text, external_id=task.new_id(number)))

        async def keep_attempt(attempt: Refinement) -> bool:
            return await keep(Answered(task, attempt, attempt.latest))

        await attempt_until_good(answer, rate, task.messages, self._rule, done=task.done, keep=keep_attempt)

    def save(self, connection: Connection, begun: Begun, steps: list[RefineStep]) -> None:
        now, run_id = utc_now(), begun.run.id
        answered = [(step.task, step.result) for step in steps if step.result.judging is None]
        rated = [(step.task, step.result) for step in steps if step.result.judging is not None]
        generations = [
            refinements.NewGeneration(
                prompt.subject,
                attempt.number,
                prompt.model,
                attempt.answering,
                None if attempt.answer is None else prompt.response(attempt),
            )
            for prompt, attempt in answered
        ]
        refinements.store_generations(connection, run_id, generations, now)
        rows = [_row(prompt, attempt, "no_answer") for prompt, attempt in answered if attempt.answer is None]
        verdicts = [
            (prompt.response(attempt), rating_verdict(attempt.rating, attempt.latest)) for prompt, attempt in rated
        ]
        stored_verdicts = generation.store_verdicts(connection, begun, verdicts, now)
        for (prompt, attempt), stored in zip(rated, stored_verdicts, strict=True):
            if stored is not None:
                response_id, judgment = stored
                passed = "passed" if self._rule.succeeds(attempt.score) else "failed"
                outcome = "unrated" if attempt.rating is None else passed
                rows.append(_row(prompt, attempt, outcome, response_id, judgment.judgment_id))
        refinements.insert_refinements(connection, run_id, rows, now)

    def summarise(self, outcome: RunOutcome) -> RefineSummary:
        run = outcome.run
        if run is None:
            return RefineSummary(outcome.version.title)
        with outcome.store.reading() as connection:
            attempts = refinements.stored_attempts(connection, run.id)
            ids = external_ids(connection, [int(subject) for subject in attempts]) if "where" in run.question else {}
            calls = refinements.count_calls(connection, run.id)
        items = []
        for subject, stored in attempts.items():
            made = _refinements(stored)
            prompt_id = ids.get(int(subject), subject) if ids else subject
            outcomes = tuple(
                record_of(AttemptOutcome, row, status=attempt.status, error=attempt.error)
                for row, attempt in zip(stored, made, strict=True)
            )
            items.append(RefinedPrompt(prompt_id, self._rule.passed(made), outcomes))
        return RefineSummary(
            judge=outcome.version.title,
            account=outcome.account,
            prompts=run.selected or 0,
            passed=sum(item.passed for item in items),
            calls=calls,
            items=tuple(items),
        )


class _RefineLogged(_RefineMethod):
    """Self-refine for the questions of logged answers."""

    def __init__(self, judge: RatingJudge, generator: Generator, rule: RefineRule, where: RowFilter) -> None:
        super().__init__(judge, generator, rule)
        self._selection = refinements.RefineSelection(where, 0, rule.success_rating, rule.max_repeats + 1)

    def select(self, connection: Connection, version: StoredVersion) -> Selected | None:
        up_to = last_logged_id(connection)
        runs = refinements.runs_of_method(connection, refinements.REFINE, version.id, self.made_by)
        self._selection = replace(self._selection, up_to=up_to, runs=runs)
        count = refinements.count_unrefined(connection, self._selection)
        question = self.question(where=self._selection.where.as_dict(), up_to=up_to)
        return (question, count) if count else None

    def keys(self, begun: Begun) -> Iterator[TaskKey]:
        return id_keys(begun.store, partial(refinements.unrefined, selection=self._selection_of(begun)))

    def load(self, begun: Begun, keys: Sequence[TaskKey]) -> dict[TaskKey, Prompt]:
        selection, ids = self._selection_of(begun), [key.item_id for key in keys]
        with begun.store.reading() as connection:
            ids = refinements.unrefined(connection, selection, among=ids, limit=len(ids))
            done = refinements.stored_attempts(connection, begun.run.id, [str(id_) for id_ in ids])
        keep_unchanged(begun.store, ids)
        with begun.store.reading() as connection:
            origins = read_origins(connection, ids)
        return {
            TaskKey(id_): self.prompt(begun, str(id_), origins[id_], done.get(str(id_), ()))
            for id_ in ids
            if id_ in origins
        }

    def left(self, connection: Connection, begun: Begun) -> int:
        return refinements.count_unrefined(connection, self._selection_of(begun))

    def _selection_of(self, begun: Begun) -> refinements.RefineSelection:
        runs = (*self._selection.runs, begun.run.id)
        return replace(self._selection, runs=runs, up_to=begun.run.question["up_to"])


class _RefinePrompts(_RefineMethod):
    """Self-refine for the prompts of a file, in the order of the file."""

    def __init__(self, judge: RatingJudge, generator: Generator, rule: RefineRule, prompts: Sequence[Origin]) -> None:
        super().__init__(judge, generator, rule)
        self._prompts = prompts

    def select(self, connection: Connection, version: StoredVersion) -> Selected:  # noqa: ARG002 - base class
        # The hash of the prompts' content identifies the run.
        content = [
            [origin.item.external_id, origin.item.query, origin.item.passages, origin.messages, origin.source]
            for origin in self._prompts
        ]
        address = hashlib.sha256(json.dumps(content).encode()).hexdigest()
        return self.question(prompts=address), len(self._prompts)

    def keys(self, begun: Begun) -> Iterator[TaskKey]:
        # A prompt is none of the answers that the same judge may judge meanwhile.
        return (TaskKey(number, f"run {begun.run.id}") for number in range(len(self._prompts)))

    def load(self, begun: Begun, keys: Sequence[TaskKey]) -> dict[TaskKey, Prompt]:
        origins = [self._prompts[key.item_id] for key in keys]
        with begun.store.reading() as connection:
            unfinished = {prompt.subject: prompt for prompt in self._unfinished(connection, begun, origins)}
        subjects = {key: origin.item.external_id for key, origin in zip(keys, origins, strict=True)}
        return {key: unfinished[subject] for key, subject in subjects.items() if subject in unfinished}

    def left(self, connection: Connection, begun: Begun) -> int:
        return len(self._unfinished(connection, begun, self._prompts))

    def _unfinished(self, connection: Connection, begun: Begun, origins: Sequence[Origin]) -> list[Prompt]:
        subjects = None if origins is self._prompts else [origin.item.external_id for origin in origins]
        done = refinements.stored_attempts(connection, begun.run.id, subjects)
        prompts = [
            self.prompt(begun, origin.item.external_id, origin, done.get(origin.item.external_id, ()))
            for origin in origins
        ]
        return [prompt for prompt in prompts if not self._rule.over(prompt.done)]


def store_live_attempts(
    store: Store, judge: RatingJudge, chat: Chat, rule: RefineRule, origin: Origin, attempts: Sequence[Refinement]
) -> None:
    """Store the attempts of a live `refine` call as a finished run."""
    method = _RefinePrompts(judge, Generator(generation.function_endpoint(chat)), rule, [origin])
    with generation.live_run(store, method, method.question(live=origin.item.external_id)) as (connection, begun):
        prompt = method.prompt(begun, origin.item.external_id, origin, ())
        made = [
            stage
            for attempt in attempts
            for stage in (replace(attempt, rating=None, judging=None), attempt)
            if stage is not attempt or attempt.judging is not None
        ]
        method.save(connection, begun, [Answered(prompt, stage, stage.latest) for stage in made])


def _refinements(stored: Sequence[refinements.StoredAttempt]) -> tuple[Refinement, ...]:
    made = []
    for attempt in stored:
        rating = None
        if attempt.rating is not None:
            rating = Rating(attempt.rating, attempt.evaluation or "", attempt.feedback or "")
        made.append(Refinement(attempt.number, attempt.answer, attempt.answering, rating, attempt.judging))
    return tuple(made)


def _row(
    prompt: Prompt, attempt: Refinement, outcome: str, response_id: int | None = None, judgment_id: int | None = None
) -> refinements.NewRefinement:
    return refinements.NewRefinement(
        method=refinements.REFINE,
        subject=prompt.subject,
        number=attempt.number,
        root_response_id=prompt.origin.root_response_id,
        outcome=outcome,
        response_id=response_id,
        judgment_id=judgment_id,
        rating=attempt.score,
        feedback=attempt.feedback,
    )

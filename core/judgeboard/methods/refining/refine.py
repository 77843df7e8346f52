"""Self-refine: answer, rate the answer, and answer again with the feedback until the answer is good enough."""

import asyncio
import hashlib
import json
import uuid
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any, Literal, Unpack

from sqlalchemy import Connection

from judgeboard.domain import JudgeInput, Response, Status, StepRecord
from judgeboard.errors import BadInput
from judgeboard.judges.judge import prompt_hash
from judgeboard.judges.prompt import load_prompt
from judgeboard.judges.rating import KIND, Rating, RatingJudge, rating_verdict
from judgeboard.llm.asking import Generator, Replied
from judgeboard.llm.chat import Chat, call, earlier_turns
from judgeboard.llm.own_thread import in_shared_loop
from judgeboard.methods.refining import queries, tables
from judgeboard.runs import generation
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
from judgeboard.store.clock import utc_now
from judgeboard.store.engine import Store
from judgeboard.store.filters import RowFilter
from judgeboard.store.generations import NewGeneration, store_generations
from judgeboard.store.jobs import TaskKey
from judgeboard.store.responses import Origin, external_ids, last_logged_id, read_origins
from judgeboard.store.statements import record_of
from judgeboard.store.tables import StoredVersion
from judgeboard.store.traces import keep_unchanged
from judgeboard.text import storable

Keeping = Literal["last", "best"]


@dataclass(frozen=True, slots=True)
class Refinement:
    """One attempt, numbered from 1; the generator got ``with_feedback``, the feedback on the previous attempt."""

    number: int
    answer: str | None
    answering: StepRecord
    rating: Rating | None = None
    judging: StepRecord | None = None
    with_feedback: str | None = None

    @property
    def complete(self) -> bool:
        """Whether the attempt is rated, or has no answer to rate."""
        return self.answer is None or self.judging is not None

    @property
    def latest(self) -> StepRecord:
        """The record of the rating, or of the answer if there is no rating yet."""
        return self.judging or self.answering

    @property
    def status(self) -> Status:
        """Status of the latest step; ok only with a rating."""
        return self.latest.status

    @property
    def error(self) -> str | None:
        """Why there is no rating."""
        return self.latest.error

    @property
    def score(self) -> int | None:
        """The rating, 1 to 4."""
        return None if self.rating is None else self.rating.rating

    @property
    def feedback(self) -> str | None:
        """The judge's feedback; None without a usable rating."""
        return None if self.rating is None else self.rating.feedback


@dataclass(frozen=True, slots=True)
class RefineRule:
    """When attempts end and which answer is selected; raises BadInput if a value is out of range.

    Source: Spring AI, "LLM-as-a-Judge with recursive advisors" (2025), whose example repeats 15
    times; the default 3 and ``keep`` are our own. Attempts end at a rating of at least
    ``success_rating`` (1 to 4) or after ``max_repeats`` repeats. If no answer was good enough,
    ``keep`` selects the ``last`` or the ``best`` rated one (the later if equal).
    """

    success_rating: int = 4
    max_repeats: int = 3
    keep: Keeping = "last"

    def __post_init__(self) -> None:
        if self.success_rating not in {1, 2, 3, 4}:
            raise BadInput(f"success_rating must be 1, 2, 3 or 4, not {self.success_rating!r}")
        if self.max_repeats < 0:
            raise BadInput(f"max_repeats must be 0 or more, not {self.max_repeats}")
        if self.keep not in {"last", "best"}:
            raise BadInput(f"keep must be last or best, not {self.keep!r}")

    def succeeds(self, rating: int | None) -> bool:
        """Whether an answer with this rating is good enough; an answer without a rating is not."""
        return rating is not None and rating >= self.success_rating

    def over(self, attempts: Sequence[Refinement]) -> bool:
        """Whether there are no more attempts: the last one passed, or no repeat is left."""
        if not attempts or not attempts[-1].complete:
            return False
        return self.passed(attempts) or len(attempts) > self.max_repeats

    def passed(self, attempts: Sequence[Refinement]) -> bool:
        """Whether the last attempt is good enough."""
        return bool(attempts) and self.succeeds(attempts[-1].score)

    def selected(self, attempts: Sequence[Refinement]) -> Refinement | None:
        """Return the selected attempt; None if no attempt gave an answer."""
        attempts_with_answer = [attempt for attempt in attempts if attempt.answer is not None]
        number = self.selected_number(
            [(attempt.number, attempt.score) for attempt in attempts_with_answer]
        )
        return next((attempt for attempt in attempts_with_answer if attempt.number == number), None)

    def selected_number(self, attempts: Sequence[tuple[int, int | None]]) -> int | None:
        """Return the number of the selected attempt, given (number, rating) of all answers in order."""
        if not attempts:
            return None
        if self.keep == "last" or self.succeeds(attempts[-1][1]):
            return attempts[-1][0]
        return max(attempts, key=lambda attempt: (attempt[1] or 0, attempt[0]))[0]


Answer = Callable[[generation.Messages, int], Awaitable[Replied[str]]]
Rate = Callable[[str, int], Awaitable[Replied[Rating]]]
KeepAttempt = Callable[[Refinement], Awaitable[bool]]


async def attempt_until_good(
    answer: Answer,
    rate: Rate,
    messages: generation.Messages,
    rule: RefineRule,
    *,
    earlier: Sequence[Refinement] = (),
    keep: KeepAttempt | None = None,
) -> list[Refinement]:
    """Return all attempts, including the ``earlier`` ones. The last earlier attempt may lack a rating.

    Each attempt sends the original messages and the feedback on the previous attempt only.
    ``answer`` and ``rate`` receive the number of the attempt. ``keep`` receives each attempt twice,
    answered and then rated, and returns False to stop.
    """
    attempts = list(earlier)
    while not rule.over(attempts):
        if attempts and not attempts[-1].complete:
            attempt = attempts.pop()
        else:
            feedback = attempts[-1].feedback if attempts else None
            number = len(attempts) + 1
            answer_reply = await answer(generation.with_feedback(messages, feedback), number)
            attempt = Refinement(
                number, answer_reply.value, answer_reply.record, with_feedback=feedback
            )
            if keep is not None and not await keep(attempt):
                return [*attempts, attempt]
        if attempt.answer is not None:
            rating_reply = await rate(attempt.answer, attempt.number)
            attempt = replace(attempt, rating=rating_reply.value, judging=rating_reply.record)
            if keep is not None and not await keep(attempt):
                return [*attempts, attempt]
        attempts.append(attempt)
    return attempts


@dataclass(frozen=True, slots=True)
class Refined:
    """The result of self-refine; ``answer`` is None only if no attempt gave one."""

    answer: str | None
    passed: bool
    rating: int | None
    feedback: str | None
    attempts: tuple[Refinement, ...]

    @property
    def cost_micro(self) -> int | None:
        """Cost of all answers and ratings in millionths; None if any is unknown."""
        steps = (step for attempt in self.attempts for step in (attempt.answering, attempt.judging))
        return generation.total_cost(step.cost_micro for step in steps if step is not None)


@dataclass(frozen=True, slots=True, repr=False)  # the options may contain an API key
class Refiner:
    """A chat call with self-refine: await it, or call ``blocking``."""

    _chat: Chat
    _judge: str | RatingJudge | Chat
    _rule: RefineRule
    _options: dict[str, object]
    _store: Store | None = None

    async def __call__(
        self, messages: str | Sequence[Mapping[str, Any]], *, passages: Sequence[str] | None = None
    ) -> Refined:
        """Return the answer to ``messages`` (or to one text), refined until the answer is good enough.

        The rating concerns the user's last message, and the feedback is added to that message.
        Errors of both models are raised.
        """
        chat_messages = generation.checked_messages(messages)
        judge = self._rating_judge()
        evidence = None if passages is None else tuple(passages)

        call_id, turns = uuid.uuid4().hex, earlier_turns(chat_messages)
        item = JudgeInput(
            0,
            generation.request_text(chat_messages),
            "",
            evidence,
            external_id=call_id,
            turns=turns,
        )

        async def rate(answer: str, _number: int) -> Replied[Rating]:
            return await judge.rate(replace(item, answer=answer))

        try:
            attempts = await attempt_until_good(self._answer, rate, chat_messages, self._rule)
            if self._store is not None:
                origin = Origin(item, generation.SOURCE, chat_messages)
                await asyncio.to_thread(
                    store_live_attempts,
                    self._store,
                    judge,
                    self._chat,
                    self._rule,
                    origin,
                    tuple(attempts),
                )
        finally:
            if judge is not self._judge:
                await judge.aclose()
        selected_attempt = self._rule.selected(attempts)
        return Refined(
            answer=None if selected_attempt is None else selected_attempt.answer,
            passed=self._rule.passed(attempts),
            rating=None if selected_attempt is None else selected_attempt.score,
            feedback=None if selected_attempt is None else selected_attempt.feedback,
            attempts=tuple(attempts),
        )

    def blocking(
        self, messages: str | Sequence[Mapping[str, Any]], *, passages: Sequence[str] | None = None
    ) -> Refined:
        """Call and wait for the result."""
        return in_shared_loop(self, messages, passages=passages)

    def _rating_judge(self) -> RatingJudge:
        if isinstance(self._judge, RatingJudge):
            return self._judge
        if isinstance(self._judge, str):
            judge = generation.judge_for_call(self._store, self._judge, self._options)
            if not isinstance(judge, RatingJudge):
                raise BadInput(
                    f"self-refine needs a judge that gives feedback: {KIND!r}, not {self._judge!r}"
                )
            return judge
        return RatingJudge(generation.function_endpoint(self._judge))

    async def _answer(self, messages: generation.Messages, _number: int) -> Replied[str]:
        answer = await call(self._chat, messages)
        if isinstance(answer, Replied):
            return answer
        if not isinstance(answer, str):
            raise BadInput(f"the chat call must return a text, not {type(answer).__name__}")
        if not answer.strip():
            return Replied(
                None, StepRecord(Status.UNPARSABLE, raw=answer, error="the answer is empty")
            )
        return Replied(answer, StepRecord(Status.OK, raw=storable(answer)[0]))


def refine(
    chat: Chat | Callable[..., Any],
    judge: str | RatingJudge | Chat = KIND,
    *,
    success_rating: int = 4,
    max_repeats: int = 3,
    keep: Keeping = "last",
    store: Store | None = None,
    **options: object,
) -> Refiner:
    """Wrap a chat call with self-refine: a second model rates each answer, and the next attempt gets the feedback.

    Source: Spring AI, "LLM-as-a-Judge with recursive advisors" (2025). Both models are called
    through sync or async functions ``messages → text``. The chat call runs tools itself::

        better = judgeboard.refine(my_chat, model="llama-3.1-8b-instruct", base_url="http://localhost:8000/v1")
        result = await better([{"role": "user", "content": "How warm is it in Paris?"}])

    ``judge`` is ``rating`` (a chat model with ``options``: fields of `JudgeOptions`), a
    `RatingJudge`, or a function whose text is parsed like a model's reply. With ``store``, all
    attempts of a call are stored as one run when the call ends; the item page shows them. The other
    arguments are as in `RefineRule`.
    """
    if options and not isinstance(judge, str):
        raise BadInput(f"{', '.join(sorted(options))}: options apply only to a judge given by name")
    return Refiner(chat, judge, RefineRule(success_rating, max_repeats, keep), options, store)


@dataclass(frozen=True, slots=True)
class AttemptOutcome:
    """The answer and the rating of one attempt; if either is None, ``status`` and ``error`` give the reason."""

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

    Without ``prompts`` (from `read_prompts`), the questions of the logged answers in ``where`` are
    used, with the logged messages or, without any, with question and passages. An unfinished run of
    the same command continues with the answers that were logged at the start. A logged question is
    skipped if the same judge version and generator have finished that question by this rule. The
    prompts of a file are answered again unless an unfinished run exists. Both models are
    closed at the end. ``options`` are fields of `RunOptions`.
    """
    rule = rule or RefineRule()
    if prompts is None:
        return await run_method(
            store, _RefineLogged(judge, generator, rule, where or RowFilter()), **options
        )
    return await run_method(store, _RefinePrompts(judge, generator, rule, prompts), **options)


refine_pending = blocking(refine_pending_async)


@dataclass(frozen=True, slots=True)
class Prompt:
    """A question with the stored attempts; ``subject`` names the question within the run."""

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
        """Return the external id of an attempt's answer, which is the same after this run is continued."""
        return f"{self.origin.item.external_id}~refine-{self.run_id}-{number}"

    def recorded_id(self, number: int) -> str:
        """Return the id under which the replies of an attempt are recorded."""
        return f"{self.origin.item.external_id}/{number}"

    def response(self, attempt: Refinement) -> Response:
        """Return the response to store for an attempt's answer."""
        return generation.made_response(
            self.origin,
            attempt.answer or "",
            external_id=self.new_id(attempt.number),
            model=self.model,
            messages=generation.with_feedback(self.messages, attempt.with_feedback),
        )


# Each attempt gives two steps: the attempt with the answer, and the same attempt with the rating.
RefineStep = Answered[Prompt, Refinement]


class _RefineMethod(generation.GeneratingMethod[Prompt, RefineStep, RefineSummary]):
    """Self-refine; a subclass selects the prompts."""

    kind = queries.REFINE
    judge: RatingJudge

    def __init__(self, judge: RatingJudge, generator: Generator, rule: RefineRule) -> None:
        super().__init__(judge, generator)
        self._rule = rule

    def question(self, prompts: Mapping[str, Any]) -> dict[str, Any]:
        rule = asdict(self._rule) | {"prompt": prompt_hash(load_prompt("generate").text)}
        return {"method": self.made_by, "rule": rule, **prompts}

    def prompt(
        self, begun: Begun, subject: str, origin: Origin, attempts: Sequence[queries.StoredAttempt]
    ) -> Prompt:
        return Prompt(
            subject, origin, begun.run.id, self.generator.endpoint.model, _refinements(attempts)
        )

    def most_calls(self, connection: Connection, begun: Begun) -> int:
        return (self._rule.max_repeats + 1) * self.expected(connection, begun)

    async def sample_requests(self, task: Prompt) -> None:
        await self.generator.generate(task.messages)
        await self.judge.rate(task.origin.item)

    async def ask(self, task: Prompt, keep: Keep[RefineStep]) -> None:
        item = task.origin.item

        async def answer(messages: generation.Messages, number: int) -> Replied[str]:
            return await self.generator.generate(messages, subject=task.recorded_id(number))

        async def rate(text: str, number: int) -> Replied[Rating]:
            return await self.judge.rate(
                replace(item, answer=text, external_id=task.recorded_id(number))
            )

        async def keep_attempt(attempt: Refinement) -> bool:
            return await keep(Answered(task, attempt, attempt.latest))

        await attempt_until_good(
            answer, rate, task.messages, self._rule, earlier=task.done, keep=keep_attempt
        )

    def save(self, connection: Connection, begun: Begun, steps: list[RefineStep]) -> None:
        now, run_id = utc_now(), begun.run.id
        answer_steps = [(step.task, step.result) for step in steps if step.result.judging is None]
        rating_steps = [
            (step.task, step.result) for step in steps if step.result.judging is not None
        ]
        generations = [
            NewGeneration(
                prompt.subject,
                attempt.number,
                prompt.model,
                attempt.answering,
                None if attempt.answer is None else prompt.response(attempt),
            )
            for prompt, attempt in answer_steps
        ]
        store_generations(connection, run_id, generations, now)
        rows = [
            _row(run_id, prompt, attempt, "no_answer")
            for prompt, attempt in answer_steps
            if attempt.answer is None
        ]
        verdicts = [
            (prompt.response(attempt), rating_verdict(attempt.rating, attempt.latest))
            for prompt, attempt in rating_steps
        ]
        stored_verdicts = generation.store_verdicts(connection, begun, verdicts, now)
        for (prompt, attempt), stored_verdict in zip(rating_steps, stored_verdicts, strict=True):
            if stored_verdict is not None:
                response_id, judgment = stored_verdict
                outcome_of_rating = "passed" if self._rule.succeeds(attempt.score) else "failed"
                outcome = "unrated" if attempt.rating is None else outcome_of_rating
                rows.append(
                    _row(run_id, prompt, attempt, outcome, response_id, judgment.judgment_id)
                )
        queries.insert_refinements(connection, rows)

    def summarise(self, outcome: RunOutcome) -> RefineSummary:
        run = outcome.run
        if run is None:
            return RefineSummary(outcome.version.title)
        with outcome.store.reading() as connection:
            attempts = queries.stored_attempts(connection, run.id)
            ids = (
                external_ids(connection, [int(subject) for subject in attempts])
                if "where" in run.filter
                else {}
            )
            calls = queries.count_calls(connection, run.id)
        items = []
        for subject, rows in attempts.items():
            refinements = _refinements(rows)
            prompt_id = ids.get(int(subject), subject) if ids else subject
            outcomes = tuple(
                record_of(AttemptOutcome, row, status=attempt.status, error=attempt.error)
                for row, attempt in zip(rows, refinements, strict=True)
            )
            items.append(RefinedPrompt(prompt_id, self._rule.passed(refinements), outcomes))
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

    def __init__(
        self, judge: RatingJudge, generator: Generator, rule: RefineRule, where: RowFilter
    ) -> None:
        super().__init__(judge, generator, rule)
        self._selection = queries.RefineSelection(
            where, 0, rule.success_rating, rule.max_repeats + 1
        )

    def select(self, connection: Connection, version: StoredVersion) -> Selected | None:
        up_to = last_logged_id(connection)
        runs = queries.runs_of_method(connection, queries.REFINE, version.id, self.made_by)
        self._selection = replace(self._selection, up_to=up_to, runs=runs)
        count = queries.count_unrefined(connection, self._selection)
        question = self.question({"where": self._selection.where.as_dict(), "up_to": up_to})
        return (question, count) if count else None

    def keys(self, begun: Begun) -> Iterator[TaskKey]:
        return id_keys(begun.store, partial(queries.unrefined, selection=self._selection_of(begun)))

    def load(self, begun: Begun, keys: Sequence[TaskKey]) -> dict[TaskKey, Prompt]:
        selection, ids = self._selection_of(begun), [key.item_id for key in keys]
        with begun.store.reading() as connection:
            ids = queries.unrefined(connection, selection, among=ids, limit=len(ids))
            attempts = queries.stored_attempts(connection, begun.run.id, [str(id_) for id_ in ids])
        keep_unchanged(begun.store, ids)
        with begun.store.reading() as connection:
            origins = read_origins(connection, ids)
        return {
            TaskKey(id_): self.prompt(begun, str(id_), origins[id_], attempts.get(str(id_), ()))
            for id_ in ids
            if id_ in origins
        }

    def left(self, connection: Connection, begun: Begun) -> int:
        return queries.count_unrefined(connection, self._selection_of(begun))

    def _selection_of(self, begun: Begun) -> queries.RefineSelection:
        runs = (*self._selection.runs, begun.run.id)
        return replace(self._selection, runs=runs, up_to=begun.run.filter["up_to"])


class _RefinePrompts(_RefineMethod):
    """Self-refine for the prompts of a file, in the order of the file."""

    def __init__(
        self, judge: RatingJudge, generator: Generator, rule: RefineRule, prompts: Sequence[Origin]
    ) -> None:
        super().__init__(judge, generator, rule)
        self._prompts = prompts

    def select(self, connection: Connection, version: StoredVersion) -> Selected:  # noqa: ARG002 - base class
        # The hash of the prompts' content identifies the run.
        content = [
            [
                origin.item.external_id,
                origin.item.query,
                origin.item.passages,
                origin.messages,
                origin.source,
            ]
            for origin in self._prompts
        ]
        address = hashlib.sha256(json.dumps(content).encode()).hexdigest()
        return self.question({"prompts": address}), len(self._prompts)

    def keys(self, begun: Begun) -> Iterator[TaskKey]:
        # The key differs from the keys of answers, which the same judge may judge meanwhile.
        return (TaskKey(number, f"run {begun.run.id}") for number in range(len(self._prompts)))

    def load(self, begun: Begun, keys: Sequence[TaskKey]) -> dict[TaskKey, Prompt]:
        origins = [self._prompts[key.item_id] for key in keys]
        with begun.store.reading() as connection:
            unfinished = {
                prompt.subject: prompt for prompt in self._unfinished(connection, begun, origins)
            }
        subjects = {key: origin.item.external_id for key, origin in zip(keys, origins, strict=True)}
        return {
            key: unfinished[subject] for key, subject in subjects.items() if subject in unfinished
        }

    def left(self, connection: Connection, begun: Begun) -> int:
        return len(self._unfinished(connection, begun, self._prompts))

    def _unfinished(
        self, connection: Connection, begun: Begun, origins: Sequence[Origin]
    ) -> list[Prompt]:
        subjects = (
            None if origins is self._prompts else [origin.item.external_id for origin in origins]
        )
        attempts = queries.stored_attempts(connection, begun.run.id, subjects)
        prompts = [
            self.prompt(
                begun, origin.item.external_id, origin, attempts.get(origin.item.external_id, ())
            )
            for origin in origins
        ]
        return [prompt for prompt in prompts if not self._rule.over(prompt.done)]


def store_live_attempts(
    store: Store,
    judge: RatingJudge,
    chat: Chat,
    rule: RefineRule,
    origin: Origin,
    attempts: Sequence[Refinement],
) -> None:
    """Store the attempts of a live `refine` call as a finished run."""
    method = _RefinePrompts(judge, Generator(generation.function_endpoint(chat)), rule, [origin])
    with generation.live_run(store, method, method.question({"live": origin.item.external_id})) as (
        connection,
        begun,
    ):
        prompt = method.prompt(begun, origin.item.external_id, origin, ())
        stages = [
            stage
            for attempt in attempts
            for stage in (replace(attempt, rating=None, judging=None), attempt)
            if stage is not attempt or attempt.judging is not None
        ]
        method.save(connection, begun, [Answered(prompt, stage, stage.latest) for stage in stages])


def _refinements(attempts: Sequence[queries.StoredAttempt]) -> tuple[Refinement, ...]:
    refinements = []
    for attempt in attempts:
        rating = None
        if attempt.rating is not None:
            rating = Rating(attempt.rating, attempt.evaluation or "", attempt.feedback or "")
        refinements.append(
            Refinement(attempt.number, attempt.answer, attempt.answering, rating, attempt.judging)
        )
    return tuple(refinements)


def _row(
    run_id: int,
    prompt: Prompt,
    attempt: Refinement,
    outcome: str,
    response_id: int | None = None,
    judgment_id: int | None = None,
) -> tables.Refinement:
    return tables.Refinement(
        run_id=run_id,
        method=queries.REFINE,
        subject=prompt.subject,
        number=attempt.number,
        root_response_id=prompt.origin.root_response_id,
        outcome=outcome,
        response_id=response_id,
        judgment_id=judgment_id,
        rating=attempt.score,
        feedback=attempt.feedback,
    )

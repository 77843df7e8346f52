"""Self-refine: answer, rate the answer, and answer again with the feedback until the answer is good enough."""

import asyncio
import re
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from judgeboard.domain import JudgeInput, Status, StepRecord
from judgeboard.errors import BadInput
from judgeboard.judges.rating import KIND, Rating, RatingJudge
from judgeboard.llm.asking import Replied
from judgeboard.llm.chat import Chat, RecordedChat, Replies, call, earlier_turns, read_replies
from judgeboard.llm.endpoint import ModelEndpoint
from judgeboard.methods import generation
from judgeboard.runs.runner import run_blocking
from judgeboard.store.engine import Store
from judgeboard.store.responses import Origin
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

    Source: Spring AI, "LLM-as-a-Judge with recursive advisors" (2025), whose example repeats 15 times; the default 3
    and ``keep`` are our own. Attempts end at a rating of at least ``success_rating`` (1 to 4) or after ``max_repeats``
    repeats. If no answer was good enough, ``keep`` selects the ``last`` or the ``best`` rated one (the later if equal).
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
        answered = [attempt for attempt in attempts if attempt.answer is not None]
        number = self.selected_number([(attempt.number, attempt.score) for attempt in answered])
        return next((attempt for attempt in answered if attempt.number == number), None)

    def selected_number(self, rated: Sequence[tuple[int, int | None]]) -> int | None:
        """Return the number of the selected attempt, given (number, rating) of all answers in order."""
        if not rated:
            return None
        if self.keep == "last" or self.succeeds(rated[-1][1]):
            return rated[-1][0]
        return max(rated, key=lambda attempt: (attempt[1] or 0, attempt[0]))[0]


Answer = Callable[[generation.Messages, int], Awaitable[Replied[str]]]
Rate = Callable[[str, int], Awaitable[Replied[Rating]]]
KeepAttempt = Callable[[Refinement], Awaitable[bool]]


async def attempt_until_good(
    answer: Answer,
    rate: Rate,
    messages: generation.Messages,
    rule: RefineRule,
    *,
    done: Sequence[Refinement] = (),
    keep: KeepAttempt | None = None,
) -> list[Refinement]:
    """Return all attempts, including those ``done`` before. The last of these may still lack its rating.

    Each attempt sends the original messages and the feedback on the previous attempt only. ``answer`` and ``rate``
    receive its number. ``keep`` receives each attempt twice, answered and then rated; it returns False to stop.
    """
    attempts = list(done)
    while not rule.over(attempts):
        if attempts and not attempts[-1].complete:
            attempt = attempts.pop()
        else:
            feedback = attempts[-1].feedback if attempts else None
            number = len(attempts) + 1
            generated = await answer(generation.with_feedback(messages, feedback), number)
            attempt = Refinement(number, generated.value, generated.record, with_feedback=feedback)
            if keep is not None and not await keep(attempt):
                return [*attempts, attempt]
        if attempt.answer is not None:
            rated = await rate(attempt.answer, attempt.number)
            attempt = replace(attempt, rating=rated.value, judging=rated.record)
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
    def judge_cost_micro(self) -> int | None:
        """Cost of all ratings in millionths; None if any is unknown."""
        return generation.total_cost(
            attempt.judging.cost_micro for attempt in self.attempts if attempt.judging is not None
        )

    @property
    def cost_micro(self) -> int | None:
        """Cost of all answers and ratings in millionths; None if any is unknown."""
        answering = [attempt.answering.cost_micro for attempt in self.attempts]
        return generation.total_cost([*answering, self.judge_cost_micro])


@dataclass(frozen=True, slots=True, repr=False)  # the options may contain an API key
class Refiner:
    """A chat call with self-refine: await it, or call ``blocking`` outside an event loop."""

    _chat: Chat
    _judge: str | RatingJudge | Chat
    _rule: RefineRule
    _options: dict[str, Any]
    _store: Store | None = None

    async def __call__(
        self, messages: str | Sequence[Mapping[str, Any]], *, passages: Sequence[str] | None = None
    ) -> Refined:
        """Return the answer to ``messages`` (or to one text), refined until it is good enough.

        The rating concerns the user's last message; the feedback is added to it. Errors of both models are raised.
        """
        checked = generation.checked_messages(messages)
        judge = self._rating_judge()
        evidence = None if passages is None else tuple(passages)

        call_id, turns = uuid.uuid4().hex, earlier_turns(checked)
        item = JudgeInput(0, generation.request_text(checked), "", evidence, external_id=call_id, turns=turns)

        async def rate(answer: str, _number: int) -> Replied[Rating]:
            return await judge.rate(replace(item, answer=answer))

        try:
            attempts = await attempt_until_good(self._answer, rate, checked, self._rule)
            if self._store is not None:
                from judgeboard.methods.refine_run import store_live_attempts  # it imports this module

                origin = Origin(item, generation.SOURCE, checked)
                await asyncio.to_thread(
                    store_live_attempts, self._store, judge, self._chat, self._rule, origin, tuple(attempts)
                )
        finally:
            if judge is not self._judge:
                await judge.aclose()
        selected = self._rule.selected(attempts)
        return Refined(
            answer=None if selected is None else selected.answer,
            passed=self._rule.passed(attempts),
            rating=None if selected is None else selected.score,
            feedback=None if selected is None else selected.feedback,
            attempts=tuple(attempts),
        )

    def blocking(
        self, messages: str | Sequence[Mapping[str, Any]], *, passages: Sequence[str] | None = None
    ) -> Refined:
        """Call and wait for the result; raises BadInput within an event loop, and for a judge object."""
        if isinstance(self._judge, RatingJudge):
            raise BadInput(
                "a blocking call makes its own judge: give the judge's model (model=…) instead of a judge object"
            )
        return run_blocking(self, messages, passages=passages)

    def _rating_judge(self) -> RatingJudge:
        if isinstance(self._judge, RatingJudge):
            return self._judge
        if isinstance(self._judge, str):
            judge = generation.judge_for_call(self._store, self._judge, self._options)
            if not isinstance(judge, RatingJudge):
                raise BadInput(f"self-refine needs a judge that gives feedback: {KIND!r}, not {self._judge!r}")
            return judge
        return RatingJudge(generation.function_endpoint(self._judge))

    async def _answer(self, messages: generation.Messages, _number: int) -> Replied[str]:
        answer = await call(self._chat, messages)
        if isinstance(answer, Replied):
            return answer
        if not isinstance(answer, str):
            raise BadInput(f"the chat call must return a text, not {type(answer).__name__}")
        if not answer.strip():
            return Replied(None, StepRecord(Status.UNPARSABLE, raw=answer, error="the answer is empty"))
        return Replied(answer, StepRecord(Status.OK, raw=storable(answer)[0]))


def refine(
    chat: Chat | Callable[..., Any],
    judge: str | RatingJudge | Chat = KIND,
    *,
    success_rating: int = 4,
    max_repeats: int = 3,
    keep: Keeping = "last",
    store: Store | None = None,
    **options: Any,
) -> Refiner:
    """Wrap a chat call with self-refine: a second model rates each answer, and the next attempt gets its feedback.

    Source: Spring AI, "LLM-as-a-Judge with recursive advisors" (2025). Both models are called through sync or async
    functions ``messages → text``. Tools of the chat call run inside it::

        better = judgeboard.refine(my_chat, model="llama-3.1-8b-instruct", base_url="http://localhost:8000/v1")
        result = await better([{"role": "user", "content": "How warm is it in Paris?"}])

    ``judge`` is ``rating`` (a chat model with ``options``: fields of `JudgeOptions`), a `RatingJudge`, or a function
    whose text is parsed like a model's reply. With ``store``, all attempts of a call are stored as one run when the
    call ends; the item page shows them. The other arguments are as in `RefineRule`.
    """
    if options and not isinstance(judge, str):
        raise BadInput(f"{', '.join(sorted(options))}: options apply only to a judge given by name")
    return Refiner(chat, judge, RefineRule(success_rating, max_repeats, keep), options, store)


_ATTEMPT_ID = re.compile(r"(?P<prompt_id>.*)~refine-\d+-(?P<number>\d+)", re.DOTALL)


def attempt_id(prompt_id: str, run_id: int, number: int) -> str:
    """Return the external id of an attempt's answer; ``number`` counts from 1."""
    return f"{prompt_id}~refine-{run_id}-{number}"


def attempt_replies(replies: Replies, subject: str) -> Sequence[str]:
    """Return the recorded replies for an attempt; if there are none, its prompt's line of the same number."""
    attempt = _ATTEMPT_ID.fullmatch(subject)
    if subject in replies or attempt is None:
        return replies.get(subject, ())
    number = int(attempt["number"])
    return replies.get(attempt["prompt_id"], ())[number - 1 : number]


def recorded_attempts(replies: Path, model: str) -> ModelEndpoint:
    """Return a model with replies from a file (JSONL of response_id and raw), which has one line for each attempt."""
    return ModelEndpoint(RecordedChat(read_replies(replies), attempt_replies), model)


def with_recorded_ratings(judge: RatingJudge, replies: Path) -> RatingJudge:
    """Return the same judge version with recorded ratings, as in `recorded_attempts`."""
    version = judge.version
    endpoint = recorded_attempts(replies, version.model or "recorded")
    return RatingJudge(
        endpoint,
        name=version.name,
        max_output=version.params["max_output"],
        asking=judge.asking,
        rating_word=judge.rating_word,
    )

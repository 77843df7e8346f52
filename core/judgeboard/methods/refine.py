"""Self-refine: answer, rate, and answer again on the feedback until the answer is good enough."""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

from judgeboard.domain import JudgeInput, Status, StepRecord
from judgeboard.errors import BadInput
from judgeboard.judges.rating import KIND, Rated, Rating, RatingJudge
from judgeboard.llm.asking import Generated
from judgeboard.llm.chat import CallableChat, Chat, call
from judgeboard.llm.endpoint import ModelEndpoint
from judgeboard.llm.recorded import RecordedChat, Replies, read_replies
from judgeboard.methods.generation import Messages, checked_messages, request_text, with_feedback
from judgeboard.runs.blocking import run_blocking
from judgeboard.runs.judging import make_judge
from judgeboard.text import storable

Keeping = Literal["last", "best"]


@dataclass(frozen=True, slots=True)
class Refinement:
    """One attempt, ``number`` 1 or more; without ``answer`` or ``rating``, ``status`` and ``error`` say why."""

    number: int
    answer: str | None
    answering: StepRecord
    rating: Rating | None = None
    judging: StepRecord | None = None

    @classmethod
    def answered(cls, number: int, generated: Generated) -> "Refinement":
        """Return an attempt that is not rated yet."""
        return cls(number, generated.text, generated.record)

    def rated(self, rated: Rated) -> "Refinement":
        """Return the attempt with its rating."""
        return replace(self, rating=rated.rating, judging=rated.record)

    @property
    def complete(self) -> bool:
        """Whether it is rated, or has no answer to rate."""
        return self.answer is None or self.judging is not None

    @property
    def latest(self) -> StepRecord:
        """The step that came last: the rating, else the answer."""
        return self.judging or self.answering

    @property
    def status(self) -> Status:
        """Outcome of the latest step; ok exactly where it has a rating."""
        return self.latest.status

    @property
    def error(self) -> str | None:
        """Why it has no rating."""
        return self.latest.error

    @property
    def feedback(self) -> str | None:
        """What the judge wants changed; None without a usable rating."""
        return None if self.rating is None else self.rating.feedback


@dataclass(frozen=True, slots=True)
class RefineRule:
    """When attempts end and which answer is kept.

    Source: Spring AI, "LLM-as-a-Judge with recursive advisors" (2025), whose example repeats 15 times; the default 3
    and ``keep`` are ours.

    Attributes:
        success_rating: An answer rated so, from 1 to 4, or better is returned.
        max_repeats: Further attempts after the first; the number of attempts is one more.
        keep: Where none was good enough: the ``last`` answer, or the ``best`` rated one (of equals the later).

    Raises:
        BadInput: One of them is out of its range.
    """

    success_rating: int = 4
    max_repeats: int = 3
    keep: Keeping = "last"

    def __post_init__(self) -> None:
        if self.success_rating not in {1, 2, 3, 4}:
            raise BadInput(f"the rating that is a success is one of 1, 2, 3, 4, not {self.success_rating!r}")
        if self.max_repeats < 0:
            raise BadInput(f"attempts are repeated 0 times or more, not {self.max_repeats}")
        if self.keep not in {"last", "best"}:
            raise BadInput(f"the last or the best answer is kept, not {self.keep!r}")

    def succeeds(self, rating: int | None) -> bool:
        """Whether an answer with this rating is good enough; one without a rating never is."""
        return rating is not None and rating >= self.success_rating

    def over(self, attempts: Sequence[Refinement]) -> bool:
        """Whether nothing is left to do: the last one passed, or was the last that is allowed."""
        if not attempts or not attempts[-1].complete:
            return False
        return self.passed(attempts) or len(attempts) > self.max_repeats

    def passed(self, attempts: Sequence[Refinement]) -> bool:
        """Whether the last attempt is good enough."""
        rating = attempts[-1].rating if attempts else None
        return self.succeeds(None if rating is None else rating.rating)

    def kept(self, attempts: Sequence[Refinement]) -> Refinement | None:
        """Return the attempt whose answer is given out; None where no attempt gave an answer."""
        answered = [one for one in attempts if one.answer is not None]
        number = self.kept_number([(one.number, one.rating.rating if one.rating else None) for one in answered])
        return next((one for one in answered if one.number == number), None)

    def kept_number(self, rated: Sequence[tuple[int, int | None]]) -> int | None:
        """Return the number of the attempt that is given out, of (number, rating) of those with an answer, in order."""
        if not rated:
            return None
        if self.keep == "last" or self.succeeds(rated[-1][1]):
            return rated[-1][0]
        return max(rated, key=lambda one: (one[1] or 0, one[0]))[0]


Answer = Callable[[Messages, int], Awaitable[Generated]]
Rate = Callable[[str, int], Awaitable[Rated]]
KeepAttempt = Callable[[Refinement], Awaitable[bool]]


async def _go_on(_attempt: Refinement) -> bool:
    return True


async def attempt_until_good(
    answer: Answer,
    rate: Rate,
    messages: Messages,
    rule: RefineRule,
    *,
    done: Sequence[Refinement] = (),
    keep: KeepAttempt = _go_on,
) -> list[Refinement]:
    """Return all attempts, those that were ``done`` before among them.

    Each attempt sends the original messages with the feedback of the attempt before it, and of that one alone.

    Args:
        answer: Gives the answer to messages; told the number of the attempt.
        rate: Rates an answer; told the number of the attempt.
        messages: What the user asked.
        rule: When it ends.
        done: Attempts of an earlier, interrupted call; the last one may lack its rating.
        keep: Told of each attempt when its answer came and when its rating came; False ends the loop.
    """
    attempts = list(done)
    while not rule.over(attempts):
        if attempts and not attempts[-1].complete:
            attempt = attempts.pop()
        else:
            feedback = attempts[-1].feedback if attempts else None
            number = len(attempts) + 1
            attempt = Refinement.answered(number, await answer(with_feedback(messages, feedback), number))
            if not await keep(attempt):
                return [*attempts, attempt]
        if attempt.answer is not None:
            attempt = attempt.rated(await rate(attempt.answer, attempt.number))
            if not await keep(attempt):
                return [*attempts, attempt]
        attempts.append(attempt)
    return attempts


@dataclass(frozen=True, slots=True)
class Refined:
    """The result of self-refine: the kept answer, whether it passed, the judge's last feedback, and every attempt.

    ``answer`` is None only where no attempt gave one.
    """

    answer: str | None
    passed: bool
    rating: int | None
    feedback: str | None
    attempts: tuple[Refinement, ...]

    @property
    def judge_cost_micro(self) -> int | None:
        """Cost of all ratings in millionths; None as soon as one is unknown."""
        return _cost([one.judging for one in self.attempts if one.judging is not None])

    @property
    def cost_micro(self) -> int | None:
        """Cost of all answers and ratings in millionths; None as soon as one is unknown."""
        return _cost([step for one in self.attempts for step in (one.answering, one.judging) if step is not None])


class Refiner:
    """A chat call with self-refine around it: await it, or use ``blocking`` where no event loop runs."""

    def __init__(self, chat: Chat, judge: str | RatingJudge | Chat, rule: RefineRule, options: dict[str, Any]) -> None:
        self._chat = chat
        self._judge = judge
        self._rule = rule
        self._options = options

    async def __call__(
        self, messages: str | Sequence[Mapping[str, Any]], *, passages: Sequence[str] | None = None
    ) -> Refined:
        """Return the answer to ``messages`` (or to one text), refined until it is good enough.

        An answer that is never good enough is returned with ``passed`` False and the feedback, not raised.

        Args:
            messages: What the chat call is given; the last message of the user is what is augmented and rated.
            passages: What the answer should rest on, shown to the judge; None where there is nothing of the kind.

        Raises:
            BadInput: No message is the user's, or the chat call gave no text.
            EndpointRefused: The judge's endpoint refuses the key, the model or the address.
            Exception: Whatever the chat call raises.
        """
        asked = checked_messages(messages)
        judge = self._rating_judge()
        shown = None if passages is None else tuple(passages)

        async def rate(answer: str, _number: int) -> Rated:
            return await judge.rate(JudgeInput(0, request_text(asked), answer, shown))

        try:
            attempts = await attempt_until_good(self._answer, rate, asked, self._rule)
        finally:
            if judge is not self._judge:
                await judge.aclose()
        return _refined(attempts, self._rule)

    def blocking(
        self, messages: str | Sequence[Mapping[str, Any]], *, passages: Sequence[str] | None = None
    ) -> Refined:
        """Return the same, waiting for it.

        Raises:
            BadInput: As above, and where an event loop runs already (in a notebook): await the object itself there;
                or where the judge is one that was made already, whose connections belong to one event loop.
        """
        if isinstance(self._judge, RatingJudge):
            raise BadInput(
                "name the judge's model (model=…) where the call blocks: a judge that is made belongs to a loop"
            )
        return run_blocking(self, messages, passages=passages)

    def _rating_judge(self) -> RatingJudge:
        if isinstance(self._judge, RatingJudge):
            return self._judge
        if isinstance(self._judge, str):
            made = make_judge(self._judge, **self._options)
            if not isinstance(made, RatingJudge):
                raise BadInput(f"self-refine needs a judge that gives feedback: {KIND!r}, not {self._judge!r}")
            return made
        return RatingJudge(ModelEndpoint(CallableChat(self._judge), getattr(self._judge, "__name__", "callable")))

    async def _answer(self, messages: Messages, _number: int) -> Generated:
        given = await call(self._chat, messages)
        if isinstance(given, Generated):
            return given
        if not isinstance(given, str):
            raise BadInput(f"the chat call must return a text, not {type(given).__name__}")
        if not given.strip():
            return Generated(None, StepRecord(Status.UNPARSABLE, raw=given, error="the answer is empty"))
        return Generated(given, StepRecord(Status.OK, raw=storable(given)[0]))


def refine(
    chat: Chat | Callable[..., Any],
    judge: str | RatingJudge | Chat = KIND,
    *,
    success_rating: int = 4,
    max_repeats: int = 3,
    keep: Keeping = "last",
    **options: Any,
) -> Refiner:
    """Put self-refine around a chat call: answer, have a separate model rate it, answer again on its feedback.

    Source: Spring AI, "LLM-as-a-Judge with recursive advisors" (2025). Both calls go through ``messages → text``
    functions, sync or async; tools that the chat call uses run inside it::

        better = judgeboard.refine(my_chat, model="llama-3.1-8b-instruct", base_url="http://localhost:8000/v1")
        result = await better([{"role": "user", "content": "How warm is it in Paris?"}])

    Args:
        chat: The call that is made already: messages in, text out.
        judge: ``rating`` (a chat model, named by ``options``), a `RatingJudge`, or a function ``messages → text`` of
            another model: what it answers is read as strictly as a model's reply.
        success_rating: An answer rated so (1 to 4) or better is returned.
        max_repeats: Further attempts after the first.
        keep: Which answer is returned where none was good enough.
        options: Fields of `JudgeOptions` for a judge by name: model, base_url, api_key, …

    Raises:
        BadInput: A setting is out of its range.
    """
    if options and not isinstance(judge, str):
        raise BadInput(f"{', '.join(sorted(options))}: a judge that is made already takes no options")
    return Refiner(chat, judge, RefineRule(success_rating, max_repeats, keep), options)


def _refined(attempts: Sequence[Refinement], rule: RefineRule) -> Refined:
    kept = rule.kept(attempts)
    rating = None if kept is None else kept.rating
    return Refined(
        answer=None if kept is None else kept.answer,
        passed=rule.passed(attempts),
        rating=None if rating is None else rating.rating,
        feedback=None if rating is None else rating.feedback,
        attempts=tuple(attempts),
    )


def _cost(steps: Sequence[StepRecord]) -> int | None:
    costs = [step.cost_micro for step in steps]
    return None if None in costs else sum(cost for cost in costs if cost is not None)


_ATTEMPT_ID = re.compile(r"(?P<prompt_id>.*)~refine-(?P<run_id>\d+)-(?P<number>\d+)", re.DOTALL)


class AttemptId(NamedTuple):
    """The external id of an attempt's answer; ``number`` counts from 1."""

    prompt_id: str
    run_id: int
    number: int

    def __str__(self) -> str:
        return f"{self.prompt_id}~refine-{self.run_id}-{self.number}"

    @classmethod
    def read(cls, text: str) -> "AttemptId | None":
        """Return the attempt that an external id names, None where it is not the id of an attempt."""
        named = _ATTEMPT_ID.fullmatch(text)
        return None if named is None else cls(named["prompt_id"], int(named["run_id"]), int(named["number"]))


def attempt_replies(replies: Replies, subject: str) -> Sequence[str]:
    """Return what is recorded for the external id of an attempt's answer, else for its prompt: one a line and attempt.

    A file of recordings names the prompt, since nobody knows the number of the run beforehand.
    """
    attempt = AttemptId.read(subject)
    if subject in replies or attempt is None:
        return replies.get(subject, ())
    return replies.get(attempt.prompt_id, ())[attempt.number - 1 : attempt.number]


def with_recorded_ratings(judge: RatingJudge, replies: Path) -> RatingJudge:
    """Return the same judge version, answering from a file of recorded replies (JSONL of response_id and raw).

    Raises:
        BadInput: The file cannot be read.
    """
    version = judge.version
    chat = RecordedChat(read_replies(replies), attempt_replies)
    return RatingJudge(
        ModelEndpoint(chat, version.model or "recorded"), name=version.name, max_output=version.params["max_output"]
    )

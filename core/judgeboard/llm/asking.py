"""Asks a model for a reply of a given form, with one repair."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from judgeboard.domain import Attempt, Status, StepRecord
from judgeboard.llm.chat import ChatModel, ChatRequest, Message, NoReply, Reply, TokenChance
from judgeboard.llm.json_reply import UnusableReply
from judgeboard.llm.prices import Price

T = TypeVar("T")

_REPLIES = frozenset({"ok", "unparsable", "refused", "truncated"})


@dataclass(frozen=True, slots=True)
class Asked(Generic[T]):
    """What became of one question: ``value`` where ``status`` is ok, else ``error`` says why there is none.

    ``raw`` is the model's last text; ``attempts`` are all calls, each with its own; ``tokens`` are those of that text.
    """

    status: Status
    attempts: tuple[Attempt, ...]
    value: T | None = None
    error: str | None = None
    raw: str | None = None
    model: str | None = None
    reply_format: str | None = None
    dropped_parameters: tuple[str, ...] = ()
    tokens: tuple[TokenChance, ...] | None = None

    @property
    def replies(self) -> tuple[Attempt, ...]:
        """The calls that the model answered, usably or not: those that cost something."""
        return tuple(attempt for attempt in self.attempts if attempt.status in _REPLIES)

    @property
    def prompt_tokens(self) -> int | None:
        """Tokens sent in all; None where the endpoint reported none."""
        return _total(attempt.prompt_tokens for attempt in self.attempts)

    @property
    def completion_tokens(self) -> int | None:
        """Tokens received in all; None where the endpoint reported none."""
        return _total(attempt.completion_tokens for attempt in self.attempts)

    @property
    def latency_ms(self) -> int | None:
        """Time spent in calls, without the waits between them; None where nothing was called."""
        return _total(attempt.latency_ms for attempt in self.attempts)

    def cost_micro(self, price: Price | None) -> int | None:
        """Micro-dollars over all calls that the model answered; None as soon as one of them cannot be priced."""
        if price is None:
            return None
        if any(reply.prompt_tokens is None or reply.completion_tokens is None for reply in self.replies):
            return None
        return price.cost_micro(self.prompt_tokens or 0, self.completion_tokens or 0)

    def record(self, price: Price | None) -> StepRecord:
        """Return the account of this question, as it is stored."""
        return StepRecord(
            status=self.status,
            raw=self.raw,
            model_reported=self.model,
            prompt_tokens=self.prompt_tokens,
            completion_tokens=self.completion_tokens,
            cost_micro=self.cost_micro(price),
            latency_ms=self.latency_ms,
            attempts=self.attempts,
            reply_format=self.reply_format,
            dropped_parameters=self.dropped_parameters,
            error=self.error,
        )


def _total(values: Iterable[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


async def ask(
    chat: ChatModel,
    request: ChatRequest,
    parse: Callable[[str], T],
    *,
    repair: Callable[[str], str] | None = None,
) -> Asked[T]:
    """Ask, and where the reply cannot be used ask once more, showing what was wrong.

    A truncated reply is not repaired (it would be cut off again), a refusal neither.

    Args:
        chat: The model.
        request: The question.
        parse: Reads a reply; raises UnusableReply with the reason.
        repair: Makes the text of the repair request from that reason; None asks once only.

    Raises:
        EndpointRefused: No request can succeed.
    """
    first = _heard(await chat.complete(request), request, parse)
    if repair is None or first.status is not Status.UNPARSABLE or first.attempts[-1].status == "truncated":
        return first
    answered: Message = {"role": "assistant", "content": first.raw or ""}
    question: Message = {"role": "user", "content": repair(first.error or "")}
    again = replace(request, messages=[*request.messages, answered, question], repair=True)
    second = _heard(await chat.complete(again), again, parse)
    attempts = first.attempts + second.attempts
    if second.status is Status.ERROR:
        return replace(first, attempts=attempts, error=f"{first.error}; the repair request failed: {second.error}")
    return replace(second, attempts=attempts)


def _heard(reply: Reply | NoReply, request: ChatRequest, parse: Callable[[str], T]) -> Asked[T]:
    if isinstance(reply, NoReply):
        return Asked(
            Status.REFUSED if reply.refused else Status.ERROR,
            reply.attempts,
            error=reply.reason,
            reply_format=reply.reply_format,
            dropped_parameters=reply.dropped_parameters,
        )

    def asked(status: Status, outcome: str, value: T | None = None, error: str | None = None) -> Asked[T]:
        *earlier, last = reply.attempts
        return Asked(
            status,
            (*earlier, replace(last, status=outcome)),
            value=value,
            error=error,
            raw=reply.text or reply.refusal or "",
            model=reply.model,
            reply_format=reply.reply_format,
            dropped_parameters=reply.dropped_parameters,
            tokens=reply.tokens if request.logprobs else None,
        )

    if reply.refusal is not None:
        return asked(Status.REFUSED, "refused", error="the model refused")
    if reply.finish_reason == "content_filter":
        return asked(Status.REFUSED, "refused", error="the endpoint's content filter stopped the reply")
    if reply.finish_reason == "length":
        return asked(Status.UNPARSABLE, "truncated", error=f"cut off at {request.max_output} tokens")
    try:
        return asked(Status.OK, "ok", value=parse(reply.text))
    except UnusableReply as error:
        return asked(Status.UNPARSABLE, "unparsable", error=str(error))

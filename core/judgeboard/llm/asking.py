"""Asks a model for a reply of a given form, with at most one repair request."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any, Generic, NamedTuple, TypeVar

from judgeboard.domain import Status, StepRecord
from judgeboard.llm.chat import ChatRequest, Message, NoReply, Reply, TokenChance
from judgeboard.llm.endpoint import FREE, ModelEndpoint
from judgeboard.text import EXPECTED, shortened


class UnsentRequest(NamedTuple):
    """A request that is not sent, with the model."""

    endpoint: ModelEndpoint
    request: ChatRequest


_UNSENT: ContextVar[list[UnsentRequest] | None] = ContextVar("unsent", default=None)


@contextmanager
def unsent_requests() -> Iterator[list[UnsentRequest]]:
    """Collect the requests of the context without sending; each request seems to fail."""
    requests: list[UnsentRequest] = []
    token = _UNSENT.set(requests)
    try:
        yield requests
    finally:
        _UNSENT.reset(token)


LONGEST_REPAIRED = 100_000
"""Characters of a reply. A repair request sends the reply again, and no useful reply is so long."""


class UnusableReply(ValueError):
    """A reply that cannot be used. The text (at most 300 characters) tells the model why."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason if len(reason) <= 300 else f"{reason[:299]}…")

    def with_form(self, form: str, text: str) -> "UnusableReply":
        """Return the same error with the ``form`` that was expected and the first line of the reply ``text``."""
        first_line = next((line for line in map(str.strip, text.splitlines()) if line), None)
        begins = "" if first_line is None else f"; the reply begins: {shortened(first_line, 80)!r}"
        return UnusableReply(f"{self}{EXPECTED}{shortened(form, 120)}{begins})")


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Reading(Generic[T]):
    """What was read from a reply; ``notes`` tell what had to be mended or replaced."""

    value: T
    notes: tuple[str, ...] = ()


_REPLIES = frozenset({"ok", "unparsable", "refused", "truncated"})


@dataclass(frozen=True, slots=True)
class Replied(Generic[T]):
    """The result of one question to a model; ``value`` is None unless the record's status is ok."""

    value: T | None
    record: StepRecord
    tokens: tuple[TokenChance, ...] | None = None


def _total(values: Iterable[int | None]) -> int | None:
    numbers = [value for value in values if value is not None]
    return sum(numbers) if numbers else None


async def ask(
    endpoint: ModelEndpoint,
    request: ChatRequest,
    parse: Callable[[str], Reading[T]],
    *,
    repair: Callable[[str], str] | None = None,
) -> Replied[T]:
    """Ask a model. If the reply cannot be used, send a repair request that says why.

    A truncated reply and a refusal are not repaired. ``parse`` raises UnusableReply with the
    reason. ``repair`` makes the text of the repair request from this reason. None means no repair,
    and that a truncated reply is of no use. The record has the attempts and totals of both
    requests; a total is None if no call reported the value. The cost is None if an answered call
    cannot be priced.
    """
    unsent = _UNSENT.get()
    if unsent is not None:
        unsent.append(UnsentRequest(endpoint, request))
        return Replied(None, StepRecord(Status.ERROR, cost_micro=0, error="not sent"))
    replied = _heard(await endpoint.chat.complete(request), request, parse, whole=repair is None)
    first = replied.record
    repairable = first.status is Status.UNPARSABLE and first.attempts[-1].status != "truncated"
    if repair is not None and repairable and len(first.raw or "") <= LONGEST_REPAIRED:
        answered: Message = {"role": "assistant", "content": first.raw or ""}
        question: Message = {"role": "user", "content": repair(first.error or "")}
        again = replace(request, messages=[*request.messages, answered, question], repair=True)
        replied = _heard(await endpoint.chat.complete(again), again, parse, whole=False)
        second = replied.record
        if second.status is Status.ERROR:
            error_words = f"{first.error}; the repair request failed: {second.error}"
            replied = Replied(None, replace(first, attempts=second.attempts, error=error_words))
        replied = replace(
            replied, record=replace(replied.record, attempts=first.attempts + second.attempts)
        )
    price = endpoint.price
    replies = [attempt for attempt in replied.record.attempts if attempt.status in _REPLIES]
    prompt_tokens = _total(attempt.prompt_tokens for attempt in replied.record.attempts)
    completion_tokens = _total(attempt.completion_tokens for attempt in replied.record.attempts)
    is_free = (
        price == FREE and endpoint.host is not None
    )  # what a user's function costs is not known
    has_cost = is_free or all(
        None not in (reply.prompt_tokens, reply.completion_tokens) for reply in replies
    )
    return replace(
        replied,
        record=replace(
            replied.record,
            prompt_tokens=prompt_tokens,
            completion_tokens=completion_tokens,
            cost_micro=price.cost_micro(prompt_tokens or 0, completion_tokens or 0)
            if price is not None and has_cost
            else None,
            latency_ms=_total(attempt.latency_ms for attempt in replied.record.attempts),
        ),
    )


def _heard(
    reply: Reply | NoReply, request: ChatRequest, parse: Callable[[str], Reading[T]], *, whole: bool
) -> Replied[T]:
    record = StepRecord(
        Status.ERROR,
        attempts=reply.attempts,
        reply_format=reply.reply_format,
        dropped_parameters=reply.dropped_parameters,
    )
    if isinstance(reply, NoReply):
        status = Status.REFUSED if reply.refused else Status.ERROR
        return Replied(None, replace(record, status=status, error=reply.reason))

    def replied(
        status: Status, outcome: str, reading: Reading[T] | None = None, error: str | None = None
    ) -> Replied[T]:
        *earlier, last = reply.attempts
        notes = [*(reading.notes if reading else ()), *filter(None, [last.detail])]
        attempts = (
            *earlier,
            replace(last, status=outcome, detail="; ".join(dict.fromkeys(notes)) or None),
        )
        raw = reply.text or reply.refusal or ""
        step = replace(
            record,
            status=status,
            attempts=attempts,
            raw=raw,
            model_reported=reply.model,
            error=error,
        )
        return Replied(
            None if reading is None else reading.value,
            step,
            reply.tokens if request.logprobs else None,
        )

    if reply.refusal is not None:
        return replied(Status.REFUSED, "refused", error="the model refused")
    if reply.finish_reason == "content_filter":
        return replied(
            Status.REFUSED, "refused", error="the endpoint's content filter stopped the reply"
        )
    cut = reply.finish_reason == "length"
    try:
        if cut and whole:
            raise UnusableReply("it is not whole")
        # The ellipsis marks the last value, which may be incomplete.
        return replied(Status.OK, "ok", parse(f"{reply.text}…" if cut else reply.text))
    except UnusableReply as error:
        outcome, why = (
            ("truncated", f"cut off at {request.max_output} tokens")
            if cut
            else ("unparsable", str(error))
        )
        return replied(Status.UNPARSABLE, outcome, error=why)


DEFAULT_GENERATOR_OUTPUT = 2048


@dataclass(frozen=True, slots=True)
class Generator:
    """Asks a model for an answer of at most ``max_output`` tokens. Without ``parameters``, model defaults apply."""

    endpoint: ModelEndpoint
    max_output: int = DEFAULT_GENERATOR_OUTPUT
    parameters: Mapping[str, Any] = field(default_factory=dict)

    async def generate(
        self, messages: Sequence[Mapping[str, Any]], *, subject: str = ""
    ) -> Replied[str]:
        """Answer ``messages``. An empty or truncated answer has the status unparsable."""
        request = ChatRequest(
            messages=list(messages),  # type: ignore[arg-type]  # as logged, with roles and contents of any kind
            schema=None,
            schema_name="",
            max_output=self.max_output,
            parameters=self.parameters,
            subject=subject,
        )
        return await ask(self.endpoint, request, _spoken)


def _spoken(text: str) -> Reading[str]:
    if not text.strip():
        raise UnusableReply("the answer is empty")
    return Reading(text)

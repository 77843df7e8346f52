"""What a span says about an answer, whichever convention its attributes follow."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Operation(StrEnum):
    """What a span did."""

    APP = "app"  # the assistant as a whole, or a step of it
    MODEL = "model"  # a call of a language model
    RETRIEVAL = "retrieval"
    RERANKING = "reranking"  # orders passages that were retrieved before, and may leave some out
    TOOL = "tool"
    CHECK = "check"  # a guardrail or an evaluation
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Passage:
    """A retrieved passage. ``text`` is None if the trace has only its id."""

    text: str | None
    id: str | None = None
    score: float | None = None
    source: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


NOTHING: tuple[object, ...] = (None, (), {})
"""The values of a field that a dialect did not find."""


@dataclass(frozen=True, slots=True)
class Part:
    """What a dialect reads from one span.

    ``question`` and ``answer`` are the texts that went in and came out; a question is what a user wrote, or for a model
    call the last message of the user. ``messages`` are all messages of a model call, the answer excluded, as mappings
    with ``role`` and ``content``. ``passages`` is None if the span is not a retrieval or has no content. ``context``
    has them in one text, as a variable of a prompt. ``cost`` is in the currency of the log. ``missing`` says how to
    get content that the instrumentation left out, else it is None.
    """

    dialect: str
    operation: Operation
    question: str | None = None
    answer: str | None = None
    messages: tuple[Mapping[str, Any], ...] = ()
    passages: tuple[Passage, ...] | None = None
    tool_calls: tuple[Mapping[str, Any], ...] = ()
    model: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost: float | None = None
    session: str | None = None
    user: str | None = None
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    missing: str | None = None
    context: str | None = None

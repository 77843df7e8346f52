"""What a judge asks of a chat model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol, TypedDict

from judgeboard.domain import Attempt


@dataclass(frozen=True, slots=True)
class TokenChance:
    """A token of a reply with the likeliest tokens at its place: text and natural log of its probability each."""

    text: str
    alternatives: tuple[tuple[str, float], ...]


class Message(TypedDict):
    """One message of a chat, as OpenAI-compatible endpoints take it."""

    role: str
    content: str


class ReplyFormat(StrEnum):
    """How a reply is asked for, strictest first; an endpoint may know only the later ones."""

    JSON_SCHEMA = "json_schema"
    JSON_OBJECT = "json_object"
    TEXT = "text"


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """One question to a model.

    Attributes:
        messages: The chat so far, the question last.
        schema: JSON schema of the reply; None for free text.
        schema_name: Name under which the schema is sent.
        max_output: Tokens the reply may have.
        parameters: Sampling parameters, like temperature; sent as they are, unless the model rejects them.
        subject: External id of the response that is asked about: what a recording is looked up by.
        repair: Whether this asks again after a reply that could not be used.
        logprobs: Ask for the probabilities of the reply's tokens, where the endpoint has them.
    """

    messages: Sequence[Message]
    schema: Mapping[str, Any] | None
    schema_name: str
    max_output: int
    parameters: Mapping[str, Any] = field(default_factory=dict)
    subject: str = ""
    repair: bool = False
    logprobs: bool = False

    @property
    def why(self) -> str:
        """Why its first call is made, in the words of ``Attempt.why``."""
        return "repair" if self.repair else "first"


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model answered; ``attempts`` are the calls it took, the answering one last.

    ``text`` and ``refusal`` are storable text. ``dropped_parameters`` names what had to be left out or renamed.
    ``tokens`` are there where they were asked for and the endpoint gave them.
    """

    text: str
    attempts: tuple[Attempt, ...]
    refusal: str | None = None
    finish_reason: str | None = None
    model: str | None = None
    reply_format: str | None = None
    dropped_parameters: tuple[str, ...] = ()
    tokens: tuple[TokenChance, ...] | None = None


@dataclass(frozen=True, slots=True)
class NoReply:
    """Why a model did not answer this request; ``refused`` where the endpoint would not take its content."""

    reason: str
    attempts: tuple[Attempt, ...]
    refused: bool = False
    reply_format: str | None = None
    dropped_parameters: tuple[str, ...] = ()


class ChatModel(Protocol):
    """A model that answers one request at a time; safe to call concurrently from one event loop."""

    @property
    def host(self) -> str | None:
        """Host and port that the texts are sent to; None when nothing leaves the process."""
        ...

    async def complete(self, request: ChatRequest) -> Reply | NoReply:
        """Answer ``request``.

        Raises:
            EndpointRefused: No request can succeed until the key, the address or the model's name is mended.
        """
        ...

    async def aclose(self) -> None:
        """Release connections; the model is not asked again."""
        ...

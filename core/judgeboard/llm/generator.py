"""A model that answers: free text, by its own settings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from judgeboard.domain import StepRecord
from judgeboard.llm.asking import ask
from judgeboard.llm.chat import ChatRequest
from judgeboard.llm.endpoint import ModelEndpoint
from judgeboard.llm.json_reply import UnusableReply

DEFAULT_GENERATOR_OUTPUT = 2048


@dataclass(frozen=True, slots=True)
class Generated:
    """What one call to a generator gave: ``text`` where the record's status is ok, else None."""

    text: str | None
    record: StepRecord


@dataclass(frozen=True, slots=True)
class Generator:
    """Asks a model for an answer.

    Attributes:
        endpoint: The model.
        max_output: Tokens an answer may have.
        parameters: Sampling parameters; none by default, so that the endpoint's own settings hold.
    """

    endpoint: ModelEndpoint
    max_output: int = DEFAULT_GENERATOR_OUTPUT
    parameters: Mapping[str, Any] = field(default_factory=dict)

    async def generate(self, messages: Sequence[Mapping[str, Any]], *, subject: str = "") -> Generated:
        """Answer ``messages``; an empty answer is unparsable, one cut off likewise.

        Raises:
            EndpointRefused: No request can succeed until the key, the address or the model's name is mended.
        """
        request = ChatRequest(
            messages=list(messages),  # type: ignore[arg-type]  # as the log kept them: roles and contents of any kind
            schema=None,
            schema_name="",
            max_output=self.max_output,
            parameters=self.parameters,
            subject=subject,
        )
        asked = await ask(self.endpoint.chat, request, _spoken)
        return Generated(asked.value, asked.record(self.endpoint.price))


def _spoken(text: str) -> str:
    if not text.strip():
        raise UnusableReply("the answer is empty")
    return text

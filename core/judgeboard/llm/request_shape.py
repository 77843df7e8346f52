"""How requests are put to one endpoint: reply format, parameters left out, names changed."""

from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from judgeboard.llm.chat import ChatRequest, ReplyFormat
from judgeboard.llm.token_chances import MOST_ALTERNATIVES

_FORMATS = tuple(ReplyFormat)


class Rejected(Enum):
    """Which part of a request an endpoint does not take, whatever the row."""

    REPLY_FORMAT = "reply_format"
    TEMPERATURE = "temperature"
    MAX_TOKENS = "max_tokens"
    LOGPROBS = "logprobs"


@dataclass(frozen=True, slots=True)
class RequestShape:
    """One way to put a request; what an endpoint rejects leads to the next way, never back."""

    reply_format: ReplyFormat = ReplyFormat.JSON_SCHEMA
    dropped: frozenset[str] = frozenset()
    max_output_name: str = "max_tokens"

    def after(self, rejected: Rejected) -> "RequestShape | None":
        """Return the next way to try, or None where this one has nothing left to give up."""
        match rejected:
            case Rejected.REPLY_FORMAT if self.reply_format is not _FORMATS[-1]:
                return replace(self, reply_format=_FORMATS[_FORMATS.index(self.reply_format) + 1])
            case Rejected.TEMPERATURE if "temperature" not in self.dropped:
                return replace(self, dropped=self.dropped | {"temperature"})
            case Rejected.LOGPROBS if "logprobs" not in self.dropped:
                return replace(self, dropped=self.dropped | {"logprobs"})
            case Rejected.MAX_TOKENS if self.max_output_name == "max_tokens":
                return replace(self, max_output_name="max_completion_tokens")
        return None

    def joined(self, other: "RequestShape") -> "RequestShape":
        """Return the shape that gives up what either of the two gave up."""
        return RequestShape(
            reply_format=max(self.reply_format, other.reply_format, key=_FORMATS.index),
            dropped=self.dropped | other.dropped,
            max_output_name=other.max_output_name if self.max_output_name == "max_tokens" else self.max_output_name,
        )

    @property
    def given_up(self) -> tuple[str, ...]:
        """What was left out or renamed, in words for the judgment's record."""
        renamed = () if self.max_output_name == "max_tokens" else (f"max_tokens -> {self.max_output_name}",)
        return (*sorted(self.dropped), *renamed)

    def body(self, model: str, request: ChatRequest) -> dict[str, Any]:
        """Return the JSON body of ``request`` put in this way."""
        body: dict[str, Any] = {
            "model": model,
            "messages": list(request.messages),
            self.max_output_name: request.max_output,
            **{name: value for name, value in request.parameters.items() if name not in self.dropped},
        }
        if request.logprobs and "logprobs" not in self.dropped:
            body |= {"logprobs": True, "top_logprobs": MOST_ALTERNATIVES}
        if request.schema is None:
            return body
        if self.reply_format is ReplyFormat.JSON_SCHEMA:
            schema = {"name": request.schema_name, "strict": True, "schema": request.schema}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        elif self.reply_format is ReplyFormat.JSON_OBJECT:
            body["response_format"] = {"type": "json_object"}
        return body

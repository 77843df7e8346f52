"""Reads what an endpoint says when it does not answer."""

import json
import re
from dataclasses import dataclass
from typing import Any

from judgeboard.llm.request_shape import Rejected

_TOO_LONG = re.compile(
    r"context[ _](?:length|window|size)|maximum context|too (?:long|many tokens)|exceeds? the (?:model|maximum|context)"
    r"|reduce the length|prompt is too large"
)
_NOT_TAKEN = re.compile(
    r"not (?:be )?(?:support|allow|permit|accept|implement|available|recogni[sz]ed|compatible)|n't support"
    r"|unsupported|unknown|unrecogni[sz]ed|unexpected|invalid|extra (?:field|input)|only the default"
    r"|must be|cannot|failed to|no longer"
)
_FORMAT_WORDS = ("response_format", "json_schema", "json_object", "structured output", "response format", "grammar")
_CONTENT_CODES = frozenset({"content_filter", "content_policy_violation", "responsibleaipolicyviolation"})


@dataclass(frozen=True, slots=True)
class EndpointError:
    """An error body, read as far as its dialect allows: every field may be empty, all but ``message`` lower case."""

    message: str
    param: str
    code: str

    @property
    def content_refused(self) -> bool:
        """Whether the endpoint would not take the content of the request."""
        return self.code in _CONTENT_CODES

    @property
    def out_of_quota(self) -> bool:
        """Whether the account is used up: a 429 that no waiting mends."""
        return self.code in {"insufficient_quota", "billing_hard_limit_reached"}

    @property
    def unknown_model(self) -> bool:
        """Whether the model's name is what is wrong."""
        return self.code == "model_not_found"

    @property
    def rejected(self) -> Rejected | None:
        """Which part of every request is not taken; None where the trouble is (or may be) this row's alone.

        A ``param`` decides where there is one. Else a message counts only when it both names the part and says that
        it is not taken, since messages may quote the row.
        """
        text = self.message.lower()
        if self.param:
            return self._by_param(text)
        if self.code == "context_length_exceeded" or _TOO_LONG.search(text) or not _NOT_TAKEN.search(text):
            return None
        if "max_completion_tokens" in text:
            return Rejected.MAX_TOKENS
        if any(word in text for word in _FORMAT_WORDS):
            return Rejected.REPLY_FORMAT
        if "logprobs" in text:
            return Rejected.LOGPROBS
        return Rejected.TEMPERATURE if "temperature" in text else None

    def _by_param(self, text: str) -> Rejected | None:
        if self.param.startswith(("response_format", "text.format")):
            return Rejected.REPLY_FORMAT
        if self.param == "temperature":
            return Rejected.TEMPERATURE
        if self.param in {"logprobs", "top_logprobs"}:
            return Rejected.LOGPROBS
        renamed = "max_completion_tokens" in text or self.code == "unsupported_parameter"
        return Rejected.MAX_TOKENS if self.param == "max_tokens" and renamed else None


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def read_error(body: str) -> EndpointError:
    """Read the error body of an OpenAI-compatible endpoint; a body of another shape is all message."""
    try:
        content: Any = json.loads(body)
    except (ValueError, RecursionError):
        return EndpointError(message=body.strip(), param="", code="")
    if isinstance(content, dict) and "error" in content:
        content = content["error"]
    if not isinstance(content, dict):
        return EndpointError(message=_text(content), param="", code="")
    message = content.get("message") or content.get("detail") or body.strip()
    code = _text(content.get("code")) or _text(content.get("type"))
    return EndpointError(message=_text(message), param=_text(content.get("param")).lower(), code=code.lower())

"""Requests that SDKs of foreign tools post beside OTLP: the paths, the bodies, and the functions that read bodies."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

from pydantic import BaseModel

from judgeboard.errors import BadInput
from judgeboard.registry.tools import tools
from judgeboard.traces.spans import LogRecord, Span


class RequestBody(BaseModel):
    """A JSON object that the receiver takes. The documentation shows the docstring, the fields and the example."""

    example: ClassVar[Mapping[str, Any]]


Read = Callable[[bytes, str], tuple[Sequence[Span | LogRecord], Any]]
"""Reads a body of a content type: spans and log records, and the reply in JSON. Raises BadInput."""


@dataclass(frozen=True, slots=True)
class SdkRequest:
    """A request that an SDK posts to a path.

    Args:
        path: The path, which begins with a slash.
        summary: What the request does, with the name of the tool.
        content: What is in the body, in a few words.
        body: The JSON object of the body.
        read: Reads the body. A reply with ``errors`` has the status 207.
        listed: Whether the body may also be a list of such objects.
        only_json: Whether another content type has the status 415.
    """

    path: str
    summary: str
    content: str
    body: type[RequestBody]
    read: Read
    listed: bool = False
    only_json: bool = False


@cache
def sdk_requests() -> tuple[SdkRequest, ...]:
    """Return the requests of all tools."""
    return tuple(request for tool in tools() for request in tool.receives)


def json_in_body(body: bytes) -> Any:
    """Return the value of a JSON text, also with texts and numbers that cannot be stored. Raises BadInput."""
    try:
        return json.loads(body.decode("utf-8-sig", errors="surrogateescape"))
    except (ValueError, RecursionError):
        raise BadInput("the body is not JSON") from None

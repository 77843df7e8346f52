"""The routes as data, and the description in the format of OpenAPI."""

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from importlib.metadata import version
from types import MappingProxyType
from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import Response as Reply

from judgeboard.receiving.keys import INGEST
from judgeboard.receiving.limits import Refused
from judgeboard.receiving.receiver import Delivery
from judgeboard.traces import otlp
from judgeboard.traces.elements import Elements, JsonElements
from judgeboard.traces.sdk_requests import RequestBody

IN_PATH = re.compile(r"\{(\w+)\}")

STATUSES = {
    200: "Stored, or the content.",
    207: "Some events of a batch are stored; the reply says which.",
    400: "The body or a parameter cannot be used, or nothing of the request could be stored.",
    401: "No key, or a wrong, expired or revoked key.",
    403: "The key is for another source or lacks the scope, or the reviewer lacks the permission.",
    404: "There is no such answer or flag.",
    409: "The review is refused: the flag is decided, the lease ended, or the answer must be reviewed blind.",
    408: "The body stopped in the middle: send it again.",
    413: "The body is too large, also after decompression, or has too many records or values.",
    415: "The body is compressed in a way that is not known, or is not JSON where only JSON is taken.",
    429: "Too many requests: try again after the time in Retry-After.",
    503: "Too much at once, or the database is locked, full or not reachable: try again after the time in Retry-After.",
}

Handle = Callable[[Delivery, Request], Awaitable[Reply]]


class Endpoint(NamedTuple):
    """A path with its method's summary, for the documentation; a key needs the ``scope``.

    ``body`` describes the JSON of the body; if ``listed``, a list of such objects is allowed too.
    ``parameters`` are the parameters of the query, with descriptions. ``elements`` returns a
    counter of the elements of a body, by content type.
    """

    path: str
    summary: str
    request: str
    handle: Handle
    method: str = "POST"
    scope: str = INGEST
    parameters: Mapping[str, str] = MappingProxyType({})
    body: type[RequestBody] | None = None
    listed: bool = False
    takes_protobuf: bool = False
    only_json: bool = False
    elements: Callable[[str], Elements] = lambda _content_type: JsonElements()

    def check_type(self, content_type: str) -> None:
        """Raise Refused or BadInput for a body of another type."""
        if self.only_json and (media_type := otlp.bare_type(content_type)) not in {otlp.JSON, ""}:
            raise Refused(415, f"the content type is {media_type}: send {otlp.JSON}")
        otlp.media_type(content_type)

    def described(self) -> dict[str, Any]:
        """Return the operation in the format of OpenAPI."""
        parameters = [
            (name, "path", "Its own id, or the id of its trace.")
            for name in IN_PATH.findall(self.path)
        ]
        parameters += [(name, "query", words) for name, words in self.parameters.items()]
        operation: dict[str, Any] = {
            "summary": self.summary,
            "description": f"{self.request}. A key needs the scope {self.scope}.",
            "parameters": [
                {"name": name, "in": place, "description": words, "required": place == "path"}
                | {"schema": {"type": "string"}}
                for name, place, words in parameters
            ],
            "responses": {
                str(status): {"description": words} for status, words in STATUSES.items()
            },
        }
        if self.body is not None:
            schema = self.body.model_json_schema()
            if self.listed:
                schema = {"oneOf": [schema, {"type": "array", "items": schema}]}
            content: dict[str, Any] = {otlp.JSON: {"schema": schema, "example": self.body.example}}
            if self.takes_protobuf:
                content[otlp.PROTOBUF] = {"schema": {"type": "string", "format": "binary"}}
            operation["requestBody"] = {"required": True, "content": content}
        return operation


def openapi(endpoints: Iterable[Endpoint]) -> dict[str, Any]:
    """Return the description of the routes in the format of OpenAPI."""
    paths: dict[str, dict[str, Any]] = {}
    for each in endpoints:
        paths.setdefault(each.path, {})[each.method.lower()] = each.described()
    about = {"title": "Judgeboard receiver", "version": version("judgeboard")}
    return {"openapi": "3.1.0", "info": about, "paths": paths}

"""Targets, and functions of all targets: access, the ids of traces, and the facts beside a score.

`Http`, which makes the requests, has a separate module: httpx takes longer to load than all tools
together.
"""

import re
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from judgeboard.domain import NOTES
from judgeboard.errors import BadInput
from judgeboard.imports.exports.traced import OWN, SENT_BY
from judgeboard.llm.provider import is_address
from judgeboard.settings.masking import masked, register_environment
from judgeboard.store.tools import PushItem

if TYPE_CHECKING:
    import httpx

_SPACE = uuid.UUID("6f0d1b1e-4a3b-4f0e-9d3c-6a7564676562")


class Refused(Exception):
    """The tool will not take these items in this form, now or later; the text says why."""

    def __init__(self, reason: str, status: int | None = None) -> None:
        super().__init__(reason)
        self.status = status


@dataclass(frozen=True, slots=True)
class Access:
    """Address, headers and authentication of a tool: a user with a password, or another one of httpx."""

    address: str
    headers: Mapping[str, str] = field(default_factory=dict)
    auth: "tuple[str, str] | httpx.Auth | None" = None


class Connection(Protocol):
    """A connection to a tool, such as `Http`."""

    address: str

    def send(self, method: str, path: str, body: Any = None, *, repeat: bool = True) -> Any:
        """Return the JSON of the reply to a request; raise Refused or NotSent."""

    def read_once(self, path: str) -> Any:
        """Return the JSON at a path, which is requested only once."""


@dataclass(frozen=True, slots=True)
class Target:
    """A tool that gets scores back.

    Args:
        name: The name on the command line.
        address: Names of the environment variables with the address; the first that is set counts.
        access: From address and environment to the access; raises BadInput if a key is missing.
        send: Sends up to ``batch_size`` items; raises `Refused` if the tool does not take one of
            the items. Sending an item again must overwrite the item.
        default_address: The address without a variable, None if there is none.
    """

    name: str
    address: tuple[str, ...]
    access: Callable[[str, Mapping[str, str]], Access]
    send: Callable[[Connection, Sequence[PushItem]], None]
    batch_size: int = 1
    default_address: str | None = None

    def find_address(self, address: str | None, environment: Mapping[str, str]) -> str:
        """Return the address of the tool: ``address``, or else the address in the environment.

        The secrets of the environment are registered: no message of a tool may repeat a secret.
        """
        register_environment(environment)
        values = (address, *(environment.get(name) for name in self.address), self.default_address)
        url = next((value for value in values if value), None)
        if url is None:
            raise BadInput(f"no address of {self.name}: set {self.address[0]}, or give --url URL")
        if not is_address(url) or "@" in url:
            raise BadInput(
                f"the address of {self.name} must be http:// or https://, not {masked(url)!r}"
            )
        return url.rstrip("/")


_TRACE_ID = re.compile(r"(?:tr-)?([0-9a-f]{32})\Z")
_SPAN_ID = re.compile(r"[0-9a-f]{16}\Z")


def trace_id_of(item: PushItem) -> str | None:
    """Return the 32 hex digits of the trace of an answer: from the metadata, else from the external id."""
    for value in (item.metadata.get("trace_id"), item.external_id):
        match = (
            _TRACE_ID.match(str(value).lower().replace("-", "").replace("tr", "tr-", 1))
            if value
            else None
        )
        if match:
            return match[1]
    return None


def span_id_of(item: PushItem) -> str | None:
    """Return the 16 hex digits of the root span of an answer, None if unknown."""
    for value in (item.metadata.get("span_id"), item.external_id):
        if value and _SPAN_ID.match(str(value).lower()):
            return str(value).lower()
    return None


def needed_trace_id(item: PushItem) -> str:
    """Return the trace id, or raise `Refused`."""
    trace_id = trace_id_of(item)
    if trace_id is None:
        raise Refused("the answer has no trace id: neither its id nor metadata.trace_id is one")
    return trace_id


def stable_id(item: PushItem, score: str, *more: str) -> uuid.UUID:
    """Return the same id for a score of an author on an answer in every push."""
    return uuid.uuid5(
        _SPACE, "\0".join((item.source, item.external_id, item.identifier, score, *more))
    )


def facts(item: PushItem) -> dict[str, str]:
    """Return the values that a tool stores beside a score: texts only, because MLflow drops everything else.

    Notes are included, except the note that explains the score. A corrected answer is no fact of a
    score: tools with a place for corrected answers get the corrected answer there.
    """
    notes = {name: item.texts[name] for name in NOTES if name != "note" and name in item.texts}
    of_item = {
        "source": item.source,
        "author": item.author,
        "at": item.at.isoformat(),
        SENT_BY: OWN,
    }
    return {**notes, **of_item, **item.more}

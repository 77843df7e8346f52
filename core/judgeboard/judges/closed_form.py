"""Closed JSON objects: what a reply must hold, all of it and nothing else."""

from collections.abc import Mapping, Sequence
from typing import Any

from judgeboard.llm.json_reply import UnusableReply


def closed(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON schema of an object with exactly these fields, in this order."""
    return {"type": "object", "properties": dict(fields), "required": list(fields), "additionalProperties": False}


def require_exactly(content: Mapping[str, Any], fields: Sequence[str], where: str = "") -> None:
    """Refuse an object that lacks a field or has another one; ``where`` names its part of the reply, as "claim 2: ".

    Raises:
        UnusableReply: With the reason, like "the field 'quality' is missing".
    """
    missing = [name for name in fields if name not in content]
    if missing:
        raise UnusableReply(f"{where}the field {missing[0]!r} is missing")
    refuse_others(content, fields, where)


def refuse_others(content: Mapping[str, Any], fields: Sequence[str], where: str = "") -> None:
    """Refuse an object that has a field beside these.

    Raises:
        UnusableReply: With its name.
    """
    extra = [name for name in content if name not in fields]
    if extra:
        raise UnusableReply(f"{where}the field {extra[0]!r} was not asked for")

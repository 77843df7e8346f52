"""The form of a verdict: the schema that a model is asked for, the validation of what it sends."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from judgeboard.domain import Claim, ClaimStatus, checked_groundedness, checked_quality
from judgeboard.judges.closed_form import closed, require_exactly
from judgeboard.llm.json_reply import UnusableReply, read_json_object

_NULLABLE_TEXT = {"type": ["string", "null"]}
_CLAIM_FIELDS: dict[str, Any] = {
    "text": {"type": "string"},
    "status": {"type": "string", "enum": [status.value for status in ClaimStatus]},
    "answer_quote": _NULLABLE_TEXT,
    "passage": {"type": ["integer", "null"]},
    "passage_quote": _NULLABLE_TEXT,
}


@dataclass(frozen=True, slots=True)
class ParsedVerdict:
    """A verdict that passed validation; ``groundedness`` is None exactly where it was not asked for.

    ``replaced`` tells that its texts held characters that cannot be stored, which became U+FFFD.
    """

    groundedness: float | None
    quality: int
    reasoning: str
    claims: tuple[Claim, ...] | None
    replaced: bool = False


@dataclass(frozen=True, slots=True)
class VerdictForm:
    """Which fields a verdict has: ``groundedness`` where passages are known, ``claims`` on request."""

    groundedness: bool = True
    claims: bool = False

    @property
    def fields(self) -> tuple[str, ...]:
        """The names, in the order in which a model should write them: reasons before scores."""
        claims = ("claims",) if self.claims else ()
        return (*claims, "reasoning", *(("groundedness",) if self.groundedness else ()), "quality")

    @property
    def schema(self) -> Mapping[str, Any]:
        """The strict JSON schema. No ranges: some servers refuse them and none keeps to them."""
        return _schema(self)

    @property
    def example(self) -> str:
        """A verdict of this form as JSON, for models that are asked in words alone."""
        claim = {
            "text": "the wall is 30 m high",
            "status": ClaimStatus.SUPPORTED,
            "answer_quote": "30 m",
            "passage": 1,
            "passage_quote": "a wall of 30 m",
        }
        values = {"claims": [claim], "reasoning": "…", "groundedness": 0.65, "quality": 3}
        return json.dumps({name: values[name] for name in self.fields}, ensure_ascii=False)

    def parse(self, text: str) -> ParsedVerdict:
        """Read and validate a reply; one bad field makes the whole of it unusable.

        Strictly: true is not 1, 85 is not 0.85, 3.0 is not a quality; the integers 0 and 1 are groundedness; fields
        that were not asked for are errors (a groundedness of null is not).

        Raises:
            UnusableReply: With the reason, like "groundedness 85 is above 1".
        """
        reply = read_json_object(text)
        content = reply.content
        if not self.groundedness and "groundedness" in content and content["groundedness"] is None:
            del content["groundedness"]
        require_exactly(content, self.fields)
        try:
            groundedness = checked_groundedness(content.get("groundedness"))
            quality = checked_quality(content["quality"])
        except ValueError as error:
            raise UnusableReply(str(error)) from None
        if groundedness is None and self.groundedness:
            raise UnusableReply("groundedness is null")
        if quality is None:
            raise UnusableReply("quality is null")
        return ParsedVerdict(
            groundedness=groundedness,
            quality=quality,
            reasoning=_text(content, "reasoning"),
            claims=_claims(content["claims"]) if self.claims else None,
            replaced=reply.replaced,
        )


@cache
def _schema(form: VerdictForm) -> dict[str, Any]:
    properties: dict[str, Any] = {
        "claims": {"type": "array", "items": closed(_CLAIM_FIELDS)},
        "reasoning": {"type": "string"},
        "groundedness": {"type": "number", "description": "from 0.0 to 1.0"},
        "quality": {"type": "integer", "enum": [1, 2, 3, 4]},
    }
    return closed({name: properties[name] for name in form.fields})


def _text(content: dict[str, Any], name: str, where: str = "") -> str:
    value = content[name]
    if not isinstance(value, str):
        raise UnusableReply(f"{where}{name} must be a text, not {value!r}")
    return value


def _text_or_none(content: dict[str, Any], name: str, where: str) -> str | None:
    return None if content[name] is None else _text(content, name, where)


def _claims(given: Any) -> tuple[Claim, ...]:
    if not isinstance(given, list):
        raise UnusableReply(f"claims must be a list, not {given!r}")
    return tuple(_claim(entry, f"claim {number}: ") for number, entry in enumerate(given, start=1))


def _claim(given: Any, where: str) -> Claim:
    if not isinstance(given, dict):
        raise UnusableReply(f"{where}must be an object, not {given!r}")
    require_exactly(given, tuple(_CLAIM_FIELDS), where)
    status, passage = _text(given, "status", where), given["passage"]
    if status not in set(ClaimStatus):
        raise UnusableReply(f"{where}status must be one of {', '.join(ClaimStatus)}, not {status!r}")
    if passage is not None and (isinstance(passage, bool) or not isinstance(passage, int) or abs(passage) > 10**6):
        raise UnusableReply(f"{where}passage must be the number of a passage, not {passage!r}")
    return Claim(
        text=_text(given, "text", where),
        status=ClaimStatus(status),
        answer_quote=_text_or_none(given, "answer_quote", where),
        passage=passage,
        passage_quote=_text_or_none(given, "passage_quote", where),
    )

"""Rules of a source that say where a field of an answer is, for spans that no dialect reads correctly."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from judgeboard.errors import BadInput
from judgeboard.traces.attributes import as_text, parsed
from judgeboard.traces.content import question_of, text_of
from judgeboard.traces.documents import passages_in
from judgeboard.traces.spans import Operation, Part, Span

FIELDS = ("question", "answer", "passages", "model", "session", "user", "query_type")
METADATA = "metadata."
SCORE = "score."
"""Begins a rule of another form: the scale of received scores with a name, ``score.NAME=1-5``."""
_SCALE = re.compile(r"(-?\d+(?:\.\d+)?)(?:-|\.\.)(-?\d+(?:\.\d+)?)")
_FORM = "[SPAN NAME:]FIELD=PATH, for example rag:question=attributes.app.question"


@dataclass(frozen=True, slots=True)
class Rule:
    """``field`` is at ``path`` of spans named ``span`` (None: of every span that has the path).

    A path is dotted and begins at the span: ``attributes.NAME``, ``resource.NAME`` or ``name``. The
    path may lead into JSON. If the field begins with `SCORE`, ``path`` is a scale, such as ``1-5``.
    """

    field: str
    path: str
    span: str | None = None


def rules_of(texts: Sequence[str]) -> tuple[Rule, ...]:
    """Return the rules written as ``[SPAN NAME:]FIELD=PATH``. Raises BadInput for any other text."""
    return tuple(map(_rule, texts))


def _rule(text: str) -> Rule:
    name_part, equals, path = text.partition("=")
    span, _, field = name_part.strip().rpartition(":")
    if not equals or not path.strip():
        raise BadInput(f"{text!r} is no rule: write {_FORM}")
    if name_part.strip().startswith(SCORE):
        field, ends = name_part.strip(), path.strip()
        scale = _SCALE.fullmatch(ends)
        if field == SCORE:
            raise BadInput(f"'{SCORE}' names no score: write {SCORE}NAME={ends}")
        if scale is None or float(scale[1]) >= float(scale[2]):
            raise BadInput(f"{ends!r} is not a scale: write {field}=1-5 or {field}=-2..2")
        return Rule(field, ends)
    if field not in FIELDS and not (field.startswith(METADATA) and len(field) > len(METADATA)):
        raise BadInput(
            f"unknown field {field!r}: use {', '.join(FIELDS)}, {METADATA}NAME or {SCORE}NAME"
        )
    start = path.strip().partition(".")[0]
    if start not in {"attributes", "resource", "name"}:
        raise BadInput(f"the path {path.strip()!r} must begin with attributes., resource. or name")
    return Rule(field, path.strip(), span.strip() or None)


def scales_of(rules: Sequence[Rule]) -> dict[str, str]:
    """Return the scales of received scores by the name of the score."""
    return {
        rule.field.removeprefix(SCORE): rule.path for rule in rules if rule.field.startswith(SCORE)
    }


def mapped(span: Span, part: Part | None, rules: Sequence[Rule]) -> Part | None:
    """Return the part of a span with the fields that the rules set."""
    for rule in rules:
        if (rule.span is None or rule.span == span.name) and not rule.field.startswith(SCORE):
            place = {"attributes": span.attributes, "resource": span.resource, "name": span.name}
            value = _at(place, rule.path)
            if value is not None:
                part = _with(part or Part("map", Operation.OTHER), rule, value)
    return part


def _with(part: Part, rule: Rule, value: Any) -> Part:
    if rule.field == "passages":
        passages = passages_in(value if not isinstance(parsed(value), str) else [value])
        if passages is None:
            return part
        retrieval = part.operation is Operation.OTHER and not part.answer
        return replace(
            part, passages=passages, operation=Operation.RETRIEVAL if retrieval else part.operation
        )
    if rule.field in {"question", "answer"}:
        text = question_of(value) if rule.field == "question" else text_of(value)
        operation = part.operation if part.operation is Operation.MODEL else Operation.APP
        fields: dict[str, Any] = {rule.field: text, "operation": operation, "messages": ()}
        return replace(part, **fields) if text else part
    if rule.field == "query_type" or rule.field.startswith(METADATA):
        return replace(
            part, metadata={**part.metadata, rule.field.removeprefix(METADATA): parsed(value)}
        )
    fields = {rule.field: as_text(value) or getattr(part, rule.field)}
    return replace(part, **fields)


def _at(value: Any, path: str) -> Any:
    """Return the value at a dotted path of names and positions (``a.b.0``), through JSON texts; None if absent.

    A name may itself contain dots, like names of attributes: the longest name that fits is used.
    """
    if not path:
        return value
    value = parsed(value)
    if isinstance(value, list):
        name, _, rest_of_path = path.partition(".")
        return (
            _at(value[int(name)], rest_of_path)
            if name.isascii() and name.isdecimal() and int(name) < len(value)
            else None
        )
    if not isinstance(value, Mapping):
        return None
    names = path.split(".")
    splits = (
        (".".join(names[:length]), ".".join(names[length:])) for length in range(len(names), 0, -1)
    )
    inside = (_at(value[name], rest_of_path) for name, rest_of_path in splits if name in value)
    return next((each for each in inside if each is not None), None)

"""The forms of judges' replies: JSON objects, marks, option letters, and expected scores."""

import math
import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from string import ascii_uppercase
from typing import Annotated, Any

from pydantic import (
    ConfigDict,
    PlainValidator,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
    WithJsonSchema,
    with_config,
)
from pydantic_core import ErrorDetails
from typing_extensions import TypedDict  # pydantic needs this one before Python 3.12

from judgeboard.domain import EXPECTED, DimensionScore, checked_groundedness, checked_quality
from judgeboard.llm.asking import JsonReply, UnusableReply, read_json_object
from judgeboard.llm.chat import TokenChance

_CLOSED = ConfigDict(extra="forbid")


def _checked(check: Callable[[str, Any], Any], schema: Mapping[str, Any]) -> Any:
    def validate(value: Any, info: ValidationInfo) -> Any:
        return check(str(info.field_name), value)

    return Annotated[Any, PlainValidator(validate), WithJsonSchema(dict(schema))]


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{name} must be a text, not {value!r}")
    return value


_INTEGER = re.compile(r"-?[0-9]{1,9}")
_DECIMAL = re.compile(r"-?[0-9]{1,9}\.[0-9]{1,20}")


def _as_number(value: Any) -> Any:
    """Return the number that a text consists of; any other value unchanged. Models put numbers in quotation marks."""
    if isinstance(value, str) and _INTEGER.fullmatch(value.strip()):
        return int(value)
    if isinstance(value, str) and _DECIMAL.fullmatch(value.strip()):
        return float(value)
    return value


def _number(check: Callable[[Any], float | None]) -> Callable[[str, Any], float]:
    def checked(name: str, value: Any) -> float:
        try:
            number = check(_as_number(value))
        except ValueError as error:
            raise ValueError(str(error).replace("quality", name, 1)) from None
        if number is None:
            raise ValueError(f"{name} is null")
        return number

    return checked


def _passage_number(name: str, value: Any) -> int | None:
    value = _as_number(value)
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or abs(value) > 10**6):
        raise ValueError(f"{name} must be the number of a passage, not {value!r}")
    return value if value is None else int(value)


def text_field(choices: Sequence[str] = ()) -> Any:
    """Return the type of a text. Its JSON schema names the ``choices``, but any text is accepted."""
    return _checked(_text, {"type": "string", **({"enum": list(choices)} if choices else {})})


def choice_field(choices: Sequence[str]) -> Any:
    """Return the type of a text that must be one of ``choices``."""

    def check(name: str, value: Any) -> str:
        if not isinstance(value, str) or value not in choices:
            raise ValueError(f"{name} must be one of {', '.join(choices)}, not {value!r}")
        return choices[choices.index(value)]  # the enumeration's member, if they are members of one

    return _checked(check, {"type": "string", "enum": list(choices)})


def integer_field(levels: Sequence[int]) -> Any:
    """Return the type of an integer on a scale without gaps."""

    def check(name: str, value: Any) -> int:
        number = _as_number(value)
        if isinstance(number, bool) or not isinstance(number, int) or number not in levels:
            raise ValueError(f"{name} must be an integer from {levels[0]} to {levels[-1]}, not {value!r}")
        return number

    return _checked(check, {"type": "integer", "enum": list(levels)})


TEXT = text_field()
TEXT_OR_NULL = _checked(lambda name, value: None if value is None else _text(name, value), {"type": ["string", "null"]})
GROUNDEDNESS = _checked(_number(checked_groundedness), {"type": "number", "description": "from 0.0 to 1.0"})
PASSAGE_NUMBER = _checked(_passage_number, {"type": ["integer", "null"]})
RATING = _checked(_number(checked_quality), {"type": "integer", "enum": [1, 2, 3, 4]})
"""An integer from 1 to 4, like quality."""


def entry(fields: Mapping[str, Any], *, optional: bool = False) -> Any:
    """Return the type of an object with these fields and no others. If ``optional``, fields may be missing."""
    return with_config(_CLOSED)(TypedDict("Entry", dict(fields), total=not optional))  # type: ignore[operator]


def list_of(fields: Mapping[str, Any]) -> Any:
    """Return the type of a list of objects with exactly these fields."""
    kind = entry(fields)
    return list[kind]  # type: ignore[valid-type]  # made from values


class Form:
    """The form of a reply in JSON: an object with these fields and no others.

    A number may be written as a text ("2"). No other value is converted. ``fields`` has types by name, in the order in
    which a model should write them. If ``optional``, they may be missing.
    """

    def __init__(self, fields: Mapping[str, Any], *, optional: bool = False) -> None:
        self.fields = tuple(fields)
        self._types = fields
        self._adapter: TypeAdapter[dict[str, Any]] = TypeAdapter(entry(fields, optional=optional))

    @cached_property
    def schema(self) -> dict[str, Any]:
        """The strict JSON schema."""
        schema = self._adapter.json_schema()
        plain: dict[str, Any] = _plain(schema, schema.get("$defs", {}))
        return plain

    @cached_property
    def words(self) -> str:
        """The form in one line, for messages: ``{"reasoning": "…", "quality": 1-4}``."""
        return _form_words(self.schema)

    def parse(self, text: str) -> JsonReply:
        """Return the object in a reply. Raises UnusableReply with a reason like "the field 'quality' is missing"."""
        try:
            reply = read_json_object(text)
            return JsonReply(self.read(reply.content), reply.replaced)
        except UnusableReply as error:
            raise error.with_form(self.words, text) from None

    def read(self, content: Mapping[str, Any]) -> dict[str, Any]:
        """Validate an object; raises UnusableReply."""
        try:
            return self._adapter.validate_python(content)
        except ValidationError as error:
            priority = {"missing": 0, "extra_forbidden": 1}
            first = min(error.errors(), key=lambda fault: priority.get(fault["type"], 2))
            raise UnusableReply(self._reason(first)) from None

    def _reason(self, fault: ErrorDetails) -> str:
        *place, name = fault["loc"]
        where = f"{_place(place)}: " if place else ""
        match fault["type"]:
            case "missing":
                return f"{where}the field {name!r} is missing"
            case "extra_forbidden":
                return f"{where}the field {name!r} was not asked for"
            case "list_type":
                return f"{where}{name} must be a list, not {fault['input']!r}"
            case "dict_type":
                if isinstance(name, int):
                    return f"{_place(fault['loc'])}: must be an object, not {fault['input']!r}"
                fields = " and ".join(self._types[name].__annotations__)
                return f"{where}{name} must be an object with {fields}, not {fault['input']!r}"
        return f"{where}{fault['msg'].removeprefix('Value error, ')}"


def _place(steps: Sequence[int | str]) -> str:
    """Name a place in a reply: ``("claims", 1)`` is "claim 2"."""
    name, *numbers = steps
    return f"{str(name).removesuffix('s')} {int(numbers[0]) + 1}" if numbers else str(name)


def _plain(schema: Any, definitions: Mapping[str, Any]) -> Any:
    """Return a schema without the titles that pydantic adds, with each ``$ref`` replaced by its definition."""
    if isinstance(schema, list):
        return [_plain(item, definitions) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return _plain(definitions[schema["$ref"].rpartition("/")[2]], definitions)
    return {
        name: _plain(value, definitions)
        for name, value in schema.items()
        if name != "$defs" and not (name == "title" and isinstance(value, str))
    }


def _form_words(schema: Mapping[str, Any]) -> str:
    choices = schema.get("enum")
    match schema.get("type"):
        case "object":
            fields = ", ".join(f'"{name}": {_form_words(each)}' for name, each in schema["properties"].items())
            return f"{{{fields}}}"
        case "array":
            return f"[{_form_words(schema['items'])}]"
        case "integer" if choices:
            return f"{choices[0]}-{choices[-1]}"
        case "number":
            return "0.0-1.0"
        case "string":
            return f'"{"|".join(choices or "…")}"'
    return "…"


CORRECT, INCORRECT = "correct 1", "incorrect 0"


def parse_mark(text: str, word: str) -> bool:
    """Return True for ``correct 1`` or ``WORD: 1``, and False for ``incorrect 0`` or ``WORD: 0``.

    ``word`` is the name of the mark in published prompts. Raises UnusableReply for any other reply.
    """
    mark = text.strip()
    if re.fullmatch(rf"{re.escape(word)}: ?[01]", mark):
        return mark.endswith("1")
    if mark not in {CORRECT, INCORRECT}:
        reason = UnusableReply("it must be a mark and nothing else" if mark else "the reply is empty")
        raise reason.with_form(f"{CORRECT!r}, {INCORRECT!r}, '{word}: 1' or '{word}: 0'", text)
    return mark == CORRECT


_LONE = re.compile(r"[(\[]?([A-Za-z])[)\].:]?")


def letters_of(options: Sequence[str]) -> tuple[str, ...]:
    """Return one letter for each option; no letters for more than 26 options."""
    return tuple(ascii_uppercase[: len(options)]) if len(options) <= len(ascii_uppercase) else ()


def letter_in(text: str, options: Sequence[str]) -> str | None:
    """Return the option letter in ``text`` ("b", "(B)", "B."), None for any other text."""
    match = _LONE.fullmatch(text.strip())
    letter = match[1].upper() if match else None
    return letter if letter in letters_of(options) else None


def lettered(options: Sequence[str]) -> list[str]:
    """Return the options as a question shows them: "A. Paris"."""
    return [f"{letter}. {option}" for letter, option in zip(letters_of(options), options, strict=False)]


_DIGIT = re.compile(r"[^\w.]*(\d)(?![\d.])")


def expected_scores(
    tokens: Sequence[TokenChance] | None, scores: Sequence[tuple[str, int | None, str]], *, low: int, high: int
) -> tuple[DimensionScore, ...]:
    """Return the expected scores, for the integers in a reply whose token probabilities are known.

    Each entry of ``scores`` is a dimension, its integer, and a pattern of the text before the integer. The scale is
    ``low`` to ``high``, both from 0 to 9.
    """
    if not tokens:
        return ()
    text = "".join(token.text for token in tokens)
    expected = []
    for dimension, score, before in scores:
        # The last match is used: a model may have written its thoughts before the reply.
        places = (
            []
            if score is None
            else [match.start(1) for match in re.finditer(rf'{before}"?({score})(?!\d)', text, re.DOTALL)]
        )
        value = _expected(tokens, places[-1], low, high) if places else None
        if value is not None:
            expected.append(DimensionScore(f"{EXPECTED}{dimension}", value, f"{low}-{high}"))
    return tuple(expected)


def _expected(tokens: Sequence[TokenChance], place: int, low: int, high: int) -> float | None:
    ends = accumulate(len(token.text) for token in tokens)
    alternatives = next((token.alternatives for token, end in zip(tokens, ends, strict=True) if place < end), ())
    weights: defaultdict[int, float] = defaultdict(float)
    for text, logprob in alternatives:
        digit = _DIGIT.match(text)
        if digit is not None and low <= int(digit[1]) <= high:
            weights[int(digit[1])] += math.exp(min(logprob, 0.0))
    mass = sum(weights.values())
    # Rounded, because the last bits differ between machines. The probabilities are far less precise than 6 digits.
    return round(sum(level * weight for level, weight in weights.items()) / mass, 6) if mass > 0 else None

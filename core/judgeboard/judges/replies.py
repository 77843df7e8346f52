"""Reads the replies of all judges: JSON objects, and the forms in text that judges use."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from string import ascii_uppercase
from typing import Any, NamedTuple

from judgeboard.judges.loose_json import Cut, Pairs, objects_in
from judgeboard.llm.asking import MENDED, Reading, UnusableReply
from judgeboard.llm.chat import REPLACED
from judgeboard.text import storable

Mends = set[str]
"""What had to be mended in a reply."""

_REASONS = ("reasoning", "reason", "reasons", "explanation", "rationale", "justification", "feedback", "comment")
_VALUES = ("score", "rating", "value", "grade", "verdict", "better", "winner", "preference", "choice", "result")
_SCALES = ("max", "maximum", "max score", "out of", "scale")
_LABELS = ("dimension", "name", "criterion", "aspect", "metric", "field")
"""Names of a list's entry: ``{"dimension": "accuracy", "score": 4}``."""


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a reply.

    Attributes:
        schema: Its JSON schema.
        read: Returns the value that is meant; raises ValueError like "must be one of first, second".
        names: Other names that models give it.
        words: The words before it in free text, if they are not its name.
        lines: Whether a line of the reply may consist of the value.
        optional: Whether it may be missing: then its value is None.
    """

    schema: Mapping[str, Any]
    read: Callable[[object, Mends], Any]
    names: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    lines: bool = False
    optional: bool = False


class Answers(NamedTuple):
    """The fields of a reply by name, the reason for each, and the names of fields that were not requested."""

    values: dict[str, Any]
    reasons: dict[str, str | None]
    others: tuple[str, ...] = ()


_MARKUP = " \t\r\n*_`\"'\u201c\u201d\u2018\u2019\u00ab\u00bb()[]{}|$#"
# Words behind a value, like "3 (good)". Words of doubt and other numbers leave open which value is meant.
_LABEL = re.compile(r"(.*?)\s*(?:[,;:(=]|\.(?!\d)|\s[-\u2013\u2014]\s)(?P<words>[^\d?]*)", re.DOTALL)
_DOUBT = re.compile(
    r"\b(?:or|not?|if|but|though|unless|minus|plus|half|of|zero|one|two|three|four|five|ten|first|second|"
    r"should|would|could|can|may|might|maybe|perhaps|almost|nearly|below|above)\b|n['\u2019]t\b",
    re.IGNORECASE,
)


def _spellings(value: object) -> Iterator[str]:
    """Yield a value as text without markup, then also without the words behind the value."""
    if isinstance(value, Cut | bool) or not isinstance(value, str | int | float):
        return
    text = str(value).replace("\N{MINUS SIGN}", "-").replace("\\boxed", "").lstrip(_MARKUP).rstrip(f"{_MARKUP}.,;")
    yield text
    label = _LABEL.fullmatch(text)
    if label and not _DOUBT.search(label["words"]):
        yield label[1].rstrip(_MARKUP)


_NUMBER = re.compile(r"([+-]?(?:\d{1,9}(?:\.\d{1,20})?|\.\d{1,20}))\s*(?:(%)|(?:/|(?:out )?of)\s*(\d{1,9}(?:\.0+)?))?")


def number_field(
    low: int, high: int, schema: Mapping[str, Any], *, share: bool = False, names: Sequence[str] = (), word: str = ""
) -> Field:
    """Return the type of a number from ``low`` to ``high``: an integer, or if it is a ``share``, any number.

    A text may have its denominator ("2/4"); a share may be in percent ("40 %").
    """

    def read(value: object, mends: Mends) -> float:
        number = value
        for match in filter(None, map(_NUMBER.fullmatch, _spellings(value) if isinstance(value, str) else ())):
            of_scale = match[3] is None or float(match[3]) == high
            percent = (share and float(match[1]) >= 1) or match[1] == "0"
            if of_scale and (percent or not match[2]):
                number = float(f"{match[1]}e-2" if match[2] else match[1])
        if isinstance(number, bool) or not isinstance(number, int | float) or not low <= number <= high:
            raise ValueError(f"must be a number from {low} to {high}, not {value!r}")
        if not share and number != int(number):
            raise ValueError(f"must be an integer from {low} to {high}, not {value!r}")
        if isinstance(value, str) or (isinstance(value, float) and not share):
            mends.add("numbers")
        return float(number) if share else int(number)

    return Field(schema, read, tuple(names), (word,) if word else ())


def choice_field(choices: Mapping[Any, str], *, names: Sequence[str] = (), labelled: bool = True) -> Field:
    """Return the type of a choice. ``choices`` has a pattern of the spellings of each.

    A choice may have words behind it ("first (more complete)") if it is ``labelled``.
    """
    patterns = {choice: re.compile(pattern, re.IGNORECASE) for choice, pattern in choices.items()}
    listed = [str(choice) for choice in choices]

    def read(value: object, mends: Mends) -> Any:
        texts = [*_spellings(value)][: 2 if labelled else 1]
        for text in (*texts, *(str(value).strip(" *") for _ in texts)):
            for choice, pattern in patterns.items():
                if pattern.fullmatch(text):
                    mends.update(() if value in listed else ("values",))
                    return choice
        raise ValueError(f"must be one of {', '.join(listed)}, not {value!r}")

    return Field({"enum": listed, "type": "string"}, read, tuple(names), lines=True)


def _stored(value: object, mends: Mends) -> str:
    text, replaced = storable(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
    mends.update({REPLACED} if replaced else ())
    return text


def _text(value: object, mends: Mends) -> str:
    if isinstance(value, Cut) or not isinstance(value, str | int | float) or not str(value).strip():
        raise ValueError("is cut off" if isinstance(value, Cut) else f"must be a text, not {value!r}")
    return _stored(value, mends)


def _quote(value: object, mends: Mends) -> str | None:
    if value is not None and not isinstance(value, str):
        raise ValueError(f"must be a text or null, not {value!r}")
    return None if value is None else _stored(value, mends)


def _passage(value: object, mends: Mends) -> int | None:
    if value is None:
        return None
    return int(number_field(-(10**6), 10**6, {}).read(value, mends))


TEXT = Field({"type": "string"}, _text)
NOTE = Field({"type": "string"}, _stored, optional=True)
REASONING = replace(NOTE, names=_REASONS)
"""The reason for the other fields. It may be missing."""
QUALITY = number_field(1, 4, {"enum": [1, 2, 3, 4], "type": "integer"})
QUOTE = Field({"type": ["string", "null"]}, _quote, optional=True)
PASSAGE_NUMBER = Field({"type": ["integer", "null"]}, _passage, optional=True)


def list_field(fields: Mapping[str, Field]) -> Field:
    """Return the type of a list of objects with these fields."""
    form = Form(fields)

    def read(value: object, mends: Mends) -> list[dict[str, Any]]:
        if not isinstance(value, list) or isinstance(value, Pairs):
            raise ValueError(f"must be a list, not {value!r}")
        entries = []
        for number, each in enumerate(value, start=1):
            try:
                if not isinstance(each, Pairs):
                    raise UnusableReply(f"it must be an object, not {each!r}")
                entries.append(form.of_object(each, mends).values)
            except UnusableReply as error:
                raise ValueError(f"entry {number}: {error}") from None
        return entries

    return Field({"type": "array", "items": form.schema}, read)


def entry_field(name: str, field: Field) -> Field:
    """Return the type of an object with a reason and a value ``name`` of the type ``field``."""
    return Field(_object_schema({"reasoning": NOTE, name: field}), field.read, field.names, lines=field.lines)


def _object_schema(fields: Mapping[str, Field]) -> dict[str, Any]:
    return {
        "additionalProperties": False,
        "properties": {name: field.schema for name, field in fields.items()},
        "required": list(fields),
        "type": "object",
    }


def _given(pairs: Pairs, names: Iterable[str], fold: Callable[[str], str] = str) -> list[tuple[str, object]]:
    """Return the fields with one of these names."""
    wanted = set(map(fold, names))
    return [(name, value) for name, value in pairs if fold(name) in wanted]


def _folded(name: str) -> str:
    return " ".join(re.split(r"[\W_]+", name.casefold())).strip().removesuffix(" score")


_THOUGHT = re.compile(
    r"(?:<|\u25c1|\[(?=/?think\]))(?P<ends>/?)(?:think(?:ing)?|thoughts?|reasoning|reflection|analysis|scratchpad)"
    r"[>\u25b7\]]|<\|channel\|>(?:(?P<final>final<\|message\|>)|\w+)",
    re.IGNORECASE,
)


def without_thoughts(text: str) -> str:
    """Return a reply without the thoughts of a model; thoughts without an end hide the rest, those without a start all
    that stands before them.
    """
    parts: list[str] = []
    at = depth = 0
    for tag in _THOUGHT.finditer(text):
        if tag["final"] or (tag["ends"] and depth == 0):
            parts, at, depth = [], tag.end(), 0
        elif tag["ends"]:
            depth -= 1
            at = tag.end()
        else:
            parts += [text[at : tag.start()]] if depth == 0 else []
            depth += 1
    return "".join(parts if depth else [*parts, text[at:]])


class Form:
    """The form of a reply: an object with ``fields``, in the order in which a model should write them.

    The last object of a reply is read, or text like "quality: 3". A reply that can be read in two ways is unusable.
    """

    def __init__(
        self, fields: Mapping[str, Field], *, partial: bool = False, in_text: str | None = None, lines: bool = True
    ) -> None:
        """Describe a form.

        Args:
            fields: The fields by name.
            partial: Whether all but one field may be missing or null.
            in_text: The form in messages, if the model is asked for text.
            lines: Whether the fields may stand in text.
        """
        self.fields = fields
        self._partial, self._in_text, self._lines = partial, in_text, lines
        self._required = {name: field for name, field in fields.items() if not field.optional}

    @cached_property
    def schema(self) -> dict[str, Any]:
        """The strict JSON schema."""
        return _object_schema(self.fields)

    @property
    def words(self) -> str:
        """The form in one line, for messages: ``{"reasoning": "…", "quality": 1-4}``."""
        return self._in_text or _form_words(self.schema)

    def parse(self, text: str) -> Reading[Answers]:
        """Read a reply. Raises UnusableReply with a reason like "the field 'quality' is missing"."""
        mends: Mends = set()
        try:
            answers = self._read(text, mends)
        except RecursionError:
            raise UnusableReply("its JSON is nested too deeply").with_form(self.words, text) from None
        except UnusableReply as error:
            raise error.with_form(self.words, text) from None
        replaced = {REPLACED} & mends
        mended = [f"{MENDED}{', '.join(sorted(mends - replaced))}"] if mends - replaced else []
        return Reading(answers, (*mended, *replaced))

    def parse_value(self, text: str) -> Reading[Any]:
        """Read a reply of which one field counts. Arguments and errors are those of `parse`."""
        reading, (name, *_) = self.parse(text), self._required
        return Reading(reading.value.values[name], reading.notes)

    def _read(self, text: str, mends: Mends) -> Answers:
        spoken, outside = text.strip(), ""
        try:
            holders = [*self._holders([json.loads(spoken, object_pairs_hook=Pairs)], mends)]
        except (ValueError, RecursionError):
            holders = []
        if not holders:
            spoken = without_thoughts(text).strip()
            found = [*objects_in(spoken)]
            holders = [*self._holders([each.fields for each in found], mends)]
            ends, starts = [0, *(each.end for each in found)], [*(each.start for each in found), len(spoken)]
            outside = "\n".join(spoken[end:start] for end, start in zip(ends, starts, strict=True))
            mends |= {"JSON"} if any(each.mended for each in found) else set()
            mends |= {"text around"} if found and outside.strip() else set()
        if not holders:
            return self._of_text(spoken, outside, mends)
        *_, last = answers = [self.of_object(each, mends) for each in holders]
        for name, field in self._required.items():
            said = [_Said(each.values[name]) for each in answers]
            _check_agreement(name, last.values[name], said + _said(name, field, spoken if field.words else outside))
        mends |= {"JSON"} if self._in_text else set()
        return last

    def _holders(self, value: object, mends: Mends, depth: int = 0) -> Iterator[Pairs]:
        """Yield the objects in a value that have one of the fields, not those inside them."""
        if isinstance(value, str):
            value = [each.fields for each in objects_in(value)]
        if depth > 8 or not isinstance(value, list):
            return
        wanted = {_folded(each) for name, field in self._required.items() for each in (name, *field.names)}
        if isinstance(value, Pairs):
            if any(_folded(name) in wanted for name, _ in value):
                mends.update({"wrapper"} if depth > 1 else ())
                yield value
                return
        else:
            named = Pairs((label, each) for each in value for label in self._labels(each))
            if named:
                mends.add("wrapper")
                yield named
                return
        for each in value:
            yield from self._holders(each[1] if isinstance(value, Pairs) else each, mends, depth + 1)

    def _labels(self, entry: object) -> list[str]:
        """Return the name that an entry of a list gives itself, if it is the name of a field."""
        names = {_folded(name) for name in self._required}
        pairs = entry if isinstance(entry, Pairs) else ()
        labels = [str(value) for name, value in pairs if _folded(name) in _LABELS and isinstance(value, str)]
        return [label for label in labels[:1] if _folded(label) in names]

    def of_object(self, pairs: Pairs, mends: Mends) -> Answers:
        """Read the fields of an object. Raises UnusableReply."""
        answers = Answers({}, {}, tuple(name for name, _ in pairs if not self._owner(name)))
        for name, field in self.fields.items():
            given = _given(pairs, (name,)) or _given(pairs, (name,), _folded) or _given(pairs, field.names, _folded)
            if not given and not field.optional and not self._partial:
                raise UnusableReply(f"the field {name!r} is missing")
            try:
                read = [self._value(field, each, mends) for _, each in given]
            except ValueError as error:
                raise UnusableReply(f"{name} {error}") from None
            if len(read) > 1 and not field.optional and any(value != read[0][0] for value, _ in read):
                raise UnusableReply(f"the field {name!r} is given twice")
            mends.update({"names"} if any(own != name for own, _ in given) else ())
            mends.update({"missing fields"} if not given and field.optional else ())
            value, reason = read[-1] if read else (None, None)
            answers.values[name], answers.reasons[name] = value, reason
        if self._partial and all(answers.values[name] is None for name in self._required):
            raise UnusableReply(f"it gives none of {', '.join(self._required)}")
        mends.update({"other fields"} if answers.others else ())
        return answers

    def _owner(self, name: str) -> bool:
        known = (each for own, field in self.fields.items() for each in (own, *field.names))
        return _folded(name) in map(_folded, known)

    def _value(self, field: Field, value: object, mends: Mends) -> tuple[Any, str | None]:
        """Return a value, also from an object that has it with its reason."""
        is_entry, reason = field.schema.get("type") == "object", None
        if isinstance(value, Pairs):
            inner = _given(value, _VALUES, _folded)
            scales = [str(each) for _, each in _given(value, _SCALES, _folded)]
            highest = re.findall(r"\d+(?!.*\d)", _form_words(field.schema))
            if len(inner) > 1 or any(re.findall(r"\d+(?!.*\d)", each) != highest for each in scales):
                raise ValueError(f"must have one value of its scale, not {dict(value)!r}")
            reasons = [_stored(each, mends) for _, each in _given(value, _REASONS, _folded) if each is not None]
            value, reason = inner[0][1] if inner else None, reasons[-1] if reasons else None
        elif is_entry and value is not None:
            mends.add("missing fields")
        if value is None and (self._partial or field.optional):
            return None, reason
        if value is None:
            raise ValueError("is null")
        return field.read(value, mends), reason

    def _of_text(self, spoken: str, outside: str, mends: Mends) -> Answers:
        values: dict[str, Any] = {}
        for name, field in self._required.items() if self._lines else ():
            said = _said(name, field, outside)
            if not said and field.names and outside.strip() == spoken:
                lines = spoken.splitlines() if field.lines else [spoken]
                said = [each for line in lines if (each := _Said.of(field, line, alone=True)).value is not None]
            if said and said[-1].value is not None and any(each.begins for each in said):
                values[name] = said[-1].value
                _check_agreement(name, values[name], said)
        missing = [name for name in self._required if name not in values]
        if len(missing) > (len(self._required) - 1 if self._partial else 0):
            raise UnusableReply(
                f"there is no JSON object in the reply, and its text does not give {missing[0]}"
                if spoken
                else "the reply is empty"
            )
        mends.update(() if self._in_text else ("text for JSON",))
        notes = {name: None if self._partial else spoken for name, field in self.fields.items() if field.optional}
        return Answers({name: {**notes, **values}.get(name) for name in self.fields}, {})


class _Said(NamedTuple):
    """A value that a text gives for a field; None if it cannot be read. ``number`` is the number that it begins with."""

    value: Any
    number: float | None = None
    begins: bool = True

    @classmethod
    def of(cls, field: Field, text: str, *, begins: bool = True, alone: bool = False) -> "_Said":
        bare = next(_spellings(text), "")
        number = re.match(r"[+-]?\d{1,9}(?:\.\d{1,20})?", bare)
        try:
            value = None if alone and _LABEL.fullmatch(bare) else field.read(text, set())
        except ValueError:
            value = None
        return cls(value, float(number[0]) if number else None, begins)


def _check_agreement(name: str, value: object, said: Iterable[_Said]) -> None:
    others = [str(each.number if each.value is None else each.value) for each in said]
    if any((each.number if each.value is None else each.value) not in (None, value) for each in said):
        raise UnusableReply(f"it gives different values of {name}: {', '.join(dict.fromkeys(others))}")


@cache
def _mention(names: tuple[str, ...]) -> re.Pattern[str]:
    """Return the pattern of the places where a text names one of these fields and gives its value."""
    name = "|".join(re.escape(each).replace(r"\ ", "[ _-]") for each in sorted(names, key=len, reverse=True))
    bracketed = r"\[\[[^\[\]\n]{1,40}\]\]" if "result" in names else "(?!)"
    return re.compile(
        rf"<(?:{name})>(?P<tagged>[^<>]{{1,200}})(?:</|\Z)|\[(?:{name})\](?P<marked>[^\n]*)"
        rf"|(?P<begins>(?:^|[.;:,|>({{\[\n\"\u201c])\W{{0,6}}(?:(?:so|the|my|final|overall|correct|thus|hence|therefore)"
        rf"[ ,]+){{0,3}})?(?<!\w)(?:{name})(?: score| rating)?(?: is)?[ \t*_`\"'\u201c\u201d\u2019)]{{0,9}}"
        rf"(?:[:=|\uff1a]|(?<= is ))(?=(?P<behind>[^\n]{{0,1000}}))"
        rf"|(?P<bracketed>{bracketed})",
        re.IGNORECASE,
    )


_NEXT_FIELD = re.compile(r"\s*(?:[,;|]|\.\s)\s*[\"'\u201c*_]*[^\W\d][\w ]{0,40}[\"'\u201d*_]*\s*[:=|]")


def _said(name: str, field: Field, text: str) -> list[_Said]:
    """Return the values that a text gives for a field under its own words, or else under its other names."""
    for names in (field.words or (name,), (name, *field.names)):
        said = [
            _Said.of(
                field,
                _NEXT_FIELD.split("".join(filter(None, match.group("tagged", "marked", "behind", "bracketed"))), 1)[0],
                begins=match["behind"] is None or match["begins"] is not None,
            )
            for match in _mention(names).finditer(text)
        ]
        if said:
            return said
    return []


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


def mark_form(word: str, *names: str) -> Form:
    """Return the form of a mark: True for ``correct 1`` or ``WORD: 1``, False for ``incorrect 0`` or ``WORD: 0``."""
    spellings = {True: r"(?:correct[: ]+)?1(?:\.0)?|correct", False: r"(?:incorrect[: ]+)?0(?:\.0)?|incorrect"}
    in_text = f"'correct 1', 'incorrect 0', '{word}: 1' or '{word}: 0'"
    return Form({word.casefold(): choice_field(spellings, names=names)}, in_text=in_text)


def letters_of(options: Sequence[str]) -> tuple[str, ...]:
    """Return one letter for each option; no letters for more than 26 options."""
    return tuple(ascii_uppercase[: len(options)]) if len(options) <= len(ascii_uppercase) else ()


def lettered(options: Sequence[str]) -> list[str]:
    """Return the options as a question shows them: "A. Paris"."""
    return [f"{letter}. {option}" for letter, option in zip(letters_of(options), options, strict=False)]

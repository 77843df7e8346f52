"""Reads the replies of all judges: JSON objects, and the forms in text that judges use."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from string import ascii_uppercase
from typing import Any, NamedTuple

from judgeboard.domain import MENDED
from judgeboard.judges.loose_json import BREAK, Cut, Pairs, Unclear, objects_in
from judgeboard.llm.asking import Reading, UnusableReply
from judgeboard.llm.chat import REPLACED
from judgeboard.text import storable

Mends = set[str]
"""What had to be mended in a reply."""

_REASONS = (
    "reasoning",
    "reason",
    "reasons",
    "explanation",
    "rationale",
    "justification",
    "feedback",
    "comment",
)
_VALUES = (
    "score",
    "rating",
    "value",
    "grade",
    "verdict",
    "better",
    "winner",
    "preference",
    "choice",
    "result",
)
_SCALES = ("max", "maximum", "out of", "scale")
_LABELS = ("dimension", "name", "criterion", "aspect", "metric", "field")


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a reply.

    Attributes:
        schema: The JSON schema.
        read: Returns the intended value; raises ValueError like "must be one of first, second".
        names: Other names that models give the field. If there are any, the whole reply may be the
            value alone.
        words: The words before the value in free text, if not the name.
        lines: Whether a line of the reply may be the value alone.
        optional: Whether the field may be missing, with the value None.
    """

    schema: Mapping[str, Any]
    read: Callable[[object, Mends], Any]
    names: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    lines: bool = False
    optional: bool = False


_MARKUP = " \t\r\n*_`\"'\u201c\u201d\u2018\u2019\u00ab\u00bb()[]{}|$#"
# A value with words behind it, like "3 (good)". With words of doubt or other numbers, the value is
# not clear.
_LABELLED = re.compile(
    r"(.*?)\s*(?:[,;:(=]|\.(?!\d)|\s[-\u2013\u2014]\s)(?P<words>[^\d?]*)", re.DOTALL
)
_DOUBT = re.compile(
    r"\b(?:or|not?|if|but|though|unless|minus|plus|half|zero|one|two|three|four|five|ten|first|second|"
    r"should|would|could|can|may|might|maybe|perhaps|almost|nearly|below|above)\b|n['\u2019]t\b",
    re.IGNORECASE,
)


def _spellings(value: object) -> list[str]:
    """Return a value as text without markup, then also without the words behind the value."""
    if isinstance(value, Cut | bool) or not isinstance(value, str | int | float):
        return []
    text = (
        str(value)
        .replace("\N{MINUS SIGN}", "-")
        .replace("\\boxed", "")
        .lstrip(_MARKUP)
        .rstrip(f"{_MARKUP}.,;")
    )
    label = _LABELLED.fullmatch(text)
    return (
        [text, label[1].rstrip(_MARKUP)] if label and not _DOUBT.search(label["words"]) else [text]
    )


_NUMBER = re.compile(
    r"([+-]?(?:\d{1,9}(?:\.\d{1,20})?|\.\d{1,20}))\s*(?:(%)|(?:/|(?:out )?of)\s*(\d{1,9}(?:\.0+)?))?"
)


def number_field(
    low: int,
    high: int,
    schema: Mapping[str, Any],
    *,
    share: bool = False,
    names: Sequence[str] = (),
    word: str = "",
) -> Field:
    """Return the type of a number from ``low`` to ``high``: an integer, or if it is a ``share``, any number.

    A text may have a denominator ("2/4"); a share may be in percent ("40 %").
    """

    def read(value: object, mends: Mends) -> float:
        number = value
        for text in _spellings(value) if isinstance(value, str) else ():
            match = _NUMBER.fullmatch(text)
            if match and match[2] and share and (float(match[1]) >= 1 or match[1] == "0"):
                number = float(f"{match[1]}e-2")
            elif match and not match[2] and float(match[3] or high) == high:
                number = float(match[1])
        if (
            isinstance(number, bool)
            or not isinstance(number, int | float)
            or not low <= number <= high
        ):
            raise ValueError(f"must be a number from {low} to {high}, not {value!r}")
        if not share and number != int(number):
            raise ValueError(f"must be an integer from {low} to {high}, not {value!r}")
        if isinstance(value, str) or (isinstance(value, float) and not share):
            mends.add("numbers")
        return float(number) if share else int(number)

    return Field(schema, read, tuple(names), (word,) if word else ())


def choice_field(
    choices: Mapping[Any, str], *, names: Sequence[str] = (), labelled: bool = True
) -> Field:
    """Return the type of a choice. ``choices`` has a pattern with the spellings of each choice.

    If ``labelled``, words may follow a choice ("first (more complete)").
    """
    patterns = {choice: re.compile(pattern, re.IGNORECASE) for choice, pattern in choices.items()}
    listed = [str(choice) for choice in choices]

    def spelled(text: str) -> set[Any]:
        return {choice for choice, pattern in patterns.items() if pattern.fullmatch(text)}

    def read(value: object, mends: Mends) -> Any:
        full_text, *label = _spellings(value) or [""]
        matches = spelled(full_text) or spelled(str(value).strip(" *") if full_text else "")
        if not matches and labelled and label:
            matches = spelled(label[0])
            matches = (
                matches
                if {each for word in full_text.split() for each in spelled(word.strip(_MARKUP))}
                <= matches
                else set()
            )
        if len(matches) != 1:
            raise ValueError(f"must be one of {', '.join(listed)}, not {value!r}")
        mends.update(() if value in listed else ("values",))
        return matches.pop()

    return Field({"enum": listed, "type": "string"}, read, tuple(names), lines=True)


def _stored(value: object, mends: Mends) -> str:
    text, is_replaced = storable(
        value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    )
    mends.update((REPLACED,) if is_replaced else ())
    return text


def _whole_text(value: object, mends: Mends) -> str:
    if (
        isinstance(value, Cut | bool)
        or not isinstance(value, str | int | float)
        or not str(value).strip()
    ):
        raise ValueError(
            "is cut off" if isinstance(value, Cut) else f"must be a text, not {value!r}"
        )
    return _stored(value, mends)


TEXT = Field({"type": "string"}, _whole_text)
NOTE = Field({"type": "string"}, _stored, optional=True)
REASONING = replace(NOTE, names=_REASONS)
"""The reason for the other fields."""
QUOTE = Field({"type": ["string", "null"]}, _stored, optional=True)
PASSAGE_NUMBER = Field(
    {"type": ["integer", "null"]}, number_field(-(10**6), 10**6, {}).read, optional=True
)
QUALITY = number_field(1, 4, {"enum": [1, 2, 3, 4], "type": "integer"})


def entry_field(name: str, field: Field) -> Field:
    """Return the type of an object with a reason and a value ``name`` of the type ``field``."""
    return replace(field, schema=_schema({"reasoning": NOTE, name: field}))


def list_field(fields: Mapping[str, Field]) -> Field:
    """Return the type of a list of objects with these fields."""
    form = Form(fields)

    def read(value: object, mends: Mends) -> list[dict[str, Any]]:
        if not isinstance(value, list) or not all(isinstance(each, Pairs) for each in value):
            raise ValueError(f"must be a list of objects, not {value!r}")
        try:
            return [form.of_object(each, mends).values for each in value]
        except UnusableReply as error:
            raise ValueError(f"has an entry that cannot be read: {error}") from None

    return Field({"type": "array", "items": form.schema}, read)


def _schema(fields: Mapping[str, Field]) -> dict[str, Any]:
    return {
        "additionalProperties": False,
        "properties": {name: field.schema for name, field in fields.items()},
        "required": list(fields),
        "type": "object",
    }


def _form_words(schema: Mapping[str, Any]) -> str:
    choices = schema.get("enum")
    match schema.get("type"):
        case "object":
            fields = ", ".join(
                f'"{name}": {_form_words(each)}' for name, each in schema["properties"].items()
            )
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


def _folded(name: str) -> str:
    return " ".join(re.split(r"[\W_]+", name.casefold())).strip().removesuffix(" score")


def _named(pairs: Pairs, *names: str) -> list[object]:
    """Return the values of the fields with one of these names, in any spelling."""
    folded_names = set(map(_folded, names))
    return [value for name, value in pairs if _folded(name) in folded_names]


_THOUGHT = re.compile(
    r"(?:<|\u25c1|\[(?=/?think\]))(?P<ends>/?)(?:think(?:ing)?|thoughts?|reasoning|reflection|analysis|scratchpad)"
    r"[>\u25b7\]]|<\|channel\|>(?:(?P<final>final<\|message\|>)|\w+)",
    re.IGNORECASE,
)


# Words that withdraw, quote or refuse the values before them.
_TAKEN_BACK = re.compile(
    r"\b(?:wait|actually|correction|on second thought|injection|refuse|deserves|changed?|incorrect\W{0,3}0"
    r"|(?:do|can|will) ?not (?:judge|rate|grade))\b",
    re.IGNORECASE,
)
_UNSAID = re.compile(
    r"(?:n['\u2019]t|\b(?:not|would(?: be| say| give)?|(?:example|template)(?: of [\w ]{1,30})?))[\s:`]*(?:json\s*)?\Z",
    re.IGNORECASE,
)
"""The end of a text after which a value is not what the reply says."""
_NOT_MEANT = ("example", "examples", "not", "input", "prompt", "template")


class Answers(NamedTuple):
    """The fields of a reply by name, the reasons for some fields, and the names of fields that were not requested."""

    values: dict[str, Any]
    reasons: dict[str, str]
    others: tuple[str, ...] = ()


class Form:
    """The form of a reply: an object with ``fields``, in the order in which a model should write them.

    The last object of a reply is read, or text like "quality: 3". A reply that can be read in two
    ways is unusable.
    """

    def __init__(
        self,
        fields: Mapping[str, Field],
        *,
        partial: bool = False,
        in_text: str | None = None,
        lines: bool = True,
    ) -> None:
        """Describe a form.

        Args:
            fields: The fields by name.
            partial: Whether all fields but one may be missing or null.
            in_text: The form in messages, if the model is asked for text.
            lines: Whether the fields may stand in text.
        """
        self.fields = fields
        self._partial, self._in_text, self._lines = partial, in_text, lines
        self._required = {name: field for name, field in fields.items() if not field.optional}

    @cached_property
    def schema(self) -> dict[str, Any]:
        """The strict JSON schema."""
        return _schema(self.fields)

    def parse(self, text: str) -> Reading[Answers]:
        """Read a reply. Raises UnusableReply with a reason like "the field 'quality' is missing"."""
        mends: Mends = set()
        try:
            answers = self._read(text, mends)
        except (UnusableReply, Unclear) as error:
            reason = (
                error
                if isinstance(error, UnusableReply)
                else UnusableReply("its JSON can be read in several ways")
            )
            raise reason.with_form(self._in_text or _form_words(self.schema), text) from None
        mended = ", ".join(sorted(mends - {REPLACED}))
        return Reading(answers, (*([MENDED + mended] if mended else ()), *(mends & {REPLACED})))

    def parse_value(self, text: str) -> Reading[Any]:
        """Read a reply of which one field counts. Raises UnusableReply."""
        reading, (name, *_) = self.parse(text), self._required
        return Reading(reading.value.values[name], reading.notes)

    def _read(self, text: str, mends: Mends) -> Answers:
        spoken, outside = text.strip(), ""
        text_before = text_behind = ""  # the texts around the last object
        try:
            content = json.loads(spoken, object_pairs_hook=Pairs)
        except (ValueError, RecursionError):
            content = None
        if isinstance(content, str):
            text, content = content, None
            mends.add("wrapper")
        objects = [*self._objects([content], mends)]
        if not objects:
            # A reply without the thoughts of a model.
            parts: list[str] = []
            at = depth = 0
            for tag in _THOUGHT.finditer(text):
                if tag["final"] or (tag["ends"] and depth == 0):
                    parts, at, depth = [], tag.end(), 0
                elif tag["ends"]:
                    depth, at = depth - 1, tag.end()
                else:
                    parts += [text[at : tag.start()]] if depth == 0 else []
                    depth += 1
            spoken = "" if depth else "".join([*parts, text[at:]]).strip()
            pieces = [*objects_in(spoken)]
            ends, starts = (
                [0, *(each.end for each in pieces)],
                [*(each.start for each in pieces), len(spoken)],
            )
            text_before, text_behind = (
                spoken[: starts[-2]] if pieces else "",
                spoken[ends[-1] :] if pieces else "",
            )
            outside = "\n".join(
                spoken[end:start] for end, start in zip(ends, starts, strict=True)
            ).strip()
            objects = [*self._objects([each.fields for each in pieces], mends)]
            mends.update(
                {"JSON"} if any(each.mended for each in pieces) else (),
                {"text around"} if pieces and outside else (),
            )
        if not objects:
            fault = (
                f"its JSON has no field {next(iter(self._required))!r}"
                if pieces
                else "there is no JSON object in the reply"
            )
            return self._of_text(
                outside, fault if spoken else "the reply is empty", mends, alone=outside == spoken
            )
        if _TAKEN_BACK.search(text_behind) or _UNSAID.search(text_before):
            raise UnusableReply("the text around its JSON withdraws the values")
        *_, last = answers = [self.of_object(each, mends) for each in objects]
        for name, field in self._required.items():
            mentions = [
                *_mentions(field, field.words, spoken),
                *_mentions(field, (name, *field.names), outside),
            ]
            _check_agreement(
                name,
                last.values[name],
                [*(_Mention(each.values[name]) for each in answers), *mentions],
            )
        mends.update({"another form"} if self._in_text else ())
        return last

    def _objects(self, value: object, mends: Mends, depth: int = 0) -> Iterator[Pairs]:
        """Yield the objects in a value that have one of the fields, but no objects inside such objects."""
        if isinstance(value, str):
            value = [each.fields for each in objects_in(value)]
        if depth > 8 or not isinstance(value, list):
            return
        # A list may name the entries: {"dimension": "accuracy", "score": 4}.
        entries = [
            (str(label), each)
            for each in value
            if isinstance(each, Pairs)
            for label in _named(each, *_LABELS)[:1]
            if label in self._required or _folded(str(label)) in map(_folded, self._required)
        ]
        if isinstance(value, Pairs) and _named(
            value,
            *(each for name, field in self._required.items() for each in (name, *field.names)),
        ):
            mends.update({"wrapper"} if depth > 1 else ())
            yield value
            for _, inner in value:
                if isinstance(inner, Pairs) and all(_named(inner, name) for name in self._required):
                    yield inner
        elif entries:
            mends.add("wrapper")
            yield Pairs(entries)
        else:
            for each in value:
                if not isinstance(value, Pairs):
                    yield from self._objects(each, mends, depth + 1)
                elif _folded(each[0]) not in _NOT_MEANT:
                    yield from self._objects(each[1], mends, depth + 1)

    def of_object(self, pairs: Pairs, mends: Mends) -> Answers:
        """Read the fields of an object. Raises UnusableReply."""
        names = {
            _folded(each) for name, field in self.fields.items() for each in (name, *field.names)
        }
        answers = Answers(
            {}, {}, tuple(storable(name)[0] for name, _ in pairs if _folded(name) not in names)
        )
        highest = {_last_number(_form_words(field.schema)) for field in self._required.values()}
        if len(highest) == 1 and any(
            _last_number(str(each)) not in highest for each in _named(pairs, *_SCALES)
        ):
            raise UnusableReply("it names another scale")
        for name, field in self.fields.items():
            exact = [value for field_name, value in pairs if field_name == name]
            candidates = exact or _named(pairs, name) or _named(pairs, *field.names)
            if not candidates and not field.optional and not self._partial:
                raise UnusableReply(f"the field {name!r} is missing")
            try:
                values = [self._value(name, field, value, answers, mends) for value in candidates]
            except ValueError as error:
                raise UnusableReply(f"{name} {error}") from None
            if not field.optional and any(value != values[0] for value in values):
                raise UnusableReply(f"the field {name!r} is given twice")
            mends.update(
                {"names"} if candidates and not exact else (),
                {"missing fields"} if field.optional and not candidates else (),
            )
            answers.values[name] = values[-1] if values else None
        if self._partial and all(value is None for value in answers.values.values()):
            raise UnusableReply(f"it gives none of {', '.join(self.fields)}")
        mends.update({"other fields"} if answers.others else ())
        return answers

    def _value(self, name: str, field: Field, value: object, answers: Answers, mends: Mends) -> Any:
        """Return a value, also from an object with the value, a reason and perhaps a scale."""
        value_names = [*field.schema.get("properties", ())][-1:]
        if isinstance(value, Pairs):
            values = _named(value, *value_names) or _named(value, *_VALUES)
            scales = [_last_number(str(each)) for each in _named(value, *_SCALES)]
            if len(values) > 1 or any(
                each != _last_number(_form_words(field.schema)) for each in scales
            ):
                raise ValueError(f"must have one value on its scale, not {dict(value)!r}")
            for reason in filter(None, _named(value, *_REASONS)):
                answers.reasons[name] = _stored(reason, mends)
            value = values[0] if values else None
        elif value_names:
            mends.add("missing fields")
        if value is not None:
            return field.read(value, mends)
        if not self._partial and not field.optional:
            raise ValueError("is null")
        return None

    def _of_text(self, text: str, fault: str, mends: Mends, *, alone: bool) -> Answers:
        values: dict[str, Any] = dict.fromkeys(self.fields)
        rest = text
        for name, field in self._required.items() if self._lines else ():
            mentions = _mentions(field, field.words or (name,), text) or _mentions(
                field, (name, *field.names), text
            )
            if not mentions and alone and field.names:
                lines = text.splitlines() if field.lines else [text]
                mentions = [
                    each
                    for line in lines
                    if (each := _mention(field, line, alone=True)).value is not None
                ]
            if mentions and any(each.begins for each in mentions):
                last = mentions[-1]
                fault = f"{name} {last.fault}" if last.fault else fault
                _check_agreement(name, last.value, mentions if last.value is not None else ())
                text_before, _, behind = text.rpartition(last.text or text)
                if _TAKEN_BACK.search(behind) or _UNSAID.search(text_before):
                    raise UnusableReply(f"the text around {name} withdraws it")
                values[name], rest = last.value, rest.replace(last.text, "").strip()
        are_read = [values[name] is not None for name in self._required]
        if not any(are_read) or (not all(are_read) and not self._partial):
            raise UnusableReply(fault)
        mends.update(() if self._in_text else {"another form"})
        if not self._partial:
            values |= {name: rest for name, field in self.fields.items() if field.optional}
        return Answers(values, {})


class _Mention(NamedTuple):
    """A value that a text gives for a field: None, with the ``fault``, if the value cannot be read.

    ``number`` is the number at the beginning. ``begins`` tells whether the name begins a line or a
    clause.
    """

    value: Any
    number: float | None = None
    fault: str = ""
    begins: bool = True
    text: str = ""


def _mention(
    field: Field, text: str, *, begins: bool = True, alone: bool = False, full_text: str = ""
) -> _Mention:
    spellings = _spellings(text) or [""]
    number = re.match(r"[+-]?\d{1,9}(?:\.\d{1,20})?", spellings[0])
    begins_with = float(number[0]) if number else None
    try:
        if alone and _LABELLED.fullmatch(spellings[0]):
            raise ValueError
        return _Mention(field.read(text, set()), begins_with, "", begins, full_text or text)
    except ValueError as error:
        return _Mention(None, begins_with, str(error), begins)


def _check_agreement(name: str, value: object, mentions: Iterable[_Mention]) -> None:
    values = [each.number if each.value is None else each.value for each in mentions]
    if any(each not in (None, value) for each in values):
        raise UnusableReply(
            f"it gives different values of {name}: {', '.join(dict.fromkeys(map(str, values)))}"
        )


def _last_number(text: str) -> float | None:
    numbers = re.findall(r"\d{1,9}(?:\.\d{1,9})?", text)
    return float(numbers[-1]) if numbers else None


@cache
def _pattern(names: tuple[str, ...]) -> re.Pattern[str]:
    """Return the pattern of the places where a text gives the value of a field with one of these names."""
    name = "|".join(
        re.escape(each).replace(r"\ ", "[ _-]") for each in sorted(names, key=len, reverse=True)
    )
    bracketed = r"\[\[[^\[\]\n]{1,40}\]\]" if "result" in names else "(?!)"
    return re.compile(
        rf"<(?:{name})>(?P<tagged>[^<>]{{1,200}})(?:</|\Z)|\[(?:{name})\](?P<marked>[^\n]*)|(?P<bracketed>{bracketed})"
        r"|(?P<begins>(?:^|[.;:,|>({\[\n\"\u201c])\W{0,6}(?:(?:so|the|my|final|overall|correct|thus|hence|therefore)"
        rf"[ ,]+){{0,3}})?(?<!\w)(?:{name})(?: score| rating)?(?: is)?[ \t*_`\"'\u201c\u201d\u2019)]{{0,9}}"
        r"(?:[:=|\uff1a]|(?<= is ))(?=(?P<behind>[^\n]{0,1000}))",
        re.IGNORECASE,
    )


_NEXT_FIELD = re.compile(
    r"\s*(?:[,;|]|\.\s)\s*[\"'\u201c*_]*[^\W\d][\w ]{0,40}[\"'\u201d*_]*\s*[:=|]"
)


_OUT_OF = re.compile(r"\w*>\s*((?:/|out of)\s*\d+)")


def _mentions(field: Field, names: tuple[str, ...], text: str) -> list[_Mention]:
    """Return the values that a text gives for a field under one of these names."""
    mentions = []
    for match in _pattern(names).finditer(text) if names and text else ():
        value = _NEXT_FIELD.split(
            "".join(filter(None, match.group("tagged", "marked", "bracketed", "behind"))), 1
        )[0]
        begins = match["behind"] is None or match["begins"] is not None
        of = match["tagged"] and _OUT_OF.match(text, match.end())
        value = f"{value} {of[1]}" if of else value
        full_text = text[max(match.start(), match.end("begins")) : match.end()] + (
            value if match["behind"] else ""
        )
        if (
            not {*full_text}.isdisjoint("\"'\u2019\u201d")
            and value[-1:] not in "\"'\u2019\u201d}"
            and BREAK.match(text, match.end() + len(value))
        ):
            value = Cut(value)  # JSON without braces that breaks off
        mentions.append(_mention(field, value, begins=begins, full_text=full_text))
    return mentions


def mark_form(word: str, *names: str) -> Form:
    """Return the form of a mark: True for ``correct 1`` or ``WORD: 1``, False for ``incorrect 0`` or ``WORD: 0``."""
    spellings = {
        True: r"(?:correct[: ]+)?1(?:\.0)?|correct",
        False: r"(?:incorrect[: ]+)?0(?:\.0)?|incorrect",
    }
    in_text = f"'correct 1', 'incorrect 0', '{word}: 1' or '{word}: 0'"
    return Form({word.casefold(): choice_field(spellings, names=names)}, in_text=in_text)


def letters_of(options: Sequence[str]) -> tuple[str, ...]:
    """Return one letter for each option; no letters for more than 26 options."""
    return tuple(ascii_uppercase[: len(options)]) if len(options) <= len(ascii_uppercase) else ()


def lettered(options: Sequence[str]) -> list[str]:
    """Return the options as a question shows them: "A. Paris"."""
    return [
        f"{letter}. {option}" for letter, option in zip(letters_of(options), options, strict=False)
    ]

"""Label schemas: YAML files with the fields that reviewers fill in, and checks of the fields' values."""

import hashlib
import json
import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache, lru_cache
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, TypeAdapter

from judgeboard.domain import DimensionScore, Grade, Label
from judgeboard.errors import BadInput
from judgeboard.formats.yaml_file import YamlFile, parse_yaml, read_yaml, unless_null
from judgeboard.settings.fields import CLOSED, Number, Text
from judgeboard.text import unstorable

KEYS = "QWASDFG"
"""The keys that a schema may give to options. The review screen uses the other letters."""
TAKEN_KEYS = {"label": "QW", "groundedness": "ASDFG"}
"""The keys of parts of the built-in grade. A schema with such a part cannot give these keys to options."""

MOST_FIELDS, MOST_OPTIONS, MOST_SPANS = 40, 50, 500
LONGEST_SCHEMA = 200_000  # characters of a schema as JSON
_NAME = re.compile(r"[^\W_][\w -]{0,59}")


class FieldType(StrEnum):
    """The type of a field's values."""

    CATEGORY = "category"
    YES_NO = "yes_no"
    SCALE = "scale"
    NUMBER = "number"
    TEXT = "text"
    SPANS = "spans"
    RANKING = "ranking"


TYPED = (FieldType.NUMBER, FieldType.TEXT)
"""The types of the fields into which reviewers type."""


def written_scale(levels: Sequence[int]) -> str:
    """Return the stored form of the scale of consecutive levels: "1-5", "-1..1"."""
    return f"{levels[0]}{'..' if levels[0] < 0 else '-'}{levels[-1]}"


_PARTS = {
    FieldType.CATEGORY: ("options", "many"),
    FieldType.SPANS: ("options", "on"),
    FieldType.SCALE: ("levels",),
    FieldType.NUMBER: ("low", "high"),
}
"""The keys of a field that only some types have."""


def checked_name(name: str) -> str:
    """Return the name of a schema or a field; raise ValueError for other texts."""
    if not _NAME.fullmatch(name):
        raise ValueError(
            f"{name!r} is not a name: use letters, digits, spaces, - and _, at most 60 characters"
        )
    return name


def _key(key: str) -> str:
    if len(key) != 1 or key.upper() not in KEYS:
        raise ValueError(f"{key!r} cannot be a key: use one of {' '.join(KEYS)}")
    return key.upper()


def _options(options: Any) -> Any:
    """Return options as mappings. A file has a list of names or of mappings, or a mapping of names to help texts."""
    if isinstance(options, Mapping):
        options = [{"value": value, "help": help_} for value, help_ in options.items()]
    if not isinstance(options, Sequence) or isinstance(options, str):
        return options
    if any(isinstance(option, bool) for option in options):
        raise ValueError("put yes and no in quotes: YAML reads them as true and false")
    return [option if isinstance(option, Mapping) else {"value": option} for option in options]


def _levels(levels: Any) -> Any:
    """Return levels as pairs of number and name. A file has a mapping of whole numbers to names."""
    if not isinstance(levels, Mapping):
        return levels
    try:
        return [(int(level), name) for level, name in levels.items()]
    except ValueError:
        raise ValueError("the levels of a scale are whole numbers, each with its name") from None


def _conditions(conditions: Any) -> Any:
    if not isinstance(conditions, Mapping):
        return conditions
    return [
        (name, value if isinstance(value, list) else [value]) for name, value in conditions.items()
    ]


@dataclass(frozen=True, slots=True)
class Option:
    """One value of a category, or one type of span."""

    __pydantic_config__: ClassVar[ConfigDict] = CLOSED

    value: Text
    help: Text | None = None
    key: Annotated[Text, AfterValidator(_key)] | None = None


@dataclass(frozen=True, slots=True)
class SchemaField:
    """One field of a label schema.

    A category has ``options``; with ``many``, several can be chosen. The ``options`` of spans are
    the types of spans. A scale has consecutive whole ``levels`` with names (None: no name). ``on``
    is the text in which spans are selected. With ``shown_when``, the field is shown only if each of
    these earlier fields has one of the listed values.
    """

    __pydantic_config__: ClassVar[ConfigDict] = CLOSED

    name: Annotated[Text, AfterValidator(checked_name)]
    type: FieldType
    help: Text | None = None
    required: Annotated[bool, unless_null(False)] = False
    options: Annotated[
        tuple[Option, ...], BeforeValidator(_options), Field(max_length=MOST_OPTIONS)
    ] = ()
    many: Annotated[bool, unless_null(False)] = False
    levels: Annotated[
        tuple[tuple[int, Text | None], ...],
        BeforeValidator(_levels),
        Field(max_length=MOST_OPTIONS),
    ] = ()
    low: Number | None = None
    high: Number | None = None
    on: Literal["answer", "passages"] = "answer"
    shown_when: Annotated[
        tuple[tuple[str, tuple[Any, ...]], ...], BeforeValidator(_conditions)
    ] = ()

    @property
    def built_in(self) -> bool:
        """Whether the field is a part of the built-in grade."""
        return self.name in BUILT_IN

    @property
    def values(self) -> tuple[Any, ...]:
        """The values that a reviewer can choose; empty if the field has no fixed list of values."""
        if self.type is FieldType.YES_NO:
            return (True, False)
        if self.type is FieldType.SCALE:
            return tuple(level for level, _ in self.levels)
        return tuple(option.value for option in self.options)

    @property
    def scale(self) -> str:
        """The stored form of the scale of scores: "1-5"."""
        return written_scale(self.values)

    @property
    def numbered(self) -> dict[int, Any]:
        """The value for each number that a judge can give. Levels keep their numbers; other values count from 1.

        Empty if a judge gives no numbers for the field.
        """
        if self.many or self.type is FieldType.SPANS:
            return {}
        return {
            value if self.levels else place: value
            for place, value in enumerate(self.values, start=1)
        }

    def checked(self, value: Any) -> Any:
        """Return the stored form of a value, None for an empty value. Raises BadInput if the value is invalid."""
        if value is None or value in ("", [], ()):
            return None
        try:
            return _CHECKS[self.type](self, value)
        except (ValueError, OverflowError) as error:
            raise BadInput(f"{self.name}: {error}") from None

    def problems(self) -> Iterator[tuple[str, str]]:
        """Yield each invalid part with the reason."""
        if "options" in _PARTS.get(self.type, ()) and not self.options:
            yield "options", "this type needs options"
        if len(set(self.values)) < len(self.values):
            yield "options", "two options are the same"
        first = self.levels[0][0] if self.levels else 0
        if self.type is FieldType.SCALE and len(self.levels) < 2:
            yield "levels", "a scale has two levels or more, written like {1: poor, 2: good}"
        if [level for level, _ in self.levels] != list(range(first, first + len(self.levels))):
            yield "levels", "the levels must be consecutive whole numbers, the lowest first"
        if self.low is not None and self.high is not None and self.low >= self.high:
            yield "low", "must be below high"
        for part in ("options", "many", "levels", "low", "high", "on"):
            if part not in _PARTS.get(self.type, ()) and part in _as_json(self):
                yield part, "cannot be used with this type"


def _one_of(field: SchemaField, value: Any) -> Any:
    if type(value) is not str or value not in field.values:
        raise ValueError(f"must be one of {', '.join(field.values)}, not {_shown(value)}")
    return value


def _category(field: SchemaField, value: Any) -> Any:
    if not field.many:
        return _one_of(field, value)
    if not isinstance(value, list | tuple):
        raise ValueError(f"must be a list of {', '.join(field.values)}, not {_shown(value)}")
    values = {_one_of(field, each) for each in value}
    return [option for option in field.values if option in values]


def _yes_no(_: SchemaField, value: Any) -> bool:
    if type(value) is not bool:
        raise ValueError(f"must be true or false, not {_shown(value)}")
    return value


def _level(field: SchemaField, value: Any) -> int:
    if isinstance(value, bool) or value not in field.values:
        raise ValueError(
            f"must be a whole number from {field.values[0]} to {field.values[-1]}, not {_shown(value)}"
        )
    return int(value)


def _number(field: SchemaField, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"must be a number, not {_shown(value)}")
    if (field.low is not None and value < field.low) or (
        field.high is not None and value > field.high
    ):
        ends = (
            f"at least {field.low:g}" if field.low is not None else "",
            f"at most {field.high:g}" if field.high is not None else "",
        )
        raise ValueError(f"must be {' and '.join(filter(None, ends))}, not {value:g}")
    return value


def _text(_: SchemaField, value: Any) -> str | None:
    if not isinstance(value, str):
        raise ValueError(f"must be a text, not {_shown(value)}")
    if reason := unstorable(value):
        raise ValueError(f"cannot be stored: {reason}")
    return value.strip() or None


def _spans(field: SchemaField, value: Any) -> list[dict[str, Any]]:
    if not isinstance(value, list | tuple) or len(value) > MOST_SPANS:
        raise ValueError(f"must be a list of at most {MOST_SPANS} spans")
    names = ("type", "start", "end", *(("passage",) if field.on == "passages" else ()))
    spans = []
    for span in value:
        if not isinstance(span, Mapping) or not set(names) <= set(span) <= {*names, "field"}:
            raise ValueError(f"a span has {', '.join(names)}, not {_shown(span)}")
        if (
            any(type(span[name]) is not int for name in names[1:])
            or not 0 <= span["start"] < span["end"]
        ):
            raise ValueError(f"a span must start before it ends, not {_shown(span)}")
        spans.append({name: span[name] for name in names} | {"type": _one_of(field, span["type"])})
    unique = {json.dumps(span, sort_keys=True): span for span in spans}
    return sorted(
        unique.values(), key=lambda span: (span.get("passage", 0), span["start"], span["end"])
    )


def _ranking(_: SchemaField, value: Any) -> list[int]:
    if not isinstance(value, list | tuple) or any(
        type(each) is not int or each < 1 for each in value
    ):
        raise ValueError(
            f"must be a list of passage numbers, the best passage first, not {_shown(value)}"
        )
    if len(set(value)) < len(value):
        raise ValueError("ranks a passage twice")
    return list(value)


_CHECKS = {
    FieldType.CATEGORY: _category,
    FieldType.YES_NO: _yes_no,
    FieldType.SCALE: _level,
    FieldType.NUMBER: _number,
    FieldType.TEXT: _text,
    FieldType.SPANS: _spans,
    FieldType.RANKING: _ranking,
}

BUILT_IN: Mapping[str, SchemaField] = {
    field.name: field
    for field in (
        SchemaField(
            "label",
            FieldType.CATEGORY,
            options=tuple(Option(label.value) for label in (Label.GROUNDED, Label.HALLUCINATED)),
        ),
        SchemaField("groundedness", FieldType.NUMBER, low=0.0, high=1.0),
        SchemaField(
            "quality", FieldType.SCALE, levels=((1, "fails"), (2, "weak"), (3, "gaps"), (4, "full"))
        ),
        SchemaField("note", FieldType.TEXT),
        SchemaField("corrected_answer", FieldType.TEXT),
    )
}
"""The parts of the built-in grade. A schema names such parts without a type."""


def _fields(fields: Any) -> Any:
    """Return fields as mappings. In a file, a part of the built-in grade may be only a name."""
    if not isinstance(fields, list) or len(fields) > MOST_FIELDS:
        return fields
    mappings = []
    for each in fields:
        mapping = {"name": each} if isinstance(each, str) else each
        built_in = BUILT_IN.get(str(mapping.get("name"))) if isinstance(mapping, dict) else None
        if built_in is not None:
            if mapping.get("type", built_in.type) != built_in.type:
                raise ValueError(
                    f"{built_in.name} is a part of the built-in grade: leave its type out"
                )
            mapping = _as_json(built_in) | mapping
        mappings.append(mapping)
    return mappings


@dataclass(frozen=True, slots=True)
class LabelSchema:
    """Named fields in the order of display. `schema_from` checks the fields."""

    __pydantic_config__: ClassVar[ConfigDict] = CLOSED

    name: Annotated[Text, AfterValidator(checked_name)]
    fields: Annotated[
        tuple[SchemaField, ...],
        BeforeValidator(_fields),
        Field(min_length=1, max_length=MOST_FIELDS),
    ]

    @property
    def hash(self) -> str:
        """The SHA-256 of the content, 64 hexadecimal digits."""
        return hashlib.sha256(json.dumps(_as_json(self), sort_keys=True).encode()).hexdigest()

    @property
    def own(self) -> tuple[SchemaField, ...]:
        """The fields that are not part of the built-in grade."""
        return tuple(field for field in self.fields if not field.built_in)

    @property
    def is_label_set(self) -> bool:
        """Whether the only field is a category with the schema's name, to which imports can add labels as options."""
        categories = [(field.name, field.type, field.many) for field in self.own]
        return categories == [(self.name, FieldType.CATEGORY, False)] and len(self.fields) == 1

    def of_type(self, *types: FieldType) -> tuple[SchemaField, ...]:
        """Return the fields of these types that are not part of the built-in grade."""
        return tuple(field for field in self.own if field.type in types)

    def as_json(self) -> dict[str, Any]:
        """Return the schema in the form of a file, without default values."""
        return {"name": self.name, "fields": [_as_file(field) for field in self.fields]}

    def shown(self, values: Mapping[str, Any]) -> tuple[SchemaField, ...]:
        """Return the fields that are shown with these values. A condition on a hidden field is never met."""
        fields: dict[str, SchemaField] = {}
        for field in self.fields:
            if all(
                name in fields and _holds(values.get(name), options)
                for name, options in field.shown_when
            ):
                fields[field.name] = field
        return tuple(fields.values())

    def missing(self, values: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the required fields that are shown and have no value."""
        return tuple(
            f.name
            for f in self.shown(values)
            if f.required and values.get(f.name) in (None, "", [], ())
        )

    def checked(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the stored form of the values of shown fields. Raises BadInput for an invalid value or field."""
        fields = {field.name: field for field in self.fields}
        for name in values:
            if name not in fields:
                raise BadInput(
                    f"the schema {self.name} has no field {name!r}; its fields are {', '.join(fields)}"
                )
        checked = {name: fields[name].checked(value) for name, value in values.items()}
        shown_fields = self.shown(checked)
        return {
            field.name: checked[field.name]
            for field in shown_fields
            if checked.get(field.name) is not None
        }

    def grade(self, values: Mapping[str, Any], base: Grade = Grade()) -> Grade:  # noqa: B008 - immutable
        """Return ``base`` with these values in the fields of this schema. Raises BadInput as `checked` does."""
        checked = self.checked(values)

        def given(*types: FieldType) -> dict[str, Any]:
            return {
                field.name: checked[field.name]
                for field in self.of_type(*types)
                if field.name in checked
            }

        span_fields = {field.name for field in self.of_type(FieldType.SPANS)}
        other_spans = [span for span in base.spans or () if span.get("field") not in span_fields]
        spans = [
            span | {"field": name} for name, own in given(FieldType.SPANS).items() for span in own
        ]
        scales = [field for field in self.of_type(FieldType.SCALE) if field.name in checked]
        parts = {name: checked[name] for name in BUILT_IN if name in checked}
        if "label" in parts:
            parts["label"] = Label(parts["label"])
        return replace(
            base,
            scores=tuple(
                DimensionScore(field.name, checked[field.name], field.scale) for field in scales
            ),
            spans=(*other_spans, *spans) or None,
            choices=given(
                FieldType.CATEGORY, FieldType.YES_NO, FieldType.NUMBER, FieldType.RANKING
            ),
            texts=given(FieldType.TEXT),
            **parts,
        )

    def values(self, grade: Grade) -> dict[str, Any]:
        """Return the values of a grade in the fields of this schema."""
        values: dict[str, Any] = {name: getattr(grade, name) for name in BUILT_IN}
        values["label"] = None if grade.label is None else str(grade.label.value)
        values |= {**grade.choices, **grade.texts}
        values |= {score.dimension: score.value for score in grade.scores}
        for span in grade.spans or ():
            if span.get("field"):
                own = {name: value for name, value in span.items() if name != "field"}
                values.setdefault(span["field"], []).append(own)
        names = {field.name: field for field in self.fields}
        return {
            name: value for name, value in values.items() if name in names and value is not None
        }


def _holds(value: Any, options: Collection[Any]) -> bool:
    values = value if isinstance(value, list | tuple) else (value,)
    return any(
        each == want and isinstance(each, bool) == isinstance(want, bool)
        for each in values
        for want in options
    )


def read_schema(path: Path) -> LabelSchema:
    """Read a schema file; BadInput names file, line and field."""
    return schema_from(read_yaml(path))


def schema_in(text: str) -> LabelSchema:
    """Return the schema in a text of YAML; BadInput names line and field."""
    return schema_from(parse_yaml(text, "schema"))


def stored_schema(name: str, content: list[Any]) -> LabelSchema:
    """Return a stored schema."""
    return YamlFile(name, {"name": name, "fields": content}, {(): 1}).read(LabelSchema)


@lru_cache(maxsize=256)
def parsed_schema(name: str, fields: str) -> LabelSchema:
    """Return the schema with these fields in the stored JSON."""
    return stored_schema(name, json.loads(fields))


def schema_from(file: YamlFile) -> LabelSchema:
    """Return the schema of a file; BadInput names file, line and field.

    The file may also be a rubric. Each dimension then becomes a required scale with the dimension's
    levels.
    """
    # A rubric's file becomes a schema's file.
    content = file.content if isinstance(file.content, dict) else {}
    dimensions = None if "fields" in content else content.get("dimensions")
    if isinstance(dimensions, list) and all(isinstance(each, dict) for each in dimensions):
        scales = [
            {
                "name": each.get("name"),
                "help": each.get("description"),
                "levels": each.get("levels"),
            }
            | {"type": "scale", "required": True}
            for each in dimensions
        ]
        content = {"name": content.get("name", "rubric"), "fields": scales}
        lines = {
            ("fields", *path[1:]) if path[:1] == ("dimensions",) else path: line
            for path, line in file.lines.items()
        }
        file = YamlFile(file.name, content, lines)
    schema = file.read(LabelSchema)
    earlier: dict[str, SchemaField] = {}
    keys = {key for field in schema.fields for key in TAKEN_KEYS.get(field.name, "")}
    for place, field in enumerate(schema.fields):
        for part, why in (*field.problems(), *_problems_beside(field, earlier, keys)):
            raise file.fail(why, "fields", place, part)
        earlier[field.name] = field
        keys |= {option.key for option in field.options if option.key is not None}
    if len(json.dumps(_as_json(schema))) > LONGEST_SCHEMA:
        raise file.fail("the schema is too long")
    return schema


def _problems_beside(
    field: SchemaField, earlier: Mapping[str, SchemaField], keys: Collection[str]
) -> Iterator[tuple[str, str]]:
    """Yield each part of a field that contradicts the fields before it, with the reason."""
    if field.name.casefold() in {name.casefold() for name in earlier}:
        yield "name", "the field is given twice"
    for name, values in field.shown_when:
        if name not in earlier:
            yield "shown_when", f"no earlier field {name!r}"
            continue
        other = earlier[name]
        is_list = other.many or other.type is FieldType.RANKING
        if not values:
            yield "shown_when", f"{name} needs a value"
        for value in values:
            try:
                is_possible = _holds(other.checked([value] if is_list else value), (value,))
            except BadInput:
                is_possible = False
            if not is_possible:
                yield "shown_when", f"{name} is never {_shown(value)}"
    own_keys = [option.key for option in field.options if option.key is not None]
    for key in own_keys:
        if key in keys or own_keys.count(key) > 1:
            yield "options", f"key {key} is taken"


def as_yaml(schema: LabelSchema) -> str:
    """Return a schema as the text of a YAML file."""
    import yaml  # loads slowly, and only files need it

    return str(yaml.safe_dump(schema.as_json(), sort_keys=False, allow_unicode=True, width=100))


def _as_file(field: SchemaField) -> dict[str, Any]:
    content: dict[str, Any] = _as_json(field)
    if field.built_in:
        content = {
            name: value
            for name, value in content.items()
            if _as_json(BUILT_IN[field.name]).get(name) != value
        }
        return {"name": field.name} | content
    content |= {name: dict(content[name]) for name in ("levels", "shown_when") if name in content}
    if (
        all(option.help is None and option.key is None for option in field.options)
        and field.options
    ):
        content["options"] = [option.value for option in field.options]
    return content


_adapter = cache(TypeAdapter[Any])


def _as_json(value: Any) -> Any:
    """Return a value as JSON, without fields that have the default value."""
    kind: Any = type(value)
    return _adapter(kind).dump_python(value, mode="json", exclude_defaults=True)


def _shown(value: Any) -> str:
    text = repr(value) if isinstance(value, str) else json.dumps(value, default=str)
    return text if len(text) <= 40 else f"{text[:39]}…"

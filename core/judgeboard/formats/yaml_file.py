"""Reads YAML files that people write into typed values. Every error names the file, the line and the field.

PyYAML is imported where a file is read: many commands load this module, and few read a file.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BeforeValidator, PydanticInvalidForJsonSchema, TypeAdapter, ValidationError

from judgeboard.errors import BadInput
from judgeboard.text import file_text

if TYPE_CHECKING:
    import yaml
    from pydantic_core import ErrorDetails


T = TypeVar("T")
MOST_BYTES = 20_000_000
MOST_VALUES = 40_000  # a few lines with aliases of aliases can expand to billions of values
MOST_NODES = 2 * MOST_VALUES  # names of fields are nodes too
_JSON_LIKE = frozenset(
    f"tag:yaml.org,2002:{name}" for name in ("null", "bool", "int", "float", "str")
)
_UNKNOWN = frozenset({"extra_forbidden", "unexpected_keyword_argument"})

KeyPath = tuple[int | str, ...]
"""The path to a value in a file: names of fields and positions in lists."""


def unless_null(default: Any) -> BeforeValidator:
    """Use ``default`` if a field is in the file but has no value."""
    return BeforeValidator(lambda value: default if value is None else value)


def not_in_a_file(_value: Any) -> Any:
    """Refuse a field that only the program may fill (for `BeforeValidator`)."""
    raise ValueError("unknown field")


@dataclass(frozen=True, slots=True)
class YamlFile:
    """The content of a YAML file as JSON values, and the line of each value."""

    name: str
    content: Any
    lines: Mapping[KeyPath, int]

    def fail(self, reason: str, *keys: int | str) -> BadInput:
        """Return an error that names the line and the field at ``keys``."""
        while keys not in self.lines:
            keys = keys[:-1]
        path = "".join(
            f"[{step}]" if isinstance(step, int) else f".{step}" for step in keys
        ).lstrip(".")
        return BadInput(
            f"{self.name}, line {self.lines[keys]}: {f'{path}: ' if path else ''}{reason}"
        )

    def at(self, *keys: int | str) -> "YamlFile":
        """Return a part of the file as a separate file."""
        content = self.content
        for step in keys:
            content = content[step]
        depth = len(keys)
        lines = {path[depth:]: line for path, line in self.lines.items() if path[:depth] == keys}
        return YamlFile(self.name, content, lines)

    def read(self, kind: type[T]) -> T:
        """Return the content as a value of ``kind``, a dataclass whose annotations check the fields."""
        if not isinstance(self.content, dict):
            raise self.fail("the file must be a mapping of names to values")
        try:
            return TypeAdapter(kind).validate_python(self.content)
        except ValidationError as error:
            # Report unknown fields before missing ones: an unknown field may be a missing one,
            # misspelt.
            first = min(error.errors(), key=lambda fault: fault["type"] not in _UNKNOWN)
            keys = self._key_path(first)
            names = ", ".join(_fields(kind, keys)) if first["type"] in _UNKNOWN else ""
            raise self.fail(
                f"{_reason(first)}; known: {names}" if names else _reason(first), *keys
            ) from None

    def _key_path(self, fault: "ErrorDetails") -> KeyPath:
        """The keys of a fault in the file, without pydantic's own steps, such as the branch of a union."""
        keys: KeyPath = ()
        for step in (*fault["loc"], *fault.get("ctx", {}).get("place", ())):
            if (*keys, step) in self.lines:
                keys = (*keys, step)
        return keys


def _fields(kind: Any, keys: KeyPath) -> list[str]:
    """Return the names of the fields that are allowed at ``keys``, in place of the unknown field there."""
    try:
        schema = TypeAdapter(kind).json_schema()
    except PydanticInvalidForJsonSchema:
        return []
    place: dict[str, Any] = schema
    for step in (*keys[:-1], None):
        while "$ref" in place:
            place = schema["$defs"][place["$ref"].rpartition("/")[2]]
        if step is not None:
            place = (
                place.get("items", {})
                if isinstance(step, int)
                else place.get("properties", {}).get(step, {})
            )
    return list(place.get("properties", {}))


def _reason(fault: "ErrorDetails") -> str:
    if fault["type"] in _UNKNOWN:
        return "unknown field"
    if fault["type"] == "missing":
        return f"{fault['loc'][-1]} is required"
    reason, value = (
        fault["msg"].removeprefix("Value error, ").replace("valid tuple", "valid list"),
        fault["input"],
    )
    is_plain = (
        reason.startswith("Input should")
        and isinstance(value, str | int | float)
        and len(str(value)) < 80
    )
    return f"{reason}, not {value!r}" if is_plain else reason


def read_yaml(path: Path) -> YamlFile:
    """Read a YAML file (JSON is YAML too)."""
    return parse_yaml(file_text(path, most=MOST_BYTES), str(path))


def parse_yaml(text: str, file: str) -> YamlFile:
    """Return the content of a YAML text. Messages call the text ``file``."""
    import yaml

    if len(text) > MOST_BYTES:
        raise BadInput(f"{file} has more than {MOST_BYTES:,} characters")

    class Loader(yaml.SafeLoader):
        """Counts the nodes during loading: each node takes about 1 KB of memory."""

        nodes = 0

        def compose_node(self, parent: "yaml.Node | None", index: int) -> "yaml.Node | None":
            self.nodes += 1
            if self.nodes > MOST_NODES:
                line = self.get_mark().line + 1
                raise BadInput(
                    f"{file}, line {line}: more than {MOST_VALUES:,} values: split the file"
                )
            return super().compose_node(parent, index)

    try:
        loader = Loader(text)
        node = loader.get_single_node()
        if node is None:
            raise BadInput(f"{file} is empty")
        reading = _Reading(loader, file)
        content = reading.value(node, ())
        return YamlFile(file, content, reading.lines)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        hint = (
            "; a text with special characters needs quotes inside { } or [ ]"
            if "but got" in str(error.problem)
            else ""
        )
        raise BadInput(
            f"{file}{f', line {mark.line + 1}' if mark else ''}: bad YAML: {error.problem}{hint}"
        ) from error
    except yaml.YAMLError as error:
        raise BadInput(f"{file}: bad YAML: {error}") from error
    except RecursionError:
        raise BadInput(f"{file}: nested too deeply") from None


class _Reading:
    """Converts the nodes of one document to values, and records the lines."""

    def __init__(self, loader: "yaml.SafeLoader", file: str) -> None:
        self.lines: dict[KeyPath, int] = {}
        self._loader = loader
        self._file = file
        self._within: set[int] = set()

    def value(self, node: "yaml.Node", keys: KeyPath) -> Any:
        import yaml

        line = node.start_mark.line + 1
        self.lines.setdefault(
            keys, line
        )  # the line of the field's name, because the value may begin later
        if len(self.lines) > MOST_VALUES:
            raise BadInput(f"{self._file}, line {line}: more than {MOST_VALUES:,} values")
        if id(node) in self._within:
            raise BadInput(f"{self._file}, line {line}: this value contains itself")
        self._within.add(id(node))
        try:
            if isinstance(node, yaml.SequenceNode):
                return [
                    self.value(entry, (*keys, number)) for number, entry in enumerate(node.value)
                ]
            if isinstance(node, yaml.MappingNode):
                return dict(self._fields(node, keys))
        finally:
            self._within.discard(id(node))
        if node.tag not in _JSON_LIKE:
            return node.value  # the text: people who write a date do not expect another type
        try:
            return self._loader.construct_object(node)
        except ValueError as error:
            raise BadInput(f"{self._file}, line {line}: {error}") from error

    def _fields(self, node: "yaml.MappingNode", keys: KeyPath) -> Iterator[tuple[str, Any]]:
        names: set[str] = set()
        for name_node, value_node in node.value:
            name, line = name_node.value, name_node.start_mark.line + 1
            if not isinstance(name, str):
                raise BadInput(f"{self._file}, line {line}: the name of a field must be a text")
            if name in names:
                raise BadInput(f"{self._file}, line {line}: the field {name!r} is given twice")
            names.add(name)
            self.lines[(*keys, name)] = line
            yield name, self.value(value_node, (*keys, name))

"""Reads YAML files of people so that every complaint names the file and the line."""

import math
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judgeboard.errors import BadInput
from judgeboard.storable_text import unstorable

if TYPE_CHECKING:
    import yaml

MOST_BYTES = 20_000_000
_JSON_LIKE = frozenset(f"tag:yaml.org,2002:{name}" for name in ("null", "bool", "int", "float", "str"))


@dataclass(frozen=True, slots=True)
class YamlValue:
    """A value with its place: a scalar, a list of values, or a mapping of names to values."""

    content: Any
    file: str
    line: int

    def fail(self, reason: str) -> BadInput:
        """Return the error that names this place."""
        return BadInput(f"{self.file}, line {self.line}: {reason}")

    def fields(self, what: str, known: Collection[str]) -> dict[str, "YamlValue"]:
        """Return a mapping whose names are all ``known``; fields that are null count as absent.

        Raises:
            BadInput: It is no mapping, or has a field that nobody reads: a typo, most often.
        """
        given = self.mapping(what)
        for name, value in given.items():
            if name not in known:
                raise value.fail(f"{what} has no field {name!r}; there is {', '.join(known)}")
        return {name: value for name, value in given.items() if value.content is not None}

    def mapping(self, what: str) -> dict[str, "YamlValue"]:
        """Return a mapping with whatever names; raise BadInput where it is none."""
        if not isinstance(self.content, dict):
            raise self.fail(f"{what} must be a mapping of names to values")
        return dict(self.content)

    def items(self, what: str) -> list["YamlValue"]:
        """Return the entries of a list; raise BadInput where it is none."""
        if not isinstance(self.content, list):
            raise self.fail(f"{what} must be a list")
        return list(self.content)

    def text(self, what: str) -> str:
        """Return a text that can be stored; raise BadInput where it is none, or blank."""
        if not isinstance(self.content, str) or not self.content.strip():
            raise self.fail(f"{what} must be a text" + self._quoted())
        if fault := unstorable(self.content):
            raise self.fail(f"{what} holds {fault}")
        return self.content

    def number(self, what: str, low: float, high: float = math.inf) -> float:
        """Return a number from ``low`` to ``high``; raise BadInput where it is none. ``true`` is not 1."""
        value = self.content
        unbounded = isinstance(value, float) and not math.isfinite(value)
        if isinstance(value, bool) or not isinstance(value, int | float) or unbounded:
            raise self.fail(f"{what} must be a number" + self._quoted())
        if not low <= value <= high:
            bounds = f"from {low:g} to {high:g}" if high < math.inf else f"at least {low:g}"
            raise self.fail(f"{what} must be {bounds}" + (f", not {value:g}" if abs(value) < 1e300 else ""))
        return float(value)

    def plain(self) -> Any:
        """Return the value without places, as JSON would hold it."""
        if isinstance(self.content, dict):
            return {name: value.plain() for name, value in self.content.items()}
        if isinstance(self.content, list):
            return [value.plain() for value in self.content]
        return self.content

    def _quoted(self) -> str:
        scalar = not isinstance(self.content, dict | list)
        return f", not {self.content!r}" if scalar and self.content is not None else ""


def read_yaml(path: Path) -> YamlValue:
    """Read a YAML file (JSON is YAML too).

    Raises:
        BadInput: It cannot be read, is empty or no YAML, or gives a field twice.
    """
    try:
        if path.stat().st_size > MOST_BYTES:
            raise BadInput(f"{path} has more than {MOST_BYTES:,} bytes")
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{path} cannot be read: {error}") from error
    return parse_yaml(text, str(path))


def parse_yaml(text: str, file: str) -> YamlValue:
    """Return the value of a YAML text; ``file`` is its name for messages, errors as `read_yaml`."""
    import yaml

    try:
        loader = yaml.SafeLoader(text)
        node = loader.get_single_node()
        if node is None:
            raise BadInput(f"{file} is empty")
        return _Reading(loader, file).value(node)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        hint = (
            "; a text with marks of its own inside of { } or [ ] needs quotes"
            if "but got" in str(error.problem)
            else ""
        )
        raise BadInput(f"{file}{f', line {mark.line + 1}' if mark else ''}: no YAML: {error.problem}{hint}") from error
    except yaml.YAMLError as error:
        raise BadInput(f"{file}: no YAML: {error}") from error
    except RecursionError:
        raise BadInput(f"{file}: nested too deeply") from None


class _Reading:
    """Turns the nodes of one document into values; a node that several aliases name becomes one value."""

    def __init__(self, loader: "yaml.SafeLoader", file: str) -> None:
        self._loader = loader
        self._file = file
        self._done: dict[int, YamlValue | None] = {}

    def value(self, node: "yaml.Node") -> YamlValue:
        if id(node) not in self._done:
            self._done[id(node)] = None
            self._done[id(node)] = YamlValue(self._content(node), self._file, node.start_mark.line + 1)
        known = self._done[id(node)]
        if known is None:
            raise BadInput(f"{self._file}, line {node.start_mark.line + 1}: this value contains itself")
        return known

    def _content(self, node: "yaml.Node") -> Any:
        import yaml

        if isinstance(node, yaml.SequenceNode):
            return [self.value(entry) for entry in node.value]
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node)
        if node.tag not in _JSON_LIKE:
            return node.value  # a date, bytes or a tag of its own would surprise whoever meant a text
        try:
            return self._loader.construct_object(node)
        except ValueError as error:
            raise BadInput(f"{self._file}, line {node.start_mark.line + 1}: {error}") from error

    def _mapping(self, node: "yaml.MappingNode") -> dict[str, YamlValue]:
        fields: dict[str, YamlValue] = {}
        for name_node, value_node in node.value:
            place = f"{self._file}, line {name_node.start_mark.line + 1}"
            name = name_node.value
            if not isinstance(name, str):
                raise BadInput(f"{place}: a field's name must be a word")
            if name in fields:
                raise BadInput(f"{place}: the field {name!r} is given twice")
            value = self.value(value_node)
            # The line of its name: a value may begin a line later.
            fields[name] = YamlValue(value.content, self._file, name_node.start_mark.line + 1)
        return fields

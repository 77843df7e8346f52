"""Describes the JSON of commands in words: by the types of result classes, or by an example."""

import dataclasses
import inspect
import types
import typing
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import date, datetime, timedelta
from enum import Enum
from typing import Any


class JsonTypes:
    """Describes the JSON of dataclasses; each class that is met gets a table of its own."""

    def __init__(self) -> None:
        self.classes: dict[str, type] = {}

    def words(self, kind: Any) -> str:
        """Return a type in words."""
        origin, arguments = typing.get_origin(kind), typing.get_args(kind)
        if origin in {types.UnionType, typing.Union}:
            return " or ".join(self.words(one) for one in arguments)
        if origin is typing.Literal:
            return f"one of {_code(arguments)}"
        if origin is not None and issubclass(origin, Mapping):
            return f"object: {self.words(arguments[0])} → {self.words(arguments[1])}"
        if origin is tuple and Ellipsis not in arguments:
            return f"[{', '.join(self.words(one) for one in arguments)}]"
        if origin is not None and issubclass(origin, Collection):
            return f"list of {self.words(arguments[0])}"
        return self._plain(kind)

    def _plain(self, kind: Any) -> str:
        if dataclasses.is_dataclass(kind) and isinstance(kind, type):
            self.classes.setdefault(kind.__name__, kind)
            return f"[{kind.__name__}](#{kind.__name__.lower()})"
        if isinstance(kind, type) and issubclass(kind, Enum):
            return f"one of {_code([one.value for one in kind])}"
        if isinstance(kind, type) and kind.__name__ == "ndarray":
            return "list of numbers"
        names = {
            str: "text",
            bool: "true or false",
            int: "integer",
            float: "number",
            type(None): "null",
        }
        times = {datetime: "time (ISO 8601, UTC)", date: "day (ISO 8601)", timedelta: "seconds"}
        return (names | times).get(
            kind, "any JSON" if kind in {Any, object} else getattr(kind, "__name__", str(kind))
        )

    def rows(self, cls: type) -> list[tuple[str, str, str]]:
        """Return the fields of a dataclass: name, type, meaning."""
        try:
            hints = typing.get_type_hints(cls)
        except NameError:  # a type that is imported only for type checkers
            hints = {}
        about = attributes(cls)
        return [
            (
                f"`{field.name}`",
                self.words(hints.get(field.name, field.type)),
                about.get(field.name, ""),
            )
            for field in dataclasses.fields(cls)
            if not field.name.startswith("_")
        ]


def attributes(cls: type) -> dict[str, str]:
    """Return what the section "Attributes" of a docstring tells about each field."""
    section = (inspect.getdoc(cls) or "").partition("Attributes:\n")[2]
    found: dict[str, str] = {}
    name = ""
    for line in section.splitlines():
        if line.startswith("    ") and not line.startswith("     ") and ":" in line:
            name, _, words = line.strip().partition(":")
            found[name] = words.strip()
        elif name and line.strip():
            found[name] += f" {line.strip()}"
    return found


def fields_of(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield the fields of a JSON value with their types: `items[].id`, integer."""
    names = {
        dict: "object",
        list: "list",
        str: "text",
        bool: "true or false",
        int: "integer",
        float: "number",
    }
    if path:
        yield path, names.get(type(value), "null here")
    if isinstance(value, dict):
        for name, one in value.items():
            yield from fields_of(one, f"{path}.{name}" if path else name)
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        for name in dict.fromkeys(
            name for one in value for name in one
        ):  # elements may be of several kinds
            first = next((one[name] for one in value if one.get(name) is not None), None)
            yield from fields_of(first, f"{path}[].{name}")


def _code(names: Iterable[object]) -> str:
    return ", ".join(f"`{name}`" for name in names)

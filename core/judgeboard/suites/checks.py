"""Programmatic checks of an answer, where a criterion is objective: equal to, matching, valid by a schema."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from pydantic_core import PydanticCustomError

from judgeboard.errors import BadInput

_MOST_SAID = 200


@dataclass(frozen=True, slots=True)
class Checked:
    """What a check found; ``said`` tells why it failed."""

    check: "Check"
    passed: bool
    said: str | None = None

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON values; what failed may quote the answer and is left out."""
        return {**self.check.as_json(), "passed": self.passed}


@dataclass(frozen=True, slots=True)
class Check:
    """One check: a key of ``CHECKS``, and what it looks for.

    Raises:
        BadInput: There is no such check, or it cannot look for that.
    """

    kind: str
    wanted: Any

    def __post_init__(self) -> None:
        if self.kind not in CHECKS:
            raise BadInput(f"there is no check {self.kind!r}; there is {', '.join(CHECKS)}")
        try:
            CHECKS[self.kind](self.wanted, "")
        except BadInput as error:
            raise BadInput(f"{self.kind}: {error}") from error

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {"kind": self.kind, "wanted": self.wanted}

    def of(self, answer: str) -> Checked:
        """Return whether ``answer`` passes."""
        said = CHECKS[self.kind](self.wanted, answer)
        return Checked(self, said is None, said if said is None or len(said) <= _MOST_SAID else f"{said[:199]}…")


def read_checks(given: Any) -> tuple[Check, ...]:
    """Return the checks of a case in a file: a mapping of checks, or a list of such where one is wanted twice.

    Raises:
        ValueError: One of them cannot be used.
    """
    listed = [given] if isinstance(given, dict) else given or []
    if not isinstance(listed, list) or not all(isinstance(checks, dict) for checks in listed):
        raise ValueError("checks must be a mapping, or a list of mappings")
    read = []
    for place, checks in enumerate(listed):
        for kind, wanted in checks.items():
            try:
                read += [] if wanted is None else [Check(kind, wanted)]
            except BadInput as error:
                found = (kind,) if isinstance(given, dict) else (place, kind)
                raise PydanticCustomError("check", "{reason}", {"reason": str(error), "place": found}) from error
    return tuple(read)


def _equals(wanted: Any, answer: str) -> str | None:
    if not isinstance(wanted, str):
        raise BadInput(f"a text is wanted, not {wanted!r}: put it in quotes")
    return None if answer.strip() == wanted.strip() else "the answer is another text"


def _regex(wanted: Any, answer: str) -> str | None:
    if not isinstance(wanted, str):
        raise BadInput(f"a pattern is wanted, not {wanted!r}: put it in quotes")
    try:
        return None if re.search(wanted, answer) else "nothing in the answer matches"
    except re.error as error:
        raise BadInput(f"no regular expression: {error}") from error


def _json_schema(wanted: Any, answer: str) -> str | None:
    import jsonschema
    import referencing

    if not isinstance(wanted, Mapping):
        raise BadInput("a JSON schema is wanted")
    try:
        jsonschema.Draft202012Validator.check_schema(wanted)
    except jsonschema.SchemaError as error:
        raise BadInput(f"no JSON schema: {error.message}") from error
    try:
        content = json.loads(answer)
    except (ValueError, RecursionError) as error:
        return f"the answer is no JSON: {error}"
    try:
        # An empty registry: a reference to an address elsewhere is never fetched.
        validator = jsonschema.Draft202012Validator(wanted, registry=referencing.Registry())
        fault = jsonschema.exceptions.best_match(validator.iter_errors(content))
    except referencing.exceptions.Unresolvable as error:
        return f"the schema refers to what is not in it: {error}"
    return None if fault is None else f"{fault.json_path}: {fault.message}"


CHECKS: Mapping[str, Callable[[Any, str], str | None]] = MappingProxyType(
    {"equals": _equals, "regex": _regex, "json_schema": _json_schema}
)
"""Name of a check to what it says of an answer, None where it passes; a new check is one function and one line."""

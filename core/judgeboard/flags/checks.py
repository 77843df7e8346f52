"""Deterministic checks of answers, in suites and on the log. Each has a function and a line in ``CHECKS``.

A check takes a bounded time for every argument and every answer. Regular expressions run in RE2,
where the time grows linearly with the text. Schemas have a limit of steps. No check measures time:
the same answer always gives the same result. PyArrow, jsonschema and referencing load slowly, so
only the checks that use these packages import them.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Annotated, Any, ClassVar

from pydantic import ConfigDict, Field
from pydantic_core import PydanticCustomError

from judgeboard.errors import BadInput
from judgeboard.formats.yaml_file import parse_yaml
from judgeboard.judges.words import cited_numbers, only_declines
from judgeboard.settings.fields import CLOSED, Text
from judgeboard.text import shortened

LONGEST = 50_000
"""Characters of an answer up to which patterns and schemas are checked."""
LONGEST_PATTERN = 1_000
MOST_SCHEMA_STEPS = 20_000
_STEPS_OF_A_REFERENCE = 20  # a reference takes so much longer than another step
MOST_CHECKS = 50


Passages = tuple[str, ...] | None  # None if none were logged


@dataclass(frozen=True, slots=True)
class Check:
    """One check: a key of ``CHECKS`` and its argument; raises BadInput if the key or the argument is invalid."""

    kind: str
    wanted: Any

    def __post_init__(self) -> None:
        if self.kind not in CHECKS:
            raise BadInput(f"unknown check {self.kind!r}; the checks are {', '.join(CHECKS)}")
        try:
            CHECKS[self.kind](self.wanted, "", None)
        except BadInput as error:
            raise BadInput(f"{self.kind}: {error}") from error

    def failure(self, answer: str, passages: Passages = None) -> str | None:
        """Return why ``answer`` fails; None if it passes."""
        if len(answer) > LONGEST and self.kind not in _OF_ANY_LENGTH:
            return f"longer than {LONGEST:,} characters"
        why = CHECKS[self.kind](self.wanted, answer, passages)
        return None if why is None else shortened(why)

    @property
    def fingerprint(self) -> str:
        """16 hexadecimal digits that identify the check by its content."""
        content = json.dumps([self.kind, self.wanted], sort_keys=True, ensure_ascii=True)
        return hashlib.sha256(content.encode()).hexdigest()[:16]


def read_checks(content: Any) -> tuple[Check, ...]:
    """Return the checks of a case in a file: a mapping, or a list of mappings to use one check twice."""
    mappings = [content] if isinstance(content, dict) else content
    if not isinstance(mappings, list) or not all(isinstance(mapping, dict) for mapping in mappings):
        raise ValueError("checks must be a mapping, or a list of mappings")
    checks = []
    for index, mapping in enumerate(mappings):
        for kind, argument in mapping.items():
            try:
                checks.append(Check(kind, argument))
            except BadInput as error:
                place = (kind,) if isinstance(content, dict) else (index, kind)
                raise PydanticCustomError(
                    "check", "{reason}", {"reason": str(error), "place": place}
                ) from error
    return tuple(checks)


def _text(value: Any, what: str) -> str:
    if not isinstance(value, str):
        raise BadInput(f"must be {what}, not {value!r}: put it in quotes")
    return value


def _matches(pattern: str, text: str) -> bool:
    """Return whether RE2 finds the pattern. Python's `re` could take years for some patterns (backtracking)."""
    import pyarrow.compute

    if len(pattern) > LONGEST_PATTERN:
        raise BadInput(f"a pattern has at most {LONGEST_PATTERN:,} characters")
    try:
        matches = pyarrow.compute.match_substring_regex(
            pyarrow.array([text], pyarrow.string()), pattern=pattern
        )
    except (pyarrow.ArrowInvalid, UnicodeError) as error:
        reason = str(error).removeprefix("Invalid regular expression: ")
        raise BadInput(f"not a regular expression (syntax of RE2): {reason}") from error
    return bool(matches[0].as_py())


_LIMITS = {"min_words": True, "max_words": False, "min_characters": True, "max_characters": False}


def _length(limits: Any, answer: str, _passages: Passages) -> str | None:
    if not isinstance(limits, dict) or not limits or not limits.keys() <= _LIMITS.keys():
        raise BadInput(f"must have one or more of {', '.join(_LIMITS)}")
    for name, limit in limits.items():
        if isinstance(limit, bool) or not isinstance(limit, int) or limit < 0:
            raise BadInput(f"{name} must be a whole number from 0, not {limit!r}")
    for name, limit in limits.items():
        unit = name.partition("_")[2]
        size = len(answer.split()) if unit == "words" else len(answer)
        if size < limit if _LIMITS[name] else size > limit:
            return f"{size:,} {unit} ({name}: {limit:,})"
    return None


def _refusal(argument: Any, answer: str, _passages: Passages) -> str | None:
    if not isinstance(argument, bool):
        raise BadInput(f"must be true or false, not {argument!r}")
    if only_declines(answer) is argument:
        return None
    return "the answer is not a refusal" if argument else "the answer is a refusal"


def _cites_passage(argument: Any, answer: str, passages: Passages) -> str | None:
    """Fail without a citation, or with a citation of a passage that does not exist. A refusal needs no citation."""
    if argument is not True:
        raise BadInput(f"must be true, not {argument!r}")
    numbers = cited_numbers(answer)
    if not numbers:
        return None if only_declines(answer) else "the answer cites no passage"
    absent = (
        []
        if passages is None
        else sorted(each for each in numbers if not 1 <= each <= len(passages))
    )
    return f"no passage {absent[0]}" if absent else None


def _json_schema(schema: Any, answer: str, _passages: Passages) -> str | None:
    import jsonschema
    import referencing

    validator = (
        _validator(json.dumps(schema, sort_keys=True)) if isinstance(schema, Mapping) else None
    )
    if validator is None:
        raise BadInput("must be a JSON schema")
    try:
        content = json.loads(answer)
    except (ValueError, RecursionError) as error:
        return f"not JSON: {error}"
    try:
        fault = jsonschema.exceptions.best_match(validator().iter_errors(content))
    except referencing.exceptions.Unresolvable as error:
        return f"unknown reference in the schema: {error}"
    except (_TooManySteps, RecursionError):
        return "the schema needs too many steps for this answer"
    return None if fault is None else f"{fault.json_path}: {fault.message}"


class _TooManySteps(Exception):
    pass


@lru_cache(maxsize=64)
def _validator(schema: str) -> Callable[[], Any]:
    """Return a function that makes a validator with a fresh limit of steps, or raise BadInput."""
    import jsonschema
    import referencing

    base, content = jsonschema.Draft202012Validator, json.loads(schema)
    try:
        base.check_schema(content)
    except jsonschema.SchemaError as error:
        raise BadInput(f"not a JSON schema: {error.message}") from error
    except RecursionError as error:
        raise BadInput("not a JSON schema: nested too deeply") from error
    for key, pattern in _patterns(content):
        if key == "patternProperties":
            raise BadInput(
                "not a JSON schema that can be checked: patternProperties is not supported"
            )
        if isinstance(pattern, str):
            _matches(pattern, "")

    def make() -> Any:
        steps = [MOST_SCHEMA_STEPS]

        def limited(name: str, check: Any) -> Any:
            def run(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[Any]:
                steps[0] -= _STEPS_OF_A_REFERENCE if name in {"$ref", "$dynamicRef"} else 1
                if steps[0] < 0:
                    raise _TooManySteps
                yield from check(validator, value, instance, schema) or ()

            return run

        checks = {**base.VALIDATORS, "pattern": _schema_pattern, "uniqueItems": _unique_items}
        validators = {name: limited(name, check) for name, check in checks.items()}
        kind: Any = jsonschema.validators.extend(base, validators)  # type: ignore[no-untyped-call]
        # With an empty registry, a reference to another address is never fetched.
        return kind(content, registry=referencing.Registry())

    return make


def _patterns(schema: Any) -> Iterator[tuple[str, Any]]:
    """Yield the keys of a schema that have patterns, with their values."""
    if isinstance(schema, dict):
        for key, value in schema.items():
            if key in {"pattern", "patternProperties"}:
                yield key, value
            yield from _patterns(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from _patterns(value)


def _schema_pattern(_validator: Any, pattern: str, instance: Any, _schema: Any) -> Iterator[Any]:
    import jsonschema

    if isinstance(instance, str) and not _matches(pattern, instance):
        yield jsonschema.ValidationError(
            f"{shortened(repr(instance), 80)} does not match {pattern!r}"
        )


def _unique_items(_validator: Any, unique: Any, instance: Any, _schema: Any) -> Iterator[Any]:
    """Check unique items in linear time; the library's own check compares every item with every other."""
    import jsonschema

    if unique and isinstance(instance, list):
        values = {json.dumps(item, sort_keys=True) for item in instance}
        if len(values) < len(instance):
            yield jsonschema.ValidationError("the list has non-unique elements")


CHECKS: Mapping[str, Callable[[Any, str, Passages], str | None]] = MappingProxyType(
    {
        "equals": lambda argument, answer, _passages: (
            None
            if answer.strip() == _text(argument, "a text").strip()
            else "the answer is a different text"
        ),
        "regex": lambda argument, answer, _passages: (
            None if _matches(_text(argument, "a pattern"), answer) else "no match in the answer"
        ),
        "not_regex": lambda argument, answer, _passages: (
            "a match in the answer" if _matches(_text(argument, "a pattern"), answer) else None
        ),
        "json_schema": _json_schema,
        "length": _length,
        "refusal": _refusal,
        "cites_passage": _cites_passage,
    }
)
"""Checks by name. A check returns None if the answer passes, otherwise the reason."""
_OF_ANY_LENGTH = frozenset({"equals", "length"})
_REMOVED = frozenset({"language", "python"})  # kinds of earlier releases


@dataclass(frozen=True, slots=True)
class NamedCheck:
    """A check of logged answers, for answers of the ``query_types`` (empty: all)."""

    name: str
    check: Check
    query_types: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _ChecksFile:
    __pydantic_config__: ClassVar[ConfigDict] = CLOSED

    checks: Annotated[tuple[dict[str, Any], ...], Field(max_length=MOST_CHECKS)]


@dataclass(frozen=True, slots=True)
class _Named:
    __pydantic_config__: ClassVar[ConfigDict] = CLOSED

    name: Annotated[Text, Field(max_length=100)]
    query_types: tuple[Text, ...] = ()


@lru_cache(maxsize=16)
def named_checks(text: str, *, stored: bool = False) -> tuple[NamedCheck, ...]:
    """Return the checks of logged answers in a YAML text, none for a blank text. BadInput names line and field.

    From a ``stored`` text, which an earlier release may have checked, removed kinds are left out.
    """
    if not text.strip():
        return ()
    file = parse_yaml(text, "checks")
    checks_by_fingerprint: dict[str, NamedCheck] = {}
    for place, entry in enumerate(file.read(_ChecksFile).checks):
        if stored and not _REMOVED.isdisjoint(entry):
            continue
        kinds = [key for key in entry if key in CHECKS]
        if len(kinds) != 1:
            raise file.fail(f"a check has a name and one of {', '.join(CHECKS)}", "checks", place)
        part = file.at("checks", place)
        own = type(part)(
            part.name, {key: value for key, value in entry.items() if key != kinds[0]}, part.lines
        )
        about = own.read(_Named)
        try:
            check = Check(kinds[0], entry[kinds[0]])
        except BadInput as error:
            raise file.fail(str(error), "checks", place, kinds[0]) from error
        same = checks_by_fingerprint.get(check.fingerprint)
        if same is not None or about.name in {each.name for each in checks_by_fingerprint.values()}:
            raise file.fail(
                f"another check has the same {'content' if same else 'name'}", "checks", place
            )
        checks_by_fingerprint[check.fingerprint] = NamedCheck(about.name, check, about.query_types)
    return tuple(checks_by_fingerprint.values())

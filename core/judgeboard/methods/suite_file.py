"""Suites: cases to answer, a rubric to judge the answers by, thresholds to pass, as a YAML file gives them."""

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

from judgeboard.errors import BadInput
from judgeboard.judges.examples import Context
from judgeboard.judges.rubric_file import LEVELS, Rubric, default_rubric, read_rubric, rubric_from
from judgeboard.yaml_file import CLOSED, Number, Text, YamlFile, not_in_a_file, read_yaml, unless_null

_LONGEST_REASON = 200


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

    def failure(self, answer: str) -> str | None:
        """Return why ``answer`` fails, None where it passes."""
        why = CHECKS[self.kind](self.wanted, answer)
        return why if why is None or len(why) <= _LONGEST_REASON else f"{why[: _LONGEST_REASON - 1]}…"


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


THRESHOLD = 3.5
MAX_UNMEASURED = 0.05
MAX_DROP = 0.05


@dataclass(frozen=True)
class Case:
    """A question with its reference, context and checks; ``id`` names it in recordings, ``line`` its line."""

    __pydantic_config__: ClassVar[ConfigDict] = CLOSED

    query: Text
    id: Annotated[Text, unless_null("")] = ""
    reference: Text | None = None
    context: Context | None = None
    checks: Annotated[tuple[Check, ...], BeforeValidator(read_checks)] = ()
    line: Annotated[int | None, BeforeValidator(not_in_a_file)] = None

    @cached_property
    def key(self) -> str:
        """The content address of what is asked: the same in every run, and under every id, that asks it."""
        content = [self.query, self.reference, None if self.context is None else list(self.context)]
        return hashlib.sha256(json.dumps(content, ensure_ascii=True).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Suite:
    """Cases, the rubric that their answers are judged by, and what the gate asks for.

    Source: "LLM-as-Judge", AI Engineering Patterns (2026); ``max_unmeasured`` and ``max_drop`` are ours.

    Attributes:
        name: What its runs are listed under.
        cases: Distinct by what they ask.
        rubric: What answers are scored on.
        threshold: A case passes from this overall score, 1 to 5, and the suite where the average does.
        max_unmeasured: Share of cases without a score above which nothing is concluded.
        max_drop: How far the pass rate may fall behind a baseline without being a regression.
        candidate: Who answers, unless a run names another.

    Raises:
        BadInput: There is no case, two cases ask the same, or a number is out of its range.
    """

    name: str
    cases: tuple[Case, ...]
    rubric: Rubric
    threshold: float = THRESHOLD
    max_unmeasured: float = MAX_UNMEASURED
    max_drop: float = MAX_DROP
    candidate: str | None = None

    def __post_init__(self) -> None:
        if not self.cases:
            raise BadInput(f"the suite {self.name!r} has no case")
        if len({case.key for case in self.cases}) < len(self.cases):
            raise BadInput(f"the suite {self.name!r} asks the same case twice")
        if len({case.id for case in self.cases}) < len(self.cases):
            raise BadInput(f"the suite {self.name!r} has two cases with one id")
        if not LEVELS[0] <= self.threshold <= LEVELS[-1]:
            raise BadInput(f"a threshold lies from 1 to 5, not at {self.threshold!r}")
        if not (0 <= self.max_unmeasured <= 1 and 0 <= self.max_drop <= 1):
            raise BadInput("max_unmeasured and max_drop are shares from 0 to 1")

    def as_spec(self) -> dict[str, Any]:
        """Return what a run keeps of it, as JSON values: no text of a case, which could not be forgotten again."""
        cases = [
            {"id": case.id, "key": case.key, "line": case.line, "checks": [asdict(check) for check in case.checks]}
            for case in self.cases
        ]
        return {
            "threshold": self.threshold,
            "max_unmeasured": self.max_unmeasured,
            "max_drop": self.max_drop,
            "weights": self.rubric.weights,
            "cases": cases,
        }


def spec_hash(spec: dict[str, Any]) -> str:
    """Return the SHA-256 of a suite's spec, 64 hexadecimal digits; where its cases stand in a file does not count."""
    cases = [{name: value for name, value in case.items() if name != "line"} for case in spec["cases"]]
    content = json.dumps(spec | {"cases": cases}, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(content.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class _SuiteFile:
    """A suite as its file has it: the rubric is one, or the name of a file beside it."""

    __pydantic_config__: ClassVar[ConfigDict] = CLOSED

    name: Text
    cases: Annotated[tuple[Case, ...], Field(min_length=1)]
    rubric: dict[str, Any] | Text | None = None
    candidate: Text | None = None
    threshold: Annotated[Number, Field(ge=LEVELS[0], le=LEVELS[-1]), unless_null(THRESHOLD)] = THRESHOLD
    max_unmeasured: Annotated[Number, Field(ge=0, le=1), unless_null(MAX_UNMEASURED)] = MAX_UNMEASURED
    max_drop: Annotated[Number, Field(ge=0, le=1), unless_null(MAX_DROP)] = MAX_DROP


def read_suite(path: str | Path) -> Suite:
    """Read a suite file; a rubric that it names is looked for beside it.

    Raises:
        BadInput: It or its rubric cannot be read or used; the message names file, line and field.
    """
    path = Path(path)
    file = read_yaml(path)
    form = file.read(_SuiteFile)
    cases = tuple(
        replace(case, id=case.id or str(place + 1), line=file.lines["cases", place])
        for place, case in enumerate(form.cases)
    )
    _check_distinct(file, cases)
    return Suite(
        name=form.name,
        cases=cases,
        rubric=_rubric(file, form.rubric, path),
        threshold=form.threshold,
        max_unmeasured=form.max_unmeasured,
        max_drop=form.max_drop,
        candidate=form.candidate,
    )


def _rubric(file: YamlFile, given: dict[str, Any] | str | None, path: Path) -> Rubric:
    if given is None:
        return default_rubric()
    return read_rubric(path.parent / given) if isinstance(given, str) else rubric_from(file.at("rubric"))


def _check_distinct(file: YamlFile, cases: Sequence[Case]) -> None:
    for what in ("key", "id"):
        seen: dict[str, Case] = {}
        for place, case in enumerate(cases):
            value = getattr(case, what)
            if value in seen:
                fault = "asks the same as" if what == "key" else f"has the id {value!r} of"
                raise file.fail(f"this case {fault} the one on line {seen[value].line}", "cases", place)
            seen[value] = case

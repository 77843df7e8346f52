"""Suites: cases, rubric and thresholds from a YAML file."""

import hashlib
import json
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, ConfigDict, Field

from judgeboard.errors import BadInput
from judgeboard.flags.checks import Check, read_checks
from judgeboard.formats.yaml_file import not_in_a_file, read_yaml, unless_null
from judgeboard.judges.prompt import Context
from judgeboard.judges.rubric_file import LEVELS, Rubric, default_rubric, read_rubric, rubric_from
from judgeboard.settings.fields import CLOSED, Number, Text

THRESHOLD = 3.5
MAX_UNMEASURED = 0.05
MAX_DROP = 0.05


@dataclass(frozen=True)
class Case:
    """A question with reference, context and checks. Recordings use the ``id``; ``line`` is the line in the file."""

    __pydantic_config__: ClassVar[ConfigDict] = CLOSED

    query: Text
    id: Annotated[Text, unless_null("")] = ""
    reference: Text | None = None
    context: Context | None = None
    checks: Annotated[tuple[Check, ...], BeforeValidator(read_checks), unless_null([])] = ()
    line: Annotated[int | None, BeforeValidator(not_in_a_file)] = None

    @cached_property
    def key(self) -> str:
        """The content address of query, reference and context."""
        content = [self.query, self.reference, None if self.context is None else list(self.context)]
        return hashlib.sha256(json.dumps(content, ensure_ascii=True).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Suite:
    """Cases, the rubric for judging answers, and the thresholds of the gate; raises BadInput if one is invalid.

    Source: "LLM-as-Judge", AI Engineering Patterns (2026); ``max_unmeasured`` and ``max_drop`` are
    our own. ``threshold`` (1 to 5) is the minimum overall score of a case and the minimum average.
    ``max_unmeasured`` is the maximum share of cases without a score, ``max_drop`` the maximum drop
    of the pass rate from a baseline.
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
            raise BadInput(f"the suite {self.name!r} contains the same case twice")
        if len({case.id for case in self.cases}) < len(self.cases):
            raise BadInput(f"the suite {self.name!r} has two cases with the same id")
        if not LEVELS[0] <= self.threshold <= LEVELS[-1]:
            raise BadInput(f"the threshold must be 1 to 5, not {self.threshold!r}")
        if not (0 <= self.max_unmeasured <= 1 and 0 <= self.max_drop <= 1):
            raise BadInput("max_unmeasured and max_drop must be 0 to 1")

    def as_spec(self) -> dict[str, Any]:
        """Return the JSON values that a run stores, without texts: `db forget` could not remove such texts."""
        cases = [
            {
                "id": case.id,
                "key": case.key,
                "line": case.line,
                "checks": [asdict(check) for check in case.checks],
            }
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
    """Return the SHA-256 of a suite's spec, 64 hexadecimal digits; line numbers do not count."""
    cases = [
        {name: value for name, value in case.items() if name != "line"} for case in spec["cases"]
    ]
    content = json.dumps(spec | {"cases": cases}, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(content.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class _SuiteFile:
    """A suite file; ``rubric`` is the rubric itself or the path of a rubric file."""

    __pydantic_config__: ClassVar[ConfigDict] = CLOSED

    name: Text
    cases: Annotated[tuple[Case, ...], Field(min_length=1)]
    rubric: dict[str, Any] | Text | None = None
    candidate: Text | None = None
    threshold: Annotated[Number, Field(ge=LEVELS[0], le=LEVELS[-1]), unless_null(THRESHOLD)] = (
        THRESHOLD
    )
    max_unmeasured: Annotated[Number, Field(ge=0, le=1), unless_null(MAX_UNMEASURED)] = (
        MAX_UNMEASURED
    )
    max_drop: Annotated[Number, Field(ge=0, le=1), unless_null(MAX_DROP)] = MAX_DROP


def read_suite(path: str | Path) -> Suite:
    """Read a suite file; the path of a rubric is relative to this file. BadInput names file, line and field."""
    path = Path(path)
    file = read_yaml(path)
    form = file.read(_SuiteFile)
    cases = tuple(
        replace(case, id=case.id or str(place + 1), line=file.lines["cases", place])
        for place, case in enumerate(form.cases)
    )
    for field_name in ("key", "id"):
        earlier: dict[str, Case] = {}
        for place, case in enumerate(cases):
            value = getattr(case, field_name)
            if value in earlier:
                fault = "asks the same as" if field_name == "key" else f"has the id {value!r} of"
                raise file.fail(
                    f"this case {fault} the case on line {earlier[value].line}", "cases", place
                )
            earlier[value] = case
    settings = {
        name: getattr(form, name)
        for name in ("name", "candidate", "threshold", "max_unmeasured", "max_drop")
    }
    if form.rubric is None:
        rubric = default_rubric()
    elif isinstance(form.rubric, str):
        rubric = read_rubric(path.parent / form.rubric)
    else:
        rubric = rubric_from(file.at("rubric"))
    return Suite(cases=cases, rubric=rubric, **settings)

"""Rubrics: what an answer is scored on, each level in words, as a YAML file says it."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from judgeboard.judges.examples import Example, read_examples
from judgeboard.yaml_file import YamlValue, parse_yaml, read_yaml

LEVELS = (1, 2, 3, 4, 5)
SCALE = "1-5"
OVERALL = "overall"
EXPECTED = "expected "
"""Begins the name under which a mean over levels is stored beside the score of a dimension: no dimension's own."""
RUBRIC_FIELDS = ("name", "domain", "dimensions", "examples")

MOST_WEIGHT = 1e6  # far beyond use; sums of larger ones would overflow
_DIMENSION_FIELDS = ("name", "description", "weight", "levels")
_NAME = re.compile(r"[^\W_][\w -]{0,59}")


@dataclass(frozen=True, slots=True)
class Dimension:
    """One thing that an answer is scored on; ``levels`` are the words of 1, 2, 3, 4, 5 in that order."""

    name: str
    levels: tuple[str, ...]
    weight: float = 1.0
    description: str | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the dimension as JSON values."""
        words = {"name": self.name, "weight": self.weight, "levels": list(self.levels)}
        return words if self.description is None else words | {"description": self.description}


@dataclass(frozen=True, slots=True)
class Rubric:
    """Named dimensions with the words of their levels; ``domain`` None leaves it to whoever makes the judge."""

    dimensions: tuple[Dimension, ...]
    name: str = "rubric"
    domain: str | None = None
    examples: tuple[Example, ...] = ()

    @property
    def weights(self) -> dict[str, float]:
        """Weight by dimension."""
        return {dimension.name: dimension.weight for dimension in self.dimensions}


def overall(scores: Mapping[str, float], weights: Mapping[str, float]) -> float | None:
    """Return the mean of ``scores`` by ``weights``, renormalised over what was scored; None where nothing was.

    Source: "LLM-as-Judge", AI Engineering Patterns (2026), where a missing dimension counts as 0: a fault that this
    avoids.
    """
    total = sum(weights[name] for name in scores)
    return sum(value * weights[name] for name, value in scores.items()) / total if total else None


def read_rubric(path: Path) -> Rubric:
    """Read a rubric file.

    Raises:
        BadInput: It cannot be read or used; the message names file and line.
    """
    return rubric_from(read_yaml(path))


@cache
def default_rubric() -> Rubric:
    """Return the rubric that is used where none is given: accuracy, helpfulness, safety, coherence."""
    file = resources.files(__package__).joinpath("rubrics", "default.yaml")
    return rubric_from(parse_yaml(file.read_text(encoding="utf-8"), "default.yaml"))


def rubric_from(given: YamlValue) -> Rubric:
    """Return the rubric of a YAML value, a file's or a part of one.

    Raises:
        BadInput: It cannot be used; the message names file and line.
    """
    fields = given.fields("a rubric", RUBRIC_FIELDS)
    if "dimensions" not in fields:
        raise given.fail("a rubric needs dimensions")
    listed = fields["dimensions"].items("dimensions")
    if not listed:
        raise fields["dimensions"].fail("a rubric needs at least one dimension")
    dimensions = tuple(_dimension(one) for one in listed)
    _distinct(zip(listed, dimensions, strict=True))
    known = {dimension.name: (LEVELS[0], LEVELS[-1], True) for dimension in dimensions}
    return Rubric(
        dimensions=dimensions,
        name=fields["name"].text("name") if "name" in fields else "rubric",
        domain=fields["domain"].text("domain") if "domain" in fields else None,
        examples=read_examples(fields["examples"], known) if "examples" in fields else (),
    )


def _dimension(given: YamlValue) -> Dimension:
    fields = given.fields("a dimension", _DIMENSION_FIELDS)
    for name in ("name", "levels"):
        if name not in fields:
            raise given.fail(f"a dimension needs {name}")
    name = fields["name"].text("name")
    if not _NAME.fullmatch(name) or name.casefold() == OVERALL:
        raise fields["name"].fail(
            f"{name!r} cannot name a dimension: letters, digits, spaces, - and _, at most 60, and not {OVERALL!r}"
        )
    if name.casefold().startswith(EXPECTED):
        raise fields["name"].fail(
            f"{name!r} cannot name a dimension: {EXPECTED.strip()!r} begins the name of a mean over levels"
        )
    weight = fields["weight"].number("weight", 0, MOST_WEIGHT) if "weight" in fields else 1.0
    if weight == 0:
        raise fields["weight"].fail("weight must be above 0: leave out a dimension that shall not count")
    return Dimension(
        name=name,
        levels=_levels(fields["levels"], name),
        weight=weight,
        description=fields["description"].text("description") if "description" in fields else None,
    )


def _levels(given: YamlValue, dimension: str) -> tuple[str, ...]:
    fields = given.fields(f"the levels of {dimension}", tuple(map(str, LEVELS)))
    for level in LEVELS:
        if str(level) not in fields:
            raise given.fail(f"level {level} of {dimension} has no words")
    return tuple(fields[str(level)].text(f"level {level} of {dimension}") for level in LEVELS)


def _distinct(listed: Iterable[tuple[YamlValue, Dimension]]) -> None:
    seen: set[str] = set()
    for given, dimension in listed:
        if dimension.name.casefold() in seen:
            raise given.fail(f"the dimension {dimension.name!r} is given twice")
        seen.add(dimension.name.casefold())

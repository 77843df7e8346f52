"""Rubrics and YAML files of rubrics: the dimensions on which an answer is scored, with a description of each level."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field

from judgeboard.domain import EXPECTED, OVERALL
from judgeboard.errors import BadInput
from judgeboard.formats.label_schema import LabelSchema, written_scale
from judgeboard.formats.yaml_file import YamlFile, not_in_a_file, parse_yaml, read_yaml, unless_null
from judgeboard.judges.prompt import Example, check_examples
from judgeboard.settings.fields import CLOSED, Number, Text

LEVELS = (1, 2, 3, 4, 5)
SCALE = "1-5"

YES_NO = {True: "yes", False: "no"}
MOST_WEIGHT = 1e6  # far above useful weights; sums of larger weights could overflow
_NAME = re.compile(r"[^\W_][\w -]{0,59}")


def _dimension_name(name: str) -> str:
    if not _NAME.fullmatch(name) or name.casefold() == OVERALL:
        words = "letters, digits, spaces, - and _, at most 60 characters"
        raise ValueError(
            f"{name!r} cannot be the name of a dimension: use {words}, and not {OVERALL!r}"
        )
    if name.casefold().startswith(EXPECTED):
        raise ValueError(
            f"{name!r} cannot be the name of a dimension: names that begin with {EXPECTED.strip()!r} are reserved"
        )
    return name


def _levels(levels: Any) -> Any:
    """Return the descriptions of levels 1 to 5 in order; a file gives them by level."""
    if not isinstance(levels, Mapping):
        return levels
    for level in LEVELS:
        if str(level) not in levels:
            raise ValueError(f"level {level} has no description")
    if strange := sorted(set(levels) - set(map(str, LEVELS))):
        raise ValueError(f"there is no level {strange[0]}")
    return tuple(levels[str(level)] for level in LEVELS)


@dataclass(frozen=True, slots=True)
class Dimension:
    """A dimension on which an answer is scored; ``levels`` describe 1, 2, 3, 4, 5 in that order.

    A dimension of a label schema may have other levels, which begin at ``low``. Levels that are not
    ``ordered`` are categories: the overall score leaves them out.
    """

    __pydantic_config__: ClassVar[ConfigDict] = CLOSED

    name: Annotated[Text, AfterValidator(_dimension_name)]
    levels: Annotated[tuple[Text, ...], BeforeValidator(_levels), Field(min_length=5, max_length=5)]
    weight: Annotated[Number, Field(gt=0, le=MOST_WEIGHT), unless_null(1.0)] = 1.0
    description: Text | None = None
    low: Annotated[int, BeforeValidator(not_in_a_file)] = 1
    ordered: Annotated[bool, BeforeValidator(not_in_a_file)] = True

    @property
    def values(self) -> range:
        """The numbers of the levels."""
        return range(self.low, self.low + len(self.levels))

    @property
    def scale(self) -> str:
        """The stored text of the scale, like "1-5"."""
        return written_scale(self.values)

    def as_json(self) -> dict[str, Any]:
        """Return the dimension as JSON values."""
        always = {"name": self.name, "weight": self.weight, "levels": list(self.levels)}
        extras = {"description": self.description, "low": self.low, "ordered": self.ordered}
        defaults = {"description": None, "low": 1, "ordered": True}
        return always | {name: value for name, value in extras.items() if value != defaults[name]}


@dataclass(frozen=True, slots=True)
class Rubric:
    """Dimensions with levels. If ``domain`` is None, the options of the judge set the domain."""

    __pydantic_config__: ClassVar[ConfigDict] = CLOSED

    dimensions: Annotated[tuple[Dimension, ...], Field(min_length=1)]
    name: Annotated[Text, unless_null("rubric")] = "rubric"
    domain: Text | None = None
    examples: Annotated[tuple[Example, ...], unless_null(())] = ()

    @property
    def weights(self) -> dict[str, float]:
        """Weight by dimension."""
        return {dimension.name: dimension.weight for dimension in self.dimensions}

    def overall(self, scores: Mapping[str, int]) -> float | None:
        """Return the weighted mean of the scores, converted to 1 to 5; None if no ordered dimension has a score."""
        on_five = {
            dimension.name: 1
            + 4 * (scores[dimension.name] - dimension.low) / (len(dimension.levels) - 1)
            for dimension in self.dimensions
            if dimension.ordered and dimension.name in scores
        }
        return overall(on_five, self.weights)


def overall(scores: Mapping[str, float], weights: Mapping[str, float]) -> float | None:
    """Return the mean of ``scores``, with the ``weights`` of the scored dimensions; None if there are no scores.

    Source: "LLM-as-Judge", AI Engineering Patterns (2026), where a missing dimension wrongly counts
    as 0.
    """
    total = sum(weights[name] for name in scores)
    return sum(value * weights[name] for name, value in scores.items()) / total if total else None


def read_rubric(path: Path) -> Rubric:
    """Read a rubric file."""
    return rubric_from(read_yaml(path))


@cache
def default_rubric() -> Rubric:
    """Return the default rubric: accuracy, helpfulness, safety, coherence."""
    file = resources.files(__package__).joinpath("rubrics", "default.yaml")
    return rubric_from(parse_yaml(file.read_text(encoding="utf-8"), "default.yaml"))


def rubric_from(file: YamlFile) -> Rubric:
    """Return the rubric of a file, or of a part of a file."""
    rubric = file.read(Rubric)
    names = [dimension.name.casefold() for dimension in rubric.dimensions]
    for place, name in enumerate(names):
        if name in names[:place]:
            raise file.fail("the dimension is given twice", "dimensions", place, "name")
    ranges = {dimension.name: (LEVELS[0], LEVELS[-1], True) for dimension in rubric.dimensions}
    check_examples(file, rubric.examples, ranges)
    return rubric


def stored_dimensions(params: Mapping[str, Any]) -> tuple[Dimension, ...]:
    """Return the dimensions in the parameters of a judge version."""
    return tuple(
        Dimension(**{**each, "levels": tuple(each["levels"])})
        for each in params.get("dimensions", ())
    )


def rubric_of(schema: LabelSchema) -> Rubric:
    """Return the rubric that asks a judge for the scales, single categories and yes/no fields of a schema.

    The judge gives numbers: see `SchemaField.numbered`. Raises BadInput if there is no such field.
    """
    dimensions = []
    for field in schema.own:
        if not field.numbered:
            continue
        try:
            name = _dimension_name(field.name)
        except ValueError as error:
            raise BadInput(str(error)) from None
        names = {level: level_name or f"level {level}" for level, level_name in field.levels}
        words = names or {n: YES_NO.get(value, value) for n, value in field.numbered.items()}
        meanings = [
            field.help,
            *(f"{option.value}: {option.help}" for option in field.options if option.help),
        ]
        dimensions.append(
            Dimension(
                name,
                tuple(words.values()),
                description=" ".join(filter(None, meanings)) or None,
                low=min(words),
                ordered=bool(field.levels),
            )
        )
    if not dimensions:
        raise BadInput(
            f"the schema {schema.name} has no field for a judge: a scale, a single category or yes_no"
        )
    return Rubric(tuple(dimensions), schema.name)

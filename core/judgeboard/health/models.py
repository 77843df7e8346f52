"""Families and sizes of models by their names."""

import re
import tomllib
from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
)

from judgeboard.errors import BadInput
from judgeboard.text import file_text

# Matches "70b", "1.5B" and "8x7b" as a word of a name, but not "a3b", the active part of a mixture
# of experts.
_BILLIONS = re.compile(r"(?<![a-z0-9.])(?:(\d+)x)?(\d+(?:\.\d+)?)b(?![a-z0-9])")


Pattern = Annotated[str, AfterValidator(str.casefold)]


class ModelTable(BaseModel):
    """Families and sizes (billions of parameters) by name pattern. A ladder lists models from smallest to largest."""

    model_config = ConfigDict(extra="forbid", strict=True)

    families: dict[
        Pattern, Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
    ] = {}
    sizes: dict[Pattern, Annotated[float, Field(gt=0, allow_inf_nan=False)]] = {}
    ladders: dict[str, list[Pattern]] = {}

    def family(self, model: str | None) -> str | None:
        """Return the family of a model; None if unknown."""
        pattern = _longest(self.families, model)
        return None if pattern is None else self.families[pattern]

    def size(self, model: str | None) -> float | None:
        """Return the size of a model in billions of parameters, from the table or else the name; None if unknown."""
        pattern = _longest(self.sizes, model)
        if pattern is not None:
            return self.sizes[pattern]
        match = _BILLIONS.search((model or "").casefold())
        return None if match is None else int(match[1] or 1) * float(match[2])

    def smaller(self, model: str | None, other: str | None) -> bool | None:
        """Return whether a model is smaller than another; None if unknown."""
        for ladder in self.ladders.values():
            # The first rung that fits: patterns of larger models may also match smaller models.
            rungs = [
                next(
                    (
                        place
                        for place, rung in enumerate(ladder)
                        if name is not None
                        and any(_fits(name, each.strip()) for each in rung.split("|"))
                    ),
                    None,
                )
                for name in (model, other)
            ]
            if rungs[0] is not None and rungs[1] is not None:
                return rungs[0] < rungs[1]
        sizes = self.size(model), self.size(other)
        return None if sizes[0] is None or sizes[1] is None else sizes[0] < sizes[1]


@cache
def shipped_models() -> ModelTable:
    """Return the table of models in the package."""
    return _parse(
        resources.files(__package__).joinpath("models.toml").read_text(encoding="utf-8"),
        "models.toml",
    )


def model_table(file: Path | None = None) -> ModelTable:
    """Return the shipped table with the entries of the user's own ``file``, which take precedence."""
    base = shipped_models()
    if file is None:
        return base
    text = file_text(file, f"the table of models {file}")
    own = _parse(text, str(file))
    # A pattern of the user also replaces each longer shipped pattern that this pattern matches.
    return ModelTable(
        families=_not_covered(base.families, own.families) | own.families,
        sizes=_not_covered(base.sizes, own.sizes) | own.sizes,
        ladders=own.ladders
        | {name: rungs for name, rungs in base.ladders.items() if name not in own.ladders},
    )


def _not_covered(entries: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    return {
        pattern: value
        for pattern, value in entries.items()
        if not any(_fits(pattern, mine) for mine in own)
    }


_EXPECTED = {
    "families": "the name of a family",
    "sizes": "a number of billions",
    "ladders": "a list of names",
}


def _parse(text: str, where: str) -> ModelTable:
    try:
        return ModelTable.model_validate(tomllib.loads(text))
    except (tomllib.TOMLDecodeError, ValidationError) as error:
        why = str(error)
        if isinstance(error, ValidationError):
            part, *names = map(str, error.errors()[0]["loc"])
            if part not in _EXPECTED:
                why = f"unknown part [{part}]"
            else:
                why = f"{names[0]}: not {_EXPECTED[part]}" if names else f"[{part}] is not a table"
        form = 'tables [families] ("my-model*" = "OpenAI"), [sizes] (in billions) and [ladders] (lists of names)'
        raise BadInput(
            f"the table of models {where} is invalid ({why}); expected {form}"
        ) from error


def _fits(model: str, pattern: str) -> bool:
    # "gpt-4o" is a part of "openai/gpt-4o", "gpt-4" of the recorded "GPT-4/CoT".
    whole = model.casefold().strip()
    names = (whole, *filter(None, re.split(r"[/:]", whole)))
    return any(fnmatchcase(name, pattern) for name in names)


def _longest(patterns: Mapping[str, Any], model: str | None) -> str | None:
    fitting = [pattern for pattern in patterns if model and _fits(model, pattern)]
    return max(fitting, key=len) if fitting else None

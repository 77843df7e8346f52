"""The form of a rubric's verdict: the schema that a model is asked for, the validation of what it sends."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from judgeboard.domain import DimensionScore
from judgeboard.judges.closed_form import closed, refuse_others
from judgeboard.judges.rubric_file import LEVELS, OVERALL, SCALE, Rubric, overall
from judgeboard.llm.json_reply import UnusableReply, read_json_object

_FIELDS = ("reasoning", "score")
_MOST_NAMED = 5


@dataclass(frozen=True, slots=True)
class ScoredRubric:
    """A reply that passed validation: one entry a dimension, then the overall score; ``note`` says what is amiss."""

    scores: tuple[DimensionScore, ...]
    note: str | None
    replaced: bool = False


def rubric_schema(rubric: Rubric) -> dict[str, Any]:
    """Return the strict JSON schema of a verdict on ``rubric``; reasons come before scores."""
    entry = closed({"reasoning": {"type": "string"}, "score": {"type": "integer", "enum": list(LEVELS)}})
    return closed({dimension.name: entry for dimension in rubric.dimensions})


def rubric_reply_example(rubric: Rubric) -> str:
    """Return a verdict of this form as JSON, for models that are asked in words alone."""
    return json.dumps({one.name: {"reasoning": "…", "score": 3} for one in rubric.dimensions}, ensure_ascii=False)


def parse_scores(text: str, rubric: Rubric) -> ScoredRubric:
    """Read and validate a reply; one bad field makes the whole of it unusable.

    Strictly: 3.0 is not 3 and true is not 1. A dimension that is absent or null is missing, not bad: it has no value,
    and the overall score is the weighted mean of the others. A dimension that the rubric has not is named in the note.

    Raises:
        UnusableReply: With the reason; also where no dimension was scored at all.
    """
    reply = read_json_object(text)
    given = {name: _score(reply.content.get(name), name) for name in rubric.weights}
    found = {name: one[0] for name, one in given.items() if one[0] is not None}
    total = overall(found, rubric.weights)
    if total is None:
        raise UnusableReply("no dimension of the rubric was scored")
    scores = [DimensionScore(name, value, SCALE, why) for name, (value, why) in given.items()]
    return ScoredRubric(
        (*scores, DimensionScore(OVERALL, total, SCALE)), _note(given, found, reply.content), reply.replaced
    )


def _score(given: Any, name: str) -> tuple[int | None, str | None]:
    if given is None:
        return None, None
    if not isinstance(given, dict):
        raise UnusableReply(f"{name} must be an object with reasoning and score, not {given!r}")
    refuse_others(given, _FIELDS, f"{name}: ")
    reasoning, score = given.get("reasoning"), given.get("score")
    if reasoning is not None and not isinstance(reasoning, str):
        raise UnusableReply(f"{name}: reasoning must be a text, not {reasoning!r}")
    if score is None:
        return None, reasoning
    if isinstance(score, bool) or not isinstance(score, int) or score not in LEVELS:
        raise UnusableReply(f"{name}: score must be an integer from 1 to 5, not {score!r}")
    if reasoning is None:
        raise UnusableReply(f"{name}: the field 'reasoning' is missing")
    return score, reasoning


def _note(given: Mapping[str, Any], found: Mapping[str, Any], content: Mapping[str, Any]) -> str | None:
    missing = [name for name in given if name not in found]
    unknown = [name if len(name) <= 60 else f"{name[:59]}…" for name in content if name not in given]
    parts = []
    if missing:
        parts.append(f"Not scored by the judge: {', '.join(missing)}.")
    if unknown:
        more = f" and {len(unknown) - _MOST_NAMED} more" if len(unknown) > _MOST_NAMED else ""
        parts.append(f"Not of this rubric: {', '.join(unknown[:_MOST_NAMED])}{more}.")
    return " ".join(parts) or None

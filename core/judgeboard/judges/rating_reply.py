"""The form of a rating: the schema that a model is asked for, the validation of what it sends."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from judgeboard.domain import checked_quality
from judgeboard.judges.closed_form import closed, require_exactly
from judgeboard.llm.json_reply import UnusableReply, read_json_object

# Reasons before the rating: a model that has to say why first rates better.
FIELDS = ("evaluation", "rating", "feedback")
SCHEMA: Mapping[str, Any] = closed(
    {
        "evaluation": {"type": "string"},
        "rating": {"type": "integer", "enum": [1, 2, 3, 4]},
        "feedback": {"type": "string"},
    }
)
EXAMPLE = json.dumps({"evaluation": "…", "rating": 2, "feedback": "…"}, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class Rating:
    """A rating from 1 (terrible) to 4 (excellent), why, and what to change; ``feedback`` may be empty."""

    rating: int
    evaluation: str
    feedback: str


def read_rating(text: str) -> Rating:
    """Read and validate a reply; one bad field makes the whole of it unusable.

    Strictly: true, "4" and 4.0 are no ratings; a field that is missing or was not asked for is an error.

    Raises:
        UnusableReply: With the reason, like "rating 5 is above 4".
    """
    content = read_json_object(text).content
    require_exactly(content, FIELDS)
    try:
        rating = checked_quality(content["rating"])
    except ValueError as error:
        raise UnusableReply(str(error).replace("quality", "rating", 1)) from None
    if rating is None:
        raise UnusableReply("rating is null")
    return Rating(rating, _text(content, "evaluation"), _text(content, "feedback"))


def _text(content: dict[str, Any], name: str) -> str:
    value = content[name]
    if not isinstance(value, str):
        raise UnusableReply(f"{name} must be a text, not {value!r}")
    return value

"""Reads what a user said of an answer: thumbs or stars, never a guess between the two."""

from typing import Any

from judgeboard.domain import Feedback, FeedbackKind
from judgeboard.importers.cells import Cells, Unusable, checked, parsed_json, spelled_number
from judgeboard.importers.json_text import json_kind
from judgeboard.times import as_utc

_UP = frozenset({"up", "thumbs up", "thumbs_up", "thumbsup", "👍", "true", "positive", "like", "liked"})
_DOWN = frozenset(
    {"down", "thumbs down", "thumbs_down", "thumbsdown", "👎", "false", "negative", "dislike", "disliked"}
)
_SKIN_TONES = dict.fromkeys(range(0x1F3FB, 0x1F400))
_FIELDS = (("thumbs", FeedbackKind.THUMBS), ("stars", FeedbackKind.STARS), ("feedback", None))


def feedback_in(cells: Cells) -> tuple[Feedback, ...]:
    """Return the feedback of a row, from columns that name their scale and from one that does not.

    Words (up, down, 👍, true, …) are thumbs; numbers follow the column's scale. In a column that names none, 2 to 5
    are stars, and 1 or 0 cannot be told. An object names its scale: ``{"thumbs": "up"}``, ``{"stars": 4}``, or
    ``{"kind": "stars", "value": 4}``, with ``user`` and ``at`` beside; a list holds several.
    """
    found: list[Feedback] = []
    for field, scale in _FIELDS:
        value = cells.get(field)
        if value is not None:
            found += _parsed(field, value, scale, textual=cells.textual)
    return tuple(found)


def _parsed(field: str, value: Any, scale: FeedbackKind | None, *, textual: bool) -> list[Feedback]:
    if isinstance(value, str) and value.lstrip()[:1] in {"{", "["}:
        value = parsed_json(field, value)
    if isinstance(value, list):
        if not all(isinstance(item, dict) for item in value):
            raise Unusable(field, "a list of feedback holds objects only")
        return [_from_object(field, item) for item in value]
    if isinstance(value, dict):
        return [_from_object(field, value)]
    return [_from_value(field, value, scale, textual=textual)]


def _from_object(field: str, value: dict[str, Any]) -> Feedback:
    scale, given = value.get("kind"), value.get("value")
    if scale is None:
        named = [kind for kind in FeedbackKind if value.get(kind.value) is not None]
        if len(named) != 1:
            raise Unusable(field, 'an object of feedback is {"thumbs": "up"} or {"stars": 4}')
        scale, given = named[0].value, value[named[0].value]
    kind = checked(field, FeedbackKind, scale)
    user, at = value.get("user"), value.get("at")
    if user is not None and not isinstance(user, str):
        raise Unusable(field, f"the user is {json_kind(user)}, not a text")
    spoken = _from_value(field, given, kind, textual=False)
    return Feedback(spoken.kind, spoken.value, user, None if at is None else checked(field, as_utc, at))


def _from_value(field: str, value: Any, scale: FeedbackKind | None, *, textual: bool) -> Feedback:
    if textual and isinstance(value, str):
        value = spelled_number(value)
    if isinstance(value, str | bool):
        word = str(value).translate(_SKIN_TONES).strip().lower()
        if word not in _UP | _DOWN:
            raise Unusable(field, f"{value[:60]!r} is neither thumbs nor stars")  # type: ignore[index]  # a bool is in
        if scale is FeedbackKind.STARS:
            raise Unusable(field, f"{value!r} is not a number of stars")
        return Feedback(FeedbackKind.THUMBS, float(word in _UP))
    if not isinstance(value, int | float):
        raise Unusable(field, f"{json_kind(value)} where thumbs or stars should be")
    if scale is None:
        if value in {0, 1}:
            raise Unusable(field, f"{value:g} may be thumbs or stars: say which with --map, as in --map rating=stars")
        scale = FeedbackKind.STARS
    return checked(field, lambda number: Feedback(scale, float(number)), value)

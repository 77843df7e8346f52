"""Reads from the words, numbers and lists of a row which answer of a pair a judge or a person prefers."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from shlex import quote
from typing import Any

from judgeboard.domain import (
    NOTES,
    OVERALL,
    AspectPreference,
    GivenPreference,
    Grade,
    Preference,
    Shown,
)
from judgeboard.formats.jsonl import json_kind
from judgeboard.imports.fields import Cells, Unusable, checked, chosen, parsed_json
from judgeboard.imports.scales import NumberScale, scale_of_pairs
from judgeboard.imports.values import NO_VERDICT, spelled_number, word_of
from judgeboard.text import MAX_NAME, as_utc

_ANSWERS = ("answer", "response", "output", "model", "assistant", "completion", "candidate")
_WORDS = {
    "n": Preference.TIE,
    **dict.fromkeys(
        ("equal", "same", "draw", "both", "neither", "both good", "both bad", "bothbad"),
        Preference.TIE,
    ),
    **dict.fromkeys(("tie (bothbad)", "tie (both bad)", "a=b", "b=a"), Preference.TIE),
    **{word.value: word for word in Preference},
    **dict.fromkeys(("left", "first", "a>b", "a>>b", "b<a", "b<<a"), Preference.A),
    **dict.fromkeys(("right", "second", "b>a", "b>>a", "a<b", "a<<b"), Preference.B),
    **{f"{answer} {place}": Preference.A for answer in _ANSWERS for place in ("a", "1")},
    **{f"{answer} {place}": Preference.B for answer in _ANSWERS for place in ("b", "2")},
}
_PLACES = frozenset({"left", "right", "first", "second"})
_NO_ASPECT = {"annotator", "shown", "scale", *NOTES, "at", "preference"}


def preference_word(
    field: str, value: Any, models: Mapping[str, Preference] | None = None
) -> Preference:
    """Return the preference of a word: a, b, tie, another word like model_a or "tie (bothbad)", or a model's name.

    ``models`` has the side of each model of the pair, by name in lower case.
    """
    word = value.strip().strip("[]").casefold() if isinstance(value, str) else ""
    sides = {(models or {}).get(word), _WORDS.get(" ".join(word.replace("_", " ").split()))} - {
        None
    }
    if len(sides) == 1:
        return next(each for each in sides if each is not None)
    if sides:
        raise Unusable(
            field, f"{value!r:.60} is both a side and the name of a model on the other side"
        )
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise Unusable(field, f"{json_kind(value)} is not A, B or tie")
    spelled = str(value)[:20]
    option = f"--map-value {quote(f'{field}:{spelled}=A')}"
    hint = ", or keep the column as it is with --map COLUMN=extra" if field == "winner" else ""
    raise Unusable(
        field, f"{spelled!r} is not A, B or tie: say what it means, for example {option}{hint}"
    )


def check_words(field: str, order: Shown | None, *words: Any) -> None:
    """Raise Unusable for a word such as "first" where B was shown first: the word may mean B, or the answer A."""
    for word in words if order is Shown.BA else ():
        if isinstance(word, str) and word.strip().strip("[]").casefold() in _PLACES:
            meaning = f"write A or B, or say what it means, for example --map-value {field}:{word.strip()}=B"
            raise Unusable(
                field, f"{word.strip()!r} is ambiguous where B was shown first: {meaning}"
            )


def verdict_in(
    cells: Cells,
    field: str,
    models: Mapping[str, Preference] | None = None,
    *,
    order: Shown | None = None,
) -> dict[str, Preference]:
    """Return a judge's preferences by aspect; ``order`` is the order of the answers; a single word is for ``overall``.

    Two numbers are the scores of A and B: the answer with the higher score is preferred. Words such
    as "error", and the scores -1 and -1 that scripts write for an error, are no verdict. ``models``
    is as in `preference_word`.
    """
    value = list_or_object(cells, field)
    if isinstance(value, str) and (scores := _TWO_NUMBERS.fullmatch(value)):
        value = [float(scores[1]), float(scores[2])]
    if value is None or (isinstance(value, str) and word_of(value) in NO_VERDICT):
        return {}
    if isinstance(value, list):
        return {} if value == [-1, -1] else {OVERALL: higher(field, value)}
    check_words(field, order, *(value.values() if isinstance(value, dict) else (value,)))
    if not isinstance(value, dict):
        return {OVERALL: preference_word(field, value, models)}
    return {
        _aspect(field, aspect): preference_word(field, word, models)
        for aspect, word in value.items()
        if word is not None
    }


def list_or_object(cells: Cells, field: str) -> Any:
    """Return a value, None for a blank text. A list or an object in a text is read as JSON; "[[A]]" is a word."""
    value: Any = cells.get(field)
    if field == "winner" and "winner" not in cells.taken:
        # The preference whose column, such as ``winner_model_a``, has a 1.
        marks = {each.value: cells.number(f"winner_{each}") for each in Preference}
        wins = [mark for mark in marks.values() if mark is not None]
        if wins and sorted(wins) != [0] * (len(wins) - 1) + [1]:
            raise Unusable(
                "winner_a",
                "one of the columns winner_a, winner_b and winner_tie must be 1, and the others 0",
            )
        value = next((each for each, mark in marks.items() if mark == 1), None)
    start = value.lstrip()[:2] if isinstance(value, str) else "-"
    return (
        parsed_json(field, value)
        if start[:1] in {"{", "["} and start != "[["
        else value
        if start
        else None
    )


_TWO_NUMBERS = re.compile(r"\s*(-?\d+(?:\.\d+)?)\s*[\s,;]\s*(-?\d+(?:\.\d+)?)\s*")


def higher(field: str, scores: Sequence[Any]) -> Preference:
    """Return which of two scores is higher. Differences below 1e-9 are rounding errors and count as ties."""
    if len(scores) != 2 or any(
        isinstance(each, bool) or not isinstance(each, int | float) for each in scores
    ):
        raise Unusable(field, "expected two numbers, the scores of A and B")
    difference = round(scores[0] - scores[1], 9)
    return Preference.A if difference > 0 else Preference.B if difference < 0 else Preference.TIE


def human_in(
    cells: Cells, field: str, models: Mapping[str, Preference]
) -> tuple[Preference | None, tuple[GivenPreference, ...]]:
    """Return the gold label and the people's preferences of a row.

    The ``field`` has a word (the gold label) or a list of objects. A person's object has
    ``annotator`` and optional ``shown``, ``scale``, `NOTES` and ``at``. ``preference`` is about the
    aspect ``overall``. Every other key is an aspect. People without a preference are left out. A
    column mapped to ``human.NAME`` has the preference of this person. With the field ``annotator``,
    the word is the preference of this person. Numbers need a ``scale``, because 1 may mean that the
    first answer is better, or that the second answer is better by 1.
    """
    value = list_or_object(cells, field)
    words = {
        (name, name.partition(".")[2]): cells.get(name)
        for name in cells.taken
        if name.startswith("human.")
    }
    annotator = cells.name("annotator")
    if annotator is not None and not isinstance(value, list):
        words[field, annotator], value = value, None
    people = tuple(
        GivenPreference(name, {OVERALL: _side_or_grade(place, word, cells, models)})
        for (place, name), word in words.items()
        if word is not None
    )
    if isinstance(value, list):
        if not all(isinstance(item, dict) for item in value):
            raise Unusable(field, "expected a word or a list of objects, found another list")
        people += tuple(
            person for person in (_person(entry, models) for entry in value) if person.aspects
        )
    if len({(person.annotator, person.shown) for person in people}) < len(people):
        raise Unusable(field, "a person occurs twice with the same order shown")
    return None if value is None or isinstance(value, list) else preference_word(
        field, value, models
    ), people


def _side_or_grade(
    field: str, value: Any, cells: Cells, models: Mapping[str, Preference] | None
) -> AspectPreference:
    scale = cells.text("scale")
    if scale is None:
        return AspectPreference(preference_word(field, value, models))
    return _preference(field, value, scale_of_pairs("scale", scale), models)


def aspects_in(
    field: str,
    cells: Mapping[str, Any],
    scale: NumberScale,
    preference: Any,
    models: Mapping[str, Preference] | None = None,
) -> dict[str, AspectPreference]:
    """Return a person's preferences by aspect: a number is a grade on ``scale``, a word is A, B or tie.

    ``preference`` is the word for the aspect ``overall``, which may also have a grade.
    """
    aspects = {
        _aspect(field, aspect): _preference(
            f"{field}.{aspect}" if field else aspect, value, scale, models
        )
        for aspect, value in cells.items()
        if value is not None
    }
    if preference is not None:
        grade = aspects.get(OVERALL) or AspectPreference(Preference.TIE)
        aspects[OVERALL] = replace(
            grade, preference=preference_word(field or "preference", preference, models)
        )
    return aspects


def _person(entry: Mapping[str, Any], models: Mapping[str, Preference] | None) -> GivenPreference:
    name = entry.get("annotator")
    if not isinstance(name, str) or not name.strip() or len(name) > MAX_NAME:
        raise Unusable(
            "human", f"each entry needs an annotator with a name of 1 to {MAX_NAME} characters"
        )
    scale = entry.get("scale")
    notes: dict[str, Any] = {each: entry.get(each) for each in NOTES}
    if not all(value is None or isinstance(value, str) for value in (scale, *notes.values())):
        raise Unusable(
            "human", f"{', '.join(('scale', *NOTES[:-1]))} and {NOTES[-1]} of {name} must be texts"
        )
    aspects = {key: value for key, value in entry.items() if key not in _NO_ASPECT}
    order = chosen("human", entry.get("shown"), Shown)
    check_words("human", order, entry.get("preference"), *aspects.values())
    preferences = aspects_in(
        "human", aspects, scale_of_pairs("human", scale), entry.get("preference"), models
    )
    at = None if entry.get("at") is None else checked("human", as_utc, entry["at"])
    return GivenPreference(name, preferences, order, Grade(**notes), at)


def _preference(
    field: str, value: Any, scale: NumberScale, models: Mapping[str, Preference] | None
) -> AspectPreference:
    if isinstance(value, dict):  # as in an export: a side, a grade on a scale of its own, or both
        side, grade, scale_name = (value.get(name) for name in ("preference", "value", "scale"))
        if grade is None:
            return AspectPreference(preference_word(field, side, models))
        of_grade = _preference(field, grade, scale_of_pairs(field, scale_name), models)
        return (
            of_grade
            if side is None
            else replace(of_grade, preference=preference_word(field, side, models))
        )
    number = spelled_number(value) if isinstance(value, str) else value
    if isinstance(number, int | float) and not isinstance(number, bool):
        return AspectPreference(None, scale.checked(field, number), str(scale))
    return AspectPreference(preference_word(field, value, models))


def _aspect(field: str, name: str) -> str:
    if not name.strip() or len(name) > MAX_NAME:
        raise Unusable(field, f"the name of an aspect has 1 to {MAX_NAME} characters")
    return name

"""Preferences between two answers as files write them: of a judge, by order and aspect; of people, with grades."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from judgeboard.domain import Preference, Shown
from judgeboard.formats.jsonl import json_kind
from judgeboard.imports.cells import MAX_NAME, Cells, Unusable, checked, parsed_json, spelled_number
from judgeboard.imports.scales import NumberScale, scale_of_pairs
from judgeboard.pair_records import OVERALL, AspectPreference, GivenPreference
from judgeboard.times import as_utc

_WORDS: Mapping[str, Preference] = {
    "a": Preference.A,
    "b": Preference.B,
    "tie": Preference.TIE,
    "n": Preference.TIE,
    "equal": Preference.TIE,
}
_NO_ASPECT = {"annotator", "shown", "scale", "note", "at", "preference"}


def preference_word(field: str, value: Any) -> Preference:
    """Return the preference that a word says: a, b, or tie (also n, equal), in any case.

    Raises:
        Unusable: It says none.
    """
    found = _WORDS.get(value.strip().lower()) if isinstance(value, str) else None
    if found is None:
        shown = repr(value)[:60] if isinstance(value, str) else json_kind(value)
        raise Unusable(field, f"{shown} is not A, B or tie")
    return found


def verdict_in(cells: Cells, field: str) -> dict[str, Preference]:
    """Return what a judge said by aspect; a word alone is on ``overall``, and nothing said is empty."""
    value = cells.get(field)
    if isinstance(value, str) and value.lstrip().startswith("{"):
        value = parsed_json(field, value)
    if value is None:
        return {}
    if not isinstance(value, dict):
        return {OVERALL: preference_word(field, value)}
    return {_aspect(field, aspect): preference_word(field, word) for aspect, word in value.items() if word is not None}


def human_in(cells: Cells) -> tuple[Preference | None, tuple[GivenPreference, ...]]:
    """Return what stands in ``human``: a letter is the gold, a list is what people said, each an object.

    A person's object has ``annotator``, perhaps ``shown``, ``scale``, ``note`` and ``at``; ``preference`` is on the
    aspect ``overall``, every other key is an aspect with a side or a grade. Somebody who says nothing is left out.
    """
    value = cells.get("human")
    if isinstance(value, str) and value.lstrip().startswith("["):
        value = parsed_json("human", value)
    if value is None:
        return None, ()
    if isinstance(value, str):
        return preference_word("human", value), ()
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise Unusable("human", f"{json_kind(value)} where a letter or a list of objects should be")
    given = [_person(item) for item in value]
    people = tuple(one for one in given if one.aspects)
    if len({(one.annotator, one.shown) for one in people}) < len(people):
        raise Unusable("human", "somebody stands in it twice with the same order shown")
    return None, people


def aspects_in(field: str, given: Mapping[str, Any], scale: NumberScale) -> dict[str, AspectPreference]:
    """Return what a person said by aspect: a number is a grade on ``scale``, a word names a side or a tie."""
    return {
        _aspect(field, aspect): _said(f"{field}.{aspect}" if field else aspect, value, scale)
        for aspect, value in given.items()
        if value is not None
    }


def with_preference(
    aspects: Mapping[str, AspectPreference], preference: Preference | None
) -> dict[str, AspectPreference]:
    """Return the aspects with an overall preference beside a grade on it, where there is one."""
    if preference is None:
        return dict(aspects)
    grade = aspects.get(OVERALL)
    said = AspectPreference(preference, *((grade.value, grade.scale) if grade else ()))
    return {**aspects, OVERALL: said}


def aspects_as_row(aspects: Mapping[str, AspectPreference]) -> dict[str, Any]:
    """Return the preferences by aspect as `aspects_in` reads them."""
    return {aspect: one.preference if one.value is None else one.value for aspect, one in aspects.items()}


def shown_word(field: str, value: Any) -> Shown | None:
    """Return the order that a word says: ab or ba, in any case, None for none."""
    if value is None:
        return None
    word = value.strip().lower() if isinstance(value, str) else ""
    if word not in set(Shown):
        raise Unusable(field, f"{str(value)[:60]!r} is not ab or ba")
    return Shown(word)


def _person(given: Mapping[str, Any]) -> GivenPreference:
    name = given.get("annotator")
    if not isinstance(name, str) or not name.strip() or len(name) > MAX_NAME:
        raise Unusable("human", f"somebody has no annotator of 1 to {MAX_NAME} characters")
    scale, note = given.get("scale"), given.get("note")
    if not all(value is None or isinstance(value, str) for value in (scale, note)):
        raise Unusable("human", f"scale and note of {name} must be texts")
    aspects = {key: value for key, value in given.items() if key not in _NO_ASPECT}
    preference = given.get("preference")
    said = with_preference(
        aspects_in("human", aspects, scale_of_pairs("human", scale)),
        None if preference is None else preference_word("human", preference),
    )
    return GivenPreference(name, said, shown_word("human", given.get("shown")), note, _moment(given.get("at")))


def _moment(value: Any) -> datetime | None:
    return None if value is None else checked("human", as_utc, value)


def _said(field: str, value: Any, scale: NumberScale) -> AspectPreference:
    number = spelled_number(value) if isinstance(value, str) else value
    if isinstance(number, int | float) and not isinstance(number, bool):
        return AspectPreference(None, scale.checked(field, number), str(scale))
    return AspectPreference(preference_word(field, value))


def _aspect(field: str, name: str) -> str:
    if not name.strip() or len(name) > MAX_NAME:
        raise Unusable(field, f"an aspect is a name of 1 to {MAX_NAME} characters")
    return name

"""What the guidebook and the assistant say of a crag, in words."""

from string import Formatter
from typing import Any

from sample_source.dice import Dice
from sample_source.library import Crag, Side, crags, sides

SECTIONS = {
    "overview": ("rock", "sun", "season", "drying"),
    "access": ("approach", "parking", "camp", "dogs"),
    "climbing": ("route", "draws", "first", "rope", "hazard", "birds"),
}
SECTION_OF = {key: section for section, keys in SECTIONS.items() for key in keys}
TERSE = {
    "rock": "{routes}.",
    "sun": "{faces_cap}.",
    "season": "{season_cap}.",
    "approach": "{minutes} minutes.",
    "parking": "{park_cap}.",
    "birds": "Until {until}.",
    "rope": "{rope} metres.",
    "hazard": "{hazard_cap}.",
    "camp": "{camp_cap}.",
    "dogs": "{dogs_cap}.",
    "drying": "The rock {wet}.",
    "route": "{grade}, {length} m.",
    "draws": "{draws} quickdraws.",
    "first": "{who_cap}, {year}.",
}
KEPT = {
    "name",
    "route",
    "area",
}  # never exchanged when a statement is falsified: they say what it is about


def capital(text: str) -> str:
    """Return ``text`` with its first letter as a capital."""
    return text[0].upper() + text[1:]


def say(phrase: str, crag: Crag) -> str:
    """Fill a phrase with the fields of a crag."""
    return capital(phrase.format(**crag))


def say_of_two(phrase: str, first: Crag, second: Crag) -> str:
    """Fill a phrase that compares two crags."""
    fields = {f"a_{key}": value for key, value in first.items()} | {
        f"b_{key}": value for key, value in second.items()
    }
    return capital(phrase.format(**fields))


def passage(crag: Crag, section: str, without: frozenset[str] = frozenset()) -> str:
    """Return a page of the guide: one section of one crag, always in the same words, less the sides in ``without``."""
    number = crags().index(crag)
    said = [
        say(side.passage[(number + place) % len(side.passage)], crag)
        for place, side in enumerate(sides()[key] for key in SECTIONS[section])
        if side.key not in without and side.known_for(crag)
    ]
    return f"{crag['name']}, {section}. " + " ".join(said)


def pages_on(
    crag: Crag, asked: tuple[str, ...], without: frozenset[str] = frozenset()
) -> list[str]:
    """Return the pages that hold the sides asked for; the overview where all of them are withheld."""
    sections = sorted({SECTION_OF[key] for key in asked if key not in without}) or ["overview"]
    return [passage(crag, section, without) for section in sections]


def other_pages(dice: Dice, count: int, but: tuple[Crag, ...]) -> list[str]:
    """Return ``count`` pages about other crags, as a retriever brings them along."""
    others = dice.several([crag for crag in crags() if crag not in but], count)
    return [passage(crag, dice.pick(tuple(SECTIONS))) for crag in others]


def told_fields(side: Side) -> tuple[str, ...]:
    """Return the fields of a crag that answers about ``side`` give away."""
    phrases = (*side.full, *side.short)
    named = {
        name.removesuffix("_cap")
        for phrase in phrases
        for _, name, _, _ in Formatter().parse(phrase)
        if name
    }
    return tuple(sorted(named - KEPT))


def falsified(dice: Dice, crag: Crag, side: Side, fields: tuple[str, ...] | None = None) -> Crag:
    """Return ``crag`` with what ``side`` tells taken from another crag (only ``fields``, where given)."""
    fields = fields or told_fields(side)
    donors = [
        other
        for other in crags()
        if side.known_for(other) and all(other[name] != crag[name] for name in fields)
    ]
    donor = dice.pick(donors)
    taken: dict[str, Any] = {name: donor[name] for name in fields}
    return crag | taken | {f"{name}_cap": capital(str(value)) for name, value in taken.items()}

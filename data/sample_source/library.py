"""The assistant's library, read from the files in ``knowledge/``."""

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "knowledge"
TOPIC_FILES = ("gear", "knots", "training", "weather", "safety", "places")
Crag = dict[str, Any]


@dataclass(frozen=True)
class Fact:
    """One statement: as the passage has it, as answers put it, and wrongly (``short`` with ``swap`` applied)."""

    about: str
    ask: str
    passage: str
    short: str
    full: str
    swap: tuple[str, str] | None = None

    @property
    def wrong(self) -> str:
        """``short`` with its number or name exchanged for one that the passage does not have."""
        if self.swap is None:
            raise ValueError(f"nothing to exchange in the fact about {self.about}")
        text = self.short.replace(*self.swap)
        return text[0].upper() + text[1:]


@dataclass(frozen=True)
class Topic:
    """Five facts about one subject, and the questions that need several of them (``(question, fact numbers)``)."""

    name: str
    area: str
    facts: tuple[Fact, ...]
    questions: tuple[tuple[str, tuple[int, ...]], ...]


@dataclass(frozen=True)
class Side:
    """One thing a guidebook tells of a crag, with the phrasings of questions, passages and answers."""

    key: str
    about: str
    twist: str
    ask: tuple[str, ...]
    passage: tuple[str, ...]
    short: tuple[str, ...]
    full: tuple[str, ...]
    pair: tuple[str, ...] = ()
    needs: str | None = None

    def known_for(self, crag: Crag) -> bool:
        """Tell whether the guide says this of ``crag`` (boulders need no rope, a trad route no quickdraws)."""
        return self.needs is None or bool(crag[self.needs])


def read(name: str) -> dict[str, Any]:
    """Return the content of one file of ``knowledge/``."""
    return tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))


@cache
def topics() -> tuple[Topic, ...]:
    """Return all topics in the order of the files."""
    return tuple(topic(area, entry) for area in TOPIC_FILES for entry in read(area)["topic"])


def topic(area: str, entry: dict[str, Any]) -> Topic:
    """Return one topic from its table in a file."""
    facts = tuple(
        Fact(**fact | {"swap": tuple(fact["swap"]) if "swap" in fact else None})
        for fact in entry["fact"]
    )
    questions = tuple(
        (question["ask"], tuple(question["facts"])) for question in entry["questions"]
    )
    return Topic(entry["name"], area, facts, questions)


@cache
def crags() -> tuple[Crag, ...]:
    """Return all crags; a field ``<name>_cap`` starts with a capital letter."""
    found = read("crags")["crag"]
    return tuple(
        crag
        | {
            f"{key}_cap": str(value)[0].upper() + str(value)[1:]
            for key, value in crag.items()
            if str(value)
        }
        for crag in found
    )


@cache
def sides() -> dict[str, Side]:
    """Return what can be said of a crag, by key."""
    found: dict[str, Side] = {}
    for key, entry in read("crag_phrases").items():
        fields: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in entry.items()
        }
        found[key] = Side(key=key, **fields)
    return found

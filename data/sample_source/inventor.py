"""Statements that no passage contains, dealt from shuffled decks so that they seldom return."""

from sample_source.dice import Dice
from sample_source.draft import Sentence
from sample_source.library import read

SHARES = (13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97)


class Inventor:
    """Makes things up, by area."""

    def __init__(self, dice: Dice) -> None:
        self._dice = dice
        content = read("inventions")
        self._fill = content.pop("fill")
        self._texts: dict[str, list[list[str]]] = {
            area: entry["text"] for area, entry in content.items()
        }
        self._decks: dict[str, list[list[str]]] = {area: [] for area in self._texts}

    def sentence(self, area: str) -> Sentence:
        """Return a statement fit for ``area`` (crag, gear, …, sql) that is nowhere in the library."""
        if not self._decks[area]:
            self._decks[area] = self._dice.shuffled(self._texts[area])
        about, text = self._decks[area].pop()
        names = {slot: self._dice.pick(values) for slot, values in self._fill.items()}
        numbers = {
            "year": self._dice.between(1951, 2023),
            "percent": self._dice.pick(SHARES),
            "count": self._dice.between(113, 987),
            "few": self._dice.between(11, 58),
            "euros": self._dice.between(31, 97),
        }
        return Sentence(text.format(**names, **numbers), supported=False, about=about)

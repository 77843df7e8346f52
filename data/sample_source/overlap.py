"""Keeps answers from repeating each other: shares of common word 5-grams."""

import re
from collections import Counter, defaultdict

GRAM = 5
WORD = re.compile(r"\w+")


def grams(text: str) -> set[tuple[str, ...]]:
    """Return the word 5-grams of ``text``, lower-cased; a shorter text is one gram of its own."""
    words = WORD.findall(text.casefold())
    if len(words) < GRAM:
        return {tuple(words)}
    return {tuple(words[i : i + GRAM]) for i in range(len(words) - GRAM + 1)}


class Originality:
    """The answers written so far, indexed by their 5-grams."""

    def __init__(self, limit: float = 0.45) -> None:
        self._limit = limit
        self._sizes: list[int] = []
        self._where: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)

    def accepts(self, text: str) -> bool:
        """Tell whether ``text`` shares at most ``limit`` of its (or the other's) 5-grams with each earlier answer."""
        own = grams(text)
        common = Counter(answer for gram in own for answer in self._where.get(gram, ()))
        return all(
            count / min(len(own), self._sizes[answer]) <= self._limit
            for answer, count in common.items()
        )

    def add(self, text: str) -> None:
        """Remember ``text`` as written."""
        own = grams(text)
        for gram in own:
            self._where[gram].append(len(self._sizes))
        self._sizes.append(len(own))

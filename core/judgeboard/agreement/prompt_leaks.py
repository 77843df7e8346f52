"""Finds held-out answers in a prompt: a judge that was told the answers cannot be tested with them."""

import re
from collections.abc import Iterable

from judgeboard.domain import JudgeInput

_WORD = re.compile(r"\w+")
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2060\ufeff]")
_NAME = re.compile(r"[^\s,;()\"'`]+")
_VERBATIM = 8  # equal words in a row are a quote
_SHORT = 4  # a text of this many words or more counts as quoted if the prompt contains the whole text


class PromptText:
    """The text of a prompt, searched for texts and ids of answers. ``usual`` is text that every prompt may contain."""

    def __init__(self, text: str, usual: str = "") -> None:
        words, known = _words(text), _words(usual)
        self._runs = {n: _runs(words, n) - _runs(known, n) for n in range(_SHORT, _VERBATIM + 1)}
        self._names = _names(text) - _names(usual)

    def contains(self, item: JudgeInput, *ids: str) -> bool:
        """Whether the prompt contains eight words in a row of the answer, its question or its evidence, or an id.

        A shorter text of at least four words must be there completely. ``ids`` are further ids of the answer.
        """
        texts = (item.query, item.answer, *(item.passages or ()), item.reference or "")
        return any(name in self._names for name in (*ids, *_telling(item.external_id))) or any(
            self._quotes(text) for text in (*texts, *(turn.text for turn in item.turns))
        )

    def _quotes(self, text: str) -> bool:
        words = _words(text)
        length = min(len(words), _VERBATIM)
        return length >= _SHORT and not self._runs[length].isdisjoint(_runs(words, length))


def _words(text: str) -> list[str]:
    return _WORD.findall(_INVISIBLE.sub("", text.casefold()))


def _runs(words: list[str], n: int) -> set[tuple[str, ...]]:
    return set(zip(*(words[start:] for start in range(n)), strict=False))


def _names(text: str) -> set[str]:
    return {name.strip(".:!?[]") for name in _NAME.findall(text)}


def _telling(external_id: str) -> Iterable[str]:
    """Return the id, unless it is so short that a prompt may contain it by chance, like 12."""
    has_both = re.search(r"\d", external_id) and re.search(r"[^\W\d]", external_id)
    return (external_id,) if has_both or len(external_id) >= 6 else ()

"""The difference of two texts, word by word."""

import difflib
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from judgeboard_dashboard.evidence import Html, tag

LONGEST_SHOWN = 100_000  # characters
_WORDS = re.compile(r"\S+\s*|\s+")
MOST_WORDS = 1_200  # of one text: comparing takes the square of it, and texts are anybody's


@dataclass(frozen=True, slots=True)
class Piece:
    """Words that both texts have, or one of them alone."""

    kind: Literal["same", "added", "removed"]
    text: str


@lru_cache(maxsize=64)
def word_difference(old: str, new: str) -> tuple[Piece, ...] | None:
    """Return the pieces in order: without the added ones they are ``old``, without the removed ones ``new``.

    None where a text is too long to compare.
    """
    before, after = _WORDS.findall(old), _WORDS.findall(new)
    if max(len(before), len(after)) > MOST_WORDS:
        return None
    pieces: list[Piece] = []
    for kind, start, end, new_start, new_end in difflib.SequenceMatcher(None, before, after).get_opcodes():
        if kind == "equal":
            pieces.append(Piece("same", "".join(before[start:end])))
            continue
        if start < end:
            pieces.append(Piece("removed", "".join(before[start:end])))
        if new_start < new_end:
            pieces.append(Piece("added", "".join(after[new_start:new_end])))
    return tuple(pieces)


def difference(old: str, new: str) -> Html:
    """Return the later text with what was added and removed marked, word by word."""
    pieces = word_difference(old, new)
    if pieces is None:
        note = tag("div", "The texts are too long to compare. This is the later text.", cls="jb-cap")
        return tag("div", note, tag("div", new[:LONGEST_SHOWN], cls="jb-evidence"))
    names = {"same": "span", "added": "ins", "removed": "del"}
    return tag("div", *(tag(names[piece.kind], piece.text) for piece in pieces), cls="jb-evidence jb-difference")

"""The difference of two texts, word by word."""

import difflib
import re
from functools import lru_cache

from judgeboard_dashboard.evidence import Html, tag

LONGEST_SHOWN = 100_000  # characters
_WORDS = re.compile(r"\S+\s*|\s+")
MOST_WORDS = 1_200  # of one text; the time of a comparison grows with its square, and texts may be hostile


@lru_cache(maxsize=64)
def word_difference(old: str, new: str) -> tuple[tuple[str, str], ...] | None:
    """Return the pieces in order, as (HTML element, words); None if a text is too long to compare.

    The pieces without "ins" make up ``old``; the pieces without "del" make up ``new``.
    """
    before, after = _WORDS.findall(old), _WORDS.findall(new)
    if max(len(before), len(after)) > MOST_WORDS:
        return None
    pieces: list[tuple[str, str]] = []
    for kind, start, end, new_start, new_end in difflib.SequenceMatcher(None, before, after).get_opcodes():
        if kind == "equal":
            pieces.append(("span", "".join(before[start:end])))
        else:
            pieces += [("del", "".join(before[start:end])), ("ins", "".join(after[new_start:new_end]))]
    return tuple((element, words) for element, words in pieces if words)


def difference(old: str, new: str) -> Html:
    """Return both texts as one, with removed and added words marked."""
    pieces = word_difference(old, new)
    if pieces is None:
        note = tag("div", "The texts are too long to compare. This is the later text.", cls="jb-cap")
        return tag("div", note, tag("div", new[:LONGEST_SHOWN], cls="jb-evidence"))
    return tag("div", *(tag(*piece) for piece in pieces), cls="jb-evidence jb-difference")


def both_sides(old: str, new: str) -> tuple[Html, Html]:
    """Return the texts for two columns. The first has the removed words marked, the second the added words."""
    pieces = word_difference(old, new) or ()
    removed, added = (
        tag("div", *(tag(*piece) for piece in pieces if piece[0] in ("span", own)), cls="jb-evidence jb-difference")
        for own in ("del", "ins")
    )
    if pieces:
        return removed, added
    return tag("div", old[:LONGEST_SHOWN], cls="jb-evidence"), tag("div", new[:LONGEST_SHOWN], cls="jb-evidence")

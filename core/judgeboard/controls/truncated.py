"""Known-bad: the answer breaks off in the middle."""

import re

from judgeboard.controls.text import AnswerText

SHORTEST = 60
"""Characters that an answer needs: of a shorter one the half may still be an answer."""

_TRAILING = re.compile("[\\s.!?\u2026,;:\u3002\uff01\uff1f\u0964]+\\Z")


def truncated(original: AnswerText) -> AnswerText | None:
    """Return the first half of the answer, cut after a word and never after the end of a sentence."""
    answer = original.answer.strip()
    if len(answer) < SHORTEST:
        return None
    half = answer[: len(answer) // 2]
    # A script without spaces between words is cut where the half ends.
    at = max(half.rfind(" "), half.rfind("\n"))
    kept = _TRAILING.sub("", half[:at] if at > len(half) // 2 else half)
    return original._replace(answer=kept) if kept else None

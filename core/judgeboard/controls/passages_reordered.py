"""Neutral: the same passages, the last one first."""

from judgeboard.controls.text import AnswerText


def passages_reordered(original: AnswerText) -> AnswerText | None:
    """Return the answer with its passages in reverse, None where that changes nothing.

    In reverse, not shuffled: a retriever puts the best passage first, so a judge that reads the beginning with more
    care is moved in one direction, which a mean shows.
    """
    if original.passages is None or original.passages == original.passages[::-1]:
        return None
    return original._replace(passages=original.passages[::-1])

"""Known-bad: nothing that the answer could rest on is left."""

from judgeboard.controls.text import AnswerText


def passages_removed(original: AnswerText) -> AnswerText | None:
    """Return the answer without its passages, None where it has none.

    All of them: beside a part that is left, nobody knows whether the answer still stands on it.
    """
    return original._replace(passages=()) if original.passages else None

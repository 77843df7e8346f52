"""The strictest of replies: one label with its digit, ``correct 1`` or ``incorrect 0``, and nothing else."""

from judgeboard.llm.json_reply import UnusableReply

CORRECT, INCORRECT = "correct 1", "incorrect 0"


def parse_mark(text: str) -> bool:
    """Return whether a reply says correct; white space around it is none of it.

    Raises:
        UnusableReply: It says anything else, or anything more: that is never taken for ``incorrect 0``.
    """
    said = text.strip()
    if said == CORRECT:
        return True
    if said == INCORRECT:
        return False
    raise UnusableReply(f"it must be {CORRECT!r} or {INCORRECT!r} and nothing else, not {said[:80]!r}")

"""Neutral: the same statements, without the words that make them sound uncertain."""

import re

from judgeboard.controls.text import AnswerText

# Only words whose removal leaves a sentence: "may be" would need another verb.
_ADVERBS = r"perhaps|maybe|possibly|probably|apparently|presumably|seemingly|arguably|supposedly"
_OPENINGS = (
    r"I (?:would )?(?:think|believe|guess|suppose|assume|suspect)(?: that)?"
    r"|it (?:seems|appears)(?: to me)?(?: that)?"
    r"|as far as I (?:know|can tell|can see)|to (?:the best of )?my knowledge|to the best of my knowledge"
    r"|in my (?:humble )?opinion|from what I (?:know|can tell)|if I(?: am|'m) not mistaken"
    r"|I(?: am|'m|’m) not (?:entirely |completely |quite )?(?:sure|certain),? but"
)
_HEDGE = re.compile(rf",?[ \t]*\b(?:{_OPENINGS}|{_ADVERBS})\b(,)?(?!\w)", re.IGNORECASE)
_SENTENCE_START = re.compile(r"(?:\A|(?<=[.!?…\n]))\s*\Z")


def hedges_removed(original: AnswerText) -> AnswerText | None:
    """Return the answer without its (English) hedges, None where there is none or nothing else."""
    parts: list[str] = []
    end = 0
    for found in _HEDGE.finditer(original.answer):
        if not _removable(found, original.answer):
            continue
        parts.append(original.answer[end : found.start()])
        end = found.end()
    if not parts:
        return None
    text = parts[0]
    for part in [*parts[1:], original.answer[end:]]:
        text = _joined(text, part)
    return original._replace(answer=text) if text.strip(" .\n") else None


def _removable(found: re.Match[str], answer: str) -> bool:
    """Whether a sentence goes on behind the hedge: "I think so." and "Yes, probably." lose their meaning with it."""
    rest = answer[found.end() :].lstrip()
    return rest[:1].isalnum() and not re.match(r"(?:so|not)\b", rest, re.IGNORECASE)


def _joined(before: str, after: str) -> str:
    rest = after.lstrip()
    if _SENTENCE_START.search(before):
        space = " " if before and not before[-1].isspace() else ""
        return f"{before}{space}{rest[:1].upper()}{rest[1:]}"
    return f"{before} {rest}"

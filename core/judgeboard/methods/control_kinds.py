"""Kinds of control answers: what each changes of a logged answer, and what a sound judge makes of it."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple


class AnswerText(NamedTuple):
    """A question, its answer and its passages; ``passages`` None means that the log did not carry them."""

    query: str
    answer: str
    passages: tuple[str, ...] | None


def passages_removed(original: AnswerText) -> AnswerText | None:
    """Return the answer without its passages, None where it has none.

    All of them: beside a part that is left, nobody knows whether the answer still stands on it.
    """
    return original._replace(passages=()) if original.passages else None


def other_answer(original: AnswerText, donor: AnswerText) -> AnswerText | None:
    """Return the question and passages with the answer that ``donor`` has, None where that is no other."""
    same = donor.query.split() == original.query.split() or donor.answer.split() == original.answer.split()
    return original._replace(answer=donor.answer) if not same and donor.answer.strip() else None


_SHORTEST = 60
"""Characters that an answer needs: of a shorter one the half may still be an answer."""

_TRAILING = re.compile("[\\s.!?\u2026,;:\u3002\uff01\uff1f\u0964]+\\Z")


def truncated(original: AnswerText) -> AnswerText | None:
    """Return the first half of the answer, cut after a word and never after the end of a sentence."""
    answer = original.answer.strip()
    if len(answer) < _SHORTEST:
        return None
    half = answer[: len(answer) // 2]
    # A script without spaces between words is cut where the half ends.
    at = max(half.rfind(" "), half.rfind("\n"))
    kept = _TRAILING.sub("", half[:at] if at > len(half) // 2 else half)
    return original._replace(answer=kept) if kept else None


# Citations ("[3]", "passage 3") and list markers ("2. ") number the text, not the world.
_LAYOUT = r"\[\d[\d,;\s–-]*\]|\b(?:passages?|documents?|sources?)\s+\d+|^[ \t]*\(?\d{1,3}[.)](?=\s)"
_NUMBER = re.compile(rf"({_LAYOUT})|\d+", re.IGNORECASE | re.MULTILINE | re.ASCII)
_SHIFT = 3


def numbers_changed(original: AnswerText) -> AnswerText | None:
    """Return the answer with every digit of its numbers shifted, None where it has no number.

    As many digits as before and none of them the same; equal numbers stay equal, so that the answer does not
    contradict itself.
    """
    changed = _NUMBER.sub(lambda found: found[0] if found[1] else _other(found[0]), original.answer)
    return None if changed == original.answer else original._replace(answer=changed)


def _other(digits: str) -> str:
    # A first digit other than 0 becomes another one of those: 1 to 9 go round among themselves.
    first = digits[0] if len(digits) > 1 or digits != "0" else ""
    head = "" if not first else first if first == "0" else str((int(first) - 1 + _SHIFT) % 9 + 1)
    return head + "".join(str((int(digit) + _SHIFT) % 10) for digit in digits[len(head) :])


def passages_reordered(original: AnswerText) -> AnswerText | None:
    """Return the answer with its passages in reverse, None where that changes nothing.

    In reverse, not shuffled: a retriever puts the best passage first, so a judge that reads the beginning with more
    care is moved in one direction, which a mean shows.
    """
    if original.passages is None or original.passages == original.passages[::-1]:
        return None
    return original._replace(passages=original.passages[::-1])


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


class Effect(StrEnum):
    """What a control answer is: surely worse than its original, or as good."""

    KNOWN_BAD = "known_bad"
    NEUTRAL = "neutral"


@dataclass(frozen=True, slots=True)
class ControlKind:
    """One kind of control answer.

    ``words`` names such answers in a sentence. ``change`` gets the answer and another answer of the log, and returns
    None where it does not apply. ``lowers`` is the score that a known-bad one must lower.
    """

    name: str
    words: str
    effect: Effect
    change: Callable[[AnswerText, AnswerText], AnswerText | None]
    lowers: str | None = None


def _alone(change: Callable[[AnswerText], AnswerText | None]) -> Callable[[AnswerText, AnswerText], AnswerText | None]:
    return lambda original, _donor: change(original)


_BAD, _NEUTRAL = Effect.KNOWN_BAD, Effect.NEUTRAL
_KINDS = (
    ControlKind(
        "passages_removed", "answers whose passages were removed", _BAD, _alone(passages_removed), "groundedness"
    ),
    ControlKind("other_answer", "answers to another question", _BAD, other_answer, "quality"),
    ControlKind("truncated", "answers that break off", _BAD, _alone(truncated), "quality"),
    ControlKind("numbers_changed", "answers whose numbers were changed", _BAD, _alone(numbers_changed), "groundedness"),
    ControlKind("passages_reordered", "answers with passages in reverse order", _NEUTRAL, _alone(passages_reordered)),
    ControlKind("hedges_removed", "answers without their hedges", _NEUTRAL, _alone(hedges_removed)),
)
CONTROL_KINDS: Mapping[str, ControlKind] = MappingProxyType({kind.name: kind for kind in _KINDS})
"""Name to kind. Source of the list: "LLM-as-Judge", AI Engineering Patterns (2026), as Judgeboard extends it."""

"""Forms of replies that several judges share: closed objects, marks, option letters, expected scores."""

import math
import re
from collections.abc import Mapping, Sequence
from string import ascii_uppercase
from typing import Any

from judgeboard.domain import DimensionScore
from judgeboard.judges.rubric_file import EXPECTED
from judgeboard.llm.asking import UnusableReply
from judgeboard.llm.chat import TokenChance


def closed(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON schema of an object with exactly these fields, in this order."""
    return {"type": "object", "properties": dict(fields), "required": list(fields), "additionalProperties": False}


def require_exactly(content: Mapping[str, Any], fields: Sequence[str], where: str = "") -> None:
    """Refuse an object that lacks a field or has another one; ``where`` names its part of the reply, as "claim 2: ".

    Raises:
        UnusableReply: With the reason, like "the field 'quality' is missing".
    """
    missing = [name for name in fields if name not in content]
    if missing:
        raise UnusableReply(f"{where}the field {missing[0]!r} is missing")
    refuse_others(content, fields, where)


def refuse_others(content: Mapping[str, Any], fields: Sequence[str], where: str = "") -> None:
    """Refuse an object that has a field beside these.

    Raises:
        UnusableReply: With its name.
    """
    extra = [name for name in content if name not in fields]
    if extra:
        raise UnusableReply(f"{where}the field {extra[0]!r} was not asked for")


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


_LONE = re.compile(r"[(\[]?([A-Za-z])[)\].:]?")


def letters_of(options: Sequence[str]) -> tuple[str, ...]:
    """Return one letter per option; none where there are more options than letters."""
    return tuple(ascii_uppercase[: len(options)]) if len(options) <= len(ascii_uppercase) else ()


def letter_in(text: str, options: Sequence[str]) -> str | None:
    """Return the option letter that ``text`` is ("b", "(B)", "B."), None where it is none or holds anything else."""
    found = _LONE.fullmatch(text.strip())
    letter = found[1].upper() if found else None
    return letter if letter in letters_of(options) else None


def lettered(options: Sequence[str]) -> list[str]:
    """Return the options as a question shows them: "A. Paris"."""
    return [f"{letter}. {option}" for letter, option in zip(letters_of(options), options, strict=False)]


_DIGIT = re.compile(r"[^\w.]*(\d)(?![\d.])")


def expected_scores(
    tokens: Sequence[TokenChance] | None, given: Sequence[tuple[str, int | None, str]], *, low: int, high: int
) -> tuple[DimensionScore, ...]:
    """Return an expected score for each integer that a model gave, nothing where its tokens do not tell.

    Args:
        tokens: The tokens of the reply; None where the endpoint gave none.
        given: For each score its dimension, the integer, and a pattern of what stands before it in the reply.
        low: The scale's lowest level.
        high: Its highest, 9 at most.
    """
    if not tokens:
        return ()
    text = "".join(token.text for token in tokens)
    found = []
    for dimension, score, before in given:
        value = None if score is None else _expected(tokens, _place(text, before, score), low, high)
        if value is not None:
            found.append(DimensionScore(f"{EXPECTED}{dimension}", value, f"{low}-{high}"))
    return tuple(found)


def _place(text: str, before: str, score: int) -> int | None:
    """Where the digit stands in the reply: what a model thought before it replied is passed over."""
    places = [found.start(1) for found in re.finditer(rf"{before}({score})(?!\d)", text, re.DOTALL)]
    return places[-1] if places else None


def _expected(tokens: Sequence[TokenChance], place: int | None, low: int, high: int) -> float | None:
    if place is None:
        return None
    end = 0
    for token in tokens:
        end += len(token.text)
        if place < end:
            weights: dict[int, float] = {}
            for text, logprob in token.alternatives:
                digit = _DIGIT.match(text)
                if digit is not None and low <= int(digit[1]) <= high:
                    weights[int(digit[1])] = weights.get(int(digit[1]), 0.0) + math.exp(min(logprob, 0.0))
            mass = sum(weights.values())
            # Rounded far below what a probability is good for: the last bits differ between machines.
            return round(sum(level * weight for level, weight in weights.items()) / mass, 6) if mass > 0 else None
    return None

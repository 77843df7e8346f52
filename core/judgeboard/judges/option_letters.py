"""The letters of a question's options: A for the first, up to Z."""

import re
from collections.abc import Sequence
from string import ascii_uppercase

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

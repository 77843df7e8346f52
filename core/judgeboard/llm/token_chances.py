"""The token probabilities of a reply, as far as an endpoint gives them."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

MOST_ALTERNATIVES = 10
"""How many tokens are asked for at each place; servers that allow fewer than 20 still allow this many, mostly."""


@dataclass(frozen=True, slots=True)
class TokenChance:
    """A token of a reply with the likeliest tokens at its place: text and natural log of its probability each."""

    text: str
    alternatives: tuple[tuple[str, float], ...]


def read_token_chances(choice: Any) -> tuple[TokenChance, ...] | None:
    """Return the tokens of a choice of a chat completion; None where it carries none, or in a shape of its own."""
    try:
        content = choice["logprobs"]["content"]
        return tuple(_chance(token) for token in content) or None
    except (LookupError, TypeError, ValueError, AttributeError):
        return None


def _chance(token: Any) -> TokenChance:
    text = token["token"]
    if not isinstance(text, str):
        raise TypeError("a token is a text")
    return TokenChance(text, tuple(_pairs([token, *(token.get("top_logprobs") or [])])))


def _pairs(given: list[Any]) -> Iterator[tuple[str, float]]:
    seen = set()
    for each in given:
        text, logprob = each["token"], each["logprob"]
        if isinstance(text, str) and text not in seen and isinstance(logprob, int | float) and not math.isnan(logprob):
            seen.add(text)
            yield text, float(logprob)

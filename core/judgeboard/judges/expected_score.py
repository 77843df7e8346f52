"""The expected score: the mean of a scale's levels, weighted by how likely a model was to write each.

Source: Y. Liu et al., "G-Eval: NLG Evaluation using GPT-4 with Better Human Alignment" (EMNLP 2023), 2: the weighting
of scores by token probability; here the probabilities of the levels are made to add up to 1.
"""

import math
import re
from collections.abc import Sequence

from judgeboard.domain import DimensionScore
from judgeboard.judges.rubric_file import EXPECTED
from judgeboard.llm.chat import TokenChance

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

"""Expected scores, computed from the token probabilities of a reply."""

import math
import re
from collections import defaultdict
from collections.abc import Sequence
from itertools import accumulate

from judgeboard.domain import EXPECTED, DimensionScore
from judgeboard.llm.chat import TokenChance

_DIGIT = re.compile(r"[^\w.]*(\d)(?![\d.])")


def expected_scores(
    tokens: Sequence[TokenChance] | None,
    scores: Sequence[tuple[str, int | None, str]],
    *,
    low: int,
    high: int,
) -> tuple[DimensionScore, ...]:
    """Return the expected scores, for the integers in a reply whose token probabilities are known.

    Each entry of ``scores`` is a dimension, the integer, and a pattern of the text before the
    integer. The scale is ``low`` to ``high``, both from 0 to 9.
    """
    if not tokens:
        return ()
    reply = "".join(token.text for token in tokens)
    expected = []
    for dimension, score, text_before in scores:
        # The last match is used: a model may have written its thoughts before the reply.
        if score is None:
            continue
        pattern = rf'{text_before}"?({score})(?!\d)'
        places = [match.start(1) for match in re.finditer(pattern, reply, re.DOTALL)]
        if not places:
            continue
        ends = accumulate(len(token.text) for token in tokens)
        alternatives = next(
            (
                token.alternatives
                for token, end in zip(tokens, ends, strict=True)
                if places[-1] < end
            ),
            (),
        )
        weights: defaultdict[int, float] = defaultdict(float)
        for text, logprob in alternatives:
            digit = _DIGIT.match(text)
            if digit is not None and low <= int(digit[1]) <= high:
                weights[int(digit[1])] += math.exp(min(logprob, 0.0))
        mass = sum(weights.values())
        if mass > 0:
            mean = sum(level * weight for level, weight in weights.items()) / mass
            # Rounded, because the last bits differ between machines. The probabilities are far less
            # precise than 6 digits.
            value = round(mean, 6)
            expected.append(DimensionScore(f"{EXPECTED}{dimension}", value, f"{low}-{high}"))
    return tuple(expected)

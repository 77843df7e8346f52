"""Finds the quotes of a judge's claims in the texts they were taken from."""

from collections.abc import Sequence
from dataclasses import replace

from judgeboard.domain import Claim


def _span(quote: str | None, text: str | None) -> tuple[int | None, int | None]:
    if not quote or text is None:
        return None, None
    start = text.find(quote)
    return (None, None) if start < 0 else (start, start + len(quote))


def located(claim: Claim, answer: str, passages: Sequence[str] | None) -> Claim:
    """Return ``claim`` with the offsets of its quotes, in characters; None where a quote does not stand verbatim.

    A quote that stands several times is located where it stands first. A passage is looked at only under the number
    that the judge gave (from 1).
    """
    answer_start, answer_end = _span(claim.answer_quote, answer)
    number = claim.passage
    named = passages[number - 1] if passages and number is not None and 1 <= number <= len(passages) else None
    passage_start, passage_end = _span(claim.passage_quote, named)
    return replace(
        claim,
        answer_start=answer_start,
        answer_end=answer_end,
        passage_start=passage_start,
        passage_end=passage_end,
    )

"""Finds, for each sentence of an answer, the place in the passages that contains most words of the sentence."""

import math
import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from operator import itemgetter
from typing import Any, Literal, NamedTuple

from judgeboard.domain import Claim, checked_groundedness
from judgeboard.judges.words import (
    LONGEST_READ,
    content_words,
    first_characters,
    only_declines,
    sentence_spans,
    without_citations,
    word_keys,
)
from judgeboard.text import half_up

LONGEST_PIECE = 400
"""Maximum length of a place, in characters. A longer sentence, a table or JSON is cut at white space."""
LEAST_SHARE = 0.25
"""A place is evidence for a sentence if it contains at least this share of the sentence's words, weighted by rarity."""
FITTING_SHARE = 0.5
"""A place fits a question if it contains at least this share of the question's words, weighted by rarity."""
COMMON = 200
"""A word that occurs in more places than this only ranks the places that rarer words found."""
FINALISTS = 20

_BREAK = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class AlignedSentence:
    """A sentence of the answer and the best place in the passages. Offsets are characters of the stored texts.

    ``passage`` is the number of the passage, from 1. All fields after ``end`` are None if there is
    no place. ``by`` is ``quote`` if a judge quoted the place for a claim in this sentence,
    otherwise ``words``. For ``words``, ``share`` (0..1) is the share of the sentence's content
    words in the place, weighted by rarity.
    """

    start: int
    end: int
    passage: int | None = None
    passage_start: int | None = None
    passage_end: int | None = None
    by: Literal["quote", "words"] | None = None
    share: float | None = None


class _Place(NamedTuple):
    passage: int
    start: int
    end: int
    keys: frozenset[str]


class _Index(NamedTuple):
    places: tuple[_Place, ...]
    holding: dict[str, list[int]]  # key -> places, in order


def align(
    answer: str, passages: Sequence[str] | None, claims: Iterable[Claim] = ()
) -> tuple[AlignedSentence, ...]:
    """Return the sentences of an answer in order, each with the best place in the passages.

    A place is a sentence of a passage or a part of one. The best place has the largest share of the
    sentence's content words; if shares are equal, the first place is the best. A rare word weighs
    more: log(1 + all places / places with the word). A place that a judge quoted for a claim in the
    sentence takes precedence. Pass no claims if the reader may not see judgments. The running time
    is linear in the length of the texts: common words are not used to look for places, and only the
    first 500,000 characters are compared.
    """
    index = _indexed(first_characters(tuple(passages or ())))
    spans = sentence_spans(answer)
    # The quotes of a judge, by sentence. The claim with the largest overlap counts.
    overlaps: dict[int, int] = {}
    quotes: dict[int, AlignedSentence] = {}
    for claim in claims:
        # The place of the quote must be in the passage.
        number = claim.passage or 0
        quoted = passages[number - 1] if passages and 1 <= number <= len(passages) else ""
        if (
            claim.answer_start is None
            or claim.answer_end is None
            or claim.passage_start is None
            or claim.passage_end is None
            or not 0 <= claim.passage_start < claim.passage_end <= len(quoted)
        ):
            continue
        first = bisect_right(spans, claim.answer_start, key=itemgetter(1))
        for place, (start, end) in enumerate(spans[first:], start=first):
            if start >= claim.answer_end:
                break
            shared = min(end, claim.answer_end) - max(start, claim.answer_start)
            if shared > overlaps.get(place, 0):
                overlaps[place] = shared
                quotes[place] = AlignedSentence(
                    start, end, claim.passage, claim.passage_start, claim.passage_end, "quote"
                )
    compared = answer[:LONGEST_READ]  # later sentences have no place by words
    return tuple(
        quotes.get(place) or _best(*span, compared, index) for place, span in enumerate(spans)
    )


def is_right_refusal(query: str, answer: str, passages: Sequence[str] | None) -> bool:
    """Return whether an answer only declines, and nothing was retrieved that fits the question.

    A passage fits if one place in the passage contains at least half of the words of a sentence of
    the question, weighted as in `align`. Returns False without a question or without logged
    passages (None).
    """
    if not query or passages is None or not only_declines(answer):
        return False
    return all((sentence.share or 0) < FITTING_SHARE for sentence in align(query, passages))


def _best(start: int, end: int, answer: str, index: _Index) -> AlignedSentence:
    nothing = AlignedSentence(start, end)
    words = {word.key for word in content_words(without_citations(answer[start:end]))}
    if not words or not index.places:
        return nothing
    weight = {
        key: math.log1p(len(index.places) / max(1, len(index.holding.get(key, ()))))
        for key in words
    }
    shared = sorted(
        (key for key in words if key in index.holding),
        key=lambda key: (len(index.holding[key]), key),
    )
    if not shared:
        return nothing
    rare = [key for key in shared if len(index.holding[key]) <= COMMON]
    scores: defaultdict[int, float] = defaultdict(float)
    for key in rare or shared[:1]:
        for place in index.holding[key][:COMMON]:
            scores[place] += weight[key]
    finalists = sorted(scores, key=lambda place: (-scores[place], place))[:FINALISTS]
    # Summed in a fixed order, so that equal sets of words give equal sums.
    sums = {
        place: math.fsum(weight[key] for key in shared if key in index.places[place].keys)
        for place in finalists
    }
    best_place = min(finalists, key=lambda place: (-sums[place], place))
    share = sums[best_place] / math.fsum(weight.values())
    if share < LEAST_SHARE:
        return nothing
    best = index.places[best_place]
    return AlignedSentence(start, end, best.passage, best.start, best.end, "words", min(1.0, share))


@lru_cache(maxsize=32)
def _indexed(passages: tuple[str, ...]) -> _Index:
    # Cached: every key press shows the item again, and several assistants often answer from the
    # same passages.
    places = tuple(
        _Place(number, start, end, word_keys(passage[start:end]))
        for number, passage in enumerate(passages, start=1)
        for start, end in _pieces(passage)
    )
    holding: dict[str, list[int]] = {}
    for at, place in enumerate(places):
        for key in place.keys:
            holding.setdefault(key, []).append(at)
    return _Index(places, holding)


def _pieces(passage: str) -> Iterable[tuple[int, int]]:
    for start, end in sentence_spans(passage):
        at = start
        while end - at > LONGEST_PIECE:
            latest = at + LONGEST_PIECE
            breaks = [
                match.start() for match in _BREAK.finditer(passage, at + LONGEST_PIECE // 2, latest)
            ]
            cut = breaks[-1] if breaks else latest
            yield at, cut
            behind = _BREAK.match(passage, cut, end)
            at = behind.end() if behind else cut
        if at < end:
            yield at, end


WARNING_LINE = "⚠️ Some content may go beyond available data"
DISCLAIMER_LINE = "❓ Insufficient data for this answer, use with caution"
UNCHECKED_LINE = "❓ This answer could not be checked, use with caution"
FULL_FROM = 0.8
WARNING_FROM = 0.6
# The keys in the metadata of a served answer: the level of the notice, the groundedness, and the
# result of a second answer.
SERVED, NOTICE, SERVED_GROUNDEDNESS, SERVED_REFLECTION = (
    "served",
    "notice",
    "groundedness",
    "reflection",
)


class Level(StrEnum):
    """How far an answer may be trusted.

    ``unmeasured`` means that there is no groundedness, ``unchecked`` that `serve_answer` could not
    judge the answer.
    """

    FULL = "full"
    WARNING = "warning"
    DISCLAIMER = "disclaimer"
    UNMEASURED = "unmeasured"
    UNCHECKED = "unchecked"


@dataclass(frozen=True, slots=True)
class Annotation:
    """An answer to show, with a warning if necessary."""

    text: str
    level: Level


def annotate(answer: str, groundedness: float | None) -> Annotation:
    """Put a line before ``answer`` if the passages do not support the answer well.

    The line is a warning from 0.6 to below 0.8 and a disclaimer below 0.6. A blank line follows.
    From 0.8, or if ``groundedness`` is None (no usable judgment), the answer is unchanged. Values
    are rounded to 1e-9 before they are compared. Source: "Self-Reflection + LLM-as-Judge: Having AI
    Evaluate Its Own Answers" (2026), without the level and the blank line. Raises ValueError if
    ``groundedness`` is not from 0 to 1.
    """
    checked_value = checked_groundedness(groundedness)
    if checked_value is None:
        return Annotation(answer, Level.UNMEASURED)
    rounded = round(checked_value, 9)
    if rounded >= FULL_FROM:
        return Annotation(answer, Level.FULL)
    warned = rounded >= WARNING_FROM
    line, level = (WARNING_LINE, Level.WARNING) if warned else (DISCLAIMER_LINE, Level.DISCLAIMER)
    return Annotation(f"{line}\n\n{answer}", level)


def annotate_unchecked(answer: str) -> Annotation:
    """Put the disclaimer of an unchecked answer before ``answer``."""
    return Annotation(f"{UNCHECKED_LINE}\n\n{answer}", Level.UNCHECKED)


_NOTICES: dict[str, str] = {
    Level.FULL: "The reader saw no notice",
    Level.WARNING: f"The reader saw the warning “{WARNING_LINE}”",
    Level.DISCLAIMER: f"The reader saw the disclaimer “{DISCLAIMER_LINE}”",
    Level.UNMEASURED: "The reader saw no notice, because no groundedness was available",
    Level.UNCHECKED: f"The reader saw the disclaimer “{UNCHECKED_LINE}”",
}
REFLECTIONS: dict[str, str] = {
    "kept_new": "Self-reflection replaced the first answer.",
    "kept_original": "Self-reflection kept the first answer: the second was not better grounded.",
    "second_failed": "Self-reflection kept the first answer: the second could not be judged.",
    "identical": "Self-reflection kept the first answer: the model returned the same text.",
    "no_answer": "Self-reflection kept the first answer: the model gave no second one.",
}
"""The result of a second answer, by the name in the metadata of a served answer."""


def served_words(metadata: Mapping[str, Any]) -> str | None:
    """Describe what the reader of an answer saw, from its metadata; None if the answer was not served by this call."""
    facts = metadata.get(SERVED)
    if not isinstance(facts, Mapping):
        return None
    notice = _NOTICES.get(str(facts.get(NOTICE)))  # another tool may store anything under this name
    groundedness = facts.get(SERVED_GROUNDEDNESS)
    if notice is not None and isinstance(groundedness, int | float):
        notice += f" (groundedness {half_up(groundedness, 2):.2f} at that time)"
    parts = [
        None if notice is None else f"{notice}.",
        REFLECTIONS.get(str(facts.get(SERVED_REFLECTION))),
    ]
    return " ".join(part for part in parts if part) or None

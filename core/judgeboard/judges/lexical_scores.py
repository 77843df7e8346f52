"""The formula of the word-overlap baseline."""

from dataclasses import dataclass
from functools import lru_cache

from judgeboard.judges.refusal_phrases import says_not_found
from judgeboard.judges.sentences import sentences
from judgeboard.judges.stop_words import STOP_WORDS
from judgeboard.judges.words import Word, content_words, word_keys

WEAKEST_SENTENCE_SHARE = 0.2
"""How much of groundedness the worst-supported sentence decides; the rest is the share of all words found."""


@dataclass(frozen=True, slots=True)
class Overlap:
    """What the words of an answer share with its passages and its query.

    Attributes:
        words: Content words of the answer outside not-found sentences.
        missing: Those of them that no passage holds, in order.
        weakest: Share of words found in the worst-supported sentence, 0..1; 1 without any content word.
        not_found_sentences: Sentences that only say something is not known or not given.
        query_covered: Share of the query's content words that the answer takes up, 0..1; 1 for a query without any.
        beyond_query: Distinct content words that the answer adds to the query's.
        cut_off: The text stops in the middle of a sentence.
    """

    words: int
    missing: tuple[Word, ...]
    weakest: float
    not_found_sentences: int
    query_covered: float
    beyond_query: int
    cut_off: bool

    @property
    def groundedness(self) -> float:
        """0..1; an answer that states nothing claims nothing that could be wrong: 1."""
        if not self.words:
            return 1.0
        share = 1 - len(self.missing) / self.words
        return round((1 - WEAKEST_SENTENCE_SHARE) * share + WEAKEST_SENTENCE_SHARE * self.weakest, 6)

    @property
    def quality(self) -> int:
        """1..4: 1 states nothing; else 4 less one for each gap, 2 at the least.

        The gaps: it takes up less than half of the query's words, (almost) none of them, adds fewer than three
        words of its own, says in part that something was not found, or stops in the middle.
        """
        if not self.words:
            return 1
        gaps = (
            self.query_covered < 0.5,
            self.query_covered < 0.2,
            self.beyond_query < 3,
            self.not_found_sentences > 0,
            self.cut_off,
        )
        return max(2, 4 - sum(gaps))


@lru_cache(maxsize=64)
def _passage_keys(passages: tuple[str, ...]) -> frozenset[str]:
    # The answers of several assistants to one query stand on the same passages.
    return frozenset().union(*map(word_keys, passages))


def _cut_off(answer: str) -> bool:
    text = answer.rstrip()
    if not text or not (text[-1].isalnum() or text[-1] in ",;:"):
        return False
    line = text.rsplit("\n", 1)[-1].split()
    return text[-1] in ",;:" or len(line) > 8 or line[-1].casefold() in STOP_WORDS


def overlap(query: str, answer: str, passages: tuple[str, ...]) -> Overlap:
    """Count what the content words of ``answer`` share with ``passages``, sentence by sentence, and with ``query``."""
    known = _passage_keys(passages)
    words = 0
    missing: list[Word] = []
    weakest = 1.0
    not_found = 0
    for sentence in sentences(answer):
        if says_not_found(sentence):
            not_found += 1
            continue
        of_sentence = content_words(sentence)
        if not of_sentence:
            continue
        absent = [word for word in of_sentence if word.key not in known]
        words += len(of_sentence)
        missing += absent
        weakest = min(weakest, 1 - len(absent) / len(of_sentence))
    asked = frozenset(word.key for word in content_words(query.lower()))
    said = word_keys(answer)
    plain = {key for key in said if not key.startswith("=")}
    return Overlap(
        words=words,
        missing=tuple(missing),
        weakest=weakest,
        not_found_sentences=not_found,
        query_covered=len(asked & said) / len(asked) if asked else 1.0,
        beyond_query=len(plain - asked),
        cut_off=_cut_off(answer),
    )

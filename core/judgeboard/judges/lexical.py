"""The offline judge by word overlap."""

from dataclasses import dataclass
from functools import lru_cache

from judgeboard.domain import NO_QUESTION, JudgeInput, JudgeVersion, Status, Verdict
from judgeboard.judges.judge import JudgeOptions
from judgeboard.judges.words import (
    LONGEST_READ,
    STOP_WORDS,
    Word,
    content_words,
    first_characters,
    says_not_found,
    sentences,
    without_tags,
    word_keys,
)

WEAKEST_SENTENCE_SHARE = 0.2
"""Weight of the worst-supported sentence in groundedness. The share of all words found has the remaining weight."""


@dataclass(frozen=True, slots=True)
class Overlap:
    """The overlap between the words of an answer and the words of the passages and the query."""

    words: int  # content words of the answer outside not-found sentences
    missing: tuple[Word, ...]  # those content words that are in no passage, in order
    weakest: float  # share of words found in the worst-supported sentence, 0..1; 1 if there are no content words
    not_found_sentences: int  # sentences that only say that something is not known or not given
    query_covered: float  # share of the query's content words that are in the answer, 0..1; 1 if the query has none
    beyond_query: int  # distinct content words that the answer adds to the query's
    cut_off: bool  # the text stops in the middle of a sentence

    @property
    def groundedness(self) -> float:
        """0..1. An answer without content words makes no claim that could be wrong, so groundedness is 1."""
        if not self.words:
            return 1.0
        share = 1 - len(self.missing) / self.words
        return round(
            (1 - WEAKEST_SENTENCE_SHARE) * share + WEAKEST_SENTENCE_SHARE * self.weakest, 6
        )

    @property
    def quality(self) -> int:
        """1..4: 1 without content words, otherwise 4 minus the number of gaps, but at least 2.

        The gaps: less than half of the query's words are in the answer; less than a fifth are; the
        answer adds fewer than three words; a sentence says that something was not found; the text
        stops in the middle.
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
    # Cached: several assistants often answer a question from the same passages.
    return frozenset().union(*map(word_keys, passages))


def overlap(query: str, answer: str, passages: tuple[str, ...]) -> Overlap:
    """Compare the content words of ``answer`` with ``passages``, sentence by sentence, and with ``query``."""
    passage_keys = _passage_keys(passages)
    words = 0
    missing_words: list[Word] = []
    weakest = 1.0
    not_found = 0
    for sentence in sentences(answer):
        if says_not_found(sentence):
            not_found += 1
            continue
        of_sentence = content_words(sentence)
        if not of_sentence:
            continue
        absent = [word for word in of_sentence if word.key not in passage_keys]
        words += len(of_sentence)
        missing_words += absent
        weakest = min(weakest, 1 - len(absent) / len(of_sentence))
    # A cut-off answer ends with a comma, semicolon or colon, or without a mark: after a stop word,
    # or in a line of more than eight words.
    text = without_tags(answer).rstrip()
    last_words = text.rsplit("\n", 1)[-1].split()
    cut_off = text.endswith((",", ";", ":")) or (
        text[-1:].isalnum() and (len(last_words) > 8 or last_words[-1].casefold() in STOP_WORDS)
    )
    query_keys = frozenset(word.key for word in content_words(query.lower()))
    answer_keys = word_keys(answer)
    plain = {key for key in answer_keys if not key.startswith("=")}
    return Overlap(
        words=words,
        missing=tuple(missing_words),
        weakest=weakest,
        not_found_sentences=not_found,
        query_covered=len(query_keys & answer_keys) / len(query_keys) if query_keys else 1.0,
        beyond_query=len(plain - query_keys),
        cut_off=cut_off,
    )


MOST_NAMED = 12
FORMULA = 2
"""The version of the formula and the word lists; every change of either gives a new judge version."""


def lexical_verdict(query: str, answer: str, passages: tuple[str, ...] | None) -> Verdict:
    """Judge one answer by its words alone (methods: offline judges, ``lexical``).

    Groundedness (0..1) is the share of the answer's content words, numbers and names that occur in
    the passages. The worst sentence has one fifth of the weight. Quality (1..4) depends on how many
    words of the query the answer repeats and on how complete the answer is. If ``passages`` is
    None, so is groundedness. If ``passages`` is empty, groundedness is 0, or 1 for an answer
    without content words. Without a query, quality is None. Only the first 500,000 characters of
    long texts are read. Deterministic.
    """
    compared_passages = first_characters(passages or ())
    tally = overlap(query[:LONGEST_READ], answer[:LONGEST_READ], compared_passages)
    if not query and passages is None:
        return Verdict(status=Status.ERROR, error=NO_QUESTION)
    is_cut = max(len(query), len(answer)) > LONGEST_READ or compared_passages != (passages or ())
    no_question = not query
    missing_words = list(dict.fromkeys(word.written for word in tally.missing))
    facts = {
        "Method": "word overlap",
        "Passages": "not logged" if passages is None else "" if passages else "none",
        "Words found": f"{tally.words - len(tally.missing)} of {tally.words}" if passages else "",
        "Not found": ", ".join(missing_words[:MOST_NAMED]) if passages else "",
        "Question words repeated": "no question"
        if no_question
        else f"{tally.query_covered * 100:.0f} %",
        "Says that something was not found": "yes" if tally.not_found_sentences else "",
        "Stops in the middle of a sentence": "yes" if tally.cut_off else "",
        "Compared": f"first {LONGEST_READ:,} characters" if is_cut else "",
    }
    return Verdict(
        status=Status.OK,
        groundedness=None if passages is None else tally.groundedness,
        quality=tally.quality if query else None,
        reasoning=". ".join(f"{label}: {value}" for label, value in facts.items() if value),
        cost_micro=0,
        latency_ms=0,
    )


class LexicalJudge:
    """Judges by word overlap: a baseline to measure other judges against, not a substitute for one."""

    address: None = None
    priced = True

    def __init__(self, options: JudgeOptions | None = None) -> None:
        """Make the judge; only the name is read from the options."""
        name = (options and options.name) or "lexical"
        params = {"formula": FORMULA, "weakest_sentence_share": WEAKEST_SENTENCE_SHARE}
        self.version = JudgeVersion(name=name, kind="lexical", params=params)

    async def judge(self, item: JudgeInput) -> Verdict:
        """Return the verdict on ``item``; never waits."""
        return lexical_verdict(item.query, item.answer, item.passages)

    async def aclose(self) -> None:
        """Do nothing: there is nothing to release."""

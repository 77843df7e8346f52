"""The word-overlap baseline: a judge that needs no model."""

from judgeboard.domain import JudgeInput, JudgeVersion, Status, Verdict
from judgeboard.judges.lexical_scores import WEAKEST_SENTENCE_SHARE, Overlap, overlap

FORMULA = 1
"""Raised with every change of the formula or its word lists, so that old and new verdicts never mix."""


def _named(overlap_: Overlap, limit: int = 12) -> str:
    seen = dict.fromkeys(word.written for word in overlap_.missing)
    names = ", ".join(list(seen)[:limit])
    return f"{names} and {len(seen) - limit} more" if len(seen) > limit else names


def _reasoning(found: Overlap, passages: tuple[str, ...] | None) -> str:
    if not found.words:
        support = "The answer states nothing that could be looked for."
    elif passages is None:
        support = "The log carries no passages, so groundedness is unmeasured."
    elif not passages:
        support = "Nothing was retrieved, so nothing supports the answer."
    elif not found.missing:
        support = f"All {found.words} content words of the answer stand in the passages."
    else:
        support = (
            f"{found.words - len(found.missing)} of {found.words} content words of the answer stand in the passages; "
            f"not found: {_named(found)}."
        )
    notes = [f"{found.query_covered:.0%} of the query's words are taken up"]
    if found.not_found_sentences:
        notes.append("it says that something was not found")
    if found.cut_off:
        notes.append("it stops in the middle of a sentence")
    return f"Word-overlap baseline, no understanding of meaning. {support} Quality: {', '.join(notes)}."


def lexical_verdict(query: str, answer: str, passages: tuple[str, ...] | None) -> Verdict:
    """Judge one answer by its words alone (methods: offline judges, ``lexical``).

    Groundedness (0..1) is the share of the answer's content words, numbers and names that stand in the passages,
    one fifth of it decided by the worst sentence; quality (1..4) comes from how much of the query is taken up and
    how complete the answer is. ``passages`` None leaves groundedness unmeasured; an empty tuple makes it 0 (1 for an
    answer without any content word). Deterministic.
    """
    found = overlap(query, answer, passages or ())
    return Verdict(
        status=Status.OK,
        groundedness=None if passages is None else found.groundedness,
        quality=found.quality,
        reasoning=_reasoning(found, passages),
        cost_micro=0,
        latency_ms=0,
    )


class LexicalJudge:
    """Judges by word overlap: a baseline to measure other judges against, not a substitute for one."""

    endpoint_host: str | None = None
    priced = True

    def __init__(self, name: str = "lexical") -> None:
        params = {"formula": FORMULA, "weakest_sentence_share": WEAKEST_SENTENCE_SHARE}
        self.version = JudgeVersion(name=name, kind="lexical", params=params)

    async def judge(self, item: JudgeInput) -> Verdict:
        """Return the verdict on ``item``; never waits."""
        return lexical_verdict(item.query, item.answer, item.passages)

    async def aclose(self) -> None:
        """Hold nothing, release nothing."""

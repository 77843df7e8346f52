"""Verbosity: whether longer answers score higher, also at equal human grades."""

import numpy as np

from judgeboard.domain import Estimate
from judgeboard.health.commands import judge_answers
from judgeboard.health.record import Check, JudgeRecord, effect_words, given_by, not_measured, state_of
from judgeboard.stats.arrays import grouping
from judgeboard.stats.correlation import correlation_within, slope, spearman
from judgeboard.stats.estimates import surely_above, surely_below

NAME = "verbosity"
AT_EQUAL_GRADES = "verbosity_at_equal_grades"
LEAST = 30
"""Minimum number of answers. Source of the check: "LLM-as-Judge", AI Engineering Patterns (2026), verbosity."""
PER = 100
"""The slope is per this number of characters."""
_TENTH = 10


def verbosity(record: JudgeRecord) -> Check:
    """Warn if scores rise significantly with the length of the answer, unless people's grades explain it.

    Longer answers may be better. If people graded the same score, the correlation at equal grades decides. Of several
    scores the one with the clearest rise is shown.
    """
    by_measure: dict[str, tuple[Estimate, Estimate]] = {}
    for measure in given_by(record.scored.scores):
        scores = record.scored.scores[measure]
        rows = ~np.isnan(scores) & ~np.isnan(record.scored.lengths)
        lengths = record.scored.lengths[rows]
        groups = grouping(record.scored.groups[rows], len(lengths))
        if len(lengths) >= LEAST:
            by_measure[measure] = spearman(scores[rows], lengths, groups), slope(scores[rows], lengths / PER, groups)
    defined = {measure: both for measure, both in by_measure.items() if both[0].value is not None}
    if not defined:
        n = max((int((~np.isnan(each)).sum()) for each in record.scored.scores.values()), default=0)
        why = f"Too few scores (n = {n:,}, at least {LEAST} needed)."
        if by_measure:
            why = "All its scores, or all lengths of the answers, are the same."
        return not_measured(NAME, why, judge_answers(record), n)
    measure = max(defined, key=lambda each: _low(defined[each][0]))
    correlation, rise = defined[measure]
    longer = surely_above(correlation, 0)
    within = _within(record).get(measure)
    explained = longer and within is not None and not surely_above(within, 0)
    sentence = (
        f"Rank correlation of {measure} with the length of the answer: {effect_words(correlation)} on "
        f"{correlation.n:,} answers, {rise.value or 0:+.3f} per {PER} characters."
    )
    if explained and within is not None:
        gone = within.low is not None and within.low <= 0
        rest = "disappears: longer answers are better here" if gone else "is not significant at 99 %"
        sentence += f" At equal human grades it {rest}."
    elif longer:
        sentence += " Longer answers score higher."
    return Check(
        NAME,
        state_of(warns=longer and not explained),
        correlation,
        sentence,
        judge_answers(record),
        also={f"per_{PER}_characters": rise},
    )


def verbosity_at_equal_grades(record: JudgeRecord) -> Check:
    """Warn if scores rise significantly with length among answers with equal human grades."""
    correlations = _within(record)
    if not correlations:
        n = max((len(graded.judge) for graded in record.graded.values()), default=0)
        why = f"Too few graded answers, some with equal grades (n = {n:,}, at least {LEAST} needed)."
        return not_measured(AT_EQUAL_GRADES, why, "judgeboard serve", n)
    measure = max(correlations, key=lambda each: _low(correlations[each]))
    within = correlations[measure]
    warns = surely_above(within, 0)
    sentence = (
        f"{_direction(within)}: rank correlation of {measure} with length at equal human grades "
        f"{effect_words(within)} on {within.n:,} answers."
    )
    return Check(AT_EQUAL_GRADES, state_of(warns=warns), within, sentence, "judgeboard serve")


def _direction(within: Estimate) -> str:
    if surely_above(within, 0):
        return "Longer answers score higher although people grade them alike"
    if surely_below(within, 0):
        return "Shorter answers score higher although people grade them alike"
    if _low(within) > 0 or (within.high or 0) < 0:
        return "Length may influence the judge (not significant at 99 %)"
    return "Length does not significantly influence the judge"


def _within(record: JudgeRecord) -> dict[str, Estimate]:
    """The correlation with length at equal grades, for each score with enough graded answers."""
    correlations: dict[str, Estimate] = {}
    for measure, graded in record.graded.items():
        rows = ~np.isnan(graded.lengths)
        # Groundedness is a mean over people: grades in the same tenth count as equal.
        strata = np.rint(graded.people * _TENTH)
        correlation = correlation_within(graded.judge[rows], graded.lengths[rows], strata[rows], graded.groups[rows])
        if correlation.n >= LEAST and correlation.value is not None:
            correlations[measure] = correlation
    return correlations


def _low(estimate: Estimate) -> float:
    return -2.0 if estimate.low is None else estimate.low

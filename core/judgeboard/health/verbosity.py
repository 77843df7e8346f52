"""Verbosity: do longer answers score higher, even among those that people graded alike?"""

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
"""Answers that say anything. Source of the check: "LLM-as-Judge", AI Engineering Patterns (2026), verbosity."""
PER = 100
"""Characters that the slope is given for."""
_TENTH = 10


def verbosity(record: JudgeRecord) -> Check:
    """Warn where scores surely rise with the length of the answer, unless people's grades explain it.

    Rank correlation; of several scores the one that rises most clearly is shown. Longer answers may be better ones:
    where people graded the same score, the correlation at equal grades decides, and this one only says what it sees.
    """
    found: dict[str, tuple[Estimate, Estimate]] = {}
    for measure in given_by(record.scored.scores):
        scores = record.scored.scores[measure]
        rows = ~np.isnan(scores) & ~np.isnan(record.scored.lengths)
        lengths = record.scored.lengths[rows]
        groups = grouping(record.scored.groups[rows], len(lengths))
        if len(lengths) >= LEAST:
            found[measure] = spearman(scores[rows], lengths, groups), slope(scores[rows], lengths / PER, groups)
    defined = {measure: both for measure, both in found.items() if both[0].value is not None}
    if not defined:
        n = max((int((~np.isnan(each)).sum()) for each in record.scored.scores.values()), default=0)
        why = f"It takes {LEAST} scores, and there are {n:,}."
        if found:
            why = "Its scores, or the lengths of the answers, are all the same."
        return not_measured(NAME, why, judge_answers(record), n)
    measure = max(defined, key=lambda each: _low(defined[each][0]))
    correlation, rise = defined[measure]
    longer = surely_above(correlation, 0)
    within = _within(record).get(measure)
    explained = longer and within is not None and not surely_above(within, 0)
    said = (
        f"Rank correlation of {measure} with the length of the answer: {effect_words(correlation)} on "
        f"{correlation.n:,} answers, {rise.value or 0:+.3f} for each {PER} characters."
    )
    if explained and within is not None:
        gone = within.low is not None and within.low <= 0
        left = "is gone: longer ones are better here" if gone else "is not sure at 99 %"
        said += f" Among answers that people graded alike it {left}."
    elif longer:
        said += " Longer answers score higher."
    return Check(
        NAME,
        state_of(warns=longer and not explained),
        correlation,
        said,
        judge_answers(record),
        also={f"per_{PER}_characters": rise},
    )


def verbosity_at_equal_grades(record: JudgeRecord) -> Check:
    """Warn where scores surely rise with length among answers of equal human grade."""
    found = _within(record)
    if not found:
        n = max((len(graded.judge) for graded in record.graded.values()), default=0)
        why = f"It takes {LEAST} answers that people graded, some of them alike, and there are {n:,} graded."
        return not_measured(AT_EQUAL_GRADES, why, "judgeboard serve", n)
    measure = max(found, key=lambda each: _low(found[each]))
    within = found[measure]
    warns = surely_above(within, 0)
    sentence = (
        f"{_direction(within)}: rank correlation of {measure} with length within equal human grades "
        f"{effect_words(within)} on {within.n:,} answers."
    )
    return Check(AT_EQUAL_GRADES, state_of(warns=warns), within, sentence, "judgeboard serve")


def _direction(within: Estimate) -> str:
    if surely_above(within, 0):
        return "Longer answers score higher though people grade them alike"
    if surely_below(within, 0):
        return "Shorter answers score higher though people grade them alike"
    if _low(within) > 0 or (within.high or 0) < 0:
        return "Length may sway it, which is not sure at 99 %"
    return "Length does not surely sway it"


def _within(record: JudgeRecord) -> dict[str, Estimate]:
    """The correlation with length at equal grades, of each score that enough people graded."""
    found: dict[str, Estimate] = {}
    for measure, graded in record.graded.items():
        rows = ~np.isnan(graded.lengths)
        # A groundedness is a mean over people: grades are equal where they fall in the same tenth.
        strata = np.rint(graded.people * _TENTH)
        one = correlation_within(graded.judge[rows], graded.lengths[rows], strata[rows], graded.groups[rows])
        if one.n >= LEAST and one.value is not None:
            found[measure] = one
    return found


def _low(estimate: Estimate) -> float:
    return -2.0 if estimate.low is None else estimate.low

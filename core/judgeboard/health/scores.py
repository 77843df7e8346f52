"""Checks of scores: collapse, verbosity and user feedback in the log."""

import numpy as np

from judgeboard.domain import Estimate
from judgeboard.health.calls import import_log, judge_answers, make_and_judge
from judgeboard.health.record import (
    Check,
    JudgeRecord,
    State,
    effect_words,
    given_by,
    half_widths,
    not_measured,
    state_of,
)
from judgeboard.stats.arrays import grouping
from judgeboard.stats.correlation import correlation_within, slope, spearman
from judgeboard.stats.detection import auroc
from judgeboard.stats.estimates import percent, surely_above, surely_below, two_decimals
from judgeboard.stats.proportions import LevelUse, level_use
from judgeboard.store.health import ControlScores
from judgeboard.text import counted

LEAST = 30
"""Minimum number of scores or answers. Source of the checks and their limits: "LLM-as-Judge", AI Engineering Patterns
(2026): rubric inflation, verbosity, control answers (extended)."""
LARGEST_LEVEL = 0.8
"""Maximum share of one level."""
LEAST_ENTROPY = 0.35
"""Minimum entropy, as a share of log(levels)."""


def collapse(record: JudgeRecord) -> Check:
    """Warn if one level has more than 80 % of the scores, or their entropy is below 0.35 of log(levels).

    ``levels`` is the number of levels that the judge can give: two for a judge that gives 0 or 1 only.
    """
    worst = least_even(record)
    if worst is None:
        n = max((int(levels.counts.sum()) for levels in record.levels.values()), default=0)
        return _too_few_scores(record, "collapse", n)
    levels = record.levels[worst]
    use = level_use(levels.counts, levels.possible)
    warns = _collapsed(use)
    scores, of_measure = ("verdicts", "") if worst == "label" else ("scores", f" of {worst}")
    sentence = (
        f"{percent(use.most.value or 0)} of {use.most.n:,} {scores}{of_measure} are {levels.names[use.level]}. "
        f"The entropy of all {scores} is {two_decimals(use.entropy)} of the maximum for "
        f"{levels.possible or len(levels.names)} levels. "
    )
    sentence += "The judge hardly distinguishes answers." if warns else "The judge uses enough of its scale."
    if not warns:
        return Check("collapse", State.OK, use.most, sentence, judge_answers(record), share=True)
    controls, command = record.controls.get("other_answer", ControlScores()), None
    judged = max((int(controls.judged(measure).sum()) for measure in given_by(controls.before)), default=0)
    if judged >= LEAST:  # nothing more to measure: their check has it
        sentence += " The checks with control answers show whether it notices bad ones."
    elif controls.suitable is None or controls.suitable >= LEAST:
        sentence += " Test it with control answers, whose quality is known."
        command = make_and_judge(record, "other_answer")
    return Check("collapse", State.WARNING, use.most, sentence, command, share=True)


def _too_few_scores(record: JudgeRecord, name: str, n: int) -> Check:
    """Return that too few logged answers have a score, with the command that judges more if there are more."""
    why = f"Too few scores (n = {n:,}, at least {LEAST} needed)." if n else "It has scored no logged answer."
    if n and record.judged_all:
        return not_measured(name, f"{why} It has judged all logged answers: log more.", None, n)
    return not_measured(name, why, judge_answers(record), n)


def least_even(record: JudgeRecord) -> str | None:
    """Return the measure whose levels are used least evenly, for the check; None if all have too few scores."""
    uses = {
        measure: level_use(levels.counts, levels.possible)
        for measure, levels in record.levels.items()
        if int(levels.counts.sum()) >= LEAST and len(levels.counts) > 1
    }
    return max(uses, key=lambda measure: (_collapsed(uses[measure]), -uses[measure].entropy), default=None)


def _collapsed(use: LevelUse) -> bool:
    return (use.most.value or 0) > LARGEST_LEVEL or use.entropy < LEAST_ENTROPY


PER = 100  # characters: the unit of the slope


def verbosity(record: JudgeRecord) -> Check:
    """Warn if scores rise significantly with the length of the answer, unless people's grades explain it.

    Longer answers may be better, so the correlation at equal human grades decides, if there are enough grades. If there
    are several scores, the one with the clearest rise is shown.
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
        if by_measure:  # more of the same does not help
            return not_measured("verbosity", "All its scores, or all lengths of the answers, are the same.", None, n)
        return _too_few_scores(record, "verbosity", n)
    measure = max(defined, key=lambda each: _low(defined[each][0]))
    correlation, rise = defined[measure]
    within = _within(record)
    state, words = _after_grades(correlation, within.get(measure))
    sentence = (
        f"Rank correlation of {measure} with the length of the answer: {effect_words(correlation)} on "
        f"{counted(correlation.n, 'answer')}."
    )
    spans = float(np.ptp(record.scored.lengths[~np.isnan(record.scored.scores[measure] + record.scored.lengths)]))
    if spans >= PER and (_low(rise) > 0 or _high(rise) < 0):
        sentence += f" The score changes by {rise.value or 0:+.3f} per {PER} characters."
    if words:
        sentence += f" {words}"
        others = [each for each, same in within.items() if each != measure and half_widths(same, 0) > 1]
        if others:
            sentence += f" Of {' and '.join(others)}, it is not 0: see the check of a preference for length."
    return Check(
        "verbosity",
        state,
        correlation,
        sentence,
        also={f"per_{PER}_characters": rise},
    )


def _after_grades(correlation: Estimate, within: Estimate | None) -> tuple[State, str]:
    """Return what a correlation with length shows, beside the one ``within`` answers with equal human grades.

    The words are empty if the correlation may be 0.
    """
    at_equal_grades = "" if within is None else f"{effect_words(within)} (n = {within.n:,})"
    if surely_below(correlation, 0):
        words = "Longer answers score lower. Only grades of people show whether they are worse."
        is_small = within is not None and _is_small(within)
        if within is not None:
            size = f" The interval leaves out a medium one ({MEDIUM:g} or more)." if is_small else ""
            words = f"At equal human grades the correlation is {at_equal_grades}.{size}"
        return State.OK if is_small else State.NOT_CONCLUSIVE, words
    if not surely_above(correlation, 0):
        return State.OK, ""
    if within is None or surely_above(within, 0):
        return State.WARNING, "Longer answers score higher."
    if _low(within) <= 0 and _high(within) < MEDIUM:  # no rise, or at most a small one
        return State.OK, "At equal human grades the correlation disappears: longer answers are better here."
    few = "too few grades to tell whether longer answers are only better"
    return State.NOT_CONCLUSIVE, f"At equal human grades it is {at_equal_grades}, {few}."


MEDIUM = 0.3
"""A rank correlation from which on the influence of the length is medium."""


def verbosity_at_equal_grades(record: JudgeRecord) -> Check:
    """Warn if scores rise or fall significantly with length among answers with equal human grades.

    The check is ok only if the interval leaves out a medium influence. It shows the score that is farthest from 0.
    """
    correlations = _within(record)
    if not correlations:
        n = max((each.n for each in _all_within(record).values()), default=0)
        most = max(record.graded.values(), key=lambda each: each.graded or 0, default=None)
        if n < LEAST and most is not None and most.has_chosen:
            why = (
                f"Not shown whether length influences the judge: {most.too_few_words}. At least {LEAST} graded answers "
                "of a random sample are needed."
            )
            return not_measured("verbosity_at_equal_grades", why, "judgeboard serve", n)
        why = f"Too few answers with equal grades by people (n = {n:,}, at least {LEAST} needed)."
        if n >= LEAST:
            why = "Among answers with equal grades by people, all scores or all lengths are the same."
        return not_measured("verbosity_at_equal_grades", why, "judgeboard serve" if n < LEAST else None, n)
    measure = max(correlations, key=lambda each: half_widths(correlations[each], 0))
    within = correlations[measure]
    warns = surely_above(within, 0) or surely_below(within, 0)
    sentence = (
        f"{_direction(within)}: among answers with equal human grades, the rank correlation of {measure} with length "
        f"is {effect_words(within)} (n = {within.n:,}{record.graded[measure].sample_words})."
    )
    if warns:
        sentence += " The cause may be the length, or what differs with it, for example the query type."
    is_unclear = not warns and not _is_small(within)
    state = State.NOT_CONCLUSIVE if is_unclear else state_of(warns=warns)
    return Check("verbosity_at_equal_grades", state, within, sentence)


def _direction(within: Estimate) -> str:
    if surely_above(within, 0):
        return "Longer answers score higher"
    if surely_below(within, 0):
        return "Shorter answers score higher"
    if _low(within) > 0 or (within.high or 0) < 0:
        which = "Longer" if _low(within) > 0 else "Shorter"
        return f"{which} answers may score higher (significant at 95 %; this check warns at 99 %)"
    if not _is_small(within):
        return "Not shown whether length influences the judge"
    return "Length has at most a small influence on the judge"


def _is_small(within: Estimate) -> bool:
    """Return whether a correlation may be 0, and its interval leaves out a medium one (Cohen, 1988)."""
    if within.low is None or within.high is None:
        return False
    return within.low <= 0 <= within.high and max(-within.low, within.high) < MEDIUM


def _within(record: JudgeRecord) -> dict[str, Estimate]:
    return {
        measure: correlation
        for measure, correlation in _all_within(record).items()
        if correlation.n >= LEAST and correlation.value is not None
    }


def _all_within(record: JudgeRecord) -> dict[str, Estimate]:
    correlations: dict[str, Estimate] = {}
    for measure, graded in record.graded.items():
        rows = ~np.isnan(graded.lengths)
        # Groundedness is a mean over people, so grades that round to the same tenth count as equal.
        strata = np.rint(graded.people * 10)
        correlations[measure] = correlation_within(
            graded.judge[rows], graded.lengths[rows], strata[rows], graded.groups[rows]
        )
    return correlations


def _low(estimate: Estimate) -> float:
    return -2.0 if estimate.low is None else estimate.low


def _high(estimate: Estimate) -> float:
    return 2.0 if estimate.high is None else estimate.high


CHANCE = 0.5
"""The value for a judge that cannot distinguish what it compares: a control answer from its original, for example."""
LEAST_FEEDBACK = 10
"""Minimum number of judged answers with negative feedback, and with positive feedback."""
USEFUL = 0.6
"""Minimum AUROC. Our own limit: feedback is noisy, so the limit is low, and only a significantly lower AUROC warns."""


def user_feedback(record: JudgeRecord) -> Check:
    """Warn if the AUROC of the score for negative feedback is significantly below 0.6.

    The check is ok only if the AUROC is above chance; with an interval that includes chance it is not conclusive.
    """
    feedback = record.feedback
    aurocs: dict[str, Estimate] = {}
    most = 0
    for measure in given_by(feedback.scores):
        scores = feedback.scores[measure]
        rows = ~np.isnan(scores)
        down = feedback.down[rows]
        most = max(most, len(down))
        if min(int(down.sum()), int((~down).sum())) >= LEAST_FEEDBACK:
            aurocs[measure] = auroc(scores[rows], down, grouping(feedback.groups[rows], len(down)))
    if not aurocs:
        why = (
            f"Too few judged answers with feedback (n = {most:,}): at least {LEAST_FEEDBACK} with negative and "
            f"{LEAST_FEEDBACK} with positive feedback are needed."
        )
        return not_measured("user_feedback", why, import_log("feedback"), most)
    # Users may care about any of the scores, so the score that follows their feedback best is used.
    measure = max(aurocs, key=lambda each: aurocs[each].value or 0)
    best = aurocs[measure]
    figure = f"AUROC of {measure} for negative feedback {effect_words(best)} on {counted(best.n, 'answer')}"
    if surely_below(best, USEFUL):
        state, sentence = State.WARNING, f"The judge does not agree with users: {figure}."
    elif best.low is not None and best.low > CHANCE:
        state, sentence = State.OK, f"The judge agrees with users more than by chance: {figure}."
    else:
        chance = "" if best.low is None else f" The interval includes chance ({CHANCE:g})."
        state, sentence = State.NOT_CONCLUSIVE, f"Not shown whether the judge agrees with users: {figure}.{chance}"
    return Check("user_feedback", state, best, sentence, import_log("feedback"))

"""Checks of scores: collapse, verbosity and user feedback in the log."""

import numpy as np

from judgeboard.domain import Estimate
from judgeboard.health.calls import import_log, judge_answers, make_and_judge
from judgeboard.health.record import (
    Check,
    JudgeRecord,
    State,
    given_by,
    half_widths,
    not_measured,
    state_of,
)
from judgeboard.measure.notes import Note, note
from judgeboard.stats.arrays import grouping
from judgeboard.stats.correlation import correlation_within, slope, spearman
from judgeboard.stats.detection import auroc
from judgeboard.stats.estimates import surely_above, surely_below
from judgeboard.stats.proportions import LevelUse, level_use
from judgeboard.store.health import ControlScores

LEAST = 30
"""Minimum number of scores or answers. Source of the checks and their limits: "LLM-as-Judge", AI Engineering Patterns
(2026): rubric inflation, verbosity, control answers (extended)."""
LARGEST_LEVEL = 0.8
"""Maximum share of one level."""
LEAST_ENTROPY = 0.35
"""Minimum entropy, as a share of log(levels)."""


def collapse(record: JudgeRecord) -> Check:
    """Warn if one level has more than 80 % of the scores, or their entropy is below 0.35 of log(levels).

    ``levels`` is the number of levels that the judge can give: two for a judge that gives 0 or 1
    only.
    """
    worst = least_even(record)
    if worst is None:
        n = max((int(levels.counts.sum()) for levels in record.levels.values()), default=0)
        return _too_few_scores(record, "collapse", n)
    levels = record.levels[worst]
    use = level_use(levels.counts, levels.possible)
    warns = _collapsed(use)
    code = "scale_collapsed" if warns else "scale_used"
    notes = [note(code, measure=worst, level=levels.names[use.level], entropy=use.entropy)]
    if not warns:
        return Check(
            "collapse", State.OK, use.most, tuple(notes), judge_answers(record), share=True
        )
    controls, command = record.controls.get("other_answer", ControlScores()), None
    judged_count = max(
        (int(controls.judged(measure).sum()) for measure in given_by(controls.before)), default=0
    )
    if judged_count >= LEAST:  # nothing more to measure: the check of control answers has it
        notes.append(note("controls_show"))
    elif controls.suitable is None or controls.suitable >= LEAST:
        notes.append(note("controls_would_show"))
        command = make_and_judge(record, "other_answer")
    return Check("collapse", State.WARNING, use.most, tuple(notes), command, share=True)


def _too_few_scores(record: JudgeRecord, name: str, n: int) -> Check:
    """Return that too few logged answers have a score, with the command that judges more answers, if there are more."""
    why = note("few_scores", n=n, least=LEAST)
    if n and record.judged_all:
        return not_measured(name, None, why, note("judged_all"), n=n)
    return not_measured(name, judge_answers(record), why, n=n)


def least_even(record: JudgeRecord) -> str | None:
    """Return the measure whose levels are used least evenly, for the check; None if all have too few scores."""
    uses = {
        measure: level_use(levels.counts, levels.possible)
        for measure, levels in record.levels.items()
        if int(levels.counts.sum()) >= LEAST and len(levels.counts) > 1
    }
    return max(
        uses, key=lambda measure: (_collapsed(uses[measure]), -uses[measure].entropy), default=None
    )


def _collapsed(use: LevelUse) -> bool:
    return (use.most.value or 0) > LARGEST_LEVEL or use.entropy < LEAST_ENTROPY


PER = 100  # characters: the unit of the slope


def verbosity(record: JudgeRecord) -> Check:
    """Warn if scores rise significantly with the length of the answer, unless people's grades explain the rise.

    Longer answers may be better, so the correlation at equal human grades decides, if there are
    enough grades. If there are several scores, the one with the clearest rise is shown.
    """
    by_measure: dict[str, tuple[Estimate, Estimate]] = {}
    for measure in given_by(record.scored.scores):
        scores = record.scored.scores[measure]
        rows = ~np.isnan(scores) & ~np.isnan(record.scored.lengths)
        lengths = record.scored.lengths[rows]
        groups = grouping(record.scored.groups[rows], len(lengths))
        if len(lengths) >= LEAST:
            by_measure[measure] = (
                spearman(scores[rows], lengths, groups),
                slope(scores[rows], lengths / PER, groups),
            )
    available = {measure: both for measure, both in by_measure.items() if both[0].value is not None}
    if not available:
        n = max((int((~np.isnan(each)).sum()) for each in record.scored.scores.values()), default=0)
        if by_measure:  # more of the same does not help
            return not_measured("verbosity", None, note("length_or_score_constant"), n=n)
        return _too_few_scores(record, "verbosity", n)
    measure = max(available, key=lambda each: _low(available[each][0]))
    correlation, rise = available[measure]
    within = _within(record)
    state, after_grades = _after_grades(correlation, within.get(measure))
    notes = [note("length_correlation", measure=measure)]
    spans = float(
        np.ptp(
            record.scored.lengths[~np.isnan(record.scored.scores[measure] + record.scored.lengths)]
        )
    )
    if spans >= PER and (_low(rise) > 0 or _high(rise) < 0):
        notes.append(note("change_with_length", change=rise.value or 0.0, characters=PER))
    if after_grades is not None:
        notes.append(after_grades)
        others = [
            each for each, same in within.items() if each != measure and half_widths(same, 0) > 1
        ]
        if others:
            notes.append(note("others_follow_length", measures=others))
    return Check(
        "verbosity", state, correlation, tuple(notes), also={f"per_{PER}_characters": rise}
    )


def _after_grades(correlation: Estimate, within: Estimate | None) -> tuple[State, Note | None]:
    """Return what a correlation with length shows, beside the correlation ``within`` answers with equal human grades.

    The note is None if the correlation may be 0.
    """
    if surely_below(correlation, 0):
        if within is None:
            return State.NOT_CONCLUSIVE, note("longer_lower")
        is_small = _is_small(within)
        return State.OK if is_small else State.NOT_CONCLUSIVE, note(
            "small_at_equal_grades" if is_small else "at_equal_grades", correlation=within
        )
    if not surely_above(correlation, 0):
        return State.OK, None
    if within is None or surely_above(within, 0):
        return State.WARNING, note("longer_higher")
    if _low(within) <= 0 and _high(within) < MEDIUM:  # no rise, or at most a small one
        return State.OK, note("longer_better")
    return State.NOT_CONCLUSIVE, note("longer_unclear", correlation=within)


MEDIUM = 0.3
"""A rank correlation from which on the influence of the length is medium."""


def verbosity_at_equal_grades(record: JudgeRecord) -> Check:
    """Warn if scores rise or fall significantly with length among answers with equal human grades.

    The check is ok only if the interval leaves out a medium influence. The score that is farthest
    from 0 is shown.
    """
    correlations = _within(record)
    if not correlations:
        n = max((each.n for each in _all_within(record).values()), default=0)
        most = max(record.graded.values(), key=lambda each: each.graded or 0, default=None)
        if n >= LEAST:
            return not_measured(
                "verbosity_at_equal_grades", None, note("length_or_score_constant"), n=n
            )
        why = note("few_equal_grades", n=n, least=LEAST), *(() if most is None else most.of_sample)
        return not_measured("verbosity_at_equal_grades", "judgeboard serve", *why, n=n)
    measure = max(correlations, key=lambda each: half_widths(correlations[each], 0))
    within = correlations[measure]
    warns = surely_above(within, 0) or surely_below(within, 0)
    # What the correlation among answers with equal grades shows.
    if surely_above(within, 0):
        code = "prefers_longer"
    elif surely_below(within, 0):
        code = "prefers_shorter"
    elif _low(within) > 0:
        code = "may_prefer_longer"
    elif (within.high or 0) < 0:
        code = "may_prefer_shorter"
    else:
        code = "length_hardly_matters" if _is_small(within) else "length_unclear"
    notes = [note(code, measure=measure), *record.graded[measure].of_sample]
    if warns:
        notes.append(note("length_or_type"))
    is_unclear = not warns and not _is_small(within)
    state = State.NOT_CONCLUSIVE if is_unclear else state_of(warns=warns)
    return Check("verbosity_at_equal_grades", state, within, tuple(notes))


def _is_small(within: Estimate) -> bool:
    """Return whether a correlation may be 0, and the interval leaves out a medium correlation (Cohen, 1988)."""
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
    for measure, answers in record.graded.items():
        rows = ~np.isnan(answers.lengths)
        # Groundedness is a mean over people, so grades that round to the same tenth count as equal.
        strata = np.rint(answers.people * 10)
        correlations[measure] = correlation_within(
            answers.judge[rows], answers.lengths[rows], strata[rows], answers.groups[rows]
        )
    return correlations


def _low(estimate: Estimate) -> float:
    return -2.0 if estimate.low is None else estimate.low


def _high(estimate: Estimate) -> float:
    return 2.0 if estimate.high is None else estimate.high


CHANCE = 0.5
"""The value for a judge that cannot distinguish two kinds of answers, such as control answers and originals."""
LEAST_FEEDBACK = 10
"""Minimum number of judged answers with negative feedback, and with positive feedback."""
USEFUL = 0.6
"""Minimum AUROC. Our own limit: feedback is noisy, so the limit is low, and only a significantly lower AUROC warns."""


def user_feedback(record: JudgeRecord) -> Check:
    """Warn if the AUROC of the score for negative feedback is significantly below 0.6.

    The check is ok only if the AUROC is above chance; with an interval that includes chance, the
    check is not conclusive.
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
        why = note("few_feedback", n=most, least=LEAST_FEEDBACK)
        return not_measured("user_feedback", import_log("feedback"), why, n=most)
    # Users may care about any of the scores, so the score that follows feedback best is used.
    measure = max(aurocs, key=lambda each: aurocs[each].value or 0)
    best = aurocs[measure]
    state, code = State.NOT_CONCLUSIVE, "users_unclear"
    if surely_below(best, USEFUL):
        state, code = State.WARNING, "users_disagree"
    elif best.low is not None and best.low > CHANCE:
        state, code = State.OK, "users_agree"
    return Check(
        "user_feedback", state, best, (note(code, measure=measure),), import_log("feedback")
    )

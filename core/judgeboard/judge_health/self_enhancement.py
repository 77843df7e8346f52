"""Self-enhancement: does the judge grade its own family higher than people do, against other families?"""

import numpy as np

from judgeboard.domain import Estimate
from judgeboard.judge_health.check import Check, effect_words, not_applicable, not_measured, state_of
from judgeboard.judge_health.commands import asks_nobody, import_log, with_families
from judgeboard.judge_health.family import NO_GENERATORS
from judgeboard.judge_health.record import GradedAnswers, JudgeRecord
from judgeboard.stats.alarm import surely_above
from judgeboard.stats.arrays import BoolArray
from judgeboard.stats.differences import difference_of_means
from judgeboard.stats.grouping import grouping

NAME = "self_enhancement"
LEAST = 10
"""Graded answers that either side needs. Ours: as everywhere a statistic of agreement is shown (`MIN_PAIRS`)."""


def self_enhancement(record: JudgeRecord) -> Check:
    """Warn where score − human grade is surely higher on answers of the judge's own family than on others.

    Source: A. Panickssery, S. Bowman, S. Feng, "LLM evaluators recognize and favor their own generations" (NeurIPS
    2024); measured as methods of Judgeboard do: against people, so that a family that writes better is no fault.
    """
    if nobody := asks_nobody(record.version):
        return not_applicable(NAME, "it asks no model", nobody)
    if not any((*record.generators, *(name for graded in record.graded.values() for name in graded.model_names))):
        return not_measured(NAME, NO_GENERATORS, import_log("generator_model"))
    own = record.models.family(record.judge_model)
    if own is None:
        return not_measured(NAME, f"The family of {record.judge_model} is not known.", with_families(record))
    most: tuple[str, Estimate] | None = None
    for measure, graded in record.graded.items():
        mine, others = _sides(record, graded, own)
        rows = mine | others
        if not graded.same:
            continue
        if min(int(mine.sum()), int(others.sum())) < LEAST or (most is not None and most[1].n >= int(rows.sum())):
            continue
        distance = (graded.judge - graded.people)[rows]
        groups = grouping(graded.groups[rows], len(distance))
        most = measure, difference_of_means(distance, mine[rows], groups)
    if most is None:
        why = f"Too few answers that people graded: it takes {LEAST} of {own} and {LEAST} of other known families."
        return not_measured(NAME, why, f"{with_families(record)}  # after grading some in the desk")
    measure, difference = most
    warns = surely_above(difference, 0)
    said = "grades its own family higher" if warns else "does not surely grade its own family higher"
    sentence = (
        f"Against people, {record.judge_model} {said} ({own}) than others: {measure} differs by "
        f"{effect_words(difference)} on {difference.n:,} graded answers."
    )
    return Check(NAME, state_of(warns=warns), difference, sentence, with_families(record))


def _sides(record: JudgeRecord, graded: GradedAnswers, own: str) -> tuple[BoolArray, BoolArray]:
    families = [record.models.family(model) for model in graded.model_names]
    is_own = np.array([each == own for each in families], dtype=np.bool_)
    is_known = np.array([each is not None for each in families], dtype=np.bool_)
    if not families:
        return np.zeros(len(graded.judge), dtype=np.bool_), np.zeros(len(graded.judge), dtype=np.bool_)
    return is_own[graded.models], (is_known & ~is_own)[graded.models]

"""User feedback: does the judge see what users see?"""

import numpy as np

from judgeboard.domain import Estimate
from judgeboard.health.commands import import_log
from judgeboard.health.record import Check, JudgeRecord, effect_words, given_by, not_measured, state_of
from judgeboard.stats.arrays import grouping
from judgeboard.stats.detection import auroc
from judgeboard.stats.estimates import surely_below

NAME = "user_feedback"
LEAST = 10
"""Judged answers that users need to be down on, and up on."""
USEFUL = 0.6
"""An AUROC surely below this tells users' ratings hardly better than a coin. Ours: thumbs are noisy, so little is
asked; a judge that is unsure to reach it is not accused."""
_COMMAND = import_log("feedback")


def user_feedback(record: JudgeRecord) -> Check:
    """Warn where the score surely tells what users disliked from what they liked no better than 0.6 (AUROC)."""
    feedback = record.feedback
    found: dict[str, Estimate] = {}
    most = 0
    for measure in given_by(feedback.scores):
        scores = feedback.scores[measure]
        rows = ~np.isnan(scores)
        down = feedback.down[rows]
        most = max(most, len(down))
        if min(int(down.sum()), int((~down).sum())) >= LEAST:
            found[measure] = auroc(scores[rows], down, grouping(feedback.groups[rows], len(down)))
    if not found:
        why = (
            f"It takes {LEAST} judged answers that users were down on and {LEAST} that they were up on; "
            f"users spoke of {most:,}."
        )
        return not_measured(NAME, why, _COMMAND, most)
    # Users like an answer for one thing or another: the score that follows them best speaks for the judge.
    measure = max(found, key=lambda each: found[each].value or 0)
    best = found[measure]
    warns = surely_below(best, USEFUL)
    said = "It does not see what users see" if warns else "It follows users as far as can be told"
    sentence = (
        f"{said}: AUROC of {measure} for telling what users disliked from what they liked {effect_words(best)} on "
        f"{best.n:,} answers."
    )
    return Check(NAME, state_of(warns=warns), best, sentence, _COMMAND)

"""User feedback: whether the judge's scores agree with it."""

import numpy as np

from judgeboard.domain import Estimate
from judgeboard.health.commands import import_log
from judgeboard.health.record import Check, JudgeRecord, effect_words, given_by, not_measured, state_of
from judgeboard.stats.arrays import grouping
from judgeboard.stats.detection import auroc
from judgeboard.stats.estimates import surely_below

NAME = "user_feedback"
LEAST = 10
"""Minimum number of judged answers with negative feedback, and with positive feedback."""
USEFUL = 0.6
"""Minimum AUROC. Ours: users' feedback is noisy, so the limit is low, and only a significantly lower AUROC warns."""
_COMMAND = import_log("feedback")


def user_feedback(record: JudgeRecord) -> Check:
    """Warn if the AUROC of the score for negative feedback is significantly below 0.6."""
    feedback = record.feedback
    aurocs: dict[str, Estimate] = {}
    most = 0
    for measure in given_by(feedback.scores):
        scores = feedback.scores[measure]
        rows = ~np.isnan(scores)
        down = feedback.down[rows]
        most = max(most, len(down))
        if min(int(down.sum()), int((~down).sum())) >= LEAST:
            aurocs[measure] = auroc(scores[rows], down, grouping(feedback.groups[rows], len(down)))
    if not aurocs:
        why = (
            f"Too few judged answers with feedback (n = {most:,}): at least {LEAST} with negative and {LEAST} with "
            "positive feedback are needed."
        )
        return not_measured(NAME, why, _COMMAND, most)
    # Users may care about any of the scores: the one that follows their feedback best counts.
    measure = max(aurocs, key=lambda each: aurocs[each].value or 0)
    best = aurocs[measure]
    warns = surely_below(best, USEFUL)
    agreement = "The judge does not agree with users" if warns else "The judge agrees with users, as far as measured"
    sentence = f"{agreement}: AUROC of {measure} for negative feedback {effect_words(best)} on {best.n:,} answers."
    return Check(NAME, state_of(warns=warns), best, sentence, _COMMAND)

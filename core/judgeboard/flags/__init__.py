"""The flag rules: a new one is a file here and a line in ``RULES``."""

from judgeboard.flags import (
    always_review,
    feedback_gap,
    judge_failed,
    judges_disagree,
    low_groundedness,
    low_quality,
    random_sample,
    supreme_disagrees,
)
from judgeboard.flags.rule import Rule

RULES: tuple[Rule, ...] = (
    low_groundedness.RULE,
    low_quality.RULE,
    feedback_gap.RULE,
    judges_disagree.RULE,
    supreme_disagrees.RULE,
    judge_failed.RULE,
    always_review.RULE,
    random_sample.RULE,
)

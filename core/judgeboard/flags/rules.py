"""RULES, the flag rules: one file and one line here each."""

from collections.abc import Mapping
from typing import Any

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

_SENTENCES = {rule.name: rule.why for rule in RULES}


def why(rule: str, details: Mapping[str, Any], params: Mapping[str, Any]) -> str:
    """Return the sentence that explains a stored flag; it can contain texts of a log, so escape it.

    A flag of an unknown rule, or with details of an older release, is named by its rule only.
    """
    try:
        return _SENTENCES[rule](details, params)
    except (LookupError, TypeError, ValueError):
        return f"Flagged by {rule}."

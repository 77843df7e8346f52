"""Presets of a new queue: rules that leads often need."""

from typing import TYPE_CHECKING, NamedTuple

from judgeboard.domain import QueueOrder

if TYPE_CHECKING:  # the help lists the presets, and loads no SQLAlchemy
    from judgeboard.store.queues import RuleKeywords


class Preset(NamedTuple):
    """Rules of a queue, the words that describe them to leads, and the start of a name for the queue."""

    words: str
    name: str
    rules: "RuleKeywords"


_BLIND: "RuleKeywords" = {"blind_people": True, "blind_judge": True, "order": QueueOrder.RANDOM}
PRESETS: dict[str, Preset] = {
    "random": Preset(
        "100 random answers, two reviewers, blind",
        "Random answers",
        {"flagged_only": False, "max_items": 100, "needed": 2, **_BLIND},
    ),
    "calibration": Preset(
        "30 random answers, three reviewers, blind",
        "Calibration",
        {"flagged_only": False, "max_items": 30, "needed": 3, **_BLIND},
    ),
    "worst": Preset(
        "50 most doubtful answers, one reviewer",
        "Most doubtful answers",
        {"max_items": 50, "order": QueueOrder.SEVERITY},
    ),
    "judges-differ": Preset(
        "50 answers on which judges differ most, two reviewers",
        "Judges differ",
        {
            "flagged_only": False,
            "max_items": 50,
            "order": QueueOrder.DISAGREEMENT,
            "needed": 2,
            "blind_people": True,
        },
    ),
}

PLANNED: "RuleKeywords" = {
    "flagged_only": False,
    "order": QueueOrder.RANDOM,
    "blind_judge": True,
    "reveal": False,
    "grades": (),
    "optional_grades": (),
    "implied_labels": True,
    "guidelines": "Does the answer state anything that is not in the passages?\n\nYes: the answer is hallucinated. "
    "No: it is grounded. Unsure: it does not count.",
}
"""Default rules of a queue that a plan fills: one decision per answer, which implies its label, without the judge."""

FIRST_SAMPLE: "RuleKeywords" = {**PLANNED, "max_items": 20, "blind_people": True}
"""Rules of the queue with which the review of a log begins. Few enough that figures of 400 answers stay in view."""
FIRST_SAMPLE_NAME = "First random sample"

"""The checks of a judge's own faults; a new one is one file and one line here."""

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType

from judgeboard.judge_health.check import Check
from judgeboard.judge_health.collapse import collapse
from judgeboard.judge_health.controls import KNOWN_BAD, NAMES, NEUTRAL, known_bad, neutral
from judgeboard.judge_health.family import family, self_enhancement, weaker
from judgeboard.judge_health.position import position
from judgeboard.judge_health.record import JudgeRecord
from judgeboard.judge_health.requests import cost, unusable
from judgeboard.judge_health.self_consistency import self_consistency
from judgeboard.judge_health.user_feedback import user_feedback
from judgeboard.judge_health.verbosity import verbosity, verbosity_at_equal_grades

CHECKS: Mapping[str, Callable[[JudgeRecord], Check]] = MappingProxyType(
    {
        "family": family,
        "self_enhancement": self_enhancement,
        "weaker": weaker,
        "collapse": collapse,
        **{kind.name: partial(known_bad, kind=kind) for kind in KNOWN_BAD},
        **{NAMES.get(kind.name, kind.name): partial(neutral, kind=kind) for kind in NEUTRAL},
        "verbosity": verbosity,
        "verbosity_at_equal_grades": verbosity_at_equal_grades,
        "position": position,
        "self_consistency": self_consistency,
        "user_feedback": user_feedback,
        "unusable": unusable,
        "cost": cost,
    }
)
"""Name to check, in the order in which they are shown."""

"""Lands the records of an import: one class per kind of file, all with the same shape."""

from collections.abc import Callable, Mapping

from judgeboard.landings.comparisons import ComparisonLanding
from judgeboard.landings.grades import GradeLanding
from judgeboard.landings.landing import Landed, Landing, Problem
from judgeboard.landings.pairs import PairLanding
from judgeboard.landings.repeats import RepeatLanding
from judgeboard.landings.responses import ResponseLanding
from judgeboard.landings.samples import SampleLanding
from judgeboard.landings.verdicts import VerdictLanding

__all__ = ["LANDINGS", "Landed", "Landing", "Problem"]

LANDINGS: Mapping[str, Callable[[str], Landing]] = {
    "responses": ResponseLanding,
    "grades": GradeLanding,
    "verdicts": VerdictLanding,
    "pairs": PairLanding,
    "comparisons": ComparisonLanding,
    "samples": SampleLanding,
    "repeats": RepeatLanding,
}

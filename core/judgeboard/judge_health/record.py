"""What is known of a judge version when its faults are looked for: arrays and counts, no texts.

A *measure* is one of the scores that a judge gives: groundedness (0-1), quality (1-4), label (1 grounded, 0
hallucinated) or score (its overall score on a rubric, else the mean of its dimensions). Missing is NaN.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from judgeboard.judge_health.model_table import ModelTable, shipped_models
from judgeboard.stats.arrays import BoolArray, FloatArray, IntArray, no_ints
from judgeboard.stats.both_orders import OrderVerdicts
from judgeboard.stats.ratio import RatioSums
from judgeboard.store.health.version_scores import ControlScores, FeedbackScores, ScoredAnswers, Scores
from judgeboard.store.judgments.judge_versions import StoredVersion

MEASURES = ("groundedness", "quality", "label", "score")


def given_by(scores: Scores) -> list[str]:
    """Return the measures that hold any score, in the order of ``MEASURES``."""
    return [name for name in MEASURES if name in scores and bool((~np.isnan(scores[name])).any())]


@dataclass(frozen=True, slots=True, eq=False)
class GradedAnswers:
    """Answers that the version scored on one measure and people graded, with length, evidence and who wrote each.

    ``people`` graded the same measure where ``same``, else another one: their grades then only tell which answers are
    alike. ``models`` are positions in ``model_names``, "" is unknown.
    """

    judge: FloatArray
    people: FloatArray
    lengths: FloatArray
    groups: IntArray
    models: IntArray
    model_names: tuple[str, ...]
    same: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class LevelCounts:
    """How often each level of one measure or dimension was given; ``names`` are the levels."""

    names: tuple[str, ...]
    counts: IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Repeats:
    """Answers that the judge was asked about several times, with a value in every repeat on its main ``measure``.

    ``same`` says of each whether all its repeats gave the same; ``response_ids`` name them. ``incomplete`` have a
    value in some repeats only, and are left out.
    """

    same: BoolArray = field(default_factory=lambda: np.empty(0, dtype=np.bool_))
    response_ids: IntArray = field(default_factory=no_ints)
    groups: IntArray = field(default_factory=no_ints)
    measure: str = "quality"
    incomplete: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class JudgeRecord:
    """All that the checks read of one judge version; what is empty is not measured.

    ``generators`` counts judged answers by the model that wrote them (None: the log does not say). ``asked`` counts
    requests by status, to any method. ``pairs`` are verdicts on pairs by aspect. ``costs`` sum the judge's costs
    (upper) and the generator's (lower) over answers where both are known.
    """

    version: StoredVersion
    models: ModelTable = field(default_factory=shipped_models)
    generators: Mapping[str | None, int] = field(default_factory=dict)
    levels: Mapping[str, LevelCounts] = field(default_factory=dict)
    scored: ScoredAnswers = field(default_factory=ScoredAnswers)
    graded: Mapping[str, GradedAnswers] = field(default_factory=dict)
    controls: Mapping[str, ControlScores] = field(default_factory=dict)
    pairs: Mapping[str, OrderVerdicts] = field(default_factory=dict)
    repeats: Repeats = field(default_factory=Repeats)
    feedback: FeedbackScores = field(default_factory=FeedbackScores)
    asked: Mapping[str, int] = field(default_factory=dict)
    costs: RatioSums = field(default_factory=lambda: RatioSums(0, 0, 0, 0, 0, 0))

    @property
    def judge_model(self) -> str:
        """The model that judges, or the judge's name where its verdicts were recorded elsewhere."""
        return self.version.model or self.version.name

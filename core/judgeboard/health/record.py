"""The data of a judge version that checks read, and the result of a check; no texts."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np

from judgeboard.domain import Estimate
from judgeboard.health.models import ModelTable, shipped_models
from judgeboard.stats.arrays import TIE, BoolArray, FloatArray, IntArray, no_ints
from judgeboard.stats.both_orders import OrderVerdicts
from judgeboard.stats.estimates import interval, number_words, unmeasured
from judgeboard.stats.proportions import RatioSums
from judgeboard.store.health import ControlScores, FeedbackScores, ScoredAnswers, Scores
from judgeboard.store.judge_versions import StoredVersion

MEASURES = ("groundedness", "quality", "label", "score")


def given_by(scores: Scores) -> list[str]:
    """Return the measures with any score, in the order of ``MEASURES``."""
    return [name for name in MEASURES if name in scores and bool((~np.isnan(scores[name])).any())]


@dataclass(frozen=True, slots=True, eq=False)
class GradedAnswers:
    """Answers that the version scored on one measure and people graded, with length, evidence group and generator.

    With ``same``, people graded the same measure, else another one: those grades only tell which answers are alike.
    ``models`` are positions in ``model_names``; "" is unknown.
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
    """Counts of each level of a measure; ``names`` are the levels."""

    names: tuple[str, ...]
    counts: IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Repeats:
    """Answers with a value in every repeat on the main ``measure``.

    ``same`` tells whether all repeats of an answer are equal. ``incomplete`` answers, with a value in some repeats
    only, are left out.
    """

    same: BoolArray = field(default_factory=lambda: np.empty(0, dtype=np.bool_))
    response_ids: IntArray = field(default_factory=no_ints)
    groups: IntArray = field(default_factory=no_ints)
    measure: str = "quality"
    incomplete: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class JudgeRecord:
    """The data that the checks read of one judge version; empty parts are not measured.

    ``generators`` counts judged answers by the model that wrote them (None: unknown). ``asked`` counts calls by status,
    in all methods. ``pairs`` are verdicts on pairs by aspect. ``costs`` sum the judge's costs (upper) and the
    generator's (lower) over answers with both.
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
        """The judge's model, or the name of a recorded judge."""
        return self.version.model or self.version.name


SMALL = 0.1  # below it, two digits would hide an effect


class State(StrEnum):
    """The result of a check; not measured is never ok."""

    OK = "ok"
    WARNING = "warning"
    NOT_MEASURED = "not_measured"


@dataclass(frozen=True, slots=True)
class Check:
    """One possible fault of a judge.

    ``name`` is a key of ``CHECKS``. ``statistic`` decides; ``share`` shows it in percent, and ``also`` has more
    figures. ``command`` measures it or looks further. ``response_ids`` are answers that show the fault, the clearest
    first. ``applies`` is False if a judge of this kind cannot have the fault; the state is then ok.
    """

    name: str
    state: State
    statistic: Estimate
    sentence: str
    command: str | None = None
    share: bool = False
    also: Mapping[str, Estimate] = field(default_factory=dict)
    response_ids: tuple[int, ...] = ()
    applies: bool = True


def not_measured(name: str, why: str, command: str | None, n: int = 0) -> Check:
    """Return a check without a figure: ``why`` as a sentence, and the command that would measure it."""
    return Check(name, State.NOT_MEASURED, unmeasured(n, why.rstrip(".")), why, command)


def not_applicable(name: str, why: str, sentence: str, *, share: bool = False, n: int = 0) -> Check:
    """Return a check of a fault that a judge of this kind cannot have."""
    return Check(name, State.OK, unmeasured(n, why), f"Does not apply: {sentence}", share=share, applies=False)


def effect_words(estimate: Estimate) -> str:
    """Return a figure with its interval; small ones have three digits."""
    if estimate.value is None or abs(estimate.value) >= SMALL or interval(estimate) is None:
        return number_words(estimate)
    return f"{estimate.value:.3f} [{estimate.low:.3f}, {estimate.high:.3f}]"


def state_of(*, warns: bool) -> State:
    """Return warning or ok."""
    return State.WARNING if warns else State.OK


def half_widths(estimate: Estimate, harmless: float) -> float:
    """Return the distance of a figure from its harmless value in half-widths of its interval."""
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return 0.0
    distance = abs(estimate.value - harmless)
    return 0.0 if distance < TIE else distance / max((estimate.high - estimate.low) / 2, TIE)

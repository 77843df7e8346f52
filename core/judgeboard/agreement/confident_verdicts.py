"""Verdicts that need no review: those of which a judge, or several, are sure enough."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
from sqlalchemy import Connection

from judgeboard.agreement.more_labels import answers_to_sample, labels_missing, more_labels_words
from judgeboard.agreement.samples import scored_version
from judgeboard.agreement.scored_labels import ScoredLabels, ScoredSample, allowed_risk, confidence, load_sample
from judgeboard.domain import Estimate
from judgeboard.errors import BadInput, check_known
from judgeboard.stats.arrays import BoolArray, FloatArray, IntArray, grouping, no_ints
from judgeboard.stats.estimates import percent, percent_as_given, percent_words
from judgeboard.stats.proportions import share
from judgeboard.stats.sample_size import design_effect_of_mean
from judgeboard.stats.thresholds import (
    DELTA,
    STARTS,
    Passed,
    confidence_threshold,
    labels_to_pass,
    score_grid,
)
from judgeboard.store.judge_versions import get_version
from judgeboard.text import counted

Combine = Literal["mean", "alike", "cascade"]
COMBINES: tuple[Combine, ...] = get_args(Combine)

_TIE = 0.5  # the share of judges on each side


@dataclass(frozen=True, slots=True)
class Stage:
    """A judge, or a jury, and its verdicts that need no review: those with a ``confidence`` at or above this.

    The confidence is the larger of groundedness and 1 - groundedness, or the share of judges with the same verdict. It
    is None if no threshold reaches the agreement. ``confident`` counts the verdicts of this stage.
    """

    judge_version: str
    confidence: float | None
    test: Passed | None
    confident: int


@dataclass(frozen=True, slots=True)
class ConfidentVerdicts:
    """The verdicts that need no review; a later stage gets the answers that the stages before it left.

    ``confident`` counts these verdicts, of ``judged`` ones. The half of the labels that did not choose the thresholds
    measures ``agreement`` of these verdicts with people, and their ``share``.
    """

    judge_version: str
    agreement_wanted: float
    delta: float
    sentence: str
    labelled: int
    judged: int
    stages: tuple[Stage, ...] = ()
    confident: int = 0
    agreement: Estimate | None = None
    share: Estimate | None = None
    left_out: dict[str, int] | None = None


def measure_confident_verdicts(
    connection: Connection,
    agreement: float,
    *,
    delta: float = DELTA,
    judge_version: int | str | None = None,
    jury: Sequence[int | str] = (),
    combine: Combine = "mean",
) -> ConfidentVerdicts:
    """Return from which confidence on verdicts agree with people at least as often as ``agreement`` (0 to 1).

    Half of the evidence groups chooses the threshold, the other half reports. For a set of labels, the agreement is
    missed with a probability of at most ``delta``. A ``jury`` of two or more judge versions takes the place of
    ``judge_version`` (default: the primary judge's newest). ``combine`` says how: the "mean" of their scores, how many
    give the same verdict ("alike"), or one after the other ("cascade"). Raises BadInput and NotFound.
    """
    for name, value in (("agreement", agreement), ("delta", delta)):
        if not 0 < value < 1:
            raise BadInput(f"{name} must be between 0 and 1, not {value:g}")
    check_known("combine", combine, COMBINES)
    if jury and judge_version is not None:
        raise BadInput("a jury takes the place of a judge version: name one of them")
    if combine != "mean" and not jury:
        raise BadInput(f"{combine} needs a jury of at least two judge versions")
    versions = list({each.id: each for each in (get_version(connection, which) for which in jury)}.values())
    if jury and len(versions) < 2:
        raise BadInput("a jury needs at least two different judge versions")
    if combine == "cascade":
        samples = [load_sample(connection, [version]) for version in versions]
    else:
        versions = versions or [scored_version(connection, judge_version)]
        samples = [load_sample(connection, versions, alike=combine == "alike")]
    return confident_verdicts(samples, agreement, delta)


def confident_verdicts(samples: Sequence[ScoredSample], agreement: float, delta: float = DELTA) -> ConfidentVerdicts:
    """Return the same as `measure_confident_verdicts` from loaded samples, one for each stage."""
    first = samples[0]
    title = ", then ".join(sample.title for sample in samples)
    judged = len(first.judged.badness)

    def result(sentence: str, stages: Sequence[Stage] = ()) -> ConfidentVerdicts:
        return ConfidentVerdicts(
            title, agreement, delta, sentence, first.by_lot.n, judged, tuple(stages), left_out=first.left_out
        )

    if (gap := next((sample.gap for sample in samples if sample.gap is not None), None)) is not None:
        return result(gap)
    if not first.by_lot.n:
        return result("Not available, because no answer has a label that was drawn at random.")
    risk, level = allowed_risk(agreement), delta / len(samples)
    taken = no_ints()
    wrong: list[BoolArray] = []
    groups: list[IntArray] = []
    stages: list[Stage] = []
    for sample in samples:
        left = sample.without(taken)
        labels = left.by_lot
        half, other = _choosing(left), labels.at(~labels.choosing)
        sure = confidence(left.judged.badness)
        test = confidence_threshold(
            _grid(sure, left.alike),
            half.confidence,
            half.wrong,
            risk=risk,
            delta=level,
            design_effect=design_effect_of_mean(half.wrong, half.grouping),
            starts=1 if left.alike else STARTS,
        )
        passing = np.zeros(len(sure), dtype=np.bool_) if test is None else sure >= test.threshold
        if test is not None:
            kept = other.at(other.confidence >= test.threshold)
            wrong.append(kept.wrong)
            groups.append(kept.groups)
        stages.append(Stage(sample.title, None if test is None else test.threshold, test, int(passing.sum())))
        taken = np.concatenate([taken, left.judged.response_ids[passing]])
    if not wrong:
        return result(_more_labels(first, risk, level), stages)
    other = first.by_lot.at(~first.by_lot.choosing)
    stands = np.isin(other.response_ids, taken)
    right, of_groups = ~np.concatenate(wrong), np.concatenate(groups)
    agreed = share(right, grouping(of_groups, len(right)))
    confident = share(stands, other.grouping)
    sentence = (
        f"{_stages_words(stages, first.alike)}: {len(taken):,} of {judged:,} ({percent(len(taken) / judged)}). "
        f"People agree with at least {percent_as_given(agreement)} of such verdicts, with {percent(1 - delta)} "
        f"confidence. "
        f"One half of the labels chose {'this confidence' if len(stages) == 1 else 'these confidences'}, the other "
        f"half measured it: people agree with {percent_words(agreed)} of {counted(len(right), 'such verdict')}."
    )
    return replace(result(sentence, stages), confident=len(taken), agreement=agreed, share=confident)


def _choosing(sample: ScoredSample) -> ScoredLabels:
    """Return the labels that choose the threshold. A tie of judges has no verdict that could be wrong."""
    labels = sample.by_lot
    return labels.at(labels.choosing & (labels.confidence > _TIE) if sample.alike else labels.choosing)


def _grid(sure: FloatArray, alike: int) -> FloatArray:
    """Return the thresholds to test, descending. A tie of judges never needs no review."""
    return np.unique(sure[sure > _TIE])[::-1] if alike else score_grid(sure)


def _more_labels(sample: ScoredSample, risk: float, delta: float) -> str:
    labels, half = sample.by_lot, _choosing(sample)
    starts = 1 if sample.alike else STARTS
    needed = math.ceil(labels_to_pass(risk, delta / starts) * design_effect_of_mean(half.wrong, half.grouping))
    goal = f"an agreement of {percent_as_given(1 - risk)}"
    if half.n >= needed:
        return f"No threshold is shown to reach {goal} by the {counted(half.n, 'label')} that choose; one may exist."
    more = labels_missing(needed, half.n, labels.n)
    has_label = np.array([each.labelled > 0 for each in sample.counts], dtype=np.bool_)
    answers = answers_to_sample(sample, sample.labels, more, has_label)
    return more_labels_words(
        sample, f"A threshold may reach {goal}", "answers", sample.labels.n, labels.n, more, answers
    )


def _stages_words(stages: Sequence[Stage], alike: int) -> str:
    if alike:
        same = round((stages[0].confidence or 1.0) * alike)
        return f"Verdicts that at least {same} of {alike} judges share need no review"
    if len(stages) == 1:
        return f"Verdicts with a confidence of at least {stages[0].confidence:g} need no review"
    words = [
        f"{stage.judge_version}: none"
        if stage.confidence is None
        else f"{stage.judge_version} with a confidence of at least {stage.confidence:g}: {stage.confident:,}"
        for stage in stages
    ]
    return f"Verdicts that need no review, judge after judge ({'; '.join(words)})"

"""Verdicts that need no review: those of which a judge, or the mean of several, is sure enough."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from sqlalchemy import Connection

from judgeboard.domain import Estimate
from judgeboard.errors import BadInput
from judgeboard.measure.more_labels import answers_to_sample, labels_missing, more_labels_words
from judgeboard.measure.samples import scored_version
from judgeboard.measure.scored_labels import ScoredSample, allowed_risk, confidence, load_sample
from judgeboard.stats.estimates import percent, percent_as_given, percent_words
from judgeboard.stats.proportions import share
from judgeboard.stats.sample_size import design_effect_of_mean
from judgeboard.stats.thresholds import DELTA, STARTS, Passed, confidence_threshold, labels_to_pass, score_grid
from judgeboard.store.judge_versions import get_version
from judgeboard.text import counted


@dataclass(frozen=True, slots=True)
class ConfidentVerdicts:
    """The verdicts that need no review: those with a ``confidence`` at or above this.

    The confidence of a verdict is the larger of groundedness and 1 - groundedness. ``confidence`` is None if no
    threshold reaches the agreement. ``confident`` counts these verdicts, of ``judged`` ones. The half of the labels
    that did not choose the threshold measures ``agreement`` of these verdicts with people, and their ``share``.
    """

    judge_version: str
    agreement_wanted: float
    delta: float
    sentence: str
    labelled: int
    judged: int
    confidence: float | None = None
    test: Passed | None = None
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
) -> ConfidentVerdicts:
    """Return from which confidence on verdicts agree with people at least as often as ``agreement`` (0 to 1).

    Half of the evidence groups chooses the threshold, the other half reports. For a set of labels, the agreement is
    missed with a probability of at most ``delta``. The mean score of a ``jury`` of two or more judge versions takes the
    place of ``judge_version`` (default: the primary judge's newest). Raises BadInput and NotFound.
    """
    for name, value in (("agreement", agreement), ("delta", delta)):
        if not 0 < value < 1:
            raise BadInput(f"{name} must be between 0 and 1, not {value:g}")
    if jury and judge_version is not None:
        raise BadInput("a jury takes the place of a judge version: name one of them")
    versions = list({each.id: each for each in (get_version(connection, which) for which in jury)}.values())
    if jury and len(versions) < 2:
        raise BadInput("a jury needs at least two different judge versions")
    sample = load_sample(connection, versions or [scored_version(connection, judge_version)])
    return confident_verdicts(sample, agreement, delta)


def confident_verdicts(sample: ScoredSample, agreement: float, delta: float = DELTA) -> ConfidentVerdicts:
    """Return the same as `measure_confident_verdicts` from a loaded sample."""
    labels, judged = sample.by_lot, len(sample.judged.badness)
    result = ConfidentVerdicts(
        sample.title, agreement, delta, sample.gap or "", labels.n, judged, left_out=sample.left_out
    )
    if sample.gap is not None:
        return result
    if not labels.n:
        return replace(result, sentence="Not available, because no answer has a label that was drawn at random.")
    # One half of the labels chooses the threshold.
    half, risk = labels.at(labels.choosing), allowed_risk(agreement)
    confidences = confidence(sample.judged.badness)
    effect = design_effect_of_mean(half.wrong, half.grouping)
    grid = score_grid(confidences)
    test = confidence_threshold(
        grid, half.confidence, half.wrong, risk=risk, delta=delta, design_effect=effect, starts=STARTS
    )
    if test is None:
        return replace(result, sentence=_more_labels(sample, risk, delta))
    # The other half measures it.
    other, confident = labels.at(~labels.choosing), int((confidences >= test.threshold).sum())
    stands = other.confidence >= test.threshold
    of_stands = other.at(stands)
    agreed = share(~of_stands.wrong, of_stands.grouping)
    sentence = (
        f"Verdicts with a confidence of at least {test.threshold:g} need no review: {confident:,} of {judged:,} "
        f"({percent(confident / judged)}). People agree with at least {percent_as_given(agreement)} of such verdicts, "
        f"with {percent(1 - delta)} confidence. One half of the labels chose this confidence, the other half measured "
        f"it: people agree with {percent_words(agreed)} of {counted(of_stands.n, 'such verdict')}."
    )
    return replace(
        result,
        sentence=sentence,
        confidence=test.threshold,
        test=test,
        confident=confident,
        agreement=agreed,
        share=share(stands, other.grouping),
    )


def _more_labels(sample: ScoredSample, risk: float, delta: float) -> str:
    labels = sample.by_lot
    half = labels.at(labels.choosing)
    needed = math.ceil(labels_to_pass(risk, delta / STARTS) * design_effect_of_mean(half.wrong, half.grouping))
    goal = f"an agreement of {percent_as_given(1 - risk)}"
    if half.n >= needed:
        return f"No threshold is shown to reach {goal} by the {counted(half.n, 'label')} that choose; one may exist."
    more = labels_missing(needed, half.n, labels.n)
    has_label = np.array([each.labelled > 0 for each in sample.counts], dtype=np.bool_)
    answers = answers_to_sample(sample, sample.labels, more, has_label)
    return more_labels_words(
        sample, f"A threshold may reach {goal}", "answers", sample.labels.n, labels.n, more, answers
    )

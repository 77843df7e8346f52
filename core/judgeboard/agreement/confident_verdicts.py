"""Verdicts that may stand without a person: those of which a judge, or the mean of several, is sure enough."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from judgeboard.agreement.scored_labels import DECIMALS, ScoredSample, confidence, load_sample, scored_version
from judgeboard.agreement.thresholds import more_labels_words
from judgeboard.domain import Estimate
from judgeboard.errors import BadInput
from judgeboard.stats.estimates import percent, percent_words
from judgeboard.stats.thresholds import (
    DELTA,
    STARTS,
    Passed,
    confidence_threshold,
    labels_to_pass,
    score_grid,
    share_by_group,
    share_design_effect,
)
from judgeboard.store.judge_versions import get_version


@dataclass(frozen=True, slots=True)
class ConfidentVerdicts:
    """The verdicts that may stand without a person.

    ``confidence`` is the threshold on the larger of groundedness and 1 - groundedness, None if no threshold keeps the
    promise. ``confident`` counts the verdicts that may stand, of ``judged`` ones. The other half of the labels measures
    ``agreement`` of these verdicts with people, and ``share``.
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

    Half of the evidence groups chooses the threshold, the other half reports. For a set of labels the promise is broken
    with a probability of at most ``delta``. With a ``jury`` of two or more judge versions, their mean score counts
    instead of the score of ``judge_version`` (default: the primary judge's newest). Raises BadInput and NotFound.
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
    half, other = labels.at(labels.choosing), labels.at(~labels.choosing)

    def result(sentence: str) -> ConfidentVerdicts:
        return ConfidentVerdicts(sample.title, agreement, delta, sentence, labels.n, judged, left_out=sample.left_out)

    if sample.gap is not None:
        return result(sample.gap)
    if not labels.n:
        return result("No answer has a label that was drawn at random: nothing can be said.")
    sure = confidence(sample.judged.badness)
    effect = share_design_effect(half.wrong, half.grouping)
    risk = round(1 - agreement, DECIMALS)
    test = confidence_threshold(
        score_grid(sure), half.confidence, half.wrong, risk=risk, delta=delta, design_effect=effect
    )
    if test is None:
        needed = math.ceil(labels_to_pass(risk, delta / STARTS) * effect)
        goal = f"an agreement of {percent(agreement)}"
        return result(more_labels_words(goal, needed, half.n, labels.n, "answers"))
    confident = int((sure >= test.threshold).sum())
    stands = other.confidence >= test.threshold
    kept = other.at(stands)
    agreed, share = share_by_group(~kept.wrong, kept.grouping), share_by_group(stands, other.grouping)
    sentence = (
        f"Verdicts with a confidence of at least {test.threshold:g} may stand: {confident:,} of {judged:,} "
        f"({percent(confident / judged)}). People agree with at least {percent(agreement)} of such verdicts, with "
        f"{percent(1 - delta)} confidence. Labels that did not choose it (n = {kept.n:,}): {percent_words(agreed)}."
    )
    return ConfidentVerdicts(
        sample.title,
        agreement,
        delta,
        sentence,
        labels.n,
        judged,
        test.threshold,
        test,
        confident,
        agreed,
        share,
        sample.left_out,
    )

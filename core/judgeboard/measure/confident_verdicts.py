"""Verdicts that need no review: verdicts of which a judge, or the mean of several judges, is sure enough."""

import math
from collections.abc import Sequence

from sqlalchemy import Connection

from judgeboard.errors import BadInput
from judgeboard.measure.more_labels import answers_to_sample, labels_missing, queue_note
from judgeboard.measure.notes import note
from judgeboard.measure.result import ALL, About, Result, Row
from judgeboard.measure.samples import scored_version
from judgeboard.measure.scored_labels import ScoredSample, allowed_risk, confidence, load_sample
from judgeboard.stats.proportions import share
from judgeboard.stats.sample_size import design_effect_of_mean
from judgeboard.stats.thresholds import (
    DELTA,
    STARTS,
    confidence_threshold,
    labels_to_pass,
    score_grid,
)
from judgeboard.store.judge_versions import get_version


def measure_confident_verdicts(
    connection: Connection,
    agreement: float,
    *,
    delta: float = DELTA,
    judge_version: int | str | None = None,
    jury: Sequence[int | str] = (),
) -> Result:
    """Return from which confidence on verdicts agree with people at least as often as ``agreement`` (0 to 1).

    The confidence of a verdict is the larger of groundedness and 1 - groundedness. Half of the
    evidence groups chooses the threshold, the other half measures the ``agreement`` of confident
    verdicts and their ``share``. For a set of labels, the agreement is missed with a probability of
    at most ``delta``. The mean score of a ``jury`` of two or more judge versions takes the place of
    ``judge_version`` (default: the primary judge's newest). Raises BadInput and NotFound.
    """
    for name, value in (("agreement", agreement), ("delta", delta)):
        if not 0 < value < 1:
            raise BadInput(f"{name} must be between 0 and 1, not {value:g}")
    if jury and judge_version is not None:
        raise BadInput("a jury takes the place of a judge version: name one of them")
    versions = list(
        {each.id: each for each in (get_version(connection, which) for which in jury)}.values()
    )
    if jury and len(versions) < 2:
        raise BadInput("a jury needs at least two different judge versions")
    sample = load_sample(connection, versions or [scored_version(connection, judge_version)])
    return confident_verdicts(sample, agreement, delta)


def confident_verdicts(sample: ScoredSample, agreement: float, delta: float = DELTA) -> Result:
    """Return the same as `measure_confident_verdicts` from a loaded sample."""
    labels, judged_count = sample.by_lot, sample.judged.n
    about = About(
        judges=(sample.title,),
        counts={"judged": judged_count, "labels": labels.n},
        left_out=sample.left_out,
    )
    if sample.gap is not None:
        return Result(
            about=about,
            headline=note("not_available", why=sample.gap.missing),
            rows=(),
            next=(sample.gap.next_note,),
        )
    if not labels.n:
        return Result(about=about, headline=note("no_random_labels"), rows=())
    # One half of the labels chooses the threshold.
    half, risk = labels.at(labels.choosing), allowed_risk(agreement)
    confidences = confidence(sample.judged.badness)
    effect = design_effect_of_mean(half.wrong, half.grouping)
    grid = score_grid(confidences)
    test = confidence_threshold(
        grid,
        half.confidence,
        half.wrong,
        risk=risk,
        delta=delta,
        design_effect=effect,
        starts=STARTS,
    )
    if test is None:
        least = math.ceil(labels_to_pass(risk, delta / STARTS) * effect)
        if half.n >= least:
            headline = note("confidence_not_shown", agreement=agreement, n=half.n)
            return Result(about=about, headline=headline, rows=())
        more = labels_missing(least, half.n, labels.n)
        answers = answers_to_sample(sample, sample.labels, more, sample.labelled > 0)
        next_step = queue_note(sample, answers)
        if answers is None:
            next_step = note("log_more_of", more=more, things="answers", counting=labels.n)
        return Result(
            about=about,
            headline=note("confidence_few_labels", agreement=agreement),
            rows=(),
            next=(next_step,),
        )
    # The other half measures the threshold.
    other, confident = labels.at(~labels.choosing), int((confidences >= test.threshold).sum())
    stands = other.confidence >= test.threshold
    of_stands = other.at(stands)
    measured_agreement = share(~of_stands.wrong, of_stands.grouping)
    of_test = {
        "confidence": test.threshold,
        "tested_wrong": test.wrong,
        "tested_wrong_bound": test.bound,
        "design_effect": test.design_effect,
    }
    return Result(
        about=about,
        headline=note(
            "confidence_found", confidence=test.threshold, agreement=agreement, sure=1 - delta
        ),
        rows=(
            *(Row(name, ALL, value, n=test.n) for name, value in of_test.items()),
            Row("no_review", ALL, confident, n=judged_count),
            Row("no_review_share", ALL, confident / judged_count, n=judged_count),
            Row.of("agreement", ALL, measured_agreement),
            Row.of("share", ALL, share(stands, other.grouping)),
        ),
    )

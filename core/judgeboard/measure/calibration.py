"""The calibration of a judge version: what its scores mean, before and after a map."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from sqlalchemy import Connection

from judgeboard.domain import Estimate
from judgeboard.errors import check_known
from judgeboard.measure.notes import Note, note
from judgeboard.measure.result import ALL, About, Result, Row
from judgeboard.measure.samples import scored_version
from judgeboard.measure.scored_labels import ScoredLabels, ScoredSample, drawn, load_sample
from judgeboard.stats.calibration_maps import (
    FOLDS,
    HOWS,
    ISOTONIC_LABELS,
    LEAST_LABELS,
    Calibrated,
    How,
    ScoreMap,
    calibrate,
    platt_at,
)
from judgeboard.stats.detection import Tenth, calibration
from judgeboard.stats.estimates import measured, surely_above, surely_below
from judgeboard.stats.rates import missing_of_strata

SHOWN_SCORES = (0.1, 0.3, 0.5, 0.7, 0.9)
EXAMPLE = 0.7  # the score that the headline explains

_FLAT = 1e-6  # a slope below this is 0
_TOO_SURE = 0.9  # slopes below this are said
_NO_ENDS = "no interval: only platt's map has one"
_MOSTLY_LUCK = (
    1.5  # times the calibration error of calibrated scores, below which the error may be luck
)
_EVEN = 0.8  # share of the labels' number; if they tell less than that, this is said
_MORE = 100  # answers to label, where it is not known how many are needed
_LITTLE = 0.9  # share of the constant's Brier score above which a score tells little


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration(Result):
    """What a judge's scores mean. Its figures and headline are those of a map of the scores to probabilities.

    ``grounded`` is the probability that people call answers with a score grounded, by the map. It
    is left out if the map predicts people worse than the scores, or if its curve is surely not the
    form of the scores. ``brier`` and ``ece`` (calibration error) are cross-fitted in five folds of
    evidence groups; ``ece_by_luck`` is the error that calibrated scores would have with these
    labels. ``before`` and ``after`` are the curves of the scores and of the cross-fitted
    probabilities; ``after`` is empty if the map is worse. Without a map, the headline says why.
    """

    score_map: ScoreMap | None = None
    before: tuple[Tenth, ...] = ()
    after: tuple[Tenth, ...] = ()


def measure_calibration(
    connection: Connection, *, judge_version: int | str | None = None, how: How = "platt"
) -> Calibration:
    """Return a map of a judge version's groundedness to the probability that people call an answer grounded.

    ``judge_version`` is by default the primary judge's newest. Stored scores do not change. Raises
    BadInput and NotFound.
    """
    check_known("how", how, HOWS)
    return calibration_result(
        load_sample(connection, [scored_version(connection, judge_version)]), how
    )


def calibration_result(sample: ScoredSample, how: How = "platt") -> Calibration:
    """Return the same as `measure_calibration` from a loaded sample."""
    labels = sample.labels
    scores, good = np.round(1 - labels.badness, 9), (~labels.bad).astype(np.float64)
    # Labels of answers that are labelled more often have smaller weights: a map leaves none of them
    # out.
    left_out = {why: n for why, n in sample.left_out.items() if why != "more_often_labelled"}
    about = About(
        judges=(sample.title,), by="score", counts={"labels": labels.n}, left_out=left_out
    )
    if sample.gap is not None:
        return Calibration(
            about=about,
            headline=note("not_available", why=sample.gap.missing),
            rows=(),
            next=(sample.gap.next_note,),
        )
    if labels.n < LEAST_LABELS:
        return Calibration(
            about=about, headline=note("map_few_labels", n=labels.n, least=LEAST_LABELS), rows=()
        )
    folds = np.floor(drawn("fold", labels.groups) * FOLDS).astype(np.int64)
    try:
        made = calibrate(how, scores, good, folds, labels.grouping, labels.weights)
    except ValueError as error:
        return Calibration(about=about, headline=note("map_impossible", reason=str(error)), rows=())
    is_worse = (made.brier_change.low or 0) > 0
    is_misfit = not is_worse and made.ece_after >= _MOSTLY_LUCK * made.ece_after_by_luck
    has_wrong_form = is_misfit and how == "platt" and _as_even_sample(labels) >= ISOTONIC_LABELS
    shown = np.array(SHOWN_SCORES)
    shares = tuple(
        measured(float(each), labels.n, reason=_NO_ENDS) for each in made.score_map(shown)
    )
    if how == "platt" and not is_worse and not has_wrong_form:
        shares = platt_at(made.score_map, shown, scores, good, labels.grouping, labels.weights)
    meaning = dict(zip(SHOWN_SCORES, shares, strict=True))
    headline = (
        _headline(made, sample, meaning, is_worse=is_worse)
        if np.ptp(scores)
        else note("map_one_score")
    )
    caveats = list(_limits(made)) if headline.code == "map_helps" else []
    if is_misfit:
        caveats.append(note("map_wrong_form" if has_wrong_form else "map_misfit"))
    if how == "isotonic" and labels.n < ISOTONIC_LABELS:
        platt = calibrate("platt", scores, good, folds, labels.grouping, labels.weights)
        if platt.brier_after <= made.brier_after:
            caveats.append(note("map_few_for_steps", labels=ISOTONIC_LABELS))
    next_steps = _more_labels(sample) if headline.code in {"map_scores_off", "map_unproven"} else ()
    of_map = {} if is_worse or has_wrong_form else meaning
    return Calibration(
        about=about,
        headline=headline,
        rows=(
            *_errors(made, labels.n),
            Row.of("brier_change", ALL, made.brier_change),
            *(Row.of("grounded", f"{score:g}", each) for score, each in of_map.items()),
        ),
        caveats=tuple(caveats),
        next=tuple(next_steps),
        score_map=made.score_map,
        before=calibration(scores[labels.by_lot], ~labels.bad[labels.by_lot]),
        after=()
        if is_worse
        else calibration(made.probabilities[labels.by_lot], ~labels.bad[labels.by_lot]),
    )


def _errors(made: Calibrated, n: int) -> Iterator[Row]:
    """Yield the errors of the scores, of the map, and of one probability for all answers."""
    of_slices = {
        "before": {
            "brier": made.brier_before,
            "ece": made.ece_before,
            "ece_by_luck": made.ece_by_luck,
        },
        "after": {
            "brier": made.brier_after,
            "ece": made.ece_after,
            "ece_by_luck": made.ece_after_by_luck,
        },
        "one probability": {"brier": made.constant_brier},
    }
    for slice_, figures in of_slices.items():
        for name, value in figures.items():
            yield Row(name, slice_, value, n=n)


def _as_even_sample(labels: ScoredLabels) -> int:
    """Return the number of labels of a random sample that tell about as much as these, whose weights differ."""
    return round(float(labels.weights.sum() ** 2 / (labels.weights**2).sum()))


def _headline(
    made: Calibrated, sample: ScoredSample, meaning: Mapping[float, Estimate], *, is_worse: bool
) -> Note:
    """Return what the map says of a score, or why it is of no use; ``meaning`` has probabilities of some scores."""
    how = made.score_map.how
    if missing := missing_of_strata(sample.answers, sample.labelled):
        return note("map_part_too_small", labels=missing)
    if is_worse:
        is_off = made.ece_before >= _MOSTLY_LUCK * made.ece_by_luck
        return note("map_worse_scores_off" if is_off else "map_worse", how=how, ece=made.ece_before)
    if made.score_map.slope is not None and made.score_map.slope < _FLAT:
        return note("map_flat")
    if (made.brier_change.high or 0) < 0:
        return note("map_helps", score=EXAMPLE, share=meaning[EXAMPLE])
    off = {
        score: each
        for score, each in meaning.items()
        if surely_below(each, score) or surely_above(each, score)
    }
    if not off:
        return note("map_unproven", how=how)
    score = max(off, key=lambda each: abs((off[each].value or 0.0) - each))
    return note("map_scores_off", score=score, share=off[score])


def _more_labels(sample: ScoredSample) -> Iterator[Note]:
    """Yield that labels of unequal weight tell less than their number, and which to make. Nobody knows how many."""
    labels, even = sample.labels, _as_even_sample(sample.labels)
    if even < _EVEN * labels.n:
        more = min(_MORE, int((sample.answers - sample.labelled).sum()))
        yield note("map_uneven_labels", labels=labels.n, even=even)
        yield note(
            "label_queue",
            answers=more,
            command=f"judgeboard queue create NAME --plan rate --n {more}",
        )


def _limits(made: Calibrated) -> Iterator[Note]:
    slope = made.score_map.slope
    if slope is not None and slope < _TOO_SURE:
        yield note("map_judge_too_sure", slope=slope)
    if made.brier_after > _LITTLE * made.constant_brier:
        yield note("map_tells_little")

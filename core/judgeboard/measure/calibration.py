"""The calibration of a judge version: what its scores mean, before and after a map."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from sqlalchemy import Connection

from judgeboard.domain import Estimate
from judgeboard.errors import check_known
from judgeboard.measure.more_labels import too_small_words
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
from judgeboard.stats.estimates import measured, percent, percent_words, surely_above, surely_below, two_decimals
from judgeboard.stats.rates import missing_of_strata
from judgeboard.store.statements import record_of
from judgeboard.text import counted

SHOWN_SCORES = (0.1, 0.3, 0.5, 0.7, 0.9)
EXAMPLE = 0.7  # the score that the sentence explains

_FLAT = 1e-6  # a slope below this is 0
_TOO_SURE = 0.9  # slopes below this are said
_WORSE = "Do not use this map ({}): with it, the scores predict people worse."
_ONE_SCORE = "The judge gives all answers the same score, so the map is the share of grounded answers."
_NO_ENDS = "no interval: only platt's map has one"
_MOSTLY_LUCK = 1.5  # times the calibration error of calibrated scores, below which the error may be luck
_EVEN = 0.8  # share of the labels' number; if they tell less than that, this is said
_MORE = 100  # answers to label, where it is not known how many are needed
_LITTLE = 0.9  # share of the constant's Brier score above which a score tells little


@dataclass(frozen=True, slots=True)
class CalibrationResult:
    """The map of a judge version's scores to probabilities, and how good it is; without one, ``sentence`` says why.

    ``meaning`` has (score, probability that people call the answer grounded). Only Platt's map gives it an interval. It
    is empty if the map ``is_worse``: it predicts people worse than the scores themselves. ``has_wrong_form``: Platt's
    curve is surely not the form of these scores, so that its intervals mislead. The Brier scores and calibration errors
    (ECE) are cross-fitted in five folds of evidence groups; lower is better. ``ece_by_luck`` is the error that
    calibrated scores would have with these labels, ``ece_after_by_luck`` that of calibrated probabilities.
    ``constant_brier`` is the Brier score of one probability for all answers. ``before`` and ``after`` are the curves of
    the raw scores and of the cross-fitted probabilities.
    """

    judge_version: str
    how: How
    n: int
    sentence: str
    score_map: ScoreMap | None = None
    meaning: tuple[tuple[float, Estimate], ...] = ()
    brier_before: float | None = None
    brier_after: float | None = None
    brier_change: Estimate | None = None
    ece_before: float | None = None
    ece_after: float | None = None
    ece_by_luck: float | None = None
    ece_after_by_luck: float | None = None
    constant_brier: float | None = None
    before: tuple[Tenth, ...] = ()
    after: tuple[Tenth, ...] = ()
    is_worse: bool = False
    has_wrong_form: bool = False
    notes: tuple[str, ...] = ()
    left_out: dict[str, int] | None = None


def measure_calibration(
    connection: Connection, *, judge_version: int | str | None = None, how: How = "platt"
) -> CalibrationResult:
    """Return a map of a judge version's groundedness to the probability that people call an answer grounded.

    ``judge_version`` is by default the primary judge's newest. Stored scores do not change. Raises BadInput and
    NotFound.
    """
    check_known("how", how, HOWS)
    return calibration_result(load_sample(connection, [scored_version(connection, judge_version)]), how)


def calibration_result(sample: ScoredSample, how: How = "platt") -> CalibrationResult:
    """Return the same as `measure_calibration` from a loaded sample."""
    labels = sample.labels
    scores, good = np.round(1 - labels.badness, 9), (~labels.bad).astype(np.float64)
    # Labels of answers that are labelled more often have smaller weights: a map leaves none of them out.
    left_out = {why: n for why, n in sample.left_out.items() if why != "more_often_labelled"}
    reason = sample.gap
    if reason is None and labels.n < LEAST_LABELS:
        reason = (
            f"No map: {counted(labels.n, 'label')}, at least {LEAST_LABELS} needed. With fewer, a map is worse than "
            "the raw score."
        )
    folds = np.floor(drawn("fold", labels.groups) * FOLDS).astype(np.int64)
    try:
        if reason is None:
            made = calibrate(how, scores, good, folds, labels.grouping, labels.weights)
    except ValueError as error:
        reason = f"No map: {error}."
    if reason is not None:
        return CalibrationResult(sample.title, how, labels.n, reason, left_out=left_out)
    is_worse = (made.brier_change.low or 0) > 0
    is_misfit = not is_worse and made.ece_after >= _MOSTLY_LUCK * made.ece_after_by_luck
    has_wrong_form = is_misfit and how == "platt" and _as_even_sample(labels) >= ISOTONIC_LABELS
    meaning: dict[float, Estimate] = {}
    if not is_worse:
        shown = np.array(SHOWN_SCORES)
        probabilities = tuple(measured(float(each), labels.n, reason=_NO_ENDS) for each in made.score_map(shown))
        if how == "platt":
            probabilities = platt_at(made.score_map, shown, scores, good, labels.grouping, labels.weights)
        meaning = dict(zip(SHOWN_SCORES, probabilities, strict=True))
    trusted = {} if has_wrong_form else meaning
    sentence = _sentence(made, sample, how, trusted, is_worse=is_worse) if np.ptp(scores) else _ONE_SCORE
    notes = _misfit_words(how, labels) if is_misfit else ()
    if how == "isotonic" and labels.n < ISOTONIC_LABELS:
        platt = calibrate("platt", scores, good, folds, labels.grouping, labels.weights)
        if platt.brier_after <= made.brier_after:
            better = f"platt is usually better than isotonic (from {ISOTONIC_LABELS:,} labels)"
            notes += (f"With {counted(labels.n, 'label')}, {better}.",)
    return record_of(
        CalibrationResult,
        made,
        judge_version=sample.title,
        how=how,
        n=labels.n,
        sentence=sentence,
        meaning=tuple(meaning.items()),
        is_worse=is_worse,
        has_wrong_form=has_wrong_form,
        before=calibration(scores[labels.by_lot], ~labels.bad[labels.by_lot]),
        after=calibration(made.probabilities[labels.by_lot], ~labels.bad[labels.by_lot]),
        notes=notes,
        left_out=left_out,
    )


def _worse_sentence(made: Calibrated, how: How, n: int) -> str:
    """Return why a map does not help, and how far the scores themselves are from the labels of people."""
    error, by_luck = two_decimals(made.ece_before), two_decimals(made.ece_by_luck)
    away = f"On average, a score is {error} away from the share of such answers that people call grounded."
    words = f"{_WORSE.format(how)} {away}"
    if made.ece_before < _MOSTLY_LUCK * made.ece_by_luck:
        return f"{words} With {counted(n, 'label')}, luck alone gives about {by_luck}, so a map has little to correct."
    return (
        f"{words} Luck alone gives only about {by_luck}. So the scores are off, but this map does not fit, or the "
        "labels are too few for it."
    )


def _as_even_sample(labels: ScoredLabels) -> int:
    """Return the number of labels of a random sample that tell about as much as these, whose weights differ."""
    return round(float(labels.weights.sum() ** 2 / (labels.weights**2).sum()))


def _misfit_words(how: How, labels: ScoredLabels) -> tuple[str, ...]:
    """Return that an error is left that is clearly above that of luck, and which other map to try."""
    still = "After this map, the calibration error is still more than luck alone gives"
    if how == "platt" and _as_even_sample(labels) >= ISOTONIC_LABELS:
        why = "a curve with two parameters does not fit these scores"
        return (f"{still}: {why}. Try `judgeboard labels calibrate --how isotonic`.",)
    return (f"{still}: the labels are too few for it, or its form does not fit.",)


def _sentence(
    made: Calibrated, sample: ScoredSample, how: How, meaning: Mapping[float, Estimate], *, is_worse: bool
) -> str:
    """Return what the map says, or why nothing can be said of it: too few labels, or a map that is worse."""
    if missing := missing_of_strata(*sample.per_stratum):
        return f"The labels do not show whether a map helps, because {too_small_words(missing)}"
    return _worse_sentence(made, how, sample.labels.n) if is_worse else _map_sentence(made, sample, meaning)


def _map_sentence(made: Calibrated, sample: ScoredSample, meaning: Mapping[float, Estimate]) -> str:
    """Return what the map says of a score; ``meaning`` has probabilities with intervals, if the map gives some.

    If the labels do not show that the map helps, only this is said, and where the scores themselves are surely off.
    """
    score_map, example = made.score_map, meaning.get(EXAMPLE)
    if score_map.slope is not None and score_map.slope < _FLAT:
        return "People and this score have nothing in common: the map is flat."
    of_hundred = percent(round(float(score_map(np.array([EXAMPLE]))[0]), 12)).removesuffix(" %")
    ends = ""
    if example is not None and example.low is not None and example.high is not None:
        ends = f" (95 % CI {round(100 * example.low)}–{round(100 * example.high)})"
    words = f"A score of {EXAMPLE:g} means: people call {of_hundred} of 100 such answers grounded{ends}."
    if (made.brier_change.high or 0) >= 0:
        return " ".join(_unproven_words(score_map.how, sample, meaning))
    if score_map.slope is not None and score_map.slope < _TOO_SURE:
        words += f" The judge is too sure: the slope of the map is {score_map.slope:.2f}, where 1 is calibrated."
    if made.brier_after > _LITTLE * made.constant_brier:
        words += " Even calibrated, the score tells little: one probability for all answers is nearly as good."
    return words


def _unproven_words(how: str, sample: ScoredSample, meaning: Mapping[float, Estimate]) -> Iterator[str]:
    """Yield that a map is not shown to help, how much the labels tell, and the score that is farthest off."""
    off = {score: each for score, each in meaning.items() if surely_below(each, score) or surely_above(each, score)}
    if off:
        score = max(off, key=lambda each: abs((off[each].value or 0.0) - each))
        grounded = f"people call about {percent_words(off[score])} grounded"
        yield f"The scores are not probabilities: of the answers with a score of {score:g}, {grounded}. The map below"
        yield f"(--how {how}) may correct this, but the labels do not show yet that it does. Until they do, use neither"
        yield "the scores nor the map as probabilities. Use the scores only to rank answers."
    else:
        helps = "that it predicts people better than the scores themselves"
        yield f"Do not use this map ({how}) yet: the labels do not show {helps}."
    labels, even = sample.labels, _as_even_sample(sample.labels)
    more = min(_MORE, sum(each.answers - each.labelled for each in sample.counts))
    if even < _EVEN * labels.n:
        yield (
            f"The {counted(labels.n, 'label')} tell only about as much as {even:,} of a random sample, because some "
            "kinds of answers are labelled more often than others. It is not known how many labels are enough. Start "
            f"with {counted(more, 'answer')} drawn at random (`judgeboard queue create NAME --plan rate --n {more}`), "
            "label them, then run `labels calibrate` again."
        )

"""How many more labels a threshold needs, and the queue of answers to label."""

import math
from bisect import bisect_left
from collections.abc import Iterator

import numpy as np

from judgeboard.measure.notes import Note, note
from judgeboard.measure.scored_labels import ScoredLabels, ScoredSample
from judgeboard.stats.arrays import BoolArray
from judgeboard.stats.estimates import MIN_PAIRS
from judgeboard.stats.rates import missing_of_strata
from judgeboard.stats.sample_size import allocated, design_effect_of_mean, labels_for_outcome
from judgeboard.stats.thresholds import equal_chances
from judgeboard.store.strata import LEAST_OF_STRATUM


def labels_missing(least: int, choosing: int, counting: int) -> int:
    """Return how many more labels are missing until the half that chooses has ``least`` labels.

    The choosing half has ``choosing`` of the ``counting`` labels.
    """
    return max(2 * least - counting, least - choosing)


def answers_to_sample(
    sample: ScoredSample,
    things: ScoredLabels,
    more: int,
    strata: BoolArray,
    query_type: str | None = None,
) -> int | None:
    """Return how many answers a planned queue must have until about ``more`` things count; None if all are too few.

    ``things`` are the labelled answers so far that the goal counts, of the query type (None: of
    all). The labels of ``things`` count if the answers in these ``strata`` had equal chances. So
    labels in one stratum make labels in others count. The queue draws from all answers. The labels
    of each stratum show the share of things among the drawn answers.
    """
    answers, labels, size = sample.answers, sample.labelled, len(sample.answers)
    free = answers - labels
    labels_of_type = np.bincount(sample.labels.of_type(query_type).strata, minlength=size)
    of_type = np.bincount(sample.judged.of_type(query_type).strata, minlength=size) - labels_of_type
    things_by_stratum = np.bincount(things.strata, minlength=size)
    per_answer = things_by_stratum / np.maximum(labels_of_type, 1) * of_type / np.maximum(free, 1)

    def counting(number: int) -> float:
        new = np.array(allocated(number, free.tolist(), least=LEAST_OF_STRATUM), dtype=np.int64)
        inside = strata & (labels + new > 0)
        shares = (
            equal_chances(answers[inside], (labels + new)[inside]) if inside.any() else np.empty(0)
        )
        return float(shares @ (things_by_stratum + new * per_answer)[inside])

    now, most = counting(0), int(free.sum())
    enough = bisect_left(range(most), True, key=lambda number: counting(number) - now >= more)
    return enough if counting(enough) - now >= more else None


def labels_between(
    sample: ScoredSample, threshold: float, break_even: float, query_type: str | None
) -> Iterator[Note]:
    """Yield how many more labels show whether a threshold is cheaper than the one in force; nothing if unknown.

    The answers whose flag the ``threshold`` on badness would change decide: a flag pays if the
    share of bad answers among them is above ``break_even``. Only labels of the half that does not
    choose the threshold count.
    """
    labels, scores = sample.labels.of_type(query_type), sample.judged.of_type(query_type)
    is_changed = (scores.rule_badness >= threshold) != scores.flagged
    between = labels.at((labels.rule_badness >= threshold) != labels.flagged)
    if len(np.unique(scores.flagged[is_changed])) != 1 or break_even >= 1:
        return
    share = (int(between.bad.sum()) + 1) / (between.n + 2)
    least = labels_for_outcome(break_even, share)
    if least is None:
        return
    effect = design_effect_of_mean(between.bad, between.grouping) if between.n else 1.0
    least = max(math.ceil(least * effect), MIN_PAIRS)
    more = labels_missing(least, int((~between.choosing).sum()), between.n)
    if more <= 0:
        return
    free, size = sample.answers - sample.labelled, len(sample.answers)
    unlabelled = np.bincount(scores.strata[is_changed], minlength=size) - np.bincount(
        between.strata, minlength=size
    )
    per_answer = unlabelled / np.maximum(free, 1)

    def is_enough(number: int) -> bool:
        return (
            float(np.array(allocated(number, free.tolist(), least=LEAST_OF_STRATUM)) @ per_answer)
            >= more
        )

    enough = bisect_left(range(int(free.sum())), True, key=is_enough)
    yield note("labels_between", labels=more)
    yield queue_note(sample, enough if is_enough(enough) else None)


def answers_for_intervals(sample: ScoredSample) -> int:
    """Return how many answers a planned queue must have until each part of the answers has enough labels."""
    answers, labels = sample.answers, sample.labelled
    free = (answers - labels).tolist()

    def is_enough(number: int) -> bool:
        new = np.array(allocated(number, free, least=LEAST_OF_STRATUM), dtype=np.int64)
        return not missing_of_strata(answers, labels + new)

    return bisect_left(range(sum(free)), True, key=is_enough)


def queue_note(sample: ScoredSample, answers: int | None) -> Note:
    """Return the planned queue of so many ``answers``; for None, that all answers are too few."""
    if answers is None:
        return note("log_more", left=int((sample.answers - sample.labelled).sum()))
    return note(
        "label_queue",
        answers=answers,
        command=f"judgeboard queue create threshold --plan rate --n {answers}",
    )

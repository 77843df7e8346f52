"""How many more labels a threshold needs, and the queue of answers that gives them."""

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


def labels_missing(needed: int, choosing: int, counting: int) -> int:
    """Return how many more labels are needed until the half that chooses has ``needed``.

    That half has ``choosing`` of the ``counting`` labels.
    """
    return max(2 * needed - counting, needed - choosing)


def answers_to_sample(
    sample: ScoredSample,
    things: ScoredLabels,
    more: int,
    strata: BoolArray,
    query_type: str | None = None,
) -> int | None:
    """Return how many answers a planned queue must have until about ``more`` things count; None if all are too few.

    ``things`` are the labelled answers so far that the goal is about, of the query type (None: of
    all). Their labels count if the answers in these ``strata`` had equal chances. So labels in one
    stratum make labels in others count. The queue draws from all answers. The share of things among
    those is taken from the labels of each stratum.
    """
    answers, labelled, size = sample.answers, sample.labelled, len(sample.answers)
    left = answers - labelled
    labels_of_type = np.bincount(sample.labels.of_type(query_type).strata, minlength=size)
    of_type = np.bincount(sample.judged.of_type(query_type).strata, minlength=size) - labels_of_type
    known = np.bincount(things.strata, minlength=size)
    per_drawn = known / np.maximum(labels_of_type, 1) * of_type / np.maximum(left, 1)

    def counting(drawn: int) -> float:
        new = np.array(allocated(drawn, left.tolist(), least=LEAST_OF_STRATUM), dtype=np.int64)
        inside = strata & (labelled + new > 0)
        kept = (
            equal_chances(answers[inside], (labelled + new)[inside])
            if inside.any()
            else np.empty(0)
        )
        return float(kept @ (known + new * per_drawn)[inside])

    now, most = counting(0), int(left.sum())
    enough = bisect_left(range(most), True, key=lambda drawn: counting(drawn) - now >= more)
    return enough if counting(enough) - now >= more else None


def labels_between(
    sample: ScoredSample, threshold: float, break_even: float, query_type: str | None
) -> Iterator[Note]:
    """Yield how many more labels show whether a threshold is cheaper than the one in force; nothing if unknown.

    The answers whose flag the ``threshold`` on badness would change decide it: a flag on them pays
    if more of them are bad than the share ``break_even``. Only labels of the half that does not
    choose the threshold show it.
    """
    labels, judged = sample.labels.of_type(query_type), sample.judged.of_type(query_type)
    changed = (judged.rule_badness >= threshold) != judged.flagged
    between = labels.at((labels.rule_badness >= threshold) != labels.flagged)
    if len(np.unique(judged.flagged[changed])) != 1 or break_even >= 1:
        return
    share = (int(between.bad.sum()) + 1) / (between.n + 2)
    needed = labels_for_outcome(break_even, share)
    if needed is None:
        return
    effect = design_effect_of_mean(between.bad, between.grouping) if between.n else 1.0
    needed = max(math.ceil(needed * effect), MIN_PAIRS)
    more = labels_missing(needed, int((~between.choosing).sum()), between.n)
    if more <= 0:
        return
    left, size = sample.answers - sample.labelled, len(sample.answers)
    unlabelled = np.bincount(judged.strata[changed], minlength=size) - np.bincount(
        between.strata, minlength=size
    )
    per_drawn = unlabelled / np.maximum(left, 1)

    def is_enough(drawn: int) -> bool:
        return (
            float(np.array(allocated(drawn, left.tolist(), least=LEAST_OF_STRATUM)) @ per_drawn)
            >= more
        )

    enough = bisect_left(range(int(left.sum())), True, key=is_enough)
    yield note("labels_between", labels=more)
    yield queue_note(sample, enough if is_enough(enough) else None)


def answers_for_intervals(sample: ScoredSample) -> int:
    """Return how many answers a planned queue must have until each part of the answers has labels enough."""
    answers, labelled = sample.answers, sample.labelled
    left = (answers - labelled).tolist()

    def is_enough(drawn: int) -> bool:
        new = np.array(allocated(drawn, left, least=LEAST_OF_STRATUM), dtype=np.int64)
        return not missing_of_strata(answers, labelled + new)

    return bisect_left(range(sum(left)), True, key=is_enough)


def queue_note(sample: ScoredSample, answers: int | None) -> Note:
    """Return the planned queue of so many ``answers``; if this is None, that all answers are too few."""
    if answers is None:
        return note("log_more", left=int((sample.answers - sample.labelled).sum()))
    return note(
        "label_queue",
        answers=answers,
        command=f"judgeboard queue create threshold --plan rate --n {answers}",
    )

"""How many more labels a threshold needs, and the queue of answers that gives them."""

import math
from bisect import bisect_left

import numpy as np

from judgeboard.measure.scored_labels import ScoredLabels, ScoredSample
from judgeboard.stats.arrays import BoolArray
from judgeboard.stats.estimates import MIN_PAIRS, percent
from judgeboard.stats.rates import TOO_SMALL, missing_of_strata
from judgeboard.stats.sample_size import allocated, design_effect_of_mean, labels_for_outcome
from judgeboard.stats.thresholds import equal_chances
from judgeboard.store.strata import LEAST_OF_STRATUM
from judgeboard.text import counted

_FEW = 0.5  # share of labelled answers


def labels_missing(needed: int, choosing: int, counting: int) -> int:
    """Return how many more labels are needed until the half that chooses has ``needed``.

    That half has ``choosing`` of the ``counting`` labels.
    """
    return max(2 * needed - counting, needed - choosing)


def more_labels_words(
    sample: ScoredSample, claim: str, things: str, labelled: int, counting: int, missing: int, answers: int | None
) -> str:
    """Return that labels do not show the ``claim`` that a threshold reaches a goal, and the queue whose labels may.

    ``counting`` of the ``labelled`` things have equal chances, so that they count. So many are ``missing``. If a queue
    of so many ``answers`` has them, their number is not named: a reader would take it for the size of the queue.
    """
    words = f"{claim}, but the labels are too few to show it. "
    words += queue_words(sample, answers, "To show one")
    if answers is None and counting == labelled:
        thing = things.replace("answers", "answer", 1) if missing == 1 else things
        words += f" About {missing:,} more {thing} must have a label ({counting:,} so far)."
    if counting < labelled:
        words += f" {_uneven_words(sample)}, and so only {counting:,} of the {labelled:,} labels of {things}."
    return words


def answers_to_sample(
    sample: ScoredSample, things: ScoredLabels, more: int, strata: BoolArray, query_type: str | None = None
) -> int | None:
    """Return how many answers a planned queue must have until about ``more`` things count; None if all are too few.

    ``things`` are the labelled answers so far that the goal is about, of the query type (None: of all). Their labels
    count if the answers in these ``strata`` had equal chances. So labels in one stratum make labels in others count.
    The queue draws from all answers. The share of things among those is taken from the labels of each stratum.
    """
    size = len(sample.counts)
    answers, labelled = sample.per_stratum
    left = answers - labelled
    labels_of_type = np.bincount(sample.labels_of(query_type).strata, minlength=size)
    of_type = np.bincount(sample.judged.of_type(query_type).strata, minlength=size) - labels_of_type
    known = np.bincount(things.strata, minlength=size)
    per_drawn = known / np.maximum(labels_of_type, 1) * of_type / np.maximum(left, 1)

    def counting(drawn: int) -> float:
        new = np.array(allocated(drawn, left.tolist(), least=LEAST_OF_STRATUM), dtype=np.int64)
        inside = strata & (labelled + new > 0)
        kept = equal_chances(answers[inside], (labelled + new)[inside]) if inside.any() else np.empty(0)
        return float(kept @ (known + new * per_drawn)[inside])

    now, most = counting(0), int(left.sum())
    enough = bisect_left(range(most), True, key=lambda drawn: counting(drawn) - now >= more)
    return enough if counting(enough) - now >= more else None


def labels_between_words(sample: ScoredSample, threshold: float, break_even: float, query_type: str | None) -> str:
    """Return how many more labels show whether a threshold is cheaper than the one in force, or "" if unknown.

    The answers whose flag the ``threshold`` on badness would change decide it: a flag on them pays if more of them are
    bad than the share ``break_even``. Only labels of the half that does not choose the threshold show it.
    """
    labels, judged = sample.labels_of(query_type), sample.judged.of_type(query_type)
    changed = (judged.rule_badness >= threshold) != judged.flagged
    between = labels.at((labels.rule_badness >= threshold) != labels.flagged)
    if len(np.unique(judged.flagged[changed])) != 1 or break_even >= 1:
        return ""
    share = (int(between.bad.sum()) + 1) / (between.n + 2)
    needed = labels_for_outcome(break_even, share)
    if needed is None:
        return ""
    effect = design_effect_of_mean(between.bad, between.grouping) if between.n else 1.0
    needed = max(math.ceil(needed * effect), MIN_PAIRS)
    more = labels_missing(needed, int((~between.choosing).sum()), between.n)
    if more <= 0:
        return ""
    answers, labelled = sample.per_stratum
    left, size = answers - labelled, len(answers)
    unlabelled = np.bincount(judged.strata[changed], minlength=size) - np.bincount(between.strata, minlength=size)
    per_drawn = unlabelled / np.maximum(left, 1)

    def is_enough(drawn: int) -> bool:
        return float(np.array(allocated(drawn, left.tolist(), least=LEAST_OF_STRATUM)) @ per_drawn) >= more

    enough = bisect_left(range(int(left.sum())), True, key=is_enough)
    words = f"To show which one is cheaper, about {counted(more, 'more label')} of answers between the two"
    words += f" {'is' if more == 1 else 'are'} needed."
    return f"{words} {queue_words(sample, enough if is_enough(enough) else None)}"


def too_small_words(missing: int) -> str:
    """Return that a part of the answers has too few labels, and how many labels are ``missing``."""
    return f"{TOO_SMALL}: {counted(missing, 'more label')} of this part {'is' if missing == 1 else 'are'} needed."


def interval_words(sample: ScoredSample, missing: int, *, has_advice: bool) -> str:
    """Return why the figures of the threshold in force have no interval if labels are ``missing``, else "".

    If nothing else ``has_advice``, it names the queue of the missing labels.
    """
    if not missing:
        return ""
    words = f"The figures of the threshold in force have no interval, because {too_small_words(missing)}"
    return words if has_advice else f"{words} {queue_words(sample, _answers_for_intervals(sample))}"


def _answers_for_intervals(sample: ScoredSample) -> int:
    """Return how many answers a planned queue must have until each part of the answers has labels enough."""
    answers, labelled = sample.per_stratum
    left = (answers - labelled).tolist()

    def is_enough(drawn: int) -> bool:
        new = np.array(allocated(drawn, left, least=LEAST_OF_STRATUM), dtype=np.int64)
        return not missing_of_strata(answers, labelled + new)

    return bisect_left(range(sum(left)), True, key=is_enough)


def queue_words(sample: ScoredSample, answers: int | None, purpose: str = "") -> str:
    """Return what to label for a threshold: so many ``answers`` of a planned queue; None if all answers are too few.

    The sentence begins with the ``purpose``, "For a recall of at least 90 %".
    """
    start = f"{purpose}, " if purpose else ""
    left = sum(each.answers - each.labelled for each in sample.counts)
    if answers is None:
        words = f"labels of the other {counted(left, 'answer')} would be too few." if left else "all are labelled."
        return f"{start}{'log' if purpose else 'Log'} and judge more answers: {words}"
    command = f"judgeboard queue create threshold --plan rate --n {answers}"
    more = f"about {counted(answers, 'more answer')}, which this queue draws at random"
    words = f"{start}{'label' if purpose else 'Label'} {more}: `{command}`."
    if sample.left_out.get("extras"):
        words += " Labels that are not known to be a random sample do not count."
    return words


def _uneven_words(sample: ScoredSample) -> str:
    """Return which answers are labelled more often than others, and which of their labels count."""
    labelled = np.isin(sample.judged.response_ids, sample.labels.response_ids)
    flagged = sample.judged.flagged
    if flagged.any() and labelled[flagged].all() and labelled[~flagged].mean() < _FEW:
        others, share = labelled[~flagged], percent(float(labelled[~flagged].mean()))
        return (
            f"People labelled all flagged answers, but only {share} of the others ({int(others.sum()):,} of "
            f"{len(others):,}). To give all answers the same chance, the search for a threshold uses only a random "
            f"{share} of the labels of flagged answers"
        )
    return (
        "Some kinds of answers are labelled more often than others. To give all answers the same chance, the search "
        "for a threshold uses only a random part of the labels of these kinds"
    )

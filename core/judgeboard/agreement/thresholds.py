"""Thresholds that reach a goal for recall, precision or cost, and what they change in the queue."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
from sqlalchemy import Connection

from judgeboard.agreement.samples import scored_version
from judgeboard.agreement.scored_labels import (
    DECIMALS,
    JudgedScores,
    ScoredLabels,
    ScoredSample,
    allowed_risk,
    flag_from,
    load_sample,
)
from judgeboard.domain import Estimate
from judgeboard.errors import BadInput, check_known
from judgeboard.flags.rule import HALF_STEP, Cuts
from judgeboard.stats.arrays import BoolArray, FloatArray
from judgeboard.stats.estimates import measured, percent, percent_as_given, percent_words, unmeasured
from judgeboard.stats.sample_size import design_effect_of_mean
from judgeboard.stats.thresholds import (
    DELTA,
    FEWEST_FLAGGED,
    Passed,
    cheapest_threshold,
    confidence_threshold,
    cost_change,
    labels_to_pass,
    recall_on_average,
    recall_threshold,
    score_grid,
    weighted_share,
)
from judgeboard.text import counted

Aim = Literal["recall", "precision", "cost"]
AIMS: tuple[Aim, ...] = get_args(Aim)

MOST_COST = 1_000_000  # reviews
CURVE = 20  # thresholds of the trade-off curve
_STEPS = 1_000_000  # a threshold has six decimals


@dataclass(frozen=True, slots=True)
class Goal:
    """What a threshold has to reach: a ``recall`` or ``precision`` (0 to 1), or the lowest mean ``cost``.

    ``value`` is the recall, the precision, or how many times more a missed bad answer costs than a review. ``delta`` is
    the share of sets of labels for which the goal may be missed. Raises BadInput for a value out of range.
    """

    aim: Aim
    value: float
    delta: float = DELTA

    def __post_init__(self) -> None:
        check_known("a goal", self.aim, AIMS)
        if self.aim == "cost" and not 0 < self.value <= MOST_COST:
            raise BadInput(f"a cost must be above 0 and at most {MOST_COST:,}, not {self.value:g}")
        if self.aim != "cost" and not 0 < self.value < 1:
            raise BadInput(f"a {self.aim} must be between 0 and 1, not {self.value:g}")
        if not 0 < self.delta < 1:
            raise BadInput(f"delta must be between 0 and 1, not {self.delta:g}")

    @property
    def risk(self) -> float:
        """The share of wrong verdicts that a recall or precision allows."""
        return allowed_risk(self.value)

    @property
    def words(self) -> str:
        """The goal in words."""
        if self.aim == "cost":
            return f"lowest cost, if a missed bad answer costs {self.value:g} times a review"
        return f"{self.aim} of at least {percent_as_given(self.value)}"


@dataclass(frozen=True, slots=True)
class QueueChange:
    """How the queue changes: ``flags`` more (below 0: fewer), and ``bad``, how many of these answers are bad."""

    flags: int
    bad: Estimate


@dataclass(frozen=True, slots=True)
class AtThreshold:
    """What the threshold ``low_groundedness`` does: ``flags`` of all judged answers, and shares of labelled answers.

    ``flagged`` is the share of answers with a flag, ``recall`` the share of bad answers that are flagged, ``precision``
    the share of flagged answers that are bad. ``change`` is the change of the queue from the threshold in force.
    """

    low_groundedness: float
    flags: int
    flagged: Estimate
    recall: Estimate
    precision: Estimate
    change: QueueChange


@dataclass(frozen=True, slots=True)
class ChosenThreshold:
    """The threshold for one query type, or for all (None).

    ``labelled`` and ``labelled_bad`` count the half of the labels that chooses, ``judged`` all answers with a score.
    ``low_groundedness`` is the value for the setting, None if no threshold reaches the goal. ``chosen`` and
    ``in_force`` are measured on the other half, weighted to all answers. ``on_average`` is the threshold with the
    recall on average over sets of labels, without a guarantee. ``curve`` has what twenty thresholds do on all labels,
    the highest badness first.
    """

    query_type: str | None
    sentence: str
    labelled: int
    labelled_bad: int
    judged: int
    low_groundedness: float | None = None
    test: Passed | None = None
    chosen: AtThreshold | None = None
    in_force: AtThreshold | None = None
    cost_change: Estimate | None = None
    on_average: float | None = None
    curve: tuple[AtThreshold, ...] = ()

    @property
    def is_advised(self) -> bool:
        """Whether the threshold reaches the goal; one for the lowest cost must be shown to be cheaper."""
        if self.cost_change is None:
            return self.low_groundedness is not None
        return self.cost_change.high is not None and self.cost_change.high < 0


@dataclass(frozen=True, slots=True)
class ThresholdResult:
    """Thresholds for a goal, and the thresholds in force."""

    judge_version: str
    goal: Goal
    in_force: Cuts
    thresholds: tuple[ChosenThreshold, ...]
    left_out: dict[str, int]


def measure_threshold(
    connection: Connection, goal: Goal, *, by_query_type: bool = False, judge_version: int | str | None = None
) -> ThresholdResult:
    """Return the threshold on groundedness that reaches a goal, and what it changes in the queue.

    Half of the evidence groups chooses the threshold, the other half reports. ``judge_version`` is by default the
    primary judge's newest. Raises NotFound without a judge or without scores.
    """
    sample = load_sample(connection, [scored_version(connection, judge_version)])
    return threshold_result(sample, goal, by_query_type=by_query_type)


def threshold_result(sample: ScoredSample, goal: Goal, *, by_query_type: bool = False) -> ThresholdResult:
    """Return the same as `measure_threshold` from a loaded sample."""
    types: list[str | None] = [None]
    if by_query_type:
        types = sorted(np.unique(sample.judged.query_types.names).tolist())
    # Several goals are reached together if each may be missed less often.
    delta = goal.delta / len(types)
    chosen = (_chosen(sample, goal, delta, query_type) for query_type in types)
    return ThresholdResult(sample.title, goal, sample.cuts, tuple(chosen), sample.left_out)


def replayed(sample: ScoredSample, low_groundedness: float, query_type: str | None = None) -> AtThreshold:
    """Return what a threshold for a query type (None: for all) does to the stored answers, measured on all labels."""
    threshold = float(flag_from(low_groundedness))
    return _at(low_groundedness, threshold, sample.labels_of(query_type), sample.judged.of_type(query_type))


def _chosen(sample: ScoredSample, goal: Goal, delta: float, query_type: str | None) -> ChosenThreshold:
    labels, judged = sample.labels_of(query_type), sample.judged.of_type(query_type)
    choosing = labels.choosing
    half, other = labels.at(choosing & labels.by_lot), labels.at(~choosing)
    counts = (half.n, int(half.bad.sum()), len(judged.badness))
    if sample.gap is not None:
        return ChosenThreshold(query_type, sample.gap, *counts)
    if not labels.bad.any():
        return ChosenThreshold(query_type, "Not available, because no labelled answer is bad.", *counts)
    if not half.n:
        empty = f"Not available: of {counted(labels.n, 'label')}, none is in the half that chooses a threshold."
        return ChosenThreshold(query_type, empty, *counts)
    in_force = _at(sample.cuts.of(query_type or ""), None, other, judged)
    grid = score_grid(judged.badness)
    curve = tuple(_curve(grid, labels, judged))
    # A cost has no sequence of tests, so it takes the scores of all types. No setting flags a groundedness of 1.
    if goal.aim == "cost" and query_type is not None:
        grid = score_grid(sample.judged.badness)
    grid = grid[grid > HALF_STEP]
    if goal.aim == "cost":
        return replace(_cheapest(goal, query_type, grid, half, other, judged, in_force, counts), curve=curve)
    test = _tested(goal, delta, grid, half)
    average = recall_on_average(grid, half.badness[half.bad], risk=goal.risk) if goal.aim == "recall" else None
    on_average = None if average is None else setting_of(average)
    if test is None:
        sentence = _more_labels(goal, delta, half, labels)
        return ChosenThreshold(query_type, sentence, *counts, in_force=in_force, on_average=on_average, curve=curve)
    setting = setting_of(test.threshold)
    chosen = _at(setting, test.threshold, other, judged)
    sentence = (
        f"Flag answers with groundedness below {setting:g}. {_price_words(chosen, in_force, counts[-1])} "
        f"The threshold has a {goal.words}, with {percent(1 - delta)} confidence. {_halves_words(chosen)} "
        f"{change_words(chosen.change)}"
    )
    return ChosenThreshold(
        query_type, sentence, *counts, setting, test, chosen, in_force, on_average=on_average, curve=curve
    )


def _tested(goal: Goal, delta: float, grid: FloatArray, half: ScoredLabels) -> Passed | None:
    risk, effect = goal.risk, _design_effect(goal, half)
    if goal.aim == "recall":
        return recall_threshold(grid, half.badness[half.bad], risk=risk, delta=delta, design_effect=effect)
    limits = {"risk": risk, "delta": delta, "design_effect": effect, "fewest": FEWEST_FLAGGED}
    return confidence_threshold(grid, half.badness, ~half.bad, starts=1, **limits)


def _rows(goal: Goal, labels: ScoredLabels) -> BoolArray:
    """Return the labels that a goal is about: of bad answers for a recall, of answers judged bad for a precision."""
    return labels.bad if goal.aim == "recall" else labels.judged_bad


def _design_effect(goal: Goal, half: ScoredLabels) -> float:
    rows = half.at(_rows(goal, half))
    return design_effect_of_mean(rows.wrong, rows.grouping)


def _cheapest(
    goal: Goal,
    query_type: str | None,
    grid: FloatArray,
    half: ScoredLabels,
    other: ScoredLabels,
    judged: JudgedScores,
    in_force: AtThreshold,
    counts: tuple[int, int, int],
) -> ChosenThreshold:
    threshold = cheapest_threshold(grid, half.badness, half.bad, goal.value)
    setting = setting_of(threshold)
    chosen = _at(setting, threshold, other, judged)
    costs = cost_change(other.badness >= threshold, other.flagged, other.bad, goal.value, other.grouping)
    result = ChosenThreshold(query_type, "", *counts, setting, None, chosen, in_force, costs)
    if result.is_advised:
        sentence = (
            f"Flag answers with groundedness below {setting:g}. {_price_words(chosen, in_force, counts[-1])} "
            f"{_cost_words(costs, 'changes')} {_halves_words(chosen)} {change_words(chosen.change)}"
        )
    else:
        sentence = (
            f"Keep the threshold in force, {in_force.low_groundedness:g}. On one half of the labels, groundedness "
            f"below {setting:g} is cheapest. The other half does not show that it is cheaper than the threshold in "
            f"force. {_cost_words(costs, 'would change')}"
        )
    return replace(result, sentence=sentence)


def _cost_words(costs: Estimate, changes: str) -> str:
    if costs.value is None:
        return f"The change of the cost is not available: {costs.reason}."
    ends = costs.reason
    if costs.low is not None and costs.high is not None:
        ends = f"95 % CI {costs.low:+.3f} to {costs.high:+.3f}"
    return f"The cost per answer {changes} by {costs.value:+.3f} reviews ({ends})."


def setting_of(threshold: float) -> float:
    """Return the value of the setting low_groundedness that flags answers from this badness on, to six decimals."""
    at_most = round(1 - threshold, DECIMALS)
    return (math.floor(at_most * _STEPS + 1e-3) + 1) / _STEPS


def _at(setting: float, threshold: float | None, labels: ScoredLabels, judged: JudgedScores) -> AtThreshold:
    """Return what a threshold on badness does; None means the thresholds in force."""
    flagged, all_flagged = labels.flagged, judged.flagged
    if threshold is not None:
        flagged, all_flagged = labels.badness >= threshold, judged.badness >= threshold
    return AtThreshold(
        setting,
        int(all_flagged.sum()),
        _share(flagged, labels, np.ones(labels.n, dtype=np.bool_)),
        _share(flagged, labels, labels.bad),
        _share(labels.bad, labels, flagged),
        _change(flagged, all_flagged, labels, judged),
    )


def _share(hits: BoolArray, labels: ScoredLabels, among_rows: BoolArray) -> Estimate:
    of_rows = labels.at(among_rows)
    return weighted_share(hits[among_rows], of_rows.weights, of_rows.grouping)


def _change(flagged: BoolArray, all_flagged: BoolArray, labels: ScoredLabels, judged: JudgedScores) -> QueueChange:
    """Return the change of the queue. The share of bad answers is that of the labels that a change concerns."""
    more, fewer = int((all_flagged & ~judged.flagged).sum()), int((judged.flagged & ~all_flagged).sum())
    if more and fewer:
        return QueueChange(more - fewer, unmeasured(0, f"{more:,} more flags and {fewer:,} fewer, by query type"))
    n = more or fewer
    share = _share(labels.bad, labels, flagged != labels.flagged)
    bad = share
    if not n:
        bad = measured(0.0, share.n, reason="no answer is between the two thresholds")
    elif share.value is not None and share.low is not None and share.high is not None:
        bad = measured(share.value * n, share.n, (share.low * n, share.high * n), method=share.method, unit=share.unit)
    return QueueChange(more - fewer, bad)


def change_words(change: QueueChange) -> str:
    """Return the change of the queue in one sentence."""
    if not change.flags:
        return "In the queue, nothing changes."
    fewer = change.flags < 0
    number = abs(change.flags)
    flags = f"{number:,} {'fewer' if fewer else 'more'} {'flag' if number == 1 else 'flags'}"
    bad = change.bad
    if bad.value is None or bad.low is None or bad.high is None:
        return f"In the queue: {flags}. The number of bad answers is not available: {bad.reason}."
    answers = f"about {round(bad.value):,} more bad {'answer' if round(bad.value) == 1 else 'answers'}"
    ends = f"(95 % CI {math.floor(bad.low):,}–{math.ceil(bad.high):,})"
    return f"In the queue: {flags}, {answers} {'missed' if fewer else 'found'} {ends}."


def _price_words(chosen: AtThreshold, in_force: AtThreshold, judged: int) -> str:
    """Return what the threshold costs and finds, each beside today's figure; the number of flags is exact."""
    flags = f"That flags {chosen.flags:,} of {counted(judged, 'answer')} with a score"
    flags += f" ({percent(chosen.flags / max(judged, 1))})"
    if not chosen.change.flags and chosen.flags == in_force.flags:
        return f"{flags}, as today."
    bad, recall = (
        f"{percent_words(now)} of {things} {verb}{'' if today.value is None else f' instead of {percent_words(today)}'}"
        for now, today, things, verb in (
            (chosen.precision, in_force.precision, "the flagged answers", "are bad"),
            (chosen.recall, in_force.recall, "the bad answers", "are flagged"),
        )
    )
    if chosen.precision.value is None:
        bad = f"how many of them are bad is not available ({chosen.precision.reason})"
    if chosen.recall.value is None:
        recall = f"How many of the bad answers are flagged is not available ({chosen.recall.reason})"
    return f"{flags} instead of {in_force.flags:,}; {bad}. {recall}."


def _halves_words(chosen: AtThreshold) -> str:
    return f"One half of the labels chose the threshold, the other half (n = {chosen.flagged.n:,}) measured it."


def _more_labels(goal: Goal, delta: float, half: ScoredLabels, labels: ScoredLabels) -> str:
    things = "bad answers" if goal.aim == "recall" else "answers that the judge calls bad"
    needed = math.ceil(labels_to_pass(goal.risk, delta) * _design_effect(goal, half))
    choosing, labelled = (int(_rows(goal, each).sum()) for each in (half, labels))
    return more_labels_words(f"a {goal.words}", needed, choosing, labelled, things)


def more_labels_words(goal: str, needed: int, choosing: int, labelled: int, things: str) -> str:
    """Return how many more labels a goal needs.

    A judge that errs half as often as the goal allows passes with ``needed`` labels in the half that chooses. That half
    has ``choosing`` of the ``labelled`` things.
    """
    if choosing >= needed:
        return (
            f"No threshold: the {labelled:,} labelled {things} do not show {goal} of any threshold. More labels help "
            "only if the judge is clearly better than this goal."
        )
    more = max(2 * needed - labelled, 1)
    return f"No threshold: {goal} needs about {more:,} more labelled {things} ({labelled:,} so far)."


def _curve(grid: FloatArray, labels: ScoredLabels, judged: JudgedScores) -> Iterator[AtThreshold]:
    for threshold in grid[np.unique(np.linspace(0, len(grid) - 1, CURVE).astype(np.int64))].tolist():
        yield _at(setting_of(threshold), threshold, labels, judged)

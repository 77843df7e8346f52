"""Thresholds that reach a goal for recall, precision or cost, and what they change in the queue."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Literal, get_args

import numpy as np
from sqlalchemy import Connection

from judgeboard.domain import Estimate
from judgeboard.errors import BadInput, check_known
from judgeboard.flags.rule import HALF_STEP
from judgeboard.measure.more_labels import (
    answers_to_sample,
    interval_words,
    labels_between_words,
    labels_missing,
    more_labels_words,
)
from judgeboard.measure.samples import scored_version
from judgeboard.measure.scored_labels import (
    DECIMALS,
    JudgedScores,
    ScoredLabels,
    ScoredSample,
    allowed_risk,
    flag_from,
    load_sample,
)
from judgeboard.measure.threshold_figures import AtThreshold, QueueChange, ThresholdFigures
from judgeboard.settings.model import Cuts
from judgeboard.stats.arrays import BoolArray, FloatArray
from judgeboard.stats.estimates import Z, complement, percent, percent_as_given, percent_words
from judgeboard.stats.rates import FEWEST_OF_RARER
from judgeboard.stats.sample_size import design_effect_of_mean
from judgeboard.stats.thresholds import (
    DELTA,
    FEWEST_FLAGGED,
    Passed,
    SelectedLabels,
    cheapest_threshold,
    labels_to_pass,
    lowest_passing,
    recall_threshold,
    score_grid,
)
from judgeboard.text import counted

Aim = Literal["recall", "precision", "false_omission", "cost"]
AIMS: tuple[Aim, ...] = get_args(Aim)
_OF_SELECTED = ("precision", "false_omission")  # goals about the answers that a threshold flags, or does not flag

MOST_COST = 1_000_000  # reviews
CURVE = 20  # thresholds of the trade-off curve
_MOST_DECIMALS = 6  # of a threshold
_FAR_BELOW = 0.15  # of a goal, for the lower end of an interval: then the threshold in force is not advised
_WIDEST = 0.8  # intervals of shares that a sentence names


@dataclass(frozen=True, slots=True)
class Goal:
    """What a threshold has to reach: a ``recall`` or ``precision`` (0 to 1), or the lowest mean ``cost``.

    ``value`` is the recall, the precision, the largest ``false_omission`` rate (the share of bad answers among those
    without a flag), or how many times more a missed bad answer costs than a review. ``delta`` is the share of sets of
    labels for which the goal may be missed. Raises BadInput for a value out of range.
    """

    aim: Aim
    value: float
    delta: float = DELTA

    def __post_init__(self) -> None:
        check_known("a goal", self.aim, AIMS)
        if self.aim == "cost" and not 0 < self.value <= MOST_COST:
            raise BadInput(f"a cost must be above 0 and at most {MOST_COST:,}, not {self.value:g}")
        if self.aim != "cost" and not 0 < self.value < 1:
            raise BadInput(f"a {self.name} must be between 0 and 1, not {self.value:g}")
        if not 0 < self.delta < 1:
            raise BadInput(f"delta must be between 0 and 1, not {self.delta:g}")

    @property
    def risk(self) -> float:
        """The share of wrong verdicts that the goal allows."""
        return self.value if self.aim == "false_omission" else allowed_risk(self.value)

    @property
    def least(self) -> float:
        """The smallest share of right verdicts that reaches the goal."""
        return round(1 - self.value, 12) if self.aim == "false_omission" else self.value

    @property
    def name(self) -> str:
        """The aim in words."""
        return "false omission rate" if self.aim == "false_omission" else self.aim

    @property
    def words(self) -> str:
        """The goal in words."""
        if self.aim == "cost":
            return f"lowest cost, if a missed bad answer costs {self.value:g} times a review"
        side = "at most" if self.aim == "false_omission" else "at least"
        return f"{self.name} of {side} {percent_as_given(self.value)}"


@dataclass(frozen=True, slots=True)
class ChosenThreshold:
    """The threshold for one query type, or for all (None).

    ``labelled`` and ``labelled_bad`` count the half of the labels that chooses, ``judged`` all answers with a score.
    ``low_groundedness`` is the value for the setting, None if no threshold reaches the goal or the threshold in force
    ``is_kept``, because it reaches the goal as well. ``chosen`` is what the tests found. It is measured on the other
    half, weighted to all answers, and so is ``in_force_held_out``. ``in_force`` is measured on all labels as by `rate`.
    ``curve`` has what twenty thresholds do on all labels, the highest badness first.
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
    in_force_held_out: AtThreshold | None = None
    is_kept: bool = False
    cost_change: Estimate | None = None
    curve: tuple[AtThreshold, ...] = ()

    @property
    def is_advised(self) -> bool:
        """Whether the threshold reaches the goal; one for the lowest cost must be shown to be cheaper."""
        if self.cost_change is None:
            return self.low_groundedness is not None
        return self.cost_change.high is not None and self.cost_change.high < 0

    @property
    def is_costlier(self) -> bool:
        """Whether the threshold that one half found cheapest is shown to cost more than the one in force."""
        return self.cost_change is not None and self.cost_change.low is not None and self.cost_change.low > 0


@dataclass(frozen=True, slots=True)
class ThresholdResult:
    """Thresholds for a goal, and the thresholds in force.

    ``excuses`` says what the rule low_groundedness never flags. ``decides_verdicts``: the judge gives no labels, so
    that the threshold also decides its verdicts. ``label_differs``: the judge's labels are not what the rule flags.
    """

    judge_version: str
    goal: Goal
    in_force: Cuts
    thresholds: tuple[ChosenThreshold, ...]
    left_out: dict[str, int]
    excuses: str = ""
    decides_verdicts: bool = False
    label_differs: bool = False


def measure_threshold(
    connection: Connection, goal: Goal, *, by_query_type: bool = False, judge_version: int | str | None = None
) -> ThresholdResult:
    """Return the threshold on groundedness that reaches a goal, and what it changes in the queue.

    Half of the evidence groups chooses the threshold, the other half reports. ``judge_version`` is by default the
    primary judge's newest. Raises NotFound without a judge or without scores.
    """
    sample = load_sample(connection, [scored_version(connection, judge_version)], flags=True)
    return threshold_result(sample, goal, by_query_type=by_query_type)


def threshold_result(sample: ScoredSample, goal: Goal, *, by_query_type: bool = False) -> ThresholdResult:
    """Return the same as `measure_threshold` from a sample that was loaded with ``flags``."""
    types: list[str | None] = [None]
    if by_query_type:
        types = sorted(np.unique(sample.judged.query_types.names).tolist())
    # Several goals are reached together if each may be missed less often.
    delta = goal.delta / len(types)
    chosen = (_chosen(sample, goal, delta, query_type) for query_type in types)
    left_out = sample.left_out
    if goal.aim in _OF_SELECTED:
        unused = sum(_unused(goal, sample, query_type) for query_type in types)
        left_out = {reason: n for reason, n in (left_out | {"more_often_labelled": unused}).items() if n}
    label_differs = not sample.decides_verdicts and not np.array_equal(sample.labels.judged_bad, sample.labels.flagged)
    result = ThresholdResult(sample.title, goal, sample.cuts, tuple(chosen), left_out, sample.excuses)
    return replace(result, decides_verdicts=sample.decides_verdicts, label_differs=label_differs)


def replayed(sample: ScoredSample, low_groundedness: float, query_type: str | None = None) -> AtThreshold:
    """Return what a threshold for a query type (None: for all) does to the stored answers, measured on all labels."""
    threshold = float(flag_from(low_groundedness))
    figures = ThresholdFigures(sample.labels_of(query_type), sample.judged.of_type(query_type))
    return figures.at(low_groundedness, threshold)


def _chosen(sample: ScoredSample, goal: Goal, delta: float, query_type: str | None) -> ChosenThreshold:
    labels, judged = sample.labels_of(query_type), sample.judged.of_type(query_type)
    choosing = labels.choosing
    # A precision is tested on the labels that have equal chances among the answers at or above a threshold; a false
    # omission rate on those below it.
    half = labels.at(choosing if goal.aim in _OF_SELECTED else choosing & labels.by_lot)
    of_all = ThresholdFigures(labels, judged)
    other = ThresholdFigures(labels.at(~choosing), judged, judged.at(~judged.choosing))
    counts = (half.n, int(half.bad.sum()), len(judged.badness))
    if (reason := _unavailable(sample, labels, half)) is not None:
        return ChosenThreshold(query_type, reason, *counts)
    in_force = of_all.in_force(sample.cuts.of(query_type or ""), sample.cuts)
    same = other.of_flags(in_force.low_groundedness, other.labels.flagged, judged.flagged, in_force.excused)
    start = ChosenThreshold(query_type, "", *counts, in_force=in_force, in_force_held_out=same)
    grid = score_grid(judged.badness)
    start = replace(start, curve=tuple(_curve(grid, of_all)))
    # A cost has no sequence of tests, so it takes the scores of all types. No setting flags a groundedness of 1.
    if goal.aim == "cost" and query_type is not None:
        grid = score_grid(sample.judged.badness)
    # The threshold in force is tested too, so that no other one with nearly the same flags takes its place.
    grid = np.union1d(grid, np.sort(judged.badness[judged.flagged])[:1])[::-1]
    grid = grid[grid > HALF_STEP]
    if goal.aim == "cost":
        return _cheapest(goal, start, cheapest_threshold(grid, half.rule_badness, half.bad, goal.value), other, sample)
    if goal.aim in _OF_SELECTED:
        test = _test_of_selected(goal, delta, grid, sample, half, judged)
    else:
        recall = {"risk": goal.risk, "delta": delta, "design_effect": _design_effect(goal, half)}
        test = recall_threshold(grid, half.rule_badness[half.bad], **recall)
    if test is None:
        keep, change = _keep_words(goal, delta, _today(sample, query_type), start)
        now = "" if keep else _now(goal, in_force)
        more = "" if change is None else _more_labels(goal, delta, sample, query_type, now)
        few = interval_words(sample, of_all.missing, has_advice=bool(more) or query_type is not None)
        return replace(start, sentence=_joined(keep, few, more), is_kept=change is None)
    setting = setting_of(test.threshold, judged.badness)
    chosen = other.at(setting, test.threshold)
    start = replace(start, test=test, chosen=chosen)
    is_same = np.array_equal(judged.rule_badness >= test.threshold, judged.flagged)
    keep, change = _keep_words(goal, delta, _today(sample, query_type), start, is_same=is_same)
    few = interval_words(sample, of_all.missing, has_advice=query_type is not None)
    if change is None:
        return replace(start, sentence=_joined(keep, few), is_kept=True)
    sentence = _joined(
        keep,
        _flags_words(chosen, in_force, counts[-1], change),
        f"With {percent(1 - delta)} confidence, at least {percent_as_given(goal.least)} {_share_words(goal, 'then ')}.",
        _measured_words(goal, chosen, other.labels),
        below_words(goal, _figure(goal, chosen)),
        beyond_words(goal, _figure(goal, chosen)),
        verdicts_words(sample, setting, query_type),
        few,
    )
    return replace(start, sentence=sentence, low_groundedness=setting)


def _unavailable(sample: ScoredSample, labels: ScoredLabels, half: ScoredLabels) -> str | None:
    """Return why the labels can choose no threshold, None if they can."""
    if sample.gap is not None:
        return sample.gap
    if not labels.bad.any():
        return "Not available, because no labelled answer is bad."
    if not half.n:
        return f"Not available: of {counted(labels.n, 'label')}, none is in the half that chooses a threshold."
    return None


def below_words(goal: Goal, measured: Estimate) -> str:
    """Return why the labels that did not choose a threshold may show less than the goal; "" if they do not."""
    if not _is_shown(measured) or (measured.value or 0.0) >= goal.least:
        return ""
    wanted, figure = percent_as_given(goal.least), percent(measured.value or 0.0)
    if figure == wanted:
        return ""
    if (measured.high or 0.0) >= goal.least:
        return f"The two halves of the labels differ. The interval of {figure} includes {wanted}, so both can be true."
    return (
        f"The two halves of the labels differ: the interval of {figure} leaves out {wanted}. Label more answers, then "
        "choose again."
    )


def _looser(goal: Goal) -> str:
    return f"a threshold with {'more' if goal.aim == 'precision' else 'fewer'} flags"


def beyond_words(goal: Goal, measured: Estimate) -> str:
    """Return that the goal needs less than the other labels show, "" if they do not show more than the goal."""
    if not _is_shown(measured) or (measured.low or 0.0) <= goal.least:
        return ""
    return f"The goal needs less than this: with more labels, {_looser(goal)} may meet it too."


def _today(sample: ScoredSample, query_type: str | None) -> str:
    """Return the threshold in force for a query type, or all of them for None: "0.5 (sql: 0.62)"."""
    return sample.cuts.words if query_type is None else f"{sample.cuts.of(query_type):g}"


def _share_words(goal: Goal, then: str = "") -> str:
    """Return which answers the share of a goal is about: "of the bad answers are flagged for low groundedness"."""
    if goal.aim == "recall":
        return f"of the bad answers are {then}flagged for low groundedness"
    if goal.aim == "false_omission":
        return f"of the answers not flagged for low groundedness are {then}good"
    return f"of the answers flagged for low groundedness are {then}bad"


def _figure(goal: Goal, at: AtThreshold) -> Estimate:
    """Return the share of right verdicts that a goal is about."""
    if goal.aim == "false_omission":
        return complement(at.false_omission)
    return at.recall if goal.aim == "recall" else at.precision


def _now(goal: Goal, in_force: AtThreshold) -> str:
    """Return the figure of the threshold in force: "76 % [61, 87] of the answers flagged … are bad"."""
    figure = _figure(goal, in_force)
    return "" if figure.value is None else f"{percent_words(figure)} {_share_words(goal)}"


def _keep_words(
    goal: Goal, delta: float, today: str, start: ChosenThreshold, *, is_same: bool = False
) -> tuple[str, str | None]:
    """Return what to say first if the threshold in force reaches the goal, else ""; and what another one is for.

    The second is None if only the threshold in force is advised. No label chose it, so all labels measure it. If these
    are enough but have no error, the other half does. If it reaches the goal, only a threshold with fewer flags for a
    recall, or more for a precision, is better. ``is_same``: the chosen threshold flags the same answers.
    """
    in_force, other, chosen = start.in_force, start.in_force_held_out, start.chosen
    if in_force is None or other is None:
        return "", ""
    of_all = _figure(goal, in_force)
    is_without_error = of_all.low is None and of_all.value == 1 and of_all.n >= FEWEST_OF_RARER
    without_interval = is_without_error and _figure(goal, other).low is not None
    measured_on = other if without_interval else in_force
    figure, now = _figure(goal, measured_on), _now(goal, measured_on)
    if without_interval:
        now = f"on labels that were not used to choose, {now}"
    confidence, least = f"{percent(1 - delta)} confidence", percent_as_given(goal.least)
    low = _low_end(figure, delta)
    fewer = chosen is not None and chosen.flags < in_force.flags
    is_better = chosen is not None and not is_same and fewer == (goal.aim != "precision")
    if is_same or (low is not None and low >= goal.least):
        change = "For fewer flags" if fewer else "To find more bad answers"
        shown = f"With {confidence}, this meets the goal."
        if figure.low is None:
            now, shown = f"with {confidence}, at least {least} {_share_words(goal)}", ""
        open_words = "" if is_better else f"The labels do not show that {_looser(goal)} meets it too."
        return _joined(f"Keep {today}: {now}.", shown, open_words), change if is_better else None
    if figure.value is None or figure.value < goal.least or is_better:
        return "", ""
    on_other = " on labels that were not used to choose" if without_interval else ""
    estimate = f"the estimate for today is {percent_words(figure)}{on_other}"
    not_shown = f"These labels do not show with {confidence} that at least {least} {_share_words(goal)}: {estimate}."
    if figure.low is None:
        return not_shown, ""
    not_shown += f" The share may be as low as {percent(figure.low)}."
    return (
        not_shown,
        "To be sure" if figure.low >= goal.least - _FAR_BELOW else "",
    )  # so uncertain a figure keeps nothing


def _low_end(figure: Estimate, delta: float) -> float | None:
    """Return the one-sided lower bound at confidence 1 - ``delta``, from the 95 % interval on the logit scale."""
    low, value = figure.low, figure.value
    if low is None or value is None:
        return None
    times = NormalDist().inv_cdf(1 - delta) / Z
    if not 0 < low < value < 1:  # the scale has no place for 0 and 1
        return low if times <= 1 else None
    ends = [math.log(share / (1 - share)) for share in (value, low)]
    return 1 / (1 + math.exp(times * (ends[0] - ends[1]) - ends[0]))


def _test_of_selected(
    goal: Goal, delta: float, grid: FloatArray, sample: ScoredSample, half: ScoredLabels, judged: JudgedScores
) -> Passed | None:
    """Return the threshold with the precision or the false omission rate.

    At each threshold those labels count that had equal chances among the answers at or above it (for a false omission
    rate: below it). If all flagged answers are labelled, no label of them is dropped as long as no other answer is at
    or above the threshold. The first test is of the most flagged answers alone, or of the least.
    """
    sign = -1 if goal.aim == "false_omission" else 1
    if sign < 0:
        grid = grid[::-1]
    at_thresholds: list[SelectedLabels] = []
    kept = half
    effect, before = 1.0, np.zeros(len(sample.counts), dtype=np.bool_)
    for threshold, strata in _strata_selected(goal, grid, judged, len(sample.counts)):
        if not np.array_equal(strata, before):
            kept = half.at(sample.with_equal_chances(half, strata))
            effect, before = _design_effect(goal, kept), strata
        selected = _selected(goal, kept.rule_badness, threshold)
        wrong = kept.bad if sign < 0 else ~kept.bad
        at_thresholds.append(SelectedLabels(int(selected.sum()), int((selected & wrong).sum()), effect))
    passed = lowest_passing(sign * grid, at_thresholds, risk=goal.risk, delta=delta, fewest=FEWEST_FLAGGED)
    return None if passed is None else replace(passed, threshold=sign * passed.threshold)


def _selected(goal: Goal, badness: FloatArray, threshold: float) -> BoolArray:
    """Return the answers that a goal is about at a threshold: those with a flag, or those without."""
    return badness < threshold if goal.aim == "false_omission" else badness >= threshold


def _strata_selected(
    goal: Goal, grid: FloatArray, judged: JudgedScores, count: int
) -> Iterator[tuple[float, BoolArray]]:
    """Yield each threshold with the strata that have answers which a goal is about."""
    is_of_unflagged = goal.aim == "false_omission"
    extreme = np.full(count, np.inf if is_of_unflagged else -np.inf)
    (np.minimum if is_of_unflagged else np.maximum).at(extreme, judged.strata, judged.rule_badness)
    for threshold in grid.tolist():
        yield threshold, _selected(goal, extreme, threshold)


def _unused(goal: Goal, sample: ScoredSample, query_type: str | None) -> int:
    """Return how many labels count at no threshold for a goal, because such answers are labelled more often."""
    labels, judged = sample.labels_of(query_type), sample.judged.of_type(query_type)
    used = np.zeros(labels.n, dtype=np.bool_)
    for _, strata in _strata_selected(goal, score_grid(judged.badness), judged, len(sample.counts)):
        used |= sample.with_equal_chances(labels, strata)
    return int((~used).sum())


def _rows(goal: Goal, labels: ScoredLabels) -> BoolArray:
    """Return the labels that a goal is about: of bad answers for a recall, otherwise of answers judged bad or good."""
    if goal.aim == "false_omission":
        return ~labels.judged_bad
    return labels.bad if goal.aim == "recall" else labels.judged_bad


def _design_effect(goal: Goal, half: ScoredLabels) -> float:
    rows = half.at(_rows(goal, half))
    return design_effect_of_mean(rows.wrong, rows.grouping)


def _cheapest(
    goal: Goal, start: ChosenThreshold, threshold: float, other: ThresholdFigures, sample: ScoredSample
) -> ChosenThreshold:
    """Return the cheapest ``threshold`` of one half of the labels, and whether the ``other`` half shows that it is.

    Without such proof, the sentence says what is not shown, and how many labels are missing.
    """
    today = _today(sample, start.query_type)
    judged = other.judged
    if np.array_equal(judged.rule_badness >= threshold, judged.flagged):
        none = f"none is cheaper than the threshold in force, {today}"
        nothing = f"These labels do not show that another threshold is cheaper: on one half of them, {none}."
        return replace(start, sentence=nothing, is_kept=True)
    setting = setting_of(threshold, judged.badness)
    chosen = other.at(setting, threshold)
    costs = chosen.change.cost_per_answer(goal.value, judged.n)
    result = replace(start, low_groundedness=setting, chosen=chosen, cost_change=costs)
    if result.is_advised and start.in_force is not None:
        sentence = _joined(
            _flags_words(chosen, start.in_force, judged.n),
            _cost_words(costs, "changes", judged.n),
            _measured_words(goal, chosen, other.labels),
            verdicts_words(sample, setting, start.query_type),
        )
    elif result.is_costlier:
        sentence = (
            f"These labels do not show that another threshold is cheaper than the one in force, {today}. The cheapest "
            f"one on one half of them, {setting:g}, costs more on the other half. "
            f"{_cost_words(costs, 'would change', judged.n)} Of the {counted(int((~judged.flagged).sum()), 'answer')} "
            f"that it does not flag, {int((~sample.labels_of(start.query_type).flagged).sum()):,} have a label: with "
            "more labels of these, a threshold that flags more may be shown to be cheaper."
        )
    else:
        sentence = _joined(
            f"These labels do not show that another threshold is cheaper than the one in force, {today}. The cheapest "
            f"one on one half of them is {setting:g}, and the other half does not show that it is cheaper.",
            _cost_words(costs, "would change", judged.n),
            labels_between_words(sample, threshold, 1 / goal.value, start.query_type),
        )
    return replace(result, sentence=sentence)


def _cost_words(costs: Estimate, changes: str, answers: int) -> str:
    """Return the change of the cost in all ``answers``, or why it is not available."""
    if costs.value is None or costs.low is None or costs.high is None:
        return f"The change of the cost is not available: {costs.reason}."
    ends = f"95 % CI {costs.low:+.3f} to {costs.high:+.3f}, n = {counted(costs.n, 'label')}"
    return f"In all {counted(answers, 'answer')}, the cost per answer {changes} by {costs.value:+.3f} reviews ({ends})."


def setting_of(threshold: float, badness: FloatArray) -> float:
    """Return the value of the setting low_groundedness that flags answers from this badness on.

    It has the fewest decimals, at most six, with which it flags the same of all answers, whose ``badness`` this is.
    """
    highest = round(1 - threshold, DECIMALS)  # groundedness of the answers that are just flagged
    others = badness[badness < threshold]
    next_higher = round(1 - float(others.max()), DECIMALS) if len(others) else 1.0
    for decimals in range(1, _MOST_DECIMALS):
        steps = 10.0**decimals
        setting = (math.floor(highest * steps + 1e-9) + 1) / steps
        if setting <= next_higher:
            return setting
    steps = 10.0**_MOST_DECIMALS
    return (math.floor(highest * steps + 1e-3) + 1) / steps


def verdicts_words(sample: ScoredSample, low_groundedness: float, query_type: str | None) -> str:
    """Return how the agreement with people changes if this threshold also decides the judge's verdicts, else ""."""
    labels, threshold = sample.labels_of(query_type), float(flag_from(low_groundedness))
    verdicts = labels.badness >= threshold
    if not sample.decides_verdicts or np.array_equal(verdicts, labels.judged_bad):
        return ""
    words = f"{sample.title} gives no label, so this threshold also decides its verdicts"
    figures = ThresholdFigures(labels, sample.judged.of_type(query_type))
    now, then = (figures.in_all_answers(each)["agreement"] for each in (labels.judged_bad, verdicts))
    if now.value is None or then.value is None:
        return f"{words}."
    before, after = percent(now.value), percent(then.value)
    change = f"stay at {after}" if before == after else f"change from {before} to {after}"
    return f"{words}: agreement with people would {change}."


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


def _joined(*sentences: str) -> str:
    return " ".join(filter(None, sentences))


def _flags_words(chosen: AtThreshold, in_force: AtThreshold, judged: int, purpose: str = "") -> str:
    """Return the threshold and its number of flags beside today's; both are exact. It may begin with its purpose."""
    is_as_today = not chosen.change.flags and chosen.flags == in_force.flags
    today = ", as today" if is_as_today else f" instead of {in_force.flags:,}"
    of_all = f"{chosen.flags:,} of {counted(judged, 'answer')}"
    flag = f"{purpose}, flag" if purpose else "Flag"
    return f"{flag} answers with groundedness below {chosen.low_groundedness:g}: {of_all}{today}."


def _is_shown(share: Estimate) -> bool:
    """Return whether a share is known well enough for a sentence."""
    return share.low is not None and share.high is not None and share.high - share.low <= _WIDEST


def _measured_words(goal: Goal, chosen: AtThreshold, other: ScoredLabels) -> str:
    """Return recall and precision on the labels that were not used to choose; without those that are not known well."""
    shares = (
        (chosen.recall, "bad answers", "were flagged"),
        (chosen.precision, "flagged answers", "were bad"),
        *([(_figure(goal, chosen), "unflagged answers", "were good")] if goal.aim == "false_omission" else []),
    )
    weighted = ", weighted" if np.ptp(other.weights) else ""
    words = []
    for share, things, verb in shares:
        if not _is_shown(share):
            continue
        how_many = f"{percent_words(share)} of the {things} (n = {share.n:,}{weighted})"
        words.append(f"all {counted(share.n, things[:-1])} {verb}" if share.value == 1 else f"{how_many} {verb}")
    n = chosen.flagged.n
    if not words:
        return f"The {counted(n, 'label')} that were not used to choose it are too few to measure it."
    return f"Of {counted(n, 'label')} that were not used to choose it, {'; '.join(words)}."


def _more_labels(goal: Goal, delta: float, sample: ScoredSample, query_type: str | None, now: str) -> str:
    """Return why no threshold reaches the goal, and what to label. Only labels with equal chances count."""
    labels, judged = sample.labels_of(query_type), sample.judged.of_type(query_type)
    of_goal = labels.at(_rows(goal, labels))
    strata = np.array([each.labelled > 0 for each in sample.counts], dtype=np.bool_)
    if goal.aim in _OF_SELECTED:
        strata = np.isin(np.arange(len(sample.counts)), judged.strata[_selected(goal, judged.rule_badness, 0.5)])
        called = "good" if goal.aim == "false_omission" else "bad"
        counting, things = (
            of_goal.at(sample.with_equal_chances(of_goal, strata)),
            f"answers that the judge calls {called}",
        )
    else:
        counting, things = of_goal.at(of_goal.by_lot), "bad answers"
    half = counting.at(counting.choosing)
    needed = math.ceil(labels_to_pass(goal.risk, delta) * design_effect_of_mean(half.wrong, half.grouping))
    if half.n >= needed:
        by = f"by the {counted(half.n, 'label')} that choose"
        none = f"No threshold is shown to reach a {goal.words} {by}; one may exist."
        return _joined(none, now and f"Today, {now}.")
    more = labels_missing(needed, half.n, counting.n)
    answers = answers_to_sample(sample, of_goal, more, strata, query_type)
    another = f"Another threshold may reach a {goal.words}"
    words = more_labels_words(sample, another, things, of_goal.n, counting.n, more, answers)
    return _joined(now and f"Today, {now}.", words)


def _curve(grid: FloatArray, figures: ThresholdFigures) -> Iterator[AtThreshold]:
    for threshold in grid[np.unique(np.linspace(0, len(grid) - 1, CURVE).astype(np.int64))].tolist():
        yield figures.at(setting_of(threshold, figures.judged.badness), threshold)

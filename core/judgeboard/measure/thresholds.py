"""Thresholds of flags that reach a goal, and what they change in the queue; the confidence that needs no review."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Literal, get_args

import numpy as np
from sqlalchemy import Connection

from judgeboard.domain import Estimate
from judgeboard.errors import BadInput, check_known
from judgeboard.flags.rule import HALF_STEP
from judgeboard.measure.more_labels import (
    answers_for_intervals,
    answers_to_sample,
    labels_between,
    labels_missing,
    queue_note,
)
from judgeboard.measure.notes import Note, note
from judgeboard.measure.result import ALL, About, Result, Row, without_zeros
from judgeboard.measure.samples import scored_version
from judgeboard.measure.scored_labels import (
    DECIMALS,
    JudgedScores,
    ScoredLabels,
    ScoredSample,
    allowed_risk,
    confidence,
    flag_from,
    load_sample,
)
from judgeboard.measure.threshold_figures import AtThreshold, ThresholdFigures
from judgeboard.stats.arrays import BoolArray, FloatArray
from judgeboard.stats.estimates import Z, complement, percent_as_given
from judgeboard.stats.proportions import share
from judgeboard.stats.rates import FEWEST_OF_RARER
from judgeboard.stats.sample_size import design_effect_of_mean
from judgeboard.stats.thresholds import (
    DELTA,
    FEWEST_FLAGGED,
    STARTS,
    Passed,
    cheapest_threshold,
    confidence_threshold,
    labels_to_pass,
    lowest_passing,
    recall_threshold,
    score_grid,
)
from judgeboard.store.judge_versions import get_version

Aim = Literal["recall", "precision", "false_omission", "cost"]
AIMS: tuple[Aim, ...] = get_args(Aim)
_OF_SELECTED = (
    "precision",
    "false_omission",
)  # goals that count the answers with a flag, or those without

MOST_COST = 1_000_000  # reviews
CURVE = 20  # thresholds of the trade-off curve
_MOST_DECIMALS = 6  # of a threshold


@dataclass(frozen=True, slots=True)
class Goal:
    """What a threshold has to reach: a ``recall`` or ``precision`` (0 to 1), or the lowest mean ``cost``.

    ``value`` is the recall, the precision, the largest ``false_omission`` rate (the share of bad
    answers among the answers without a flag), or the cost of a missed bad answer in reviews.
    ``delta`` is the share of sets of labels for which the goal may be missed. Raises BadInput for a
    value out of range.
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


CHOSEN = "chosen"
"""The slice of the threshold that one half of the labels chose, measured on the other half."""
HELD_OUT = "in force, other half"
"""The slice of the threshold in force, measured on the same labels as the chosen one."""
IN_FORCE = "in force"
"""The slice of the threshold in force, measured on all labels as by `judgeboard labels rate`."""

ADVISED = frozenset({"threshold_change", "threshold_keep_or_change", "threshold_cheaper"})
"""The headlines of results that advise the chosen threshold."""
KEPT = frozenset({"threshold_keep", "threshold_cheapest"})
"""The headlines of results that advise the threshold in force alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ThresholdResult(Result):
    """A threshold beside the one in force. ``curve``: what twenty thresholds do on all labels, fewest flags first."""

    curve: tuple[AtThreshold, ...] = ()


def advised_setting(result: Result) -> float | None:
    """Return the value that a result advises for the setting low_groundedness; None if no change is advised."""
    return (
        result.figure("low_groundedness", CHOSEN).value if result.headline.code in ADVISED else None
    )


def measure_threshold(
    connection: Connection,
    goal: Goal,
    *,
    by_query_type: bool = False,
    judge_version: int | str | None = None,
) -> tuple[ThresholdResult, ...]:
    """Return the threshold on groundedness that reaches a goal, with its figures; ``by_query_type``, one for each type.

    Half of the evidence groups chooses the threshold, the other half reports. The slices of a
    result are `CHOSEN`, `HELD_OUT` and `IN_FORCE`; the headline says whether to keep the threshold
    in force. ``judge_version`` is by default the primary judge's newest. Raises NotFound without a
    judge or without scores.
    """
    sample = load_sample(connection, [scored_version(connection, judge_version)], flags=True)
    return threshold_result(sample, goal, by_query_type=by_query_type)


def threshold_result(
    sample: ScoredSample, goal: Goal, *, by_query_type: bool = False
) -> tuple[ThresholdResult, ...]:
    """Return the same as `measure_threshold` from a sample that was loaded with ``flags``."""
    types: list[str | None] = [None]
    if by_query_type:
        types = sorted(np.unique(sample.judged.query_types.names).tolist())
    left_out = sample.left_out
    if goal.aim in _OF_SELECTED:
        # Labels that count at no threshold: such answers had a higher chance to be labelled.
        unused = 0
        for query_type in types:
            labels, scores = sample.labels.of_type(query_type), sample.judged.of_type(query_type)
            is_counted = np.zeros(labels.n, dtype=np.bool_)
            grid = score_grid(scores.badness)
            for _, strata in _strata_selected(goal, grid, scores, len(sample.answers)):
                is_counted |= sample.with_equal_chances(labels, strata)
            unused += int((~is_counted).sum())
        left_out = without_zeros(left_out | {"more_often_labelled": unused})
    # Several goals are reached together if each may be missed less often.
    goal = replace(goal, delta=goal.delta / len(types))
    return tuple(_chosen(sample, goal, query_type, left_out) for query_type in types)


def replayed(
    sample: ScoredSample, low_groundedness: float, query_type: str | None = None
) -> AtThreshold:
    """Return the effect of a threshold for a query type (None: all) on the stored answers, measured on all labels."""
    threshold = float(flag_from(low_groundedness))
    figures = ThresholdFigures(sample.labels.of_type(query_type), sample.judged.of_type(query_type))
    return figures.at(low_groundedness, threshold)


def _chosen(
    sample: ScoredSample, goal: Goal, query_type: str | None, left_out: Mapping[str, int]
) -> ThresholdResult:
    labels, scores = sample.labels.of_type(query_type), sample.judged.of_type(query_type)
    choosing = labels.choosing
    # A precision is tested on labels with equal chances among the answers at or above a threshold,
    # a false omission rate on labels with equal chances among the answers below.
    half = labels.at(choosing if goal.aim in _OF_SELECTED else choosing & labels.by_lot)
    of_all = ThresholdFigures(labels, scores)
    other = ThresholdFigures(labels.at(~choosing), scores, scores.at(~scores.choosing))
    about = About(
        judges=(sample.title,),
        grade="groundedness",
        where={} if query_type is None else {"query_type": query_type},
        by="threshold",
        counts={
            "judged": scores.n,
            "labels": labels.n,
            "other_half": other.labels.n,
            "choosing": half.n,
            "choosing_bad": int(half.bad.sum()),
        },
        left_out=left_out,
    )
    if sample.gap is not None:
        return ThresholdResult(
            about=about,
            headline=note("not_available", why=sample.gap.missing),
            rows=(),
            next=(sample.gap.next_note,),
        )
    if not labels.bad.any() or not half.n:
        code = "threshold_no_label_chooses" if labels.bad.any() else "threshold_no_bad_label"
        return ThresholdResult(about=about, headline=note(code), rows=())
    in_force = of_all.in_force(sample.cuts.of(query_type or ""), sample.cuts)
    held_out = other.of_flags(
        in_force.low_groundedness, other.labels.flagged, scores.flagged, in_force.excused
    )
    rows = [*held_out.rows(HELD_OUT), *in_force.rows(IN_FORCE)]
    caveats = _caveats(sample, in_force)
    if of_all.missing:
        caveats.append(note("threshold_part_too_small", labels=of_all.missing))
    places = score_grid(scores.badness)
    places = places[np.unique(np.linspace(0, len(places) - 1, CURVE).astype(np.int64))]
    result = ThresholdResult(
        about=about,
        headline=note("threshold_cheapest", now=_today(sample, query_type)),
        rows=tuple(rows),
        curve=tuple(of_all.at(setting_of(each, scores.badness), each) for each in places.tolist()),
    )
    # A cost has no sequence of tests, so the scores of all types count. No setting flags a
    # groundedness of 1.
    grid = score_grid(sample.judged.badness if goal.aim == "cost" else scores.badness)
    # The threshold in force is tested too. Otherwise another threshold with nearly the same flags
    # could replace it.
    grid = np.union1d(grid, np.sort(scores.badness[scores.flagged])[:1])[::-1]
    grid = grid[grid > HALF_STEP]
    if goal.aim == "cost":
        threshold = cheapest_threshold(grid, half.rule_badness, half.bad, goal.value)
        return _cheapest(
            goal, replace(result, caveats=tuple(caveats)), threshold, other, sample, query_type
        )
    if goal.aim in _OF_SELECTED:
        test = _test_of_selected(goal, grid, sample, half, scores)
    else:
        recall = {
            "risk": goal.risk,
            "delta": goal.delta,
            "design_effect": _design_effect(goal, half),
        }
        test = recall_threshold(grid, half.rule_badness[half.bad], **recall)
    choice, is_same = None, False
    if test is not None:
        setting = setting_of(test.threshold, scores.badness)
        choice = other.at(setting, test.threshold)
        is_same = np.array_equal(scores.rule_badness >= test.threshold, scores.flagged)
        figures = {
            "tested_badness": test.threshold,
            "tested_wrong": test.wrong,
            "tested_wrong_bound": test.bound,
        }
        of_test = (figures | {"design_effect": test.design_effect}).items()
        rows = [
            *choice.rows(CHOSEN),
            *(Row(name, CHOSEN, value, n=test.n) for name, value in of_test),
            *rows,
        ]
    code = decision(goal, in_force, held_out, choice, is_same=is_same)
    next_steps: tuple[Note, ...] = ()
    if code == "threshold_not_shown":
        headline, next_steps = _more_labels(goal, sample, query_type, caveats)
    else:
        values = {} if code == "threshold_change" else {"now": _today(sample, query_type)}
        if choice is not None and code in ADVISED:
            values["below"] = f"{choice.low_groundedness:g}"
            caveats += _caveats_of_change(
                sample, choice, query_type, _figure(goal, choice), goal.least
            )
        headline = note(code, confidence=1 - goal.delta, **values)
    if of_all.missing and not next_steps and query_type is None:
        next_steps = (queue_note(sample, answers_for_intervals(sample)),)
    return replace(
        result, headline=headline, rows=tuple(rows), caveats=tuple(caveats), next=next_steps
    )


def _caveats(sample: ScoredSample, in_force: AtThreshold) -> list[Note]:
    caveats = []
    if not sample.decides_verdicts and not np.array_equal(
        sample.labels.judged_bad, sample.labels.flagged
    ):
        caveats.append(note("threshold_label_differs"))
    if in_force.excused:
        caveats.append(note("threshold_excused", n=in_force.excused, excuses=sample.excuses))
    return caveats


def _caveats_of_change(
    sample: ScoredSample,
    choice: AtThreshold,
    query_type: str | None,
    figure: Estimate,
    least: float,
) -> Iterator[Note]:
    if figure.high is not None and figure.high < least:
        yield note("threshold_halves_differ", share=figure)
    if (verdicts := verdicts_note(sample, choice.low_groundedness, query_type)) is not None:
        yield verdicts


def _today(sample: ScoredSample, query_type: str | None) -> str:
    """Return the threshold in force for a query type, or all thresholds for None: "0.5 (sql: 0.62)"."""
    return sample.cuts.words if query_type is None else f"{sample.cuts.of(query_type):g}"


def _figure(goal: Goal, at: AtThreshold) -> Estimate:
    """Return the share of right verdicts on which a goal is set."""
    if goal.aim == "false_omission":
        return complement(at.false_omission)
    return at.recall if goal.aim == "recall" else at.precision


def decision(
    goal: Goal,
    in_force: AtThreshold,
    held_out: AtThreshold,
    choice: AtThreshold | None,
    *,
    is_same: bool = False,
) -> str:
    """Return the headline of a goal that tests decide: whether to keep the threshold in force.

    No label chose the threshold in force, so all labels measure that threshold. If all labels are
    enough but show no error, the other half measures. If the threshold in force reaches the goal,
    only a threshold with fewer flags for a recall, or more for a precision, is better. ``is_same``:
    the chosen threshold flags the same answers.
    """
    figure, on_other = _figure(goal, in_force), _figure(goal, held_out)
    is_without_error = figure.low is None and figure.value == 1 and figure.n >= FEWEST_OF_RARER
    shown = on_other if is_without_error and on_other.low is not None else figure
    # The one-sided lower bound at the confidence of the goal, from the 95 % interval on the logit
    # scale, which excludes 0 and 1.
    low = None
    if shown.low is not None and shown.value is not None:
        times = NormalDist().inv_cdf(1 - goal.delta) / Z
        if 0 < shown.low < shown.value < 1:
            ends = [math.log(share / (1 - share)) for share in (shown.value, shown.low)]
            low = 1 / (1 + math.exp(times * (ends[0] - ends[1]) - ends[0]))
        elif times <= 1:
            low = shown.low
    reaches = is_same or (low is not None and low >= goal.least)
    if choice is None:
        return "threshold_keep" if reaches else "threshold_not_shown"
    has_fewer = choice.flags < in_force.flags
    is_better = not is_same and has_fewer == (goal.aim != "precision")
    if reaches:
        return "threshold_keep_or_change" if is_better else "threshold_keep"
    return "threshold_change"


def _test_of_selected(
    goal: Goal, grid: FloatArray, sample: ScoredSample, half: ScoredLabels, scores: JudgedScores
) -> Passed | None:
    """Return the threshold with the precision or the false omission rate.

    At each threshold, a label counts if it had an equal chance among the answers at or above the
    threshold (for a false omission rate: below). If all flagged answers are labelled, all these
    labels count as long as no other answer is at or above the threshold. The first test is of the
    most flagged answers alone, or of the least.
    """
    sign = -1 if goal.aim == "false_omission" else 1
    if sign < 0:
        grid = grid[::-1]
    at_thresholds: list[tuple[int, int, float]] = []
    labels = half
    effect, before = 1.0, np.zeros(len(sample.answers), dtype=np.bool_)
    for threshold, strata in _strata_selected(goal, grid, scores, len(sample.answers)):
        if not np.array_equal(strata, before):
            labels = half.at(sample.with_equal_chances(half, strata))
            effect, before = _design_effect(goal, labels), strata
        is_selected = _selected(goal, labels.rule_badness, threshold)
        wrong = labels.bad if sign < 0 else ~labels.bad
        at_thresholds.append((int(is_selected.sum()), int((is_selected & wrong).sum()), effect))
    test = lowest_passing(
        sign * grid, at_thresholds, risk=goal.risk, delta=goal.delta, fewest=FEWEST_FLAGGED
    )
    return None if test is None else replace(test, threshold=sign * test.threshold)


def _selected(goal: Goal, badness: FloatArray, threshold: float) -> BoolArray:
    """Return the answers that a goal counts at a threshold: the answers with a flag, or those without."""
    return badness < threshold if goal.aim == "false_omission" else badness >= threshold


def _strata_selected(
    goal: Goal, grid: FloatArray, scores: JudgedScores, count: int
) -> Iterator[tuple[float, BoolArray]]:
    """Yield each threshold with the strata that have answers which the goal counts."""
    is_of_unflagged = goal.aim == "false_omission"
    extreme = np.full(count, np.inf if is_of_unflagged else -np.inf)
    (np.minimum if is_of_unflagged else np.maximum).at(extreme, scores.strata, scores.rule_badness)
    for threshold in grid.tolist():
        yield threshold, _selected(goal, extreme, threshold)


def _rows(goal: Goal, labels: ScoredLabels) -> BoolArray:
    """Return the labels that a goal counts: of bad answers for a recall, otherwise of answers judged bad or good."""
    if goal.aim == "false_omission":
        return ~labels.judged_bad
    return labels.bad if goal.aim == "recall" else labels.judged_bad


def _design_effect(goal: Goal, half: ScoredLabels) -> float:
    rows = half.at(_rows(goal, half))
    return design_effect_of_mean(rows.wrong, rows.grouping)


def _cheapest(
    goal: Goal,
    result: ThresholdResult,
    threshold: float,
    other: ThresholdFigures,
    sample: ScoredSample,
    query_type: str | None,
) -> ThresholdResult:
    """Return the cheapest ``threshold`` of one half of the labels, and whether the ``other`` half confirms it."""
    scores = other.judged
    if np.array_equal(scores.rule_badness >= threshold, scores.flagged):
        return result
    setting = setting_of(threshold, scores.badness)
    choice = other.at(setting, threshold)
    cost = choice.change.cost_per_answer(goal.value, scores.n)
    code, caveats = cost_decision(cost), list(result.caveats)
    next_steps: tuple[Note, ...] = ()
    if code == "threshold_cheaper":
        caveats += _caveats_of_change(sample, choice, query_type, cost, -math.inf)
    elif code == "threshold_cost_not_shown":
        next_steps = tuple(labels_between(sample, threshold, 1 / goal.value, query_type))
    return replace(
        result,
        headline=note(code, below=f"{setting:g}", now=_today(sample, query_type), cost=cost),
        rows=(*choice.rows(CHOSEN), Row.of("cost_change", CHOSEN, cost), *result.rows),
        caveats=tuple(caveats),
        next=next_steps,
    )


def cost_decision(change: Estimate) -> str:
    """Return the headline for the change of the cost by the threshold that one half of the labels found cheapest."""
    if change.high is not None and change.high < 0:
        return "threshold_cheaper"
    return (
        "threshold_costs_more"
        if change.low is not None and change.low > 0
        else "threshold_cost_not_shown"
    )


def setting_of(threshold: float, badness: FloatArray) -> float:
    """Return the value of the setting low_groundedness that flags answers from this badness on.

    The value has the fewest decimals, at most six, that flag the same answers. ``badness`` has one
    entry for each of all answers.
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


def verdicts_note(
    sample: ScoredSample, low_groundedness: float, query_type: str | None
) -> Note | None:
    """Return how the agreement with people changes if this threshold also decides the judge's verdicts, else None."""
    labels, threshold = sample.labels.of_type(query_type), float(flag_from(low_groundedness))
    verdicts = labels.badness >= threshold
    if not sample.decides_verdicts or np.array_equal(verdicts, labels.judged_bad):
        return None
    figures = ThresholdFigures(labels, sample.judged.of_type(query_type))
    before, after = (
        figures.in_all_answers(each)["agreement"] for each in (labels.judged_bad, verdicts)
    )
    return note("threshold_decides_verdicts", before=before, after=after)


def _more_labels(
    goal: Goal, sample: ScoredSample, query_type: str | None, caveats: list[Note]
) -> tuple[Note, tuple[Note, ...]]:
    """Return that no threshold is shown to reach the goal, and what to label. Only labels with equal chances count."""
    labels, scores = sample.labels.of_type(query_type), sample.judged.of_type(query_type)
    of_goal, things = labels.at(_rows(goal, labels)), "bad answers"
    strata = sample.labelled > 0
    if goal.aim in _OF_SELECTED:
        strata = np.isin(
            np.arange(len(sample.answers)), scores.strata[_selected(goal, scores.rule_badness, 0.5)]
        )
        things = f"answers that the judge calls {'good' if goal.aim == 'false_omission' else 'bad'}"
        counting = of_goal.at(sample.with_equal_chances(of_goal, strata))
    else:
        counting = of_goal.at(of_goal.by_lot)
    if counting.n < of_goal.n:
        caveats.append(note("uneven_labels", counting=counting.n, labels=of_goal.n, things=things))
    half = counting.at(counting.choosing)
    least = math.ceil(
        labels_to_pass(goal.risk, goal.delta) * design_effect_of_mean(half.wrong, half.grouping)
    )
    if half.n >= least:
        return note("threshold_not_shown", goal=goal.words, n=half.n), ()
    more = labels_missing(least, half.n, counting.n)
    answers = answers_to_sample(sample, of_goal, more, strata, query_type)
    next_step = queue_note(sample, answers)
    if answers is None:
        next_step = note("log_more_of", more=more, things=things, counting=counting.n)
    return note("threshold_few_labels", goal=goal.words), (next_step,)


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

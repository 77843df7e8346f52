"""Simulated logs, and every statistic with an interval on them; ``interval_coverage.py`` measures what they cover."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import permutations
from statistics import NormalDist

import numpy as np

from judgeboard.domain import Estimate
from judgeboard.measure.threshold_figures import QueueChange
from judgeboard.stats.alternative_annotator import alternative_annotator_test
from judgeboard.stats.anchors import flip_rate
from judgeboard.stats.arrays import FloatArray, Grouping, IntArray, grouping
from judgeboard.stats.chance_corrected import ranking_agreement, set_alpha, span_f1
from judgeboard.stats.correlation import correlation_within, slope
from judgeboard.stats.intervals import mean_estimate, share_intervals
from judgeboard.stats.means import (
    difference_of_means,
    mean_change,
    mean_interval,
    mean_paired_change,
    median,
)
from judgeboard.stats.pair_orders import NONE, OrderVerdicts
from judgeboard.stats.pair_statistics import STATISTICS, pair_statistics
from judgeboard.stats.paired import changes_by_class, paired_shares
from judgeboard.stats.proportions import (
    RatioSums,
    anchoring,
    half_credit,
    level_use,
    ratio_of_totals,
    share,
    superiority,
)
from judgeboard.stats.rater_agreement import agreement_beyond_people
from judgeboard.stats.rates import (
    app_effect,
    judge_alone,
    predicted_mean,
    rate,
    rogan_gladen,
    strata_of,
    summed,
    weighted_agreement,
)
from judgeboard.stats.ratings import GROUNDEDNESS, LABEL, PREFERENCE, QUALITY, Ratings
from judgeboard.stats.repeats import repeated_measures

RATERS = ("first", "second", "third")
MISSING = 0.2  # share of ratings that are missing


@dataclass(frozen=True, slots=True)
class World:
    """A simulated log: ``n`` answers in groups of ``size``; a share ``bad`` of them bad, as far apart as ``apart``.

    Answers of a group correlate with ``within``. Scores are rounded to ``levels`` (0: not rounded),
    so that there are ties.
    """

    n: int
    bad: float
    apart: float
    size: int = 1
    within: float = 0.0
    levels: int = 0


WORLDS: Mapping[str, World] = {
    "few": World(40, 0.3, 1.5),
    "rare": World(150, 0.05, 1.5),
    "extreme": World(120, 0.3, 3.0),
    "grouped": World(240, 0.3, 1.5, size=6, within=0.4),
    "recurring": World(300, 0.3, 1.5, size=15, within=0.3),
    "ties": World(150, 0.4, 1.0, levels=5),
}
"""The settings of every statistic, fixed before any was run."""


def world_scores(
    world: World, n: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray, IntArray]:
    """Return the groundedness by people and by the judge, 0 to 1, and the evidence groups of ``n`` answers."""
    groups = np.arange(n) // world.size

    def noise() -> FloatArray:
        common = rng.standard_normal(groups[-1] + 1)[groups]
        noisy: FloatArray = math.sqrt(world.within) * common + math.sqrt(
            1 - world.within
        ) * rng.standard_normal(n)
        return noisy

    people = noise()
    judge = (world.apart * people + noise()) / math.hypot(world.apart, 1)
    cut = NormalDist().inv_cdf(world.bad)
    scores = [
        1 / (1 + np.exp(-(each - cut))) for each in (people, judge)
    ]  # below 0.5 with the share ``bad``
    if world.levels:
        scores = [
            np.round(each * world.levels) / world.levels - 1e-6 * (each < 0.5) for each in scores
        ]
    return np.clip(scores[0], 0, 1), np.clip(scores[1], 0, 1), groups


def world_estimates(
    world: World, n: int, rng: np.random.Generator, resamples: int
) -> Iterator[tuple[str, Estimate]]:
    """Yield every statistic of a judge and people on one log of the world, by grade and name."""
    people, judge, codes = world_scores(world, n, rng)
    groups = grouping(codes, n)
    names = np.array(LABEL.categories)
    bad = LABEL.categories.index("hallucinated") if LABEL.categories else 0
    labels = [names[np.where(each < 0.5, bad, 1 - bad)] for each in (judge, people)]
    qualities = [np.digitize(each, (0.25, 0.5, 0.75)) + 1 for each in (judge, people)]
    for scale, (of_judge, of_people) in (
        (LABEL, labels),
        (QUALITY, qualities),
        (GROUNDEDNESS, (judge, people)),
    ):
        scores = judge if scale is LABEL else None
        figures = pair_statistics(
            of_judge, of_people, scale, groups, scores=scores, resamples=resamples
        )
        yield from (
            (f"{scale.grade} {name}", estimate) for name, estimate in figures.estimates.items()
        )
    yield from _raters(people, judge, groups, rng)
    yield from _rates(people, judge, groups, rng)
    yield from _repeats(judge, groups, rng)
    yield from _pairs(people, judge, groups, rng)
    yield from _fields(people, judge, groups, rng)
    yield from _versions(people, judge, groups, rng)
    yield from _health(people, judge, groups, rng)


NOT_SIMULATED = {
    *(
        "accuracy",
        "missed",
        "false_alarms",
        "alpha",
    ),  # other names, or complements, of simulated ones
}
"""Statistics that no simulation here has: a new statistic is simulated, or named here with the reason."""


def _raters(
    people: FloatArray, judge: FloatArray, groups: Grouping, rng: np.random.Generator
) -> Iterator[tuple[str, Estimate]]:
    """Yield every statistic of three raters, of whom a fifth of the ratings is missing."""
    third = np.clip(people + rng.normal(0, 0.15, len(people)), 0, 1)
    scores = np.stack([people, judge, third], axis=1)
    is_rated = rng.random(scores.shape) >= MISSING
    for scale in (LABEL, QUALITY, GROUNDEDNESS):
        values = (
            (scores < 0.5).astype(np.float64)
            if scale is LABEL
            else np.digitize(scores, (0.25, 0.5, 0.75)).astype(np.float64)
            if scale is QUALITY
            else scores
        )
        ratings = Ratings(np.where(is_rated, values, np.nan), RATERS, scale, groups)
        for name, row in STATISTICS.items():
            if row.of_raters is not None and row.applies(scale):
                yield f"raters, {scale.grade} {name}", row.of_raters(ratings)


def _rates(
    people: FloatArray, judge: FloatArray, groups: Grouping, rng: np.random.Generator
) -> Iterator[tuple[str, Estimate]]:
    """Yield the rates of the app, from the verdicts on all answers and the labels of a random half of them."""
    n = len(people)
    values, strata = (people < 0.5).astype(np.float64), (judge < 0.5).astype(np.int64)
    labelled = rng.random(n) < 0.5
    population, labels = summed(strata, 1 - judge, groups.codes, 2, labelled, values[labelled])
    yield "rate", rate(strata_of(population, labels), "app", app_effect(population, labels))
    yield "predicted share", predicted_mean(population, labels, share=True)
    of_people = summed(
        np.zeros(n, dtype=np.int64), judge, groups.codes, 1, labelled, people[labelled]
    )
    yield "predicted mean", predicted_mean(*of_people, share=False)
    verdicts = strata[labelled].astype(np.float64)
    yield from (
        (f"in all answers: {name}", each)
        for name, each in weighted_agreement(population, labels, verdicts).items()
    )
    yield "share of a group", share(values == 1, groups)
    yield "mean by group", mean_estimate(people, groups)
    of_strata: IntArray = np.bincount(strata, minlength=2).astype(np.int64)
    hits = of_strata * np.array([0, 1], dtype=np.int64), of_strata
    scored = np.ones(2, dtype=np.bool_)
    yield "judge alone, share", judge_alone(population, scored, hits, None, "app")
    yield "judge alone, mean", judge_alone(population, scored, None, "the logit", "app")
    halves = np.arange(n) < n // 2 // rows_per_group(groups) * rows_per_group(groups)
    judged_bad = [0.0, 1.0]
    effect = app_effect(population, labels)
    yield "judge's error", rate(strata_of(population, labels), "app", effect, judged_bad)
    independent = np.arange(n) % rows_per_group(groups) == 0
    errors = _error_counts(*(each[~halves & independent] for each in (values, strata)))
    yield (
        "Rogan-Gladen",
        rogan_gladen(
            int(strata[halves & independent].sum()), int((halves & independent).sum()), **errors
        ),
    )


def rows_per_group(groups: Grouping) -> int:
    """Return the number of rows of each group."""
    return len(groups.codes) // groups.count


def _error_counts(bad: FloatArray, judged_bad: IntArray) -> dict[str, int]:
    """Return bad answers and those found, good answers and those passed."""
    rows = {
        "bad": bad,
        "found": bad * judged_bad,
        "good": 1 - bad,
        "passed": (1 - bad) * (1 - judged_bad),
    }
    return {name: int(each.sum()) for name, each in rows.items()}


def _repeats(
    judge: FloatArray, groups: Grouping, rng: np.random.Generator
) -> Iterator[tuple[str, Estimate]]:
    """Yield the statistics of a judge that was asked three times."""
    scores = np.clip(judge[:, None] + rng.normal(0, 0.05, (len(judge), 3)), 0, 1)
    items = [
        {place: {"label": float(each < 0.5), "score": each} for place, each in enumerate(row)}
        for row in scores
    ]
    for measure in repeated_measures(items, groups.codes):
        for name in ("self_consistency", "krippendorff_alpha", "icc", "cronbach_alpha", "spread"):
            yield f"repeats, {measure.measure} {name}", getattr(measure, name)


def _sides(scores: FloatArray) -> IntArray:
    """Return the preferred answers: A (0) for low scores, B (1) for high ones, a tie (2) between."""
    return np.where(scores < 0.4, 0, np.where(scores > 0.6, 1, 2))


def _pairs(
    people: FloatArray, judge: FloatArray, groups: Grouping, rng: np.random.Generator
) -> Iterator[tuple[str, Estimate]]:
    """Yield the statistics of pairs in both orders, whose judge leans to the first answer; groups are questions."""
    n = len(people)
    gold = _sides(people)
    sides = [_sides(judge + lean + rng.normal(0, 0.05, n)) for lean in (-0.05, 0.05)]
    ab, ba = (np.where(rng.random(n) < 0.05, NONE, each) for each in sides)
    orders = OrderVerdicts(ab, ba, questions=groups.codes)
    every = np.ones(n, dtype=np.bool_)
    names = np.array(PREFERENCE.categories)
    yield "orders self_consistency", orders.self_consistency()
    yield "orders changed_with_order", orders.changed_with_order()
    yield "orders first_position", orders.first_position()
    yield "orders leans to the first", orders.leans("first")
    yield "orders unusable_verdicts", orders.unusable((every, every))
    yield "orders accuracy of single verdicts", orders.accuracy_of_orders(gold, unknown="none")
    yield "orders accuracy that counts", orders.accuracy(gold, unknown="none")
    for order, verdicts in (("a_first", ab), ("b_first", ba)):
        usable = verdicts != NONE
        figures = pair_statistics(
            names[verdicts[usable]],
            names[gold[usable]],
            PREFERENCE,
            groups.at(usable),
            only=("agreement", "kappa"),
        )
        yield f"pairs accuracy_{order}", figures.estimates["agreement"]
        yield f"pairs kappa_{order}", figures.estimates["kappa"]
    yield "half credit", half_credit(np.array([0, 1, 0.5])[gold], groups)


_CHOICES = tuple(frozenset(bit for bit in range(3) if code >> bit & 1) for code in range(8))
_SPANS = tuple(frozenset(range(length)) for length in range(21))
_ORDERS = tuple(permutations((1, 2, 3)))


def _fields(
    people: FloatArray, judge: FloatArray, groups: Grouping, rng: np.random.Generator
) -> Iterator[tuple[str, Estimate]]:
    """Yield the statistics of fields of a label schema: sets of three choices, marked spans, rankings of three."""
    n = len(people)
    scores = np.stack([people, judge, np.clip(people + rng.normal(0, 0.15, n), 0, 1)], axis=1)
    chosen = scores[:, :, None] + rng.normal(0, 0.1, (n, 3, 3)) + np.linspace(-0.2, 0.2, 3) < 0.5
    sets = [[_CHOICES[code] for code in row] for row in (chosen @ [1, 2, 4]).tolist()]
    yield "fields set_alpha", set_alpha(sets, groups.codes)
    lengths = np.where(scores < 0.5, np.ceil(40 * (0.5 - scores)), 0).astype(np.int64)
    spans = [[_SPANS[length] for length in row] for row in lengths.tolist()]
    yield "fields span_f1", span_f1(spans, groups.codes)
    words = [_SPANS[length] for length in lengths.max(axis=1).tolist()]
    marked = [
        [frozenset((length > word,)) for length in row]
        for row, all_words in zip(lengths.tolist(), words, strict=True)
        for word in sorted(all_words)
    ]
    of_words = np.repeat(groups.codes, lengths.max(axis=1))
    yield "fields word_alpha", set_alpha(marked[:MOST_ROWS], of_words[:MOST_ROWS])
    orders = [
        [_ORDERS[place] for place in row]
        for row in np.minimum(scores * 6, 5).astype(np.int64).tolist()
    ]
    yield (
        "fields ranking_tau",
        ranking_agreement(orders[:MOST_ROWS], [3] * min(n, MOST_ROWS), groups.codes),
    )


MOST_ROWS = 40_000  # of the log whose statistics are the truth


def _versions(
    people: FloatArray, judge: FloatArray, groups: Grouping, rng: np.random.Generator
) -> Iterator[tuple[str, Estimate]]:
    """Yield what compares two versions of a judge, or of an assistant."""
    n = len(people)
    second = np.clip(0.7 * judge + 0.3 * people + rng.normal(0, 0.05, n), 0, 1)
    bad, of_first, of_second = (each < 0.5 for each in (people, judge, second))
    yield (
        "versions, change of the share right",
        paired_shares(of_first == bad, of_second == bad, groups).change,
    )
    for name, each in changes_by_class(of_first, of_second, bad, groups).items():
        yield f"versions, change of {name}", each
    yield "versions, change of the mean", mean_change(judge, second, groups)
    yield "versions, superiority", superiority(second, judge, groups)
    more = (second < 0.6) & ~of_second
    one_flag = QueueChange(1, share(bad[more], groups.at(more)))
    yield "versions, cost of one more flag", one_flag.cost_per_answer(5.0, 1)
    flips = (of_first != of_second)[:: rows_per_group(groups)]
    yield "versions, changed verdicts", flip_rate(int(flips.sum()), len(flips))
    first, other, people_said = (np.where(each, 0.0, 1.0) for each in (of_first, of_second, bad))
    excess = agreement_beyond_people(first, other, people_said, LABEL, groups)
    if excess is not None:
        yield "judges beyond people", excess
    raters = np.stack([people, np.clip(people + rng.normal(0, 0.15, n), 0, 1), second], axis=1)
    ratings = Ratings((raters < 0.5).astype(np.float64), RATERS, LABEL, groups)
    yield (
        "alternative annotator, rho",
        alternative_annotator_test(of_first.astype(np.float64), ratings, 0.2).rho,
    )


def _health(
    people: FloatArray, judge: FloatArray, groups: Grouping, rng: np.random.Generator
) -> Iterator[tuple[str, Estimate]]:
    """Yield the figures of health checks, costs, periods and single lists of values."""
    n = len(people)
    length = np.exp(rng.normal(5, 0.5, n) + judge)
    yield "slope by length", slope(judge, length / 100, groups)
    grades = np.digitize(people, (0.25, 0.5, 0.75))
    yield "correlation with length", correlation_within(judge, length, grades, groups.codes)
    yield "difference of two parts", difference_of_means(people, rng.random(n) < 0.4, groups)
    moved = rng.random(n) < 0.3
    yield "anchoring", anchoring(judge, people, np.where(moved, judge, people), groups)
    # These figures are about independent rows: of each group, they get one.
    people, judge, length = (each[:: rows_per_group(groups)] for each in (people, judge, length))
    n = len(people)
    yield "median", median(people)
    levels = np.bincount(np.digitize(judge, (0.25, 0.5, 0.75)), minlength=4)
    yield "most frequent level", level_use(levels).most
    yield "share of rows", share_intervals(int((people < 0.5).sum()), n)[0]
    yield "mean of rows", mean_interval(n, people.sum(), np.square(people).sum())[0]
    yield "paired change of cases", mean_paired_change(np.round(people - judge, 2))
    upper, lower = 1 + judge, 1 + length / 100
    yield "ratio of totals", ratio_of_totals(_ratio_sums(upper, lower))


def _ratio_sums(upper: FloatArray, lower: FloatArray) -> RatioSums:
    products = (
        float(left @ right) for left, right in ((upper, upper), (lower, lower), (upper, lower))
    )
    return RatioSums(len(upper), float(upper.sum()), float(lower.sum()), *products)

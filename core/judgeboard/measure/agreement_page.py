"""The data of the agreement page: one judge version and grade, all versions on the same answers, flags, weeks."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import attrgetter

import numpy as np
from sqlalchemy import Connection

from judgeboard.domain import Estimate
from judgeboard.flags.rules import RANDOM_SAMPLE
from judgeboard.measure.agreement import agreement_of, weighted_labels
from judgeboard.measure.agreement_notes import nothing_to_compare, other_grades
from judgeboard.measure.agreement_result import (
    COMPLEMENTS,
    AgreementResult,
    answers_words,
    headline_name,
    judge_statistics,
    rows_of,
    slice_of,
)
from judgeboard.measure.all_answers import InAllAnswers, in_all_answers, slices_of_answers
from judgeboard.measure.choice import NO_RULE, AgreementChoice, By, GradeName
from judgeboard.measure.notes import note
from judgeboard.measure.periods import PeriodSums, start_of
from judgeboard.measure.rates import sample_rate
from judgeboard.measure.ratings import AnswerRatings, PairSource, RatingPairs
from judgeboard.measure.result import About, Result, Row
from judgeboard.measure.samples import judging_version, labelled_answers
from judgeboard.stats.arrays import IntArray, among
from judgeboard.stats.estimates import MIN_PAIRS, complement, measured
from judgeboard.stats.intervals import share_intervals
from judgeboard.stats.means import mean_interval
from judgeboard.stats.rates import FEWEST_OF_RARER
from judgeboard.stats.ratings import Human
from judgeboard.store.flags import flag_reviews, outcomes_by_rule
from judgeboard.store.strata import UNUSABLE
from judgeboard.store.tables import StoredVersion
from judgeboard.store.verdict_pairs import WhyCounts, why_counts

COMPARED_BY = (
    "agreement",
    "at_most_one_apart",
    "kappa",
    "weighted_kappa",
    "sensitivity",
    "specificity",
    "spearman",
    "mean_absolute_difference",
    "bias",
)
"""The statistics in the comparison of judge versions."""


def few_of_rarer(grade: str) -> str:
    """Return why the kappa of a week has no interval."""
    if grade == "label":
        return f"people found fewer than {FEWEST_OF_RARER} bad or fewer than {FEWEST_OF_RARER} good answers"
    return (
        f"people gave fewer than {FEWEST_OF_RARER} answers another grade than the most frequent one"
    )


@dataclass(frozen=True, slots=True)
class TimePoint:
    """Agreement on the answers of one week, from UTC day ``start``.

    ``estimate`` is the share of equal labels or qualities, or the mean absolute difference of
    groundedness. ``kappa`` is the (weighted) kappa of the same labels or qualities, with the reason
    if there is no value or no interval.
    """

    start: int
    estimate: Estimate
    segment: int
    kappa: Estimate | None = None


@dataclass(frozen=True, slots=True)
class AgreementPage:
    """One judge version on one grade; ``version`` is None without rating pairs.

    The slices of ``result`` have only the headline statistic; measuring ``choice`` gives all
    statistics.
    """

    grade: GradeName
    version: StoredVersion | None
    choice: AgreementChoice
    result: AgreementResult


@dataclass(frozen=True, slots=True)
class AgreementDetails:
    """The details beside the figures of a judge version: all versions on the same answers, and the weeks.

    ``without_time`` counts answers of no week. ``differing`` counts people's reasons for differing
    from the judge (None if the page has a filter).
    """

    same_answers: Result
    over_time: tuple[TimePoint, ...]
    without_time: int
    differing: WhyCounts | None


@dataclass(frozen=True, slots=True)
class FlagWorth:
    """The flags of one rule.

    ``bad`` is the share of bad answers among the answers that the rule flagged. People
    ``confirmed`` some of the ``decided`` flags. ``minutes`` is the median time of a review.
    """

    rule: str
    bad: Estimate
    confirmed: int
    decided: int
    minutes: float | None


@dataclass(frozen=True, slots=True)
class FlagsWorth:
    """Every rule that flagged an answer, except the random sample, the most labelled first.

    Shares of bad answers are from the labels that count, weighted by stratum, as in a rate:
    ``flagged`` in all answers that a rule flagged, ``not_flagged`` in answers that only the random
    sample drew or that have no flag.
    """

    rules: tuple[FlagWorth, ...]
    flagged: Estimate
    not_flagged: Estimate


def agreement_page(
    source: PairSource,
    *,
    version_id: int | None = None,
    grade: GradeName = "label",
    by: By = "query_type",
) -> AgreementPage:
    """Return the data of the page for a judge version (default: the primary judge's newest with rating pairs)."""
    ratings = AnswerRatings(source, grade)
    page_version = next(
        (version for version in ratings.versions if version_id in {None, version.id}), None
    )
    versions = () if page_version is None else (page_version.id,)
    choice = AgreementChoice(judge_versions=versions, grade=grade, counted=source.counted, by=by)
    if page_version is None:
        result = AgreementResult(
            of="judge",
            unit="responses",
            about=About(grade=grade),
            headline=nothing_to_compare(source, None, grade),
            rows=rows_of(0, {}),
            next=tuple(other_grades(source.reviews, grade, source.counted.reviewer_id)),
        )
    else:
        result = agreement_of(
            source.connection, choice, ratings, of_slices=(headline_name(ratings.scale),)
        )
    return AgreementPage(grade, page_version, choice, result)


def agreement_details(source: PairSource, page: AgreementPage) -> AgreementDetails:
    """Return the details beside the figures of the page's judge version."""
    ratings, page_version = AnswerRatings(source, page.grade), page.version
    if page_version is None:
        return AgreementDetails(same_answers(ratings, ratings.versions), (), 0, None)
    pairs = source.pairs(page_version.id, page.grade)
    with_time = pairs.at(pairs.days >= 0)
    reasons = why_counts(source.connection) if source.matching is None else []
    return AgreementDetails(
        same_answers(
            ratings, sorted(ratings.versions, key=lambda version: version != page_version)
        ),
        over_time(with_time, source.counted.human),
        pairs.n - with_time.n,
        next((each for each in reasons if each.version_id == page_version.id), None),
    )


def same_answers(ratings: AnswerRatings, versions: Sequence[StoredVersion]) -> Result:
    """Return the agreement of judge versions, each a slice, on the answers that all of them judged.

    The rows have the ``COMPARED_BY`` statistics and, for labels, the complements of sensitivity and
    specificity. If labels came by known chances, the rows describe all ``answers`` that each
    version judged. ``about.counts`` has the number of answers that every version and people graded.

    The first version is included, then versions by the number of answers shared with the first. A
    version with few verdicts must not remove most answers. Such a version is left out if the others
    have more verdicts in total without this version, or if fewer than ten answers would be left.
    """
    pairs = {version.id: ratings.compared(version) for version in versions}
    by_name = attrgetter("name", "number")
    ids = [np.unique(pairs[version.id].response_ids) for version in versions]
    members: list[StoredVersion] = []
    common = np.empty(0, dtype=np.int64)
    sets: list[tuple[list[StoredVersion], IntArray]] = [(members, common)]
    order = sorted(range(len(versions)), key=lambda at: -len(np.intersect1d(ids[0], ids[at])))
    for at in order:
        in_common = np.intersect1d(common, ids[at]) if members else ids[at]
        if len(in_common) >= MIN_PAIRS:
            members, common = [*members, versions[at]], in_common
            sets.append((members, common))
    # A comparison needs at least two versions.
    members, common = max(sets[2:] or sets, key=lambda each: len(each[0]) * len(each[1]))
    in_order = sorted(members, key=by_name)
    shared_pairs = [
        pairs[version.id].at(among(pairs[version.id].response_ids, common)) for version in in_order
    ]
    # The agreement in the answers that all versions judged, if it is available for each version.
    in_all: list[InAllAnswers | None] = [None] * len(in_order)
    if len(common) >= MIN_PAIRS:
        labels = [weighted_labels(ratings, version) for version in in_order]
        of_each = [each for each in labels if each is not None]
        if len(of_each) == len(in_order):
            judged_ids = [
                each.answers.response_ids[each.answers.verdicts != UNUSABLE] for each in of_each
            ]
            by_all = reduce(np.intersect1d, judged_ids)
            described = [
                in_all_answers(each, np.isin(each.answers.response_ids, by_all)) for each in of_each
            ]
            if all(each.described is not None for each in described):
                in_all = [*described]
    rows: list[Row] = []
    for version, part, of_all in zip(in_order, shared_pairs, in_all, strict=True):
        of_part = judge_statistics(part, human=ratings.human, only=COMPARED_BY)
        of_version = slice_of(version.title, of_part, of_all)
        rows += of_version
        for name, complementary in COMPLEMENTS.items():
            rows += (
                Row.of(name, version.title, complement(each.estimate))
                for each in of_version
                if each.figure == complementary
            )
    too_few = [version.title for version in sorted(versions, key=by_name) if version not in members]
    headline = answers_words(
        len(common), next((row.n for row in rows if row.figure == "answers"), None)
    )
    return Result(
        about=About(
            judges=tuple(each.title for each in in_order), grade=ratings.grade, by="judge_version"
        ),
        headline=note("same_answers", answers=headline),
        rows=tuple(rows),
        caveats=(note("versions_left_out", versions=too_few),) if too_few else (),
    )


def over_time(pairs: RatingPairs, human: Human = "gold") -> tuple[TimePoint, ...]:
    """Return agreement by the week in which the answers were asked; every pair needs a time."""
    weeks = start_of(pairs.days, "week")
    starts = np.unique(weeks).tolist()
    segments = PeriodSums(tuple(starts)).segments("week")
    return tuple(
        TimePoint(start, _same_or_apart(in_week, human), segment, _kappa(in_week, human))
        for start, segment in zip(starts, segments, strict=True)
        for in_week in (pairs.at(weeks == start),)
    )


def _kappa(pairs: RatingPairs, human: Human) -> Estimate | None:
    """Return the kappa of grades in categories, without an interval if nearly all grades are equal; None for scores.

    With nearly equal grades, the resamples of a week have too few of the rarer grades, and the
    interval is too narrow.
    """
    if pairs.scale.categories is None:
        return None
    name = headline_name(pairs.scale)
    kappa = judge_statistics(pairs, human=human, only=(name,)).estimates[name]
    values, counts = np.unique(pairs.people, return_counts=True)
    others = np.unique(pairs.response_ids[pairs.people != values[counts.argmax()]])
    if kappa.value is None or len(others) >= FEWEST_OF_RARER:
        return kappa
    return measured(kappa.value, kappa.n, reason=f"no interval: {few_of_rarer(pairs.scale.grade)}")


def _same_or_apart(pairs: RatingPairs, human: Human) -> Estimate:
    """Return the share of equal grades, or the mean difference of scores, even of few answers."""
    score = pairs.scale.categories is None
    if pairs.n >= MIN_PAIRS:
        name = "mean_absolute_difference" if score else "agreement"
        return judge_statistics(pairs, human=human, only=(name,)).estimates[name]
    # A series has a point even for few answers. Its interval is computed by a formula, without a
    # bootstrap.
    rows = (
        np.abs(pairs.judge - pairs.people)
        if score
        else (pairs.judge == pairs.people).astype(np.float64)
    )
    _, of_answer = np.unique(pairs.response_ids, return_inverse=True)
    values = np.bincount(of_answer, rows) / np.bincount(
        of_answer
    )  # the mean of the people who graded an answer
    if score or len(values) < pairs.n:
        return mean_interval([len(values)], [values.sum()], [(values**2).sum()], bounds=(0.0, 1.0))[
            0
        ]
    return share_intervals([round(values.sum())], [pairs.n])[0]


def flags_worth(connection: Connection) -> FlagsWorth:
    """Return the worth of each rule's flags, from the answers of the primary judge's newest version."""
    answers = labelled_answers(connection, judging_version(connection))
    outcomes, reviews = outcomes_by_rule(connection), flag_reviews(connection)
    rules = []
    for rule, inside in slices_of_answers(connection, answers, "rule"):
        if rule in {RANDOM_SAMPLE, NO_RULE}:
            continue
        of_rule = reviews.rules.equal(rule) & reviews.decides & ~np.isnan(reviews.seconds)
        seconds = reviews.seconds[of_rule]
        # The median, because a break with an item left open must not count as review time.
        minutes = round(float(np.median(seconds)) / 60, 6) if seconds.size else None
        bad, *_ = sample_rate(answers.sample(inside))
        rules.append(FlagWorth(rule, bad, *outcomes.get(rule, (0, 0)), minutes))
    rules.sort(key=lambda each: (-each.bad.n, -each.decided, each.rule))
    flagged, *_ = sample_rate(answers.sample(answers.picked))
    not_flagged, *_ = sample_rate(answers.sample(~answers.picked))
    return FlagsWorth(tuple(rules), flagged, not_flagged)

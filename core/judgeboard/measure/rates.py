"""How many of all answers are bad: a judge's verdicts on all of them, corrected by people's labels on a sample."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import get_args

import numpy as np
from sqlalchemy import Connection

from judgeboard.domain import Estimate
from judgeboard.errors import BadInput, check_known
from judgeboard.measure.agreement_result import (
    MeasuredVersion,
    Note,
    Statistics,
    for_all,
    judge_statistics,
    left_out_sentence,
    measured_versions,
)
from judgeboard.measure.alarms import ShareChange, share_changes
from judgeboard.measure.all_answers import (
    StratumCount,
    ToLabel,
    counts_of,
    in_all_answers,
    is_even_sample,
    part_with_too_few_labels,
    slices_of_answers,
    what_to_label,
)
from judgeboard.measure.choice import GRADES, By, CountedGrades, GradeName, sliced_by
from judgeboard.measure.ratings import AnswerRatings, PairSource, RatingPairs
from judgeboard.measure.samples import LabelledAnswers, SampledLabels, judging_version, no_share_words
from judgeboard.stats.arrays import BoolArray, renumbered
from judgeboard.stats.estimates import (
    MIN_PAIRS,
    interval,
    measured,
    percent,
    percent_interval,
    two_decimals,
    unmeasured,
    within_range,
)
from judgeboard.stats.intervals import share_intervals
from judgeboard.stats.rates import (
    FEW_GROUPS,
    STATISTICS_OF_ALL,
    Population,
    Stratum,
    Target,
    bounds,
    design_effect,
    judge_alone,
    predicted_mean,
    rate,
)
from judgeboard.stats.rogan_gladen import JudgeErrors, rogan_gladen
from judgeboard.stats.thresholds import equal_chances
from judgeboard.store.engine import Readable
from judgeboard.store.filters import RowFilter, describe, parse_where
from judgeboard.store.judge_versions import StoredVersion
from judgeboard.text import counted

ALL = "all"
"""The name of the result about all answers that match, beside its slices."""

_FEW_OF_RARER, _MOST_UNDECIDED = 15, 0.05
_LOW_ALPHA = 0.6
_LOPSIDED = 4  # times longer on one side of the value than on the other: then few labels decide the value
_NO_FIGURE = 0.95  # the width of bounds from which on they tell nothing
_RANGE_OF_MEAN: Mapping[GradeName, tuple[float, float]] = {"groundedness": (0, 1), "quality": (1, 4)}


@dataclass(frozen=True, slots=True, kw_only=True)
class RateResult:
    """The share of bad answers (or the mean grade) in all answers. JSON has the same fields.

    ``n_labelled`` counts the labels that are a sample of the ``n_answers``, ``extras`` those that are not. All labels
    are of a random sample, so that strata do not matter to the reader, if it ``is_random``. ``bounds``
    are the least and the greatest possible value where a stratum has no label of a sample (other labels there count for
    their own answers), or where people did not decide on more than 5 % of the sampled answers. If a stratum has too few
    labels and the value would be near one end of its 95 % interval, the value is None, and ``bounds`` is the interval.
    ``judge_share`` is the judge's own share of bad answers (or its mean grade). Its interval
    covers the sampling error, not the judge's errors. ``labels_only`` is the share of all labels, without
    an interval if people chose some of the labelled answers.
    ``in_all_answers`` has agreement, kappa, sensitivity, specificity and precision of the judge in all answers,
    ``in_graded_answers`` in those that people graded, unweighted. Both are the figures of `measure_agreement`; for the
    target ``these``, those in all answers have only the sampling error of the labels. ``people_alpha`` is
    Krippendorff's alpha among people.
    """

    name: str
    grade: GradeName
    target: Target
    judge_version: MeasuredVersion | None
    sentence: str
    value: float | None
    low: float | None
    high: float | None
    method: str | None
    reason: str | None
    n_labelled: int
    n_answers: int
    groups: int
    design_effect: float | None
    strata: tuple[StratumCount, ...]
    judge_share: Estimate | None
    labels_only: Estimate
    bounds: tuple[float, float] | None
    extras: int
    is_random: bool
    left_out: Mapping[str, int]
    in_all_answers: Mapping[str, Estimate]
    in_graded_answers: Mapping[str, Estimate]
    people_alpha: Estimate
    warnings: tuple[Note, ...]
    to_label: ToLabel | None
    by: By | None = None
    slices: tuple["RateResult", ...] = ()
    since: "RateResult | None" = None

    @property
    def estimate(self) -> Estimate:
        """The value with its interval, or the reason why there is none."""
        return Estimate(self.value, self.low, self.high, self.n_labelled, self.method, reason=self.reason)

    @property
    def shown(self) -> Estimate:
        """The `estimate` for tables: if its value is not given, it may have an interval."""
        if self.bounds is None or not self.has_wide_bounds:
            return self.estimate
        low, high = self.bounds
        return replace(self.estimate, low=low, high=high)

    @property
    def has_wide_bounds(self) -> bool:
        """Whether the ``bounds`` are an interval without a value, because a part has too few labels."""
        return self.value is None and self.bounds is not None and all(each.n for each in self.strata if each.N)

    @property
    def left_out_sentence(self) -> str | None:
        """What was left out: "Left out: people tied (3)."."""
        return left_out_sentence(self.left_out)


def measure_rate(
    store: Readable,
    *,
    judge_version: int | str | None = None,
    by: By | None = None,
    target: Target = "app",
    where: RowFilter | None = None,
    grade: GradeName | None = None,
    labels_from: RowFilter | None = None,
    implied_labels: bool = True,
) -> RateResult:
    """Return the share of bad answers among all answers that match, and of each slice.

    Args:
        store: The database.
        judge_version: Id, name, title ("rag v3") or fingerprint (default: the primary judge's newest version with
            verdicts). Without any judge, the labels alone count.
        by: Also measures each slice: query_type, source, generator, time, length, rule or ``metadata.tenant``.
        target: ``app`` (the answers are a sample of what the app does) or ``these`` (the answers as they are).
        where: The answers that the rate describes (default: all logged answers).
        grade: label (default: the share of bad answers), or the mean of groundedness or quality.
        labels_from: Takes the judge's errors from the labels of these other answers (Rogan, Gladen, 1978).
        implied_labels: Counts labels that a decision on a flag implies.

    Raises:
        BadInput: Arguments that cannot be combined.
        NotFound: No such judge version.
    """
    with store.reading() as connection:
        return rate_of(
            connection,
            judging_version(connection, judge_version),
            RateChoice(grade or "label", by, target, where or RowFilter(), labels_from, implied_labels),
        )


@dataclass(frozen=True, slots=True)
class RateChoice:
    """The arguments of `measure_rate` but for the judge. Raises BadInput if a value is unknown or they do not fit."""

    grade: GradeName = "label"
    by: By | None = None
    target: Target = "app"
    where: RowFilter = field(default_factory=RowFilter)
    labels_from: RowFilter | None = None
    implied_labels: bool = True

    def __post_init__(self) -> None:
        check_known("grade", self.grade, GRADES)
        check_known("target", self.target, get_args(Target))
        if self.by is not None:
            sliced_by(self.by)
        elsewhere = self.labels_from is not None
        for is_wrong, message in (
            (self.by == "judge_version", "a rate is of one judge version: choose it with --judge-version"),
            (elsewhere and self.grade != "label", "labels from elsewhere correct the share of bad answers only"),
            (elsewhere and self.by is not None, "labels from elsewhere correct one rate, without slices"),
        ):
            if is_wrong:
                raise BadInput(message)


def rate_of(connection: Connection, version: StoredVersion | None, choice: RateChoice) -> RateResult:
    """Return the same as `measure_rate` for a stored judge version, in an open transaction."""
    if choice.labels_from is not None and version is None:
        raise BadInput("labels from elsewhere need a judge")
    measure = _Measure.load(connection, version, choice)
    slices = () if choice.by is None else slices_of_answers(connection, measure.loaded, choice.by)
    result = replace(
        measure.result(ALL, None), by=choice.by, slices=tuple(measure.result(name, inside) for name, inside in slices)
    )
    if choice.grade == "label" and result.value is not None and choice.where == RowFilter():
        types = {each.name for each in result.slices} if choice.by == "query_type" else set()
        changes = tuple(share_changes(connection, types))
        result = replace(result, warnings=(*result.warnings, *_of_alarms(changes, by_type=bool(types))))
        if choice.labels_from is None and (since := _since_latest(changes)) is not None:
            later = _Measure.load(connection, version, replace(choice, where=since))
            result = _with_rate_since(result, later.result(ALL, None))
    if choice.labels_from is not None:
        elsewhere = _labelled(connection, version, replace(choice, where=choice.labels_from)).sample()
        return _from_elsewhere(result, measure.loaded.sample(), elsewhere, choice.where, choice.labels_from)
    return result


def _labelled(connection: Connection, version: StoredVersion | None, choice: RateChoice) -> LabelledAnswers:
    return LabelledAnswers(
        connection,
        version,
        choice.where,
        grade=choice.grade,
        implied_labels=choice.implied_labels,
        scores=False,
    )


@dataclass(frozen=True, slots=True)
class _Measure:
    loaded: LabelledAnswers
    pairs: RatingPairs | None  # of judge and people; None for grades without figures of agreement
    target: Target
    where: RowFilter

    @classmethod
    def load(cls, connection: Connection, version: StoredVersion | None, choice: RateChoice) -> "_Measure":
        """Load the answers of a choice with their labels."""
        pairs = None
        if version is not None and choice.grade == "label":
            counted_grades = CountedGrades(implied_labels=choice.implied_labels, where=choice.where)
            pairs = AnswerRatings(PairSource(connection, counted_grades), "label").compared(version)
        return cls(_labelled(connection, version, choice), pairs, choice.target, choice.where)

    def result(self, name: str, inside: BoolArray | None) -> RateResult:
        """Return the rate of the answers ``inside`` (None: all)."""
        sample = self.loaded.sample(inside)
        grade = self.loaded.grade
        n_answers, version = round(sample.population.total), self.loaded.version
        estimate, effect = sample_rate(sample, self.target)
        is_label = grade == "label"
        between = of_undecided = None
        n_labelled = len(sample.response_ids)
        has_value = estimate.value is not None  # without it, bounds without a sampling error look like an interval
        if is_label and sample.has_gap and not sample.hidden:
            between = self._bounds(sample, inside)
        elif is_label and has_value and not sample.hidden and _many(int(sample.undecided.sum()), n_labelled):
            between = of_undecided = _undecided_bounds(sample)
        people = self.loaded.people_alpha(inside)
        notes = _warnings(sample, grade, self.target, between, of_undecided, people, estimate)
        ends, too_few = _lopsided_ends(estimate), part_with_too_few_labels(sample)
        to_label = None
        if ends is not None and too_few is not None and not is_even_sample(sample):
            between, estimate = ends, unmeasured(estimate.n, too_few)
            to_label = what_to_label(sample, for_intervals=True, where=self.where)
        elif estimate.value is None:
            to_label = what_to_label(sample, least=len(sample.response_ids) + 1, where=self.where)
        in_all, in_graded = self._agreement(sample, inside)
        result = RateResult(
            name=name,
            grade=grade,
            target=self.target,
            judge_version=None if version is None else measured_versions([version])[0],
            sentence="",
            value=estimate.value,
            low=estimate.low,
            high=estimate.high,
            method=estimate.method,
            reason=estimate.reason,
            n_labelled=len(sample.response_ids),
            n_answers=n_answers,
            groups=sample.population.groups,
            design_effect=effect,
            strata=counts_of(sample),
            judge_share=None if version is None else self._judge_share(sample, inside),
            labels_only=_labels_only(sample, grade, n_answers),
            bounds=between,
            extras=sample.extras,
            is_random=sample.is_random and not sample.extras,
            left_out=sample.left_out,
            in_all_answers=in_all,
            in_graded_answers=in_graded,
            people_alpha=people,
            warnings=tuple(notes),
            to_label=to_label,
        )
        return replace(result, sentence=_sentence(result, self.where))

    def _agreement(self, sample: SampledLabels, inside: BoolArray | None) -> tuple[Statistics, Statistics]:
        """Return the agreement of the judge and people in all answers, and in those that people graded."""
        if self.pairs is None or sample.hidden:
            return {}, {}
        pairs = self.pairs
        if inside is not None:
            pairs = pairs.at(np.isin(pairs.response_ids, self.loaded.answers.response_ids[inside]))
        of_graded = judge_statistics(pairs, only=STATISTICS_OF_ALL)
        in_all = in_all_answers(self.loaded, inside, self.target, sample)
        graded = dict(of_graded.estimates)
        if self.target == "app" and in_all.described is not None:
            return dict(for_all(of_graded, in_all)[0].estimates), graded
        return dict(in_all.statistics), graded

    def _bounds(self, sample: SampledLabels, inside: BoolArray | None) -> tuple[float, float]:
        rows: BoolArray | slice = slice(None) if inside is None else inside
        groups = renumbered(self.loaded.groups[rows])
        return bounds(sample.stratum_of, sample.is_sampled, self.loaded.values[rows], groups, self.target)

    def _judge_share(self, sample: SampledLabels, inside: BoolArray | None) -> Estimate:
        grade, population = self.loaded.grade, sample.population
        if sample.hidden:
            return unmeasured(0, "some answers are hidden")
        if grade == "label":
            return share_of_judged(self.loaded.judged(inside), self.target)
        scored = np.array([name.verdict != "unusable" for name in sample.strata], dtype=np.bool_)
        if 0 < sample.judged < round(float(population.answers[scored].sum())):
            value = float(population.scores[scored].sum()) / sample.judged
            return measured(value, sample.judged, reason="no interval: a stratum also has answers without a score")
        alone = judge_alone(population, scored, None, "the logit" if grade == "groundedness" else None, self.target)
        return within_range(alone, *_RANGE_OF_MEAN[grade])


def _lopsided_ends(estimate: Estimate) -> tuple[float, float] | None:
    """Return the ends of an interval if the value is near one of them: 54 and 96 % for 93 %. None if it is not."""
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return None
    below, above = estimate.value - estimate.low, estimate.high - estimate.value
    return (estimate.low, estimate.high) if max(below, above) > _LOPSIDED * min(below, above) else None


def share_of_judged(judged: Population, target: Target = "app") -> Estimate:
    """Return the share of bad answers by the judge alone, of what `LabelledAnswers.judged` returns."""
    answers = judged.answers.round().astype(np.int64)
    hits = np.where([False, True], answers, 0), answers
    return judge_alone(judged, np.ones(2, dtype=np.bool_), hits, None, target)


def sample_rate(sample: SampledLabels, target: Target = "app") -> tuple[Estimate, float | None]:
    """Return the share of bad answers (or the mean grade) in all answers of a sample, and its design effect.

    The labels are weighted by stratum. The design effect is None for means, and for ``these`` answers.
    """
    population, labels = sample.population, sample.labels
    groups = len(population.of_labelled)
    if target == "app" and 0 < groups < MIN_PAIRS and population.total and not sample.has_gap:
        why = f"the labels cover only {counted(groups, 'evidence group')}, and at least {MIN_PAIRS} are needed"
        return unmeasured(len(labels.values), why), None
    if sample.grade != "label":
        mean = predicted_mean(population, labels, target=target, share=sample.grade == "groundedness")
        return within_range(mean, *_RANGE_OF_MEAN[sample.grade]), None
    if target == "these":
        return rate(sample.counts, "these"), None
    return rate(sample.counts, "app", sample.app_effect), round(design_effect(population, labels), 6)


def _labels_only(sample: SampledLabels, grade: GradeName, n_answers: int) -> Estimate:
    """Return the share of all labels. It has an interval only if nobody chose the labelled answers."""
    n = len(sample.all_values)
    if not n:
        return unmeasured(0, "no labels")
    if grade == "label" and n < n_answers and (sample.extras or sample.hidden or not sample.is_random):
        return measured(float(sample.all_values.mean()), n, reason="no interval: the labels are no random sample")
    if grade == "label":
        return share_intervals([round(float(sample.all_values.sum()))], [n])[0]
    return Estimate(round(float(sample.all_values.mean()), 12), n=n, reason="no interval: shown for comparison")


def _from_elsewhere(
    result: RateResult, sample: SampledLabels, elsewhere: SampledLabels, where: RowFilter, labels_from: RowFilter
) -> RateResult:
    """Return the result with the rate by Rogan and Gladen from the labels of other answers."""
    judged = ~np.isnan(elsewhere.all_verdicts)
    values, verdicts = elsewhere.all_values[judged] == 1, elsewhere.all_verdicts[judged] == 1
    bad, found, passed = int(values.sum()), int((values & verdicts).sum()), int((~values & ~verdicts).sum())
    made = rogan_gladen(sample.judged_bad, sample.judged, JudgeErrors(bad, found, len(values) - bad, passed))
    of_verdicts = np.array([elsewhere.judged - elsewhere.judged_bad, elsewhere.judged_bad])
    labelled = np.array([int((~verdicts).sum()), int(verdicts.sum())])
    if not len(values):
        made = unmeasured(0, "the answers from elsewhere have no label")
    elif not of_verdicts.all():
        made = unmeasured(len(values), _ONE_VERDICT.format("bad" if of_verdicts[1] else "good"))
    elif (equal_chances(of_verdicts, labelled) < 1).any():
        made = unmeasured(len(values), _CHOSEN_ELSEWHERE)
    elif made.low is not None and made.low == made.high:  # even the interval is at an end of the scale
        made = unmeasured(len(values), _ERRS_OTHERWISE)
    changed = replace(
        result,
        **{name: getattr(made, name) for name in ("value", "low", "high", "method", "reason")},
        n_labelled=len(values),
        n_answers=sample.judged,
        design_effect=None,
        strata=(),
        bounds=None,
        left_out=elsewhere.left_out,
        in_all_answers={},
        in_graded_answers={},
        to_label=None,
        warnings=(),
    )
    if made.value is None:
        words = f"The share of bad answers is not available: {made.reason}."
    else:
        labels = counted(len(values), "label")
        words = (
            f"About {percent(made.value)} of {_answers_of(where)} are bad"
            f"{_interval_words(made, share=True)}, if the judge errs as often on them as on "
            f"{_answers_of(labels_from)}; {labels} from there, "
            f"{counted(sample.judged, 'answer')} with a usable verdict here."
        )
    return replace(changed, sentence=words)


_CHOSEN_ELSEWHERE = (
    "the labels from elsewhere are of chosen answers: the judge's verdict changed the chance to get a label. Label a "
    "random sample of them"
)
_ONE_VERDICT = "the judge calls all answers from elsewhere {}, so they show only one kind of its errors"
_ERRS_OTHERWISE = "the judge's own share of bad answers does not fit its errors on the labels from elsewhere"


def _many(undecided: int, labelled: int) -> bool:
    return undecided > _MOST_UNDECIDED * (labelled + undecided)


def _undecided_bounds(sample: SampledLabels) -> tuple[float, float]:
    """Return the rate if all answers that people did not decide are good, and if all of them are bad."""
    low, high = (
        rate(
            [
                Stratum(each.answers, each.labelled + undecided, each.bad + bad * undecided)
                for each, undecided in zip(sample.counts, sample.undecided.tolist(), strict=True)
            ]
        ).value
        for bad in (0, 1)
    )
    return low or 0.0, high or 0.0


def _of_alarms(changes: Iterable[ShareChange], *, by_type: bool) -> Iterator[Note]:
    """Yield that the tables are means over these changes of the share of bad answers. Alarms of one day: one note."""
    for change in changes:
        yield Note(
            "alarm",
            f"{change.sentence} The tables are of the whole time, before and after. For the time since then: "
            f"`judgeboard labels rate{' --by query_type' if by_type else ''} --where {change.since}`.",
        )


def _since_latest(changes: Iterable[ShareChange]) -> RowFilter | None:
    """Return the answers since the latest of the changes in all answers; None if there is none."""
    latest = max((each for each in changes if each.in_all_answers), key=lambda each: each.from_day, default=None)
    return None if latest is None else parse_where([latest.since])


def _with_rate_since(result: RateResult, since: RateResult) -> RateResult:
    """Return the result with the rate since a change, which begins the sentence. It stays as it is without a value."""
    if since.value is None:
        return result
    over_all = f"Over the whole time, {result.sentence[:1].lower()}{result.sentence[1:]}"
    return replace(result, since=since, sentence=f"{since.sentence} {over_all}")


def _warnings(
    sample: SampledLabels,
    grade: GradeName,
    target: Target,
    between: tuple[float, float] | None,
    of_undecided: tuple[float, float] | None,
    people: Estimate,
    estimate: Estimate,
) -> Iterator[Note]:
    n = len(sample.response_ids)
    undecided = int(sample.undecided.sum())
    if sample.extras:
        one = sample.extras == 1
        count = "it does not count here" if one else "they do not count here"
        if between is not None and of_undecided is None:
            count = f"{'it counts' if one else 'they count'} only for the two bounds"
        are = "label is" if one else "labels are"
        yield Note("picked_labels", f"{sample.extras:,} {are} not known to be a random sample, so {count}.")
    if _many(undecided, n):
        ends = ""
        if of_undecided is not None and n:
            low, high = map(percent, of_undecided)
            ends = f" If all of them were good, the rate would be {low}. If all of them were bad, it would be {high}."
        yield Note(
            "undecided",
            f"People did not decide {undecided:,} of {counted(n + undecided, 'answer')} that would count: they were "
            f"unsure, tied or skipped. These may be harder than the others.{ends}",
        )
    if people.value is not None and people.n >= MIN_PAIRS and people.value < _LOW_ALPHA:
        yield Note(
            "people_differ",
            f"People agree with each other by alpha {two_decimals(people.value)} only (n = {people.n:,}). The rate is "
            "about their majority.",
        )
    drawn, waiting = int(sample.drawn.sum()), int(sample.waiting.sum())
    if n and waiting > _MOST_UNDECIDED * drawn and drawn - waiting >= n / 2:
        are = "is" if waiting == 1 else "are"
        yield Note("waiting", f"{waiting:,} of {drawn:,} sampled answers {are} not reviewed yet.")
    rarer = round(min(sample.labels.values.sum(), n - sample.labels.values.sum()))
    if grade == "label" and n and estimate.low is not None and rarer < _FEW_OF_RARER:
        kind = "bad" if sample.labels.values.mean() < 1 / 2 else "good"
        yield Note(
            "few_of_rarer",
            f"{f'Only {rarer:,}' if rarer else 'None'} of {counted(n, 'label')} {'says' if rarer <= 1 else 'say'} "
            f"“{kind}”, so the interval is rough.",
        )
    groups = len(sample.population.of_labelled)
    if target == "app" and MIN_PAIRS <= groups < FEW_GROUPS:
        yield Note("few_groups", f"The labels are in only {groups} evidence groups, so the interval is rough.")


def _sentence(result: RateResult, where: RowFilter) -> str:
    of_these = f"these {result.n_answers:,} answers" if result.target == "these" else _answers_of(where)
    of_these += " that you may see" if "hidden" in result.left_out else ""
    basis = f"{counted(result.n_labelled, 'label')}, {_answers_words(result)}"
    if not result.n_answers:
        return "No judged answer matches." if result.judge_version else "No logged answer matches."
    if result.value is not None:
        if result.grade != "label":
            mean = two_decimals(result.value) + _interval_words(result.estimate, share=False)
            return f"The mean {result.grade} of {of_these} is about {mean}; {basis}."
        exact = result.target == "these" and result.low == result.high
        about = percent(result.value) if exact else f"about {percent(result.value)}"
        ends = "" if exact else _interval_words(result.estimate, share=True)
        start = f"{about} of {of_these} are bad{ends}; {basis}."
        return start[:1].upper() + start[1:]
    need = result.to_label
    if result.has_wide_bounds:
        return _wide_sentence(result, of_these)
    if need is not None and result.bounds is not None and any(each.N and not each.n for each in result.strata):
        return _bounds_sentence(result, need)
    what, why = "share of bad answers" if result.grade == "label" else f"mean {result.grade}", f"{result.reason}."
    if need is not None and (need.uncounted or need.hidden or need.undecided):
        why = f"{need.missing}. {need.advice}"
    elif not result.n_labelled:
        why = f"none of the {result.n_answers:,} answers has a grade of a random sample."
    return no_share_words(why, what)


def _wide_sentence(result: RateResult, of_these: str) -> str:
    """Return the interval of a share without a value, and which part has too few labels."""
    low, high = result.bounds or (0.0, 1.0)
    need = result.to_label
    why = f"{result.reason}." if need is None else f"{need.missing}. {need.advice}"
    return f"Between {percent(low)} and {percent(high)} of {of_these} are bad (95 % CI): {why}"


def _bounds_sentence(result: RateResult, need: ToLabel) -> str:
    low, high = result.bounds or (0.0, 1.0)
    missing = need.missing
    # Without labels of a random sample, the bounds of these answers are sure.
    confidence = "" if result.target == "these" and not result.n_labelled else " (95 % confidence)"
    known = f"is between {percent(low)} and {percent(high)}{confidence}, whatever {_unlabelled_words(result, need)}"
    if high - low > _NO_FIGURE:
        known = "is not known yet"
        if need.answers == result.n_answers > 1 and not need.uncounted:
            missing = f"{result.n_labelled:,} of {result.n_answers:,} answers have a label of a random sample"
    return f"The share of bad answers {known}: {missing}. {need.advice}"


def _unlabelled_words(result: RateResult, need: ToLabel) -> str:
    """Return "the unlabelled flagged answers are". Those of other parts add to the sampling error."""
    if need.undecided:
        return "the others are"
    if need.unlabelled == 1:
        return "the unlabelled answer is"
    if need.words == "answers" and need.answers < result.n_answers:
        return "the unlabelled answers in a part of the log are"
    return f"the unlabelled {need.words} are"


def _answers_of(where: RowFilter) -> str:
    """Return which answers match: "all answers", "the answers of sql", "the answers from 12 Oct 2026"."""
    if where == RowFilter():
        return "all answers"
    is_days = where == RowFilter(day_from=where.day_from, day_to=where.day_to)
    described = describe(where)
    is_plain = is_days or where == RowFilter(no_time=True) or described.startswith("written by ")
    return f"the answers{'' if is_plain else ' of'} {described}"


def _answers_words(result: RateResult) -> str:
    """Return "448 answers, 442 of them with a usable verdict"."""
    answers = counted(result.n_answers, "answer")
    if result.judge_share is None:
        return answers
    if result.judge_share.n == result.n_answers:
        return f"{answers} with a usable verdict"
    return f"{answers}, {result.judge_share.n:,} of them with a usable verdict"


def _interval_words(estimate: Estimate, *, share: bool) -> str:
    """Return " (95 % CI 20–31 %)", or the reason why there is no interval."""
    ends, unit = (percent_interval(estimate), " %") if share else (interval(estimate), "")
    if ends is None:
        return f" ({estimate.reason})" if estimate.reason else ""
    return f" (95 % CI {ends[1:-1].replace(', ', '–')}{unit})"

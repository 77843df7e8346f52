"""How many of all answers are bad: a judge's verdicts on all answers, corrected by people's labels on a sample."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import get_args

import numpy as np
from sqlalchemy import Connection

from judgeboard.domain import Estimate
from judgeboard.errors import BadInput, check_known
from judgeboard.measure.agreement_result import Statistics, for_all, judge_statistics
from judgeboard.measure.alarms import share_changes
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
from judgeboard.measure.notes import Note, note
from judgeboard.measure.ratings import AnswerRatings, PairSource, RatingPairs
from judgeboard.measure.result import ALL, About, Result, Row
from judgeboard.measure.samples import (
    LabelledAnswers,
    SampledLabels,
    judging_version,
    labelled_answers,
)
from judgeboard.stats.arrays import BoolArray, renumbered
from judgeboard.stats.estimates import (
    MIN_PAIRS,
    measured,
    unmeasured,
    within_range,
)
from judgeboard.stats.intervals import share_intervals
from judgeboard.stats.pair_statistics import STATISTICS_OF_ALL
from judgeboard.stats.rates import (
    FEW_GROUPS,
    Stratum,
    Target,
    bounds,
    design_effect,
    judge_alone,
    predicted_mean,
    rate,
    rogan_gladen,
)
from judgeboard.stats.thresholds import equal_chances
from judgeboard.store.engine import Readable
from judgeboard.store.filters import RowFilter, describe, parse_where
from judgeboard.store.tables import StoredVersion
from judgeboard.text import counted

_FEW_OF_RARER, _MOST_UNDECIDED = 15, 0.05
_LOW_ALPHA = 0.6
_LOPSIDED = (
    4  # times longer on one side of the value than on the other: then few labels decide the value
)
_NO_FIGURE = 0.95  # the width of bounds from which on they tell nothing
_RANGE_OF_MEAN: Mapping[GradeName, tuple[float, float]] = {
    "groundedness": (0, 1),
    "quality": (1, 4),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate(Result):
    """The share of bad answers (or the mean grade) in all answers and in slices.

    Each slice has these figures:

    - ``bad_answers`` or ``mean``: ``n`` counts the labels that are a sample of the answers. If a
      part has too few labels, there is only an interval, without a value. ``bounds`` has the least
      and the greatest possible value. There are bounds if a part has no label of a sample, or if
      people did not decide on more than 5 % of the sampled answers.
    - ``judge_alone``: by the judge's verdicts; the interval covers the sampling error, not the
      judge's errors.
    - ``labels_alone``: of all labels, without an interval if people chose some of the labelled
      answers.
    - agreement, kappa, sensitivity, specificity and precision of the judge in all answers, and
      (``graded_agreement`` ...) in the graded answers, unweighted; ``people_alpha`` is
      Krippendorff's alpha among people.

    ``bad_answers_now`` is the share of the answers since the latest change of the share.
    ``is_random``: all labels are of a random sample, so that ``strata`` do not matter. ``to_label``
    tells what to label for a figure.
    """

    target: Target
    is_random: bool
    strata: tuple[StratumCount, ...] = ()
    to_label: ToLabel | None = None

    @property
    def share(self) -> Estimate:
        """The share of bad answers, or the mean grade, of all answers."""
        return self.figure(figure_of(self.about.grade))


def figure_of(grade: str) -> str:
    """Return the name of the figure that describes all answers by this grade."""
    return "bad_answers" if grade == "label" else "mean"


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
) -> Rate:
    """Return the share of bad answers among all answers that match, and of each slice.

    Args:
        store: The database.
        judge_version: Id, name, title ("rag v3") or fingerprint (default: the primary judge's
            newest version with verdicts). Without any judge, the labels alone count.
        by: Also measures each slice: query_type, source, generator, time, length, rule or
            ``metadata.tenant``.
        target: ``app`` (the answers are a sample of what the app does) or ``these`` (the answers as
            they are).
        where: The answers that the rate describes (default: all logged answers).
        grade: label (default: the share of bad answers), or the mean of groundedness or quality.
        labels_from: Takes the judge's errors from the labels of these other answers (Rogan, Gladen,
            1978).
        implied_labels: Counts labels that a decision on a flag implies.

    Raises:
        BadInput: Arguments that cannot be combined.
        NotFound: No such judge version.
    """
    with store.reading() as connection:
        return rate_of(
            connection,
            judging_version(connection, judge_version),
            RateChoice(
                grade or "label", by, target, where or RowFilter(), labels_from, implied_labels
            ),
        )


@dataclass(frozen=True, slots=True)
class RateChoice:
    """The arguments of `measure_rate` except the judge. Raises BadInput for an unknown value or a wrong combination.

    With ``brief_slices``, slices have only the figures that labels give for all answers of the
    slice, which takes half the time.
    """

    grade: GradeName = "label"
    by: By | None = None
    target: Target = "app"
    where: RowFilter = field(default_factory=RowFilter)
    labels_from: RowFilter | None = None
    implied_labels: bool = True
    brief_slices: bool = False

    def __post_init__(self) -> None:
        check_known("grade", self.grade, GRADES)
        check_known("target", self.target, get_args(Target))
        if self.by is not None:
            sliced_by(self.by)
        if self.by == "judge_version":
            raise BadInput("a rate is of one judge version: choose it with --judge-version")
        if self.labels_from is not None and self.grade != "label":
            raise BadInput("labels from elsewhere correct the share of bad answers only")
        if self.labels_from is not None and self.by is not None:
            raise BadInput("labels from elsewhere correct one rate, without slices")


def rate_of(connection: Connection, version: StoredVersion | None, choice: RateChoice) -> Rate:
    """Return the same as `measure_rate` for a stored judge version, in an open transaction."""
    if choice.labels_from is not None:
        return _from_elsewhere(connection, version, choice, choice.labels_from)
    measure = _Measure.load(connection, version, choice)
    slices = () if choice.by is None else slices_of_answers(connection, measure.loaded, choice.by)
    parts = {name: measure.part(name, inside, brief=choice.brief_slices) for name, inside in slices}
    whole = measure.part(ALL, None)
    rows = [row for part in (*parts.values(), whole) for row in part.rows]
    headline, caveats, need = measure.headline(whole), [*measure.caveats(whole)], whole.to_label
    # A mean over a change hides the change, so the answers since then come first.
    if choice.grade == "label" and whole.share.value is not None and choice.where == RowFilter():
        changes = tuple(share_changes(connection, parts if choice.by == "query_type" else ()))
        caveats += [
            note("alarm", alarms=[str(each.alarm.id) for each in one.alarms], day=one.from_day)
            for one in changes
        ]
        latest = max(
            (each for each in changes if each.in_all_answers),
            key=lambda each: each.from_day,
            default=None,
        )
        if latest is not None:
            later = _Measure.load(
                connection, version, replace(choice, where=parse_where([latest.since]))
            )
            now = later.part(ALL, None).share
            rows.append(Row.of("bad_answers_now", ALL, now))
            if now.value is not None:
                headline = note("rate_since", now=now, day=latest.from_day, all=whole.share)
    return Rate(
        about=measure.about(whole.sample, choice.by),
        headline=headline,
        rows=tuple(rows),
        caveats=tuple(caveats),
        next=()
        if need is None
        else (note("to_label", advice=need.next_note.text, command=need.command),),
        target=choice.target,
        is_random=whole.sample.is_random and not whole.sample.extras,
        strata=counts_of(whole.sample),
        to_label=need,
    )


@dataclass(frozen=True, slots=True)
class _Part:
    """The answers of a slice, with their rate. ``bounds``: the possible rates if labels are missing or undecided."""

    sample: SampledLabels
    share: Estimate
    bounds: tuple[float, float] | None
    to_label: ToLabel | None
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class _Measure:
    loaded: LabelledAnswers
    pairs: RatingPairs | None  # of judge and people; None for grades without figures of agreement
    target: Target
    where: RowFilter

    @classmethod
    def load(
        cls, connection: Connection, version: StoredVersion | None, choice: RateChoice
    ) -> "_Measure":
        """Load the answers of a choice with their labels."""
        pairs = None
        if version is not None and choice.grade == "label":
            counted_grades = CountedGrades(implied_labels=choice.implied_labels, where=choice.where)
            pairs = AnswerRatings(PairSource(connection, counted_grades), "label").compared(version)
        answers = labelled_answers(
            connection,
            version,
            choice.where,
            grade=choice.grade,
            implied_labels=choice.implied_labels,
        )
        return cls(answers, pairs, choice.target, choice.where)

    def part(self, name: str | None, inside: BoolArray | None, *, brief: bool = False) -> _Part:
        """Return the rate of the answers ``inside`` (None: all); if ``brief``, without bounds and other shares."""
        sample, grade = (
            self.loaded.of_all if inside is None else self.loaded.sample(inside),
            self.loaded.grade,
        )
        share, effect = sample_rate(sample, self.target)
        n_answers, n_labels = round(sample.population.total), len(sample.response_ids)
        share = replace(share, n=n_labels)

        # The possible shares if labels are missing, or if people left many answers undecided.
        limits = to_label = None
        has_bounds = grade == "label" and not sample.hidden and not brief
        if has_bounds and sample.has_gap:
            limits = self._bounds(sample, inside)
        elif has_bounds and share.value is not None and _many_undecided(sample):
            # The rate if all undecided answers are good, and the rate if all are bad.
            low, high = (
                rate(
                    [
                        Stratum(each.answers, each.labelled + undecided, each.bad + bad * undecided)
                        for each, undecided in zip(
                            sample.counts, sample.undecided.tolist(), strict=True
                        )
                    ]
                ).value
                for bad in (0, 1)
            )
            limits = low or 0.0, high or 0.0

        # Few labels decide a value near one end of its interval (93 % in 54 to 96 %): the interval
        # alone is shown.
        too_few = part_with_too_few_labels(sample)
        ends = None
        if share.value is not None and share.low is not None and share.high is not None:
            below, above = share.value - share.low, share.high - share.value
            if max(below, above) > _LOPSIDED * min(below, above):
                ends = share.low, share.high
        if ends is not None and too_few is not None and not is_even_sample(sample):
            limits, share = None, Estimate(None, *ends, n=n_labels, reason=too_few)
            to_label = what_to_label(sample, for_intervals=True, where=self.where)
        elif share.value is None:
            to_label = what_to_label(sample, least=n_labels + 1, where=self.where)

        in_all, in_graded = self._agreement(sample, inside, brief=brief)
        figures = {
            figure_of(grade): share,
            "labels": Estimate(n_labels, n=n_labels),
            "answers": Estimate(n_answers, n=n_answers),
            "labels_alone" if grade == "label" else "labels_mean": _labels_only(
                sample, grade, n_answers
            ),
            **in_all,
            **{f"graded_{figure}": each for figure, each in in_graded.items()},
        }
        if not brief:
            figures["people_alpha"] = self.loaded.people_alpha(inside)
        if self.loaded.version is not None and not brief:
            figures["judge_alone" if grade == "label" else "judge_mean"] = self.judge_share(
                sample, inside
            )
        if effect is not None:
            figures["design_effect"] = Estimate(effect, n=n_labels)
        if limits is not None:
            figures["bounds"] = Estimate(None, *limits, n=n_labels)
        rows = tuple(Row.of(figure, name, each) for figure, each in figures.items())
        return _Part(sample, share, limits, to_label, rows)

    def about(self, sample: SampledLabels, by: By | None = None) -> About:
        """Return the judge and the answers that the figures count."""
        version = self.loaded.version
        return About(
            judges=() if version is None else (version.title,),
            grade=self.loaded.grade,
            where=self.where.as_dict(),
            by=by,
            counts={
                "answers": round(sample.population.total),
                "judged": sample.judged,
                "labels": len(sample.response_ids),
                "labels_not_counted": sample.extras,
                "evidence_groups": sample.population.groups,
            },
            left_out=sample.left_out,
        )

    def headline(self, part: _Part) -> Note:  # noqa: PLR0911 - one for each code
        """Return the sentence about the rate of all answers."""
        share, need, total = part.share, part.to_label, part.sample.population.total
        answers = f"these {round(total):,} answers"
        if self.target == "app":
            hidden = " that you may see" if "hidden" in part.sample.left_out else ""
            answers = f"{answers_of(self.where)}{hidden}"
        grade, missing = (
            self.loaded.grade,
            (part.share.reason or "") if need is None else need.missing,
        )
        if not total:
            return note("no_answers")
        if grade != "label":
            if share.value is None:
                return note("mean_unknown", grade=grade, answers=answers, missing=missing)
            return note("mean", grade=grade, answers=answers, mean=share)
        if share.value is not None:
            is_exact = self.target == "these" and share.low == share.high
            return note("rate_exact" if is_exact else "rate", share=share, answers=answers)
        if share.low is not None:
            return note("rate_interval", share=share, answers=answers, missing=missing)
        low, high = part.bounds or (0, 1)
        if high - low > _NO_FIGURE:
            return note("rate_unknown", answers=answers, missing=missing)
        return note("rate_bounds", low=low, high=high, missing=missing)

    def caveats(self, part: _Part) -> Iterator[Note]:
        """Yield the limits of the rate of all answers."""
        sample, n = part.sample, len(part.sample.response_ids)
        undecided, bounds = int(sample.undecided.sum()), part.bounds
        if sample.extras:
            counts = bounds is not None and part.share.value is None
            yield note("picked_labels_bounds" if counts else "picked_labels", n=sample.extras)
        if _many_undecided(sample) and bounds is not None and n and part.share.value is not None:
            yield note("undecided_bounds", n=undecided, low=bounds[0], high=bounds[1])
        elif _many_undecided(sample):
            yield note("undecided", n=undecided, answers=n + undecided)
        people = next(row.estimate for row in part.rows if row.figure == "people_alpha")
        if people.value is not None and people.n >= MIN_PAIRS and people.value < _LOW_ALPHA:
            yield note("people_differ", alpha=people.value, n=people.n)
        drawn, waiting = int(sample.drawn.sum()), int(sample.waiting.sum())
        if n and waiting > _MOST_UNDECIDED * drawn and drawn - waiting >= n / 2:
            yield note("waiting", waiting=waiting, drawn=drawn)
        rarer = round(min(sample.labels.values.sum(), n - sample.labels.values.sum()))
        if (
            self.loaded.grade == "label"
            and n
            and part.share.low is not None
            and rarer < _FEW_OF_RARER
        ):
            label = "bad" if sample.labels.values.mean() < 1 / 2 else "good"
            yield note("few_labels_of", label=label, n=rarer, labels=n)
        groups = len(sample.population.of_labelled)
        if self.target == "app" and MIN_PAIRS <= groups < FEW_GROUPS:
            yield note("few_groups", n=groups)

    def _agreement(
        self, sample: SampledLabels, inside: BoolArray | None, *, brief: bool
    ) -> tuple[Statistics, Statistics]:
        """Return the agreement of the judge and people in all answers, and in the graded answers."""
        if self.pairs is None or sample.hidden:
            return {}, {}
        in_all = in_all_answers(self.loaded, inside, self.target, sample)
        if brief and (in_all.is_weighted or in_all.described is None):
            return dict(in_all.statistics), {}
        pairs = self.pairs
        if inside is not None:
            pairs = pairs.at(np.isin(pairs.response_ids, self.loaded.answers.response_ids[inside]))
        of_graded = judge_statistics(pairs, only=STATISTICS_OF_ALL)
        graded_figures = dict(of_graded.estimates)
        if self.target == "app" and in_all.described is not None:
            return dict(for_all(of_graded, in_all)[0].estimates), graded_figures
        return dict(in_all.statistics), graded_figures

    def _bounds(self, sample: SampledLabels, inside: BoolArray | None) -> tuple[float, float]:
        rows: BoolArray | slice = slice(None) if inside is None else inside
        groups = renumbered(self.loaded.groups[rows])
        return bounds(
            sample.stratum_of, sample.is_sampled, self.loaded.values[rows], groups, self.target
        )

    def judge_share(self, sample: SampledLabels, inside: BoolArray | None) -> Estimate:
        """Return the judge's own share of bad answers, or its mean grade."""
        grade, population = self.loaded.grade, sample.population
        if sample.hidden:
            return unmeasured(0, "some answers are hidden")
        if grade == "label":
            judged_answers = self.loaded.judged(inside)
            answers = judged_answers.answers.round().astype(np.int64)
            hits = np.where([False, True], answers, 0), answers
            return judge_alone(judged_answers, np.ones(2, dtype=np.bool_), hits, None, self.target)
        rows = np.array([name.verdict != "unusable" for name in sample.strata], dtype=np.bool_)
        if 0 < sample.judged < round(float(population.answers[rows].sum())):
            value = float(population.scores[rows].sum()) / sample.judged
            return measured(
                value,
                sample.judged,
                reason="no interval: a stratum also has answers without a score",
            )
        alone = judge_alone(
            population, rows, None, "the logit" if grade == "groundedness" else None, self.target
        )

        return within_range(alone, *_RANGE_OF_MEAN[grade])


def sample_rate(sample: SampledLabels, target: Target = "app") -> tuple[Estimate, float | None]:
    """Return the share of bad answers (or the mean grade) in all answers of a sample, and its design effect.

    The labels are weighted by stratum. The design effect is None for means, and for ``these``
    answers.
    """
    population, labels = sample.population, sample.labels
    groups = len(population.of_labelled)
    if target == "app" and 0 < groups < MIN_PAIRS and population.total and not sample.has_gap:
        why = f"the labels cover only {counted(groups, 'evidence group')}, and at least {MIN_PAIRS} are needed"
        return unmeasured(len(labels.values), why), None
    if sample.grade != "label":
        mean = predicted_mean(
            population, labels, target=target, share=sample.grade == "groundedness"
        )
        return within_range(mean, *_RANGE_OF_MEAN[sample.grade]), None
    if target == "these":
        return rate(sample.counts, "these"), None
    return rate(sample.counts, "app", sample.app_effect), round(
        design_effect(population, labels), 6
    )


def _labels_only(sample: SampledLabels, grade: GradeName, n_answers: int) -> Estimate:
    """Return the share of all labels. The share has an interval only if nobody chose the labelled answers."""
    n = len(sample.all_values)
    if not n:
        return unmeasured(0, "no labels")
    if (
        grade == "label"
        and n < n_answers
        and (sample.extras or sample.hidden or not sample.is_random)
    ):
        return measured(
            float(sample.all_values.mean()),
            n,
            reason="no interval: the labels are no random sample",
        )
    if grade == "label":
        return share_intervals([round(float(sample.all_values.sum()))], [n])[0]
    return Estimate(
        round(float(sample.all_values.mean()), 12), n=n, reason="no interval: shown for comparison"
    )


def _from_elsewhere(
    connection: Connection,
    version: StoredVersion | None,
    choice: RateChoice,
    labels_from: RowFilter,
) -> Rate:
    """Return the rate by Rogan and Gladen: the judge's errors are measured on the labels of other answers."""
    if version is None:
        raise BadInput("labels from elsewhere need a judge")
    measure = _Measure.load(connection, version, choice)
    sample = measure.loaded.sample()
    elsewhere = labelled_answers(
        connection, version, labels_from, grade=choice.grade, implied_labels=choice.implied_labels
    ).sample()
    rows = ~np.isnan(elsewhere.all_verdicts)
    values, verdicts = elsewhere.all_values[rows] == 1, elsewhere.all_verdicts[rows] == 1
    bad = int(values.sum())
    share = rogan_gladen(
        sample.judged_bad,
        sample.judged,
        bad=bad,
        found=int((values & verdicts).sum()),
        good=len(values) - bad,
        passed=int((~values & ~verdicts).sum()),
    )
    of_verdicts = np.array([elsewhere.judged - elsewhere.judged_bad, elsewhere.judged_bad])
    labels = np.array([int((~verdicts).sum()), int(verdicts.sum())])
    if not len(values):
        share = unmeasured(0, "the answers from elsewhere have no label")
    elif not of_verdicts.all():
        share = unmeasured(len(values), _ONE_VERDICT.format("bad" if of_verdicts[1] else "good"))
    elif (equal_chances(of_verdicts, labels) < 1).any():
        share = unmeasured(len(values), _CHOSEN_ELSEWHERE)
    elif (
        share.low is not None and share.low == share.high
    ):  # even the interval is at an end of the scale
        share = unmeasured(len(values), _ERRS_OTHERWISE)
    share, answers = replace(share, n=len(values)), answers_of(choice.where)
    if share.value is None:
        headline = note("rate_unknown", answers=answers, missing=share.reason or "")
    else:
        headline = note(
            "rate_elsewhere", share=share, answers=answers, others=answers_of(labels_from)
        )
    figures = {
        "bad_answers": share,
        "answers": Estimate(sample.judged, n=sample.judged),
        "judge_alone": measure.judge_share(sample, None),
        "labels_alone": _labels_only(sample, choice.grade, round(sample.population.total)),
    }
    return Rate(
        about=replace(measure.about(sample), left_out=elsewhere.left_out),
        headline=headline,
        rows=tuple(Row.of(figure, ALL, each) for figure, each in figures.items()),
        target=choice.target,
        is_random=sample.is_random and not sample.extras,
    )


_CHOSEN_ELSEWHERE = (
    "the labels from elsewhere are of chosen answers: the judge's verdict changed the chance to get a label. Label a "
    "random sample of them"
)
_ONE_VERDICT = (
    "the judge calls all answers from elsewhere {}, so they show only one kind of its errors"
)
_ERRS_OTHERWISE = (
    "the judge's own share of bad answers does not fit its errors on the labels from elsewhere"
)


def _many_undecided(sample: SampledLabels) -> bool:
    undecided = int(sample.undecided.sum())
    return undecided > _MOST_UNDECIDED * (len(sample.response_ids) + undecided)


def answers_of(where: RowFilter) -> str:
    """Return which answers match: "all answers", "the answers of sql", "the answers from 12 Oct 2026"."""
    if where == RowFilter():
        return "all answers"
    is_days = where == RowFilter(day_from=where.day_from, day_to=where.day_to)
    words = describe(where)
    is_plain = is_days or where == RowFilter(no_time=True) or words.startswith("written by ")
    return f"the answers{'' if is_plain else ' of'} {words}"

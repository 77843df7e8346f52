"""Plans: how many answers people must label so that a figure is as precise as wanted, and how long that takes."""

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
from sqlalchemy import Connection

from judgeboard.agreement.samples import (
    JudgeVerdict,
    LabelledAnswers,
    Picked,
    SampledLabels,
    judging_version,
    sampled_labels,
)
from judgeboard.errors import BadInput
from judgeboard.stats.arrays import BoolArray, FloatArray, Grouping, grouping
from judgeboard.stats.estimates import percent
from judgeboard.stats.sample_size import (
    LEAST_EXPLAINED,
    LEAST_PILOT,
    UNKNOWN_SHARE,
    Target,
    allocated,
    correlation_in_groups,
    explained_by_strata,
    kappa_influence,
    labels_by_lot,
    labels_for_change,
    labels_for_kappa,
    labels_in_groups,
    planned_design_effect,
    smallest_change,
    stratified_half_width,
)
from judgeboard.store.filters import RowFilter
from judgeboard.store.judge_versions import StoredVersion, get_version
from judgeboard.store.planned_draw import LEAST_OF_STRATUM, DrawPlan, median_review_seconds
from judgeboard.store.strata import UNUSABLE
from judgeboard.text import counted

Question = Literal["rate", "kappa", "judges", "versions"]
QUESTIONS: dict[Question, str] = {
    "rate": "the share of bad answers",
    "kappa": "the kappa of the judge with people",
    "judges": "which of two judge versions agrees more with people",
    "versions": "which of two versions of the app has fewer bad answers",
}
"""What a plan can be for, in words."""


@dataclass(frozen=True, slots=True)
class PlannedStratum:
    """A stratum of a plan: ``labelled`` of its ``answers`` count already, ``labels`` more are sampled at random.

    ``inclusion_probability`` is that of an answer without a label.
    """

    picked: Picked
    verdict: JudgeVerdict | None
    answers: int
    labelled: int
    labels: int
    inclusion_probability: float

    @property
    def title(self) -> str:
        """Its name in words."""
        flagged = {"no": "not flagged", "yes": "flagged", "worst": "worst flagged"}[self.picked]
        judged = {None: "", "bad": ", judged bad", "good": ", judged good", "unusable": ", no usable verdict"}
        return flagged + judged[self.verdict]


@dataclass(frozen=True, slots=True)
class LabelPlan:
    """How many ``labels`` in all reach the wanted precision; ``more`` of them are still to be made.

    ``reach`` is the wanted plus or minus of a 95 % interval, or the smallest change to be found with probability 0.8.
    ``shows`` is what the planned labels will show, on the same scale; it is above ``reach`` if the answers are too few
    (``enough`` is False). ``minutes`` is None if no review has a measured time. ``by_lot`` is the number of labels that
    would be needed without the judge; for two judge versions, which need only labels of answers on which they differ,
    it is the number by lot. The pilot shows a ``share`` of bad answers, and the judge ``explained`` this part of the
    variance of its labels; both are None if the pilot is too small. ``name`` is the query type, None for all answers.
    """

    question: Question
    reach: float
    target: Target
    judges: tuple[str, ...]
    name: str | None = None
    answers: int = 0
    labelled: int = 0
    labels: int = 0
    more: int = 0
    enough: bool = True
    shows: float | None = None
    minutes: float | None = None
    seconds_per_review: float | None = None
    by_lot: int | None = None
    share: float | None = None
    explained: float | None = None
    design_effect: float = 1.0
    strata: tuple[PlannedStratum, ...] = ()
    sentences: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class _Pilot:
    """The labels that are there, and what they tell about the next ones.

    ``shares`` are the expected shares of bad answers by stratum, ``share`` that of all answers.
    """

    sample: SampledLabels
    answers: int
    answers_per_group: float
    groups: Grouping
    shares: tuple[float, ...]
    share: float

    @property
    def n(self) -> int:
        return len(self.sample.labels.values)

    @property
    def is_known(self) -> bool:
        return self.n >= LEAST_PILOT

    @property
    def weights(self) -> FloatArray:
        """How many answers each label stands for."""
        counts = self.sample.counts
        by_stratum = np.array([each.answers / max(each.labelled, 1) for each in counts])
        weights: FloatArray = by_stratum[self.sample.labels.strata]
        return weights

    @property
    def explained(self) -> float:
        """The part of the variance of the labels that the judge's verdicts explain, each label with its weight."""
        verdicts, values, weights = self.sample.verdicts, self.sample.labels.values, self.weights
        classes = [rows for rows in (verdicts == 1, verdicts == 0, np.isnan(verdicts)) if rows.any()]
        shares = [float(np.average(values[rows], weights=weights[rows])) for rows in classes]
        return explained_by_strata([float(weights[rows].sum()) for rows in classes], shares) if classes else 0.0

    @property
    def residuals(self) -> FloatArray:
        """The labels' differences from the share of their stratum."""
        shares = np.array([each.bad / max(each.labelled, 1) for each in self.sample.counts])
        residuals: FloatArray = self.sample.labels.values - shares[self.sample.labels.strata]
        return residuals


def plan_labels(
    connection: Connection,
    reach: float,
    question: Question = "rate",
    *,
    versions: Sequence[StoredVersion] = (),
    where: RowFilter | None = None,
    target: Target = "app",
    by_query_type: bool = False,
) -> tuple[LabelPlan, ...]:
    """Return the plan for a question, from the stored labels as a pilot; ``by_query_type`` adds one for each type.

    ``versions`` is the judge version whose verdicts are used, none for labels alone; for ``judges`` the two versions
    that are compared. Raises BadInput if ``reach`` is not between 0 and 1, no answer matches, or the number of versions
    does not fit.
    """
    if question not in get_args(Question):
        raise BadInput(f"a plan is for {', '.join(QUESTIONS)}, not {question!r}")
    if not 0 < reach < 1:
        raise BadInput(f"the reach must be above 0 and below 1, for example 0.05, not {reach:g}")
    if question == "judges" and len(versions) != 2:
        raise BadInput("a plan for judges compares two judge versions: give --judge-version twice")
    if question != "judges" and len(versions) > 1:
        raise BadInput(f"a plan for {question} uses one judge version: give --judge-version once")
    if question == "kappa" and not versions:
        raise BadInput("a plan for kappa needs a judge: make judgments with `judgeboard judge` first")
    sources = [LabelledAnswers(connection, version, where) for version in (versions or (None,))]
    if not len(sources[0].answers.response_ids):
        raise BadInput(
            "a plan needs answers: no judged answer matches" if versions else "a plan needs answers: none match"
        )
    start = LabelPlan(
        question,
        reach,
        target,
        tuple(version.title for version in versions),
        seconds_per_review=median_review_seconds(connection),
    )
    types = sources[0].answers.query_types.names if by_query_type else ()
    return tuple(_plan(replace(start, name=name), sources) for name in (None, *types))


def _plan(plan: LabelPlan, sources: Sequence[LabelledAnswers]) -> LabelPlan:
    masks = [_inside_type(source, plan.name) for source in sources]
    pilots = [_pilot(source.sample(inside)) for source, inside in zip(sources, masks, strict=True)]
    pilot, seconds = pilots[0], plan.seconds_per_review
    plan = replace(
        plan,
        answers=pilot.answers,
        labelled=pilot.n,
        share=pilot.share if pilot.is_known else None,
        explained=pilot.explained if pilot.is_known and plan.judges else None,
    )
    if plan.question == "rate":
        plan = _for_rate(plan, pilot)
    elif plan.question == "kappa":
        plan = _for_kappa(plan, pilot)
    elif plan.question == "judges":
        plan = _for_judges(plan, pilots, *_differing(sources, masks))
    else:
        plan = _for_versions(plan, pilot)
    minutes = None if seconds is None else plan.more * seconds / 60
    strata = _strata(pilot, plan.more) if plan.question in {"rate", "kappa"} else ()
    plan = replace(plan, minutes=minutes, strata=strata)
    return replace(plan, sentences=_sentences(plan))


def _inside_type(source: LabelledAnswers, name: str | None) -> BoolArray | None:
    """Return a mask of the answers of a query type, None for all answers."""
    types = source.answers.query_types
    if name is None:
        return None
    inside: BoolArray = types.codes == (types.names.index(name) if name in types.names else -1)
    return inside


def _differing(sources: Sequence[LabelledAnswers], masks: Sequence[BoolArray | None]) -> tuple[int, int]:
    """Return on how many answers two judge versions have a usable verdict, and on how many of these they differ."""
    one, other = (
        source.answers if inside is None else source.answers.at(inside)
        for source, inside in zip(sources, masks, strict=True)
    )
    _, at_one, at_other = np.intersect1d(one.response_ids, other.response_ids, return_indices=True)
    verdicts, others = one.verdicts[at_one], other.verdicts[at_other]
    usable = (verdicts != UNUSABLE) & (others != UNUSABLE)
    return int(usable.sum()), int((usable & (verdicts != others)).sum())


def _pilot(sample: SampledLabels) -> _Pilot:
    population, labels, counts = sample.population, sample.labels, sample.counts
    total, size = float(population.answers.sum()), population.count
    levels = shares = [UNKNOWN_SHARE] * size
    if len(labels.values) >= LEAST_PILOT:
        guessed = np.clip(population.means, 0.1, 0.9).tolist()
        levels = [
            each.bad / each.labelled if each.labelled else guess for each, guess in zip(counts, guessed, strict=True)
        ]
        # For the width (k + 1) / (n + 2), because no pilot shows that a stratum has no bad answer.
        shares = [
            (each.bad + 1) / (each.labelled + 2) if each.labelled else guess
            for each, guess in zip(counts, guessed, strict=True)
        ]
    return _Pilot(
        sample,
        round(total),
        float(population.moments[:size, :size].sum()) / total if total else 1.0,
        grouping(labels.groups, len(labels.values)),
        tuple(shares),
        float(population.answers @ np.array(levels)) / total if total else UNKNOWN_SHARE,
    )


def _for_rate(plan: LabelPlan, pilot: _Pilot) -> LabelPlan:
    counts = pilot.sample.counts
    labelled = [each.labelled for each in counts]
    left = [each.answers - each.labelled for each in counts]
    of_app = plan.target == "app"
    correlation = (correlation_in_groups(pilot.residuals, pilot.groups) or 0.0) if of_app else 0.0

    def effect_of(more: int) -> float:
        part = (pilot.n + more) / pilot.answers
        return planned_design_effect(1 + part * (pilot.answers_per_group - 1), correlation)

    def shown_by(more: int) -> float:
        drawn = allocated(more, left, least=LEAST_OF_STRATUM)
        n = [there + new for there, new in zip(labelled, drawn, strict=True)]
        answers = [each.answers for each in counts]
        return stratified_half_width(answers, n, pilot.shares, design_effect=effect_of(more), target=plan.target)

    more = bisect_left(range(sum(left)), -plan.reach, key=lambda number: -shown_by(number))
    by_lot, _ = labels_in_groups(
        lambda effect: labels_by_lot(
            plan.reach, pilot.share, answers=None if of_app else pilot.answers, design_effect=effect
        ),
        pilot.answers,
        pilot.answers_per_group,
        correlation,
    )
    return replace(
        plan,
        labels=pilot.n + more,
        more=more,
        enough=shown_by(more) <= plan.reach,
        shows=shown_by(more),
        by_lot=by_lot,
        design_effect=effect_of(more),
    )


def _for_kappa(plan: LabelPlan, pilot: _Pilot) -> LabelPlan:
    verdicts, labels = pilot.sample.verdicts, pilot.sample.labels
    usable = ~np.isnan(verdicts)
    deviation, correlation = 1.0, 0.0
    if usable.sum() >= LEAST_PILOT and 0 < labels.values[usable].mean() < 1:
        weights = pilot.weights[usable]
        influence = kappa_influence(verdicts[usable] == 1, labels.values[usable] == 1, weights)
        deviation = math.sqrt(float(np.average(np.square(influence), weights=weights)))
        correlation = correlation_in_groups(influence, pilot.groups.at(usable)) or 0.0
    needed, effect = labels_in_groups(
        lambda design_effect: labels_for_kappa(plan.reach, deviation, design_effect),
        pilot.answers,
        pilot.answers_per_group,
        correlation,
    )
    by_lot = needed or pilot.answers
    there = float(pilot.weights.sum()) ** 2 / float(np.square(pilot.weights).sum()) if pilot.n else 0.0
    more = min(max(round(by_lot - there), 0), pilot.answers - pilot.n)
    return replace(
        plan,
        labels=pilot.n + more,
        more=more,
        enough=by_lot <= pilot.answers,
        shows=plan.reach * math.sqrt(by_lot / max(min(by_lot, pilot.answers), there)),
        design_effect=effect,
    )


def _for_judges(plan: LabelPlan, pilots: Sequence[_Pilot], both: int, differ: int) -> LabelPlan:
    """Plan for two versions that both judged ``both`` answers and differ on ``differ`` of them."""
    if not both:
        raise BadInput("the two judge versions judged no answer in common: judge the same answers with both")
    discordant = differ / both
    plan = replace(plan, answers=both)
    differing = f"The two versions differ on {differ:,} of {both:,} answers"
    if discordant <= plan.reach:
        impossible = f"{differing}. Their agreement with people cannot differ by {_points(plan.reach)}."
        return replace(plan, enough=False, shows=discordant, sentences=(impossible,))
    one, other = (pilot.sample for pilot in pilots)
    _, at_one, at_other = np.intersect1d(one.response_ids, other.response_ids, return_indices=True)
    usable = ~(np.isnan(one.verdicts[at_one]) | np.isnan(other.verdicts[at_other]))
    at_one, at_other = at_one[usable], at_other[usable]
    bad = one.labels.values[at_one]
    change = (other.verdicts[at_other] == bad).astype(np.float64) - (one.verdicts[at_one] == bad)
    correlation = (correlation_in_groups(change, pilots[0].groups.at(at_one)) or 0.0) if len(change) else 0.0
    variance = discordant - plan.reach**2
    needed, effect = labels_in_groups(
        lambda design_effect: labels_for_change(plan.reach, variance, design_effect),
        both,
        pilots[0].answers_per_group,
        correlation,
    )
    by_lot = needed or both
    labels, labelled = round(min(by_lot, both) * discordant), int((change != 0).sum())
    sentence = (
        f"{differing}. Only these can tell the versions apart, so label these alone; by lot from all answers it would "
        f"take {by_lot:,} labels. They show the difference, not how far each version agrees with people."
    )
    return replace(
        plan,
        labelled=labelled,
        labels=labels,
        more=max(labels - labelled, 0),
        enough=by_lot <= both,
        shows=smallest_change(min(by_lot, both), variance, effect),
        by_lot=by_lot,
        design_effect=effect,
        sentences=(sentence,),
    )


def _for_versions(plan: LabelPlan, pilot: _Pilot) -> LabelPlan:
    spread = pilot.share * (1 - pilot.share)
    labels = labels_for_change(plan.reach, 2 * (1 - (plan.explained or 0.0)) * spread)
    sentence = (
        f"These are {labels:,} of each version, for answers to different questions. Answers of both versions to the "
        "same questions need fewer."
    )
    return replace(
        plan,
        labelled=0,
        labels=2 * labels,
        more=2 * labels,
        shows=plan.reach,
        by_lot=2 * labels_for_change(plan.reach, 2 * spread),
        sentences=(sentence,),
    )


def _strata(pilot: _Pilot, more: int) -> tuple[PlannedStratum, ...]:
    counts = pilot.sample.counts
    left = [each.answers - each.labelled for each in counts]
    drawn = allocated(more, left, least=LEAST_OF_STRATUM)
    return tuple(
        PlannedStratum(*name, each.answers, each.labelled, n, n / free if free else 1.0)
        for name, each, free, n in zip(pilot.sample.strata, counts, left, drawn, strict=True)
    )


def _sentences(plan: LabelPlan) -> tuple[str, ...]:
    parts = (_first(plan), _of_judge(plan), _of_pilot(plan), *plan.sentences, _stopping(plan))
    return tuple(part for part in parts if part is not None)


def _first(plan: LabelPlan) -> str | None:
    if plan.question == "judges" and plan.by_lot is None:
        return None  # the versions differ too little, which another sentence says
    is_interval, of = plan.question in {"rate", "kappa"}, "" if plan.name is None else f" for {plan.name}"
    wanted, shows = (_points(x or 0.0, kappa=plan.question == "kappa") for x in (plan.reach, plan.shows))
    goal = f"To know {QUESTIONS[plan.question]}{of}"
    goal += f" to ±{wanted}" if is_interval else f", if they differ by {wanted} or more"
    if not plan.enough:
        return (
            f"{goal}, the {plan.answers:,} answers are too few, even if all are labelled. Labelling all shows "
            f"{'±' if is_interval else 'a difference of '}{shows}. Log and judge more answers."
        )
    if not plan.more:
        return f"{goal}, the {counted(plan.labelled, 'label')} there are enough."
    time = "" if plan.minutes is None else f", about {_time(plan.minutes)}"
    there = (
        "no label is there yet"
        if not plan.labelled
        else f"{plan.labelled:,} {'is' if plan.labelled == 1 else 'are'} there"
    )
    return f"{goal}, {plan.labels:,} labels are needed: {there}, {plan.more:,} more to make{time}."


def _of_judge(plan: LabelPlan) -> str | None:
    if plan.question not in {"rate", "versions"}:
        return None
    if not plan.judges:
        return "There is no judge. With its verdicts on all answers, fewer labels may be needed."
    if plan.explained is None:
        return None
    judge, by_lot = plan.judges[0], f"{plan.by_lot:,} labels by lot would be needed"
    if plan.explained < LEAST_EXPLAINED:
        explains = f"{judge} saves nothing: it explains {percent(plan.explained)} of the variance of people's labels."
        return f"{explains} Without flags and verdicts, {by_lot}."
    return f"Without flags and the verdicts of {judge}, {by_lot}."


def _of_pilot(plan: LabelPlan) -> str | None:
    if plan.question == "judges":
        return None
    if plan.share is None:
        return (
            f"This is the worst case: half of the answers bad, and a judge that is no help. Plan again after "
            f"{LEAST_PILOT} labels."
        )
    judge = "" if plan.explained is None else f", and the judge explains {percent(plan.explained)} of the variance"
    groups = f" Evidence groups multiply the variance by {plan.design_effect:.2f}." if plan.design_effect > 1 else ""
    return f"In the labels there are, {percent(plan.share)} of all answers are bad{judge}.{groups}"


def _stopping(plan: LabelPlan) -> str:
    if plan.question in {"rate", "kappa"}:
        return "You may look after every label, and stop when the interval is narrow enough."
    return "Look at the result once, after the last label: stopping as soon as it differs finds differences by luck."


def _points(reach: float, *, kappa: bool = False) -> str:
    return f"{reach:.3g}" if kappa else f"{100 * reach:.3g} percentage points"


def _time(minutes: float) -> str:
    if minutes < 90:
        return counted(max(round(minutes), 1), "minute")
    return f"{minutes / 60:.1f} hours"


def plan_versions(connection: Connection, names: Sequence[str] = ()) -> tuple[StoredVersion, ...]:
    """Return the judge versions with these names; without names, that of `judging_version`, if there is one."""
    if names:
        return tuple(get_version(connection, name) for name in names)
    version = judging_version(connection)
    return () if version is None else (version,)


def draw_plan(connection: Connection, where: RowFilter, judge_version: str | None = None) -> DrawPlan:
    """Return what decides the draw of a planned queue: the judge version, and the labels that are a sample already."""
    versions = plan_versions(connection, () if judge_version is None else (judge_version,))
    version = versions[0] if versions else None
    labelled = np.unique(sampled_labels(connection, version, where).response_ids)
    return DrawPlan(labelled=labelled) if version is None else DrawPlan(version.id, version.title, labelled)

"""Plans: how many answers people must label so that a figure is as precise as wanted, and how long that takes."""

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import get_args

import numpy as np
from sqlalchemy import Connection

from judgeboard.errors import BadInput
from judgeboard.measure.alarms import share_changes
from judgeboard.measure.all_answers import judged_sample, labels_to_narrow, what_to_label
from judgeboard.measure.label_plans import (
    EXACT,
    QUESTIONS,
    CorrelationFrom,
    PlanGoal,
    PlanNeed,
    Question,
    plan_result,
    stratum_title,
)
from judgeboard.measure.rates import sample_rate
from judgeboard.measure.result import Result, Row
from judgeboard.measure.samples import LabelledAnswers, SampledLabels, judging_version
from judgeboard.measure.versus import BothJudged, more_labels
from judgeboard.stats.arrays import FloatArray, Grouping, IntArray, grouping
from judgeboard.stats.estimates import MIN_PAIRS, Z
from judgeboard.stats.rates import Target
from judgeboard.stats.sample_size import (
    ASSUMED_CORRELATION,
    LEAST_PILOT,
    POWER,
    UNKNOWN_SHARE,
    allocated,
    correlation_in_groups,
    explained_by_strata,
    labels_by_lot,
    labels_for_change,
    labels_for_kappa,
    labels_in_groups,
    smallest_change,
    stratified_half_width,
)
from judgeboard.store.filters import RowFilter, conditions_of
from judgeboard.store.judge_versions import get_version
from judgeboard.store.strata import LEAST_OF_STRATUM, DrawPlan, review_time
from judgeboard.store.tables import StoredVersion

# A small pilot may show less by chance, and the labels then seem too much alike.
_LEAST_EXPLAINED = 0.2
# The errors of a judge are alike in a group too, so verdicts can suggest too high a correlation: in
# RAGTruth, the verdicts of seven judges give 0.43 to 1, and the labels have 0.156.
_MOST_TAKEN = 0.4
NUMBERS = (
    10,
    20,
    30,
    50,
    75,
    100,
    125,
    150,
    175,
    200,
    250,
    300,
    400,
    500,
    600,
    800,
    1_000,
    1_500,
    2_000,
    3_000,
    5_000,
)
"""The numbers of labels that a lead can choose from."""


@dataclass(frozen=True, slots=True, eq=False)
class _Pilot:
    """The stored labels as a pilot for the next labels.

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
        """The number of answers that each label represents."""
        counts = self.sample.counts
        by_stratum = np.array([each.answers / max(each.labelled, 1) for each in counts])
        return by_stratum[self.sample.labels.strata]

    @property
    def explained(self) -> float:
        """The part of the variance of the labels that the judge's verdicts explain, each label with its weight."""
        verdicts, values, weights = self.sample.verdicts, self.sample.labels.values, self.weights
        classes = [
            rows for rows in (verdicts == 1, verdicts == 0, np.isnan(verdicts)) if rows.any()
        ]
        shares = [float(np.average(values[rows], weights=weights[rows])) for rows in classes]
        return (
            explained_by_strata([float(weights[rows].sum()) for rows in classes], shares)
            if classes
            else 0.0
        )

    @property
    def correlation(self) -> tuple[float, CorrelationFrom]:
        """The correlation of two labels of one evidence group, and the source of this value.

        With too few labels in common groups, the judge's verdicts on all answers give the
        correlation. Errors of the judge make verdicts less alike than labels: the correlation of
        verdicts is that of the labels times the part of the variance that verdicts explain. This
        part is available only if every stratum has a label.
        """
        of_labels = correlation_in_groups(self.sample.labels.values, self.groups)
        if of_labels is not None:
            return of_labels, "labels"
        population = self.sample.population
        size, total = population.count, population.total
        mean, squares = (
            float(population.scores.sum()) / max(total, 1),
            float(population.squares.sum()),
        )
        variation = squares - total * mean**2
        if self.answers_per_group <= 1 or variation <= 0:
            return ASSUMED_CORRELATION, "assumed"
        factors = np.concatenate([np.full(size, -mean), np.ones(size)])
        by_group = float(factors @ population.moments @ factors) / variation
        of_verdicts = min(max((by_group - 1) / (self.answers_per_group - 1), 0.0), 1.0)
        least = max(of_verdicts, ASSUMED_CORRELATION)
        if not self.is_known or self.sample.has_gap:
            return least, "assumed"
        estimate = min(of_verdicts / max(self.explained, _LEAST_EXPLAINED), _MOST_TAKEN)
        return max(estimate, least), "verdicts" if estimate >= ASSUMED_CORRELATION else "assumed"


def plan_labels(
    connection: Connection,
    reach: float,
    question: Question = "rate",
    *,
    versions: Sequence[StoredVersion] = (),
    where: RowFilter | None = None,
    target: Target = "app",
    by_query_type: bool = False,
) -> tuple[Result, ...]:
    """Return the plan for a question, from the stored labels as a pilot; ``by_query_type`` adds one for each type.

    ``versions`` is the judge version whose verdicts are used, none for labels alone; for ``judges``
    the two versions to compare. Raises BadInput if ``reach`` is not between 0 and 1, no answer
    matches, or the number of versions does not fit.
    """
    if question not in get_args(Question):
        raise BadInput(f"a plan is for {', '.join(QUESTIONS)}, not {question!r}")
    if not EXACT < reach < 1:
        raise BadInput(
            f"the reach must be above {EXACT:g} and below 1, for example 0.05, not {reach:g}"
        )
    if question == "judges" and len(versions) != 2:
        raise BadInput("a plan for judges compares two judge versions: give --judge-version twice")
    if question != "judges" and len(versions) > 1:
        raise BadInput(f"a plan for {question} uses one judge version: give --judge-version once")
    if question == "kappa" and not versions:
        raise BadInput(
            f"a plan for {question} needs a judge: make judgments with `judgeboard judge` first"
        )
    both = (
        BothJudged(connection, (versions[0], versions[1]), where) if question == "judges" else None
    )
    sources = (
        [both.loaded, both.other]
        if both
        else [
            LabelledAnswers(connection, version, where, scores=False)
            for version in versions or (None,)
        ]
    )
    if not len(sources[0].answers.response_ids):
        raise BadInput(
            "a plan needs answers: no judged answer matches"
            if versions
            else "a plan needs answers: none match"
        )
    start = PlanGoal(
        question,
        reach,
        target,
        tuple(version.title for version in versions),
        conditions=tuple(conditions_of(where or RowFilter())),
        seconds_per_review=review_time(connection).value,
        made_prompt=_made_prompt(sources),
    )
    if question == "rate" and where in {None, RowFilter()}:
        start = replace(start, changes=tuple(share_changes(connection)))
    sources[0].check_nothing_hidden("a plan")
    inside: dict[str | None, IntArray | None] = {None: None}
    if by_query_type:
        inside.update(
            (name, rows) for name, rows in sources[0].answers.query_types.positions().items()
        )
    starts = [start]
    for name in (each for each in inside if each is not None):
        of_type = tuple(conditions_of(replace(where or RowFilter(), query_types=(name,))))
        starts.append(replace(start, name=name, made_prompt={}, changes=(), conditions=of_type))
    return tuple(
        _plan(each, sources[0], rows, where) if both is None else _for_judges(each, both, rows)
        for each, rows in zip(starts, inside.values(), strict=True)
    )


def plans_for_rate(
    connection: Connection, version: StoredVersion | None, *, target: Target = "app"
) -> tuple[Result, ...]:
    """Return what each of the `NUMBERS` of further labels shows of the share of bad answers, the smallest first.

    Numbers that leave a stratum without a label are left out. Raises BadInput if there are no
    answers.
    """
    source = LabelledAnswers(connection, version, scores=False)
    if not len(source.answers.response_ids):
        raise BadInput("a plan needs judged answers: `judgeboard judge --judge lexical`")
    source.check_nothing_hidden("a plan")
    pilot = _pilot(source.sample())
    goal = PlanGoal(
        "rate",
        1.0,
        target,
        () if version is None else (version.title,),
        seconds_per_review=review_time(connection).value,
        made_prompt=_made_prompt([source]),
    )
    unlabelled = pilot.answers - pilot.n
    numbers = [*(number for number in NUMBERS if number < unlabelled), min(unlabelled, NUMBERS[-1])]
    needs = [_for_rate(goal, pilot, more) for more in numbers]
    usable = [need for need in needs if math.isfinite(need.shows)] or needs[-1:]
    return tuple(_completed(replace(goal, reach=need.shows), need, pilot) for need in usable)


def _made_prompt(sources: Sequence[LabelledAnswers]) -> dict[str, int]:
    """Return by judge how many answers are left out because the judge's prompt was made with these answers."""
    counts = (
        (each.version, each.left_out["prompt_examples"] + each.left_out["develop"])
        for each in sources
    )
    return {version.title: n for version, n in counts if version is not None and n}


def _plan(
    goal: PlanGoal, source: LabelledAnswers, rows: IntArray | None, where: RowFilter | None
) -> Result:
    """Return a plan for these rows of the source (None: all rows)."""
    if goal.question == "rate":
        return plan_of_rate(goal, source.sample(rows), where)
    pilot = _pilot(judged_sample(source, rows))
    sample, kappa = pilot.sample, None
    # If a part of the answers has no label, the other labels show no kappa of all answers.
    if pilot.is_known and not sample.has_gap:
        kappa = labels_to_narrow(sample, goal.reach, goal.target)
    if kappa is not None and kappa.shows == 0 and (goal.target == "app" or pilot.n < pilot.answers):
        kappa = None  # all labels or all verdicts are alike, so nothing shows how kappa varies
    if kappa is None:
        of_these = pilot.answers if goal.target == "these" else None
        labels = labels_for_kappa(goal.reach, answers=of_these)
        there = 0 if sample.has_gap else pilot.n
        more, effect = min(max(labels - there, 0), pilot.answers - pilot.n), 1.0
        shows = goal.reach * math.sqrt(max(labels / pilot.answers, 1.0))
    else:
        more, shows, effect = kappa.more, kappa.shows, kappa.design_effect
    need = PlanNeed(
        answers=pilot.answers,
        labelled=pilot.n,
        more=more,
        shows=shows,
        share=pilot.share if pilot.is_known else None,
        explained=pilot.explained if pilot.is_known else None,
        design_effect=effect,
        is_rough=kappa is not None and kappa.is_rough,
    )
    return _completed(goal, need, pilot, where)


def plan_of_rate(goal: PlanGoal, sample: SampledLabels, where: RowFilter | None = None) -> Result:
    """Return a plan for the share of bad answers that match, with the labels so far as a pilot."""
    pilot = _pilot(sample)
    return _completed(goal, _for_rate(goal, pilot), pilot, where)


def _completed(
    goal: PlanGoal, need: PlanNeed, pilot: _Pilot, where: RowFilter | None = None
) -> Result:
    """Return a plan with its strata, and the answers that come first."""
    sample = pilot.sample
    # Before the plan, people label the open answers of the random sample, if a part has no label
    # that counts. A sample with more open answers than the plan does not come first, unless some
    # labels of the sample wait for the others.
    least = MIN_PAIRS if goal.question == "kappa" else 1
    first = what_to_label(sample, least=least, where=where)
    if first is not None and (
        goal.name is not None
        or need.shows_nothing(goal.reach)
        or first.queue is not None  # the plan has labels of all parts
        or (0 < need.more < first.waiting and not first.uncounted)
    ):
        first = None
    unlabelled = [each.answers - each.labelled for each in sample.counts]
    allocation = allocated(need.more, unlabelled, least=LEAST_OF_STRATUM)
    rows = [
        Row(figure, stratum_title(name, sample.strata), value, n=each.labelled)
        for name, each, free, more in zip(
            sample.strata, sample.counts, unlabelled, allocation, strict=True
        )
        for figure, value in (
            ("answers", each.answers),
            ("labelled", each.labelled),
            ("more", more),
            ("inclusion_probability", more / free if free else 1.0),
        )
    ]
    return plan_result(goal, need, rows, extras=sample.extras, first=first)


def _pilot(sample: SampledLabels) -> _Pilot:
    population, labels, counts = sample.population, sample.labels, sample.counts
    total, size = float(population.answers.sum()), population.count
    levels = shares = [UNKNOWN_SHARE] * size
    if len(labels.values) >= LEAST_PILOT:
        guesses = np.clip(population.means, 0.1, 0.9).tolist()
        levels = [
            each.bad / each.labelled if each.labelled else guess
            for each, guess in zip(counts, guesses, strict=True)
        ]
        # For the width (k + 1) / (n + 2), because no pilot shows that a stratum has no bad answer.
        shares = [
            (each.bad + 1) / (each.labelled + 2) if each.labelled else guess
            for each, guess in zip(counts, guesses, strict=True)
        ]
    return _Pilot(
        sample,
        round(total),
        float(population.moments[:size, :size].sum()) / total if total else 1.0,
        grouping(labels.groups, len(labels.values)),
        tuple(shares),
        float(population.answers @ np.array(levels)) / total if total else UNKNOWN_SHARE,
    )


def _for_rate(goal: PlanGoal, pilot: _Pilot, more: int | None = None) -> PlanNeed:
    """Plan ``more`` labels and return what these labels reach; by default, as many labels as the goal needs."""
    counts = pilot.sample.counts
    labels = [each.labelled for each in counts]
    unlabelled = [each.answers - each.labelled for each in counts]
    of_app = goal.target == "app"
    correlation, origin = pilot.correlation if of_app else (0.0, None)

    def width(more: int, effect: float = 1.0) -> float:
        allocation = allocated(more, unlabelled, least=LEAST_OF_STRATUM)
        n = [there + new for there, new in zip(labels, allocation, strict=True)]
        answers = [each.answers for each in counts]
        return stratified_half_width(
            answers, n, pilot.shares, design_effect=effect, target=goal.target
        )

    def effect_of(more: int) -> float:
        """Return the design effect. Answers of a group add their covariance, with or without a label."""
        variance = (width(more) / Z) ** 2
        covariance = (
            (pilot.answers_per_group - 1)
            * correlation
            * pilot.share
            * (1 - pilot.share)
            / pilot.answers
        )
        return 1 + covariance / variance if variance > 0 else 1.0

    def shown_by(more: int) -> float:
        return width(more, effect_of(more))

    reach, is_given = goal.reach, more is not None
    narrow = None
    if more is None and pilot.is_known:
        # The interval of `judgeboard labels rate` may reach the goal already.
        of_rate, _ = sample_rate(pilot.sample, goal.target)
        if of_rate.low is not None and of_rate.high is not None:
            half = (of_rate.high - of_rate.low) / 2
            narrow = half if half <= goal.reach else None
    if narrow is not None:
        more = 0
    elif more is None:
        more = bisect_left(range(sum(unlabelled)), -reach, key=lambda number: -shown_by(number))
    else:
        reach = max(shown_by(more), EXACT)
    by_lot, _ = labels_in_groups(
        lambda effect: labels_by_lot(
            reach, pilot.share, answers=None if of_app else pilot.answers, design_effect=effect
        ),
        pilot.answers,
        pilot.answers_per_group,
        correlation,
    )
    return PlanNeed(
        answers=pilot.answers,
        labelled=pilot.n,
        more=more,
        shows=reach if is_given else shown_by(more) if narrow is None else narrow,
        by_lot=by_lot,
        share=pilot.share if pilot.is_known else None,
        explained=pilot.explained if pilot.is_known and goal.judges else None,
        design_effect=effect_of(more),
        correlation=correlation if pilot.answers_per_group > 1 else None,
        correlation_from=origin,
    )


def _for_judges(goal: PlanGoal, both: BothJudged, rows: IntArray | None) -> Result:
    """Plan for two versions, with as many labels as `versus` would need for a change of the size ``reach``."""
    inside = None if rows is None else np.isin(both.rows, rows)
    contrast = both.compare(inside=inside)
    answers, differing, unlabelled = (
        contrast.about.counts[name] for name in ("answers", "differing", "unlabelled")
    )
    if not answers:
        raise BadInput(
            "the two judge versions judged no answer in common: judge the same answers with both"
        )
    discordant = differing / answers
    labels = differing - unlabelled
    if discordant <= goal.reach:
        need = PlanNeed(
            answers=answers, labelled=labels, more=0, shows=discordant, differing=differing
        )
        return plan_result(goal, need)
    change, by_change = (contrast.figure(name).value for name in ("change", "labels_needed"))
    variance = (
        by_change * (change / POWER) ** 2 if by_change and change else discordant - goal.reach**2
    )
    by_lot = labels_for_change(goal.reach, variance)
    need = PlanNeed(
        answers=answers,
        labelled=labels,
        more=more_labels(contrast, by_lot) if by_lot <= answers else unlabelled,
        shows=smallest_change(min(by_lot, answers), variance),
        by_lot=by_lot,
        differing=differing,
    )
    return plan_result(goal, need)


def plan_versions(connection: Connection, names: Sequence[str] = ()) -> tuple[StoredVersion, ...]:
    """Return the judge versions with these names; without names, that of `judging_version`, if there is one.

    Raises BadInput if two names are of the same version.
    """
    if names:
        versions = tuple(get_version(connection, name) for name in names)
        if len({each.id for each in versions}) < len(versions):
            raise BadInput(
                f"{versions[0].title} cannot be compared with itself: name two judge versions"
            )
        return versions
    version = judging_version(connection)
    return () if version is None else (version,)


def draw_plan(
    connection: Connection, where: RowFilter, judge_versions: Sequence[str] = ()
) -> DrawPlan:
    """Return what decides the draw of a planned queue, for the judge versions with these names (default: the primary).

    For one version, or none, the answers represent all answers, and labels of a random sample are
    not drawn again. For two versions, the answers are those on which both differ, and labels of a
    random sample of differing answers are not drawn again.
    """
    first, other = (*plan_versions(connection, judge_versions), None, None)[:2]
    if first is None or other is None:
        plan, sample = DrawPlan(), LabelledAnswers(connection, first, where).sample()
    else:
        plan = DrawPlan(other_id=other.id, other_judge=other.title)
        sample = BothJudged(connection, (first, other), where).sampled_where_they_differ()
    if first is not None:
        plan = replace(plan, version_id=first.id, judge=first.title)
    return replace(plan, labelled=np.unique(sample.response_ids))

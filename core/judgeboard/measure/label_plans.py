"""A plan of labels as a result: how many labels in which strata, what they show, and what was assumed."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from judgeboard.measure.alarms import ShareChange
from judgeboard.measure.all_answers import ToLabel, other_verdicts
from judgeboard.measure.notes import Note, note
from judgeboard.measure.result import ALL, About, Result, Row
from judgeboard.measure.samples import FEW_HIDDEN, JudgeVerdict, Picked, StratumName
from judgeboard.stats.rates import Target
from judgeboard.stats.sample_size import LEAST_EXPLAINED, LEAST_PILOT
from judgeboard.text import counted

CorrelationFrom = Literal["labels", "verdicts", "assumed"]
"""The source of the correlation of labels of one evidence group: labels, the judge's verdicts, or an assumption."""

_LEAST_EFFECT = 1.01  # of a design effect

Question = Literal["rate", "kappa", "judges"]
EXACT = 1e-9
"""The plus or minus of a share at which nothing is left to label."""

QUESTIONS: dict[Question, str] = {
    "rate": "the share of bad answers",
    "kappa": "the kappa of the judge with people",
    "judges": "which of two judge versions agrees more with people",
}
"""The purposes of a plan, in words."""

SHOWS_NOTHING = 0.5
"""Labels show nothing if an interval is this wide to each side, or if only so large a change would be found."""


@dataclass(frozen=True, slots=True)
class PlanGoal:
    """The purpose of a plan.

    ``reach`` is the plus or minus of a 95 % interval to reach, or the smallest change to be found
    with probability 0.8. ``name`` is the query type, None for all answers; ``conditions``
    (``field=value``) select the answers. ``made_prompt`` counts by judge the answers that are left
    out because the judge's prompt was made with these answers. ``changes`` of the share lie within
    the answers.
    """

    question: Question
    reach: float
    target: Target = "app"
    judges: tuple[str, ...] = ()
    name: str | None = None
    conditions: tuple[str, ...] = ()
    seconds_per_review: float | None = None
    made_prompt: Mapping[str, int] = field(default_factory=dict)
    changes: tuple[ShareChange, ...] = ()

    def words(self, reach: float) -> str:
        """Return what labels show for this reach: "the share of bad answers to ±5 percentage points"."""
        figure = (
            QUESTIONS[self.question]
            if self.name is None
            else f"{QUESTIONS[self.question]} for {self.name}"
        )
        if self.question != "judges":
            return f"{figure} to {reach_words(reach, kappa=self.question == 'kappa', sign='±')}"
        return f"{figure}, if they differ by {reach_words(reach)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanNeed:
    """How many labels a goal needs: ``more`` besides the ``labelled`` ones, of so many ``answers``.

    ``shows`` is what all these labels show, on the scale of the goal's reach. ``by_lot`` is the
    number of labels needed without the judge; for two judge versions, the number by lot. The pilot
    shows a ``share`` of bad answers. The judge's verdicts ``explained`` this part of the variance
    of the pilot's labels. Both are None if the pilot is too small. ``is_rough``: more labels may be
    needed. ``differing`` are the answers on which two judge versions differ.
    """

    answers: int
    labelled: int
    more: int
    shows: float
    by_lot: int | None = None
    share: float | None = None
    explained: float | None = None
    design_effect: float = 1.0
    correlation: float | None = None
    correlation_from: CorrelationFrom | None = None
    is_rough: bool = False
    differing: int | None = None

    def reaches(self, reach: float) -> bool:
        """Whether the answers are enough for this reach."""
        if self.differing is None:
            return self.shows <= reach
        return self.by_lot is not None and self.by_lot <= self.answers

    def shows_nothing(self, reach: float) -> bool:
        """Whether the answers are so few that labels of all answers would show nothing."""
        is_known = self.differing is None or self.by_lot is not None
        return is_known and not self.reaches(reach) and self.shows >= SHOWS_NOTHING


_FLAGGED: dict[Picked, str] = {"no": "not flagged", "yes": "flagged", "any": "flagged or not"}
_JUDGED: dict[JudgeVerdict, str] = {
    "bad": "judged bad",
    "good": "judged good",
    "unusable": "no usable verdict",
}


def stratum_title(stratum: StratumName, strata: Sequence[StratumName]) -> str:
    """Return the name of one of the ``strata`` in words. Without a verdict, a stratum has all verdicts of no other."""
    parts = [_FLAGGED[stratum.picked]]
    if stratum.verdict is not None:
        parts.append(_JUDGED[stratum.verdict])
    else:
        others = (
            each for each in strata if each.is_later == stratum.is_later and each is not stratum
        )
        verdicts = {each.verdict for each in others if each.picked == stratum.picked}
        if verdicts and (
            rest := " or ".join(_JUDGED[verdict] for verdict in other_verdicts(verdicts))
        ):
            parts.append(rest)
    return ", ".join([*parts, "later"] if stratum.is_later else parts)


def plan_number(plan: Result, figure: str = "more") -> int:
    """Return a number of a plan: of the labels to make (``more``), of all ``labels``, or of ``labelled`` answers."""
    return int(plan.figure(figure).value or 0)


def plan_result(
    goal: PlanGoal,
    need: PlanNeed,
    strata: Sequence[Row] = (),
    *,
    extras: int = 0,
    first: ToLabel | None = None,
) -> Result:
    """Return a plan as a result; ``first`` are answers to label before the plan.

    Args:
        goal: The purpose of the plan.
        need: How many labels the goal needs.
        strata: The numbers of answers and labels of each stratum.
        extras: The number of labels that do not count, because they are not known to be a random
            sample.
        first: The open answers of the random sample, if a new plan follows after their labels.
    """
    headline = _headline(goal, need, first)
    minutes = None if goal.seconds_per_review is None else need.more * goal.seconds_per_review / 60
    figures = {
        "answers": need.answers,
        "labelled": need.labelled,
        "more": need.more,
        "labels": need.labelled + need.more,
        "reach": goal.reach,
        "shows": need.shows,
        "minutes": minutes,
        "by_lot": need.by_lot,
        "bad_share": need.share,
        "explained": need.explained,
        "design_effect": need.design_effect,
        "correlation": need.correlation,
    }
    reasons = {
        "correlation": need.correlation_from,
        "minutes": None if minutes else "no review has a measured time",
    }
    rows = (
        Row(name, ALL, value, n=need.labelled, reason=reasons.get(name))
        for name, value in figures.items()
    )
    caveats = [note("plan_prompt", judge=judge, n=n) for judge, n in goal.made_prompt.items()]
    next_steps: list[Note] = []
    # Otherwise the only advice is to log more answers, before any further label.
    if headline.code != "plan_shows_nothing":
        plan = f"judgeboard labels plan --for {goal.question} --reach {goal.reach:g}"
        over = [
            note("plan_over_a_change", change=each.sentence, command=f"{plan} --where {each.since}")
            for each in goal.changes
        ]
        has_gap = any(row.figure == "labelled" and not row.value for row in strata)
        caveats = [*over, *_assumptions(goal, need, extras, has_gap=has_gap), *caveats]
        next_steps += _next(goal, need, headline.code, first)
    return Result(
        about=About(
            judges=goal.judges,
            grade=goal.question,
            where={"query_type": goal.name} if goal.name else {"conditions": goal.conditions},
            by="stratum",
            counts={
                "answers": need.answers,
                "extras": extras,
                "left_out": sum(goal.made_prompt.values()),
            },
        ),
        headline=headline,
        rows=(*rows, *strata),
        caveats=tuple(caveats),
        next=tuple(next_steps),
    )


def _headline(goal: PlanGoal, need: PlanNeed, first: ToLabel | None) -> Note:
    goal_words = goal.words(goal.reach)
    if first is not None:
        return note("plan_sample_first", waiting=first.waiting, missing=first.missing)
    if not need.reaches(goal.reach):
        if need.differing is not None and need.by_lot is None:
            return note("plan_versions_alike", differing=need.differing, answers=need.answers)
        code = "plan_shows_nothing" if need.shows_nothing(goal.reach) else "plan_too_few"
        return note(code, answers=need.answers, goal=goal_words)
    if not need.more:
        return note("plan_enough", labels=need.labelled, shows=goal.words(need.shows))
    return note(
        "plan_label_at_least" if need.is_rough else "plan_label", labels=need.more, goal=goal_words
    )


def _assumptions(goal: PlanGoal, need: PlanNeed, extras: int, *, has_gap: bool) -> Iterator[Note]:
    """Yield what a plan does not count, and what it assumes."""
    if extras:
        yield note("plan_extras", n=extras)
    if goal.question == "judges":
        if need.differing is not None:
            yield note("plan_differing", differing=need.differing, answers=need.answers)
        return
    if need.share is None:
        yield note("plan_assumes_worst", least=LEAST_PILOT)
    elif has_gap:
        yield note("plan_has_gap", share=need.share)
    if not goal.judges:
        yield note("plan_without_judge")
    elif need.explained is not None and need.explained < LEAST_EXPLAINED and not has_gap:
        yield note("plan_judge_saves_nothing", judge=goal.judges[0], explained=need.explained)
    if (
        need.correlation is not None
        and need.correlation_from != "labels"
        and need.design_effect >= _LEAST_EFFECT
    ):
        yield note("plan_assumes_alike", correlation=need.correlation)


def _next(goal: PlanGoal, need: PlanNeed, code: str, first: ToLabel | None) -> Iterator[Note]:
    """Yield the queue of a plan, and when to stop. Commands of queues are not in the sentences."""
    if code == "plan_too_few":
        yield note("plan_all_show", answers=need.answers, shows=goal.words(need.shows))
    if first is not None:
        yield first.next_note
    elif code == "plan_too_few" and goal.question == "rate" and not need.labelled:
        yield note("plan_first_figure")
    elif need.more and (code != "plan_too_few" or goal.question == "judges"):
        options = [word for title in goal.judges for word in ("--judge-version", title)] * (
            goal.question == "judges"
        )
        options += [word for condition in goal.conditions for word in ("--where", condition)]
        kind = "judges" if goal.question == "judges" else "rate"
        words = [
            "judgeboard",
            "queue",
            "create",
            goal.question,
            "--plan",
            kind,
            "--n",
            str(need.more),
            *options,
        ]
        yield note("plan_queue", command=shlex.join(words))
    if not need.more or code == "plan_too_few":
        return
    if goal.question == "judges":
        yield note("plan_look_once")
        return
    yield note("plan_stop")
    if need.more > (few := int(FEW_HIDDEN * need.answers)):
        yield note("plan_hidden", figure=QUESTIONS[goal.question], few=few)


def reach_words(reach: float, *, kappa: bool = False, sign: str = "") -> str:
    """Return a precision or a change with its ``sign``, in percentage points, for ``kappa`` as a number.

    Very small values are "under ±0.01 percentage points".
    """
    least, unit = (0.001, "") if kappa else (0.0001, " percentage points")
    if EXACT < reach < least:
        return f"under {reach_words(least, kappa=kappa, sign=sign)}"
    reach = 0.0 if reach <= EXACT else reach
    return f"{sign}{reach if kappa else round(100 * reach, 1 if reach > 0.01 else 3):.3g}{unit}"


def time_words(minutes: float) -> str:
    """Return "1 minute", "53 minutes" or, from 90 minutes on, "2.5 hours"."""
    if minutes < 90:
        return counted(max(round(minutes), 1), "minute")
    return f"{minutes / 60:.1f} hours"

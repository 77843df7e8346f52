"""A plan of labels as a result and in words."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from judgeboard.measure.alarms import ShareChange
from judgeboard.measure.all_answers import ToLabel, other_verdicts
from judgeboard.measure.samples import FEW_HIDDEN, JudgeVerdict, Picked
from judgeboard.measure.versus import queue_of_differing, too_few_words
from judgeboard.stats.estimates import percent, two_decimals
from judgeboard.stats.rates import UNLABELLED, Target
from judgeboard.stats.sample_size import LEAST_EXPLAINED, LEAST_PILOT
from judgeboard.text import counted

CorrelationFrom = Literal["labels", "verdicts", "assumed"]
"""Where the correlation of labels of one evidence group is known from: labels, the judge's verdicts, or nowhere."""

_LEAST_EFFECT = 1.01  # of a design effect

Question = Literal["rate", "kappa", "agreement", "judges", "versions"]
OF_JUDGE = ("kappa", "agreement")
"""The questions about how often one judge is right."""
EXACT = 1e-9
"""The plus or minus of a share of which nothing is left to label."""

QUESTIONS: dict[Question, str] = {
    "rate": "the share of bad answers",
    "kappa": "the kappa of the judge with people",
    "agreement": "the share of right verdicts of the judge",
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


_FLAGGED: dict[Picked, str] = {"no": "not flagged", "yes": "flagged", "any": "flagged or not"}
_JUDGED: dict[JudgeVerdict, str] = {"bad": "judged bad", "good": "judged good", "unusable": "no usable verdict"}


def stratum_title(stratum: PlannedStratum, strata: Sequence[PlannedStratum]) -> str:
    """Return the name of one of the ``strata`` in words. One without a verdict has all verdicts that no other has."""
    flagged = _FLAGGED[stratum.picked]
    if stratum.verdict is not None:
        return f"{flagged}, {_JUDGED[stratum.verdict]}"
    named = {each.verdict for each in strata if each.picked == stratum.picked and each is not stratum}
    rest = " or ".join(_JUDGED[verdict] for verdict in other_verdicts(named))
    return f"{flagged}, {rest}" if named and rest else flagged


@dataclass(frozen=True, slots=True)
class LabelPlan:
    """How many ``labels`` in all reach the wanted precision; ``more`` of them are still to be made.

    ``reach`` is the wanted plus or minus of a 95 % interval, or the smallest change to be
    found with probability 0.8.
    ``shows`` is what the planned labels will show, on the same scale; it is above ``reach`` if the answers are too few
    (``enough`` is False). ``is_rough``: the labels so far have so few of a class that more labels may be needed than
    planned, for kappa and agreement. ``minutes`` is None if no review has a measured time. ``by_lot`` is the number of
    labels that would be needed without the judge; for two judge versions, which need only labels of answers on which
    they differ, it is the number by lot. The pilot shows a ``share`` of bad answers, and the judge ``explained`` this
    part of the variance of its labels; both are None if the pilot is too small. ``name`` is the query type, None for
    all answers.
    ``correlation`` is that of two labels of one evidence group, None if no group has several answers.
    ``made_prompt`` counts the answers that are left out because
    a judge's prompt was made with them, by the judge. ``extras`` counts labels that do not count, because they are not
    known to be a random sample. ``to_label`` are the answers to label first, before the plan: `judgeboard labels rate`
    names them too. None if the plan comes first. ``conditions`` (``field=value``) select the answers of the plan.
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
    is_rough: bool = False
    shows: float | None = None
    minutes: float | None = None
    seconds_per_review: float | None = None
    by_lot: int | None = None
    share: float | None = None
    explained: float | None = None
    design_effect: float = 1.0
    correlation: float | None = None
    correlation_from: CorrelationFrom | None = None
    strata: tuple[PlannedStratum, ...] = ()
    sentences: tuple[str, ...] = ()
    made_prompt: Mapping[str, int] = field(default_factory=dict)
    extras: int = 0
    to_label: ToLabel | None = None
    conditions: tuple[str, ...] = ()
    changes: tuple[ShareChange, ...] = ()

    @property
    def has_gap(self) -> bool:
        """Whether a stratum has no label of a random sample."""
        return any(each.answers and not each.labelled for each in self.strata)

    @property
    def shows_nothing(self) -> bool:
        """Whether the answers are so few that labels of all of them would show nothing."""
        of_figure = self.question != "judges" or self.by_lot is not None
        return of_figure and not self.enough and (self.shows is None or self.shows >= SHOWS_NOTHING)


def sentences_of(plan: LabelPlan) -> tuple[str, ...]:
    """Return what a plan means: how many labels, what the judge saves, what was assumed, and when to stop."""
    parts: tuple[str | None, ...]
    if plan.shows_nothing:  # one advice: more answers, and no labels before these are there
        return tuple(part for part in (_first(plan), *_of_prompts(plan)) if part is not None)
    parts = (_to_label(plan), _first(plan), _of_extras(plan), _of_judge(plan), _of_pilot(plan), _of_groups(plan))
    parts = (*_of_changes(plan), *parts, *plan.sentences)
    if plan.more and plan.minutes is None and plan.name is None:
        parts = (*parts, "Minutes are not available, because no review has a measured time.")
    parts = (*parts, *_of_prompts(plan), _stopping(plan))
    return tuple(part for part in parts if part is not None)


def _to_label(plan: LabelPlan) -> str | None:
    """Return which answers to label before the plan; the other sentences do not count these labels yet."""
    need = plan.to_label
    if need is None:
        return None
    answers = f"the {counted(need.waiting, 'open answer')} of the random sample"
    if need.uncounted:
        return f"First label {answers}, then plan again. {need.missing}. {need.advice}"
    return f"First label {answers}, then plan again: {need.missing}."


def _of_extras(plan: LabelPlan) -> str | None:
    if not plan.extras or plan.question not in {"rate", *OF_JUDGE}:
        return None
    other = "other " if plan.labelled else ""
    do, are = ("does", "it is") if plan.extras == 1 else ("do", "they are")
    return f"{counted(plan.extras, f'{other}label')} {do} not count, because {are} not known to be a random sample."


def _first(plan: LabelPlan) -> str | None:
    if plan.question == "judges" and (plan.by_lot is None or not plan.enough):
        # Without a number, the versions differ too little, which another sentence says.
        return None if plan.by_lot is None else _too_few_for_judges(plan)
    is_interval, of = plan.question in {"rate", *OF_JUDGE}, "" if plan.name is None else f" for {plan.name}"
    sign = "±" if is_interval else ""
    wanted, shows = (reach_words(x or 0.0, kappa=plan.question == "kappa", sign=sign) for x in (plan.reach, plan.shows))
    figure = f"{QUESTIONS[plan.question]}{of}"
    if is_interval:
        goal = f"{figure} to {wanted}"
    else:
        or_more = "" if wanted.startswith("under") else " or more"
        goal = f"{figure}, with probability 0.8 if they differ by {wanted}{or_more}"
    if not plan.enough:
        return _too_few(plan, goal, shows if is_interval else f"a difference of {shows}")
    if not plan.more:
        labels = f"{counted(plan.labelled, 'label')} {'counts' if plan.labelled == 1 else 'count'} already"
        they_show = "This shows" if plan.labelled == 1 else "They show"
        if is_interval and plan.shows is not None and shows != wanted:
            goal = f"{figure} to {shows}. The goal is {wanted}"
        return f"No more labels are needed: {labels}. {they_show} {goal}."
    time = "" if plan.minutes is None else f", about {time_words(plan.minutes)}"
    labels = "This label" if plan.labels == 1 else f"All {plan.labels:,} labels"
    shows = f"{labels} then {'shows' if plan.labels == 1 else 'show'}"
    if is_interval and plan.reach > EXACT:  # the labels so far show the variance only roughly
        shows, goal = f"{labels} will probably show", f"{figure} to about {wanted}"
    if plan.is_rough:
        return f"Label at least about {_more_answers(plan)}{time}{_labelled_already(plan)}, to show {goal}."
    if plan.to_label is not None:
        return (
            "The plan is made anew after this step, and may then need more labels. As of now, it is to label "
            f"{_more_answers(plan)}{time}{_labelled_already(plan)}, to show {goal}."
        )
    return f"Label {_more_answers(plan)}{time}{_labelled_already(plan)}. {shows} {goal}."


def _too_few(plan: LabelPlan, goal: str, shows: str) -> str:
    answers = f"{counted(plan.answers, 'answer')} {_are(plan.answers)}"
    probably = "probably " if plan.question in OF_JUDGE else ""
    few = f"Log and judge more answers. {answers} {probably}too few to show {goal}, even if all are labelled."
    if plan.shows_nothing:
        return f"{few} So few labels show nothing."
    all_show = f"will probably show about {shows}" if plan.question in OF_JUDGE else f"shows {shows}"
    every = f"{few} Labelling all {all_show}."
    if plan.question == "rate" and plan.has_gap and plan.to_label is None:
        return f"{every} For a first figure, label the answers that `judgeboard labels rate` names."
    return every


def _too_few_for_judges(plan: LabelPlan) -> str:
    words = too_few_words(plan.answers, plan.by_lot or 0, f"a difference of {reach_words(plan.reach)}")
    if not plan.more or plan.shows_nothing:
        return words
    queue = (
        f"A queue of the other {counted(plan.more, 'answer')} on which they differ "
        f"(`{queue_of_differing(plan.judges, plan.more, plan.conditions)}`)"
    )
    return f"{words} {queue} would only show a difference of {reach_words(plan.shows or 0.0)} or more."


def _of_changes(plan: LabelPlan) -> Iterator[str]:
    """Yield which changes of the share lie within the answers of a plan, and how to plan for the time since."""
    for change in plan.changes:
        command = f"judgeboard labels plan --for {plan.question} --reach {plan.reach:g} --where {change.since}"
        yield f"{change.sentence} This plan is for the whole time. For the time since then: `{command}`."


def _more_answers(plan: LabelPlan) -> str:
    return counted(plan.more, "more answer" if plan.labelled else "answer")


def _labelled_already(plan: LabelPlan) -> str:
    if not plan.labelled:
        return ""
    return f" ({counted(plan.labelled, 'label')} {'counts' if plan.labelled == 1 else 'count'} already)"


SHOWS_NOTHING = 0.5
"""Labels are too few to show anything if an interval is this wide to each side, or only so large a change is seen."""


def _are(answers: int) -> str:
    return "is" if answers == 1 else "are"


def _of_judge(plan: LabelPlan) -> str | None:
    if plan.question not in {"rate", "versions"} or not plan.more:
        return None
    if not plan.judges:
        return "There is no judge. With its verdicts on all answers, fewer labels may be needed."
    if plan.explained is None or plan.by_lot is None or plan.has_gap:
        return None
    judge, by_lot = plan.judges[0], f"{counted(plan.by_lot, 'label')} of a random sample would be needed"
    if plan.explained < LEAST_EXPLAINED:
        predicts = f"{judge} saves nothing: its verdicts predict people's labels with {_r_squared(plan.explained)}."
        return f"{predicts} Without flags and verdicts, {by_lot}."
    # Labels that are there already may lie in few strata, so that a new random sample would need fewer in all.
    return None if plan.by_lot <= plan.labels else f"Without flags and the verdicts of {judge}, {by_lot}."


def _of_pilot(plan: LabelPlan) -> str | None:
    if plan.question == "judges":
        return None
    if plan.share is None:
        return (
            f"With fewer than {LEAST_PILOT} labels, the plan assumes the worst case: half of the answers are bad, "
            f"and the judge's verdicts do not help. Plan again after {LEAST_PILOT} labels."
        )
    if plan.has_gap:
        return f"The plan assumes that about {percent(plan.share)} of the answers are bad: {_gap(plan)}."
    pilot = f"According to the labels so far, about {percent(plan.share)} of the answers are bad."
    if plan.explained is not None:
        pilot += f" The judge's verdicts predict people's labels with {_r_squared(plan.explained)}."
    return pilot


def _gap(plan: LabelPlan) -> str:
    return f"{UNLABELLED}, and there the plan uses the judge's scores" if plan.judges else UNLABELLED


def _r_squared(explained: float) -> str:
    return f"R\N{SUPERSCRIPT TWO} = {two_decimals(explained)} (0 = not at all, 1 = exactly)"


def _of_groups(plan: LabelPlan) -> str | None:
    """Return what answers of an evidence group change, and the correlation if too few labels show it."""
    if plan.question not in {"rate", *OF_JUDGE} or plan.design_effect < _LEAST_EFFECT:
        return None
    answers = "answers to one question from the same passages"
    more = f"{plan.design_effect:.2f} times as many labels"
    if plan.question in OF_JUDGE:  # its correlation is that of the judge's errors, measured or assumed
        return f"{answers.capitalize()} may be alike, so the plan counts {more} as for unrelated answers."
    if plan.correlation is None or plan.correlation_from in {None, "labels"}:
        return f"{answers.capitalize()} are alike, so {more} are needed as for unrelated answers."
    alike = (
        f"If {answers} are alike (correlation {two_decimals(plan.correlation)}), {more} are needed as for unrelated "
        "answers."
    )
    if plan.correlation_from == "verdicts":
        return (
            f"{alike} The plan estimates this correlation from the judge's verdicts, because there are too few labels "
            "to measure it. If labels are less alike, fewer are enough."
        )
    return f"{alike} The plan assumes this correlation, because there are too few labels to measure it."


def _of_prompts(plan: LabelPlan) -> Iterator[str]:
    for judge, n in plan.made_prompt.items():
        yield f"The prompt of {judge} was made with {counted(n, 'answer')}, which the plan leaves out."


def _stopping(plan: LabelPlan) -> str | None:
    if not plan.more or not plan.enough:
        return None
    if plan.question in {"rate", *OF_JUDGE}:
        few = int(FEW_HIDDEN * plan.answers)
        share, influence = f"{percent(FEW_HIDDEN)} of all {plan.answers:,}", "so that it does not influence them"
        hidden = (
            f" Reviewers of the planned queue do not see {QUESTIONS[plan.question]} until at most {few:,} answers "
            f"({share}) are left for them, {influence}."
        )
        return (
            "You may stop after any label, as soon as the interval is narrow enough. If it is still too wide after the "
            f"last label, plan again.{hidden if plan.more > few else ''}"
        )
    return "Look at the result once, after the last label. If you stop as soon as the two differ, it may be luck."


def reach_words(reach: float, *, kappa: bool = False, sign: str = "") -> str:
    """Return a precision or a change with its ``sign``, in percentage points, for ``kappa`` as a number.

    Very small ones are "under ±0.01 percentage points".
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

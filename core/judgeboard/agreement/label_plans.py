"""A plan of labels as a result and in words, and the outcome of a planned queue so far.

Whether a share is above or below a bound may be looked at after every label. Stopping as soon as an ordinary interval
leaves out the bound would find differences by luck. A confidence sequence (Waudby-Smith, Ramdas, 2024) holds at all
times. It needs the labels in the order in which the answers were drawn.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from sqlalchemy import Connection

from judgeboard.agreement.alarms import ShareChange
from judgeboard.agreement.all_answers import ToLabel, other_verdicts
from judgeboard.agreement.ratings import people_values
from judgeboard.agreement.samples import FEW_HIDDEN, JudgeVerdict, Picked
from judgeboard.agreement.versus import queue_of_differing, too_few_words
from judgeboard.domain import Estimate
from judgeboard.stats.estimates import percent, percent_words, two_decimals
from judgeboard.stats.rates import UNLABELLED, Target
from judgeboard.stats.ratings import SCALES
from judgeboard.stats.sample_size import LEAST_EXPLAINED, LEAST_PILOT, confidence_sequence, decided_after
from judgeboard.store.filters import RowFilter
from judgeboard.store.grades import HALLUCINATED, graded_reviews
from judgeboard.store.queues import ANSWERS, list_queues
from judgeboard.store.strata import planned_items
from judgeboard.text import counted


@dataclass(frozen=True, slots=True)
class OutcomeSoFar:
    """What the first ``labels`` of a planned queue, in drawn order, tell about the share of bad answers.

    ``low`` and ``high`` are a 95 % confidence sequence: it may be looked at after every label. ``decided_after`` is the
    number of labels after which it first left out the ``bound``, None if it never did. All this is about the
    ``answers`` that the queue was drawn from. ``later`` answers were logged or judged after that. ``left`` counts the
    open items of the queue whose labels would continue this sequence.
    """

    queue: str
    bound: float
    labels: int
    answers: int
    low: float
    high: float
    decided_after: int | None
    left: int = 0
    later: int = 0

    @property
    def is_decided(self) -> bool:
        """Whether the labels decide the outcome for all answers that there are today."""
        return self.decided_after is not None and not self.later

    @property
    def sentence(self) -> str:
        """What this means, and for which answers if there are later ones."""
        if self.decided_after is not None:
            side = "above" if self.low > self.bound else "below"
            labels = "label" if self.decided_after == 1 else f"{self.decided_after:,} labels"
            shows = "shows" if self.decided_after == 1 else "show"
            first = f"The first {labels} of the queue “{self.queue}” {shows} it."
            if self.later:
                of_these = f"of the {counted(self.answers, 'answer')} that it was drawn from"
                is_side = f"the share of bad answers is {side} {percent(self.bound)}"
                return f"The queue “{self.queue}” is decided: {is_side}, {of_these}. {first} {self._later_words}"
            return f"You may stop: the share of bad answers is {side} {percent(self.bound)}. {first}"
        done = f"{counted(self.labels, 'label')} of the queue “{self.queue}”"
        of_these = f", of the {counted(self.answers, 'answer')} that it was drawn from" if self.later else ""
        ends = f"between {percent(self.low)} and {percent(self.high)}"
        start = f"Not decided yet after {done}: the share of bad answers is {ends}{of_these}."
        label_on = "Label on." if self.left else "This queue has no more answers."
        return " ".join(filter(None, (start, self._later_words, label_on)))

    @property
    def _later_words(self) -> str:
        if not self.later:
            return ""
        were = "answer was" if self.later == 1 else "answers were"
        return f"{self.later:,} {were} logged or judged later, and these labels say nothing about {_them(self.later)}."


def outcome_so_far(connection: Connection, bound: float, where: RowFilter, answers_now: int) -> OutcomeSoFar | None:
    """Return the outcome from the newest planned queue with this filter, None if there is none with a label.

    The queue must have been drawn before any answer had a label that counts. ``answers_now`` is the number of answers
    that match today.
    """
    queues = (each for each in list_queues(connection, subject=ANSWERS) if each.of_rate and each.rules.where == where)
    queue = next(
        (each for each in queues if not any(stratum["labelled"] for stratum in (each.plan or {})["strata"])), None
    )
    if queue is None or queue.plan is None:
        return None
    strata = queue.plan["strata"]
    answers = np.array([each["answers"] for each in strata], dtype=np.int64)
    is_bad = np.array([each["verdict"] == "bad" for each in strata])
    items = planned_items(connection, queue.id)
    people = people_values(graded_reviews(connection), SCALES["label"])
    bad = dict(zip(people.response_ids.tolist(), people.values == HALLUCINATED, strict=True))
    last = min(each["next_position"] for each in strata)  # up to here, a random sample of all answers
    labels, verdicts = [], []
    for item in items:
        if item.position >= last or (item.is_open and item.response_id not in bad):
            break
        if item.response_id in bad:
            labels.append(bool(bad[item.response_id]))
            verdicts.append(bool(is_bad[item.stratum]))
    if not labels:
        return None
    total = int(answers.sum())
    y, v = np.array(labels, dtype=np.float64), np.array(verdicts, dtype=np.float64)
    if queue.plan["judge"] is None:
        lows, highs = confidence_sequence(y, total)
    else:
        share = float(answers[is_bad].sum()) / total
        lows, highs = (share + 2 * ends - 1 for ends in confidence_sequence((y - v + 1) / 2, total))
    lows, highs = np.maximum.accumulate(np.maximum(lows, 0)), np.minimum.accumulate(np.minimum(highs, 1))
    after = decided_after(lows, highs, bound)
    return OutcomeSoFar(
        queue.name,
        bound,
        len(labels),
        total,
        float(lows[-1]),
        float(highs[-1]),
        after,
        left=sum(item.is_open and item.response_id not in bad and item.position < last for item in items),
        later=max(answers_now - total, 0),
    )


def _them(count: int) -> str:
    return "it" if count == 1 else "them"


CorrelationFrom = Literal["labels", "verdicts", "assumed"]
"""Where the correlation of labels of one evidence group is known from: labels, the judge's verdicts, or nowhere."""

_LEAST_EFFECT = 1.01  # of a design effect

Question = Literal["rate", "outcome", "kappa", "agreement", "judges", "versions"]
OF_JUDGE = ("kappa", "agreement")
"""The questions about how often one judge is right."""
EXACT = 1e-9
"""The plus or minus of a share of which nothing is left to label."""

QUESTIONS: dict[Question, str] = {
    "rate": "the share of bad answers",
    "outcome": "whether the share of bad answers is above or below a bound",
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

    ``reach`` is the wanted plus or minus of a 95 % interval, the bound of an outcome, or the smallest change to be
    found with probability 0.8.
    ``shows`` is what the planned labels will show, on the same scale; it is above ``reach`` if the answers are too few
    (``enough`` is False). ``is_rough``: the labels so far have so few of a class that more labels may be needed than
    planned, for kappa and agreement. ``minutes`` is None if no review has a measured time. ``by_lot`` is the number of
    labels that would be needed without the judge; for two judge versions, which need only labels of answers on which
    they differ, it is the number by lot. The pilot shows a ``share`` of bad answers, and the judge ``explained`` this
    part of the variance of its labels; both are None if the pilot is too small. ``name`` is the query type, None for
    all answers.
    ``correlation`` is that of two labels of one evidence group, None if no group has several answers.
    ``of_rate`` is the share that `judgeboard labels rate` shows, for an outcome; None if that has no interval.
    ``so_far`` tells whether an outcome is decided already. ``made_prompt`` counts the answers that are left out because
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
    of_rate: Estimate | None = None
    so_far: OutcomeSoFar | None = None
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
    def is_shown(self) -> bool:
        """Whether the interval of `judgeboard labels rate` leaves out the bound of an outcome."""
        if self.of_rate is None or self.of_rate.low is None or self.of_rate.high is None:
            return False
        return self.of_rate.low > self.reach or self.of_rate.high < self.reach

    @property
    def shows_nothing(self) -> bool:
        """Whether the answers are so few that labels of all of them would show nothing."""
        of_figure = self.question != "outcome" and (self.question != "judges" or self.by_lot is not None)
        return of_figure and not self.enough and (self.shows is None or self.shows >= SHOWS_NOTHING)


def sentences_of(plan: LabelPlan) -> tuple[str, ...]:
    """Return what a plan means: how many labels, what the judge saves, what was assumed, and when to stop."""
    parts: tuple[str | None, ...]
    if plan.shows_nothing:  # one advice: more answers, and no labels before these are there
        return tuple(part for part in (_first(plan), *_of_prompts(plan)) if part is not None)
    if plan.question == "outcome":
        so_far = None if plan.so_far is None else plan.so_far.sentence
        parts = (*_of_changes(plan), _to_label(plan), _of_outcome(plan), _of_extras(plan), so_far)
    else:
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
    if need.queue is not None:
        return f"No plan yet: {need.missing}. {need.advice} Then plan again."
    answers = f"the {counted(need.waiting, 'open answer')} of the random sample"
    if need.uncounted:
        return f"First label {answers}, then plan again. {need.missing}. {need.advice}"
    return f"First label {answers}, then plan again: {need.missing}."


def _of_extras(plan: LabelPlan) -> str | None:
    if not plan.extras or plan.question not in {"rate", "outcome", *OF_JUDGE}:
        return None
    if plan.question == "outcome" and plan.to_label is not None:  # nothing is said of the labels that count
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


def _of_outcome(plan: LabelPlan) -> str | None:
    if plan.to_label is not None or (plan.so_far is not None and not plan.so_far.later and not plan.more):
        return None  # another sentence says what to do
    goal = f"whether the share of bad answers is above or below {percent(plan.reach)}"
    if plan.is_shown and plan.of_rate is not None:
        side = "above" if (plan.of_rate.value or 0.0) > plan.reach else "below"
        start = "Over the whole time," if plan.changes else "No more labels are needed:"
        return (
            f"{start} the share of bad answers is {side} {percent(plan.reach)}. "
            f"`judgeboard labels rate` shows {percent_words(plan.of_rate, beside=plan.reach)}."
        )
    if plan.share is None and not plan.more:
        every = "The 1 answer has" if plan.answers == 1 else f"All {plan.answers:,} answers have"
        return f"{every} a label. These may be too few to show {goal}."
    if plan.share is None:
        return f"First label {counted(plan.more, 'answer')}, then plan again. The goal is to show {goal}."
    share = f"This assumes that the share is {percent(plan.share)}, as in the labels so far."
    if plan.of_rate is not None:
        so_far = f"So far, `judgeboard labels rate` shows {percent_words(plan.of_rate)}."
        share = f"{so_far} This assumes that the share stays there."
    elif plan.has_gap:
        share = f"This assumes that the share is {percent(plan.share)}: {_gap(plan)}."
    if not plan.enough:
        return f"{_not_enough(plan, goal)} {share}" if plan.more else _not_enough(plan, goal)
    return f"Label about {_more_answers(plan)}{_labelled_already(plan)} to show {goal}. {share}"


def _not_enough(plan: LabelPlan, goal: str) -> str:
    if not plan.more:
        every = "The 1 answer has" if plan.answers == 1 else f"All {plan.answers:,} answers have"
        return f"{every} a label, and this does not show {goal}. Log and judge more answers."
    every = "A label of the 1 answer" if plan.answers == 1 else f"Labels of all {plan.answers:,} answers"
    return f"{every} may not be enough to show {goal}."


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
    if plan.question in {"judges", "outcome"}:
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


def _stopping_of_outcome(plan: LabelPlan) -> str | None:
    """Return when to stop. Only the labels of a queue that was drawn before them may be looked at one after another."""
    so_far = plan.so_far
    if plan.to_label is not None or (so_far is not None and so_far.is_decided):
        return None
    if plan.labelled and not plan.more and (so_far is None or so_far.later or not so_far.left):
        # Where the interval decides, another sentence has it already.
        is_said = plan.is_shown and (so_far is None or so_far.later)
        return None if is_said else "`judgeboard labels rate` shows the share with its interval."
    continues = not plan.labelled if so_far is None else so_far.left and not so_far.later
    if continues:
        return "After each label of the planned queue, this command says whether you may stop."
    return "Look at `judgeboard labels rate` once, after the last label."


def _stopping(plan: LabelPlan) -> str | None:
    if plan.question == "outcome":
        return _stopping_of_outcome(plan)
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

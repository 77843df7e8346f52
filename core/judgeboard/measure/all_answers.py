"""Agreement of a judge and people in all answers, from labels that came by known chances, and what to label next."""

import math
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import get_args

import numpy as np
from sqlalchemy import Connection

from judgeboard.domain import Estimate
from judgeboard.measure.choice import By, slices_of
from judgeboard.measure.notes import Note, note
from judgeboard.measure.samples import (
    JudgeVerdict,
    LabelledAnswers,
    Picked,
    SampledLabels,
)
from judgeboard.stats.arrays import BoolArray, IntArray, no_ints
from judgeboard.stats.estimates import MIN_PAIRS, unmeasured
from judgeboard.stats.kappa_labels import KappaLabels, labels_for_weighted_kappa
from judgeboard.stats.rates import (
    TOO_SMALL,
    Target,
    missing_by_stratum,
    missing_of_strata,
    weighted_agreement,
)
from judgeboard.stats.sample_size import allocated
from judgeboard.stats.thresholds import equal_chances
from judgeboard.store.filters import RowFilter, where_options
from judgeboard.store.strata import BAD, LEAST_OF_STRATUM
from judgeboard.text import counted

WIDE = 0.1
"""Kappa is not conclusive if its interval is wider than plus or minus this value."""

_BY_LUCK = 3.0  # standard errors by which a class may be more or less frequent among labels than among all answers
_WANTED = 60  # labels that narrow a share near 20 % to about 10 points either way


@dataclass(frozen=True, slots=True)
class StratumCount:
    """A stratum: N answers, n sampled labels, k of these bad (None: the grade is not a label).

    The other fields are the same as in `StratumName`.
    """

    picked: Picked
    verdict: JudgeVerdict | None
    is_later: bool
    N: int
    n: int
    k: int | None


@dataclass(frozen=True, slots=True)
class ToLabel:
    """What to label so that the rate becomes available: ``labels`` of the ``answers`` whose labels are missing.

    The counts are of the strata with missing labels:

    - ``labelled``: other answers with a label that counts, too few for a rate.
    - ``unlabelled``: answers without any label; labels of the others are no sample.
    - ``drawn``: answers of the random sample.
    - ``waiting``: drawn answers that nobody has reviewed.
    - ``uncounted``: drawn answers whose label does not count before the other drawn answers have
      one, because people labelled the worst flagged answers first.

    The viewer has to review ``hidden`` answers blind before they count. If ``waiting`` are too few,
    a queue of ``queue`` answers in random order has about ``labels`` of ``answers``. ``undecided``:
    people reviewed all the answers, but tied, were unsure or skipped. ``command`` creates the
    queue, or shows the ``open_queue`` that has such answers, or lists the queues of hidden answers.
    """

    words: str
    answers: int
    labelled: int
    unlabelled: int
    labels: int
    drawn: int
    waiting: int
    uncounted: int
    queue: int | None
    command: str
    hidden: int = 0
    undecided: bool = False
    open_queue: str | None = None

    @property
    def missing_note(self) -> Note:
        """What is missing: "none of the 448 flagged answers has a label of a random sample"."""
        total = self.answers + self.labelled
        if self.hidden:
            return note("hidden_answers", hidden=self.hidden, answers=self.answers)
        if self.undecided:
            return note("undecided_answers", answers=self.answers, total=total, words=self.words)
        if self.uncounted:
            return note("uncounted_labels", n=self.uncounted, drawn=self.drawn, words=self.words)
        if self.labelled:
            return note("few_random_labels", labelled=self.labelled, total=total, words=self.words)
        return note("no_random_label", answers=self.answers, words=self.words)

    @property
    def next_note(self) -> Note:
        """The answers to label, with the ``command`` that creates or shows their queue."""
        if self.hidden:
            return note("review_hidden", command=self.command)
        if self.queue is None:
            return note("label_sample", waiting=self.waiting, command=self.command)
        if self.open_queue is not None:
            return note("label_open_queue", queue=self.open_queue, command=self.command)
        if self.undecided:
            return note("label_once_more", command=self.command)
        return note(
            "label_some",
            labels=self.labels,
            answers=self.answers,
            words=self.words,
            command=self.command,
        )

    @property
    def missing(self) -> str:
        """What is missing, in words."""
        return self.missing_note.text


def other_verdicts(names: Collection[JudgeVerdict | None]) -> tuple[JudgeVerdict, ...]:
    """Return the verdicts in a stratum of several verdicts, if the strata beside it have these ``names``."""
    verdicts: tuple[JudgeVerdict, ...] = get_args(JudgeVerdict)
    return tuple(each for each in verdicts if each not in names)


def counts_of(sample: SampledLabels) -> tuple[StratumCount, ...]:
    """Return the strata of a sample with their labels."""
    is_label, rows = sample.grade == "label", zip(sample.strata, sample.counts, strict=True)
    return tuple(
        StratumCount(*name, each.answers, each.labelled, each.bad if is_label else None)
        for name, each in rows
    )


@dataclass(frozen=True, slots=True)
class InAllAnswers:
    """The statistics of a judge in all ``answers`` with a usable verdict (`STATISTICS_OF_ALL`), and their labels.

    ``statistics`` weight the ``labels`` by the chance of each answer to get a label, and are empty
    for grades other than the label. ``extras`` counts labels of answers that had no known chance.
    ``is_random``: all labels are a random sample. ``too_few`` names the part with too few labels
    for an interval; then the ``statistics`` have no value. ``unlabelled`` counts the answers that
    may still be sampled. ``to_label`` says what is missing for figures of all answers, None if
    nothing is. ``to_narrow`` is the number of further labels that narrow kappa to ±0.1, None if
    kappa is as narrow or not available. ``labelled_shares`` are the shares with a label of the
    answers that the judge calls bad, and of the answers that the judge calls good; None if the
    judge calls none so, or if the grade is not the label. ``hidden`` answers are so few that they
    are left out. ``ungraded`` counts the answers that nobody has reviewed, None if some answers are
    hidden.
    """

    statistics: Mapping[str, Estimate] = field(default_factory=dict)
    answers: int = 0
    labels: int = 0
    extras: int = 0
    is_random: bool = False
    too_few: str | None = None
    unlabelled: int = 0
    to_label: ToLabel | None = None
    to_narrow: KappaLabels | None = None
    labelled_shares: tuple[float, float] | None = None
    hidden: int = 0
    ungraded: int | None = None

    @property
    def is_complete(self) -> bool:
        """Whether people graded all answers."""
        return self.labels == self.answers

    @property
    def is_weighted(self) -> bool:
        """Whether enough labels came by known chances, and some answers have no label."""
        has_values = any(each.value is not None for each in self.statistics.values())
        return has_values and not self.is_complete

    @property
    def described(self) -> int | None:
        """The number of all answers that figures of the labels describe, weighted or not; else None."""
        return self.answers if self.is_weighted or self.is_complete or self.is_random else None


def in_all_answers(
    all_answers: LabelledAnswers,
    inside: BoolArray | None = None,
    target: Target = "app",
    sample: SampledLabels | None = None,
) -> InAllAnswers:
    """Return the agreement in all answers, or in the answers ``inside``; ``sample`` has the labels, if loaded."""
    if all_answers.version is None:
        return InAllAnswers()
    sample = judged_sample(all_answers, inside, sample)
    statistics: Mapping[str, Estimate] = {}
    labelled_shares = None
    counts, too_few = counts_of(sample), part_with_too_few_labels(sample)
    if all_answers.grade == "label":
        answers = sample.judged_bad, sample.judged - sample.judged_bad
        if all(answers):
            labels_by = int((sample.all_verdicts == 1).sum()), int((sample.all_verdicts == 0).sum())
            labelled_shares = labels_by[0] / answers[0], labels_by[1] / answers[1]
        statistics = weighted_agreement(
            *(sample.population, sample.labels, sample.verdicts, target, sample.judged_bad),
            too_small=_too_small_words(counts),
        )
        if too_few is not None:
            statistics = {name: unmeasured(each.n, too_few) for name, each in statistics.items()}
    is_complete = [
        each.n + undecided >= each.N
        for each, undecided in zip(counts, sample.undecided.tolist(), strict=True)
    ]
    open_strata = [each for each, is_done in zip(counts, is_complete, strict=True) if not is_done]
    labels, to_label = (
        len(sample.response_ids),
        what_to_label(sample, least=MIN_PAIRS, where=all_answers.where),
    )
    is_sample = sample.is_random and not sample.extras and labels >= MIN_PAIRS and to_label is None
    if too_few is not None and not is_even_sample(sample):
        is_sample = False
        to_label = to_label or what_to_label(sample, for_intervals=True, where=all_answers.where)
    if (
        to_label is not None and to_label.hidden and inside is None
    ):  # hidden answers may have no usable verdict
        to_label = replace(to_label, answers=to_label.hidden + len(all_answers.labelled))
    kappa = statistics.get("kappa", unmeasured(0, ""))
    is_wide = (
        kappa.low is not None and kappa.high is not None and (kappa.high - kappa.low) / 2 > WIDE
    )
    return InAllAnswers(
        statistics=statistics,
        answers=round(sample.population.total),
        labels=labels,
        extras=sample.extras,
        # Labels of a random sample of one part are no sample of all answers.
        is_random=is_sample,
        too_few=too_few,
        unlabelled=sum(each.N - each.n for each in open_strata),
        to_label=to_label,
        to_narrow=labels_to_narrow(sample, WIDE, target) if is_wide else None,
        labelled_shares=labelled_shares,
        hidden=all_answers.few_hidden,
        ungraded=None if sample.hidden else int(sample.unlabelled.sum()),
    )


def part_with_too_few_labels(sample: SampledLabels) -> str | None:
    """Return "133 answers that no rule flagged have 2 labels, at least 10 needed" if a part has too few labels.

    Each label of such a part represents so many answers that a figure of all answers depends on a
    few labels. None if all parts have enough labels, if a part has no label at all, and for grades
    other than the label.
    """
    if (
        sample.grade != "label"
        or sample.has_gap
        or not missing_of_strata(*_per_stratum(counts_of(sample)))
    ):
        return None
    return _too_small_words(counts_of(sample))


def _per_stratum(counts: Sequence[StratumCount]) -> tuple[IntArray, IntArray]:
    """Return the numbers of answers and of labels by stratum."""
    return np.array([each.N for each in counts], dtype=np.int64), np.array(
        [each.n for each in counts], dtype=np.int64
    )


def is_even_sample(sample: SampledLabels) -> bool:
    """Whether the labels are a random sample without weights: chance explains which parts have more labels."""
    if not sample.is_random or sample.extras or sample.has_gap:
        return False
    return bool((equal_chances(*_per_stratum(counts_of(sample))) == 1).all())


def _too_small_words(counts: Sequence[StratumCount]) -> str:
    """Return "25 flagged answers that the judge calls good have 1 label, at least 2 needed", for the worst part."""
    shortfalls = missing_by_stratum(*_per_stratum(counts))
    if not shortfalls.any():
        return TOO_SMALL
    lacking, more = max(zip(counts, shortfalls.tolist(), strict=True), key=itemgetter(1))
    have = f"{lacking.N:,} {_words_of([lacking], counts)} have {counted(lacking.n, 'label')}"
    return f"{have}, at least {lacking.n + more} needed"


def judged_sample(
    all_answers: LabelledAnswers,
    inside: BoolArray | IntArray | None = None,
    sample: SampledLabels | None = None,
) -> SampledLabels:
    """Return the sampled labels of the answers ``inside`` that have a usable verdict.

    ``sample`` has the labels of all answers ``inside``, if loaded already.
    """
    sample = sample or (all_answers.of_all if inside is None else all_answers.sample(inside))
    is_judged = all_answers.grade != "label" or not np.isnan(sample.verdicts).any()
    if is_judged and sample.judged == sample.population.total:
        return sample
    usable = all_answers.usable
    if inside is None:
        return all_answers.of_usable
    return all_answers.sample(
        usable & inside if inside.dtype == np.bool_ else inside[usable[inside]]
    )


def evenly_sampled(all_answers: LabelledAnswers) -> IntArray:
    """Return the ids of graded answers that represent all answers with a usable verdict without weights, ascending.

    These are all graded answers, if no answer is left to grade or if all graded answers are a
    random sample with equal chances. Otherwise these are the answers of the rule `random_sample`.
    Empty if neither set is such a sample. A class of answers (flagged, or judged bad) that is more
    frequent in the set than luck explains had other chances.
    """
    inside = all_answers.usable
    sample = all_answers.sample(inside, by_group=False)
    ids = all_answers.answers.response_ids[inside]
    if not sample.unlabelled.any():
        return np.sort(ids[sample.is_sampled])
    if sample.hidden or sample.has_gap:
        return no_ints()
    classes = [all_answers.picked[inside], all_answers.answers.verdicts[inside] == BAD]
    by_rule = sample.is_sampled & all_answers.drawn[inside]
    for rows in (sample.is_sampled, by_rule) if sample.is_random else (by_rule,):
        if all(is_as_frequent(each, rows) for each in classes):
            return np.sort(ids[rows])
    return no_ints()


def is_as_frequent(of_class: BoolArray, rows: BoolArray) -> bool:
    """Whether a class is as frequent in ``rows`` as in all rows, except for chance."""
    share, n = float(of_class.mean()), int(rows.sum())
    return n > 0 and abs(float(of_class[rows].mean()) - share) <= _BY_LUCK * math.sqrt(
        share * (1 - share) / n
    )


def labels_to_narrow(
    sample: SampledLabels, reach: float, target: Target = "app"
) -> KappaLabels | None:
    """Return how many more labels, drawn as for a planned queue, give kappa an interval of ±``reach``.

    All answers of the ``sample`` have a usable verdict. None if the labels of the sample give no
    kappa.
    """
    least = LEAST_OF_STRATUM
    return labels_for_weighted_kappa(
        sample.population, sample.labels, sample.verdicts, reach, target, least=least
    )


def slices_of_answers(
    connection: Connection, all_answers: LabelledAnswers, by: By
) -> Iterator[tuple[str, BoolArray]]:
    """Yield each slice of all answers as a mask of the loaded answers."""
    types = all_answers.answers.query_types
    if by == "query_type":
        yield from ((name, types.codes == code) for code, name in enumerate(types.names))
    elif len(all_answers.answers.response_ids):
        yield from slices_of(connection, "responses", by, all_answers.answers.response_ids)


def what_to_label(
    sample: SampledLabels,
    *,
    least: int = 1,
    for_intervals: bool = False,
    where: RowFilter | None = None,
) -> ToLabel | None:
    """Return what to label so that figures of all answers become available; None if all figures are available.

    Such figures need a label of every stratum, and ``least`` labels of all; ``for_intervals``, also
    enough of each stratum. The answers of the random sample come first, if there are enough for a
    figure. Otherwise a plan draws from all answers without a label. The queue has the filter
    ``where`` and the grade of the sample.
    """
    counts = counts_of(sample)
    if hidden := sample.hidden:
        total = sum(each.N for each in counts)
        return ToLabel(
            "answers", total, 0, hidden, hidden, 0, 0, 0, None, "judgeboard queue list", hidden
        )
    places = [place for place, each in enumerate(counts) if not each.n]
    if not places and for_intervals:
        places = np.flatnonzero(missing_by_stratum(*_per_stratum(counts))).tolist()
    if not places and len(sample.response_ids) < least:
        places = [place for place, each in enumerate(counts) if each.n < each.N]
    if not places:
        return None
    labelled = sum(counts[place].n for place in places)
    answers = sum(counts[place].N for place in places) - labelled
    unlabelled, drawn, waiting, uncounted = (
        int(of_strata[places].sum())
        for of_strata in (sample.unlabelled, sample.drawn, sample.waiting, sample.uncounted)
    )
    undecided, free = not unlabelled, sample.unlabelled.tolist()
    if undecided:  # people reviewed all answers: a planned queue has the answers again
        unlabelled, free = answers, [each.N - each.n for each in counts]
    labels, size = min(unlabelled, _WANTED), None
    if for_intervals:
        allocation = allocated(_WANTED, free, least=LEAST_OF_STRATUM)
        labels = sum(allocation[place] for place in places)
    if waiting and (waiting >= labels or drawn >= MIN_PAIRS):
        labels = min(labels, waiting)
    else:
        step = 10 if unlabelled > _WANTED else 1
        size = (
            _WANTED if for_intervals else math.ceil(labels * sum(free) / unlabelled / step) * step
        )
        size = min(size, sum(free))
    undecided_too = sample.left_out.get("unsure", 0) + sample.left_out.get("skipped", 0)
    # The queue is of the random sample, of all answers without a label, or planned.
    if size is None:
        kind = "--where rule=random_sample --where graded=no --order random"
    elif labels == unlabelled < answers and sum(free) <= _WANTED:
        # A plan would also draw answers whose label does not count. Answers without any label
        # complete their part. Answers that people reviewed without a grade match the filter too, so
        # the limit leaves room for all.
        kind = f"--all-answers --where graded=no --limit {sum(free) + undecided_too}"
    else:
        kind = f"--plan rate --n {size}"
    options = where_options(where or RowFilter())
    if sample.grade != "label":
        options += ["--grades", sample.grade]
    command = " ".join(
        filter(None, (f"judgeboard queue create sample {kind}", shlex.join(options)))
    )
    open_queue = _open_queue(sample, places, labels if size is None else None)
    if open_queue is not None:
        command = shlex.join(["judgeboard", "queue", "list", open_queue])
    words = _words_of([counts[place] for place in places], counts)
    return ToLabel(
        *(words, answers, labelled, unlabelled, labels, drawn, waiting, uncounted, size, command),
        undecided=undecided,
        open_queue=open_queue,
    )


def _open_queue(sample: SampledLabels, places: Sequence[int], labels: int | None) -> str | None:
    """Return the open queue with the most answers of the strata at ``places``; None if all queues lack a stratum.

    ``labels`` of the random sample are enough, whatever their strata (None: the sample is not
    enough).
    """
    waits = {name: of_strata[places] for name, of_strata in sample.in_open_queues.items()}
    enough = (
        name
        for name, each in waits.items()
        if each.all() or (labels is not None and each.sum() >= labels)
    )
    return max(enough, key=lambda name: waits[name].sum(), default=None)


def _words_of(part: Sequence[StratumCount], counts: Sequence[StratumCount]) -> str:
    """Return "answers that no rule flagged", "flagged answers that the judge calls good", "answers"."""
    classes, verdicts = {each.picked for each in part}, {each.verdict for each in part}
    picked_too = any(each.picked != "no" for each in counts)
    words = "answers"
    if classes == {"no"} and picked_too:
        words = "answers that no rule flagged"
    elif classes == {"yes"}:
        words = "flagged answers"
    counts = [each for each in counts if each.picked != "hidden"]
    others = [
        each
        for each in counts
        if each not in part and each.is_later in {of_part.is_later for of_part in part}
    ]
    if len(verdicts) == 1 and any(each.picked in {*classes, "any"} for each in others):
        (verdict,) = verdicts
        of_judge = {"good": "that the judge calls good", "bad": "that the judge calls bad"}
        link = " and" if words.endswith("no rule flagged") else ""
        words += f"{link} {of_judge.get(str(verdict), 'without a usable verdict')}"
    if all(each.is_later for each in part):
        words += " that were logged or judged after the sample was drawn"
    return words

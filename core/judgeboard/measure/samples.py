"""Which labels of people are a random sample of all answers, and in which strata.

A label counts as a sample of its stratum in four cases (Horvitz, Thompson, 1952):

- The stratum is reviewed completely.
- The answer was reviewed in a queue in random order, drawn from all answers. Each planned queue is
  one. The draw takes answers with and without a chosen label alike, and an answer counts once
  reviewed in this queue. The first items of the queue are a sample too, so people may stop half
  way. A second queue leaves out only answers whose labels count. A random sample of the rest and
  the first sample are together a random sample of the stratum.
- The rule `random_sample` drew the answer. People work flagged answers worst first, so drawn
  answers that another rule flagged count when none of them waits in the stratum.
- The answer was reviewed in a queue of flagged answers in random order. Such a queue leaves out
  flagged answers that people decided before. The decided answers may be the worst ones, so labels
  of the queue count only if nobody chose an answer of the stratum. A queue of the answers of the
  random sample that nobody graded leaves out the same. After a complete review of this queue, the
  random sample is complete, and all labels of the sample count.

A queue with a number of items is drawn once. Answers that were logged later could not be drawn. Nor
could answers that the judge of a planned queue judged later. Such answers are strata of their own,
unless there are very few of them.

Other labels are extras: counted and shown, never weighted.

Answers that are hidden from a blind reviewer are a stratum without labels. The sample was drawn by
strata, so the other answers alone are no sample of all. Very few hidden answers are left out.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
from sqlalchemy import Connection

from judgeboard.domain import Estimate
from judgeboard.errors import BadInput, NotFound
from judgeboard.flags.rules import RANDOM_SAMPLE
from judgeboard.measure.choice import GradeName
from judgeboard.measure.notes import Note, note
from judgeboard.measure.ratings import column_of, combined_as, gold, people_values, person_grades
from judgeboard.measure.result import without_zeros
from judgeboard.measure.sample import answers_of, count_logged, kept_until_changed, reviews_of
from judgeboard.stats.arrays import (
    AnyArray,
    BoolArray,
    FloatArray,
    IntArray,
    among,
    no_floats,
    no_ints,
    renumbered,
)
from judgeboard.stats.chance_corrected import alpha
from judgeboard.stats.rates import Labels, Population, Stratum, app_effect, strata_of, summed
from judgeboard.stats.ratings import SCALES, PeopleValues, positions_of_codes, ratings_of
from judgeboard.store.filters import RowFilter
from judgeboard.store.grades import HALLUCINATED
from judgeboard.store.hidden_rows import count_hidden
from judgeboard.store.judge_versions import (
    get_version,
    list_versions,
)
from judgeboard.store.settings import primary_judge
from judgeboard.store.statements import CURRENT_OF_VERSION, LOGGED, any_row
from judgeboard.store.strata import (
    BAD,
    GOOD,
    UNUSABLE,
    JudgedAnswers,
    RandomOrder,
    judged_until,
    open_in_random_order,
    reviewed_in_random_order,
    skipped_answers,
    unsure_answers,
)
from judgeboard.store.tables import CURRENT, JUDGMENT, RESPONSE, StoredVersion
from judgeboard.store.verdicts import answers_of_prompts, matching_answers

Picked = Literal["no", "yes", "any", "hidden"]
"""Whether a rule other than the random sample flagged an answer.

``any``: a stratum has both kinds. ``hidden``: the viewer has to review the answers of the stratum
blind.
"""
JudgeVerdict = Literal["good", "bad", "unusable"]

_PICKED: tuple[Picked, Picked] = ("no", "yes")
_VERDICTS: tuple[JudgeVerdict, ...] = ("good", "bad", "unusable")
_CLASSES = len(_PICKED) * len(_VERDICTS)
FEW_HIDDEN = 0.05  # with a larger share of hidden answers, figures of all answers are not available
_LEFT_OUT_BY_CHANCE = 0.05  # a stratum is too small if a random sample leaves it out more often


class StratumName(NamedTuple):
    """A class of answers: picked by a rule or not, and the judge's verdict (None: no judge, or not split by verdict).

    ``is_later``: the answers were logged or judged after the draw of a sample from which other
    strata have labels.
    """

    picked: Picked
    verdict: JudgeVerdict | None
    is_later: bool


@dataclass(frozen=True, slots=True, eq=False)
class SampledLabels:
    """The labels that are a sample of all answers, with the sums of all answers.

    ``population`` and ``labels`` are for the functions of `judgeboard.stats.rates`. ``strata``
    names the strata of ``population``. ``extras`` counts labels that are no sample. ``is_random``:
    every label of ``labels`` is of a random sample.

    One entry per row of ``labels``: ``response_ids`` and ``verdicts`` (1 bad, 0 good, NaN none).

    One entry per labelled answer, extras too: ``all_values`` and ``all_verdicts``.

    One entry per answer: ``stratum_of``, and ``is_sampled`` (whether the answer has a row in
    ``labels``).

    One count per stratum:

    - ``undecided``: the sampled answers about which people were unsure or tied, or which people
      skipped.
    - ``drawn``: the answers of the random sample.
    - ``waiting``: the drawn answers that nobody has reviewed.
    - ``uncounted``: the drawn answers whose label does not count yet, because people labelled the
      worst flagged answers first.
    - ``unlabelled``: all answers without a label.
    - ``in_open_queues``: by the name of an open queue in random order, the answers without a label
      that counts for which the queue waits.
    - ``judged_by``: the answers with a usable verdict (with a score, if the grade is one).
    - ``judged_bad_by``: the answers that the judge calls bad.
    """

    grade: GradeName
    population: Population
    labels: Labels
    response_ids: IntArray
    verdicts: FloatArray
    strata: tuple[StratumName, ...]
    extras: int
    left_out: dict[str, int]
    undecided: IntArray
    drawn: IntArray
    waiting: IntArray
    uncounted: IntArray
    unlabelled: IntArray
    in_open_queues: dict[str, IntArray]
    judged_bad_by: IntArray
    judged_by: IntArray
    all_values: FloatArray
    all_verdicts: FloatArray
    stratum_of: IntArray
    is_sampled: BoolArray
    is_random: bool

    @property
    def counts(self) -> tuple[Stratum, ...]:
        """The number of answers, labels and bad answers of each stratum."""
        return strata_of(self.population, self.labels)

    @property
    def hidden(self) -> int:
        """The number of answers that are hidden from the viewer; 0 for very few."""
        return sum(
            each.answers
            for each, name in zip(self.counts, self.strata, strict=True)
            if name.picked == "hidden"
        )

    @property
    def has_gap(self) -> bool:
        """Whether a stratum has no label, so that the figures of all answers are not available."""
        return any(each.answers and not each.labelled for each in self.counts)

    @property
    def app_effect(self) -> float:
        """How many times larger the variance of a rate of the app is by evidence group than by answer, at least 1."""
        return app_effect(self.population, self.labels)

    @property
    def judged_bad(self) -> int:
        """The number of answers that the judge calls bad."""
        return int(self.judged_bad_by.sum())

    @property
    def judged(self) -> int:
        """The number of answers with a usable verdict."""
        return int(self.judged_by.sum())


def judging_version(
    connection: Connection, which: int | str | None = None, *, judge: str | None = None
) -> StoredVersion | None:
    """Return a judge version by its id, name or title. By default, the newest that has judged the log, or None.

    The default is of the ``judge`` with this name (None: the primary judge). Raises NotFound for an
    unknown ``which``.
    """
    if which is not None:
        return get_version(connection, which)
    name = judge or primary_judge(connection)
    for version in reversed([each for each in list_versions(connection) if each.name == name]):
        if any_row(connection, CURRENT_OF_VERSION, CURRENT.c.judge_version_id == version.id):
            return version
    return None


def scored_version(connection: Connection, which: int | str | None) -> StoredVersion:
    """Return what `judging_version` returns; raise NotFound if no judge has a usable verdict on the log."""
    version = judging_version(connection, which)
    if version is None:
        raise NotFound(no_judge_note(connection).text)
    return version


def no_judge_note(connection: Connection, judge: str | None = None) -> Note:
    """Return why `judging_version` returns None by default (for ``judge``, or for the primary judge)."""
    name = judge or primary_judge(connection)
    ids = [each.id for each in list_versions(connection) if each.name == name]
    if any_row(
        connection,
        JUDGMENT.c.judge_version_id.in_(ids),
        JUDGMENT.c.response_id == RESPONSE.c.id,
        LOGGED,
    ):
        return note("verdicts_unusable", judge=str(name))
    if name is not None and any_row(connection, CURRENT_OF_VERSION, CURRENT.c.judge_version_id > 0):
        return note("judge_has_not_judged", judge=name)
    return note("no_judge")


def labelled_answers(
    connection: Connection,
    version: StoredVersion | None,
    where: RowFilter | None = None,
    *,
    grade: GradeName = "label",
    implied_labels: bool = True,
) -> "LabelledAnswers":
    """Return the `LabelledAnswers` without scores, kept until something changes."""
    where = None if where == RowFilter() else where
    return kept_until_changed(
        connection,
        ("labelled", None if version is None else version.id, where, grade, implied_labels),
        lambda: LabelledAnswers(
            connection, version, where, grade=grade, implied_labels=implied_labels, scores=False
        ),
    )


class ReviewedInQueues(NamedTuple):
    """Masks of the `LabelledAnswers`: the answers reviewed in some queues, and the answers that a queue could draw."""

    reviewed: BoolArray
    drawn_from: tuple[BoolArray, ...]


class LabelledAnswers:
    """Answers with their labels, loaded once; `sample` returns the sampled labels of all or of some answers.

    ``groups`` are evidence groups as small numbers. Masks of the answers: ``picked``: a rule other
    than the random sample flagged the answer. ``drawn``: the random sample has the answer.
    ``in_random_order``: the answer was reviewed in a queue in random order that was drawn from all
    answers.
    """

    def __init__(
        self,
        connection: Connection,
        version: StoredVersion | None,
        where: RowFilter | None = None,
        *,
        grade: GradeName = "label",
        implied_labels: bool = True,
        majority: PeopleValues | None = None,
        scores: bool = True,
    ) -> None:
        """Load answers with people's labels: gold labels, else people combined; or the ``majority`` in place of both.

        Without ``scores``, verdicts take the place of scores, as a share needs.
        """
        self.grade = grade
        self.version = version
        self._hidden = count_hidden(connection)
        self.where = where or RowFilter()
        scale = SCALES[grade]
        reviews = reviews_of(connection, implied_labels=implied_labels)
        self._grades = person_grades(reviews, grade)
        of_gold = no_ints() if majority is not None else gold(reviews, grade).response_ids
        graded_ids = self._grades.response_ids, of_gold
        people = people_values(reviews, scale) if majority is None else majority
        answers = answers_of(connection, None if version is None else version.id, where)
        groups, count = answers.groups, len(answers.response_ids)
        if grade == "quality":
            qualities = answers.qualities
            answers = replace(answers, scores=np.where(qualities > 0, qualities, np.nan))
        elif grade == "label" and not scores:
            answers = replace(answers, scores=np.full(len(answers.scores), np.nan))
        prompt_answers = answers_of_prompts(connection, () if version is None else (version.id,))
        in_prompt = np.isin(answers.response_ids, prompt_answers.both)
        of_prompts = answers.response_ids[in_prompt]
        if len(of_prompts):
            answers, groups = answers.at(~in_prompt), groups[~in_prompt]
        self.answers: JudgedAnswers = answers
        self.groups: IntArray = groups
        ids = self.answers.response_ids
        # For a whole log np.isin takes a tenth of the time of `among`: ids are dense and in no
        # order, and np.isin finds dense ids by a table.
        self.labelled: BoolArray = np.isin(ids, people.response_ids)
        numbers = (
            (people.values == HALLUCINATED) if combined_as(scale) == "label" else people.values
        )
        at = np.searchsorted(people.response_ids, ids[self.labelled])
        self.values: FloatArray = np.full(len(ids), np.nan)
        self.values[self.labelled] = numbers.astype(np.float64)[at]
        tied_ids = np.setdiff1d(np.concatenate(graded_ids), people.response_ids)
        self._tied = np.isin(ids, tied_ids) & ~self.labelled
        self._unsure = np.isin(ids, unsure_answers(connection)) & ~self.labelled & ~self._tied
        self._skipped = (
            np.isin(ids, skipped_answers(connection)) & ~self.labelled & ~self._tied & ~self._unsure
        )
        self.picked: BoolArray = self.answers.picked
        self.drawn: BoolArray = self.answers.drawn
        self.in_random_order: BoolArray = np.zeros(len(ids), dtype=np.bool_)
        self._flags_in_random_order: BoolArray = np.zeros(len(ids), dtype=np.bool_)
        self._within: list[tuple[BoolArray, BoolArray, bool]] = []
        self._could_be_drawn: list[BoolArray] = []
        self._read_random_orders(connection, where)
        not_judged = (
            len(people.response_ids)
            - int(self.labelled.sum())
            - int(np.isin(people.response_ids, of_prompts).sum())
        )
        self.left_out = {
            "not_judged": 0 if version is None else count_logged(connection, where) - count,
            "hidden": self.few_hidden,
            **prompt_answers.counts(np.sort(of_prompts)),
            "labels_not_judged": not_judged if where in (None, RowFilter()) else 0,
        }
        self._in_open_queues = {
            name: np.isin(ids, waiting)
            for name, waiting in open_in_random_order(connection).items()
        }
        self._shares_evidence: BoolArray = (np.bincount(self.groups) > 1)[self.groups]
        self.classify()

    def classify(self) -> None:
        """Number the classes of answers that samples treat alike; again after masks were changed."""
        for of_masks in ("of_all", "of_usable"):
            self.__dict__.pop(of_masks, None)
        self._class_of = _codes(
            *(
                self.answers.verdicts,
                self.usable,
                ~np.isnan(self.answers.scores),
                self._shares_evidence,
            ),
            *(self.picked, self.drawn, self.labelled, self._tied, self._unsure, self._skipped),
            *(self.in_random_order, self._flags_in_random_order),
            *(each for matching, reviewed, _ in self._within for each in (matching, reviewed)),
            *(*self._could_be_drawn, *self._in_open_queues.values()),
        )

    def _read_random_orders(self, connection: Connection, where: RowFilter | None) -> None:
        """Read which answers were reviewed in queues in random order, and from which answers each queue was drawn."""
        ids = self.answers.response_ids
        for each in reviewed_in_random_order(connection):
            reviewed = np.isin(ids, each.reviewed)
            of_queue, of_flags = each.where, each.flagged_only
            if of_queue.rules == (RANDOM_SAMPLE,):
                # Graded answers are left out as decided flags are, so a filter graded=no changes
                # nothing.
                reviewed, of_flags = reviewed & self.drawn, True
                of_queue = replace(of_queue, rules=(), graded=of_queue.graded or None)
            elif reviewed.any():
                self._could_be_drawn += self._drawn_from(connection, each)
            in_order = self._flags_in_random_order if of_flags else self.in_random_order
            if of_queue in (RowFilter(), where):
                in_order |= reviewed
            elif reviewed.any():
                matching = np.isin(ids, matching_answers(connection, of_queue))
                self._within.append((matching, reviewed, of_flags))

    def _drawn_from(self, connection: Connection, order: RandomOrder) -> Iterator[BoolArray]:
        """Yield the mask of the answers that a queue could draw; nothing if all answers join the queue."""
        if order.last_id is None:
            return
        ids = self.answers.response_ids
        could = ids <= order.last_id
        for version_id, at in order.judged_by:
            is_asked = self.version is not None and version_id == self.version.id
            is_judged = judged_until(connection, version_id, at, ids[could], is_asked=is_asked)
            could[could] = is_judged | np.isin(ids[could], order.reviewed)
        yield could

    def reviewed_in(
        self, connection: Connection, orders: Sequence[RandomOrder]
    ) -> ReviewedInQueues:
        """Return which answers were reviewed in queues in random order that were drawn from a part of all answers."""
        reviewed = [np.isin(self.answers.response_ids, each.reviewed) for each in orders]
        return ReviewedInQueues(
            np.logical_or.reduce(reviewed)
            if reviewed
            else np.zeros(len(self.labelled), dtype=np.bool_),
            tuple(could for each in orders for could in self._drawn_from(connection, each)),
        )

    def sample(
        self,
        inside: BoolArray | IntArray | None = None,
        *,
        by_group: bool = True,
        also_in_random_order: ReviewedInQueues | None = None,
        by_verdicts: IntArray | None = None,
    ) -> SampledLabels:
        """Return the sampled labels of the answers ``inside`` (a mask or row numbers; default: all).

        Without ``by_group``, the answers count as one evidence group, which is faster and enough
        for counts. ``also_in_random_order`` names the answers ``inside`` that were reviewed in a
        random order of the answers ``inside``. Strata are split ``by_verdicts`` of another judge
        version, one per answer ``inside``.
        """
        positions = (
            None
            if inside is None
            else np.flatnonzero(inside)
            if inside.dtype == np.bool_
            else inside
        )
        everything = positions is None or len(positions) == len(self.labelled)
        rows: AnyArray | slice = slice(None) if positions is None or everything else positions
        of = self._strata(rows, also_in_random_order, by_verdicts)
        n, at = of.classes.n, of.at
        verdict = self.answers.verdicts[at]
        stratum_of, is_sampled = of.classes.of_answers(of.strata), of.classes.of_answers(of.sampled)
        hidden = self.hidden(len(stratum_of))
        size = len(of.names) + bool(hidden)
        at_labels = np.flatnonzero(is_sampled) if isinstance(rows, slice) else rows[is_sampled]

        def count(inside: BoolArray) -> IntArray:
            return np.bincount(of.strata, weights=n * inside, minlength=size).astype(np.int64)

        # Answers with a shared evidence group or a score are summed one by one, others by class.
        is_single = (
            of.sampled | ~np.isnan(self.answers.scores[at]) | (self._shares_evidence[at] & by_group)
        )
        singles = np.flatnonzero(of.classes.of_answers(is_single))
        at_singles = singles if isinstance(rows, slice) else rows[singles]
        population, labels_of_sample = _summed_with_hidden(
            hidden,
            stratum_of[singles],
            self._scores(at_singles),
            # Numbers without gaps: the cost of the sums then grows with these answers, not with all.
            self.groups[at_singles] if everything else renumbered(self.groups[at_singles]),
            len(of.names),
            is_sampled[singles],
            self.values[at_labels],
        )
        at_all_labels = (
            np.flatnonzero(self.labelled) if isinstance(rows, slice) else rows[self.labelled[rows]]
        )
        left_out = {
            **(self.left_out if everything else {}),
            "ties": int(n @ self._tied[at]),
            "unsure": int(n @ self._unsure[at]),
            "skipped": int(n @ self._skipped[at]),
        }
        return SampledLabels(
            grade=self.grade,
            population=population.with_alone(
                count(~is_single), count(~is_single & (verdict == BAD) & (self.grade == "label"))
            ),
            labels=labels_of_sample,
            response_ids=self.answers.response_ids[at_labels],
            verdicts=self._verdicts(at_labels),
            strata=of.names + (StratumName("hidden", None, False),) * bool(hidden),
            extras=int(n @ (of.labelled & ~of.sampled)),
            left_out=without_zeros(left_out),
            undecided=count(of.undecided & of.decides),
            drawn=count(of.drawn),
            waiting=count(of.waiting),
            uncounted=count(of.drawn & of.labelled & ~of.sampled),
            unlabelled=count(~of.done),
            in_open_queues={
                name: count(waits[at] & ~of.sampled) for name, waits in self._in_open_queues.items()
            },
            judged_bad_by=count(verdict == BAD),
            judged_by=count(of.verdicts != UNUSABLE),
            all_values=self.values[at_all_labels],
            all_verdicts=self._verdicts(at_all_labels),
            stratum_of=stratum_of,
            is_sampled=is_sampled,
            is_random=bool(of.by_lot[of.sampled].all()),
        )

    def has_gap(self, rows: IntArray) -> bool:
        """Return `SampledLabels.has_gap` of these rows, in a fifth of the time."""
        if self.hidden(len(rows)):
            return True
        of = self._strata(rows)
        return bool((np.bincount(of.strata, of.sampled, len(of.names)) == 0).any())

    def _strata(
        self,
        rows: AnyArray | slice,
        also: ReviewedInQueues | None = None,
        by_verdicts: IntArray | None = None,
    ) -> "_Strata":
        """Return the strata of some answers, by class."""
        drawn_from = () if also is None else also.drawn_from
        columns = list[AnyArray]([] if by_verdicts is None else [by_verdicts])
        if also is not None:
            columns += [each[rows] for each in (also.reviewed, *drawn_from)]
        # From here on, rows are classes: n is the number of answers in a class, and `at` is the
        # position of an example answer.
        classes = _Classes.of(self._class_of[rows], *columns)
        n, at = classes.n, classes.one if isinstance(rows, slice) else rows[classes.one]
        labelled, drawn, verdict = self.labelled[at], self.drawn[at], self.answers.verdicts[at]
        in_random_order, flags_in_random_order = self._in_orders(at, also)
        is_reviewed = labelled | self._tied[at] | self._unsure[at]
        undecided = self._tied[at] | self._unsure[at] | self._skipped[at]
        waiting = drawn & ~labelled & ~undecided
        flags = self.picked[at].astype(np.int64)
        verdicts = np.where(self.usable[at], verdict if self.grade == "label" else GOOD, UNUSABLE)
        verdicts = verdicts if by_verdicts is None else by_verdicts[classes.one]
        # For each class a number of the set of samples from which the class could not be drawn,
        # 0: none.
        could_be_drawn = [each[at] for each in (*self._could_be_drawn, *drawn_from)]
        reviewed = in_random_order & labelled
        draws = np.zeros(len(reviewed), dtype=np.int64)
        for could in could_be_drawn:
            share = float(n @ (reviewed & could)) / max(int(n @ could), 1)
            if (1 - share) ** int(n @ ~could) <= _LEFT_OUT_BY_CHANCE:
                draws = 2 * draws + ~could
                occurring = np.bincount(draws) > 0
                occurring[0] = (
                    True  # the number of answers that no draw missed, also if there are none
                )
                draws = (np.cumsum(occurring) - 1)[draws]
        names, strata = _numbered(
            draws * _CLASSES + flags * 3 + verdicts, (int(draws.max(initial=0)) + 1) * _CLASSES
        )

        def by_stratum(inside: AnyArray) -> AnyArray:
            return np.bincount(strata, weights=n * inside, minlength=len(names))

        complete, awaited = by_stratum(~is_reviewed) == 0, by_stratum(waiting) > 0
        in_other_order = is_reviewed & (flags == 1) & ~in_random_order & ~flags_in_random_order
        by_severity = (awaited & (by_stratum(in_other_order & drawn) > 0))[strata]
        of_sample = drawn & ~by_severity
        has_chosen = (by_stratum(in_other_order & ~of_sample) > 0)[strata]
        by_lot = in_random_order | of_sample | (flags_in_random_order & (flags == 1) & ~has_chosen)
        decides = by_lot | complete[strata]
        is_sampled = labelled & decides
        # Without a queue in random order, labels of such a stratum only do not count yet.
        uncounted = by_stratum(by_severity & ~in_random_order.any()) > 0
        labels = by_stratum(is_sampled), by_stratum(is_sampled & by_lot)
        into = self._joined(
            names, by_stratum(np.ones(len(n))), labels, complete, awaited, uncounted
        )
        codes, strata = _numbered(into[strata], len(names))
        flag_classes = [
            np.unique(names[into == each] % _CLASSES // 3).tolist() for each in codes.tolist()
        ]
        several = np.bincount(into, minlength=len(names))[codes] > 1

        return _Strata(
            classes=classes,
            at=at,
            labelled=labelled,
            drawn=drawn,
            done=is_reviewed,
            undecided=undecided,
            waiting=waiting,
            verdicts=verdicts,
            sampled=is_sampled,
            by_lot=by_lot,
            decides=decides,
            strata=strata,
            names=tuple(
                self._name(int(code), flag_class, whole=bool(whole))
                for code, flag_class, whole in zip(names[codes], flag_classes, several, strict=True)
            ),
        )

    def _in_orders(
        self, at: IntArray, also: ReviewedInQueues | None
    ) -> tuple[BoolArray, BoolArray]:
        """Return the masks of answers reviewed in a random order of all answers, and in one of the flagged answers."""
        of_all, of_flagged = self.in_random_order[at], self._flags_in_random_order[at]
        if also is not None:
            of_all |= also.reviewed[at]
        for matching, reviewed, flagged_only in self._within:
            if matching[at].all() and flagged_only:
                of_flagged |= reviewed[at]
            elif matching[at].all():
                of_all |= reviewed[at]
        return of_all, of_flagged

    @cached_property
    def of_all(self) -> SampledLabels:
        """The sampled labels of all answers."""
        return self.sample()

    @cached_property
    def of_usable(self) -> SampledLabels:
        """The sampled labels of all answers with a usable verdict."""
        return self.sample(self.usable)

    @cached_property
    def usable(self) -> BoolArray:
        """Which answers have a usable verdict: a label, or a score if the grade is one."""
        return (
            self.answers.verdicts != UNUSABLE
            if self.grade == "label"
            else ~np.isnan(self.answers.scores)
        )

    def hidden(self, answers: int | None = None) -> int:
        """Return how many answers are hidden from the viewer, 0 if very few beside ``answers`` (None: all)."""
        visible = len(self.labelled) if answers is None else answers
        return self._hidden if self._hidden > FEW_HIDDEN * (self._hidden + visible) else 0

    @property
    def few_hidden(self) -> int:
        """The number of answers hidden from the viewer, if so few that figures leave them out, else 0."""
        return 0 if self.hidden() else self._hidden

    def hidden_sentence(self) -> str:
        """Return how many answers are hidden from the viewer, and what to do."""
        hidden = note(
            "hidden_answers", hidden=self._hidden, answers=self._hidden + len(self.labelled)
        )
        return f"{hidden.text}. {note('review_hidden').text}"

    def check_nothing_hidden(self, figure: str) -> None:
        """Raise BadInput if a ``figure`` that counts all answers would leave out answers hidden from the viewer."""
        if hidden := self.hidden():
            words = note("hidden_answers", hidden=hidden, answers=hidden + len(self.labelled)).text
            raise BadInput(
                f"{figure} counts all answers, but {words}: review them first, or ask somebody else"
            )

    def judged(self, inside: BoolArray | None = None) -> Population:
        """Return the sums over the judged answers ``inside`` (default: all), in strata 0 and 1 (judged bad)."""
        rows = np.flatnonzero(
            (self.answers.verdicts != UNUSABLE) & (True if inside is None else inside)
        )
        bad = (self.answers.verdicts == BAD)[rows].astype(np.int64)
        shares = self._shares_evidence[rows]
        alone = np.bincount(bad[~shares], minlength=2)
        groups, bad = renumbered(self.groups[rows[shares]]), bad[shares]
        sums, _ = summed(
            bad, bad.astype(np.float64), groups, 2, np.zeros(len(bad), dtype=np.bool_), no_floats()
        )
        return sums.with_alone(alone, np.where([False, True], alone, 0))

    def people_alpha(self, inside: BoolArray | None = None) -> Estimate:
        """Return Krippendorff's alpha of people on the answers (``inside``, default: all) that two or more graded."""
        is_graded = self.labelled | self._tied
        positions = np.flatnonzero(is_graded if inside is None else is_graded & inside)
        positions = positions[np.argsort(self.answers.response_ids[positions])]
        ids = self.answers.response_ids[positions]
        rows = among(self._grades.response_ids, ids)
        of_rows = self._grades.response_ids[rows]
        values = positions_of_codes(column_of(self._grades, self.grade)[rows], SCALES[self.grade])
        groups = self.answers.evidence_groups[positions[np.searchsorted(ids, of_rows)]]
        _, ratings = ratings_of(
            of_rows, self._grades.reviewer_ids[rows], values, SCALES[self.grade], groups
        )
        return alpha(ratings, "nominal" if self.grade == "label" else "interval")

    def _joined(
        self,
        names: IntArray,
        answers: FloatArray,
        labels: tuple[FloatArray, FloatArray],
        complete: BoolArray,
        awaited: BoolArray,
        uncounted: BoolArray,
    ) -> IntArray:
        """Return for each stratum the stratum to join: a stratum without a label joins another one.

        The other stratum has labels of a random sample. The draw does not depend on the verdict, so
        strata may be joined across verdicts. Across the classes of picked answers only strata that
        are too small to be drawn from are joined: a random sample as large as that of the other
        strata would often leave out such a stratum. If the sample did not, and drawn answers are
        ``awaited``, nothing is joined. A stratum whose labels are ``uncounted`` is not joined
        either.
        """
        least = 1 if self.grade == "label" else 2
        counts, random = labels
        into = np.arange(len(names))
        for each in np.flatnonzero((counts < least) & ~uncounted):
            others = ~complete & (random >= least) & (names // _CLASSES == names[each] // _CLASSES)
            alike = others & (names // 3 == names[each] // 3)
            if not alike.any() and others.any() and not awaited[each]:
                share = random[others].sum() / answers[others].sum()
                alike = others & ((1 - share) ** answers[each] > _LEFT_OUT_BY_CHANCE)
            if alike.any():
                into[each] = np.where(alike, random, -1).argmax()
        return into

    def _name(self, code: int, classes: list[int], *, whole: bool) -> StratumName:
        """Return the name of a stratum with these ``classes`` of picked answers; ``whole``: of several verdicts."""
        verdict: JudgeVerdict | None = _VERDICTS[code % 3]
        if self.version is None or whole or (self.grade != "label" and verdict == "good"):
            verdict = None
        return StratumName(
            "any" if len(classes) > 1 else _PICKED[classes[0]], verdict, code >= _CLASSES
        )

    def _scores(self, at: IntArray) -> FloatArray:
        """Return the judge's scores as people's values are: badness beside labels, else the same grade; 0: none."""
        scores = self.answers.scores[at]
        if self.grade != "label":
            return np.nan_to_num(scores)
        return np.where(np.isnan(scores), self.answers.verdicts[at] == BAD, 1 - scores)

    def _verdicts(self, at: IntArray) -> FloatArray:
        verdicts = self.answers.verdicts[at]
        return np.where(verdicts == UNUSABLE, np.nan, verdicts == BAD)


def _summed_with_hidden(
    hidden: int,
    strata: IntArray,
    scores: FloatArray,
    groups: IntArray,
    count: int,
    is_sampled: BoolArray,
    values: FloatArray,
) -> tuple[Population, Labels]:
    """Return the sums over the answers and over ``hidden`` further answers, which are one more stratum and group."""
    if not hidden:
        return summed(strata, scores, groups, count, is_sampled, values)
    group = int(groups.max(initial=-1)) + 1
    return summed(
        np.concatenate([strata, np.full(hidden, count)]),
        np.concatenate([scores, np.zeros(hidden)]),
        np.concatenate([groups, np.full(hidden, group)]),
        count + 1,
        np.concatenate([is_sampled, np.zeros(hidden, dtype=np.bool_)]),
        values,
    )


def _numbered(codes: AnyArray, most: int) -> tuple[IntArray, IntArray]:
    """Return the codes (0 to ``most`` - 1) that occur, and each row's position among these codes; no sort is needed."""
    occurring = np.flatnonzero(np.bincount(codes, minlength=most))
    position = np.zeros(most, dtype=np.int64)
    position[occurring] = np.arange(len(occurring))
    return occurring, position[codes]


_MOST_CLASSES = 1 << 12


def _codes(*columns: AnyArray) -> AnyArray:
    """Return for each row a small number that is the same for rows with equal whole numbers in all columns."""
    codes, most = np.zeros(len(columns[0]), dtype=np.int32), 1
    for column in columns:
        values = int(column.max(initial=0)) + 1
        if values > 1:
            codes, most = codes * np.int32(values) + column.astype(np.int32), most * values
        if most > _MOST_CLASSES:
            occurring, numbers = _numbered(codes, most)
            codes, most = numbers.astype(np.int32), len(occurring)
    return codes.astype(np.int16 if most <= 1 << 15 else np.int32)


class _Classes(NamedTuple):
    """The classes of some answers: for each class the number ``n`` of answers, and the position of ``one`` answer.

    ``codes`` has the class number of each answer, ``occurring`` that of each class.
    """

    codes: AnyArray
    occurring: IntArray
    n: IntArray
    one: IntArray

    @classmethod
    def of(cls, *columns: AnyArray) -> "_Classes":
        """Return the classes of rows with equal whole numbers in all columns."""
        codes = columns[0] if len(columns) == 1 else _codes(*columns)
        n = np.bincount(codes)
        occurring, one = np.flatnonzero(n), np.empty(len(n), dtype=np.int64)
        one[codes] = np.arange(len(codes))
        return cls(codes, occurring, n[occurring], one[occurring])

    def of_answers(self, of_classes: AnyArray) -> AnyArray:
        """Return the value of each answer's class."""
        by_code = np.zeros(int(self.occurring.max(initial=-1)) + 1, dtype=of_classes.dtype)
        by_code[self.occurring] = of_classes
        return by_code[self.codes]


class _Strata(NamedTuple):
    """Classes of answers in their strata: one row per class, with the position ``at`` of an example answer.

    ``done``: people reviewed the answers. ``decides``: labels of the answers would be of a random
    sample. ``verdicts`` split strata. ``names`` has one entry per stratum.
    """

    classes: _Classes
    at: IntArray
    labelled: BoolArray
    drawn: BoolArray
    done: BoolArray
    undecided: BoolArray
    waiting: BoolArray
    verdicts: IntArray
    sampled: BoolArray
    by_lot: BoolArray
    decides: BoolArray
    strata: IntArray
    names: tuple[StratumName, ...]

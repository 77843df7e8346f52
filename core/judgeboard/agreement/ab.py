"""Two sources or generators on the same questions: which one has fewer bad answers?

A judge's verdicts on all questions make the labels on some of them more precise (prediction-powered inference, see
`stats.rates`). The judge alone never decides, because its errors may differ between the two sides.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from sqlalchemy import Connection

from judgeboard.agreement.samples import LabelledAnswers, scored_version
from judgeboard.agreement.versus import start_words
from judgeboard.domain import Estimate
from judgeboard.stats.arrays import BoolArray, FloatArray, IntArray, among, grouping
from judgeboard.stats.estimates import complement, points_words, unmeasured, within_range
from judgeboard.stats.intervals import METHOD
from judgeboard.stats.paired import (
    MIN_GROUPS,
    WITHIN,
    Conclusion,
    MeanChange,
    change_of_shares,
    conclusion,
    without_spread,
)
from judgeboard.stats.rates import predicted_mean, summed
from judgeboard.stats.significance import holm
from judgeboard.store.flags import reviewed_for_flags
from judgeboard.store.pairs import same_questions
from judgeboard.store.strata import BAD, UNUSABLE, picked_answers
from judgeboard.text import counted

By = Literal["query_type"]

UNFLAGGED = "no labels on questions without a flagged answer: label some of them, drawn at random"


@dataclass(frozen=True, slots=True)
class TypeChange:
    """The change in one query type. ``change`` has an interval that holds for all types at once.

    ``p`` is of this type alone, ``p_holm`` is adjusted for the number of types (Holm, 1979).
    """

    query_type: str
    questions: int
    labelled: int
    change: Estimate
    p: float | None
    p_holm: float | None
    conclusion: Conclusion


@dataclass(frozen=True, slots=True, kw_only=True)
class SourcesCompared:
    """Two sources (or generators) on the same questions. JSON has the same fields.

    Changes are the share of bad answers of ``b`` minus that of ``a``: below 0, ``b`` is better. ``questions`` have an
    answer of both sides that the judge was asked about; ``labelled`` of them have labels on both answers. ``change``
    is measured with labels and judge, ``labels_only`` without the judge, ``judge_alone`` without labels (it never
    decides). ``labels_needed`` is the number of labelled questions that would show a change of this size.
    """

    a: str
    b: str
    judge: str
    within: float
    conclusion: Conclusion
    exit_code: int
    sentence: str
    questions: int
    labelled: int
    change: Estimate
    p: float | None
    labels_only: Estimate
    judge_alone: Estimate
    labels_needed: int | None
    by: By | None = None
    types: tuple[TypeChange, ...] = ()
    left_out: Mapping[str, int] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


def compare_sources(
    connection: Connection,
    a: str,
    b: str,
    *,
    judge_version: int | str | None = None,
    by: By | None = None,
    within: float = WITHIN,
) -> SourcesCompared:
    """Compare the shares of bad answers of two sources, or of two generators, on the same questions.

    ``judge_version`` defaults to the newest version of the primary judge. ``within`` (0 to 1) is the increase of the
    bad share that still counts as good. Raises NotFound for unknown names.
    """
    version = scored_version(connection, judge_version)
    asked = same_questions(connection, a, b)
    known = LabelledAnswers(connection, version)
    answers = known.answers
    order = np.argsort(answers.response_ids)
    ids = answers.response_ids[order]
    judged = among(asked.a, ids) & among(asked.b, ids)
    at_a, at_b = (order[np.searchsorted(ids, side[judged])] for side in (asked.a, asked.b))
    bad = answers.verdicts == BAD
    scores = np.where(np.isnan(answers.scores), bad.astype(np.float64), 1 - answers.scores)
    usable = (answers.verdicts[at_a] != UNUSABLE) & (answers.verdicts[at_b] != UNUSABLE)
    labelled = known.labelled[at_a] & known.labelled[at_b]
    types = asked.query_types.at(judged)
    changes = _Changes(
        scores=np.where(usable, scores[at_b] - scores[at_a], 0.0),
        verdicts=bad[at_b].astype(np.float64) - bad[at_a].astype(np.float64),
        usable=usable,
        labelled=labelled,
        values=(known.values[at_b] - known.values[at_a])[labelled],
        groups=answers.evidence_groups[at_a],
        flagged=_flagged(connection, asked.a[judged], asked.b[judged], labelled),
    )
    one_side = int((known.labelled[at_a] ^ known.labelled[at_b]).sum())
    left_out = {
        "answered_by_one": asked.only_one,
        "question_repeated": asked.repeated,
        "not_judged": int((~judged).sum()),
        "labelled_on_one_side": one_side,
    }
    whole = changes.predicted()
    reached = _conclusion(whole.change, changes, within)
    result = SourcesCompared(
        a=a,
        b=b,
        judge=version.title,
        within=within,
        conclusion=reached,
        exit_code=reached.exit_code,
        sentence="",
        questions=len(usable),
        labelled=int(labelled.sum()),
        change=within_range(whole.change, -1, 1),
        p=whole.p,
        labels_only=within_range(changes.labels_only(), -1, 1),
        judge_alone=within_range(changes.judge_alone(), -1, 1),
        labels_needed=whole.labels_needed,
        by=by,
        types=_by_type(changes, types.names, types.codes, within) if by else (),
        left_out={reason: n for reason, n in left_out.items() if n},
        warnings=(),
    )
    return _with_words(result, usable)


def _flagged(connection: Connection, a: IntArray, b: IntArray, labelled: BoolArray) -> BoolArray:
    """Return which questions have a flagged answer; none if no label was made because of a flag.

    Labels that were made because of a flag say nothing about other questions. Questions with a flagged answer are
    then a stratum of their own.
    """
    by_flag = reviewed_for_flags(connection)
    if not (labelled & (among(a, by_flag) | among(b, by_flag))).any():
        return np.zeros(len(a), dtype=np.bool_)
    flagged = picked_answers(connection)
    return among(a, flagged) | among(b, flagged)


@dataclass(frozen=True, slots=True, eq=False)
class _Changes:
    """One row per question: the judge's change of badness and of the verdict; ``values`` are of labelled questions."""

    scores: FloatArray
    verdicts: FloatArray
    usable: BoolArray
    labelled: BoolArray
    values: FloatArray
    groups: IntArray
    flagged: BoolArray

    def at(self, rows: BoolArray) -> "_Changes":
        """Return some of the questions, by a mask."""
        return _Changes(
            self.scores[rows],
            self.verdicts[rows],
            self.usable[rows],
            self.labelled[rows],
            self.values[rows[self.labelled]],
            self.groups[rows],
            self.flagged[rows],
        )

    @property
    def labelled_groups(self) -> int:
        """The number of evidence groups with a labelled question."""
        return len(np.unique(self.groups[self.labelled]))

    def labels_only(self) -> Estimate:
        """Return the change on the labelled questions: that of `predicted` if the judge says nothing."""
        if len(self.values) < 2 or np.ptp(self.values) == 0:
            return change_of_shares(self.values, grouping(self.groups[self.labelled], len(self.values)))
        n = len(self.scores)
        groups = grouping(self.groups, n)
        sums = summed(np.zeros(n, dtype=np.int64), np.zeros(n), groups.codes, 1, self.labelled, self.values)
        change = predicted_mean(*sums, share=False)
        return change if change.low is None else replace(change, method=METHOD, unit=groups.unit)

    def judge_alone(self) -> Estimate:
        """Return the change of the verdicts, on questions with two usable verdicts."""
        verdicts = self.verdicts[self.usable]
        return change_of_shares(verdicts, grouping(self.groups[self.usable], len(verdicts)))

    def predicted(self) -> MeanChange:
        """Return the change of all questions from labels and judge."""
        n = len(self.values)
        strata, smallest = self._strata()
        if smallest < 2:
            why = "fewer than 2 questions have labels on both answers" if n < 2 or not self.flagged.any() else UNFLAGGED
            return MeanChange(unmeasured(n, why))
        if np.ptp(self.values) == 0:
            return MeanChange(without_spread(float(self.values[0]), n, grouping(self.groups[self.labelled], n)))
        count = int(strata.max()) + 1
        groups = grouping(self.groups, len(strata)).codes
        sums = summed(strata, self.scores, groups, count, self.labelled, self.values)
        # Student's t has this many degrees of freedom if there is one stratum, and about as many otherwise.
        df = max(self.labelled_groups - count, 1)
        return MeanChange(predicted_mean(*sums, share=False), df)

    def _strata(self) -> tuple[IntArray, int]:
        """Return the stratum of each question, and the number of labels in the stratum that has fewest.

        Questions without two usable verdicts are a stratum of their own if enough of them are labelled. Otherwise
        their predicted change is 0, which is valid too.
        """
        for codes in (2 * self.flagged.astype(np.int64) + ~self.usable, self.flagged.astype(np.int64)):
            names, strata = np.unique(codes, return_inverse=True)
            labels = np.bincount(strata[self.labelled], minlength=len(names))
            if len(labels) and labels.min() >= 2:
                break
        return strata, int(labels.min()) if len(labels) else 0


def _conclusion(change: Estimate, changes: _Changes, within: float) -> Conclusion:
    if changes.labelled_groups < MIN_GROUPS:
        return Conclusion.NOT_SHOWN
    return conclusion(complement(change, 0), within)


def _by_type(changes: _Changes, names: tuple[str, ...], codes: IntArray, within: float) -> tuple[TypeChange, ...]:
    inside = [changes.at(np.asarray(codes == code)) for code in range(len(names))]
    measured = [each.predicted() for each in inside]
    tests = sum(each.change.value is not None for each in measured)
    adjusted = iter(holm([each.p for each in measured if each.p is not None]))
    types = []
    for name, questions, each in zip(names, inside, measured, strict=True):
        change = within_range(each.simultaneous(max(tests, 1)), -1, 1)
        types.append(
            TypeChange(
                query_type=name,
                questions=len(questions.usable),
                labelled=len(questions.values),
                change=change,
                p=each.p,
                p_holm=None if each.p is None else next(adjusted),
                conclusion=_conclusion(change, questions, within),
            )
        )
    return tuple(types)


def _with_words(result: SourcesCompared, usable: BoolArray) -> SourcesCompared:
    unusable = int((~usable).sum())
    warnings = []
    if unusable:
        warnings.append(f"On {counted(unusable, 'question')} the judge has no usable verdict on both answers.")
    alone = conclusion(complement(result.judge_alone, 0))
    if alone not in {Conclusion.NOT_SHOWN, result.conclusion}:
        warnings.append(
            f"The judge alone would find {result.b} {alone.value} than {result.a}. The labels do not show it."
        )
    return replace(result, sentence=_sentence(result), warnings=tuple(warnings))


def _sentence(result: SourcesCompared) -> str:
    labelled = f"{counted(result.questions, 'question')}, {result.labelled:,} with labels on both answers"
    start = start_words(result.conclusion, result.a, result.b, result.within)
    if result.change.value is None:
        return f"{start}: {result.change.reason} ({labelled})."
    start += f": the share of bad answers changes by {points_words(result.change, sign=True)}, from {labelled}."
    if result.conclusion is not Conclusion.NOT_SHOWN or result.labels_needed is None:
        return start
    if result.labels_needed > result.questions:
        return f"{start} Even labels on all questions will probably not show a change of this size."
    more = max(result.labels_needed - result.labelled, 1)
    return f"{start} To show a change of this size, label both answers of about {counted(more, 'more question')}."

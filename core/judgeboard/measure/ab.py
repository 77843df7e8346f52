"""Two sources or generators on the same questions: which one has fewer bad answers?

A judge's verdicts on all questions make the labels on some of them more precise (prediction-powered
inference, see `stats.rates`). The judge alone never decides, because its errors may differ between
the two sides. Labels count if all answers are labelled, or if they came by a random sample in which
all answers had the same chance.
"""

import math
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from sqlalchemy import Connection

from judgeboard.domain import Estimate
from judgeboard.measure.all_answers import evenly_sampled, what_to_label
from judgeboard.measure.contrast import Contrast, contrast
from judgeboard.measure.notes import Note, note
from judgeboard.measure.result import ALL, About, Row, without_zeros
from judgeboard.measure.samples import LabelledAnswers, SampledLabels, scored_version
from judgeboard.measure.versus import labels_on_all
from judgeboard.stats.arrays import BoolArray, FloatArray, IntArray, among, grouping
from judgeboard.stats.estimates import complement, unmeasured, within_range
from judgeboard.stats.intervals import METHOD
from judgeboard.stats.paired import (
    MIN_GROUPS,
    WITHIN,
    Conclusion,
    MeanChange,
    change_of_shares,
    conclusion,
    labels_beside_scores,
    without_spread,
)
from judgeboard.stats.rates import predicted_mean, summed
from judgeboard.stats.significance import holm
from judgeboard.store.filters import RowFilter, where_options
from judgeboard.store.overview import count_log
from judgeboard.store.pairs import same_questions
from judgeboard.store.statements import Columns
from judgeboard.store.strata import BAD, UNUSABLE

By = Literal["query_type"]

_TO_LABEL = 60  # labelled questions that give a first figure


def compare_sources(
    connection: Connection,
    a: str,
    b: str,
    *,
    judge_version: int | str | None = None,
    by: By | None = None,
    within: float = WITHIN,
) -> Contrast:
    """Compare the shares of bad answers of two sources, or of two generators, on the same questions.

    ``judge_version`` defaults to the newest version of the primary judge. ``within`` (0 to 1) is
    the increase of the bad share that still counts as good. Raises NotFound for unknown names, and
    BadInput if answers are hidden from the viewer.

    A ``change`` is the share of bad answers of ``b`` minus that of ``a``: below 0, ``b`` is better.
    It is measured with labels and judge, ``labels_change`` without the judge, ``judge_change``
    without labels (it never decides). ``questions`` have an answer of both sides that the judge was
    asked about; ``labelled`` of them have labels on both answers that count, because all answers
    are labelled or because the labels are a random sample. ``labels_needed`` of them would show a
    change of this size; it has no value if labels on all would not.
    """
    version = scored_version(connection, judge_version)
    asked = same_questions(connection, a, b)
    known = LabelledAnswers(connection, version)
    known.check_nothing_hidden("a comparison of sources")
    answers = known.answers
    order = np.argsort(answers.response_ids)
    ids = answers.response_ids[order]
    judged = among(asked.a, ids) & among(asked.b, ids)
    at_a, at_b = (order[np.searchsorted(ids, side[judged])] for side in (asked.a, asked.b))
    bad = answers.verdicts == BAD
    scores = np.where(np.isnan(answers.scores), bad.astype(np.float64), 1 - answers.scores)
    usable = (answers.verdicts[at_a] != UNUSABLE) & (answers.verdicts[at_b] != UNUSABLE)
    inside = np.zeros(len(order), dtype=np.bool_)
    inside[at_a] = inside[at_b] = True
    counting = evenly_sampled(known, inside)
    labelled = among(asked.a[judged], counting) & among(asked.b[judged], counting)
    types = asked.query_types.at(judged)
    changes = _Changes(
        scores=np.where(usable, scores[at_b] - scores[at_a], 0.0),
        verdicts=bad[at_b].astype(np.float64) - bad[at_a].astype(np.float64),
        usable=usable,
        labelled=labelled,
        labels=known.values[at_b] - known.values[at_a],
        groups=answers.evidence_groups[at_a],
    )
    one_side = int((known.labelled[at_a] ^ known.labelled[at_b]).sum())
    left_out = {
        "answered_by_one": asked.only_one,
        "question_repeated": asked.repeated,
        "not_judged": int((~judged).sum()),
        "labelled_on_one_side": one_side,
        "no_random_sample": int((known.labelled[at_a] & known.labelled[at_b] & ~labelled).sum()),
    }
    whole, labels_only = changes.predicted(), changes.labels_only()
    alone = within_range(changes.judge_alone(), -1, 1)
    needed = labels_beside_scores(whole, labels_only, len(usable))
    change = within_range(whole.change, -1, 1)
    to_label, why, weighted = None, "", None
    if (
        conclusion(complement(change, 0), within) is Conclusion.NOT_SHOWN
        and len(usable) >= MIN_GROUPS
    ):
        wanted = (
            min(_TO_LABEL, len(usable)) if whole.change.value is None else needed or len(usable)
        )
        sample = known.sample(inside, by_group=False)
        why, weighted = _not_counted_because(sample, asked.where)
        to_label = _to_label(connection, sample, asked.where, wanted / len(usable))
    if not labelled.any() and len(usable) >= MIN_GROUPS:
        change = replace(change, reason=why or "no question has labels on both answers")
    rows = [
        *_rows(ALL, changes, change, whole.p),
        Row.of("labels_change", ALL, within_range(labels_only.change, -1, 1)),
        Row.of("judge_change", ALL, alone),
        Row("labels_needed", ALL, needed, n=int(labelled.sum())),
    ]
    if by:
        rows += _by_type(changes, types.names, types.codes)
    about = About(judges=(version.title,), by=by, left_out=without_zeros(left_out))
    nothing = None
    if len(usable) < MIN_GROUPS:
        nothing = note("too_few_questions", n=len(usable), needed=MIN_GROUPS)
    result = contrast(
        "source",
        (a, b),
        change,
        rows=rows,
        about=about,
        is_loss=True,
        within=within,
        headline=nothing,
    )
    return replace(
        result,
        caveats=tuple(_caveats(result, alone, int((~usable).sum()))),
        next=tuple(
            _next_steps(result, to_label, weighted, labels_only.smallest_shown(len(usable)))
        ),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Changes(Columns):
    """One row per question: the change of the judge's badness, of its verdict, and of the label (NaN without labels).

    Both verdicts are ``usable``, or not. ``labelled`` questions have labels on both answers that
    count.
    """

    scores: FloatArray
    verdicts: FloatArray
    usable: BoolArray
    labelled: BoolArray
    labels: FloatArray
    groups: IntArray

    @property
    def values(self) -> FloatArray:
        """The change of the label of each labelled question."""
        return self.labels[self.labelled]

    @property
    def labelled_groups(self) -> int:
        """The number of evidence groups with a labelled question."""
        return len(np.unique(self.groups[self.labelled]))

    @property
    def too_few(self) -> str | None:
        """Why the labelled questions are too few for a figure; None if they are enough."""
        groups, n = self.labelled_groups, len(self.values)
        if groups >= MIN_GROUPS:
            return None
        unit, n = ("questions", n) if n < MIN_GROUPS else ("evidence groups", groups)
        return f"too few {unit} with labels that count on both answers (n = {n}, at least {MIN_GROUPS} needed)"

    def labels_only(self) -> MeanChange:
        """Return the change on the labelled questions: that of `predicted` if the judge says nothing."""
        if self.too_few is not None:
            return MeanChange(unmeasured(len(self.values), self.too_few))
        if np.ptp(self.values) == 0:
            return MeanChange(
                change_of_shares(
                    self.values, grouping(self.groups[self.labelled], len(self.values))
                )
            )
        n = len(self.scores)
        groups = grouping(self.groups, n)
        sums = summed(
            np.zeros(n, dtype=np.int64), np.zeros(n), groups.codes, 1, self.labelled, self.values
        )
        change = predicted_mean(*sums, share=False)
        if change.low is not None:
            change = replace(change, method=METHOD, unit=groups.unit)
        return MeanChange(change, self.labelled_groups - 1)

    def judge_alone(self) -> Estimate:
        """Return the change of the verdicts, on questions with two usable verdicts."""
        verdicts = self.verdicts[self.usable]
        return change_of_shares(verdicts, grouping(self.groups[self.usable], len(verdicts)))

    def predicted(self) -> MeanChange:
        """Return the change of all questions from labels and judge."""
        n = len(self.values)
        if self.too_few is not None:
            return MeanChange(unmeasured(n, self.too_few))
        if np.ptp(self.values) == 0:
            return MeanChange(
                without_spread(float(self.values[0]), n, grouping(self.groups[self.labelled], n))
            )
        # Questions without two usable verdicts are a stratum of their own if enough of them are
        # labelled. Otherwise their predicted change is 0, which is valid too.
        has_own = np.bincount(self.usable[self.labelled], minlength=2).min() >= 2
        strata = ~self.usable * np.int64(has_own)
        count = int(strata.max()) + 1
        groups = grouping(self.groups, len(strata)).codes
        sums = summed(strata, self.scores, groups, count, self.labelled, self.values)
        # Student's t has this many degrees of freedom if there is one stratum, and about as many
        # otherwise.
        df = max(self.labelled_groups - count, 1)
        return MeanChange(predicted_mean(*sums, share=False), df)


def _rows(
    slice_: str | None, questions: _Changes, change: Estimate, p: float | None
) -> Iterator[Row]:
    n = len(questions.values)
    yield Row.of("change", slice_, change)
    for name, value in (("questions", len(questions.usable)), ("labelled", n), ("p", p)):
        yield Row(name, slice_, value, n=n)


def _by_type(changes: _Changes, names: tuple[str, ...], codes: IntArray) -> Iterator[Row]:
    """Yield the changes in each query type, with intervals that hold for all types at once.

    ``p`` is of a type alone, ``p_holm`` is adjusted for the number of types (Holm, 1979).
    """
    inside = [changes.at(np.asarray(codes == code)) for code in range(len(names))]
    measured = [each.predicted() for each in inside]
    tests = sum(each.change.value is not None for each in measured)
    adjusted = iter(holm([each.p for each in measured if each.p is not None]))
    for name, questions, each in zip(names, inside, measured, strict=True):
        yield from _rows(
            name, questions, within_range(each.simultaneous(max(tests, 1)), -1, 1), each.p
        )
        p_holm = None if each.p is None else next(adjusted)
        yield Row("p_holm", name, p_holm, n=len(questions.values))


def _to_label(
    connection: Connection, sample: SampledLabels, where: RowFilter, share: float
) -> str | None:
    """Return the command of a queue, so that the labels on both answers of this ``share`` of the questions count.

    ``sample`` are the labels of both sides, ``where`` is their filter. Both answers of a question
    are in a random sample of answers with the square of one answer's chance. None if people decided
    all answers.
    """
    missing = math.sqrt(share) - float(sample.is_sampled.mean())
    n = math.ceil(missing * count_log(connection, where))
    options = f"--plan rate --n {n}"
    if not (sample.is_random and 0 < n < int(sample.unlabelled.sum())):
        # Where people chose a part and labelled it completely, a sample draws from the other parts
        # only.
        where = replace(where, graded=False)
        n = count_log(connection, where)
        options = f"--all-answers --limit {n}"
    return f"judgeboard queue create ab {options} {shlex.join(where_options(where))}" if n else None


def _not_counted_because(sample: SampledLabels, where: RowFilter) -> tuple[str, str | None]:
    """Return why labels of the ``sample``, which ``where`` selects, do not count, and the command that weights them."""
    if sample.has_gap:
        need = what_to_label(sample)
        return ("the labels are no random sample" if need is None else need.missing), None
    by = "source" if where.sources else "generator"
    often = "people labelled some kinds of answers more often than others"
    return often, f"judgeboard labels rate --by {by} {shlex.join(where_options(where))}"


def _caveats(result: Contrast, alone: Estimate, unusable: int) -> Iterator[Note]:
    """Yield which labels and verdicts do not count, and where the judge ``alone`` would conclude something else."""
    first, second = result.sides
    if unusable:
        yield note("questions_without_verdict", n=unusable)
    if result.figure("labelled").value and (
        chosen := result.about.left_out.get("no_random_sample")
    ):
        yield note("questions_not_sampled", n=chosen)
    by_judge = conclusion(complement(alone, 0))
    if by_judge not in {Conclusion.NOT_SHOWN, result.conclusion}:
        yield note(f"judge_alone_{by_judge.value}", first=first, second=second)
    if len(result.slices) > 1:
        yield note("together", n=len(result.slices))


def _next_steps(
    result: Contrast, command: str | None, weighted: str | None, all_show: float | None
) -> Iterator[Note]:
    """Yield what to label: a queue of the first ``command`` leads to labels that show the change, or to a first figure.

    ``weighted`` is a command that weights the labels, all labels show ``all_show``.
    """
    questions, labelled, needed = (
        result.figure(name).value for name in ("questions", "labelled", "labels_needed")
    )
    if result.conclusion is not Conclusion.NOT_SHOWN:
        return
    if result.figure("change").value is None:
        if weighted is not None and "no_random_sample" in result.about.left_out:
            yield note("rates_of_sources", command=weighted)
        if command is not None:
            yield note("label_first", command=command)
    elif needed is not None and command is not None:
        yield note("label_questions", n=round(needed - (labelled or 0)), command=command)
    elif command is not None or labelled == questions:
        yield labels_on_all(round(questions or 0), all_show, command)

"""The effect of a threshold on the stored answers: its flags, recall and precision, and the change of the queue."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from judgeboard.domain import Estimate
from judgeboard.measure.notes import Note, note
from judgeboard.measure.ratings import cuts_of
from judgeboard.measure.result import Row
from judgeboard.measure.scored_labels import JudgedScores, ScoredLabels, flag_from
from judgeboard.settings.model import Cuts
from judgeboard.stats.arrays import TIE, BoolArray, FloatArray
from judgeboard.stats.estimates import MIN_PAIRS, complement, measured, too_few, unmeasured
from judgeboard.stats.proportions import share
from judgeboard.stats.rates import (
    Labels,
    Population,
    app_effect,
    missing_of_strata,
    rate,
    strata_of,
    summed,
    weighted_agreement,
)


@dataclass(frozen=True, slots=True)
class QueueChange:
    """How the queue changes: ``flags`` more (below 0: fewer), and ``bad``, how many of these answers are bad."""

    flags: int
    bad: Estimate

    def cost_per_answer(self, miss_cost: float, answers: int) -> Estimate:
        """Return how much more each of all ``answers`` costs on average, in reviews.

        A missed bad answer costs ``miss_cost`` reviews. The number of flags is exact, so all error
        is that of ``bad``.
        """
        bad = self.bad
        if 0 < bad.n < MIN_PAIRS:
            return unmeasured(bad.n, too_few(bad.n))
        if bad.value is None or bad.low is None or bad.high is None:
            return unmeasured(bad.n, (bad.reason or "").removeprefix("no interval: "))
        sign = 1 if self.flags > 0 else -1  # more flags find bad answers, fewer flags miss them
        costs = [
            (self.flags - sign * miss_cost * number) / answers
            for number in (bad.value, bad.low, bad.high)
        ]
        ends = min(costs[1:]), max(costs[1:])
        return measured(costs[0], bad.n, ends, method=bad.method, unit=bad.unit)


@dataclass(frozen=True, slots=True)
class AtThreshold:
    """The effect of the threshold ``low_groundedness``: ``flags`` of all judged answers, and shares by labels.

    Answers that the rule low_groundedness excuses have no flag. ``flagged`` is the share of answers
    with a flag, ``recall`` the share of bad answers that are flagged, ``precision`` the share of
    flagged answers that are bad, and ``false_omission`` the share of unflagged answers that are
    bad. ``change`` is the change of the queue from the threshold in force. ``excused`` counts the
    answers below the threshold that have no flag because the rule excuses them.
    """

    low_groundedness: float
    flags: int
    flagged: Estimate
    recall: Estimate
    precision: Estimate
    false_omission: Estimate
    change: QueueChange
    excused: int

    def rows(self, slice_: str) -> Iterator[Row]:
        """Yield the figures as rows of a slice."""
        counts = (
            ("low_groundedness", self.low_groundedness),
            ("flags", self.flags),
            ("excused", self.excused),
        )
        for name, value in (*counts, ("flags_change", self.change.flags)):
            yield Row(name, slice_, value, n=self.flagged.n)
        for name in ("flagged", "recall", "precision", "false_omission"):
            yield Row.of(name, slice_, getattr(self, name))
        yield Row.of("bad_change", slice_, self.change.bad)


def change_note(change: QueueChange) -> Note:
    """Return how the queue changes."""
    if not change.flags:
        return note("queue_unchanged")
    return note(
        "fewer_flags" if change.flags < 0 else "more_flags", flags=abs(change.flags), bad=change.bad
    )


class ThresholdFigures:
    """Measures the effects of thresholds on the ``judged`` answers with these ``labels``.

    Figures are weighted to all answers as in `labels rate`. If all labels had equal chances, the
    figures are shares of the labels. ``sampled_from`` (default: ``judged``) are the answers from
    which the labels are a sample, in whole evidence groups.
    """

    def __init__(
        self, labels: ScoredLabels, judged: JudgedScores, sampled_from: JudgedScores | None = None
    ) -> None:
        self.labels, self.judged = labels, judged
        self._sampled_from = judged if sampled_from is None else sampled_from
        count = int(judged.strata.max(initial=-1)) + 1
        answers, label_counts = (
            np.bincount(each.strata, minlength=count) for each in (self._sampled_from, labels)
        )
        self.missing = missing_of_strata(answers, label_counts)
        """How many more labels the figures need at least until they have an interval."""
        is_whole = bool(labels.n) and not (label_counts[answers > 0] == 0).any()
        self._has_equal_chances = is_whole and bool(np.ptp(labels.weights) < TIE)

    @cached_property
    def _sums(self) -> tuple[Population, Labels]:
        return _summed(self.labels, self._sampled_from, self.labels.bad)

    def in_all_answers(self, judged_bad: BoolArray) -> dict[str, Estimate]:
        """Return the agreement with people in all answers as `rate` does, for labels that are ``judged_bad``."""
        return weighted_agreement(*self._sums, judged_bad.astype(np.float64))

    def in_force(self, setting: float, cuts: Cuts) -> AtThreshold:
        """Return the effect of the thresholds in force; the figures are those of `labels rate`."""
        scores, n = self.judged, self.judged.n
        figures, flags = self.in_all_answers(self.labels.flagged), int(scores.flagged.sum())
        flagged = measured(flags / n, n, reason="no interval: counted on all answers")
        nothing = QueueChange(0, measured(0.0, n, reason="no answer is between the two thresholds"))
        excused = self._excused(flag_from(cuts_of(cuts, scores.query_types)))
        shares = (
            figures["sensitivity"],
            figures["precision"],
            self._false_omission(self.labels.flagged),
        )
        return AtThreshold(setting, flags, flagged, *shares, nothing, excused)

    def at(self, setting: float, threshold: float) -> AtThreshold:
        """Return the effect of a threshold on badness; ``setting`` is the same threshold on groundedness."""
        flagged, all_flagged = (
            self.labels.rule_badness >= threshold,
            self.judged.rule_badness >= threshold,
        )
        return self.of_flags(setting, flagged, all_flagged, self._excused(threshold))

    def of_flags(
        self, setting: float, flagged: BoolArray, all_flagged: BoolArray, excused: int
    ) -> AtThreshold:
        """Return the effect of flagging these labelled answers, with the flags of all answers."""
        labels, is_even = self.labels, self._has_equal_chances
        if is_even:
            recall, precision = (
                _share_of_rows(flagged, labels, labels.bad),
                _share_of_rows(labels.bad, labels, flagged),
            )
            omission = _share_of_rows(labels.bad, labels, ~flagged)
        else:
            figures = self.in_all_answers(flagged)
            recall, precision = figures["sensitivity"], figures["precision"]
            omission = self._false_omission(flagged)
        of_all = _share(flagged, labels, self._sampled_from, is_even=is_even)
        change = self._change(flagged, all_flagged)
        return AtThreshold(
            setting, int(all_flagged.sum()), of_all, recall, precision, omission, change, excused
        )

    def _false_omission(self, flagged: BoolArray) -> Estimate:
        """Return the share of unflagged answers that are bad: of good answers, the precision of not flagging."""
        sums = _summed(self.labels, self._sampled_from, ~self.labels.bad)
        return complement(weighted_agreement(*sums, (~flagged).astype(np.float64))["precision"])

    def _excused(self, threshold: FloatArray | float) -> int:
        return int((self.judged.excused & (self.judged.badness >= threshold)).sum())

    def _change(self, flagged: BoolArray, all_flagged: BoolArray) -> QueueChange:
        """Return the change of the queue. The share of bad answers comes from the labels of changed answers."""
        labels, scores = self.labels, self.judged
        more, fewer = (
            int((all_flagged & ~scores.flagged).sum()),
            int((scores.flagged & ~all_flagged).sum()),
        )
        if more and fewer:
            return QueueChange(
                more - fewer, unmeasured(0, "some query types have more flags, others fewer")
            )
        n = more or fewer
        if not n:
            return QueueChange(
                0, measured(0.0, 0, reason="no answer is between the two thresholds")
            )
        changed_labels = labels.at(flagged != labels.flagged)
        changed_ids = scores.response_ids[all_flagged != scores.flagged]
        of_all = self._sampled_from.at(np.isin(self._sampled_from.response_ids, changed_ids))
        bad = _share(changed_labels.bad, changed_labels, of_all, is_even=self._has_equal_chances)
        if bad.value is not None and bad.low is not None and bad.high is not None:
            ends = bad.low * n, bad.high * n
            bad = measured(bad.value * n, bad.n, ends, method=bad.method, unit=bad.unit)
        return QueueChange(more - fewer, bad)


def _summed(
    labels: ScoredLabels, scores: JudgedScores, values: BoolArray
) -> tuple[Population, Labels]:
    groups = np.unique(scores.groups, return_inverse=True)[1]
    count = int(scores.strata.max(initial=-1)) + 1
    has_label = np.isin(scores.response_ids, labels.response_ids)
    return summed(
        scores.strata, scores.badness, groups, count, has_label, values.astype(np.float64)
    )


def _share_of_rows(hits: BoolArray, labels: ScoredLabels, rows: BoolArray) -> Estimate:
    return (
        share(hits[rows], labels.at(rows).grouping)
        if rows.any()
        else unmeasured(0, "no labelled answers")
    )


def _share(
    hits: BoolArray, labels: ScoredLabels, scores: JudgedScores, *, is_even: bool
) -> Estimate:
    """Return the share of hits in all judged answers, as `rate` does; ``hits`` has one entry per label."""
    if is_even:
        return _share_of_rows(hits, labels, np.ones(labels.n, dtype=np.bool_))
    sums = _summed(labels, scores, hits)
    return rate(strata_of(*sums), "app", app_effect(*sums))

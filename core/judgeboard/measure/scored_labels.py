"""Labelled answers with a judge's score. Half of the evidence groups chooses a threshold, the other half reports."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from sqlalchemy import Connection

from judgeboard.errors import NotFound
from judgeboard.flags.rule import HALF_STEP
from judgeboard.flags.rules import excused_confidence, sampling_number
from judgeboard.measure.all_answers import ToLabel, what_to_label
from judgeboard.measure.ratings import cuts_of
from judgeboard.measure.result import without_zeros
from judgeboard.measure.sample import answers_of
from judgeboard.measure.samples import LabelledAnswers
from judgeboard.settings.model import Cuts
from judgeboard.stats.arrays import AnyArray, BoolArray, FloatArray, Grouping, IntArray, grouping
from judgeboard.stats.thresholds import equal_chances
from judgeboard.store.answer_facts import right_refusals
from judgeboard.store.settings import thresholds
from judgeboard.store.statements import Columns, TextColumn, record_of
from judgeboard.store.strata import JudgedAnswers, gives_labels
from judgeboard.store.tables import StoredVersion

DECIMALS = 9  # scores that are closer count as equal
MOST_UNLABELLED = 0.05  # share of the judged answers in strata without a label, above which figures are not available

_EVIDENCE = "evidence group"
_EXCUSED = -1.0  # below every threshold


def allowed_risk(goal: float) -> float:
    """Return the share of wrong verdicts that a goal allows. Both are above 0 and below 1, also after rounding."""
    least = 10.0**-DECIMALS
    return min(max(round(1 - goal, DECIMALS), least), 1 - least)


@dataclass(frozen=True, eq=False)
class JudgedScores(Columns):
    """Answers that have a score, one row each.

    ``groups`` are evidence groups. ``badness`` is 1 - groundedness. ``flagged`` marks answers that
    the rule low_groundedness flags with the thresholds in force. ``excused`` marks answers that the
    rule flags with no threshold (no answer, if this was not read). ``strata`` are positions in the
    counts of the sample.
    """

    response_ids: IntArray
    groups: IntArray
    badness: FloatArray
    query_types: TextColumn
    flagged: BoolArray
    excused: BoolArray
    strata: IntArray

    @property
    def rule_badness(self) -> FloatArray:
        """The badness that the rule low_groundedness compares with a threshold: -1 for answers that it excuses."""
        return np.where(self.excused, _EXCUSED, self.badness)

    @cached_property
    def choosing(self) -> BoolArray:
        """Which answers are in the half that chooses a threshold; the other half reports its effect."""
        return drawn("cal", self.groups) < 0.5

    @property
    def n(self) -> int:
        """The number of answers."""
        return len(self.response_ids)

    def of_type(self, query_type: str | None) -> Self:
        """Return the answers of a query type (None: all)."""
        return self if query_type is None else self.at(self.query_types.equal(query_type))


@dataclass(frozen=True, eq=False)
class ScoredLabels(JudgedScores):
    """Labelled answers that have a score.

    ``judged_bad`` is the verdict, ``bad`` the label. ``weights``: the number of answers that a
    label represents. ``by_lot`` marks labels that every judged answer had the same chance to get.
    ``lots`` are random numbers from 0 to below 1.
    """

    judged_bad: BoolArray
    bad: BoolArray
    weights: FloatArray
    by_lot: BoolArray
    lots: FloatArray

    @property
    def grouping(self) -> Grouping:
        """The evidence groups as a grouping."""
        return grouping(self.groups, self.n)

    @property
    def confidence(self) -> FloatArray:
        """How sure the judge is of its verdict, 0.5 to 1."""
        return confidence(self.badness)

    @property
    def wrong(self) -> BoolArray:
        """Which verdicts differ from the label."""
        wrong: BoolArray = self.judged_bad != self.bad
        return wrong


@dataclass(frozen=True, slots=True, eq=False)
class ScoredSample:
    """Labels and scores for a judge version, or for the mean score of several.

    ``cuts`` are the thresholds in force. ``answers`` and ``labelled`` are counts by stratum.
    ``decides_verdicts``: the judge gives no labels, so that the threshold also decides its
    verdicts. ``gap`` says what to label for figures of all answers, None if all figures are
    available. ``left_out`` counts labelled answers by the reason why they do not count. ``excuses``
    says which answers the rule low_groundedness excuses, "" for none.
    """

    title: str
    labels: ScoredLabels
    judged: JudgedScores
    cuts: Cuts
    left_out: dict[str, int]
    answers: IntArray
    labelled: IntArray
    gap: ToLabel | None = None
    decides_verdicts: bool = False
    excuses: str = ""

    @property
    def by_lot(self) -> ScoredLabels:
        """The labels that every judged answer had the same chance to get."""
        return self.labels.at(self.labels.by_lot)

    def with_equal_chances(self, labels: ScoredLabels, strata: BoolArray) -> BoolArray:
        """Return which labels are kept, so that each answer in these ``strata`` is labelled with the same chance."""
        is_kept: BoolArray = (
            labels.lots < _kept_shares(self.answers, self.labelled, strata)[labels.strata]
        )
        return is_kept


def flag_from(low_groundedness: AnyArray | float) -> AnyArray:
    """Return the badness from which on the rule low_groundedness flags an answer."""
    return np.asarray(1 - low_groundedness + HALF_STEP)


def confidence(badness: FloatArray) -> FloatArray:
    """Return how sure the judge is of each verdict: the larger of badness and groundedness."""
    return np.maximum(badness, 1 - badness)


def drawn(name: str, groups: IntArray) -> FloatArray:
    """Return a number from 0 to below 1 per row that depends only on the name and the evidence group."""
    distinct, at = np.unique(groups, return_inverse=True)
    numbers = np.array(
        [sampling_number(name, _EVIDENCE, str(group)) for group in distinct.tolist()],
        dtype=np.float64,
    )
    return numbers[at]


def load_sample(
    connection: Connection,
    versions: Sequence[StoredVersion],
    *,
    flags: bool = False,
    loaded: LabelledAnswers | None = None,
) -> ScoredSample:
    """Return the sampled labels with the scores of a judge version, or with the mean scores of several.

    Several versions count as one judge that calls an answer bad if the mean badness is above 0.5.
    An answer counts if each version scored it. Raises NotFound if no answer counts. With ``flags``,
    the answers that the rule low_groundedness excuses are read too. ``loaded`` are the answers of
    the first version, if loaded already.
    """
    title = " + ".join(version.title for version in versions)
    in_force = thresholds(connection)
    cuts = in_force.cuts
    first = loaded or LabelledAnswers(connection, versions[0])
    judges = [first.answers, *(answers_of(connection, each.id) for each in versions[1:])]
    badness = _mean_badness(judges)
    has_score = ~np.isnan(badness)
    if not has_score.any():
        raise NotFound(f"{title}: no logged answer has a groundedness score")
    sample = first.sample(has_score, by_group=False)
    answers, badness = first.answers.at(has_score), badness[has_score]
    excused = np.zeros(len(badness), dtype=np.bool_)
    excuses: list[str] = []
    if flags:
        least = excused_confidence(in_force)
        excused = confidence(badness) >= least - HALF_STEP
        excuses = ["confident verdicts"] if least <= 1 else []
        if in_force.excuse_refusals:
            excuses.insert(0, "refusals without a fitting passage")
            excused |= np.isin(answers.response_ids, right_refusals(connection))
    types = answers.query_types
    low = badness >= flag_from(cuts_of(cuts, types))
    scores = JudgedScores(
        answers.response_ids,
        answers.evidence_groups,
        badness,
        types,
        low & ~excused,
        excused,
        sample.stratum_of,
    )
    of_labels = scores.at(sample.is_sampled)
    counts = np.array([(each.answers, each.labelled) for each in sample.counts], dtype=np.int64)
    of_strata, label_counts = counts.reshape(-1, 2).T
    ids = of_labels.response_ids.tolist()
    lots = np.array([sampling_number("lot", "response", str(id_)) for id_ in ids], dtype=np.float64)
    labels = record_of(
        ScoredLabels,
        of_labels,
        judged_bad=of_labels.badness > 0.5 if len(versions) > 1 else sample.verdicts == 1,
        bad=sample.labels.values > 0,
        weights=(of_strata / np.maximum(label_counts, 1))[of_labels.strata],
        by_lot=lots < _kept_shares(of_strata, label_counts, label_counts > 0)[of_labels.strata],
        lots=lots,
    )
    left_out = {
        **first.left_out,
        **sample.left_out,
        "extras": sample.extras,
        "without_score": int((first.labelled & ~has_score).sum()),
        "more_often_labelled": int((~labels.by_lot).sum()),
    }
    unlabelled = of_strata[label_counts == 0].sum()
    return ScoredSample(
        title,
        labels,
        scores,
        cuts,
        without_zeros(left_out),
        of_strata,
        label_counts,
        what_to_label(sample) if unlabelled > MOST_UNLABELLED * sample.population.total else None,
        len(versions) == 1 and not gives_labels(connection, versions[0].id),
        " and ".join(excuses),
    )


def _mean_badness(judges: Sequence[JudgedAnswers]) -> FloatArray:
    """Return the mean badness of the answers of the first judge, NaN for answers that some judge did not score."""
    first, *others = judges
    total = first.scores
    for other in others:
        by_id = other.at(np.argsort(other.response_ids))
        has_score = np.isin(first.response_ids, other.response_ids)
        scores = np.full(len(total), np.nan)
        scores[has_score] = by_id.scores[
            np.searchsorted(by_id.response_ids, first.response_ids[has_score])
        ]
        total = total + scores
    badness: FloatArray = np.round(1 - total / len(judges), DECIMALS)
    return badness


def _kept_shares(answers: IntArray, labels: IntArray, strata: BoolArray) -> FloatArray:
    """Return the share of each stratum's labels to keep, so that answers in ``strata`` have equal chances; else 0."""
    shares, with_label = np.zeros(len(answers)), strata & (labels > 0)
    if with_label.any():
        shares[with_label] = equal_chances(answers[with_label], labels[with_label])
    return shares

"""Labelled answers with a judge's score. Half of their evidence groups chooses a threshold, the other half reports."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from sqlalchemy import Connection

from judgeboard.agreement.all_answers import what_to_label
from judgeboard.agreement.answer_pairs import cuts_of
from judgeboard.agreement.samples import LabelledAnswers, SampledLabels
from judgeboard.errors import NotFound
from judgeboard.flags.rule import HALF_STEP, Cuts
from judgeboard.flags.rules import sampling_number
from judgeboard.stats.arrays import AnyArray, BoolArray, FloatArray, Grouping, IntArray, grouping
from judgeboard.stats.thresholds import equal_chances
from judgeboard.store.judge_versions import StoredVersion
from judgeboard.store.settings import thresholds
from judgeboard.store.statements import Columns, TextColumn
from judgeboard.store.strata import BAD, UNUSABLE, JudgedAnswers, evidence_groups, judged_answers

DECIMALS = 9  # scores that are closer count as equal
MOST_UNLABELLED = 0.05  # share of the judged answers in strata without a label, above which figures are not available

_EVIDENCE = "evidence group"


def allowed_risk(goal: float) -> float:
    """Return the share of wrong verdicts that a goal allows. Both are above 0 and below 1, also after rounding."""
    least = 10.0**-DECIMALS
    return min(max(round(1 - goal, DECIMALS), least), 1 - least)


@dataclass(frozen=True, slots=True, eq=False)
class ScoredLabels(Columns):
    """Labelled answers, one row each.

    ``groups`` are evidence groups. ``badness`` is 1 - groundedness. ``judged_bad`` is the verdict, ``bad`` the label.
    ``flagged`` marks badness that the rule low_groundedness flags with the thresholds in force. ``weights`` tell how
    many answers a label stands for. ``by_lot`` marks labels that every judged answer had the same chance to get.
    """

    response_ids: IntArray
    groups: IntArray
    badness: FloatArray
    judged_bad: BoolArray
    bad: BoolArray
    query_types: AnyArray
    flagged: BoolArray
    weights: FloatArray
    by_lot: BoolArray

    @property
    def n(self) -> int:
        """The number of labelled answers."""
        return len(self.response_ids)

    @property
    def grouping(self) -> Grouping:
        """The evidence groups as a grouping."""
        return grouping(self.groups, self.n)

    @property
    def choosing(self) -> BoolArray:
        """Which answers are in the half that chooses a threshold; the others report what it does."""
        return drawn("cal", self.groups) < 0.5

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
class JudgedScores(Columns):
    """The badness of all answers that have a score; ``flagged`` is as in `ScoredLabels`."""

    response_ids: IntArray
    badness: FloatArray
    query_types: TextColumn
    flagged: BoolArray

    def of_type(self, query_type: str | None) -> "JudgedScores":
        """Return the answers of a query type (None: all)."""
        return self if query_type is None else self.at(self.query_types.equal(query_type))


@dataclass(frozen=True, slots=True, eq=False)
class ScoredSample:
    """Labels and scores for a judge version, or for the mean score of several.

    ``cuts`` are the thresholds in force. ``gap`` says why figures of all answers are not available, None if
    they are. ``left_out`` counts labelled answers by the reason why they do not count. If ``alike`` is not 0, badness
    is the share of so many judges that call the answer bad.
    """

    title: str
    labels: ScoredLabels
    judged: JudgedScores
    cuts: Cuts
    left_out: dict[str, int]
    gap: str | None = None
    alike: int = 0

    @property
    def by_lot(self) -> ScoredLabels:
        """The labels that every judged answer had the same chance to get."""
        return self.labels.at(self.labels.by_lot)

    def without(self, response_ids: IntArray) -> "ScoredSample":
        """Return the sample without these answers."""
        labels, judged = self.labels, self.judged
        return replace(
            self,
            labels=labels.at(~np.isin(labels.response_ids, response_ids)),
            judged=judged.at(~np.isin(judged.response_ids, response_ids)),
        )

    def labels_of(self, query_type: str | None) -> ScoredLabels:
        """Return the labels of answers of a query type (None: of all)."""
        return self.labels if query_type is None else self.labels.at(self.labels.query_types == query_type)


def flag_from(low_groundedness: AnyArray | float) -> AnyArray:
    """Return the badness from which on the rule low_groundedness flags an answer."""
    return np.asarray(1 - low_groundedness + HALF_STEP)


def confidence(badness: FloatArray) -> FloatArray:
    """Return how sure the judge is of each verdict: the larger of badness and groundedness."""
    return np.maximum(badness, 1 - badness)


def drawn(name: str, groups: IntArray) -> FloatArray:
    """Return a number from 0 to below 1 per row that depends only on the name and the evidence group."""
    distinct, at = np.unique(groups, return_inverse=True)
    numbers = np.array([sampling_number(name, _EVIDENCE, str(group)) for group in distinct.tolist()], dtype=np.float64)
    return numbers[at]


def load_sample(connection: Connection, versions: Sequence[StoredVersion], *, alike: bool = False) -> ScoredSample:
    """Return the sampled labels with the scores of a judge version, or with the mean scores of several.

    Several versions count as one judge that calls an answer bad if its mean badness is above 0.5. With ``alike``, their
    verdicts are averaged instead of their scores. Answers without a score, or a verdict, of each version are left out.
    Raises NotFound if none is left.
    """
    title = " + ".join(version.title for version in versions)
    cuts = thresholds(connection).cuts
    first = LabelledAnswers(connection, versions[0], groups=False)
    judges = [first.answers, *(judged_answers(connection, each.id, cuts, groups=False) for each in versions[1:])]
    judged = _mean_scores([_with_verdicts(each) for each in judges] if alike else judges, cuts)
    if not len(judged.response_ids):
        raise NotFound(f"{title}: no logged answer has a groundedness score")
    sampled = first.sample(by_group=False)
    answers_per_label, kept_share = _chances(sampled)
    scored = np.isin(sampled.response_ids, judged.response_ids)
    ids, kept = sampled.response_ids[scored], kept_share[scored]
    at = np.flatnonzero(np.isin(judged.response_ids, ids))  # both are in the order of `first.answers`
    badness = judged.badness[at]
    by_lot = kept >= 1
    by_lot[~by_lot] = [
        sampling_number("lot", "response", str(id_)) < share
        for id_, share in zip(ids[~by_lot].tolist(), kept[~by_lot].tolist(), strict=True)
    ]
    labels = ScoredLabels(
        ids,
        evidence_groups(connection, versions[0].id, ids),
        badness,
        badness > 0.5 if len(versions) > 1 else sampled.verdicts[scored] == 1,
        sampled.labels.values[scored] > 0,
        sampled.query_types[scored],
        judged.flagged[at],
        answers_per_label[scored],
        by_lot,
    )
    left_out = {
        **sampled.left_out,
        "extras": sampled.extras,
        "without_score": int((~scored).sum()),
        "more_often_labelled": int((~labels.by_lot).sum()),
    }
    return ScoredSample(
        title,
        labels,
        judged,
        cuts,
        {reason: n for reason, n in left_out.items() if n},
        _unlabelled_words(sampled),
        len(versions) if alike else 0,
    )


def _with_verdicts(judged: JudgedAnswers) -> JudgedAnswers:
    """Return the answers with the score 0 where the judge calls them bad, otherwise 1."""
    return replace(judged, scores=np.where(judged.verdicts == UNUSABLE, np.nan, judged.verdicts != BAD))


def _mean_scores(judges: Sequence[JudgedAnswers], cuts: Cuts) -> JudgedScores:
    """Return the mean badness of the answers that have a score of every judge, in the order of the first judge."""
    first, *others = judges
    total = first.scores
    for other in others:
        by_id = other.at(np.argsort(other.response_ids))
        known = np.isin(first.response_ids, other.response_ids)
        scores = np.full(len(total), np.nan)
        scores[known] = by_id.scores[np.searchsorted(by_id.response_ids, first.response_ids[known])]
        total = total + scores
    scored = ~np.isnan(total)
    answers = first.at(scored)
    badness = np.round(1 - total[scored] / len(judges), DECIMALS)
    types = answers.query_types
    flagged = badness >= flag_from(cuts_of(cuts, types.names, types.codes))
    return JudgedScores(answers.response_ids, badness, types, flagged)


def _chances(sampled: SampledLabels) -> tuple[FloatArray, FloatArray]:
    """Return how many answers each label stands for, and the share of such labels that gives equal chances."""
    strata = sampled.labels.strata
    answers = np.array([each.answers for each in sampled.counts], dtype=np.int64)
    labelled = np.array([each.labelled for each in sampled.counts], dtype=np.int64)
    kept = np.ones(len(answers))
    scored = (labelled > 0) & np.array([name.verdict != "unusable" for name in sampled.strata], dtype=np.bool_)
    if scored.any():
        kept[scored] = equal_chances(answers[scored], labelled[scored])
    return (answers / np.maximum(labelled, 1))[strata], kept[strata]


def _unlabelled_words(sampled: SampledLabels) -> str | None:
    """Return why figures of all answers are not available, None if every larger part of them has labels."""
    parts = [
        (name, counts)
        for name, counts in zip(sampled.strata, sampled.counts, strict=True)
        if counts.answers and name.verdict != "unusable"
    ]
    missing = sum(counts.answers for _, counts in parts if not counts.labelled)
    if missing <= MOST_UNLABELLED * sum(counts.answers for _, counts in parts):
        return None
    need = what_to_label(sampled)
    if need is None:
        return "Not available, because people did not decide any answer of a part of them."
    return f"Not available, because {need.missing}. {need.advice} To create the queue: `{need.command}`."

"""Labelled answers with a judge's score. Half of their evidence groups chooses a threshold, the other half reports."""

from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter

import numpy as np
from sqlalchemy import Connection

from judgeboard.agreement.samples import LabelledAnswers, SampledLabels, judging_version
from judgeboard.errors import NotFound
from judgeboard.flags.rules import sampling_number
from judgeboard.stats.arrays import AnyArray, BoolArray, FloatArray, Grouping, IntArray, among, grouping
from judgeboard.stats.thresholds import equal_chances
from judgeboard.store.judge_versions import StoredVersion
from judgeboard.store.settings import thresholds
from judgeboard.store.statements import Columns, TextColumn
from judgeboard.store.strata import JudgedAnswers, judged_answers
from judgeboard.text import counted

DECIMALS = 9  # scores that are closer count as equal
MOST_UNLABELLED = 0.05  # share of the judged answers in strata without a label, above which nothing can be said

_EVIDENCE = "evidence group"


@dataclass(frozen=True, slots=True, eq=False)
class ScoredLabels(Columns):
    """Labelled answers, one row each.

    ``groups`` are evidence groups. ``badness`` is 1 - groundedness. ``judged_bad`` is the verdict, ``bad`` the label.
    ``weights`` tell how many answers a label stands for. ``by_lot`` marks labels that every judged answer had the same
    chance to get.
    """

    response_ids: IntArray
    groups: IntArray
    badness: FloatArray
    judged_bad: BoolArray
    bad: BoolArray
    query_types: AnyArray
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
        chosen: BoolArray = drawn("cal", self.groups) < 0.5
        return chosen

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
class JudgedScores:
    """The badness of all answers that have a score, ascending by id."""

    response_ids: IntArray
    groups: IntArray
    badness: FloatArray
    query_types: TextColumn

    def of_type(self, query_type: str | None) -> FloatArray:
        """Return the badness of the answers of a query type (None: of all)."""
        if query_type is None:
            return self.badness
        if query_type not in self.query_types.names:
            return np.empty(0)
        of_type: FloatArray = self.badness[self.query_types.codes == self.query_types.names.index(query_type)]
        return of_type


@dataclass(frozen=True, slots=True, eq=False)
class ScoredSample:
    """Labels and scores for a judge version, or for the mean score of several.

    ``low_groundedness`` is the threshold in force. ``gap`` says why nothing can be said about all answers, None if
    something can. ``left_out`` counts labelled answers by the reason why they do not count.
    """

    title: str
    labels: ScoredLabels
    judged: JudgedScores
    low_groundedness: float
    left_out: dict[str, int]
    gap: str | None = None

    @property
    def by_lot(self) -> ScoredLabels:
        """The labels that every judged answer had the same chance to get."""
        return self.labels.at(self.labels.by_lot)


def confidence(badness: FloatArray) -> FloatArray:
    """Return how sure the judge is of each verdict: the larger of badness and groundedness."""
    sure: FloatArray = np.maximum(badness, 1 - badness)
    return sure


def drawn(name: str, groups: IntArray) -> FloatArray:
    """Return a number from 0 to below 1 per row that depends only on the name and the evidence group."""
    distinct, at = np.unique(groups, return_inverse=True)
    numbers = np.array([sampling_number(name, _EVIDENCE, str(group)) for group in distinct.tolist()], dtype=np.float64)
    of_rows: FloatArray = numbers[at]
    return of_rows


def scored_version(connection: Connection, which: int | str | None) -> StoredVersion:
    """Return what `judging_version` returns; raise NotFound if no judge has judged the log."""
    version = judging_version(connection, which)
    if version is None:
        raise NotFound("no judge has judged the log yet. To judge it offline: `judgeboard judge --judge lexical`")
    return version


def load_sample(connection: Connection, versions: Sequence[StoredVersion]) -> ScoredSample:
    """Return the sampled labels with the scores of a judge version, or with the mean scores of several.

    Several versions count as one judge that calls an answer bad if its mean badness is above 0.5. Answers without a
    score of each version are left out. Raises NotFound if no answer has a score.
    """
    title = " + ".join(version.title for version in versions)
    cut = thresholds(connection).low_groundedness
    first = LabelledAnswers(connection, versions[0])
    others = [judged_answers(connection, version.id, cut) for version in versions[1:]]
    judged = _mean_scores([first.answers, *others])
    if not len(judged.response_ids):
        raise NotFound(f"{title}: no logged answer has a groundedness score")
    sampled = first.sample()
    answers_per_label, kept_share = _chances(sampled)
    scored = among(sampled.response_ids, judged.response_ids)
    ids = sampled.response_ids[scored]
    at = np.searchsorted(judged.response_ids, ids)
    badness = judged.badness[at]
    lot = np.array([sampling_number("lot", "response", str(id_)) for id_ in ids.tolist()], dtype=np.float64)
    labels = ScoredLabels(
        ids,
        judged.groups[at],
        badness,
        badness > 0.5 if len(versions) > 1 else sampled.verdicts[scored] == 1,
        sampled.labels.values[scored] > 0,
        sampled.query_types[scored],
        answers_per_label[scored],
        lot < kept_share[scored],
    )
    left_out = {
        **sampled.left_out,
        "extras": sampled.extras,
        "without_score": int((~scored).sum()),
        "more_often_labelled": int((~labels.by_lot).sum()),
    }
    return ScoredSample(
        title, labels, judged, cut, {reason: n for reason, n in left_out.items() if n}, _unlabelled_words(sampled)
    )


def _mean_scores(judges: Sequence[JudgedAnswers]) -> JudgedScores:
    """Return the mean badness of the answers that have a score of every judge."""
    by_id = [each.at(np.argsort(each.response_ids)) for each in judges]
    scored = [each.at(~np.isnan(each.scores)) for each in by_id]
    common = scored[0].response_ids
    for each in scored[1:]:
        common = common[among(common, each.response_ids)]
    rows = [np.searchsorted(each.response_ids, common) for each in scored]
    badness = 1 - np.stack([each.scores[at] for each, at in zip(scored, rows, strict=True)]).sum(axis=0) / len(scored)
    first = scored[0].at(rows[0])
    return JudgedScores(common, first.evidence_groups, np.round(badness, DECIMALS), first.query_types)


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
    """Return why nothing can be said about all answers, None if every larger part of them has labels."""
    parts = [
        (name, counts)
        for name, counts in zip(sampled.strata, sampled.counts, strict=True)
        if counts.answers and name.verdict != "unusable"
    ]
    missing = [(name, counts.answers) for name, counts in parts if not counts.labelled]
    if sum(n for _, n in missing) <= MOST_UNLABELLED * sum(counts.answers for _, counts in parts):
        return None
    name, n = max(missing, key=itemgetter(1))
    rule = "no rule flagged" if name.picked == "no" else "a rule flagged"
    verdict = f" and the judge calls {name.verdict}" if name.verdict else ""
    return (
        f"Nothing can be said: {counted(n, 'answer')} that {rule}{verdict} have no label by lot. Label a random sample "
        "of them first."
    )

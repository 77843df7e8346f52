"""Audits: the sample, a supreme judge's marks against people's grades, and their words."""

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from sqlalchemy import Connection

from judgeboard.agreement.answer_pairs import AnswerPairs
from judgeboard.agreement.ratings import PairSource
from judgeboard.domain import AUDIT, Estimate
from judgeboard.errors import BadInput
from judgeboard.flags.random_sample import draw
from judgeboard.runs.method import RunAccount
from judgeboard.stats.arrays import AnyArray, BoolArray
from judgeboard.stats.estimates import percent, percent_words, unmeasured
from judgeboard.stats.proportions import share
from judgeboard.store.audits import (
    AuditedJudgment,
    LatestReview,
    audited_judgments,
    audits_done,
    count_flagged,
    count_verdicts,
    latest_reviews,
    reviewed_judgments,
)
from judgeboard.store.filters import RowFilter
from judgeboard.store.judge_versions import StoredVersion, list_versions
from judgeboard.store.verdict_pairs import JudgedText, judged_texts


@dataclass(frozen=True, slots=True)
class AuditSample:
    """A share (above 0, up to 1) of the answers that ``where`` means; equal seeds draw equal answers.

    A larger share of the same seed holds the smaller one, and a second run draws nothing more: the draw hangs on
    seed, source and outside id alone.

    Raises:
        BadInput: The share is outside its range.
    """

    share: float = 1.0
    seed: int = 0
    where: RowFilter = field(default_factory=RowFilter)

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1:
            raise BadInput(f"--sample must lie above 0 and be at most 1, not {self.share:g}")

    def drawn(self, judgments: list[AuditedJudgment]) -> list[AuditedJudgment]:
        """Return those of the judgments that are drawn."""
        seed = str(self.seed)
        return [each for each in judgments if draw(seed, each.source, each.external_id) < self.share]

    def as_dict(self) -> dict[str, Any]:
        """Return what was asked for as JSON values."""
        return {"where": self.where.as_dict(), "sample": self.share, "seed": self.seed}


@dataclass(frozen=True, slots=True)
class AuditedAnswer:
    """A reviewed verdict on an answer that people graded: what judge and people call the answer."""

    response_id: int
    source: str
    external_id: str
    judge: str
    people: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditReport:
    """An audit against people. Positive is a verdict that is wrong by the people's label.

    ``audited`` counts verdicts with a usable mark, ``graded`` those of them that people graded. ``caught`` are the
    ``tp`` wrong verdicts that were marked, ``missed`` the ``fn`` wrong ones that were not, ``accused`` the ``fp`` right
    ones that were; ``tn`` counts right ones that were not. ``flags_raised`` counts flags that stand on marked verdicts,
    decided ones included. ``draws`` are the shares that the usable reviews were drawn at, with how many of each.
    ``notes`` are sentences to read it with.
    """

    judge_version: str
    supreme_version: str
    supreme_model: str | None
    where: dict[str, Any]
    sample: float
    seed: int
    account: RunAccount
    audited: int
    marked: int
    graded: int = field(init=False)
    tp: int = field(init=False)
    fp: int = field(init=False)
    fn: int = field(init=False)
    tn: int
    precision: Estimate
    recall: Estimate
    false_alarm_rate: Estimate
    flags_raised: int
    caught: tuple[AuditedAnswer, ...]
    missed: tuple[AuditedAnswer, ...]
    accused: tuple[AuditedAnswer, ...]
    draws: tuple[tuple[float, int], ...] = ()
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Count the answers of each list."""
        counts = {"tp": len(self.caught), "fp": len(self.accused), "fn": len(self.missed)}
        for name, count in (counts | {"graded": sum(counts.values()) + self.tn}).items():
            object.__setattr__(self, name, count)


def audit_report(
    connection: Connection,
    audited: StoredVersion,
    supreme: StoredVersion,
    sample: AuditSample | None = None,
    account: RunAccount | None = None,
    *,
    reviewed_only: bool = False,
    not_comparable: int = 0,
) -> AuditReport:
    """Return what the stored reviews of one version by another come to.

    Of each current verdict of the audited version the supreme version's latest review counts; people's side is their
    majority label, the judge's its label or, where it gives none, its groundedness cut at the rule's threshold.

    Args:
        connection: An open transaction.
        audited: Whose verdicts were reviewed.
        supreme: Who reviewed them.
        sample: Which of the verdicts; all by default.
        account: The account of the run that this is of; by default what became of the reviews.
        reviewed_only: Do not look at verdicts without a review, so that none is counted as not reached.
        not_comparable: Verdicts that could not be compared, for a note.
    """
    sample = sample or AuditSample()
    reviews = latest_reviews(connection, supreme.id, audited.id)
    drawn = (
        reviewed_judgments(connection, reviews)
        if reviewed_only
        else sample.drawn(audited_judgments(connection, audited.id, sample.where))
    )
    reviewed = {each.response_id: each for each in drawn if _mark(reviews, each) is not None}
    wrong_by_mark = {id_ for id_, each in reviewed.items() if _mark(reviews, each) is False}
    source = PairSource.open(connection)
    pairs = _graded(source.pairs(audited.id, "label"), list(reviewed))
    marked = np.isin(pairs.response_ids, np.array(sorted(wrong_by_mark), dtype=np.int64))
    wrong = pairs.judge != pairs.people
    answers = [
        _answer(reviewed[int(id_)], str(judge), str(people))
        for id_, judge, people in zip(pairs.response_ids, pairs.judge, pairs.people, strict=True)
    ]
    flags = count_flagged(connection, audited.fingerprint, wrong_by_mark)
    nothing = _nothing(len(reviewed), pairs.n)
    draws = _draws([reviews[each.judgment_id] for each in reviewed.values()])
    return AuditReport(
        judge_version=audited.title,
        supreme_version=supreme.title,
        supreme_model=supreme.model,
        **sample.as_dict(),
        account=account or _account(drawn, reviews),
        audited=len(reviewed),
        marked=len(wrong_by_mark),
        tn=int((~wrong & ~marked).sum()),
        caught=_those(answers, wrong & marked),
        missed=_those(answers, wrong & ~marked),
        accused=_those(answers, ~wrong & marked),
        precision=_share(wrong, marked, pairs.groups, nothing or "nothing that people graded was marked wrong"),
        recall=_share(marked, wrong, pairs.groups, nothing or "by the people's grades no audited verdict is wrong"),
        false_alarm_rate=_share(
            marked, ~wrong, pairs.groups, nothing or "by the people's grades no audited verdict is right"
        ),
        flags_raised=flags,
        draws=draws,
        notes=(
            *_notes(audited, pairs, source.cut, len(wrong_by_mark) - flags, not_comparable),
            *(() if reviewed_only else _other_draws(sample.share, draws)),
        ),
    )


def _nothing(audited: int, graded: int) -> str | None:
    """Say why no figure can be had, None where some can."""
    if not audited:
        return "no verdict has a usable review"
    return None if graded else "people graded none of the audited verdicts"


def _mark(reviews: Mapping[int, LatestReview], judgment: AuditedJudgment) -> bool | None:
    review = reviews.get(judgment.judgment_id)
    return None if review is None else review.correct


def _graded(pairs: AnswerPairs, response_ids: Sequence[int]) -> AnswerPairs:
    return pairs.at(np.isin(pairs.response_ids, np.array(sorted(response_ids), dtype=np.int64)))


def _share(hits: AnyArray, of: AnyArray, groups: npt.NDArray[Any], undefined: str) -> Estimate:
    """The share of ``hits`` among the rows ``of``: Wilson's interval, by evidence group where answers share one.

    Where all stand on one question the runs themselves are what was sampled.
    """
    if not of.any():
        return unmeasured(0, undefined)
    of_these = groups[of]
    return share(hits[of], of_these if len(np.unique(of_these)) > 1 else None)


def _those(answers: Sequence[AuditedAnswer], rows: BoolArray) -> tuple[AuditedAnswer, ...]:
    return tuple(answers[place] for place in np.flatnonzero(rows).tolist())


def _answer(judgment: AuditedJudgment, judge: str, people: str) -> AuditedAnswer:
    return AuditedAnswer(judgment.response_id, judgment.source, judgment.external_id, judge, people)


def _account(drawn: Sequence[AuditedJudgment], reviews: Mapping[int, LatestReview]) -> RunAccount:
    statuses = Counter(reviews[each.judgment_id].status for each in drawn if each.judgment_id in reviews)
    return RunAccount.of(statuses, not_reached=len(drawn) - statuses.total())


def _draws(reviews: Sequence[LatestReview]) -> tuple[tuple[float, int], ...]:
    """The shares that reviews were drawn at, with how many of each, the smallest first."""
    return tuple(sorted(Counter(review.inclusion_probability for review in reviews).items()))


def _other_draws(share: float, draws: Sequence[tuple[float, int]]) -> tuple[str, ...]:
    """Say which reviews were asked for another share than that of the report: each keeps its own as its probability."""
    in_all = sum(n for _, n in draws)
    return tuple(
        f"{n:,} of the {in_all:,} reviews are of a draw of {percent(other)}, and keep that as their probability."
        for other, n in draws
        if other != share
    )


def _notes(
    audited: StoredVersion, pairs: AnswerPairs, cut_at: float, unflagged: int, not_comparable: int
) -> tuple[str, ...]:
    notes = []
    if cut := int(pairs.cut.sum()):
        which = "its" if cut == pairs.n else f"on {cut:,} of {pairs.n:,} answers its"
        notes.append(f"{audited.title} gives no label: {which} groundedness is cut at {cut_at:g}.")
    if unflagged:
        notes.append(
            f"{unflagged:,} of the marked verdicts raise no flag: their judge has a newer verdict on these answers."
        )
    if not_comparable:
        notes.append(f"Not compared, {not_comparable:,}: there the two judges give nothing in common.")
    return tuple(notes)


NO_AUDIT = (
    "No audit yet. `judgeboard audit --supreme-model MODEL --judge-version NAME` reviews a tenth of its verdicts.",
    "Two judges that are stored are compared by `judgeboard audit --recorded --supreme-version A --judge-version B`.",
)


@dataclass(frozen=True, slots=True)
class DoneAudit:
    """One version reviewed by another."""

    audited: StoredVersion
    supreme: StoredVersion


@dataclass(frozen=True, slots=True)
class ListedAnswer:
    """An answer of one of the lists with the start of its texts; ``said`` is None where it was judged anew since."""

    answer: AuditedAnswer
    said: JudgedText | None


def done_audits(connection: Connection) -> list[DoneAudit]:
    """Return every audit that has reviews, the one with the latest first, those with nothing usable last."""
    versions = {version.id: version for version in list_versions(connection)}
    return [DoneAudit(versions[audited], versions[supreme]) for audited, supreme in audits_done(connection)]


def shown_audit(connection: Connection, audit: DoneAudit) -> AuditReport:
    """Return what all reviews of an audit come to, whatever sample each was drawn for."""
    return audit_report(connection, audit.audited, audit.supreme, reviewed_only=True)


def listed_answers(
    connection: Connection, audited: StoredVersion, answers: Sequence[AuditedAnswer], *, limit: int
) -> list[ListedAnswer]:
    """Return the first ``limit`` answers of a list with their texts."""
    first = answers[:limit]
    said = judged_texts(connection, audited.id, [each.response_id for each in first])
    return [ListedAnswer(each, said.get(each.response_id)) for each in first]


def nothing_usable(report: AuditReport) -> bool:
    """Whether reviews were asked for, and none of them gave a mark."""
    return report.account.asked > 0 and report.audited == 0


def audit_sentence(report: AuditReport) -> str:
    """Say in one sentence what an audit came to."""
    judge, supreme = report.judge_version, report.supreme_version
    looked = f"{supreme} looked at {report.audited:,} verdicts of {judge} and marked {report.marked:,} as wrong"
    if nothing_usable(report):
        reviews = f"{report.account.asked:,} of {report.account.asked:,} reviews of {judge} by {supreme}"
        return f"{reviews} gave nothing usable{_again(report)}."
    if report.graded == 0:
        return f"{looked}; people graded none of these answers yet, so nobody knows how many are."
    return (
        f"{looked}. On the {report.graded:,} that people graded it caught {report.tp:,} of {report.tp + report.fn:,} "
        f"wrong verdicts, and {report.fp:,} of its {report.tp + report.fp:,} marks accuse a right one."
    )


def how_words(connection: Connection, audit: DoneAudit, report: AuditReport) -> str:
    """Say what the supreme judge was given, and how many of the verdicts it looked at.

    A draw is by answer, so that its size is known about; what it holds beyond the reviews was not reached.
    """
    in_all = count_verdicts(connection, audit.audited.id)
    looked = f"{report.audited:,} of the {in_all:,} verdicts of {report.judge_version} have a usable review"
    if report.account.asked > report.audited:
        looked += f"; {report.account.asked - report.audited:,} more reviews are not usable"
    if len(report.draws) > 1:
        drawn = "drawn: " + ", ".join(f"{n:,} at {percent(share)}" for share, n in report.draws)
    elif report.draws and report.draws[0][0] < 1:
        share = report.draws[0][0]
        drawn = f"a draw of {percent(share)} holds about {share * in_all:,.0f}"
    else:
        drawn = "all were drawn"
    return f"{_approach(audit.supreme)} {looked}; {drawn}."


def _approach(supreme: StoredVersion) -> str:
    if supreme.kind != AUDIT:
        return "It judged the answers for itself, and marks a verdict that its own stored one contradicts."
    if supreme.params.get("approach") == 1:
        return "It was shown each verdict with its answer (approach 1)."
    return "It scored the answers itself, without seeing the verdicts, and marks those far from its own (approach 2)."


def _again(report: AuditReport) -> str:
    model = report.supreme_model
    if model is None:
        return ""
    options = ["--supreme-model", model, "--judge-version", report.judge_version, "--rejudge", "failed"]
    return f": `judgeboard audit {shlex.join(options)}` asks again"


def unmeasured_words(report: AuditReport) -> str | None:
    """Say in one sentence why rates are not measured, None where all are."""
    rates = (report.precision, report.recall, report.false_alarm_rate)
    why = dict.fromkeys(rate.reason or "unknown" for rate in rates if rate.value is None)
    return f"Not measured: {'; '.join(why)}." if why else None


def rate_words(report: AuditReport) -> list[tuple[str, str, str, int]]:
    """Return name, meaning, value with interval (a dash where there is none) and size of each rate."""
    return [
        (name, meaning, "–" if estimate.value is None else percent_words(estimate), estimate.n)
        for name, meaning, estimate in (
            ("Precision", "marks that are wrong verdicts", report.precision),
            ("Recall", "wrong verdicts that are marked", report.recall),
            ("False alarms", "right verdicts that are marked", report.false_alarm_rate),
        )
    ]

"""The report of an audit: a supreme judge's marks compared with people's grades."""

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sqlalchemy import Connection

from judgeboard.domain import AUDIT, Estimate
from judgeboard.errors import BadInput
from judgeboard.flags.rules import sampling_number
from judgeboard.measure.ratings import PairSource, RatingPairs
from judgeboard.methods.audits import queries
from judgeboard.methods.audits.queries import AuditedJudgment
from judgeboard.runs.method import RunAccount
from judgeboard.stats.arrays import AnyArray
from judgeboard.stats.estimates import percent, unmeasured
from judgeboard.stats.proportions import share
from judgeboard.store.filters import RowFilter
from judgeboard.store.judge_versions import StoredVersion, list_versions
from judgeboard.store.verdicts import count_verdicts
from judgeboard.text import counted


@dataclass(frozen=True, slots=True)
class AuditSample:
    """A share (above 0, at most 1) of the answers in ``where``; the same seed selects the same answers.

    Only seed, source and external id decide. So with the same seed, a larger share contains the smaller one.
    """

    share: float = 1.0
    seed: int = 0
    where: RowFilter = field(default_factory=RowFilter)

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1:
            raise BadInput(f"--sample must be above 0 and at most 1, not {self.share:g}")

    def drawn(self, judgments: list[AuditedJudgment]) -> list[AuditedJudgment]:
        """Return the judgments in the sample."""
        seed = str(self.seed)
        return [
            judgment
            for judgment in judgments
            if sampling_number(seed, judgment.source, judgment.external_id) < self.share
        ]

    def as_dict(self) -> dict[str, Any]:
        """Return the sample as JSON values."""
        return {"where": self.where.as_dict(), "sample": self.share, "seed": self.seed}


@dataclass(frozen=True, slots=True)
class AuditedAnswer:
    """An answer whose verdict is reviewed, with the judge's label and people's label."""

    response_id: int
    source: str
    external_id: str
    judge: str
    people: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditReport:
    """An audit compared with people. A verdict is wrong if it differs from people's label; a mark predicts this.

    ``audited`` counts verdicts with a usable review. ``caught`` are the ``tp`` marked wrong verdicts, ``missed`` the
    ``fn`` unmarked wrong ones, ``accused`` the ``fp`` marked right ones. ``flags_raised`` counts flags on marked
    verdicts, including decided flags. ``draws`` are the sampling shares and the number of usable reviews of each.
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
    graded: int
    tp: int
    fp: int
    fn: int
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
    """Return the report on the stored reviews of one version's verdicts by another version.

    For each current verdict of the audited version, the latest review by the supreme version counts. People's majority
    label is compared with the judge's label, or with the label derived from its groundedness. With ``reviewed_only``,
    verdicts without a review are left out and do not count as not reached. ``not_comparable`` is for a note.
    """
    sample = sample or AuditSample()
    reviews = queries.latest_reviews(connection, supreme.id, audited.id)
    drawn = (
        queries.reviewed_judgments(connection, reviews)
        if reviewed_only
        else sample.drawn(queries.audited_judgments(connection, audited.id, sample.where))
    )
    usable = {judgment_id: review for judgment_id, review in reviews.items() if review.correct is not None}
    reviewed = {each.response_id: each for each in drawn if each.judgment_id in usable}
    wrong_by_mark = {id_ for id_, each in reviewed.items() if not usable[each.judgment_id].correct}
    source = PairSource(connection)
    pairs = source.pairs(audited.id, "label")
    pairs = pairs.at(np.isin(pairs.response_ids, np.array(sorted(reviewed), dtype=np.int64)))
    marked = np.isin(pairs.response_ids, np.array(sorted(wrong_by_mark), dtype=np.int64))
    wrong = pairs.judge != pairs.people
    answers = [
        AuditedAnswer(id_, reviewed[id_].source, reviewed[id_].external_id, judge, people)
        for id_, judge, people in zip(
            pairs.response_ids.tolist(),
            *(pairs.scale.named(side).tolist() for side in (pairs.judge, pairs.people)),
            strict=True,
        )
    ]

    caught, missed, accused = (
        tuple(compress(answers, rows)) for rows in (wrong & marked, wrong & ~marked, ~wrong & marked)
    )
    flags = queries.count_flagged(connection, audited.fingerprint, wrong_by_mark)
    reason = None if pairs.n else "people graded none of the audited answers"
    if not reviewed:
        reason = "no verdict has a usable review"
    sampled = Counter(reviews[each.judgment_id].inclusion_probability for each in reviewed.values())
    draws = tuple(sorted(sampled.items()))
    return AuditReport(
        judge_version=audited.title,
        supreme_version=supreme.title,
        supreme_model=supreme.model,
        **sample.as_dict(),
        account=account or account_of_audit(drawn, {id_: review.status for id_, review in reviews.items()}),
        audited=len(reviewed),
        marked=len(wrong_by_mark),
        graded=pairs.n,
        tp=len(caught),
        fp=len(accused),
        fn=len(missed),
        tn=int((~wrong & ~marked).sum()),
        caught=caught,
        missed=missed,
        accused=accused,
        precision=_share(wrong, marked, pairs.groups, reason or "no verdict that people graded is marked"),
        recall=_share(marked, wrong, pairs.groups, reason or "no audited verdict is wrong according to people"),
        false_alarm_rate=_share(
            marked, ~wrong, pairs.groups, reason or "no audited verdict is right according to people"
        ),
        flags_raised=flags,
        draws=draws,
        notes=(
            *_notes(audited, pairs, source.cuts.words, len(wrong_by_mark) - flags, not_comparable),
            *(() if reviewed_only else _other_draws(sample.share, draws)),
        ),
    )


def _share(hits: AnyArray, of: AnyArray, groups: npt.NDArray[Any], undefined: str) -> Estimate:
    """Return the share of ``hits`` in the rows ``of``, by evidence group; by answer if there is only one group."""
    if not of.any():
        return unmeasured(0, undefined)
    of_these = groups[of]
    return share(hits[of], of_these if len(np.unique(of_these)) > 1 else None)


def account_of_audit(drawn: Sequence[AuditedJudgment], statuses: Mapping[int, str]) -> RunAccount:
    """Return the counts of an audit from the status of each review, by judgment id."""
    known = Counter(statuses[each.judgment_id] for each in drawn if each.judgment_id in statuses)
    return replace(RunAccount.of(known), not_reached=len(drawn) - known.total())


def _other_draws(share: float, draws: Sequence[tuple[float, int]]) -> tuple[str, ...]:
    total = sum(n for _, n in draws)
    return tuple(
        f"{n:,} of {counted(total, 'review')} {'belongs' if n == 1 else 'belong'} to a sample of {percent(other)} and "
        f"{'keeps' if n == 1 else 'keep'} that sampling probability."
        for other, n in draws
        if other != share
    )


def _notes(
    audited: StoredVersion, pairs: RatingPairs, cut_at: str, unflagged: int, not_comparable: int
) -> tuple[str, ...]:
    notes = []
    if cut := int(pairs.cut.sum()):
        which = "Its " if cut == pairs.n else f"On {cut:,} of {counted(pairs.n, 'answer')} its "
        notes.append(f"{audited.title} gives no label. {which}groundedness below {cut_at} counts as hallucinated.")
    if unflagged:
        notes.append(f"Marked verdicts without a flag: {unflagged:,}. The judge has a newer verdict on these answers.")
    if not_comparable:
        notes.append(f"Not compared: {not_comparable:,}, because the two judges have no measure in common.")
    return tuple(notes)


class DoneAudit(NamedTuple):
    """One version audited by another."""

    audited: StoredVersion
    supreme: StoredVersion


def done_audits(connection: Connection) -> list[DoneAudit]:
    """Return every audit with reviews, the latest first; audits without usable reviews come last."""
    versions = {version.id: version for version in list_versions(connection)}
    return [DoneAudit(versions[audited], versions[supreme]) for audited, supreme in queries.audits_done(connection)]


def nothing_usable(report: AuditReport) -> bool:
    """Whether there are reviews, but none is usable."""
    return report.account.asked > 0 and report.audited == 0


def audit_sentence(report: AuditReport) -> str:
    """Return the result of an audit in one or two sentences."""
    judge, supreme = report.judge_version, report.supreme_version
    verdicts = counted(report.audited, "verdict")
    reviewed = f"{supreme} reviewed {verdicts} of {judge} and marked {report.marked:,} as wrong"
    if nothing_usable(report):
        asked = report.account.asked
        reviews = f"{asked:,} of {counted(asked, 'review')} of {judge} by {supreme}"
        return f"{reviews} {'is' if asked == 1 else 'are'} not usable{_again(report)}."
    if report.graded == 0:
        return f"{reviewed}. People graded none of these answers yet, so the marks cannot be checked."
    return (
        f"{reviewed}. On the {counted(report.graded, 'answer')} that people graded, it marked "
        f"{counted(report.tp + report.fp, 'verdict')}: {report.tp:,} of the {report.tp + report.fn:,} wrong ones, and "
        f"{report.fp:,} of the right ones."
    )


def how_words(connection: Connection, audit: DoneAudit, report: AuditReport) -> str:
    """Return what the supreme judge saw, and how many verdicts it reviewed."""
    verdicts = count_verdicts(connection, audit.audited.id)
    every, have = counted(verdicts, "verdict"), "has" if report.audited == 1 else "have"
    reviewed = f"{report.audited:,} of the {every} of {report.judge_version} {have} a usable audit"
    if (failed := report.account.asked - report.audited) > 0:
        reviewed += f"; {counted(failed, 'more audit')} {'is' if failed == 1 else 'are'} not usable"
    if len(report.draws) > 1:
        sampled = "sampled " + ", ".join(f"{n:,} at {percent(share)}" for share, n in report.draws)
    elif report.draws and report.draws[0][0] < 1:
        share = report.draws[0][0]
        sampled = f"a sample of {percent(share)} contains about {share * verdicts:,.0f}"
    else:
        sampled = "the verdict was selected" if verdicts == 1 else f"all {verdicts:,} verdicts were selected"
    return f"{_approach(audit.supreme)} {reviewed}; {sampled}."


def _approach(supreme: StoredVersion) -> str:
    if supreme.kind != AUDIT:
        return "The supreme judge judged the answers itself; a verdict that contradicts its own is marked."
    if supreme.params.get("approach") == 1:
        return "The supreme judge saw each answer together with its verdict (approach 1)."
    return "The supreme judge scored the answers itself and marks verdicts far from its own (approach 2)."


def _again(report: AuditReport) -> str:
    model = report.supreme_model
    if model is None:
        return ""
    words = [report.judge_version, "--model", model, "--rejudge", "failed"]
    return f"; to ask again: `judgeboard test audit {shlex.join(words)}`"


def unmeasured_words(report: AuditReport) -> str | None:
    """Return why rates are not available; None if all are."""
    why = dict.fromkeys(rate.reason or "unknown" for _, rate, _ in rates(report) if rate.value is None)
    return f"Not available: {'; '.join(why)}." if why else None


def rates(report: AuditReport) -> tuple[tuple[str, Estimate, str], ...]:
    """Return name, estimate and meaning of each rate."""
    return (
        ("Precision", report.precision, "marked verdicts that are wrong"),
        ("Recall", report.recall, "wrong verdicts that are marked"),
        ("False alarms", report.false_alarm_rate, "right verdicts that are marked"),
    )

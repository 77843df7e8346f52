"""What the page of audits shows: which audits there are, one of them, the answers of its three lists."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from judgeboard.auditing.report import AuditedAnswer, AuditReport, audit_report
from judgeboard.judge_kinds import AUDIT
from judgeboard.stats.words import percent, percent_words
from judgeboard.store.audits.judgment_reviews import audits_done
from judgeboard.store.audits.verdict_counts import count_verdicts
from judgeboard.store.figures.disagreement_rows import AnswerSaid, answers_said
from judgeboard.store.judgments.judge_versions import StoredVersion, list_versions

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
    said: AnswerSaid | None


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
    said = answers_said(connection, audited.id, [each.response_id for each in first])
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

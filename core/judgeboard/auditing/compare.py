"""Compares the stored verdicts of two judge versions: where they differ, the second marks the first as wrong."""

from collections import Counter
from collections.abc import Callable
from typing import Literal, NamedTuple

from sqlalchemy import Connection

from judgeboard.auditing.report import AuditReport, audit_report
from judgeboard.auditing.sample import AuditSample
from judgeboard.domain import Label, Status, StepRecord, Verdict
from judgeboard.errors import BadInput
from judgeboard.filters import RowFilter
from judgeboard.flags.judges_disagree import differences_of
from judgeboard.flags.rule import HALF_STEP, JudgeSignal, Thresholds
from judgeboard.judge_kinds import AUDIT
from judgeboard.run_account import RunAccount
from judgeboard.store.audits.judgment_reviews import (
    AuditedJudgment,
    LandedMark,
    audited_judgments,
    land_marks,
    latest_reviews,
    measures_given,
    verdicts_of,
)
from judgeboard.store.engine import Store
from judgeboard.store.events import record_event
from judgeboard.store.judgments.judge_versions import StoredVersion, get_version
from judgeboard.store.runs.latest_asks import LatestAsk, latest_asks
from judgeboard.store.settings_table import thresholds
from judgeboard.store.sql.batches import batches

By = Literal["label", "thresholds"]
# Whether the audited verdict and the supreme one agree; None where they have nothing in common to compare.
Agrees = Callable[[Verdict, Verdict], bool | None]


def audit_recorded(
    store: Store,
    supreme: int | str,
    audited: int | str,
    *,
    sample: AuditSample | None = None,
    by: By | None = None,
    account: RunAccount | None = None,
    actor: str = "library",
) -> AuditReport:
    """Audit a judge version by what is stored of another, without asking anybody; a second time stores nothing new.

    A supreme version that was shown the verdicts (approach 1) is read as it was given; of any other the current
    verdict on each answer is compared.

    Args:
        store: Where the judgments are.
        supreme: The judge version that audits, as `get_version` takes it.
        audited: The one that is audited.
        sample: Which judgments; all by default.
        by: ``label``: the verdict is marked wrong where the labels differ, a judge without a label cut at the rule's
            threshold; ``thresholds``: where groundedness, quality or label differ as for the rule judges_disagree.
            By default thresholds for a supreme version that scored for an audit, label for any other; one that was
            shown the verdicts takes neither.
        account: The account of the run that the report is of; what is stored of the supreme version by default.
        actor: Who has them compared.

    Raises:
        NotFound: There is no such judge version.
        BadInput: A version is to audit itself, the audited one gave no verdicts, or ``by`` is given where it cannot.
    """
    sample = sample or AuditSample()
    with store.reading() as connection:
        version, own = audited_version(connection, audited), get_version(connection, supreme)
        if version.id == own.id:
            raise BadInput(f"{version.title} cannot audit itself: name another version with --supreme-version")
        if own.kind == AUDIT and own.params.get("approach") == 1:
            if by is not None:
                raise BadInput(f"{own.title} was shown the verdicts (approach 1), it scored none: leave --approach out")
            return audit_report(connection, version, own, sample, account)
    by = by or ("thresholds" if own.kind == AUDIT else "label")
    return compare_versions(store, own, version, sample, by, actor, account)


def audited_version(connection: Connection, which: int | str) -> StoredVersion:
    """Return the judge version to audit, as `get_version` takes it.

    Raises:
        NotFound: There is no such judge version.
        BadInput: It gave no usable verdict on any answer, so that whatever is drawn of it is nothing.
    """
    version = get_version(connection, which)
    # Scores of a scale of its own are none of the measures, yet verdicts.
    if not measures_given(connection, version.id) and not audited_judgments(connection, version.id, RowFilter()):
        raise BadInput(
            f"{version.title} gave no usable verdict on an answer, so there is nothing to audit: "
            "name another version with --judge-version"
        )
    return version


def compare_versions(
    store: Store,
    supreme: StoredVersion,
    audited: StoredVersion,
    sample: AuditSample,
    by: By,
    actor: str,
    account: RunAccount | None = None,
) -> AuditReport:
    """Store what two versions' verdicts say of each other as marks, and report; arguments as `audit_recorded`.

    The whole log is read first, so that another writer waits for a thousand marks at most.
    """
    with store.reading() as connection:
        found = _compared(connection, supreme, audited, sample, by)
    for chunk in batches(found.marks):
        with store.writing() as connection:
            land_marks(connection, supreme.id, None, chunk)
            details = {"version": supreme.id, "audited": audited.id, "marks": len(chunk)}
            record_event(connection, "audit_recorded", actor, details=details)
    with store.reading() as connection:
        return audit_report(
            connection, audited, supreme, sample, account or found.account, not_comparable=found.not_comparable
        )


class _Compared(NamedTuple):
    """The marks that are not stored yet, and what they were made from."""

    marks: list[LandedMark]
    not_comparable: int
    account: RunAccount


def _compared(
    connection: Connection, supreme: StoredVersion, audited: StoredVersion, sample: AuditSample, by: By
) -> _Compared:
    agrees = by_label(thresholds(connection)) if by == "label" else by_thresholds(thresholds(connection))
    drawn = sample.drawn(audited_judgments(connection, audited.id, sample.where))
    theirs = {each.response_id: each.judgment_id for each in audited_judgments(connection, supreme.id, sample.where)}
    reviews = latest_reviews(connection, supreme.id, audited.id)
    marks, unshared = [], 0
    for chunk in batches([each for each in drawn if each.response_id in theirs]):
        both = [id_ for each in chunk for id_ in (each.judgment_id, theirs[each.response_id])]
        verdicts = verdicts_of(connection, both)
        for each in chunk:
            correct = agrees(verdicts[each.judgment_id], verdicts[theirs[each.response_id]])
            known = reviews.get(each.judgment_id)
            if correct is None:
                unshared += 1
            elif known is None or known.correct is not correct:
                ask = 0 if known is None else known.ask + 1
                marks.append(LandedMark(each, ask, correct, StepRecord(Status.OK), sample.share))
    return _Compared(marks, unshared, _account(drawn, theirs, latest_asks(connection, supreme.id)))


def by_label(at: Thresholds) -> Agrees:
    """Return the comparison of labels, each judge's groundedness cut at the rule's threshold where it gave none."""

    def agrees(audited: Verdict, supreme: Verdict) -> bool | None:
        labels = _label(audited, at), _label(supreme, at)
        return None if None in labels else labels[0] is labels[1]

    return agrees


def by_thresholds(at: Thresholds) -> Agrees:
    """Return the comparison by the thresholds of the rule judges_disagree (methods.md §1)."""

    def agrees(audited: Verdict, supreme: Verdict) -> bool | None:
        shared = any(
            None not in (getattr(audited, measure), getattr(supreme, measure))
            for measure in ("groundedness", "quality", "label")
        )
        return not differences_of(_signal(audited), _signal(supreme), at) if shared else None

    return agrees


def _label(verdict: Verdict, at: Thresholds) -> Label | None:
    if verdict.label is not None or verdict.groundedness is None:
        return verdict.label
    return Label.HALLUCINATED if verdict.groundedness < at.low_groundedness - HALF_STEP else Label.GROUNDED


def _signal(verdict: Verdict) -> JudgeSignal:
    return JudgeSignal(0, "", "", "", "", verdict.groundedness, verdict.quality, verdict.label)


def _account(drawn: list[AuditedJudgment], usable: dict[int, int], asked: dict[int, LatestAsk]) -> RunAccount:
    """What the supreme judge said of the answers drawn: where it has no usable verdict, what its latest one is."""
    statuses = Counter(
        Status.OK if each.response_id in usable else asked[each.response_id].status
        for each in drawn
        if each.response_id in usable or each.response_id in asked
    )
    return RunAccount.of(statuses, not_reached=len(drawn) - statuses.total())

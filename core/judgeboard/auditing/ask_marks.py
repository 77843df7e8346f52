"""Approach 1: a supreme judge is shown each verdict and says whether it is correct."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Unpack

from sqlalchemy import Connection

from judgeboard.auditing.audit_run import start_audit
from judgeboard.auditing.report import AuditReport, audit_report
from judgeboard.auditing.sample import AuditSample
from judgeboard.blocking import run_blocking
from judgeboard.domain import JudgeInput, Status, Verdict
from judgeboard.hand_out import HandOut
from judgeboard.judges.supreme import Mark, SupremeJudge
from judgeboard.next_ask import Again, next_ask
from judgeboard.run_account import RunAccount, account_of
from judgeboard.runner import Keep
from judgeboard.step_run import RunKeywords, RunOptions, require_price, run_steps, stoppable
from judgeboard.store.audits.judgment_reviews import (
    AuditedJudgment,
    LandedMark,
    LatestReview,
    audited_judgments,
    land_marks,
    latest_reviews,
    verdicts_of,
)
from judgeboard.store.engine import Store
from judgeboard.store.judgments.judge_inputs import judge_inputs
from judgeboard.store.judgments.judge_versions import StoredVersion, get_version
from judgeboard.store.runs.runs import StoredRun


@dataclass(frozen=True, slots=True)
class _Task:
    """A verdict to review, with the answer that it is of; ``ask`` counts how often this was asked before."""

    audited: AuditedJudgment
    ask: int
    item: JudgeInput
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class _Reviewed:
    """A review, waiting to be stored."""

    task: _Task
    mark: Mark

    @property
    def status(self) -> Status:
        """What became of it."""
        return self.mark.record.status

    @property
    def cost_micro(self) -> int | None:
        """What it cost, in millionths; None is unknown."""
        return self.mark.record.cost_micro


def audit(
    store: Store,
    supreme: SupremeJudge,
    audited: int | str,
    *,
    sample: AuditSample | None = None,
    again: bool = False,
    **options: Unpack[RunKeywords],
) -> AuditReport:
    """Let a supreme judge review a judge's verdicts and wait for it; Ctrl-C finishes the calls in flight.

    Arguments and errors as `audit_async`.
    """
    return run_blocking(audit_async, store, supreme, audited, sample=sample, again=again, **stoppable(options))


async def audit_async(
    store: Store,
    supreme: SupremeJudge,
    audited: int | str,
    *,
    sample: AuditSample | None = None,
    again: bool = False,
    **options: Unpack[RunKeywords],
) -> AuditReport:
    """Let a supreme judge review the current verdicts of a judge version, and measure its marks against people.

    Each verdict is asked about once by a version of the supreme judge; a stopped audit goes on where it ended, with the
    answers that had landed at its start. A review keeps the share of the draw that it was asked for: a later, larger
    sample of the same seed holds it, asks only the rest, and leaves it as it is.

    Args:
        store: Where the judgments are.
        supreme: Who reviews; closed at the end.
        audited: The judge version, as `get_version` takes it.
        sample: Which of its judgments; all by default.
        again: Also ask again where the supreme judge's latest review of a verdict is not usable.
        options: Fields of `RunOptions`: concurrency, max_cost, actor, …

    Raises:
        NotFound: There is no such judge version.
        UnknownPrice: A cost limit is given and the model has no price.
    """
    how, sample = RunOptions(**options), sample or AuditSample()
    try:
        require_price(how.max_cost, priced=supreme.priced, model=supreme.version.model)
        with store.writing() as connection:
            version = get_version(connection, audited)
            drawn = sample.drawn(audited_judgments(connection, version.id, sample.where))

            def waiting(own: StoredVersion) -> int:
                reviews = latest_reviews(connection, own.id, version.id)
                return len(_unreviewed(drawn, reviews, Again() if again else None))

            own, run = start_audit(
                connection,
                supreme.version,
                version,
                sample,
                how,
                waiting,
                again=again,
                endpoint_host=supreme.endpoint_host,
            )
        account = RunAccount()
        if run is not None:
            account = await _ask(store, supreme, version, own, run, sample, how, again=again)
    finally:
        await supreme.aclose()
    with store.reading() as connection:
        return audit_report(connection, version, own, sample, account)


async def _ask(
    store: Store,
    supreme: SupremeJudge,
    audited: StoredVersion,
    own: StoredVersion,
    run: StoredRun,
    sample: AuditSample,
    how: RunOptions,
    *,
    again: bool,
) -> RunAccount:
    async def review(task: _Task, keep: Keep[_Reviewed]) -> None:
        await keep(_Reviewed(task, await supreme.review(task.item, task.verdict)))

    def write(batch: list[_Reviewed]) -> None:
        marks = [
            LandedMark(one.task.audited, one.task.ask, one.mark.correct, one.mark.record, sample.share) for one in batch
        ]
        with store.writing() as connection:
            land_marks(connection, own.id, run.id, marks, datetime.now(UTC))

    with store.reading() as connection:
        drawn = sample.drawn(audited_judgments(connection, audited.id, sample.where))
        drawn = [each for each in drawn if each.response_id <= run.question["up_to"]]
        reviews = latest_reviews(connection, own.id, audited.id)
    asked_again = Again(run.id) if again else None
    to_ask = _unreviewed(drawn, reviews, asked_again)

    def still_open(connection: Connection, some: Sequence[tuple[AuditedJudgment, int]]) -> list[_Task]:
        ids = [each.judgment_id for each, _ in some]
        stored = latest_reviews(connection, own.id, audited.id, ids)  # another process may be at the same run
        return _with_texts(connection, _unreviewed([each for each, _ in some], stored, asked_again))

    tasks = HandOut(store, to_ask, still_open, backwards=run.shared)
    ended = await run_steps(store, run.id, review, tasks.read, write, options=how, expected=len(to_ask))
    return account_of(store, run.id, ended)


def _with_texts(connection: Connection, to_ask: Sequence[tuple[AuditedJudgment, int]]) -> list[_Task]:
    items = judge_inputs(connection, [each.response_id for each, _ in to_ask])
    verdicts = verdicts_of(connection, [each.judgment_id for each, _ in to_ask])
    return [
        _Task(each, ask, items[each.response_id], verdicts[each.judgment_id])
        for each, ask in to_ask
        if each.response_id in items and each.judgment_id in verdicts
    ]


def _unreviewed(
    drawn: list[AuditedJudgment], reviews: dict[int, LatestReview], again: Again | None
) -> list[tuple[AuditedJudgment, int]]:
    """Return the judgments that are to be reviewed and the number of each ask."""
    numbered = [(each, next_ask(reviews.get(each.judgment_id), again)) for each in drawn]
    return [(each, number) for each, number in numbered if number is not None]

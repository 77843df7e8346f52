"""Audits that ask a supreme judge: about each verdict (approach 1), or about the answers themselves (approach 2)."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple, Unpack

from sqlalchemy import Connection

from judgeboard.auditing.compare import compare_versions
from judgeboard.auditing.report import AuditReport, audit_report
from judgeboard.auditing.sample import AuditSample
from judgeboard.blocking import blocking
from judgeboard.domain import JudgeInput, Verdict
from judgeboard.errors import BadInput
from judgeboard.judge_kinds import AUDIT
from judgeboard.judges.independent import IndependentSupreme
from judgeboard.judges.supreme import Mark, SupremeJudge
from judgeboard.judging import Ask, VerdictMethod
from judgeboard.method import AskOnceMethod, Begun, RunOptions, RunOutcome, Selected, run_method
from judgeboard.runner import Answered, Keep, S, T
from judgeboard.store.audits.judgment_reviews import (
    AuditedJudgment,
    LandedMark,
    LatestReview,
    audited_judgments,
    land_marks,
    latest_reviews,
    measures_given,
    verdicts_of,
)
from judgeboard.store.engine import Store
from judgeboard.store.judgments.judge_inputs import judge_inputs
from judgeboard.store.judgments.judge_versions import StoredVersion, get_version
from judgeboard.store.responses.response_frontier import last_logged_id
from judgeboard.store.runs.latest_asks import LatestAsk, latest_asks


class _Audit(AskOnceMethod[AuditedJudgment, T, S, AuditReport]):
    """A run over a sample of a judge version's current verdicts, with the answers that had landed at its start."""

    kind = AUDIT

    def __init__(self, audited: int | str, sample: AuditSample | None, *, again: bool) -> None:
        self.again = again
        self._which = audited
        self._sample = sample or AuditSample()

    def select(self, connection: Connection, version: StoredVersion) -> Selected:
        """Select the judgments of the sample that this supreme version was not asked about."""
        self._audited = get_version(connection, self._which)
        self._drawn = self._sample.drawn(audited_judgments(connection, self._audited.id, self._sample.where))
        if self._drawn:
            self.check(connection, self._audited)
        question = {
            "audited": self._audited.fingerprint,
            "again": self.again,
            **self._sample.as_dict(),
            "up_to": last_logged_id(connection),
        }
        return Selected(question, len(self.open_asks(connection, version, self._drawn)))

    def check(self, connection: Connection, audited: StoredVersion) -> None:
        """Refuse an audit that cannot give anything."""

    def keys(self, begun: Begun) -> list[AuditedJudgment]:
        """Return the sample, up to the frontier of the run."""
        return [each for each in self._drawn if each.response_id <= begun.run.question["up_to"]]


class _MarkTask(NamedTuple):
    audited: AuditedJudgment
    ask: int
    item: JudgeInput
    verdict: Verdict


class Reviewing(_Audit[_MarkTask, Answered[_MarkTask, Mark]]):
    """Approach 1: the supreme judge is shown each verdict with its answer and says whether it is correct."""

    def __init__(
        self, supreme: SupremeJudge, audited: int | str, sample: AuditSample | None = None, *, again: bool = False
    ) -> None:
        super().__init__(audited, sample, again=again)
        self.judge: SupremeJudge = supreme

    def latest(
        self, connection: Connection, version: StoredVersion, keys: Sequence[AuditedJudgment], *, few: bool
    ) -> Mapping[AuditedJudgment, LatestReview]:
        """Return the latest review of each judgment."""
        ids = [key.judgment_id for key in keys] if few else None
        reviews = latest_reviews(connection, version.id, self._audited.id, ids)
        return {key: reviews[key.judgment_id] for key in keys if key.judgment_id in reviews}

    def load(self, connection: Connection, asks: Sequence[tuple[AuditedJudgment, int]]) -> list[_MarkTask]:
        """Return the judgments with their answers and verdicts."""
        items = judge_inputs(connection, [key.response_id for key, _ in asks])
        verdicts = verdicts_of(connection, [key.judgment_id for key, _ in asks])
        return [
            _MarkTask(key, ask, items[key.response_id], verdicts[key.judgment_id])
            for key, ask in asks
            if key.response_id in items and key.judgment_id in verdicts
        ]

    async def ask(self, task: _MarkTask, keep: Keep[Answered[_MarkTask, Mark]]) -> None:
        """Ask whether one verdict is correct."""
        mark = await self.judge.review(task.item, task.verdict)
        await keep(Answered(task, mark, mark.record))

    def save(self, connection: Connection, begun: Begun, steps: list[Answered[_MarkTask, Mark]]) -> None:
        """Store reviews, with the flags that they raise."""
        marks = [
            LandedMark(step.task.audited, step.task.ask, step.result.correct, step.result.record, self._sample.share)
            for step in steps
        ]
        land_marks(connection, begun.version.id, begun.run.id, marks, datetime.now(UTC))

    def summarise(self, outcome: RunOutcome) -> AuditReport:
        """Measure the marks against people."""
        with outcome.store.reading() as connection:
            return audit_report(connection, self._audited, outcome.version, self._sample, outcome.account)


class Scoring(VerdictMethod[AuditReport], _Audit[Ask, Answered[Ask, Verdict]]):
    """Approach 2: the supreme judge scores the answers itself; a verdict that is far from its own is marked."""

    def __init__(
        self, supreme: IndependentSupreme, audited: int | str, sample: AuditSample | None = None, *, again: bool = False
    ) -> None:
        super().__init__(audited, sample, again=again)
        self.judge: IndependentSupreme = supreme

    def check(self, connection: Connection, audited: StoredVersion) -> None:
        """Refuse to pay for verdicts that have nothing in common with the audited ones."""
        given = measures_given(connection, audited.id)
        if given & self.judge.measures:
            return
        none = "no groundedness, quality or label"
        theirs, own = (" and ".join(sorted(measures)) or none for measures in (given, self.judge.measures))
        raise BadInput(
            f"{audited.title} gives {theirs}, the supreme judge {own}: nothing to compare. "
            "Choose another kind with --judge, or let it review the verdicts: --approach 1"
        )

    def latest(
        self, connection: Connection, version: StoredVersion, keys: Sequence[AuditedJudgment], *, few: bool
    ) -> Mapping[AuditedJudgment, LatestAsk]:
        """Return the latest verdict of the supreme version on each answer."""
        asks = latest_asks(connection, version.id, [key.response_id for key in keys] if few else None)
        return {key: asks[key.response_id] for key in keys if key.response_id in asks}

    def load(self, connection: Connection, asks: Sequence[tuple[AuditedJudgment, int]]) -> list[Ask]:
        """Return the answers."""
        items = judge_inputs(connection, [key.response_id for key, _ in asks])
        return [Ask(items[key.response_id], number) for key, number in asks if key.response_id in items]

    def summarise(self, outcome: RunOutcome) -> AuditReport:
        """Compare both versions, and measure the marks against people."""
        return compare_versions(
            outcome.store,
            outcome.version,
            self._audited,
            self._sample,
            "thresholds",
            outcome.actor,
            outcome.account,
        )


async def audit_async(
    store: Store,
    supreme: SupremeJudge,
    audited: int | str,
    *,
    sample: AuditSample | None = None,
    again: bool = False,
    **options: Unpack[RunOptions],
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
    return await run_method(store, Reviewing(supreme, audited, sample, again=again), **options)


audit = blocking(audit_async)


async def audit_independently_async(
    store: Store,
    supreme: IndependentSupreme,
    audited: int | str,
    *,
    sample: AuditSample | None = None,
    again: bool = False,
    **options: Unpack[RunOptions],
) -> AuditReport:
    """Let a supreme judge score the answers that a judge version judged, and compare both (methods.md §4).

    A verdict is marked wrong where both differ by the thresholds of the rule judges_disagree. Each answer is asked
    about once by a version of the supreme judge; a stopped audit goes on where it ended, with the answers that had
    landed at its start.

    Args:
        store: Where the judgments are.
        supreme: Who scores; closed at the end.
        audited: The judge version, as `get_version` takes it.
        sample: Which of its judgments; all by default.
        again: Also ask again where the supreme judge's latest verdict is not usable.
        options: Fields of `RunOptions`: concurrency, max_cost, actor, …

    Raises:
        NotFound: There is no such judge version.
        UnknownPrice: A cost limit is given and the model has no price.
        BadInput: The audited verdicts and those of the supreme judge have nothing in common to compare.
    """
    return await run_method(store, Scoring(supreme, audited, sample, again=again), **options)


audit_independently = blocking(audit_independently_async)

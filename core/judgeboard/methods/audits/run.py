"""Audits: a supreme judge reviews another judge's verdicts or scores the answers itself, in a new run or as stored."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple, Unpack

from sqlalchemy import Connection

from judgeboard.domain import AUDIT, JudgeInput, Status, StepRecord, Verdict
from judgeboard.errors import BadInput
from judgeboard.flags.rule import JudgeSignal
from judgeboard.flags.rules import differences_of
from judgeboard.judges.judge import AskedJudge
from judgeboard.judges.supreme import IndependentSupreme, SupremeJudge
from judgeboard.llm.asking import Replied
from judgeboard.measure.verdict_changes import side_of
from judgeboard.methods.audits import queries
from judgeboard.methods.audits.queries import AuditedJudgment
from judgeboard.methods.audits.report import (
    AuditReport,
    AuditSample,
    account_of_audit,
    audit_report,
)
from judgeboard.registry.judge_kinds import asks_model
from judgeboard.runs.judging import Ask, VerdictMethod, make_judge, with_environment
from judgeboard.runs.method import (
    AskOnceMethod,
    Begun,
    RunAccount,
    RunOptions,
    RunOutcome,
    Selected,
    run_method,
)
from judgeboard.runs.runner import Answered, Keep, S, T, blocking
from judgeboard.store.clock import utc_now
from judgeboard.store.engine import Store
from judgeboard.store.events import record_event
from judgeboard.store.filters import RowFilter
from judgeboard.store.jobs import TaskKey
from judgeboard.store.judge_versions import get_version
from judgeboard.store.judgment_reviews import NewJudgmentReview, store_judgment_reviews
from judgeboard.store.responses import judge_inputs, last_logged_id
from judgeboard.store.run_steps import LatestAsk, latest_asks
from judgeboard.store.settings import thresholds
from judgeboard.store.statements import batches
from judgeboard.store.tables import StoredVersion

NAME = "supreme"


def make_supreme(**fields: object) -> SupremeJudge:
    """Return a supreme judge that reviews verdicts (approach 1), or raise BadInput.

    Of ``fields``, only ``name``, ``max_output``, ``temperature``, ``prompt`` and the fields of the
    model are read. Missing values are read from the environment.
    """
    options = with_environment(fields)
    supreme_options = options.model_copy(update={"name": options.name or NAME})
    return SupremeJudge(options.endpoint("the supreme judge"), supreme_options)


def make_independent(
    store: Store, audited: int | str, kind: str | None = None, **fields: object
) -> IndependentSupreme:
    """Return a supreme judge that scores answers itself (approach 2), or raise NotFound or BadInput.

    The default ``kind`` is the kind of the audited version, or ``rag`` if that kind uses no model.
    A judge of the audited kind gets the same domain and claims, but not the same examples, so that
    the opinion is independent. ``fields`` is as in `make_supreme`.
    """
    with store.reading() as connection:
        version = get_version(connection, audited)
    own_kind = kind or (version.kind if asks_model(version.kind) else "rag")
    as_audited: dict[str, object] = {}
    if own_kind == version.kind and asks_model(own_kind):
        domain, claims = version.params.get("domain"), version.params.get("claims")
        if isinstance(domain, str):
            as_audited["domain"] = domain
        if isinstance(claims, bool):
            as_audited["claims"] = claims
    judge = make_judge(own_kind, **(fields | as_audited))
    return IndependentSupreme(judge, name=str(fields.get("name") or NAME))


By = Literal["label", "thresholds"]


def audit_recorded(
    store: Store,
    supreme: int | str,
    audited: int | str,
    *,
    sample: AuditSample | None = None,
    by: By | None = None,
    actor: str = "library",
) -> AuditReport:
    """Audit a judge version with the stored verdicts of another version; makes no model calls and is idempotent.

    If the supreme version used approach 1 or has no verdicts, the report is on the stored reviews.
    Otherwise the current verdicts of both versions are compared. With ``by="label"`` a verdict is
    marked if the labels differ; a missing label is derived from groundedness. With
    ``by="thresholds"`` a verdict is marked if the rule judges_disagree would flag the difference.
    The default is ``thresholds`` for a supreme version of approach 2, otherwise ``label``. Approach
    1 allows no ``by``. Raises BadInput if both versions are the same, the audited version has no
    verdicts, or ``by`` does not apply.
    """
    sample = sample or AuditSample()
    with store.reading() as connection:
        version, supreme_version = (
            audited_version(connection, audited),
            get_version(connection, supreme),
        )
        if version.id == supreme_version.id:
            raise BadInput(f"{version.title} cannot audit itself. Name another version with --by.")
        gave_reviews = supreme_version.kind == AUDIT and supreme_version.params.get("approach") == 1
        if gave_reviews and by is not None:
            raise BadInput(
                f"{supreme_version.title} reviewed the verdicts (approach 1) and gave no scores. Omit --approach."
            )
        if gave_reviews or not queries.audited_judgments(
            connection, supreme_version.id, RowFilter()
        ):
            return audit_report(connection, version, supreme_version, sample)
    by = by or ("thresholds" if supreme_version.kind == AUDIT else "label")
    return compare_versions(store, supreme_version, version, sample, by, actor)


def audited_version(connection: Connection, which: int | str) -> StoredVersion:
    """Return the judge version to audit; raises BadInput if the version has no usable verdict."""
    version = get_version(connection, which)
    # A verdict can consist of a rubric's scores only, without any of the common measures.
    if not queries.measures_given(connection, version.id) and not queries.audited_judgments(
        connection, version.id, RowFilter()
    ):
        raise BadInput(
            f"{version.title} has no usable verdict, so there is nothing to audit. "
            "Name another version with --judge-version."
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
    """Store for each answer whether two versions' verdicts agree, and report; arguments as in `audit_recorded`."""
    # Everything is read before the first write, so that other writers wait for at most one batch of
    # marks.
    with store.reading() as connection:
        marks, not_comparable, recorded_account = _compare(connection, supreme, audited, sample, by)
    for chunk in batches(marks):
        with store.writing() as connection:
            store_judgment_reviews(connection, supreme.id, None, chunk)
            details = {"version": supreme.id, "audited": audited.id, "marks": len(chunk)}
            record_event(connection, "audit_recorded", actor, details=details)
    with store.reading() as connection:
        account = account or recorded_account
        return audit_report(
            connection, audited, supreme, sample, account, not_comparable=not_comparable
        )


def _compare(
    connection: Connection,
    supreme: StoredVersion,
    audited: StoredVersion,
    sample: AuditSample,
    by: By,
) -> tuple[list[NewJudgmentReview], int, RunAccount]:
    limits = thresholds(connection)
    judgments = sample.drawn(queries.audited_judgments(connection, audited.id, sample.where))
    supreme_judgments = {
        each.response_id: each.judgment_id
        for each in queries.audited_judgments(connection, supreme.id, sample.where)
    }
    reviews = queries.latest_reviews(connection, supreme.id, audited.id)
    marks, not_comparable = [], 0
    for chunk in batches([each for each in judgments if each.response_id in supreme_judgments]):
        judgment_ids = [
            id_ for each in chunk for id_ in (each.judgment_id, supreme_judgments[each.response_id])
        ]
        verdicts = queries.verdicts_of(connection, judgment_ids)
        for each in chunk:
            # Whether the two verdicts agree; None without a common measure.
            correct: bool | None = None
            audited_verdict = verdicts[each.judgment_id]
            supreme_verdict = verdicts[supreme_judgments[each.response_id]]
            if by == "label":
                cut = limits.cuts.of(each.query_type)
                sides = [
                    side_of(verdict.label, verdict.groundedness, cut)
                    for verdict in (audited_verdict, supreme_verdict)
                ]
                correct = None if None in sides else sides[0] is sides[1]
            elif any(
                None not in (getattr(audited_verdict, name), getattr(supreme_verdict, name))
                for name in ("groundedness", "quality", "label")
            ):
                correct = not differences_of(
                    _signal(audited_verdict), _signal(supreme_verdict), limits
                )
            review = reviews.get(each.judgment_id)
            if correct is None:
                not_comparable += 1
            elif review is None or review.correct is not correct:
                ask = 0 if review is None else review.ask + 1
                record = StepRecord(Status.OK)
                marks.append(
                    NewJudgmentReview(
                        each.response_id, each.judgment_id, ask, correct, record, sample.share
                    )
                )
    # An answer with a usable verdict counts as ok; otherwise the status of the latest ask counts.
    statuses = {id_: ask.status for id_, ask in latest_asks(connection, supreme.id).items()}
    statuses |= dict.fromkeys(supreme_judgments, Status.OK)
    of_judgments = {
        each.judgment_id: statuses[each.response_id]
        for each in judgments
        if each.response_id in statuses
    }
    return marks, not_comparable, account_of_audit(judgments, of_judgments)


def _signal(verdict: Verdict) -> JudgeSignal:
    return JudgeSignal(0, "", "", "", "", verdict.groundedness, verdict.quality, verdict.label)


class _Audit(AskOnceMethod[AuditedJudgment, T, S, AuditReport]):
    kind = AUDIT

    def __init__(
        self, supreme: AskedJudge, audited: int | str, sample: AuditSample | None, *, again: bool
    ) -> None:
        self.judge = supreme
        self.again = again
        self._audited_name = audited
        self._sample = sample or AuditSample()

    def select(self, connection: Connection, version: StoredVersion) -> Selected:
        self._audited = get_version(connection, self._audited_name)
        self._judgments = self._sample.drawn(
            queries.audited_judgments(connection, self._audited.id, self._sample.where)
        )
        question = {
            "audited": self._audited.fingerprint,
            "again": self.again,
            **self._sample.as_dict(),
            # Control answers are stored after the answers of the log.
            "up_to": max(
                last_logged_id(connection), *(each.response_id for each in self._judgments), 0
            ),
        }
        return question, len(self.open_asks(connection, version, self._judgments))

    def items(self, begun: Begun) -> dict[TaskKey, AuditedJudgment]:
        up_to = begun.run.filter["up_to"]
        return {self._key(each): each for each in self._judgments if each.response_id <= up_to}

    def _key(self, audited: AuditedJudgment) -> TaskKey:
        return TaskKey(audited.response_id)


class _MarkTask(NamedTuple):
    audited: AuditedJudgment
    ask: int
    item: JudgeInput
    verdict: Verdict


class _Reviewing(_Audit[_MarkTask, Answered[_MarkTask, Replied[bool]]]):
    """Approach 1: the supreme judge sees each verdict and decides whether the verdict is correct."""

    judge: SupremeJudge

    def _key(self, audited: AuditedJudgment) -> TaskKey:
        return TaskKey(audited.judgment_id)

    def latest(
        self, connection: Connection, version: StoredVersion, items: Sequence[AuditedJudgment]
    ) -> Mapping[AuditedJudgment, queries.LatestReview]:
        ids = [each.judgment_id for each in items]
        reviews = queries.latest_reviews(connection, version.id, self._audited.id, ids)
        return {each: reviews[each.judgment_id] for each in items if each.judgment_id in reviews}

    def load_asks(
        self, connection: Connection, asks: Sequence[tuple[AuditedJudgment, int]]
    ) -> dict[AuditedJudgment, _MarkTask]:
        inputs = judge_inputs(connection, [each.response_id for each, _ in asks])
        verdicts = queries.verdicts_of(connection, [each.judgment_id for each, _ in asks])
        return {
            each: _MarkTask(each, ask, inputs[each.response_id], verdicts[each.judgment_id])
            for each, ask in asks
            if each.response_id in inputs and each.judgment_id in verdicts
        }

    async def ask(self, task: _MarkTask, keep: Keep[Answered[_MarkTask, Replied[bool]]]) -> None:
        mark = await self.judge.review(task.item, task.verdict)
        await keep(Answered(task, mark, mark.record))

    def save(
        self, connection: Connection, begun: Begun, steps: list[Answered[_MarkTask, Replied[bool]]]
    ) -> None:
        marks = [
            NewJudgmentReview(
                step.task.audited.response_id,
                step.task.audited.judgment_id,
                step.task.ask,
                step.result.value,
                step.result.record,
                self._sample.share,
            )
            for step in steps
        ]
        store_judgment_reviews(connection, begun.version.id, begun.run.id, marks, utc_now())

    def summarise(self, outcome: RunOutcome) -> AuditReport:
        with outcome.store.reading() as connection:
            return audit_report(
                connection, self._audited, outcome.version, self._sample, outcome.account
            )


class _Scoring(VerdictMethod[AuditReport], _Audit[Ask, Answered[Ask, Verdict]]):
    """Approach 2: the supreme judge scores the answers. Verdicts that differ too much from the scores are marked."""

    judge: IndependentSupreme

    def select(self, connection: Connection, version: StoredVersion) -> Selected:
        selection = super().select(connection, version)
        audited_measures = queries.measures_given(connection, self._audited.id)
        if not self._judgments or audited_measures & self.judge.measures:
            return selection
        none = "no groundedness, quality or label"
        audited_words, supreme_words = (
            " and ".join(sorted(measures)) or none
            for measures in (audited_measures, self.judge.measures)
        )
        raise BadInput(
            f"{self._audited.title} gives {audited_words}, the supreme judge gives {supreme_words}. "
            "There is nothing to compare. "
            "Choose another kind with --judge, or let the supreme judge review the verdicts: --approach 1."
        )

    def latest(
        self, connection: Connection, version: StoredVersion, items: Sequence[AuditedJudgment]
    ) -> Mapping[AuditedJudgment, LatestAsk]:
        asks = latest_asks(connection, version.id, [each.response_id for each in items])
        return {each: asks[each.response_id] for each in items if each.response_id in asks}

    def load_asks(
        self, connection: Connection, asks: Sequence[tuple[AuditedJudgment, int]]
    ) -> dict[AuditedJudgment, Ask]:
        inputs = judge_inputs(connection, [each.response_id for each, _ in asks])
        return {
            each: Ask(inputs[each.response_id], number)
            for each, number in asks
            if each.response_id in inputs
        }

    def summarise(self, outcome: RunOutcome) -> AuditReport:
        versions = (outcome.version, self._audited)
        return compare_versions(
            outcome.store, *versions, self._sample, "thresholds", outcome.actor, outcome.account
        )


async def audit_async(
    store: Store,
    supreme: SupremeJudge | IndependentSupreme,
    audited: int | str,
    *,
    sample: AuditSample | None = None,
    again: bool = False,
    **options: Unpack[RunOptions],
) -> AuditReport:
    """Audit the current verdicts of a judge version with a supreme judge, and compare the marks with people's grades.

    A `SupremeJudge` reviews each verdict (approach 1). An `IndependentSupreme` scores the answers;
    a verdict that differs from the score by the rule judges_disagree is marked (approach 2). A
    supreme version is asked once about each verdict or answer; ``again`` repeats calls
    without a usable result. A stopped audit continues with the answers that were logged at the
    start. A review keeps the sampling share. The supreme judge is closed at the end. ``options``
    are fields of `RunOptions`. Raises BadInput if the two judges have no measure in common
    (approach 2).
    """
    if isinstance(supreme, SupremeJudge):
        return await run_method(store, _Reviewing(supreme, audited, sample, again=again), **options)
    return await run_method(store, _Scoring(supreme, audited, sample, again=again), **options)


audit = blocking(audit_async)


def add_sample(store: Store, _folder: Path) -> Iterator[str]:
    """Let the second judge of the sample log audit the verdicts of the first; a finished audit is not repeated."""
    from judgeboard.cli.demo import ACTOR, SECOND_JUDGE  # the sample log alone

    audit_recorded(store, SECOND_JUDGE, "lexical", actor=ACTOR)
    yield f"lexical audited by {SECOND_JUDGE}"

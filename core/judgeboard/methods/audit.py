"""Audits by a supreme judge that is asked (approach 1 and 2), or by stored judgments of another judge."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple, Unpack

from sqlalchemy import Connection

from judgeboard.domain import AUDIT, JudgeInput, Label, Status, StepRecord, Verdict
from judgeboard.errors import BadInput
from judgeboard.flags.judges_disagree import differences_of
from judgeboard.flags.rule import HALF_STEP, JudgeSignal, Thresholds
from judgeboard.judges.judge import DEFAULT_MAX_OUTPUT
from judgeboard.judges.kinds import JUDGES, OFFLINE
from judgeboard.judges.supreme import IndependentSupreme, Mark, SupremeJudge
from judgeboard.methods.audit_report import AuditReport, AuditSample, audit_report
from judgeboard.runs.blocking import blocking
from judgeboard.runs.judging import Ask, VerdictMethod, make_endpoint, make_judge
from judgeboard.runs.method import AskOnceMethod, Begun, RunAccount, RunOptions, RunOutcome, Selected, run_method
from judgeboard.runs.runner import Answered, Keep, S, T
from judgeboard.store.audits import (
    AuditedJudgment,
    LatestReview,
    NewJudgmentReview,
    audited_judgments,
    latest_reviews,
    measures_given,
    store_judgment_reviews,
    verdicts_of,
)
from judgeboard.store.engine import Store
from judgeboard.store.events import record_event
from judgeboard.store.filters import RowFilter
from judgeboard.store.judge_versions import StoredVersion, get_version
from judgeboard.store.responses import judge_inputs, last_logged_id
from judgeboard.store.run_steps import LatestAsk, latest_asks
from judgeboard.store.settings import thresholds
from judgeboard.store.statements import batches

NAME = "supreme"
_OF_JUDGE = ("model", "provider", "base_url", "concurrency", "replies", "prices", "max_output", "timeout_s")
# What the audited version was asked for: a judge of the same kind is asked for the same.
_OF_AUDITED: dict[str, type] = {"domain": str, "claims": bool}


def make_supreme(**chosen: Any) -> SupremeJudge:
    """Return a supreme judge that is shown verdicts; what is not chosen comes from the environment.

    Args:
        chosen: ``name``, ``max_output`` and the fields of the model (model, base_url, prices, …); None counts as not
            chosen, others are left out.

    Raises:
        BadInput: No model, no key for OpenAI's own endpoint, an address that is none, unreadable replies.
    """
    endpoint = make_endpoint("the supreme judge", **chosen)
    return SupremeJudge(
        endpoint, name=chosen.get("name") or NAME, max_output=chosen.get("max_output") or DEFAULT_MAX_OUTPUT
    )


def make_independent(store: Store, audited: int | str, *, kind: str | None = None, **chosen: Any) -> IndependentSupreme:
    """Return a supreme judge that scores answers itself.

    One of the audited version's kind has its domain too, and gives claims where it does. Its examples are not shown:
    the opinion is to be another one, not a copy.

    Args:
        store: Where the audited version is.
        audited: The judge version, as `get_version` takes it.
        kind: The kind of judge; by default the audited version's, ``rag`` where that cannot be asked or
            asks no model.
        chosen: As for `make_supreme`.

    Raises:
        NotFound: There is no such judge version.
        BadInput: The kind is unknown, or the options do not make such a judge.
    """
    with store.reading() as connection:
        version = get_version(connection, audited)
    own_kind = kind or (version.kind if version.kind in JUDGES.keys() - OFFLINE else "rag")
    as_audited = {
        name: version.params[name]
        for name, meant in _OF_AUDITED.items()
        if own_kind == version.kind and own_kind not in OFFLINE and isinstance(version.params.get(name), meant)
    }
    judge = make_judge(own_kind, **as_audited, **{name: chosen[name] for name in _OF_JUDGE if name in chosen})
    return IndependentSupreme(judge, name=chosen.get("name") or NAME)


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
            store_judgment_reviews(connection, supreme.id, None, chunk)
            details = {"version": supreme.id, "audited": audited.id, "marks": len(chunk)}
            record_event(connection, "audit_recorded", actor, details=details)
    with store.reading() as connection:
        return audit_report(
            connection, audited, supreme, sample, account or found.account, not_comparable=found.not_comparable
        )


class _Compared(NamedTuple):
    """The marks that are not stored yet, and what they were made from."""

    marks: list[NewJudgmentReview]
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
                marks.append(NewJudgmentReview(each, ask, correct, StepRecord(Status.OK), sample.share))
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


class _Audit(AskOnceMethod[AuditedJudgment, T, S, AuditReport]):
    """A run over a sample of a judge version's current verdicts, with the answers that were stored at its start."""

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
            NewJudgmentReview(
                step.task.audited, step.task.ask, step.result.correct, step.result.record, self._sample.share
            )
            for step in steps
        ]
        store_judgment_reviews(connection, begun.version.id, begun.run.id, marks, datetime.now(UTC))

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
    answers that were stored at its start. A review keeps the share of the draw that it was asked for: a later, larger
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
    about once by a version of the supreme judge; a stopped audit goes on where it ended, with the answers that were
    stored at its start.

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

"""Flags in the database: the signals of the rules, raising and superseding, what became of flags."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, bindparam, case, exists, func, insert, select, update

from judgeboard.domain import JURY, Decision, FlagState, Label, ResponseKind, Status
from judgeboard.flags import random_sample
from judgeboard.flags.rule import (
    FailedSignal,
    JudgeSignal,
    Raise,
    RaisedFlag,
    Rule,
    Signals,
    SupremeMark,
    Texts,
    reasons_for,
    reconcile,
)
from judgeboard.stats.arrays import BoolArray, FloatArray, IntArray
from judgeboard.store.judge_versions import version_title
from judgeboard.store.judgments import Said, ShortJudgment, ShortResponse
from judgeboard.store.method_tables import JUDGMENT_REVIEW
from judgeboard.store.reviews import standing
from judgeboard.store.settings import RulesInForce
from judgeboard.store.statements import Texts as statements_Texts
from judgeboard.store.statements import read_columns
from judgeboard.store.tables import FLAG, JUDGMENT, RESPONSE, REVIEW, VERSION

REVIEWED = JUDGMENT_REVIEW

_REVIEWS = (
    select(
        REVIEWED.c.judgment_id,
        REVIEWED.c.correct,
        REVIEWED.c.inclusion_probability,
        VERSION.c.kind,
        VERSION.c.name,
        VERSION.c.number,
    )
    .select_from(JUDGMENT)
    .join(REVIEWED, REVIEWED.c.judgment_id == JUDGMENT.c.id)
    .join(VERSION, VERSION.c.id == REVIEWED.c.judge_version_id)
    .where(JUDGMENT.c.response_id.in_(bindparam("ids", expanding=True)), REVIEWED.c.correct.is_not(None))
    .order_by(REVIEWED.c.id)
)


@dataclass(frozen=True, slots=True)
class WrongMark:
    """A judgment that supreme judges (their titles) call wrong, and at what probability it was drawn."""

    supremes: tuple[str, ...]
    probability: float


def wrong_marks(connection: Connection, said: Sequence[Said]) -> dict[int, WrongMark]:
    """Return the current judgments that some supreme judge calls wrong, by judgment id; one statement.

    Of each supreme judge (kind and name) its latest usable review of a judgment counts, whatever its version.
    """
    current = {judgment.id for one in said for judgment in one.by_judge.values()}
    latest: dict[int, dict[tuple[str, str], tuple[bool, float, str]]] = {}
    for judgment_id, correct, probability, kind, name, number in connection.execute(
        _REVIEWS, {"ids": [one.response.id for one in said]}
    ):
        if judgment_id in current:
            mark = (bool(correct), probability, version_title(name, number))
            latest.setdefault(judgment_id, {})[kind, name] = mark
    marks = {
        judgment_id: [(title, probability) for correct, probability, title in by_supreme.values() if not correct]
        for judgment_id, by_supreme in latest.items()
    }
    return {
        judgment_id: WrongMark(tuple(sorted(title for title, _ in wrong)), max(share for _, share in wrong))
        for judgment_id, wrong in marks.items()
        if wrong
    }


SPLIT = "split"


def read_signals(
    connection: Connection, said: Sequence[Said], primary_judge: str | None, *, with_texts: bool = False
) -> list[Signals]:
    """Return the signals of each response, in their order.

    One statement for what supreme judges say, and one more each where the primary judge failed, where a jury judged,
    and where a rule reads the texts.
    """
    failures = _failures(connection, said, primary_judge)
    wrong = wrong_marks(connection, said) if any(one.by_judge for one in said) else {}
    members = _jury_members(connection, said)
    signals = [_signals(one, primary_judge, failures.get(one.response.id), wrong, members) for one in said]
    if not with_texts:
        return signals
    texts = _texts(connection, [one.response.id for one in said])
    return [replace(each, texts=texts[one.response.id]) for one, each in zip(said, signals, strict=True)]


def _texts(connection: Connection, response_ids: Sequence[int]) -> dict[int, Texts]:
    columns = (RESPONSE.c.id, RESPONSE.c.query, RESPONSE.c.answer, RESPONSE.c.passages)
    rows = connection.execute(select(*columns).where(RESPONSE.c.id.in_(response_ids)))
    return {row.id: Texts(row.query, row.answer, row.passages and tuple(row.passages)) for row in rows}


def _signals(
    said: Said,
    primary_judge: str | None,
    failed: FailedSignal | None,
    wrong: Mapping[int, WrongMark],
    members_of: Mapping[int, frozenset[str]],
) -> Signals:
    primary = _latest(said.by_judge.values(), primary_judge)
    others = sorted((judgment for judgment in said.by_judge.values() if judgment is not primary), key=_by_name)
    in_jury = frozenset(member for jury in _juries(said) for member in members_of.get(jury.version_id, frozenset()))
    signals = {judgment.id: _judge_signal(judgment, in_jury) for judgment in said.by_judge.values()}
    return Signals(
        source=said.response.source,
        external_id=said.response.external_id,
        query_type=said.response.query_type,
        feedback=said.feedback,
        primary=None if primary is None else signals[primary.id],
        failed=failed,
        others=tuple(signals[judgment.id] for judgment in others),
        marks=tuple(
            SupremeMark(signals[judgment.id], mark.supremes, mark.probability)
            for judgment in sorted(said.by_judge.values(), key=_by_name)
            if (mark := wrong.get(judgment.id)) is not None
        ),
    )


def _juries(said: Said) -> list[ShortJudgment]:
    """What juries last said of a response, split ones included."""
    spoken = (*said.by_judge.values(), *said.failed.values())
    return [judgment for judgment in spoken if judgment.kind == JURY]


def _jury_members(connection: Connection, said: Sequence[Said]) -> dict[int, frozenset[str]]:
    """The members' fingerprints of every jury version that judged one of these responses."""
    juries = {judgment.version_id for one in said for judgment in _juries(one)}
    if not juries:
        return {}
    rows = connection.execute(select(VERSION.c.id, VERSION.c.params).where(VERSION.c.id.in_(juries)))
    return {id_: frozenset(params.get("members", ())) for id_, params in rows}


def _failures(connection: Connection, said: Sequence[Said], primary_judge: str | None) -> dict[int, FailedSignal]:
    """The primary judge's latest judgment of each response on which none of its judgments is ok."""
    latest = (
        _latest(one.failed.values(), primary_judge)
        for one in said
        if one.failed and _latest(one.by_judge.values(), primary_judge) is None
    )
    failed = {judgment.id: judgment for judgment in latest if judgment is not None}
    if not failed:
        return {}
    columns = (JUDGMENT.c.id, JUDGMENT.c.attempts, JUDGMENT.c.error)
    rows = connection.execute(select(*columns).where(JUDGMENT.c.id.in_(failed)))
    # A combined verdict is made without a call: its error is one of our own words.
    last_calls = {id_: (attempts or [{"status": error} if error == SPLIT else {}])[-1] for id_, attempts, error in rows}
    return {
        judgment.response_id: FailedSignal(
            judgment_id=judgment.id,
            name=judgment.name,
            title=version_title(judgment.name, judgment.number),
            fingerprint=judgment.fingerprint,
            status=Status(judgment.status),
            cause=last_calls[judgment.id].get("status"),
            tokens=last_calls[judgment.id].get("completion_tokens"),
        )
        for judgment in failed.values()
    }


def _judge_signal(judgment: ShortJudgment, in_jury: Collection[str]) -> JudgeSignal:
    return JudgeSignal(
        judgment_id=judgment.id,
        kind=judgment.kind,
        name=judgment.name,
        title=version_title(judgment.name, judgment.number),
        fingerprint=judgment.fingerprint,
        groundedness=judgment.groundedness,
        quality=judgment.quality,
        label=None if judgment.label is None else Label(judgment.label),
        in_jury=judgment.fingerprint in in_jury,
    )


def _latest(judgments: Iterable[ShortJudgment], name: str | None) -> ShortJudgment | None:
    # Two kinds of judge may go by one name; what was said last counts then too.
    return max((judgment for judgment in judgments if judgment.name == name), key=_by_id, default=None)


def _by_id(judgment: ShortJudgment) -> int:
    return judgment.id


def _by_name(judgment: ShortJudgment) -> tuple[str, str]:
    return judgment.name, judgment.kind


_STANDING = select(FLAG.c.response_id, FLAG.c.id, FLAG.c.rule, FLAG.c.raise_key, FLAG.c.state, FLAG.c.details).where(
    FLAG.c.response_id.in_(bindparam("ids", expanding=True)), FLAG.c.state != FlagState.SUPERSEDED.value
)


_INSERT = insert(FLAG)


@dataclass(slots=True)
class FlagChanges:
    """How many flags were raised and superseded, by rule."""

    raised: Counter[str] = field(default_factory=Counter)
    superseded: Counter[str] = field(default_factory=Counter)

    def add(self, other: "FlagChanges") -> None:
        """Count another batch in."""
        self.raised += other.raised
        self.superseded += other.superseded


def keep_flags(
    connection: Connection, said: Sequence[Said], rules: Sequence[Rule], in_force: RulesInForce, now: datetime
) -> FlagChanges:
    """Bring the flags of ``rules`` on these responses in line; only logged answers are flagged."""
    logged = [one for one in said if one.response.kind == ResponseKind.LOG]
    standing = _standing(connection, [one.response.id for one in logged])
    changes = FlagChanges()
    new: list[dict[str, Any]] = []
    gone: list[int] = []
    with_texts = any(rule.reads_texts for rule in rules)
    all_signals = read_signals(connection, logged, in_force.primary_judge, with_texts=with_texts)
    for one, signals in zip(logged, all_signals, strict=True):
        flags = standing.get(one.response.id, [])
        result = reconcile(reasons_for(signals, in_force.thresholds, rules), flags, rules)
        new += [_row(one.response, signals, raised, now) for raised in result.to_raise]
        gone += result.to_supersede
        changes.raised.update(raised.reason.rule for raised in result.to_raise)
        changes.superseded.update(flag.rule for flag in flags if flag.id in result.to_supersede)
    if gone:
        connection.execute(update(FLAG).where(FLAG.c.id.in_(gone)).values(state=FlagState.SUPERSEDED.value))
    if new:
        connection.execute(_INSERT, new)
    return changes


def count_flags(connection: Connection, rule: str, state: FlagState) -> int:
    """Return how many flags of a rule are in a state."""
    query = select(func.count()).select_from(FLAG).where(FLAG.c.rule == rule, FLAG.c.state == state.value)
    return connection.execute(query).scalar_one()


def _standing(connection: Connection, response_ids: Sequence[int]) -> dict[int, list[RaisedFlag]]:
    standing: dict[int, list[RaisedFlag]] = {}
    rows = connection.execute(_STANDING, {"ids": response_ids})
    for response_id, id_, rule, raise_key, state, details in rows:
        standing.setdefault(response_id, []).append(RaisedFlag(id_, rule, raise_key, FlagState(state), details))
    return standing


def _row(response: ShortResponse, signals: Signals, raised: Raise, now: datetime) -> dict[str, Any]:
    reason, primary = raised.reason, signals.primary
    judge = primary or signals.failed
    return {
        "response_id": response.id,
        "query_type": response.query_type,
        "source": response.source,
        "asked_day": response.asked_day,
        "judge_name": None if judge is None else judge.name,
        "groundedness": None if primary is None else primary.groundedness,
        "quality": None if primary is None else primary.quality,
        "judgment_id": reason.judgment_id,
        "rule": reason.rule,
        "raise_key": reason.raise_key,
        "auto_score": reason.auto_score,
        "params": reason.params,
        "details": reason.details,
        "severity": reason.severity,
        "inclusion_probability": reason.inclusion_probability,
        "decided_before_id": raised.decided_before_id,
        "state": FlagState.OPEN.value,
        "created_at": now,
    }


_DECIDED = (FlagState.CONFIRMED.value, FlagState.DISMISSED.value)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How many flags were decided, and how many of them confirmed."""

    confirmed: int = 0
    decided: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class FlagReviews:
    """Standing reviews of flags as columns: ``rules`` with their names, NaN ``seconds`` where it was not timed."""

    rules: statements_Texts
    response_ids: IntArray
    decides: BoolArray
    seconds: FloatArray


def outcomes_by_rule(connection: Connection) -> dict[str, Outcome]:
    """Return what people said of the flags of each rule that has a decided one."""
    query = select(FLAG.c.rule, FLAG.c.state, func.count()).where(FLAG.c.state.in_(_DECIDED))
    outcomes: dict[str, Outcome] = {}
    for rule, state, n in connection.execute(query.group_by(FLAG.c.rule, FLAG.c.state)):
        before = outcomes.get(rule, Outcome())
        confirmed = n if state == FlagState.CONFIRMED else 0
        outcomes[rule] = Outcome(before.confirmed + confirmed, before.decided + n)
    return outcomes


def random_outcome(connection: Connection) -> Outcome:
    """Return what people said of randomly drawn answers that no other rule raised: what the rules do not see."""
    other = FLAG.alias()
    raised = exists(
        select(other.c.id).where(
            other.c.response_id == FLAG.c.response_id,
            other.c.rule != random_sample.NAME,
            other.c.state != FlagState.SUPERSEDED.value,
        )
    )
    query = select(FLAG.c.state, func.count()).where(
        FLAG.c.rule == random_sample.NAME, FLAG.c.state.in_(_DECIDED), ~raised
    )
    counts = connection.execute(query.group_by(FLAG.c.state)).all()
    return Outcome(sum(n for state, n in counts if state == FlagState.CONFIRMED), sum(n for _, n in counts))


def flag_reviews(connection: Connection) -> FlagReviews:
    """Return every standing review of a flag, without its texts."""
    decides = case((REVIEW.c.decision.in_((Decision.CONFIRM.value, Decision.DISMISS.value)), 1), else_=0)
    query = select(FLAG.c.rule, REVIEW.c.response_id, decides, REVIEW.c.seconds)
    rules, response_ids, decided, seconds = read_columns(
        connection, query.join(FLAG, FLAG.c.id == REVIEW.c.flag_id).where(standing())
    )
    return FlagReviews(rules, response_ids, decided == 1, seconds)


def judged_again(connection: Connection, version_id: int) -> list[int]:
    """Return the reviewed responses that one judge version was asked about more than once."""
    query = select(JUDGMENT.c.response_id).where(
        JUDGMENT.c.response_id.in_(select(REVIEW.c.response_id)),
        JUDGMENT.c.judge_version_id == version_id,
        JUDGMENT.c.ask > 0,
        JUDGMENT.c.repeat == 0,
    )
    return list(connection.execute(query.distinct()).scalars())

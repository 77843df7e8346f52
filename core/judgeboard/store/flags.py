"""Applies the rules to the signals of responses, raises and supersedes flags, and counts the decisions on flags."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import (
    BigInteger,
    BindParameter,
    ColumnElement,
    Connection,
    Select,
    bindparam,
    case,
    exists,
    func,
    insert,
    or_,
    select,
    update,
)

from judgeboard.domain import (
    EXPECTED,
    JURY,
    Decision,
    Feedback,
    FlagState,
    Response,
    ResponseKind,
    Stage,
)
from judgeboard.flags.rule import (
    FailedSignal,
    JudgeSignal,
    RaisedFlag,
    Reason,
    Reconciled,
    Rule,
    Signals,
    SupremeMark,
    Texts,
    reasons_for,
    reconcile,
)
from judgeboard.flags.rules import (
    ALWAYS_REVIEW,
    FAILED_CHECK,
    JUDGES_DISAGREE,
    RANDOM_SAMPLE,
    RULES,
    SUPREME_DISAGREES,
)
from judgeboard.stats.arrays import BoolArray, FloatArray, IntArray
from judgeboard.store.judgments import ResponseState, ShortJudgment, ShortResponse, dimension_scores
from judgeboard.store.responses import asked_day
from judgeboard.store.reviews import is_current, mark_leading_flags
from judgeboard.store.runs import AskMode
from judgeboard.store.settings import RulesInForce
from judgeboard.store.sql_compiler import by_index
from judgeboard.store.statements import (
    AT_ONCE,
    Columns,
    TextColumn,
    count_rows,
    grouped,
    listed,
    number_of,
    read_columns,
    record_of,
)
from judgeboard.store.tables import (
    FLAG,
    JUDGMENT,
    JUDGMENT_REVIEW,
    RESPONSE,
    REVIEW,
    REVIEW_FLAG,
    RUN,
    VERSION,
    version_title,
)

# The type is explicit: to guess a type, SQLAlchemy asks its ORM, and another thread of the server
# may be importing the ORM.
_IDS: BindParameter[int] = bindparam("ids", type_=BigInteger, expanding=True)
_SUPREME_REVIEWS = (
    select(
        *(JUDGMENT_REVIEW.c[name] for name in ("judgment_id", "correct", "inclusion_probability")),
        *(
            JUDGMENT.c[name]
            for name in ("response_id", "judge_version_id", "groundedness", "quality", "label")
        ),
        *(VERSION.c[name] for name in ("kind", "name", "number")),
    )
    .select_from(JUDGMENT)
    .join(JUDGMENT_REVIEW, JUDGMENT_REVIEW.c.judgment_id == JUDGMENT.c.id)
    .join(VERSION, VERSION.c.id == JUDGMENT_REVIEW.c.judge_version_id)
    .where(
        JUDGMENT.c.response_id.in_(_IDS),
        JUDGMENT.c.repeat == 0,
        JUDGMENT_REVIEW.c.correct.is_not(None),
    )
    .order_by(JUDGMENT_REVIEW.c.id)
)
_FLAGS = select(
    FLAG.c.response_id, FLAG.c.id, FLAG.c.rule, FLAG.c.raise_key, FLAG.c.state, FLAG.c.details
).where(FLAG.c.response_id.in_(_IDS), FLAG.c.state != FlagState.SUPERSEDED)
UNSELECTIVE = frozenset({RANDOM_SAMPLE, ALWAYS_REVIEW})
"""Rules that do not select answers by a judgment or user feedback."""
OF_SEVERAL_JUDGES = (SUPREME_DISAGREES, JUDGES_DISAGREE)
"""Rules whose flags also depend on the verdict of a supreme judge or of another judge."""
_DECIDED = (FlagState.CONFIRMED, FlagState.DISMISSED)
SPLIT = "split"
"""The error of a jury's verdict if the labels of its members tie."""


def wrong_marks(
    connection: Connection, states: Sequence[ResponseState]
) -> dict[int, tuple[tuple[str, ...], float]]:
    """Return, by id, the current judgments that the latest usable review of any supreme judge marks wrong.

    A review of an earlier judgment of the same version counts too, if both verdicts are equal. Each
    value has the titles of these supreme judges and the highest sampling rate of the audits.
    """
    current = {
        (each.response_id, each.version_id): each
        for state in states
        for each in state.by_judge.values()
    }
    rows = [
        (row, judgment)
        for row in connection.execute(
            _SUPREME_REVIEWS, {"ids": [state.response.id for state in states]}
        )
        if (judgment := current.get((row.response_id, row.judge_version_id))) is not None
    ]
    again = [
        (row.judgment_id, judgment.id) for row, judgment in rows if row.judgment_id != judgment.id
    ]
    scores = {
        id_: {
            each.dimension: each.value
            for each in of_judgment
            if not each.dimension.startswith(EXPECTED)
        }
        for id_, of_judgment in dimension_scores(
            connection, [*{id_ for ids in again for id_ in ids}]
        ).items()
    }
    latest: dict[int, dict[tuple[str, str], Any]] = {}
    for row, judgment in rows:
        verdict = row.groundedness, row.quality, row.label, scores.get(row.judgment_id)
        if verdict == (
            judgment.groundedness,
            judgment.quality,
            judgment.label,
            scores.get(judgment.id),
        ):
            latest.setdefault(judgment.id, {})[row.kind, row.name] = row
    marks: dict[int, tuple[tuple[str, ...], float]] = {}
    for judgment_id, by_supreme in latest.items():
        wrong_rows = [row for row in by_supreme.values() if not row.correct]
        if wrong_rows:
            titles = sorted(version_title(row.name, row.number) for row in wrong_rows)
            marks[judgment_id] = tuple(titles), max(row.inclusion_probability for row in wrong_rows)
    return marks


def read_signals(
    connection: Connection,
    states: Sequence[ResponseState],
    primary_judge: str | None,
    *,
    texts_for: Callable[[Signals], bool],
) -> list[Signals]:
    """Return the signals of each response, in the order of ``states``.

    One statement reads the reviews by supreme judges. Further statements are needed if the primary
    judge failed or is a jury, and for the texts, which are read only for responses for which
    ``texts_for`` is true.
    """
    failures = _failures(connection, states, primary_judge)
    marks = wrong_marks(connection, states) if any(state.by_judge for state in states) else {}
    # If the primary judge is a jury, the fingerprints of the members by version.
    members: dict[int, frozenset[str]] = {}
    juries = {
        jury.version_id
        for state in states
        if (jury := _primary_jury(state, primary_judge)) is not None
    }
    if juries:
        of_juries = select(VERSION.c.id, VERSION.c.params).where(VERSION.c.id.in_(juries))
        members = {
            id_: frozenset(params.get("members", ()))
            for id_, params in connection.execute(of_juries)
        }
    signals = [
        _signals(state, primary_judge, failures.get(state.response.id), marks, members)
        for state in states
    ]
    ids = [
        state.response.id for state, each in zip(states, signals, strict=True) if texts_for(each)
    ]
    if not ids:
        return signals
    columns = (RESPONSE.c.id, RESPONSE.c.query, RESPONSE.c.answer, RESPONSE.c.passages)
    rows = connection.execute(select(*columns).where(RESPONSE.c.id.in_(ids)))
    texts = {
        row.id: Texts(row.query, row.answer, row.passages)
        for row in rows
        if row.query is not None and row.answer is not None
    }
    return [
        replace(each, texts=texts.get(state.response.id))
        for state, each in zip(states, signals, strict=True)
    ]


def _signals(
    state: ResponseState,
    primary_judge: str | None,
    failure: FailedSignal | None,
    marks_of: Mapping[int, tuple[tuple[str, ...], float]],
    members_of: Mapping[int, frozenset[str]],
) -> Signals:
    primary = _latest(state.by_judge.values(), primary_judge)
    other_judgments = sorted(
        (judgment for judgment in state.by_judge.values() if judgment is not primary), key=_by_name
    )
    jury = _primary_jury(state, primary_judge)
    members = frozenset[str]() if jury is None else members_of[jury.version_id]
    signals = {
        judgment.id: record_of(
            JudgeSignal,
            judgment,
            judgment_id=judgment.id,
            title=version_title(judgment.name, judgment.number),
            in_primary_jury=judgment.fingerprint in members,
        )
        for judgment in state.by_judge.values()
    }
    return Signals(
        source=state.response.source,
        external_id=state.response.external_id,
        query_type=state.response.query_type,
        feedback=state.feedback,
        primary=None if primary is None else signals[primary.id],
        failed=failure,
        others=tuple(signals[judgment.id] for judgment in other_judgments),
        marks=tuple(
            SupremeMark(signals[judgment.id], *mark)
            for judgment in sorted(state.by_judge.values(), key=_by_name)
            if (mark := marks_of.get(judgment.id)) is not None
        ),
    )


def _primary_jury(state: ResponseState, primary_judge: str | None) -> ShortJudgment | None:
    """Return the primary judge's latest judgment of a response, usable or not, if the primary judge is a jury."""
    latest = _latest((*state.by_judge.values(), *state.failed.values()), primary_judge)
    return latest if latest is not None and latest.kind == JURY else None


def _failures(
    connection: Connection, states: Sequence[ResponseState], primary_judge: str | None
) -> dict[int, FailedSignal]:
    """Return the primary judge's latest failed judgment of each response without a usable judgment of this judge."""
    latest = (
        _latest(state.failed.values(), primary_judge)
        for state in states
        if state.failed and _latest(state.by_judge.values(), primary_judge) is None
    )
    failures = {judgment.id: judgment for judgment in latest if judgment is not None}
    if not failures:
        return {}
    columns = (JUDGMENT.c.id, JUDGMENT.c.attempts, JUDGMENT.c.error)
    rows = connection.execute(select(*columns).where(JUDGMENT.c.id.in_(failures)))
    # A combined verdict needs no call, so only its error shows that the jury had no majority.
    last_calls = {
        id_: (attempts or [{"status": error} if error == SPLIT else {}])[-1]
        for id_, attempts, error in rows
    }
    return {
        judgment.response_id: record_of(
            FailedSignal,
            judgment,
            judgment_id=judgment.id,
            title=version_title(judgment.name, judgment.number),
            cause=last_calls[judgment.id].get("status"),
            tokens=last_calls[judgment.id].get("completion_tokens"),
        )
        for judgment in failures.values()
    }


def _latest(judgments: Iterable[ShortJudgment], name: str | None) -> ShortJudgment | None:
    # Two kinds of judge may have the same name: the latest judgment counts.
    of_name = (judgment for judgment in judgments if judgment.name == name)
    return max(of_name, key=lambda judgment: judgment.id, default=None)


def _by_name(judgment: ShortJudgment) -> tuple[str, str]:
    return judgment.name, judgment.kind


@dataclass(slots=True)
class FlagSummary:
    """The result of applying rules; ``repaired`` counts wrong current judgments that were corrected.

    ``logged`` counts the responses from the log; the rest are answers of pairs, control answers and
    regenerated answers.
    """

    responses: int = 0
    logged: int = 0
    raised_by_rule: Counter[str] = field(default_factory=Counter)
    superseded_by_rule: Counter[str] = field(default_factory=Counter)
    repaired: int = 0

    @property
    def raised(self) -> int:
        """Number of flags raised."""
        return self.raised_by_rule.total()

    @property
    def superseded(self) -> int:
        """Number of open flags superseded."""
        return self.superseded_by_rule.total()

    def add(self, other: "FlagSummary") -> None:
        """Add the counts of another batch."""
        for each in fields(self):
            setattr(self, each.name, getattr(self, each.name) + getattr(other, each.name))


class Reconciling(NamedTuple):
    """The flags of one response, and the changes to these flags."""

    state: ResponseState
    signals: Signals
    flags: Sequence[RaisedFlag]
    result: Reconciled

    @property
    def superseded(self) -> list[RaisedFlag]:
        """The open flags to supersede."""
        return [flag for flag in self.flags if flag.id in self.result.to_supersede]


def reconciling(
    connection: Connection,
    states: Sequence[ResponseState],
    rules: Sequence[Rule],
    in_force: RulesInForce,
) -> list[Reconciling]:
    """Return the changes of ``rules`` to the flags of these responses; only logged answers get flags."""
    logged_states = [state for state in states if state.response.kind == ResponseKind.LOG]
    rows = connection.execute(_FLAGS, {"ids": [state.response.id for state in logged_states]})
    flags_by_response = grouped((response_id, RaisedFlag(*flag)) for response_id, *flag in rows)
    readers = [rule.texts_for for rule in rules if rule.reads_texts]
    all_signals = read_signals(
        connection,
        logged_states,
        in_force.primary_judge,
        texts_for=lambda signals: any(reads(signals, in_force.thresholds) for reads in readers),
    )
    changes = []
    for state, signals in zip(logged_states, all_signals, strict=True):
        flags = flags_by_response.get(state.response.id, [])
        result = reconcile(reasons_for(signals, in_force.thresholds, rules), flags, rules)
        changes.append(Reconciling(state, signals, flags, result))
    # The flags to supersede that stay open.
    candidates = [(flag, each.state) for each in changes for flag in each.superseded]
    sample_ids = {flag.id for flag, _ in candidates if flag.rule == RANDOM_SAMPLE}
    of_judges = {flag.id: state for flag, state in candidates if flag.rule in OF_SEVERAL_JUDGES}
    staying_ids: set[int] = set()
    if sample_ids:
        has_review = exists().where(REVIEW.c.response_id == FLAG.c.response_id)
        staying_ids |= set(
            connection.scalars(select(FLAG.c.id).where(FLAG.c.id.in_(sample_ids), has_review))
        )
    if of_judges:
        current = {
            judgment.id for state in of_judges.values() for judgment in state.by_judge.values()
        }
        has_kept_flags = exists().where(
            JUDGMENT.c.response_id == FLAG.c.response_id,
            JUDGMENT.c.id.in_(current),
            JUDGMENT.c.created_at > FLAG.c.created_at,
            RUN.c.id == JUDGMENT.c.run_id,
            RUN.c.filter["mode"].as_string() == AskMode.KEEP_FLAGS.value,
        )
        staying_ids |= set(
            connection.scalars(select(FLAG.c.id).where(FLAG.c.id.in_(of_judges), has_kept_flags))
        )
    if not staying_ids:
        return changes
    return [
        each._replace(
            result=replace(
                each.result,
                to_supersede=tuple(
                    id_ for id_ in each.result.to_supersede if id_ not in staying_ids
                ),
            )
        )
        for each in changes
    ]


def count_at_stake(
    connection: Connection, judge: str, conditions: Sequence[ColumnElement[bool]]
) -> int:
    """Return how many open flags on these answers depend on a judge's verdict and on verdicts of other judges."""
    of_judge = exists().where(
        JUDGMENT.c.response_id == FLAG.c.response_id,
        or_(FLAG.c.rule == JUDGES_DISAGREE, JUDGMENT.c.id == FLAG.c.judgment_id),
        VERSION.c.id == JUDGMENT.c.judge_version_id,
        VERSION.c.name == judge,
    )
    of_answers = FLAG.join(RESPONSE, RESPONSE.c.id == FLAG.c.response_id)
    is_open = FLAG.c.state == FlagState.OPEN, FLAG.c.rule.in_(OF_SEVERAL_JUDGES)
    return count_rows(connection, of_answers, *is_open, of_judge, *conditions)


def update_flags(
    connection: Connection,
    states: Sequence[ResponseState],
    rules: Sequence[Rule],
    in_force: RulesInForce,
    now: datetime,
) -> FlagSummary:
    """Raise and supersede the flags of ``rules`` on these responses; only logged answers get flags."""
    changes = FlagSummary(len(states))
    new: list[dict[str, Any]] = []
    superseded_ids: list[int] = []
    several: list[
        int
    ] = []  # changed responses with more than one flag: the leading flag may change
    for each in reconciling(connection, states, rules, in_force):
        to_raise = each.result.to_raise
        of_response = _of_response(
            each.state.response.id, each.state.response, each.state.response.asked_day
        )
        new += [_row(of_response, each.signals, reason, now) for reason in to_raise]
        superseded_ids += each.result.to_supersede
        if (to_raise or each.result.to_supersede) and len(each.flags) + len(to_raise) > 1:
            several.append(each.state.response.id)
        changes.logged += 1
        changes.raised_by_rule.update(reason.rule for reason in to_raise)
        changes.superseded_by_rule.update(flag.rule for flag in each.superseded)
    if superseded_ids:
        connection.execute(
            update(FLAG).where(FLAG.c.id.in_(superseded_ids)).values(state=FlagState.SUPERSEDED)
        )
    if new:
        connection.execute(insert(FLAG), new)
    mark_leading_flags(connection, several)
    return changes


def flag_new(
    connection: Connection,
    answers: Mapping[int, Response],
    feedback: Mapping[int, Feedback],
    in_force: RulesInForce,
    now: datetime,
) -> None:
    """Raise the flags of answers that this transaction has stored, without reading the answers again.

    ``answers`` and the latest ``feedback`` of each answer are by the id of the answer. The answers
    have no judgments and no flags yet. Only logged answers get flags.
    """
    new: list[dict[str, Any]] = []
    several: list[int] = []
    rules = list(RULES.values())
    for id_, answer in sorted(answers.items(), key=itemgetter(0)):
        if answer.kind != ResponseKind.LOG:
            continue
        signals = Signals(
            answer.source, answer.external_id, answer.query_type, feedback.get(id_), texts=answer
        )
        of_response = _of_response(id_, answer, asked_day(answer))
        reasons = reasons_for(signals, in_force.thresholds, rules)
        new += [_row(of_response, signals, reason, now) for reason in reasons]
        if len(reasons) > 1:
            several.append(id_)
    if new:
        connection.execute(insert(FLAG), new)
    mark_leading_flags(connection, several)


def latest_flag(connection: Connection) -> int:
    """Return the id of the newest flag, 0 if there is none."""
    return number_of(connection, select(func.max(FLAG.c.id)))


def count_raised(connection: Connection, after: int, at: datetime) -> int:
    """Return how many flags with an id above ``after`` were raised at this time."""
    return count_rows(connection, FLAG, FLAG.c.id > after, FLAG.c.created_at == at)


def with_open_flags(connection: Connection, *, after: int) -> list[int]:
    """Return the next 1,000 ids above ``after`` of responses that have an open flag, ascending."""
    query = select(FLAG.c.response_id).where(
        FLAG.c.state == FlagState.OPEN, FLAG.c.response_id > after
    )
    return list(connection.scalars(query.distinct().order_by(FLAG.c.response_id).limit(AT_ONCE)))


def failing_answers(connection: Connection) -> dict[str, int]:
    """Return the number of answers that fail each check, by the check's fingerprint; superseded flags do not count."""
    of_checks = FLAG.c.rule == FAILED_CHECK, FLAG.c.state != FlagState.SUPERSEDED
    query = select(FLAG.c.raise_key, func.count(FLAG.c.response_id.distinct())).where(*of_checks)
    rows = connection.execute(query.group_by(FLAG.c.raise_key))
    return {raise_key.removeprefix(f"{FAILED_CHECK}:"): n for raise_key, n in rows}


_OF_REASON = (
    "judgment_id",
    "rule",
    "raise_key",
    "auto_score",
    "params",
    "details",
    "severity",
    "inclusion_probability",
    "decided_before_id",
)


def _of_response(
    response_id: int, response: ShortResponse | Response, day: int | None
) -> dict[str, Any]:
    """Return the columns that a flag repeats of the response, for filters; ``day`` is the response's `asked_day`."""
    return {
        "response_id": response_id,
        "query_type": response.query_type,
        "source": response.source,
        "asked_day": day,
    }


def _row(
    of_response: Mapping[str, Any], signals: Signals, reason: Reason, now: datetime
) -> dict[str, Any]:
    primary = signals.primary
    judge = primary or signals.failed
    return {
        **of_response,
        "judge_name": None if judge is None else judge.name,
        "groundedness": None if primary is None else primary.groundedness,
        "quality": None if primary is None else primary.quality,
        **{name: getattr(reason, name) for name in _OF_REASON},
        "state": FlagState.OPEN,
        "created_at": now,
    }


@dataclass(frozen=True, slots=True, eq=False)
class FlagReviews:
    """Current reviews of flags as columns; ``seconds`` is NaN if the time was not measured."""

    rules: TextColumn
    response_ids: IntArray
    decides: BoolArray
    seconds: FloatArray


_CONFIRMED = func.coalesce(func.sum(case((FLAG.c.state == FlagState.CONFIRMED, 1), else_=0)), 0)


def outcomes_by_rule(connection: Connection) -> dict[str, tuple[int, int]]:
    """Return how many flags are confirmed and how many are decided, for each rule that has a decided flag."""
    query = (
        select(FLAG.c.rule, _CONFIRMED, func.count())
        .where(FLAG.c.state.in_(_DECIDED))
        .group_by(FLAG.c.rule)
    )
    return {rule: (int(confirmations), n) for rule, confirmations, n in connection.execute(query)}


def flag_reviews(connection: Connection) -> FlagReviews:
    """Return every current review of each flag, without texts; reviews after the reveal do not count."""
    decides = case((REVIEW.c.decision.in_((Decision.CONFIRM, Decision.DISMISS)), 1), else_=0)
    query = select(FLAG.c.rule, REVIEW.c.response_id, decides, REVIEW.c.seconds)
    rules, response_ids, has_decision, seconds = read_columns(connection, _of_flags(query))
    return FlagReviews(rules, response_ids, has_decision == 1, seconds)


def _of_flags(query: Select[Any]) -> Select[Any]:
    """Return a query of current reviews, one row per review and flag, without reviews after the reveal."""
    return (
        query.join(REVIEW_FLAG, REVIEW_FLAG.c.review_id == REVIEW.c.id)
        .join(FLAG, FLAG.c.id == REVIEW_FLAG.c.flag_id)
        .where(is_current(), REVIEW.c.stage.is_distinct_from(Stage.REVEALED))
    )


@dataclass(frozen=True, slots=True, eq=False)
class ReviewedForFlags(Columns):
    """The ids, ascending, of answers with a review of a flag of a selective rule."""

    response_ids: IntArray


def read_reviewed_for_flags(
    connection: Connection, ids: IntArray | None = None
) -> ReviewedForFlags:
    """Return the answers with a review of a flag of a selective rule; ``ids`` are the answers to read."""
    query = _of_flags(select(REVIEW.c.response_id)).where(FLAG.c.rule.not_in(UNSELECTIVE))
    if ids is not None:
        of_ids = query.where(REVIEW.c.response_id.in_(listed(connection, ids.tolist())))
        query = by_index(of_ids, REVIEW, "ix_review_response")
    return ReviewedForFlags(np.unique(read_columns(connection, query)[0]))


def judged_again(connection: Connection, version_id: int) -> list[int]:
    """Return the reviewed responses that a judge version judged more than once."""
    query = select(JUDGMENT.c.response_id).where(
        JUDGMENT.c.response_id.in_(select(REVIEW.c.response_id)),
        JUDGMENT.c.judge_version_id == version_id,
        JUDGMENT.c.ask > 0,
        JUDGMENT.c.repeat == 0,
    )
    return list(connection.scalars(query.distinct()))

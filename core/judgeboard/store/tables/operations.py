"""Tables of the running service: settings, events, jobs, judging rules, alarms, alerts, keys, traces."""

from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, Index, UniqueConstraint

from judgeboard.domain import AlertCondition, FeedbackKind, MessageKind, RuleState
from judgeboard.store.tables.columns import (
    BigId,
    JsonData,
    JsonTuple,
    JsonValue,
    Row,
    Stored,
    Utc,
    column,
    one_of,
    partial,
    table_of,
)


class Setting(Stored, table=True):
    """Thresholds and the primary judge; the latest row of a key is in force."""

    has_hidden_rows = False

    key: str = column(index=True)
    value: JsonData | None = column(JsonValue)
    by: str
    at: datetime = column(Utc)


SETTING = table_of(Setting)


class Change(Stored, table=True):
    """An answer of which figures may change; triggers write the row in the transaction of the change."""

    is_free = True
    has_hidden_rows = False

    response_id: int | None = column(BigId, comment="0: what figures read beside answers; null: all answers.")
    writer: int | None = column(BigId, comment="The transaction, on PostgreSQL.")

    __table_args__ = (Index("ix_change_writer", "writer", **partial("writer IS NOT NULL")),)


CHANGE = table_of(Change)


class Event(Stored, table=True):
    """A record of who did what, written in the transaction of the change."""

    kind: str
    actor: str
    at: datetime = column(Utc)
    response_id: int | None = column(BigId, refers="response")
    details: JsonData = column(JsonValue, default_factory=dict)

    __table_args__ = (
        Index("ix_event_response", "response_id", "kind"),
        Index("ix_event_kind", "kind", "id"),
        Index("ix_event_actor", "actor", "id"),
    )


EVENT = table_of(Event)


class Job(Row, table=True):
    """Long work that a person requested; all workers share it until its run ends. Contains no texts."""

    has_hidden_rows = False

    id: str = column(primary_key=True)
    kind: str
    actor: str
    filter: dict[str, Any] = column(JsonValue, default_factory=dict)
    judge: dict[str, Any] = column(JsonValue, default_factory=dict)
    estimate: dict[str, Any] = column(JsonValue, default_factory=dict)
    run_id: int | None = column(BigId, refers="run", index=True, changes=True)
    created_at: datetime = column(Utc)
    cancelled_at: datetime | None = column(Utc, changes=True)
    failed: str | None = column(changes=True, comment="Why the job could not start or go on.")


JOB = table_of(Job)


class Worker(Row, table=True):
    """A process that does the work of jobs and rules; it is alive while its heartbeat is recent."""

    is_free = True
    has_hidden_rows = False

    executor_id: str = column(primary_key=True)
    host: str
    pid: int
    started_at: datetime = column(Utc)
    heartbeat_at: datetime = column(Utc)


WORKER = table_of(Worker)


class JudgingRule(Stored, table=True):
    """Judges answers as they come; only the state and the problem change. Contains no texts."""

    has_hidden_rows = False

    name: str
    by: str
    judge_version_id: int = column(BigId, refers="judge_version")
    filter: JsonData = column(JsonValue, default_factory=dict)
    judge: JsonData = column(JsonValue, default_factory=dict)
    rate: float = column(default=1.0, comment="Share of the answers that are judged.")
    rates: JsonData = column(JsonValue, default_factory=dict, comment="Other shares, by query type.")
    max_cost: float | None = column(comment="Per day (UTC), in the currency of the prices.")
    max_calls: int | None = column(comment="Per day (UTC).")
    concurrency: int
    delay_s: float = column(default=0.0, comment="Seconds between storing and judging an answer.")
    after_id: int = column(BigId, comment="The rule judges answers with higher ids.")
    state: RuleState = column(one_of(RuleState, "state"), default=RuleState.ACTIVE, changes=True)
    problem: str | None = column(changes=True, comment="Why workers cannot judge now.")
    at: datetime = column(Utc)

    __table_args__ = (
        CheckConstraint("rate >= 0 AND rate <= 1", name="rate"),
        Index("uq_judging_rule_name", "name", unique=True, **partial("state <> 'removed'")),
    )


JUDGING_RULE = table_of(JudgingRule)


class RunShare(Row, table=True):
    """Sums over the judgments of one worker in one run, so that a budget need not sum the judgments."""

    is_free = True
    has_hidden_rows = False

    run_id: int = column(BigId, refers="run", primary_key=True)
    executor_id: str = column(primary_key=True)  # a worker, or the process of a command
    ok: int = column(default=0)
    unparsable: int = column(default=0)
    refused: int = column(default=0)
    error: int = column(default=0)
    unpriced: int = column(default=0)
    cost_micro: int = column(BigId, default=0)
    last_at: datetime = column(Utc, comment="When the worker stored its last judgment.")


RUN_SHARE = table_of(RunShare)


class RateLimit(Row, table=True):
    """Until when the calls of a model are given away, so that the limits per minute hold in all processes."""

    is_free = True
    has_hidden_rows = False

    name: str = column(primary_key=True, comment="Host and model.")
    taken_until: float = column(comment="Seconds since 1970, by the clock of the database.")


RATE_LIMIT = table_of(RateLimit)


class Alarm(Stored, table=True):
    """A change that a detector found: `measure` rose or fell (`direction`) for one query type."""

    has_hidden_rows = False

    measure: str
    direction: str
    query_type: str
    judge_version_id: int | None = column(BigId, refers="judge_version")
    # The first days of the periods of the change and of the alarm.
    from_day: int
    seen_day: int
    evidence: float
    evidence_limit: float
    rate_before: float
    rate_after: float
    by: str
    at: datetime = column(Utc)
    explanation: str | None = column(comment="Which of the judge's rates moved with its error.")

    __table_args__ = (
        # One change raises one alarm, however often somebody looks.
        UniqueConstraint("measure", "direction", "query_type", "judge_version_id", "from_day"),
    )


ALARM = table_of(Alarm)


class AlarmAcknowledgement(Stored, table=True):
    """A lead has seen an alarm. Its detectors then start anew on the day of the change."""

    has_hidden_rows = False

    alarm_id: int = column(BigId, refers="alarm", unique=True)
    by: str
    note: str
    at: datetime = column(Utc)


ALARM_ACKNOWLEDGEMENT = table_of(AlarmAcknowledgement)


class AlertRule(Stored, table=True):
    """Sends messages while a condition is met. Contains no texts."""

    has_hidden_rows = False

    name: str
    by: str
    condition: AlertCondition = column(one_of(AlertCondition, "condition"))
    threshold: float | None = column(comment="In the unit of the condition.")
    period_s: float | None = column(comment="Seconds.")
    subjects: tuple[Any, ...] = column(
        JsonTuple, default_factory=list, comment="Only these sources, judges, rules or slices."
    )
    level: JsonData | None = column(JsonValue, comment="What a level rule compares with its threshold.")
    destinations: tuple[Any, ...] = column(JsonTuple, comment="Name environment variables, never contain secrets.")
    remind_s: float | None = column(comment="Seconds between reminders; NULL: none.")
    quiet: str | None = column(comment="Daily hours without messages, with their time zone.")
    state: RuleState = column(one_of(RuleState, "state"), default=RuleState.ACTIVE, changes=True)
    evaluated_at: datetime | None = column(
        Utc, changes=True, comment="When a worker last took the rule to evaluate it."
    )
    problem: str | None = column(changes=True, comment="Why the rule cannot be evaluated now.")
    at: datetime = column(Utc)

    __table_args__ = (
        CheckConstraint("(condition = 'level') = (level IS NOT NULL)", name="level"),
        Index("uq_alert_rule_name", "name", unique=True, **partial("state <> 'removed'")),
    )


ALERT_RULE = table_of(AlertRule)


class AlertEvent(Stored, table=True):
    """A time during which the condition of an alert rule was met. Contains no texts."""

    has_hidden_rows = False

    alert_rule_id: int = column(BigId, refers="alert_rule")
    subject: str
    sentence: str = column(changes=True)
    value: float | None = column(changes=True)
    opened_at: datetime = column(Utc)
    seen_at: datetime = column(Utc, changes=True)
    resolved_at: datetime | None = column(Utc, changes=True)
    notified_at: datetime | None = column(Utc, changes=True)
    messages: int = column(default=0, changes=True, comment="Messages so far; each goes to all destinations.")
    closed: bool = column(default=False, changes=True, comment="It is resolved, and no message is left.")

    __table_args__ = (
        # Of one condition, one event is open, whichever worker finds it.
        Index("uq_alert_event_open", "alert_rule_id", "subject", unique=True, **partial("resolved_at IS NULL")),
        Index("ix_alert_event_unclosed", "alert_rule_id", **partial("NOT closed")),
    )


ALERT_EVENT = table_of(AlertEvent)


class AlertDelivery(Stored, table=True):
    """A message of an alert rule to one destination, and its attempts."""

    has_hidden_rows = False

    alert_rule_id: int = column(BigId, refers="alert_rule")
    alert_event_id: int | None = column(BigId, refers="alert_event")
    kind: MessageKind = column(one_of(MessageKind, "kind"))
    destination: str
    message_id: str
    number: int = column(default=0, comment="Counts the messages of an event.")
    message: dict[str, Any] = column(JsonValue, default_factory=dict)
    state: str = column(default="waiting", changes=True)
    attempts: int = column(default=0, changes=True, comment="Stored before each attempt.")
    next_at: datetime = column(Utc, changes=True)
    at: datetime = column(Utc)
    sent_at: datetime | None = column(Utc, changes=True)
    error: str | None = column(changes=True)

    __table_args__ = (
        UniqueConstraint("alert_event_id", "number", "destination"),
        UniqueConstraint("message_id"),
        CheckConstraint("state IN ('waiting', 'sent', 'failed')", name="state"),
        Index("ix_alert_delivery_waiting", "next_at", **partial("state = 'waiting'")),
    )


ALERT_DELIVERY = table_of(AlertDelivery)


class Pushed(Row, table=True):
    """What a tool got back about an answer from each author; the latest attempt counts."""

    target: str = column(primary_key=True)
    what: str = column(primary_key=True)
    response_id: int = column(BigId, refers="response", primary_key=True)
    author: str = column(primary_key=True, comment="A judge version, a person, or gold.")
    row_id: int = column(BigId, changes=True, comment="The judgment or the review.")
    sent: bool = column(changes=True)
    error: str | None = column(changes=True, comment="Why the tool refused it.")
    at: datetime = column(Utc, changes=True)

    __table_args__ = (Index("ix_pushed_row", "what", "row_id", "target", "sent"),)


PUSHED = table_of(Pushed)


class Pull(Row, table=True):
    """How far the history of a project of a tool was pulled."""

    is_free = True
    has_hidden_rows = False

    tool: str = column(primary_key=True)
    project: str = column(primary_key=True)
    done_until: datetime | None = column(Utc)
    since: datetime | None = column(Utc)
    until: datetime | None = column(Utc)
    position: str | None = column(comment="The next page of the window from `since` to `until`, in the tool's words.")
    at: datetime = column(Utc)


PULL = table_of(Pull)


class PushTarget(Stored, table=True):
    """A tool to which workers push again and again; holds no keys. The latest push stores its counts."""

    has_hidden_rows = False

    name: str
    tool: str
    address: str
    by: str
    what: tuple[Any, ...] = column(JsonTuple, default=())
    judges: tuple[Any, ...] = column(JsonTuple, default=())
    source: str | None = column(comment="Only answers of this source; NULL: all.")
    since: datetime | None = column(Utc, comment="Only what was judged or reviewed from then on; NULL: everything.")
    with_notes: bool = column(default=False)
    every_s: float = column(comment="Seconds between two pushes.")
    state: RuleState = column(one_of(RuleState, "state"), default=RuleState.ACTIVE, changes=True)
    executor_id: str | None = column(changes=True, comment="The worker that is pushing now.")
    next_at: datetime = column(Utc, changes=True)
    tried_at: datetime | None = column(Utc, changes=True)
    succeeded_at: datetime | None = column(Utc, changes=True)
    pushed: int = column(default=0, changes=True)
    refused: int = column(default=0, changes=True)
    waiting: int = column(default=0, changes=True)
    reason: str | None = column(changes=True)
    problem: str | None = column(changes=True)
    at: datetime = column(Utc)

    __table_args__ = (
        CheckConstraint("every_s > 0", name="every_s"),
        Index("uq_push_target_name", "name", unique=True, **partial("state <> 'removed'")),
    )


PUSH_TARGET = table_of(PushTarget)


class ApiKey(Stored, table=True):
    """A key with which an assistant sends traces; only the SHA-256 of its random token is stored."""

    has_hidden_rows = False

    name: str
    hash: str
    created_by: str
    scopes: tuple[Any, ...] = column(JsonTuple)
    source: str | None = column(comment="The only source that the key may send; NULL: any.")
    requests_per_second: float | None = column(comment="NULL: no limit.")
    max_body_mb: float
    created_at: datetime = column(Utc)
    expires_at: datetime | None = column(Utc)
    revoked_at: datetime | None = column(Utc, changes=True)

    __table_args__ = (
        UniqueConstraint("hash"),
        Index("uq_api_key_name", "name", unique=True, **partial("revoked_at IS NULL")),
    )


API_KEY = table_of(ApiKey)


class Trace(Stored, table=True):
    """A trace that an assistant sent; it becomes a response when its root has ended and no span follows."""

    external_id: str
    owner: str
    source: str = column(changes=True)
    state: str = column(default="waiting", changes=True)
    first_at: datetime = column(Utc)
    last_at: datetime = column(Utc, changes=True)
    root_ended: bool = column(default=False, changes=True)
    spans: int = column(default=0, changes=True, comment="Stored spans and log records.")
    response_id: int | None = column(BigId, refers="response", changes=True)
    reason: str | None = column(
        changes=True, comment="Why it made no answer, or why later spans did not change the answer."
    )
    used: tuple[Any, ...] | None = column(
        JsonTuple, changes=True, comment="Pairs of a span's id and what the answer took from it."
    )
    read_at: datetime | None = column(
        Utc, changes=True, comment="When a judge first read the answer: from then on it does not change."
    )

    __table_args__ = (
        # The owner is the source of the sender's key, "" without one: no key adds spans to a trace of another source.
        UniqueConstraint("external_id", "owner"),
        CheckConstraint("state IN ('waiting', 'made', 'none', 'forgotten')", name="state"),
        Index("ix_trace_waiting", "last_at", **partial("state = 'waiting'")),
        Index("ix_trace_source", "source", "state", "last_at"),
        Index("ix_trace_response", "response_id"),
    )


TRACE = table_of(Trace)


class Span(Stored, table=True):
    """A span or a log record of a trace, as received; deleted by `judgeboard db forget`."""

    is_free = True
    has_hidden_rows = False

    trace_id: int = column(BigId, refers="trace")
    external_id: str
    kind: str
    body: bytes = column(comment="JSON, compressed with zlib.")

    __table_args__ = (
        UniqueConstraint("trace_id", "kind", "external_id"),
        Index("ix_span_external_id", "external_id"),
        CheckConstraint("kind IN ('span', 'log')", name="kind"),
    )


SPAN = table_of(Span)


class WaitingFeedback(Stored, table=True):
    """Feedback whose answer has not come yet; moved to user_feedback when it comes."""

    is_free = True
    has_hidden_rows = False

    owner: str
    response_key: str | None = column(index=True)
    trace_key: str | None = column(index=True)
    span_key: str | None = column(index=True)
    kind: FeedbackKind = column(one_of(FeedbackKind, "kind"))
    value: float
    user: str | None
    at: datetime | None = column(Utc)
    received_at: datetime = column(Utc, index=True)
    comment: str | None


WAITING_FEEDBACK = table_of(WaitingFeedback)


class WithdrawnRow(Stored, table=True):
    """A copy of a row that was withdrawn with its import; only a row with a copy can be deleted."""

    has_hidden_rows = False

    import_batch_id: int = column(BigId, refers="import_batch", exported=False)
    table_name: str
    row_key: str
    # Ids of rows that may be withdrawn themselves.
    response_id: int | None = column(BigId, index=True, comment="The answer that the row is about.")
    pair_id: int | None = column(BigId, index=True, comment="The pair that the row is about.")
    content: JsonData | None = column(
        JsonValue, changes=True, comment="Values by column; null only after `judgeboard db forget`."
    )
    at: datetime = column(Utc)

    __table_args__ = (Index("ix_withdrawn_row_key", "table_name", "row_key"),)


WITHDRAWN_ROW = table_of(WithdrawnRow)

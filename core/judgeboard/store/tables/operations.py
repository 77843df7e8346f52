"""Tables of the running service: settings, events, jobs, judging rules, alarms, alerts, keys, traces."""

from sqlalchemy import (
    Boolean,
    CheckConstraint,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    String,
    Table,
    UniqueConstraint,
)

from judgeboard.domain import AlertCondition, FeedbackKind, MessageKind, RuleState
from judgeboard.store.tables.columns import (
    METADATA,
    BigId,
    JsonTuple,
    JsonValue,
    Utc,
    one_of,
    optional,
    partial,
    references,
    required,
    table,
)

SETTING = table(
    "setting",
    Column("key", String, nullable=False, index=True),
    Column("value", JsonValue),
    Column("by", String, nullable=False),
    Column("at", Utc, nullable=False),
    comment="Thresholds and the primary judge; the latest row of a key is in force.",
)

EVENT = table(
    "event",
    *required(String, "kind", "actor"),
    Column("at", Utc, nullable=False),
    Column("response_id", BigId, ForeignKey("response.id")),
    Column("details", JsonValue, nullable=False, default=dict),
    Index("ix_event_response", "response_id", "kind"),
    Index("ix_event_kind", "kind", "id"),
    Index("ix_event_actor", "actor", "id"),
    comment="A record of who did what, written in the transaction of the change.",
)

JOB = Table(
    "job",
    METADATA,
    Column("id", String, primary_key=True),
    *required(String, "kind", "actor"),
    *required(JsonValue, "filter", "judge", "estimate", default=dict),
    Column("run_id", BigId, ForeignKey("run.id"), index=True),
    Column("created_at", Utc, nullable=False),
    Column("cancelled_at", Utc),
    Column("failed", String, comment="Why the job could not start or go on."),
    comment="Long work that a person requested; all workers share it until its run ends. Contains no texts.",
)

WORKER = Table(
    "worker",
    METADATA,
    Column("executor_id", String, primary_key=True),
    Column("host", String, nullable=False),
    Column("pid", Integer, nullable=False),
    *required(Utc, "started_at", "heartbeat_at"),
    Column("takes_jobs", Boolean, nullable=False, comment="False for a command, which does its own run alone."),
    comment="A process that asks models; it is alive while its heartbeat is recent.",
)

JUDGING_RULE = table(
    "judging_rule",
    *required(String, "name", "by"),
    *references("judge_version_id"),
    *required(JsonValue, "filter", "judge", default=dict),
    Column("rate", Float, nullable=False, default=1.0, comment="Share of the answers that are judged."),
    Column("rates", JsonValue, nullable=False, default=dict, comment="Other shares, by query type."),
    Column("max_cost", Float, comment="Per day (UTC), in the currency of the prices."),
    Column("max_calls", Integer, comment="Per day (UTC)."),
    Column("concurrency", Integer, nullable=False),
    Column("delay_s", Float, nullable=False, default=0.0, comment="Seconds between storing and judging an answer."),
    Column("after_id", BigId, nullable=False, comment="The rule judges answers with higher ids."),
    Column("state", one_of(RuleState, "state"), nullable=False, default="active"),
    Column("problem", String, comment="Why workers cannot judge now."),
    Column("at", Utc, nullable=False),
    CheckConstraint("rate >= 0 AND rate <= 1", name="rate"),
    Index("uq_judging_rule_name", "name", unique=True, **partial("state <> 'removed'")),
    comment="Judges answers as they come; only the state and the problem change. Contains no texts.",
)

CLAIM = Table(
    "claim",
    METADATA,
    *references("judge_version_id", primary_key=True),
    Column("item_id", BigId, primary_key=True, comment="The answer, pair, judgment or case that the task is about."),
    Column("part", String, primary_key=True, comment="The order of a pair, the number of a repeat; mostly empty."),
    *references("run_id"),
    Column("executor_id", String, nullable=False),
    Index("ix_claim_executor", "executor_id"),
    Index("ix_claim_run", "run_id"),
    comment="A task that a process has taken from a run; the row is deleted when the last step of the task is stored.",
)

RUN_SHARE = Table(
    "run_share",
    METADATA,
    *references("run_id", primary_key=True),
    Column("executor_id", String, primary_key=True),  # a worker, or the process of a command
    *required(Integer, "ok", "unparsable", "refused", "error", "unpriced", default=0),
    Column("cost_micro", BigId, nullable=False, default=0),
    Column("last_at", Utc, nullable=False, comment="When the worker stored its last judgment."),
    comment="Sums over the judgments of one worker in one run, so that a budget need not sum the judgments.",
)

RATE_LIMIT = Table(
    "rate_limit",
    METADATA,
    Column("name", String, primary_key=True, comment="Host and model."),
    Column("taken_until", Float, nullable=False, comment="Seconds since 1970, by the clock of the database."),
    comment="Until when the calls of a model are given away, so that the limits per minute hold in all processes.",
)

ALARM = table(
    "alarm",
    *required(String, "measure", "direction", "query_type"),
    *references("judge_version_id", nullable=True),
    *required(Integer, "from_day", "seen_day"),  # first days of the periods of the change and of the alarm
    *required(Float, "evidence", "evidence_limit", "rate_before", "rate_after"),
    Column("by", String, nullable=False),
    Column("at", Utc, nullable=False),
    Column("explanation", String, comment="Which of the judge's rates moved with its error."),
    # One change raises one alarm, however often somebody looks.
    UniqueConstraint("measure", "direction", "query_type", "judge_version_id", "from_day"),
    comment="A change that a detector found: `measure` rose or fell (`direction`) for one query type.",
)

ALARM_ACKNOWLEDGEMENT = table(
    "alarm_acknowledgement",
    Column("alarm_id", BigId, ForeignKey("alarm.id"), nullable=False, unique=True),
    *required(String, "by", "note"),
    Column("at", Utc, nullable=False),
    comment="A lead has seen an alarm. Its detectors then start anew on the day of the change.",
)

ALERT_RULE = table(
    "alert_rule",
    *required(String, "name", "by"),
    Column("condition", one_of(AlertCondition, "condition"), nullable=False),
    Column("threshold", Float, comment="In the unit of the condition."),
    Column("period_s", Float, comment="Seconds."),
    Column("subjects", JsonTuple, nullable=False, default=list, comment="Only these sources, judges, rules or slices."),
    Column("level", JsonValue, comment="What a level rule compares with its threshold."),
    Column("destinations", JsonTuple, nullable=False, comment="Name environment variables, never contain secrets."),
    Column("remind_s", Float, comment="Seconds between reminders; NULL: none."),
    Column("quiet", String, comment="Daily hours without messages, with their time zone."),
    Column("state", one_of(RuleState, "state"), nullable=False, default="active"),
    Column("evaluated_at", Utc, comment="When a worker last took the rule to evaluate it."),
    Column("problem", String, comment="Why the rule cannot be evaluated now."),
    Column("at", Utc, nullable=False),
    CheckConstraint("(condition = 'level') = (level IS NOT NULL)", name="level"),
    Index("uq_alert_rule_name", "name", unique=True, **partial("state <> 'removed'")),
    comment="Sends messages while a condition is met. Contains no texts.",
)

ALERT_EVENT = table(
    "alert_event",
    *references("alert_rule_id"),
    *required(String, "subject", "sentence"),
    Column("value", Float),
    *required(Utc, "opened_at", "seen_at"),
    *optional(Utc, "resolved_at", "notified_at"),
    Column("messages", Integer, nullable=False, default=0, comment="Messages so far; each goes to all destinations."),
    Column("closed", Boolean, nullable=False, default=False, comment="It is resolved, and no message is left."),
    # Of one condition, one event is open, whichever worker finds it.
    Index("uq_alert_event_open", "alert_rule_id", "subject", unique=True, **partial("resolved_at IS NULL")),
    Index("ix_alert_event_unclosed", "alert_rule_id", **partial("NOT closed")),
    comment="A time during which the condition of an alert rule was met. Contains no texts.",
)

ALERT_DELIVERY = table(
    "alert_delivery",
    *references("alert_rule_id"),
    *references("alert_event_id", nullable=True),
    Column("kind", one_of(MessageKind, "kind"), nullable=False),
    *required(String, "destination", "message_id"),
    Column("number", Integer, nullable=False, default=0, comment="Counts the messages of an event."),
    Column("message", JsonValue, nullable=False, default=dict),
    Column("state", String, nullable=False, default="waiting"),
    Column("attempts", Integer, nullable=False, default=0, comment="Stored before each attempt."),
    *required(Utc, "next_at", "at"),
    Column("sent_at", Utc),
    Column("error", String),
    UniqueConstraint("alert_event_id", "number", "destination"),
    UniqueConstraint("message_id"),
    CheckConstraint("state IN ('waiting', 'sent', 'failed')", name="state"),
    Index("ix_alert_delivery_waiting", "next_at", **partial("state = 'waiting'")),
    comment="A message of an alert rule to one destination, and its attempts.",
)

PUSHED = Table(
    "pushed",
    METADATA,
    *(Column(name, String, primary_key=True) for name in ("target", "what")),
    *references("response_id", primary_key=True),
    Column("author", String, primary_key=True, comment="A judge version, a person, or gold."),
    Column("row_id", BigId, nullable=False, comment="The judgment or the review."),
    Column("sent", Boolean, nullable=False),
    Column("error", String, comment="Why the tool refused it."),
    Column("at", Utc, nullable=False),
    Index("ix_pushed_row", "what", "row_id", "target", "sent"),
    comment="What a tool got back about an answer from each author; the latest attempt counts.",
)

PULL = Table(
    "pull",
    METADATA,
    *(Column(name, String, primary_key=True) for name in ("tool", "project")),
    *optional(Utc, "done_until", "since", "until"),
    Column("position", String, comment="The next page of the window from `since` to `until`, in the tool's words."),
    Column("at", Utc, nullable=False),
    comment="How far the history of a project of a tool was pulled.",
)

PUSH_TARGET = table(
    "push_target",
    *required(String, "name", "tool", "address", "by"),
    *required(JsonTuple, "what", "judges", default=()),
    Column("source", String, comment="Only answers of this source; NULL: all."),
    Column("since", Utc, comment="Only what was judged or reviewed from then on; NULL: everything."),
    Column("with_notes", Boolean, nullable=False, default=False),
    Column("every_s", Float, nullable=False, comment="Seconds between two pushes."),
    Column("state", one_of(RuleState, "state"), nullable=False, default="active"),
    Column("executor_id", String, comment="The worker that is pushing now."),
    Column("next_at", Utc, nullable=False),
    *optional(Utc, "tried_at", "succeeded_at"),
    *required(Integer, "pushed", "refused", "waiting", default=0),
    *optional(String, "reason", "problem"),
    Column("at", Utc, nullable=False),
    CheckConstraint("every_s > 0", name="every_s"),
    Index("uq_push_target_name", "name", unique=True, **partial("state <> 'removed'")),
    comment="A tool to which workers push again and again; holds no keys. The latest push stores its counts.",
)

API_KEY = table(
    "api_key",
    *required(String, "name", "hash", "created_by"),
    Column("scopes", JsonTuple, nullable=False),
    Column("source", String, comment="The only source that the key may send; NULL: any."),
    Column("requests_per_second", Float, comment="NULL: no limit."),
    Column("max_body_mb", Float, nullable=False),
    Column("created_at", Utc, nullable=False),
    *optional(Utc, "expires_at", "revoked_at"),
    UniqueConstraint("hash"),
    Index("uq_api_key_name", "name", unique=True, **partial("revoked_at IS NULL")),
    comment="A key with which an assistant sends traces; only the SHA-256 of its random token is stored.",
)

TRACE = table(
    "trace",
    *required(String, "external_id", "owner", "source"),
    Column("state", String, nullable=False, default="waiting"),
    *required(Utc, "first_at", "last_at"),
    Column("root_ended", Boolean, nullable=False, default=False),
    Column("spans", Integer, nullable=False, default=0, comment="Stored spans and log records."),
    Column("response_id", BigId, ForeignKey("response.id")),
    Column("reason", String, comment="Why it made no answer, or why later spans did not change the answer."),
    Column("used", JsonTuple, comment="Pairs of a span's id and what the answer took from it."),
    Column("read_at", Utc, comment="When a judge first read the answer: from then on it does not change."),
    # The owner is the source of the sender's key, "" without one: no key adds spans to a trace of another source.
    UniqueConstraint("external_id", "owner"),
    CheckConstraint("state IN ('waiting', 'made', 'none', 'forgotten')", name="state"),
    Index("ix_trace_waiting", "last_at", **partial("state = 'waiting'")),
    Index("ix_trace_source", "source", "state", "last_at"),
    Index("ix_trace_response", "response_id"),
    comment="A trace that an assistant sent; it becomes a response when its root has ended and no span follows.",
)

SPAN = table(
    "span",
    *references("trace_id"),
    *required(String, "external_id", "kind"),
    Column("body", LargeBinary, nullable=False, comment="JSON, compressed with zlib."),
    UniqueConstraint("trace_id", "kind", "external_id"),
    Index("ix_span_external_id", "external_id"),
    CheckConstraint("kind IN ('span', 'log')", name="kind"),
    comment="A span or a log record of a trace, as received; deleted by `judgeboard db forget`.",
)

WAITING_FEEDBACK = table(
    "waiting_feedback",
    Column("owner", String, nullable=False),
    *(Column(name, String, index=True) for name in ("response_key", "trace_key", "span_key")),
    Column("kind", one_of(FeedbackKind, "kind"), nullable=False),
    Column("value", Float, nullable=False),
    Column("user", String),
    *optional(Utc, "at"),
    Column("received_at", Utc, nullable=False, index=True),
    comment="Feedback whose answer has not come yet; moved to user_feedback when it comes.",
)

WITHDRAWN_ROW = table(
    "withdrawn_row",
    *references("import_batch_id"),
    *required(String, "table_name", "row_key"),
    # Ids of rows that may be withdrawn themselves.
    Column("response_id", BigId, index=True, comment="The answer that the row is about."),
    Column("pair_id", BigId, index=True, comment="The pair that the row is about."),
    Column("content", JsonValue, comment="Values by column; null only after `judgeboard db forget`."),
    Column("at", Utc, nullable=False),
    Index("ix_withdrawn_row_key", "table_name", "row_key"),
    comment="A copy of a row that was withdrawn with its import; only a row with a copy can be deleted.",
)

"""Traces and the keys that send them, judging rules, alerts, and what other tools get and give."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
JSON = sa.JSON()
MOMENT = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Create the tables as this revision had them; later revisions change them.

    The table of workers is made anew: its rows describe running processes, and none runs during an
    upgrade.
    """
    op.drop_table("worker")
    op.create_table(
        "alert_rule",
        sa.Column("id", ID, nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("by", sa.String(), nullable=False),
        sa.Column("condition", sa.String(20), nullable=False),
        sa.Column("threshold", sa.Float(), comment="In the unit of the condition."),
        sa.Column("period_s", sa.Float(), comment="Seconds."),
        sa.Column("subjects", JSON, nullable=False, comment="Only these sources, judges or rules."),
        sa.Column(
            "destinations",
            JSON,
            nullable=False,
            comment="Name environment variables, never contain secrets.",
        ),
        sa.Column("remind_s", sa.Float(), comment="Seconds between reminders; NULL: none."),
        sa.Column(
            "quiet", sa.String(), comment="Daily hours without messages, with their time zone."
        ),
        sa.Column("state", sa.String(20), nullable=False),
        sa.Column(
            "evaluated_at", MOMENT, comment="When a worker last took the rule to evaluate it."
        ),
        sa.Column("problem", sa.String(), comment="Why the rule cannot be evaluated now."),
        sa.Column("at", MOMENT, nullable=False),
        sa.CheckConstraint(
            "condition IN ('alarm', 'old_flags', 'open_flags', 'waiting_answers', 'unusable_verdicts', 'spend', "
            "'silent_source', 'missing_worker')",
            name=op.f("ck_alert_rule_condition"),
        ),
        sa.CheckConstraint(
            "state IN ('active', 'paused', 'removed')", name=op.f("ck_alert_rule_state")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_alert_rule")),
        comment="Sends messages while a condition is met. Contains no texts.",
    )
    op.create_index(
        "uq_alert_rule_name",
        "alert_rule",
        ["name"],
        unique=True,
        sqlite_where=sa.text("state <> 'removed'"),
        postgresql_where=sa.text("state <> 'removed'"),
    )
    op.create_table(
        "api_key",
        sa.Column("id", ID, nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("hash", sa.String(), nullable=False),
        sa.Column("created_by", sa.String(), nullable=False),
        sa.Column("scopes", JSON, nullable=False),
        sa.Column(
            "source", sa.String(), comment="The only source that the key may send; NULL: any."
        ),
        sa.Column("requests_per_second", sa.Float(), comment="NULL: no limit."),
        sa.Column("max_body_mb", sa.Float(), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("expires_at", MOMENT),
        sa.Column("revoked_at", MOMENT),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_api_key")),
        sa.UniqueConstraint("hash", name=op.f("uq_api_key_hash")),
        sa.UniqueConstraint("name", name=op.f("uq_api_key_name")),
        comment="A key with which an assistant sends traces; only the SHA-256 of its random token is stored.",
    )
    op.create_table(
        "pull",
        sa.Column("tool", sa.String(), nullable=False),
        sa.Column("project", sa.String(), nullable=False),
        sa.Column("done_until", MOMENT),
        sa.Column("since", MOMENT),
        sa.Column("until", MOMENT),
        sa.Column(
            "position",
            sa.String(),
            comment="The next page of the window from `since` to `until`, in the tool's words.",
        ),
        sa.Column("at", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("tool", "project", name=op.f("pk_pull")),
        comment="How far the history of a project of a tool was pulled.",
    )
    op.create_table(
        "push_target",
        sa.Column("id", ID, nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("tool", sa.String(), nullable=False),
        sa.Column("address", sa.String(), nullable=False),
        sa.Column("by", sa.String(), nullable=False),
        sa.Column("what", JSON, nullable=False),
        sa.Column("judges", JSON, nullable=False),
        sa.Column("source", sa.String(), comment="Only answers of this source; NULL: all."),
        sa.Column(
            "since",
            MOMENT,
            comment="Only what was judged or reviewed from then on; NULL: everything.",
        ),
        sa.Column("with_notes", sa.Boolean(), nullable=False),
        sa.Column("every_s", sa.Float(), nullable=False, comment="Seconds between two pushes."),
        sa.Column("state", sa.String(20), nullable=False),
        sa.Column("executor_id", sa.String(), comment="The worker that is pushing now."),
        sa.Column("next_at", MOMENT, nullable=False),
        sa.Column("tried_at", MOMENT),
        sa.Column("succeeded_at", MOMENT),
        sa.Column("pushed", sa.Integer(), nullable=False),
        sa.Column("refused", sa.Integer(), nullable=False),
        sa.Column("waiting", sa.Integer(), nullable=False),
        sa.Column("reason", sa.String()),
        sa.Column("problem", sa.String()),
        sa.Column("at", MOMENT, nullable=False),
        sa.CheckConstraint("every_s > 0", name=op.f("ck_push_target_every_s")),
        sa.CheckConstraint(
            "state IN ('active', 'paused', 'removed')", name=op.f("ck_push_target_state")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_push_target")),
        comment="A tool to which workers push again and again; holds no keys. The latest push stores its counts.",
    )
    op.create_index(
        "uq_push_target_name",
        "push_target",
        ["name"],
        unique=True,
        sqlite_where=sa.text("state <> 'removed'"),
        postgresql_where=sa.text("state <> 'removed'"),
    )
    op.create_table(
        "rate_limit",
        sa.Column("name", sa.String(), nullable=False, comment="Host and model."),
        sa.Column(
            "taken_until",
            sa.Float(),
            nullable=False,
            comment="Seconds since 1970, by the clock of the database.",
        ),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_rate_limit")),
        comment="Until when the calls of a model are given away, so that the limits per minute hold in all processes.",
    )
    op.create_table(
        "waiting_feedback",
        sa.Column("id", ID, nullable=False),
        sa.Column("owner", sa.String(), nullable=False),
        sa.Column("response_key", sa.String()),
        sa.Column("trace_key", sa.String()),
        sa.Column("span_key", sa.String()),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("value", sa.Float(), nullable=False),
        sa.Column("user", sa.String()),
        sa.Column("at", MOMENT),
        sa.Column("received_at", MOMENT, nullable=False),
        sa.CheckConstraint("kind IN ('thumbs', 'stars')", name=op.f("ck_waiting_feedback_kind")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_waiting_feedback")),
        comment="Feedback whose answer has not come yet; moved to user_feedback when it comes.",
    )
    op.create_index(op.f("ix_waiting_feedback_received_at"), "waiting_feedback", ["received_at"])
    op.create_index(op.f("ix_waiting_feedback_response_key"), "waiting_feedback", ["response_key"])
    op.create_index(op.f("ix_waiting_feedback_span_key"), "waiting_feedback", ["span_key"])
    op.create_index(op.f("ix_waiting_feedback_trace_key"), "waiting_feedback", ["trace_key"])
    op.create_table(
        "worker",
        sa.Column("executor_id", sa.String(), nullable=False),
        sa.Column("host", sa.String(), nullable=False),
        sa.Column("pid", sa.Integer(), nullable=False),
        sa.Column("started_at", MOMENT, nullable=False),
        sa.Column("heartbeat_at", MOMENT, nullable=False),
        sa.Column(
            "takes_jobs",
            sa.Boolean(),
            nullable=False,
            comment="False for a command, which does its own run alone.",
        ),
        sa.PrimaryKeyConstraint("executor_id", name=op.f("pk_worker")),
        comment="A process that asks models; it is alive while its heartbeat is recent.",
    )
    op.create_table(
        "alert_event",
        sa.Column("id", ID, nullable=False),
        sa.Column("alert_rule_id", ID, nullable=False),
        sa.Column("subject", sa.String(), nullable=False),
        sa.Column("sentence", sa.String(), nullable=False),
        sa.Column("value", sa.Float()),
        sa.Column("opened_at", MOMENT, nullable=False),
        sa.Column("seen_at", MOMENT, nullable=False),
        sa.Column("resolved_at", MOMENT),
        sa.Column("notified_at", MOMENT),
        sa.Column(
            "messages",
            sa.Integer(),
            nullable=False,
            comment="Messages so far; each goes to all destinations.",
        ),
        sa.Column(
            "closed",
            sa.Boolean(),
            nullable=False,
            comment="It is resolved, and no message is left.",
        ),
        sa.ForeignKeyConstraint(
            ["alert_rule_id"],
            ["alert_rule.id"],
            name=op.f("fk_alert_event_alert_rule_id_alert_rule"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_alert_event")),
        comment="A time during which the condition of an alert rule was met. Contains no texts.",
    )
    op.create_index(
        "ix_alert_event_unclosed",
        "alert_event",
        ["alert_rule_id"],
        sqlite_where=sa.text("NOT closed"),
        postgresql_where=sa.text("NOT closed"),
    )
    op.create_index(
        "uq_alert_event_open",
        "alert_event",
        ["alert_rule_id", "subject"],
        unique=True,
        sqlite_where=sa.text("resolved_at IS NULL"),
        postgresql_where=sa.text("resolved_at IS NULL"),
    )
    op.create_table(
        "judging_rule",
        sa.Column("id", ID, nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("by", sa.String(), nullable=False),
        sa.Column("judge_version_id", ID, nullable=False),
        sa.Column("filter", JSON, nullable=False),
        sa.Column("judge", JSON, nullable=False),
        sa.Column(
            "rate", sa.Float(), nullable=False, comment="Share of the answers that are judged."
        ),
        sa.Column("rates", JSON, nullable=False, comment="Other shares, by query type."),
        sa.Column("max_cost", sa.Float(), comment="Per day (UTC), in the currency of the prices."),
        sa.Column("max_calls", sa.Integer(), comment="Per day (UTC)."),
        sa.Column("concurrency", sa.Integer(), nullable=False),
        sa.Column(
            "delay_s",
            sa.Float(),
            nullable=False,
            comment="Seconds between storing and judging an answer.",
        ),
        sa.Column(
            "after_id", ID, nullable=False, comment="The rule judges answers with higher ids."
        ),
        sa.Column("state", sa.String(20), nullable=False),
        sa.Column("problem", sa.String(), comment="Why workers cannot judge now."),
        sa.Column("at", MOMENT, nullable=False),
        sa.CheckConstraint("rate >= 0 AND rate <= 1", name=op.f("ck_judging_rule_rate")),
        sa.ForeignKeyConstraint(
            ["judge_version_id"],
            ["judge_version.id"],
            name=op.f("fk_judging_rule_judge_version_id_judge_version"),
        ),
        sa.CheckConstraint(
            "state IN ('active', 'paused', 'removed')", name=op.f("ck_judging_rule_state")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_judging_rule")),
        comment="Judges answers as they come; only the state and the problem change. Contains no texts.",
    )
    op.create_index(
        "uq_judging_rule_name",
        "judging_rule",
        ["name"],
        unique=True,
        sqlite_where=sa.text("state <> 'removed'"),
        postgresql_where=sa.text("state <> 'removed'"),
    )
    op.create_table(
        "alert_delivery",
        sa.Column("id", ID, nullable=False),
        sa.Column("alert_rule_id", ID, nullable=False),
        sa.Column("alert_event_id", ID),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("destination", sa.String(), nullable=False),
        sa.Column("message_id", sa.String(), nullable=False),
        sa.Column(
            "number", sa.Integer(), nullable=False, comment="Counts the messages of an event."
        ),
        sa.Column("message", JSON, nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False, comment="Stored before each attempt."),
        sa.Column("next_at", MOMENT, nullable=False),
        sa.Column("at", MOMENT, nullable=False),
        sa.Column("sent_at", MOMENT),
        sa.Column("error", sa.String()),
        sa.CheckConstraint(
            "state IN ('waiting', 'sent', 'failed')", name=op.f("ck_alert_delivery_state")
        ),
        sa.ForeignKeyConstraint(
            ["alert_event_id"],
            ["alert_event.id"],
            name=op.f("fk_alert_delivery_alert_event_id_alert_event"),
        ),
        sa.ForeignKeyConstraint(
            ["alert_rule_id"],
            ["alert_rule.id"],
            name=op.f("fk_alert_delivery_alert_rule_id_alert_rule"),
        ),
        sa.CheckConstraint(
            "kind IN ('opened', 'reminder', 'resolved', 'test')",
            name=op.f("ck_alert_delivery_kind"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_alert_delivery")),
        sa.UniqueConstraint(
            "alert_event_id",
            "number",
            "destination",
            name=op.f("uq_alert_delivery_alert_event_id_number_destination"),
        ),
        sa.UniqueConstraint("message_id", name=op.f("uq_alert_delivery_message_id")),
        comment="A message of an alert rule to one destination, and its attempts.",
    )
    op.create_index(
        "ix_alert_delivery_waiting",
        "alert_delivery",
        ["next_at"],
        sqlite_where=sa.text("state = 'waiting'"),
        postgresql_where=sa.text("state = 'waiting'"),
    )
    op.create_table(
        "claim",
        sa.Column("judge_version_id", ID, nullable=False),
        sa.Column(
            "item_id",
            ID,
            nullable=False,
            comment="The answer, pair, judgment or case that the task is about.",
        ),
        sa.Column(
            "part",
            sa.String(),
            nullable=False,
            comment="The order of a pair, the number of a repeat; mostly empty.",
        ),
        sa.Column("run_id", ID, nullable=False),
        sa.Column("executor_id", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(
            ["judge_version_id"],
            ["judge_version.id"],
            name=op.f("fk_claim_judge_version_id_judge_version"),
        ),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_claim_run_id_run")),
        sa.PrimaryKeyConstraint("judge_version_id", "item_id", "part", name=op.f("pk_claim")),
        comment="A task that a process has taken from a run; the row is deleted when the last step of the task is "
        "stored.",
    )
    op.create_index("ix_claim_executor", "claim", ["executor_id"])
    op.create_index("ix_claim_run", "claim", ["run_id"])
    op.create_table(
        "pushed",
        sa.Column("target", sa.String(), nullable=False),
        sa.Column("what", sa.String(), nullable=False),
        sa.Column("response_id", ID, nullable=False),
        sa.Column(
            "author", sa.String(), nullable=False, comment="A judge version, a person, or gold."
        ),
        sa.Column("row_id", ID, nullable=False, comment="The judgment or the review."),
        sa.Column("sent", sa.Boolean(), nullable=False),
        sa.Column("error", sa.String(), comment="Why the tool refused it."),
        sa.Column("at", MOMENT, nullable=False),
        sa.ForeignKeyConstraint(
            ["response_id"], ["response.id"], name=op.f("fk_pushed_response_id_response")
        ),
        sa.PrimaryKeyConstraint("target", "what", "response_id", "author", name=op.f("pk_pushed")),
        comment="What a tool got back about an answer from each author; the latest attempt counts.",
    )
    op.create_index("ix_pushed_row", "pushed", ["what", "row_id", "target", "sent"])
    op.create_table(
        "run_share",
        sa.Column("run_id", ID, nullable=False),
        sa.Column("executor_id", sa.String(), nullable=False),
        sa.Column("ok", sa.Integer(), nullable=False),
        sa.Column("unparsable", sa.Integer(), nullable=False),
        sa.Column("refused", sa.Integer(), nullable=False),
        sa.Column("error", sa.Integer(), nullable=False),
        sa.Column("unpriced", sa.Integer(), nullable=False),
        sa.Column("cost_micro", ID, nullable=False),
        sa.Column(
            "last_at", MOMENT, nullable=False, comment="When the worker stored its last judgment."
        ),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_run_share_run_id_run")),
        sa.PrimaryKeyConstraint("run_id", "executor_id", name=op.f("pk_run_share")),
        comment="Sums over the judgments of one worker in one run, so that a budget need not sum the judgments.",
    )
    op.create_table(
        "trace",
        sa.Column("id", ID, nullable=False),
        sa.Column("external_id", sa.String(), nullable=False),
        sa.Column("owner", sa.String(), nullable=False),
        sa.Column("source", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("first_at", MOMENT, nullable=False),
        sa.Column("last_at", MOMENT, nullable=False),
        sa.Column("root_ended", sa.Boolean(), nullable=False),
        sa.Column("spans", sa.Integer(), nullable=False, comment="Stored spans and log records."),
        sa.Column("response_id", ID),
        sa.Column(
            "reason",
            sa.String(),
            comment="Why it made no answer, or why later spans did not change the answer.",
        ),
        sa.Column("used", JSON, comment="Pairs of a span's id and what the answer took from it."),
        sa.Column(
            "read_at",
            MOMENT,
            comment="When a judge first read the answer: from then on it does not change.",
        ),
        sa.CheckConstraint(
            "state IN ('waiting', 'made', 'none', 'forgotten')", name=op.f("ck_trace_state")
        ),
        sa.ForeignKeyConstraint(
            ["response_id"], ["response.id"], name=op.f("fk_trace_response_id_response")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_trace")),
        sa.UniqueConstraint("external_id", "owner", name=op.f("uq_trace_external_id_owner")),
        comment="A trace that an assistant sent; it becomes a response when its root has ended and no span follows.",
    )
    op.create_index("ix_trace_response", "trace", ["response_id"])
    op.create_index("ix_trace_source", "trace", ["source", "state", "last_at"])
    op.create_index(
        "ix_trace_waiting",
        "trace",
        ["last_at"],
        sqlite_where=sa.text("state = 'waiting'"),
        postgresql_where=sa.text("state = 'waiting'"),
    )
    op.create_table(
        "span",
        sa.Column("id", ID, nullable=False),
        sa.Column("trace_id", ID, nullable=False),
        sa.Column("external_id", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False, comment="JSON, compressed with zlib."),
        sa.CheckConstraint("kind IN ('span', 'log')", name=op.f("ck_span_kind")),
        sa.ForeignKeyConstraint(["trace_id"], ["trace.id"], name=op.f("fk_span_trace_id_trace")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_span")),
        sa.UniqueConstraint(
            "trace_id", "kind", "external_id", name=op.f("uq_span_trace_id_kind_external_id")
        ),
        comment="A span or a log record of a trace, as received; deleted by `judgeboard forget`.",
    )
    op.create_index("ix_span_external_id", "span", ["external_id"])

"""The database tables and their columns; `triggers` defines which rows may change.

The tables of methods are in their folders; they are loaded with these, so that `METADATA` always has all tables.
Domain objects are validated before they are stored; the CHECK constraints repeat the ranges.
"""

from judgeboard.registry.methods import load_method_tables
from judgeboard.store.tables.answers import (
    ANSWER_FACT,
    CURRENT,
    FEEDBACK,
    FLAG,
    IMPORT_BATCH,
    JUDGMENT,
    JUDGMENT_SCORE,
    PAIR,
    RESPONSE,
    RUN,
    VERSION,
)
from judgeboard.store.tables.columns import METADATA, BigId, JsonTuple, JsonValue, Step, Utc, row_of
from judgeboard.store.tables.operations import (
    ALARM,
    ALARM_ACKNOWLEDGEMENT,
    ALERT_DELIVERY,
    ALERT_EVENT,
    ALERT_RULE,
    API_KEY,
    CHANGE,
    EVENT,
    JOB,
    JUDGING_RULE,
    PULL,
    PUSH_TARGET,
    PUSHED,
    RATE_LIMIT,
    RUN_SHARE,
    SETTING,
    SPAN,
    TRACE,
    WAITING_FEEDBACK,
    WITHDRAWN_ROW,
    WORKER,
)
from judgeboard.store.tables.queues import (
    DRAFT,
    LEASE,
    QUEUE,
    QUEUE_ASSIGNMENT,
    QUEUE_ITEM,
    QUEUE_ITEM_FLAG,
    SKIP,
    TAKEN_LEASE,
)
from judgeboard.store.tables.reviews import (
    COMMENT,
    FAILURE_MODE,
    ISSUE,
    LABEL_SCHEMA,
    PREFERENCE_SCORE,
    REVIEW,
    REVIEW_FAILURE_MODE,
    REVIEW_FLAG,
    REVIEW_SCORE,
    REVIEWER,
)
from judgeboard.store.tables.steps import (
    ANCHOR_JUDGMENT,
    COMPARISON,
    COMPARISON_SCORE,
    GENERATION,
    JUDGMENT_REVIEW,
)

load_method_tables()

STEP_TABLES = tuple(
    table for table in METADATA.tables.values() if issubclass(row_of(table), Step) and table is not JUDGMENT
)
"""The tables of requests to models, except ``judgment``."""
BEGINNINGS = tuple(
    (table, column) for table in METADATA.tables.values() if (column := row_of(table).began_with) is not None
)
"""The tables of the answers with which calls to generators began, each with its column of these answers."""

__all__ = [
    "ALARM",
    "ALARM_ACKNOWLEDGEMENT",
    "ALERT_DELIVERY",
    "ALERT_EVENT",
    "ALERT_RULE",
    "ANCHOR_JUDGMENT",
    "ANSWER_FACT",
    "API_KEY",
    "BEGINNINGS",
    "CHANGE",
    "COMMENT",
    "COMPARISON",
    "COMPARISON_SCORE",
    "CURRENT",
    "DRAFT",
    "EVENT",
    "FAILURE_MODE",
    "FEEDBACK",
    "FLAG",
    "GENERATION",
    "IMPORT_BATCH",
    "ISSUE",
    "JOB",
    "JUDGING_RULE",
    "JUDGMENT",
    "JUDGMENT_REVIEW",
    "JUDGMENT_SCORE",
    "LABEL_SCHEMA",
    "LEASE",
    "METADATA",
    "PAIR",
    "PREFERENCE_SCORE",
    "PULL",
    "PUSHED",
    "PUSH_TARGET",
    "QUEUE",
    "QUEUE_ASSIGNMENT",
    "QUEUE_ITEM",
    "QUEUE_ITEM_FLAG",
    "RATE_LIMIT",
    "RESPONSE",
    "REVIEW",
    "REVIEWER",
    "REVIEW_FAILURE_MODE",
    "REVIEW_FLAG",
    "REVIEW_SCORE",
    "RUN",
    "RUN_SHARE",
    "SETTING",
    "SKIP",
    "SPAN",
    "STEP_TABLES",
    "TAKEN_LEASE",
    "TRACE",
    "VERSION",
    "WAITING_FEEDBACK",
    "WITHDRAWN_ROW",
    "WORKER",
    "BigId",
    "JsonTuple",
    "JsonValue",
    "Utc",
]

"""The database tables with all columns; `triggers` defines which rows may change.

The tables of methods are in the folders of the methods, and are loaded together with this module,
so that `METADATA` always has all tables. Domain objects are validated before storing; the CHECK
constraints repeat the ranges.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from sqlalchemy import CheckConstraint, Index, UniqueConstraint, text
from sqlmodel._compat import SQLModelConfig

from judgeboard.domain import (
    AlertCondition,
    Decision,
    FeedbackKind,
    FlagState,
    IssueState,
    ItemState,
    Label,
    MessageKind,
    Preference,
    QueueState,
    ResponseKind,
    Role,
    RuleState,
    RunState,
    Shown,
    Stage,
    WhyDiffers,
)
from judgeboard.registry.methods import load_method_tables
from judgeboard.settings.sections import QueueOptions
from judgeboard.store.clock import utc_now
from judgeboard.store.columns import METADATA as METADATA  # noqa: PLC0414 - for modules that need all tables
from judgeboard.store.columns import (
    OF_ANSWER_OR_PAIR,
    OF_PAIR,
    BigId,
    JsonData,
    JsonRecord,
    JsonValue,
    Row,
    Step,
    Stored,
    column,
    covering_index,
    partial,
    row_of,
    score_ranges,
    step_indexes,
    table_of,
)
from judgeboard.store.filters import LevelMeasure, RowFilter

if TYPE_CHECKING:
    from judgeboard.formats.label_schema import LabelSchema

# Tables of answers and of what is known before a review: feedback, judgments, flags and pairs.


class ImportBatch(Stored, table=True, has_hidden_rows=False):
    """One import of one file; before the end, and after a break-off, `counts` has only the new rows."""

    file: str
    importer: str
    kind: str
    actor: str
    sha256: str | None = column(changes=True)
    at: datetime
    counts: dict[str, Any] | None = column(changes=True)
    finished_at: datetime | None = column(changes=True)
    undone_at: datetime | None = column(changes=True)


IMPORT_BATCH = table_of(ImportBatch)


class Response(Stored, table=True, of_responses="OLD.id"):
    """A question with passages and answer; texts are null only after `judgeboard db forget`."""

    kind: ResponseKind = column(default=ResponseKind.LOG)
    derived_from: int | None = column(refers="response")
    source: str
    external_id: str
    query_type: str = column(completed=True)
    content_hash: str = column(completed=True)
    query: str | None = column(forgotten=True, completed=True)
    answer: str | None = column(forgotten=True, completed=True)
    generator_model: str | None = column(completed=True)
    reference: str | None = column(forgotten=True, completed=True)
    passages: tuple[Any, ...] | None = column(forgotten=True, completed=True)
    generator_cost: float | None = column(completed=True, comment="In the currency of the log.")
    messages: JsonData | None = column(JsonValue, forgotten=True, completed=True)
    asked_at: datetime | None = column(completed=True)
    asked_day: int | None = column(completed=True, comment="Days since 1970-01-01, UTC.")
    extra: JsonData = column(
        JsonValue,
        default_factory=dict,
        forgotten=True,
        completed=True,
        comment="Metadata of the log.",
    )
    evidence_group: int = column(
        BigId, completed=True, comment="Equal for equal query and passages."
    )
    import_batch_id: int | None = column(refers="import_batch", exported=False)
    imported_at: datetime

    __table_args__ = (
        UniqueConstraint("source", "external_id"),
        Index("ix_response_external_id", "external_id"),
        # A run reads the log by id: without this index SQLite sorts all responses of a kind for
        # every page.
        Index("ix_response_kind", "kind", "id"),
        # For the orders and the filters of the Responses page: a page is found from the index
        # alone. Responses without a time come first here, and last on the page, because the page
        # reads the index backwards.
        covering_index(
            "ix_response_asked",
            ("kind", text("coalesce(asked_day, -1)"), "id"),
            ("query_type", "source", "generator_model", "asked_day"),
        ),
        Index("ix_response_model", "generator_model"),
        # Most responses are not derived from another.
        Index(
            "ix_response_derived_from",
            "derived_from",
            "kind",
            **partial("derived_from IS NOT NULL"),
        ),
        # The daily share of flagged answers needs the number of all answers. This number is counted
        # from this index alone.
        Index("ix_response_share", "kind", "query_type", "asked_day"),
    )


RESPONSE = table_of(Response)


class AnswerFact(Row, table=True, is_free=True):
    """Facts that depend on the texts of an answer alone, by one version of the rules; null for a forgotten answer."""

    response_id: int = column(refers="response", primary_key=True)
    rule_version: int
    is_right_refusal: bool | None = column(
        forgotten=True, comment="It only declines, and no passage fits its question."
    )
    length: int | None = column(forgotten=True, comment="In characters.")

    __table_args__ = (
        Index("ix_answer_fact_right_refusal", "response_id", **partial("is_right_refusal")),
    )


ANSWER_FACT = table_of(AnswerFact)


class UserFeedback(Stored, table=True, of_responses="OLD.response_id"):
    """Feedback of the assistant's user on a response, on the original scale."""

    response_id: int = column(refers="response", index=True)
    kind: FeedbackKind
    value: float
    user: str | None
    at: datetime | None
    import_batch_id: int | None = column(refers="import_batch", exported=False)
    imported_at: datetime
    comment: str | None = column(forgotten=True)

    __table_args__ = (
        CheckConstraint(
            "(kind = 'thumbs' AND value IN (0, 1)) OR (kind = 'stars' AND value >= 1 AND value <= 5)",
            name="value",
        ),
    )


FEEDBACK = table_of(UserFeedback)


def version_title(name: str, number: int) -> str:
    """Return the title of a judge version: "rag v3"."""
    return f"{name} v{number}"


class StoredVersion(Stored, table=True, has_hidden_rows=False, is_shared=True):
    """A judge with an exact configuration; `number` counts the versions of a name (rag v3)."""

    __tablename__ = "judge_version"  # JudgeVersion is a version that need not be stored
    name: str
    kind: str
    scale: str
    fingerprint: str
    number: int
    model: str | None = column(default=None)
    prompt: str | None = column(default=None)
    prompt_hash: str | None = column(default=None)
    params: dict[str, Any] = column(default_factory=dict)
    created_at: datetime

    __table_args__ = (
        UniqueConstraint("fingerprint"),
        UniqueConstraint("name", "number"),
    )

    @property
    def title(self) -> str:
        """The title: "rag v3"."""
        return version_title(self.name, self.number)


VERSION = table_of(StoredVersion)


class Run(Stored, table=True, has_hidden_rows=False):
    """A batch of judging; `filter` stores the selection, so that a stopped run can continue."""

    kind: str = column(comment="judge, rejudge, import or the name of a method.")
    judge_version_id: int | None = column(refers="judge_version", index=True)
    filter: dict[str, Any] = column(default_factory=dict)
    actor: str
    endpoint_host: str | None = column(default=None, changes=True)
    selected: int | None = column(default=None, changes=True)
    started_at: datetime
    finished_at: datetime | None = column(default=None, changes=True)
    state: RunState = column(default=RunState.RUNNING, changes=True)
    why_stopped: str | None = column(default=None, changes=True)
    provider: str | None = column(default=None, changes=True)
    base_url: str | None = column(
        default=None,
        changes=True,
        comment="Address of the judge's endpoint, without user, password and query.",
    )
    import_batch_id: int | None = column(refers="import_batch", default=None, exported=False)


RUN = table_of(Run)


class Judgment(Step, table=True, is_recorded=True, of_responses="OLD.response_id"):
    """A verdict of one judge version on one response."""

    response_id: int = column(refers="response", reads=True)
    judge_version_id: int = column(refers="judge_version")
    ask: int = column(default=0)
    repeat: int = column(default=0)
    groundedness: float | None
    quality: int | None
    label: Label | None
    reasoning: str | None = column(forgotten=True)
    claims: JsonData | None = column(JsonValue, forgotten=True)

    __table_args__ = (
        *step_indexes("judgment", "response_id"),
        UniqueConstraint("response_id", "judge_version_id", "ask", "repeat"),
        *score_ranges(),
        CheckConstraint(
            "status = 'ok' OR (groundedness IS NULL AND quality IS NULL AND label IS NULL)",
            name="only_ok_has_verdict",
        ),
        # Recent judgments of a judge, with the cost.
        Index("ix_judgment_created", "judge_version_id", "created_at", "status", "cost_micro"),
        Index(
            "ix_judgment_not_ok", "judge_version_id", "status", "id", **partial("status <> 'ok'")
        ),
        # The models that a provider reported, with the first and last judgment of each model.
        Index(
            "ix_judgment_model",
            *("judge_version_id", "model_reported", "created_at"),
            **partial("model_reported IS NOT NULL"),
        ),
    )


JUDGMENT = table_of(Judgment)


class JudgmentScore(
    Stored,
    table=True,
    of_responses="SELECT response_id FROM judgment WHERE judgment.id = OLD.judgment_id",
):
    """A score of a judgment on a dimension, with the scale."""

    judgment_id: int = column(refers="judgment", index=True)
    dimension: str
    scale: str
    value: float | None
    reasoning: str | None = column(forgotten=True)


JUDGMENT_SCORE = table_of(JudgmentScore)


class CurrentJudgment(Row, table=True, is_free=True):
    """The latest usable judgment of each judge version on each response, with columns for filters."""

    judge_version_id: int = column(refers="judge_version", primary_key=True)
    response_id: int = column(refers="response", primary_key=True)
    judgment_id: int = column(refers="judgment")
    judge_kind: str
    judge_name: str
    is_current: bool
    response_kind: str
    query_type: str
    source: str
    asked_day: int | None
    evidence_group: int = column(BigId)
    groundedness: float | None
    quality: int | None
    label: str | None
    user_quality: float | None = column(comment="The latest user feedback on the scale 1 to 4.")

    __table_args__ = (
        Index(
            "uq_current_judgment_name",
            "response_id",
            "judge_name",
            "judge_kind",
            unique=True,
            **partial("is_current"),
        ),
        # Trends read this index alone. The index includes the columns of the condition, because
        # SQLite would otherwise look up these columns in the table.
        covering_index(
            "ix_current_judgment_trend",
            ("judge_name", "query_type", "asked_day"),
            (
                "judge_version_id",
                "groundedness",
                "quality",
                "response_id",
                "is_current",
                "response_kind",
            ),
            where="is_current AND response_kind = 'log'",
        ),
        # Trends of a version and rates of all answers of a version read this index alone.
        covering_index(
            "ix_current_judgment_version_trend",
            ("judge_version_id", "query_type", "asked_day"),
            ("groundedness", "quality", "response_kind", "response_id", "evidence_group", "label"),
            where="response_kind = 'log'",
        ),
        # Scatter plots of two scores, and filters by a judge's score.
        covering_index(
            "ix_current_judgment_score",
            ("judge_name", "groundedness", "response_id"),
            (
                "quality",
                "user_quality",
                "label",
                "query_type",
                "source",
                "asked_day",
                "is_current",
                "response_kind",
            ),
            where="is_current AND response_kind = 'log'",
        ),
        # Agreement reads all versions' verdicts on graded answers from this index alone.
        covering_index(
            "ix_current_judgment_response",
            ("response_id", "judge_version_id"),
            (
                "groundedness",
                "quality",
                "label",
                "response_kind",
                "query_type",
                "asked_day",
                "evidence_group",
            ),
        ),
        # Finds the row of a judgment that is withdrawn.
        Index("ix_current_judgment_judgment", "judgment_id"),
    )


CURRENT = table_of(CurrentJudgment)


# The queue's indexes contain the columns of the filters, so that table rows are read only for the
# 50 rows of a page. The indexes contain ``state`` too, because SQLite looks up even the columns of
# an index's own condition.
_OF_OPEN_FLAG = (
    *("rule", "query_type", "source", "judge_name"),
    *("groundedness", "quality", "asked_day", "response_id", "leads", "state"),
)


class Flag(Stored, table=True):
    """A reason to look at a response; only two columns change: `state`, and `leads` (the worst open flag)."""

    response_id: int = column(refers="response", reads=True)
    query_type: str
    source: str
    rule: str
    raise_key: str
    asked_day: int | None
    judge_name: str | None
    groundedness: float | None = column(comment="Of the primary judge, when the flag was raised.")
    quality: int | None
    judgment_id: int | None = column(refers="judgment")
    auto_score: float | None
    params: JsonData = column(JsonValue, default_factory=dict)
    details: JsonData = column(JsonValue, default_factory=dict)
    severity: float
    inclusion_probability: float = column(default=1.0)
    decided_before_id: int | None = column(refers="flag")
    state: FlagState = column(default=FlagState.OPEN, changes=True)
    leads: bool = column(default=True, changes=True, comment="The worst open flag of its answer.")
    created_at: datetime

    __table_args__ = (
        CheckConstraint("severity >= 0 AND severity <= 1", name="severity"),
        Index(
            "uq_flag_raise",
            "response_id",
            "raise_key",
            unique=True,
            **partial("state <> 'superseded'"),
        ),
        # The queue reads open flags in one of these orders. The engines sort NULL differently, so
        # coalesce sorts missing values last in both.
        *(
            covering_index(f"ix_flag_open_{name}", order, _OF_OPEN_FLAG, where="state = 'open'")
            for name, order in (
                ("severity", (text("severity DESC"), text("coalesce(asked_day, 9999999)"), "id")),
                ("groundedness", (text("coalesce(groundedness, 2)"), "id", "severity")),
                ("asked", (text("coalesce(asked_day, 9999999)"), "id", "severity")),
                ("newest", (text("id DESC"), "severity")),
            )
        ),
        Index(
            "ix_flag_open_rule", "rule", "query_type", "leads", "state", **partial("state = 'open'")
        ),
        Index("ix_flag_created", "created_at", "state"),
        covering_index(
            "ix_flag_share",
            ("query_type", "asked_day"),
            ("response_id", "state", "rule"),
            where="state <> 'superseded' AND rule <> 'random_sample'",
        ),
        Index("ix_flag_rule_state", "rule", "state", "query_type"),
        Index("ix_flag_response", "response_id", "state"),
        Index("ix_flag_judgment", "judgment_id", **partial("judgment_id IS NOT NULL")),
        Index(
            "ix_flag_decided_before",
            "decided_before_id",
            **partial("decided_before_id IS NOT NULL"),
        ),
    )


FLAG = table_of(Flag)


class Pair(
    Stored, table=True, of_responses="SELECT OLD.response_a_id UNION ALL SELECT OLD.response_b_id"
):
    """Two answers to one question; a side is null where only samples of answers were recorded."""

    source: str
    external_id: str
    query_type: str
    content_hash: str
    question: str | None = column(forgotten=True, comment="Null only after `judgeboard db forget`.")
    options: tuple[Any, ...] | None = column(forgotten=True)
    reference: str | None = column(forgotten=True)
    response_a_id: int | None = column(refers="response", reads=True)
    response_b_id: int | None = column(refers="response", reads=True)
    gold: Preference | None
    extra: JsonData = column(JsonValue, default_factory=dict, forgotten=True)
    import_batch_id: int | None = column(refers="import_batch", exported=False)
    imported_at: datetime

    __table_args__ = (
        UniqueConstraint("source", "external_id"),
        Index("ix_pair_response_a", "response_a_id"),
        Index("ix_pair_response_b", "response_b_id"),
    )


PAIR = table_of(Pair)


# Tables of review queues, of queue items, and of the leases of reviewers.

_UNFINISHED = "repeat_for IS NULL AND state IN ('open', 'conflict')"


class Queue(Stored, QueueOptions, table=True, has_hidden_rows=False):
    """A named queue with options; only the state changes. Open flags outside queues have no row here."""

    # A row is created without pydantic's checks: `new_queue` checks the options, and a queue of an
    # earlier release stays readable.
    model_config = SQLModelConfig(frozen=False, extra="ignore")
    name: str
    filter: RowFilter = column(default_factory=RowFilter)
    state: QueueState = column(default=QueueState.OPEN, changes=True)
    drawn_from: int | None = column(
        default=None, comment="Number of answers or pairs that matched a queue with a limit."
    )
    plan: dict[str, Any] | None = column(
        default=None,
        comment="The strata of a planned queue: answers, labelled, drawn, inclusion probability.",
    )
    label_schema_id: int | None = column(
        refers="label_schema", default=None, comment="Replaces the grades."
    )
    created_by: str = column(default="", comment="Empty until the queue is stored.")
    created_at: datetime = column(default=None)

    __table_args__ = (
        UniqueConstraint("name"),
        CheckConstraint("subject IN ('answers', 'pairs')", name="subject"),
        CheckConstraint("reviews_needed >= 1", name="reviews_needed"),
        CheckConstraint("max_items IS NULL OR max_items >= 1", name="max_items"),
        CheckConstraint("flagged_only OR training OR max_items IS NOT NULL", name="flagged_only"),
        CheckConstraint("overlap >= 0 AND overlap <= 1", name="overlap"),
        CheckConstraint("sampling_rate >= 0 AND sampling_rate < 1", name="sampling_rate"),
        CheckConstraint("repeat_rate >= 0 AND repeat_rate < 1", name="repeat_rate"),
        CheckConstraint("test_rate >= 0 AND test_rate < 1", name="test_rate"),
    )

    @property
    def blind(self) -> bool:
        """Whether the queue hides anything from the reviewer of an item."""
        return self.blind_people or self.blind_judge

    @property
    def asked(self) -> tuple[str, ...]:
        """The grades that a review can give, the required ones first."""
        return (*self.grades, *self.optional_grades)

    @property
    def of_difference(self) -> bool:
        """Whether a plan filled the queue with answers on which two judge versions differ: no sample of all answers."""
        return bool(self.plan and self.plan.get("other_judge"))

    @property
    def of_rate(self) -> bool:
        """Whether a plan for the share of bad answers filled the queue."""
        return self.plan is not None and not self.of_difference


QUEUE = table_of(Queue)


class QueueAssignment(Row, table=True, is_free=True, has_hidden_rows=False):
    """A person to whom a queue is assigned. A queue without such a person is open to everybody."""

    queue_id: int = column(refers="queue", primary_key=True)
    reviewer_id: int = column(refers="reviewer", primary_key=True)

    __table_args__ = (Index("ix_queue_assignment_reviewer", "reviewer_id", "queue_id"),)


QUEUE_ASSIGNMENT = table_of(QueueAssignment)


class QueueItem(Stored, table=True, has_hidden_rows=False):
    """An answer or a pair in a queue. A flag that is raised after the item is finished adds another item."""

    queue_id: int = column(refers="queue")
    response_id: int | None = column(refers="response", reads=True)
    pair_id: int | None = column(refers="pair")
    reviews_needed: int = column(default=1, changes=True)
    position: float = column(changes=True, comment="Lower comes first.")
    sampled: bool = column(default=False, comment="Drawn at random.")
    stratum: int | None = column(comment="Position of its stratum in the plan of the queue.")
    repeat_for: int | None = column(
        refers="reviewer", comment="A repeat for one person; it decides nothing."
    )
    test: bool = column(default=False, comment="The item of `repeat_for` has a gold label.")
    state: ItemState = column(default=ItemState.OPEN, changes=True)
    joined_at: datetime
    bulk: str | None = column(
        exported=False,
        comment="The bulk action that added the item, whatever the filter of the queue.",
    )

    __table_args__ = (
        CheckConstraint("(response_id IS NULL) <> (pair_id IS NULL)", name="one_subject"),
        CheckConstraint("reviews_needed >= 1", name="reviews_needed"),
        Index(
            "uq_queue_item_response",
            "queue_id",
            "response_id",
            unique=True,
            **partial(f"response_id IS NOT NULL AND {_UNFINISHED}"),
        ),
        Index(
            "uq_queue_item_pair",
            "queue_id",
            "pair_id",
            unique=True,
            **partial(f"pair_id IS NOT NULL AND {_UNFINISHED}"),
        ),
        Index("ix_queue_item_state", "queue_id", "state", "sampled"),
        Index("ix_queue_item_place", "queue_id", "position", "id"),
        # Finds by answer what is hidden from a person, and which items keep a flag open.
        Index("ix_queue_item_of_response", "response_id", "state"),
        Index("ix_queue_item_of_pair", "pair_id", "state"),
        Index("ix_queue_item_bulk", "bulk", "id", **partial("bulk IS NOT NULL")),
    )


QUEUE_ITEM = table_of(QueueItem)


class QueueItemFlag(Row, table=True, is_free=True, has_hidden_rows=False):
    """A flag for which an answer is in a queue: the item keeps the flag open and decides the flag."""

    queue_item_id: int = column(refers="queue_item", primary_key=True, exported=False)
    flag_id: int = column(refers="flag", primary_key=True)

    __table_args__ = (Index("ix_queue_item_flag_flag", "flag_id", "queue_item_id"),)


QUEUE_ITEM_FLAG = table_of(QueueItemFlag)


class Lease(Stored, table=True, is_free=True, has_hidden_rows=False):
    """A slot for one review of an item: free, leased until a time, or done; added with the item."""

    queue_id: int = column(refers="queue")
    queue_item_id: int = column(refers="queue_item", exported=False)
    slot: int
    position: float
    repeat_for: int | None = column(refers="reviewer")
    reviewer_id: int | None = column(refers="reviewer")
    review_id: int | None = column(refers="review")
    token: str | None
    taken_at: datetime | None
    until: datetime | None
    done: bool = column(default=False)
    revealed_at: datetime | None = column(comment="When the reviewer saw what had been hidden.")

    __table_args__ = (
        UniqueConstraint("queue_item_id", "slot"),
        UniqueConstraint("queue_item_id", "reviewer_id"),
        UniqueConstraint("token"),
        Index(
            "ix_lease_waiting",
            "queue_id",
            "position",
            "queue_item_id",
            "slot",
            **partial("NOT done"),
        ),
        Index("ix_lease_reviewer", "reviewer_id", "queue_id", "done"),
    )


LEASE = table_of(Lease)


class TakenLease(Stored, table=True, has_hidden_rows=False):
    """Who took which lease, and when: a lease that ended, or went to somebody else, no longer names the reviewer."""

    queue_item_id: int = column(refers="queue_item", exported=False)
    reviewer_id: int = column(refers="reviewer")
    token: str
    at: datetime

    __table_args__ = (Index("ix_taken_lease_item", "queue_item_id", "reviewer_id"),)


TAKEN_LEASE = table_of(TakenLease)


class Skip(Stored, table=True, has_hidden_rows=False):
    """An item that somebody skipped, and why. The person gets the item again only on request."""

    queue_item_id: int = column(refers="queue_item", exported=False)
    reviewer_id: int = column(refers="reviewer")
    reason: str | None
    at: datetime
    undone_at: datetime | None = column(
        changes=True, comment="Set when its person undid the skip, which then counts nowhere."
    )

    __table_args__ = (Index("ix_skip_item", "queue_item_id", "reviewer_id"),)


SKIP = table_of(Skip)


class Draft(Stored, table=True, is_free=True, has_hidden_rows=False):
    """Grades and texts that somebody has not stored yet; deleted when the review is stored, never exported."""

    reviewer_id: int = column(refers="reviewer")
    response_id: int | None = column(refers="response")
    pair_id: int | None = column(refers="pair")
    content: JsonData = column(JsonValue)
    at: datetime

    __table_args__ = (
        UniqueConstraint("response_id", "reviewer_id"),
        UniqueConstraint("pair_id", "reviewer_id"),
        CheckConstraint("(response_id IS NULL) <> (pair_id IS NULL)", name="one_subject"),
    )


DRAFT = table_of(Draft)


# Tables of reviewers and reviews, and of what leads collect from reviews: failure modes, issues,
# comments.


class Reviewer(Stored, table=True, is_free=True, has_hidden_rows=False, is_shared=True):
    """A person, identified by the name and the origin of the name, such as cli, import or oidc.

    Origin and role together decide the person's permissions (`people.permissions.role_of`).
    """

    origin: str
    name: str
    role: Role = column(default=Role.REVIEWER)
    created_at: datetime = column(default_factory=utc_now)
    same_as: int | None = column(
        refers="reviewer",
        default=None,
        comment="The person under whom later reviews of this user or annotator are stored.",
    )
    notified_until: int | None = column(
        BigId, default=None, comment="The id of the last event that the person has read."
    )
    implied_labels: bool | None = column(
        default=None, comment="Whether their decisions imply labels; NULL: not asked yet."
    )
    sources: tuple[Any, ...] | None = column(
        default=None, comment="The only sources that the person may see; NULL: all."
    )

    __table_args__ = (UniqueConstraint("origin", "name"),)


REVIEWER = table_of(Reviewer)


class SchemaVersion(Stored, table=True, has_hidden_rows=False, is_shared=True):
    """A version of a label schema; `number` counts the versions of a name (support v2)."""

    __tablename__ = "label_schema"
    name: str
    hash: str
    created_by: str
    number: int
    fields: JsonData = column(JsonValue)
    created_at: datetime

    __table_args__ = (
        UniqueConstraint("hash"),
        UniqueConstraint("name", "number"),
    )

    @property
    def title(self) -> str:
        """The title: "support v2"."""
        return f"{self.name} v{self.number}"

    @property
    def content(self) -> "LabelSchema":
        """The label schema with all fields."""
        from judgeboard.formats.label_schema import parsed_schema  # few databases have schemas

        return parsed_schema(self.name, json.dumps(self.fields))


LABEL_SCHEMA = table_of(SchemaVersion)


class Review(Stored, table=True, of_responses=OF_ANSWER_OR_PAIR):
    """A review of a response or of a pair; undo, edit and re-grade are new rows that replace a row."""

    response_id: int | None = column(refers="response", reads=True)
    queue_item_id: int | None = column(refers="queue_item", exported=False)
    import_batch_id: int | None = column(refers="import_batch", exported=False)
    pair_id: int | None = column(refers="pair")
    label_schema_id: int | None = column(refers="label_schema")
    judgment_seen_id: int | None = column(refers="judgment")
    reviewer_id: int = column(refers="reviewer")
    stage: Stage | None
    decision: Decision | None
    label: Label | None
    label_implied: bool = column(default=False, comment="The decision implies the label.")
    groundedness: float | None
    quality: int | None
    spans: JsonData | None = column(JsonValue, forgotten=True)
    note: str | None = column(forgotten=True)
    corrected_answer: str | None = column(forgotten=True)
    seconds: float | None
    replaces: int | None = column(refers="review")
    request_key: str = column(exported=False)
    bulk: str | None = column(
        exported=False, comment="The bulk action of which the review is a part."
    )
    at: datetime
    comparison_seen_id: int | None = column(refers="comparison")
    shown: Shown | None = column(comment="Order in which the answers of a pair were shown.")
    seen: JsonData | None = column(
        JsonValue, comment="What the reviewer saw of others: judge, people, ..."
    )
    why_differs: WhyDiffers | None
    claim_marks: JsonData | None = column(
        JsonValue,
        forgotten=True,
        comment="List of {status, text, start, end, judgment_id, number}.",
    )
    choices: JsonData | None = column(
        JsonValue, comment="Values of a label schema by field, without scales, spans and texts."
    )
    texts: JsonData | None = column(
        JsonValue, forgotten=True, comment="Texts of a label schema by field."
    )
    in_suite: bool | None = column(
        comment="Whether the corrected answer becomes a case of a suite."
    )

    __table_args__ = (
        UniqueConstraint("request_key"),
        CheckConstraint("(response_id IS NULL) <> (pair_id IS NULL)", name="one_subject"),
        *score_ranges(),
        Index("ix_review_response", "response_id", "reviewer_id"),
        Index("ix_review_pair", "pair_id", "reviewer_id", **partial("pair_id IS NOT NULL")),
        Index("ix_review_reviewer", "reviewer_id", "id"),
        Index("ix_review_queue_item", "queue_item_id", **partial("queue_item_id IS NOT NULL")),
        Index("uq_review_replaces", "replaces", unique=True, **partial("replaces IS NOT NULL")),
        Index("ix_review_at", "at"),
        Index(
            "ix_review_judgment_seen", "judgment_seen_id", **partial("judgment_seen_id IS NOT NULL")
        ),
        Index("ix_review_bulk", "bulk", "id", **partial("bulk IS NOT NULL")),
        Index("ix_review_gold", "response_id", "id", **partial("stage = 'adjudication'")),
        Index(
            "ix_review_label_schema", "label_schema_id", **partial("label_schema_id IS NOT NULL")
        ),
        Index("ix_review_in_suite", "id", **partial("in_suite IS NOT NULL")),
        # Answers that a reviewer was unsure about, read with every page of the queue.
        Index(
            "ix_review_unsure", "reviewer_id", "id", "decision", **partial("decision = 'unsure'")
        ),
    )


REVIEW = table_of(Review)


class ReviewFlag(Row, table=True):
    """A flag that a review decides, or leaves open as unsure."""

    review_id: int = column(refers="review", primary_key=True)
    flag_id: int = column(refers="flag", primary_key=True)

    __table_args__ = (Index("ix_review_flag_flag", "flag_id", "review_id"),)


REVIEW_FLAG = table_of(ReviewFlag)


class ReviewScore(Stored, table=True):
    """A reviewer's score on a dimension, with the scale."""

    review_id: int = column(refers="review", index=True)
    dimension: str
    scale: str
    value: float | None


REVIEW_SCORE = table_of(ReviewScore)


class PreferenceScore(Stored, table=True):
    """A reviewer's preference on one aspect of a pair: a side, a grade with the scale, or both."""

    review_id: int = column(refers="review")
    aspect: str
    preference: Preference | None
    value: float | None
    scale: str | None

    __table_args__ = (UniqueConstraint("review_id", "aspect"),)


PREFERENCE_SCORE = table_of(PreferenceScore)


class FailureMode(Stored, table=True, has_hidden_rows=False, is_shared=True):
    """A kind of failure with which reviewers tag answers; the latest row of a name counts."""

    name: str
    by: str
    description: str | None
    key: str | None = column(comment="The letter that chooses it, together with Shift.")
    retired: bool = column(default=False)
    at: datetime

    __table_args__ = (Index("ix_failure_mode_name", "name", "id"),)


FAILURE_MODE = table_of(FailureMode)


class ReviewFailureMode(Row, table=True):
    """A failure mode with which a review tags the answer, by name."""

    review_id: int = column(refers="review", primary_key=True)
    mode: str = column(primary_key=True)

    __table_args__ = (Index("ix_review_failure_mode_mode", "mode", "review_id"),)


REVIEW_FAILURE_MODE = table_of(ReviewFailureMode)


class Issue(Stored, table=True, has_hidden_rows=False):
    """A systemic problem: a filter of answers with a title; the latest version of a number counts."""

    number: int = column(default=0, comment="0 until the issue is stored.")
    version: int = column(default=0, comment="1 for a new issue, then one more per change.")
    title: str
    by: str = column(default="", comment="Who stored this version.")
    description: str | None = None
    owner: str | None = column(default=None, comment="Name of a person.")
    state: IssueState = column(default=IssueState.OPEN)
    fixed_day: int | None = column(default=None, comment="Days since 1970-01-01, UTC.")
    filter: RowFilter = column(comment="Also matches answers that are stored later.")
    at: datetime = column(default=None)

    __table_args__ = (UniqueConstraint("number", "version"),)


ISSUE = table_of(Issue)


class Comment(Stored, table=True, of_responses=OF_ANSWER_OR_PAIR):
    """A comment on an answer or a pair, for other people. An edit names the replaced comment."""

    response_id: int | None = column(refers="response", default=None)
    pair_id: int | None = column(refers="pair", default=None)
    reviewer_id: int = column(refers="reviewer")
    # NULL only if forgotten, or if the row withdraws the replaced comment.
    text: str | None = column(default=None, forgotten=True)
    replaces: int | None = column(refers="comment", default=None)
    request_key: str = column(exported=False)
    at: datetime

    __table_args__ = (
        UniqueConstraint("request_key"),
        UniqueConstraint("replaces"),
        CheckConstraint("(response_id IS NULL) <> (pair_id IS NULL)", name="one_subject"),
        Index("ix_comment_response", "response_id"),
        Index("ix_comment_pair", "pair_id"),
    )


COMMENT = table_of(Comment)


# Tables of the running service: settings, events, jobs, judging rules, alarms, alerts, keys,
# traces.


class Setting(Stored, table=True, has_hidden_rows=False, is_shared=True):
    """Thresholds and the primary judge; the latest row of a key is in force."""

    key: str = column(index=True)
    value: JsonData | None = column(JsonValue)
    by: str
    at: datetime


SETTING = table_of(Setting)


class Change(
    Stored, table=True, is_free=True, has_hidden_rows=False, is_shared=True, of_process=True
):
    """An answer whose figures may change; triggers write the row in the transaction of the change."""

    response_id: int | None = column(
        BigId, comment="0: what figures read beside answers; null: all answers."
    )
    writer: int | None = column(BigId, comment="The transaction, on PostgreSQL.")

    __table_args__ = (Index("ix_change_writer", "writer", **partial("writer IS NOT NULL")),)


CHANGE = table_of(Change)


class Event(Stored, table=True):
    """A record of who did what, written in the transaction of the change.

    `details` contains ids and numbers, never texts of a log.
    """

    kind: str
    actor: str
    at: datetime = column(default_factory=utc_now)
    response_id: int | None = column(refers="response", default=None)
    details: dict[str, Any] = column(default_factory=dict)

    __table_args__ = (
        Index("ix_event_response", "response_id", "kind"),
        Index("ix_event_kind", "kind", "id"),
        Index("ix_event_actor", "actor", "id"),
    )


EVENT = table_of(Event)


class Job(Row, table=True, has_hidden_rows=False):
    """Long work that a person requested; all workers share the work until the run ends. Contains no texts."""

    id: str = column(primary_key=True)
    kind: str
    actor: str
    filter: dict[str, Any] = column(default_factory=dict)
    judge: dict[str, Any] = column(default_factory=dict)
    estimate: dict[str, Any] = column(default_factory=dict)
    run_id: int | None = column(refers="run", default=None, index=True, changes=True)
    created_at: datetime
    cancelled_at: datetime | None = column(default=None, changes=True)
    failed: str | None = column(
        default=None, changes=True, comment="Why the job could not start or go on."
    )


JOB = table_of(Job)


class Worker(Row, table=True, is_free=True, has_hidden_rows=False, is_shared=True, of_process=True):
    """A process that does the work of jobs and rules; alive while the heartbeat is recent."""

    executor_id: str = column(primary_key=True)
    host: str
    pid: int
    started_at: datetime
    heartbeat_at: datetime


WORKER = table_of(Worker)


class Rule(Stored, has_hidden_rows=False):
    """A named rule that workers follow until somebody pauses or removes the rule. Contains no texts.

    ``kind`` is the name of a class of rules on the command line, ``noun`` the name for people,
    ``event`` the name in kinds of events. ``duty`` is the place of the `Duty` with which workers
    follow the rules.
    """

    kind: ClassVar[str]
    noun: ClassVar[str]
    event: ClassVar[str]
    duty: ClassVar[str | None] = None

    name: str
    by: str
    state: RuleState = column(default=RuleState.ACTIVE, changes=True)
    problem: str | None = column(
        default=None, changes=True, comment="Why workers cannot follow the rule now."
    )
    at: datetime = column(default_factory=utc_now)

    @property
    def is_active(self) -> bool:
        """Whether workers follow the rule."""
        return self.state is RuleState.ACTIVE

    def state_now(self, *, has_worker: bool, doing: str | None = None) -> str:
        """Return paused, ``doing``, no worker, problem or active: the first that is true."""
        if not self.is_active:
            return self.state.value
        return doing or ("no worker" if not has_worker else "problem" if self.problem else "active")


def unique_rule_name(table: str) -> Index:
    """Return the unique index of names, without removed rules: the name of a removed rule is free again."""
    return Index(f"uq_{table}_name", "name", unique=True, **partial("state <> 'removed'"))


class JudgingRule(Rule, table=True):
    """Judges new answers with one judge version; only the state and the problem change. Contains no texts."""

    kind, noun, event = "judge", "judging rule", "rule"

    judge_version_id: int = column(refers="judge_version")
    filter: RowFilter = column(default_factory=RowFilter, comment="Which answers.")
    judge: dict[str, Any] = column(default_factory=dict, comment="Options that make the judge.")
    rate: float = column(default=1.0, comment="Share of the answers that are judged.")
    rates: dict[str, float] = column(default_factory=dict, comment="Other shares, by query type.")
    max_cost: float | None = column(
        default=None, comment="Per day (UTC), in the currency of the prices."
    )
    max_calls: int | None = column(default=None, comment="Per day (UTC).")
    concurrency: int
    delay_s: float = column(default=0.0, comment="Seconds between storing and judging an answer.")
    after_id: int = column(BigId, comment="The rule judges answers with higher ids.")

    __table_args__ = (
        CheckConstraint("rate >= 0 AND rate <= 1", name="rate"),
        unique_rule_name("judging_rule"),
    )


JUDGING_RULE = table_of(JudgingRule)


class RunShare(Row, table=True, is_free=True, has_hidden_rows=False):
    """Sums over the judgments of one worker in one run: a budget reads these sums, not the judgments."""

    run_id: int = column(refers="run", primary_key=True)
    executor_id: str = column(primary_key=True)  # a worker, or the process of a command
    ok: int = column(default=0)
    unparsable: int = column(default=0)
    refused: int = column(default=0)
    error: int = column(default=0)
    unpriced: int = column(default=0)
    cost_micro: int = column(BigId, default=0)
    last_at: datetime = column(comment="When the worker stored its last judgment.")


RUN_SHARE = table_of(RunShare)


class RateLimit(Row, table=True, is_free=True, has_hidden_rows=False, of_process=True):
    """The time until which the calls of a model are reserved, so that limits per minute hold across all processes."""

    name: str = column(primary_key=True, comment="Host and model.")
    taken_until: float = column(comment="Seconds since 1970, by the clock of the database.")


RATE_LIMIT = table_of(RateLimit)


class Alarm(Stored, table=True, has_hidden_rows=False):
    """A change that a detector found: `measure` rose or fell (`direction`) for one query type.

    With the measure ``model_changed``, `direction` names the judge version and both models, and the
    rates are shares of judgments by the new model.
    """

    measure: str
    direction: str
    query_type: str
    judge_version_id: int | None = column(refers="judge_version")
    # The first days (since 1970-01-01, UTC) of the periods of the change and of the alarm.
    from_day: int
    seen_day: int
    evidence: float
    evidence_limit: float
    # Before and since the change, when the alarm was stored.
    rate_before: float
    rate_after: float
    by: str
    at: datetime
    explanation: str | None = column(
        default=None,
        comment="The size of the change, and which of the judge's rates moved with its error.",
    )

    __table_args__ = (
        # One change raises one alarm, however often somebody looks.
        UniqueConstraint("measure", "direction", "query_type", "judge_version_id", "from_day"),
    )


ALARM = table_of(Alarm)


class AlarmAcknowledgement(Stored, table=True, has_hidden_rows=False):
    """A lead has seen an alarm. The detectors of the alarm then start again on the day of the change."""

    alarm_id: int = column(refers="alarm", unique=True)
    by: str
    note: str
    at: datetime


ALARM_ACKNOWLEDGEMENT = table_of(AlarmAcknowledgement)


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """What a level rule compares with a threshold: a measure over the newest ``answers``, or over the last ``days``.

    With a ``criterion`` of a rubric judge, the rule compares the mean score on this criterion, and
    ``measure`` is None. ``judge`` is a name, None for the primary judge.
    """

    measure: LevelMeasure | None
    criterion: str | None
    judge: str | None
    direction: Literal["above", "below"]
    answers: int | None
    days: int | None


class AlertRule(Rule, table=True):
    """Sends messages while a condition is met. Contains no texts."""

    kind, noun, event = "alert", "alert rule", "alert_rule"
    duty = "judgeboard.alerts.events:ALERTS"

    condition: AlertCondition
    threshold: float | None = column(default=None, comment="In the unit of the condition.")
    period_s: float | None = column(default=None, comment="Seconds.")
    subjects: tuple[str, ...] = column(
        default=(), comment="Only these sources, judges, rules or slices."
    )
    level: Level | None = column(
        JsonRecord(Level), default=None, comment="What a level rule compares with its threshold."
    )
    destinations: tuple[str, ...] = column(
        comment="Name environment variables, never contain secrets."
    )
    remind_s: float | None = column(default=None, comment="Seconds between reminders; NULL: none.")
    quiet: str | None = column(
        default=None,
        comment="Daily hours without messages, with their time zone: 22:00-07:00 Europe/Berlin.",
    )
    evaluated_at: datetime | None = column(
        default=None,
        changes=True,
        comment="When a worker last took the rule to evaluate it.",
    )

    __table_args__ = (
        CheckConstraint("(condition = 'level') = (level IS NOT NULL)", name="level"),
        unique_rule_name("alert_rule"),
    )


ALERT_RULE = table_of(AlertRule)


class AlertEvent(Stored, table=True, has_hidden_rows=False):
    """A time during which the condition of an alert rule was met. Contains no texts."""

    alert_rule_id: int = column(refers="alert_rule")
    subject: str
    sentence: str = column(changes=True)
    value: float | None = column(changes=True)
    opened_at: datetime
    seen_at: datetime = column(changes=True)
    resolved_at: datetime | None = column(changes=True)
    notified_at: datetime | None = column(changes=True)
    messages: int = column(
        default=0, changes=True, comment="Messages so far; each goes to all destinations."
    )
    closed: bool = column(
        default=False, changes=True, comment="It is resolved, and no message is left."
    )

    __table_args__ = (
        # Each condition has at most one open event, whichever worker finds the condition met.
        Index(
            "uq_alert_event_open",
            "alert_rule_id",
            "subject",
            unique=True,
            **partial("resolved_at IS NULL"),
        ),
        Index("ix_alert_event_unclosed", "alert_rule_id", **partial("NOT closed")),
    )


ALERT_EVENT = table_of(AlertEvent)


class AlertDelivery(Stored, table=True, has_hidden_rows=False):
    """A message of an alert rule to one destination, with all attempts."""

    alert_rule_id: int = column(refers="alert_rule")
    alert_event_id: int | None = column(refers="alert_event")
    kind: MessageKind
    destination: str
    message_id: str
    number: int = column(default=0, comment="Counts the messages of an event.")
    message: dict[str, Any] = column(default_factory=dict)
    state: str = column(default="waiting", changes=True)
    attempts: int = column(default=0, changes=True, comment="Stored before each attempt.")
    next_at: datetime = column(changes=True)
    at: datetime
    sent_at: datetime | None = column(changes=True)
    error: str | None = column(changes=True)

    __table_args__ = (
        UniqueConstraint("alert_event_id", "number", "destination"),
        UniqueConstraint("message_id"),
        CheckConstraint("state IN ('waiting', 'sent', 'failed')", name="state"),
        Index("ix_alert_delivery_waiting", "next_at", **partial("state = 'waiting'")),
    )


ALERT_DELIVERY = table_of(AlertDelivery)


class Pushed(Row, table=True):
    """The latest attempt to push the judgment or review of an author on an answer to a tool."""

    target: str = column(primary_key=True)
    what: str = column(primary_key=True)
    response_id: int = column(refers="response", primary_key=True)
    author: str = column(primary_key=True, comment="A judge version, a person, or gold.")
    row_id: int = column(BigId, changes=True, comment="The judgment or the review.")
    sent: bool = column(changes=True)
    error: str | None = column(changes=True, comment="Why the tool refused it.")
    at: datetime = column(changes=True)

    __table_args__ = (Index("ix_pushed_row", "what", "row_id", "target", "sent"),)


PUSHED = table_of(Pushed)


class Pull(Row, table=True, is_free=True, has_hidden_rows=False):
    """How far the history of a project of a tool was pulled."""

    tool: str = column(primary_key=True)
    project: str = column(primary_key=True)
    done_until: datetime | None = column(default=None)
    since: datetime | None = column(default=None)
    until: datetime | None = column(default=None)
    position: str | None = column(
        default=None,
        comment="The next page of the window from `since` to `until`, in the tool's words.",
    )
    at: datetime = column(default_factory=utc_now)


PULL = table_of(Pull)


class PushTarget(Rule, table=True):
    """A tool to which workers push regularly; has no keys. The latest push stores the counts."""

    kind, noun, event = "push", "push target", "push_target"
    duty = "judgeboard.tools.push:PUSHES"

    tool: str
    address: str
    what: tuple[str, ...] = column(default=())
    judges: tuple[str, ...] = column(default=())
    source: str | None = column(default=None, comment="Only answers of this source; NULL: all.")
    since: datetime | None = column(
        default=None,
        comment="Only what was judged or reviewed from then on; NULL: everything.",
    )
    with_notes: bool = column(default=False)
    every_s: float = column(comment="Seconds between two pushes.")
    executor_id: str | None = column(
        default=None, changes=True, comment="The worker that is pushing now."
    )
    next_at: datetime = column(default_factory=utc_now, changes=True)
    tried_at: datetime | None = column(
        default=None, changes=True, comment="When a worker last took the target to push to it."
    )
    succeeded_at: datetime | None = column(default=None, changes=True)
    pushed: int = column(default=0, changes=True)
    refused: int = column(default=0, changes=True)
    waiting: int = column(default=0, changes=True)
    reason: str | None = column(default=None, changes=True)

    __table_args__ = (
        CheckConstraint("every_s > 0", name="every_s"),
        unique_rule_name("push_target"),
    )

    def as_json(self) -> dict[str, Any]:
        """Return the columns without the worker, because this name contains the name of a machine."""
        return {name: value for name, value in super().as_json().items() if name != "executor_id"}


PUSH_TARGET = table_of(PushTarget)


RULES: Mapping[str, type[Rule]] = MappingProxyType(
    {rule.kind: rule for rule in (JudgingRule, AlertRule, PushTarget)}
)
"""The class of each kind of rules."""


class ApiKey(Stored, table=True, has_hidden_rows=False):
    """A key with which an assistant sends traces; only the SHA-256 of the random token is stored."""

    name: str
    hash: str
    created_by: str
    scopes: tuple[Any, ...]
    source: str | None = column(comment="The only source that the key may send; NULL: any.")
    requests_per_second: float | None = column(comment="NULL: no limit.")
    max_body_mb: float
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None = column(default=None, changes=True)

    __table_args__ = (
        UniqueConstraint("hash"),
        Index("uq_api_key_name", "name", unique=True, **partial("revoked_at IS NULL")),
    )

    def as_json(self) -> dict[str, Any]:
        """Return the columns without the hash. The hash is never sent."""
        return {name: value for name, value in super().as_json().items() if name != "hash"}

    def unusable(self, now: datetime) -> str | None:
        """Return why the key is not accepted: "revoked" or "expired"; None for an accepted key."""
        if self.revoked_at is not None:
            return "revoked"
        return "expired" if self.expires_at is not None and self.expires_at <= now else None


API_KEY = table_of(ApiKey)


class Trace(Stored, table=True):
    """A trace that an assistant sent. The trace becomes a response when the root has ended and no span follows."""

    external_id: str
    owner: str
    source: str = column(changes=True)
    state: str = column(default="waiting", changes=True)
    first_at: datetime
    last_at: datetime = column(changes=True)
    root_ended: bool = column(default=False, changes=True)
    spans: int = column(default=0, changes=True, comment="Stored spans and log records.")
    response_id: int | None = column(refers="response", changes=True)
    reason: str | None = column(
        changes=True, comment="Why it made no answer, or why later spans did not change the answer."
    )
    used: tuple[Any, ...] | None = column(
        changes=True, comment="Pairs of a span's id and what the answer took from it."
    )
    read_at: datetime | None = column(
        changes=True,
        comment="When a judge first read the answer: from then on it does not change.",
    )

    __table_args__ = (
        # The owner is the source of the sender's key, "" without one: no key adds spans to a trace
        # of another source.
        UniqueConstraint("external_id", "owner"),
        CheckConstraint("state IN ('waiting', 'made', 'none', 'forgotten')", name="state"),
        Index("ix_trace_waiting", "last_at", **partial("state = 'waiting'")),
        Index("ix_trace_source", "source", "state", "last_at"),
        Index("ix_trace_response", "response_id"),
    )


TRACE = table_of(Trace)


class Span(Stored, table=True, is_free=True, has_hidden_rows=False):
    """A span or a log record of a trace, as received; deleted by `judgeboard db forget`."""

    trace_id: int = column(refers="trace")
    external_id: str
    kind: str
    body: bytes = column(comment="JSON, compressed with zlib.")

    __table_args__ = (
        UniqueConstraint("trace_id", "kind", "external_id"),
        Index("ix_span_external_id", "external_id"),
        CheckConstraint("kind IN ('span', 'log')", name="kind"),
    )


SPAN = table_of(Span)


class WaitingFeedback(Stored, table=True, is_free=True, has_hidden_rows=False):
    """Feedback whose answer has not come yet; moved to user_feedback when the answer comes."""

    owner: str
    response_key: str | None = column(index=True)
    trace_key: str | None = column(index=True)
    span_key: str | None = column(index=True)
    kind: FeedbackKind
    value: float
    user: str | None
    at: datetime | None
    received_at: datetime = column(index=True)
    comment: str | None


WAITING_FEEDBACK = table_of(WaitingFeedback)


class WithdrawnRow(Stored, table=True, has_hidden_rows=False):
    """A copy of a row that was withdrawn with an import. Only a row with a copy can be deleted."""

    import_batch_id: int = column(refers="import_batch", exported=False)
    table_name: str
    row_key: str
    # Ids of rows that may be withdrawn too.
    response_id: int | None = column(BigId, index=True, comment="The answer that the row is about.")
    pair_id: int | None = column(BigId, index=True, comment="The pair that the row is about.")
    content: JsonData | None = column(
        JsonValue, changes=True, comment="Values by column; null only after `judgeboard db forget`."
    )
    at: datetime

    __table_args__ = (Index("ix_withdrawn_row_key", "table_name", "row_key"),)


WITHDRAWN_ROW = table_of(WithdrawnRow)


# Tables of requests to models beside judgments: comparisons, generations, audits, verdicts on
# anchors.


class Comparison(Step, table=True, is_recorded=True, of_responses=OF_PAIR):
    """A judge's comparison of a pair in one order of the answers."""

    pair_id: int = column(refers="pair")
    judge_version_id: int = column(refers="judge_version")
    ask: int = column(default=0)
    condition: str = column(default="plain")
    reference: str | None = column(
        forgotten=True, comment="The answer shown as correct, in the condition `reference`."
    )
    shown: Shown
    reasoning: str | None = column(forgotten=True)

    __table_args__ = (
        *step_indexes("comparison", "pair_id"),
        UniqueConstraint("pair_id", "judge_version_id", "condition", "shown", "ask"),
        CheckConstraint("condition IN ('plain', 'reference')", name="condition"),
    )


COMPARISON = table_of(Comparison)


class ComparisonScore(Stored, table=True):
    """A comparison's preference on one aspect. The preference names a stored answer, not the place in the prompt."""

    comparison_id: int = column(refers="comparison")
    aspect: str
    preference: Preference

    __table_args__ = (UniqueConstraint("comparison_id", "aspect"),)


COMPARISON_SCORE = table_of(ComparisonScore)


class Generation(
    Step,
    table=True,
    # A call that made no answer, or the same answer again, is still about the first answer.
    of_responses=(
        "SELECT OLD.response_id UNION ALL SELECT other.response_id FROM generation AS other "
        "WHERE other.run_id = OLD.run_id AND other.subject = OLD.subject"
    ),
):
    """A call to a model that answers."""

    subject: str = column(comment="Response, prompt or suite case, within the run.")
    number: int
    model: str | None
    response_id: int | None = column(refers="response")

    __table_args__ = (
        *step_indexes("generation"),
        UniqueConstraint("run_id", "subject", "number"),
        Index("ix_generation_response", "response_id"),
    )


GENERATION = table_of(Generation)


class JudgmentReview(
    Step,
    table=True,
    of_responses="SELECT response_id FROM judgment WHERE judgment.id = OLD.judgment_id",
):
    """A supreme judge's review of a judgment."""

    judgment_id: int = column(refers="judgment")
    judge_version_id: int = column(refers="judge_version")
    ask: int = column(default=0)
    correct: bool | None
    reasoning: str | None = column(forgotten=True)
    inclusion_probability: float = column(default=1.0)

    __table_args__ = (
        *step_indexes("judgment_review", "judgment_id"),
        UniqueConstraint("judgment_id", "judge_version_id", "ask"),
    )


JUDGMENT_REVIEW = table_of(JudgmentReview)


class AnchorJudgment(Step, table=True, in_record=False, of_responses="OLD.response_id"):
    """A verdict on an anchor. Such a verdict never replaces the current judgment of the answer."""

    response_id: int = column(refers="response")
    judge_version_id: int = column(refers="judge_version")
    ask: int = column(default=0)
    groundedness: float | None
    quality: int | None
    label: Label | None

    __table_args__ = (
        *step_indexes("anchor_judgment", "response_id"),
        UniqueConstraint("run_id", "response_id"),
        *score_ranges(),
    )


ANCHOR_JUDGMENT = table_of(AnchorJudgment)


load_method_tables()

STEP_TABLES = tuple(
    table
    for table in METADATA.tables.values()
    if issubclass(row_of(table), Step) and table is not JUDGMENT
)
"""The tables of requests to models, except ``judgment``."""
BEGINNINGS = tuple(
    (table, began_with)
    for table in METADATA.tables.values()
    if (began_with := row_of(table).began_with) is not None
)
"""The tables with the answers from which calls to generators began, each with the column of these answers."""

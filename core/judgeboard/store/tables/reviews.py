"""Tables of reviewers and their reviews, and of what leads collect from reviews: failure modes, issues, comments."""

from datetime import datetime

from sqlalchemy import CheckConstraint, Index, UniqueConstraint

from judgeboard.domain import Decision, IssueState, Label, Preference, Shown, Stage, WhyDiffers
from judgeboard.store.tables.columns import (
    OF_ANSWER_OR_PAIR,
    BigId,
    JsonData,
    JsonValue,
    Row,
    Stored,
    Utc,
    column,
    one_of,
    partial,
    score_ranges,
    table_of,
)


class Reviewer(Stored, table=True):
    """A person, identified by the name and its origin, such as cli, import or oidc."""

    is_free = True
    has_hidden_rows = False

    origin: str
    name: str
    role: str = column(default="reviewer")
    created_at: datetime = column(Utc)
    same_as: int | None = column(
        BigId, refers="reviewer", comment="The person under whom later reviews of this user or annotator are stored."
    )
    notified_until: int | None = column(BigId, comment="The id of the last event that the person has read.")
    implied_labels: bool | None = column(comment="Whether their decisions imply labels; NULL: not asked yet.")

    __table_args__ = (UniqueConstraint("origin", "name"),)


REVIEWER = table_of(Reviewer)


class LabelSchema(Stored, table=True):
    """A version of a label schema; `number` counts within its name (support v2)."""

    has_hidden_rows = False

    name: str
    hash: str
    created_by: str
    number: int
    fields: JsonData = column(JsonValue)
    created_at: datetime = column(Utc)

    __table_args__ = (
        UniqueConstraint("hash"),
        UniqueConstraint("name", "number"),
    )


LABEL_SCHEMA = table_of(LabelSchema)


class Review(Stored, table=True):
    """A review of a response or of a pair; undo, edit and re-grade are new rows that replace one."""

    of_responses = OF_ANSWER_OR_PAIR

    response_id: int | None = column(BigId, refers="response", reads=True)
    queue_item_id: int | None = column(BigId, refers="queue_item", exported=False)
    import_batch_id: int | None = column(BigId, refers="import_batch", exported=False)
    pair_id: int | None = column(BigId, refers="pair")
    label_schema_id: int | None = column(BigId, refers="label_schema")
    judgment_seen_id: int | None = column(BigId, refers="judgment")
    reviewer_id: int = column(BigId, refers="reviewer")
    stage: Stage | None = column(one_of(Stage, "stage"))
    decision: Decision | None = column(one_of(Decision, "decision"))
    label: Label | None = column(one_of(Label, "label"))
    label_implied: bool = column(default=False, comment="The decision implies the label.")
    groundedness: float | None
    quality: int | None
    spans: JsonData | None = column(JsonValue, forgotten=True)
    note: str | None = column(forgotten=True)
    corrected_answer: str | None = column(forgotten=True)
    seconds: float | None
    replaces: int | None = column(BigId, refers="review")
    request_key: str = column(exported=False)
    bulk: str | None = column(exported=False, comment="The bulk action of which the review is a part.")
    at: datetime = column(Utc)
    comparison_seen_id: int | None = column(BigId, refers="comparison")
    shown: Shown | None = column(one_of(Shown, "shown"), comment="Order in which the answers of a pair were shown.")
    seen: JsonData | None = column(JsonValue, comment="What the reviewer saw of others: judge, people, ...")
    why_differs: WhyDiffers | None = column(one_of(WhyDiffers, "why_differs"))
    claim_marks: JsonData | None = column(
        JsonValue, forgotten=True, comment="List of {status, text, start, end, judgment_id, number}."
    )
    choices: JsonData | None = column(
        JsonValue, comment="Values of a label schema by field, without scales, spans and texts."
    )
    texts: JsonData | None = column(JsonValue, forgotten=True, comment="Texts of a label schema by field.")
    in_suite: bool | None = column(comment="Whether the corrected answer becomes a case of a suite.")

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
        Index("ix_review_judgment_seen", "judgment_seen_id", **partial("judgment_seen_id IS NOT NULL")),
        Index("ix_review_bulk", "bulk", "id", **partial("bulk IS NOT NULL")),
        Index("ix_review_gold", "response_id", "id", **partial("stage = 'adjudication'")),
        Index("ix_review_label_schema", "label_schema_id", **partial("label_schema_id IS NOT NULL")),
        Index("ix_review_in_suite", "id", **partial("in_suite IS NOT NULL")),
        # Answers that a reviewer was unsure about, read with every page of the queue.
        Index("ix_review_unsure", "reviewer_id", "id", "decision", **partial("decision = 'unsure'")),
    )


REVIEW = table_of(Review)


class ReviewFlag(Row, table=True):
    """A flag that a review decides, or leaves open as unsure."""

    review_id: int = column(BigId, refers="review", primary_key=True)
    flag_id: int = column(BigId, refers="flag", primary_key=True)

    __table_args__ = (Index("ix_review_flag_flag", "flag_id", "review_id"),)


REVIEW_FLAG = table_of(ReviewFlag)


class ReviewScore(Stored, table=True):
    """A reviewer's score on a dimension, with its scale."""

    review_id: int = column(BigId, refers="review", index=True)
    dimension: str
    scale: str
    value: float | None


REVIEW_SCORE = table_of(ReviewScore)


class PreferenceScore(Stored, table=True):
    """A reviewer's preference on one aspect of a pair: a side, a grade on its own scale, or both."""

    review_id: int = column(BigId, refers="review")
    aspect: str
    preference: Preference | None = column(one_of(Preference, "preference"))
    value: float | None
    scale: str | None

    __table_args__ = (UniqueConstraint("review_id", "aspect"),)


PREFERENCE_SCORE = table_of(PreferenceScore)


class FailureMode(Stored, table=True):
    """A kind of failure that reviewers tag answers with; the latest row of a name counts."""

    has_hidden_rows = False

    name: str
    by: str
    description: str | None
    key: str | None = column(comment="The letter that chooses it, together with Shift.")
    retired: bool = column(default=False)
    at: datetime = column(Utc)

    __table_args__ = (Index("ix_failure_mode_name", "name", "id"),)


FAILURE_MODE = table_of(FailureMode)


class ReviewFailureMode(Row, table=True):
    """A failure mode that a review tags its answer with, by name."""

    review_id: int = column(BigId, refers="review", primary_key=True)
    mode: str = column(primary_key=True)

    __table_args__ = (Index("ix_review_failure_mode_mode", "mode", "review_id"),)


REVIEW_FAILURE_MODE = table_of(ReviewFailureMode)


class Issue(Stored, table=True):
    """A systemic problem: a filter of answers with a title; the latest version of a number counts."""

    has_hidden_rows = False

    number: int
    version: int = column(comment="1 for a new issue, then one more per change.")
    title: str
    by: str
    description: str | None
    owner: str | None = column(comment="Name of a person.")
    state: IssueState = column(one_of(IssueState, "state"))
    fixed_day: int | None = column(comment="Days since 1970-01-01, UTC.")
    filter: JsonData = column(JsonValue)
    at: datetime = column(Utc)

    __table_args__ = (UniqueConstraint("number", "version"),)


ISSUE = table_of(Issue)


class Comment(Stored, table=True):
    """A comment on an answer or a pair, for the others; an edit names the comment it replaces."""

    of_responses = OF_ANSWER_OR_PAIR

    response_id: int | None = column(BigId, refers="response")
    pair_id: int | None = column(BigId, refers="pair")
    reviewer_id: int = column(BigId, refers="reviewer")
    text: str | None = column(forgotten=True)  # null only if forgotten or if the row withdraws a comment
    replaces: int | None = column(BigId, refers="comment")
    request_key: str = column(exported=False)
    at: datetime = column(Utc)

    __table_args__ = (
        UniqueConstraint("request_key"),
        UniqueConstraint("replaces"),
        CheckConstraint("(response_id IS NULL) <> (pair_id IS NULL)", name="one_subject"),
        Index("ix_comment_response", "response_id"),
        Index("ix_comment_pair", "pair_id"),
    )


COMMENT = table_of(Comment)

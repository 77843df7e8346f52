"""Named queues with their leases, what was put aside and remarked, and what a review says beside its grade."""

import sqlalchemy as sa
from alembic import op

from judgeboard.store.schema.column_types import BigId, JsonValue, Utc

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

_GIVEN = "queue_item_id IS NOT NULL"
_UNFINISHED = "again_for IS NULL AND state IN ('open', 'split')"


def upgrade() -> None:
    # Nothing was ever written to the three tables that stood here for later: they are laid anew.
    if op.get_bind().dialect.name == "postgresql":
        op.drop_constraint("fk_review_queue_item_id_queue_item", "review", type_="foreignkey")
    for table in ("lease", "queue_item", "queue"):
        op.drop_table(table)
    op.create_table(
        "queue",
        sa.Column("id", BigId, nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("subject", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("filter", JsonValue, nullable=False),
        sa.Column("sort", sa.String(), nullable=False),
        sa.Column("reviews_needed", sa.Integer(), nullable=False),
        sa.Column("overlap", sa.Float(), nullable=False),
        sa.Column("seed", sa.String(), nullable=False),
        sa.Column("blind_people", sa.Boolean(), nullable=False),
        sa.Column("blind_judge", sa.Boolean(), nullable=False),
        sa.Column("reveal", sa.Boolean(), nullable=False),
        sa.Column("grades", JsonValue, nullable=False),
        sa.Column("sampling_rate", sa.Float(), nullable=False),
        sa.Column("again_share", sa.Float(), nullable=False),
        sa.Column("lease_seconds", sa.Integer(), nullable=False),
        sa.Column("guidelines", sa.String(), nullable=True),
        sa.Column("made_by", sa.String(), nullable=False),
        sa.Column("created_at", Utc(), nullable=False),
        sa.CheckConstraint(
            "sort IN ('severity', 'oldest', 'disagreement', 'instability', 'random')", name=op.f("ck_queue_sort")
        ),
        sa.CheckConstraint("state IN ('open', 'closed')", name=op.f("ck_queue_state")),
        sa.CheckConstraint("subject IN ('answers', 'pairs')", name=op.f("ck_queue_subject")),
        sa.CheckConstraint("again_share >= 0 AND again_share < 1", name=op.f("ck_queue_again_share")),
        sa.CheckConstraint("sampling_rate >= 0 AND sampling_rate < 1", name=op.f("ck_queue_sampling_rate")),
        sa.CheckConstraint("overlap >= 0 AND overlap <= 1", name=op.f("ck_queue_overlap")),
        sa.CheckConstraint("reviews_needed >= 1", name=op.f("ck_queue_reviews_needed")),
        sa.PrimaryKeyConstraint("id", name="pk_queue"),
        sa.UniqueConstraint("name", name="uq_queue_name"),
    )
    op.create_table(
        "queue_assignment",
        sa.Column("queue_id", BigId, nullable=False),
        sa.Column("reviewer_id", BigId, nullable=False),
        sa.ForeignKeyConstraint(["queue_id"], ["queue.id"], name="fk_queue_assignment_queue_id_queue"),
        sa.ForeignKeyConstraint(["reviewer_id"], ["reviewer.id"], name="fk_queue_assignment_reviewer_id_reviewer"),
        sa.PrimaryKeyConstraint("queue_id", "reviewer_id", name="pk_queue_assignment"),
    )
    op.create_index("ix_queue_assignment_reviewer", "queue_assignment", ["reviewer_id", "queue_id"], unique=False)
    op.create_table(
        "comment",
        sa.Column("id", BigId, nullable=False),
        sa.Column("response_id", BigId, nullable=True),
        sa.Column("pair_id", BigId, nullable=True),
        sa.Column("reviewer_id", BigId, nullable=False),
        sa.Column("text", sa.String(), nullable=True),
        sa.Column("replaces", BigId, nullable=True),
        sa.Column("request_key", sa.String(), nullable=False),
        sa.Column("at", Utc(), nullable=False),
        sa.CheckConstraint("(response_id IS NULL) <> (pair_id IS NULL)", name=op.f("ck_comment_one_subject")),
        sa.ForeignKeyConstraint(["pair_id"], ["pair.id"], name="fk_comment_pair_id_pair"),
        sa.ForeignKeyConstraint(["replaces"], ["comment.id"], name="fk_comment_replaces_comment"),
        sa.ForeignKeyConstraint(["response_id"], ["response.id"], name="fk_comment_response_id_response"),
        sa.ForeignKeyConstraint(["reviewer_id"], ["reviewer.id"], name="fk_comment_reviewer_id_reviewer"),
        sa.PrimaryKeyConstraint("id", name="pk_comment"),
        sa.UniqueConstraint("replaces", name="uq_comment_replaces"),
        sa.UniqueConstraint("request_key", name="uq_comment_request_key"),
    )
    op.create_index("ix_comment_pair", "comment", ["pair_id"], unique=False)
    op.create_index("ix_comment_response", "comment", ["response_id"], unique=False)
    op.create_table(
        "queue_item",
        sa.Column("id", BigId, nullable=False),
        sa.Column("queue_id", BigId, nullable=False),
        sa.Column("response_id", BigId, nullable=True),
        sa.Column("pair_id", BigId, nullable=True),
        sa.Column("reviews_needed", sa.Integer(), nullable=False),
        sa.Column("position", sa.Float(), nullable=False),
        sa.Column("sampled", sa.Boolean(), nullable=False),
        sa.Column("again_for", BigId, nullable=True),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("joined_at", Utc(), nullable=False),
        sa.CheckConstraint(
            "state IN ('open', 'settled', 'split', 'adjudicated', 'left')", name=op.f("ck_queue_item_state")
        ),
        sa.CheckConstraint("(response_id IS NULL) <> (pair_id IS NULL)", name=op.f("ck_queue_item_one_subject")),
        sa.CheckConstraint("reviews_needed >= 1", name=op.f("ck_queue_item_reviews_needed")),
        sa.ForeignKeyConstraint(["again_for"], ["reviewer.id"], name="fk_queue_item_again_for_reviewer"),
        sa.ForeignKeyConstraint(["pair_id"], ["pair.id"], name="fk_queue_item_pair_id_pair"),
        sa.ForeignKeyConstraint(["queue_id"], ["queue.id"], name="fk_queue_item_queue_id_queue"),
        sa.ForeignKeyConstraint(["response_id"], ["response.id"], name="fk_queue_item_response_id_response"),
        sa.PrimaryKeyConstraint("id", name="pk_queue_item"),
    )
    op.create_index("ix_queue_item_of_pair", "queue_item", ["pair_id", "state"], unique=False)
    op.create_index("ix_queue_item_of_response", "queue_item", ["response_id", "state"], unique=False)
    op.create_index("ix_queue_item_place", "queue_item", ["queue_id", "position", "id"], unique=False)
    op.create_index("ix_queue_item_state", "queue_item", ["queue_id", "state", "sampled"], unique=False)
    op.create_index(
        "uq_queue_item_pair",
        "queue_item",
        ["queue_id", "pair_id"],
        unique=True,
        sqlite_where=sa.text(f"pair_id IS NOT NULL AND {_UNFINISHED}"),
        postgresql_where=sa.text(f"pair_id IS NOT NULL AND {_UNFINISHED}"),
    )
    op.create_index(
        "uq_queue_item_response",
        "queue_item",
        ["queue_id", "response_id"],
        unique=True,
        sqlite_where=sa.text(f"response_id IS NOT NULL AND {_UNFINISHED}"),
        postgresql_where=sa.text(f"response_id IS NOT NULL AND {_UNFINISHED}"),
    )
    op.create_table(
        "queue_item_flag",
        sa.Column("queue_item_id", BigId, nullable=False),
        sa.Column("flag_id", BigId, nullable=False),
        sa.ForeignKeyConstraint(["flag_id"], ["flag.id"], name="fk_queue_item_flag_flag_id_flag"),
        sa.ForeignKeyConstraint(
            ["queue_item_id"], ["queue_item.id"], name="fk_queue_item_flag_queue_item_id_queue_item"
        ),
        sa.PrimaryKeyConstraint("queue_item_id", "flag_id", name="pk_queue_item_flag"),
    )
    op.create_index("ix_queue_item_flag_flag", "queue_item_flag", ["flag_id", "queue_item_id"], unique=False)
    op.create_table(
        "skip",
        sa.Column("id", BigId, nullable=False),
        sa.Column("queue_item_id", BigId, nullable=False),
        sa.Column("reviewer_id", BigId, nullable=False),
        sa.Column("reason", sa.String(), nullable=True),
        sa.Column("at", Utc(), nullable=False),
        sa.ForeignKeyConstraint(["queue_item_id"], ["queue_item.id"], name="fk_skip_queue_item_id_queue_item"),
        sa.ForeignKeyConstraint(["reviewer_id"], ["reviewer.id"], name="fk_skip_reviewer_id_reviewer"),
        sa.PrimaryKeyConstraint("id", name="pk_skip"),
    )
    op.create_index("ix_skip_item", "skip", ["queue_item_id", "reviewer_id"], unique=False)
    op.create_table(
        "lease",
        sa.Column("id", BigId, nullable=False),
        sa.Column("queue_id", BigId, nullable=False),
        sa.Column("queue_item_id", BigId, nullable=False),
        sa.Column("slot", sa.Integer(), nullable=False),
        sa.Column("position", sa.Float(), nullable=False),
        sa.Column("again_for", BigId, nullable=True),
        sa.Column("reviewer_id", BigId, nullable=True),
        sa.Column("token", sa.String(), nullable=True),
        sa.Column("taken_at", Utc(), nullable=True),
        sa.Column("until", Utc(), nullable=True),
        sa.Column("done", sa.Boolean(), nullable=False),
        sa.Column("review_id", BigId, nullable=True),
        sa.Column("revealed_at", Utc(), nullable=True),
        sa.ForeignKeyConstraint(["again_for"], ["reviewer.id"], name="fk_lease_again_for_reviewer"),
        sa.ForeignKeyConstraint(["queue_id"], ["queue.id"], name="fk_lease_queue_id_queue"),
        sa.ForeignKeyConstraint(["queue_item_id"], ["queue_item.id"], name="fk_lease_queue_item_id_queue_item"),
        sa.ForeignKeyConstraint(["review_id"], ["review.id"], name="fk_lease_review_id_review"),
        sa.ForeignKeyConstraint(["reviewer_id"], ["reviewer.id"], name="fk_lease_reviewer_id_reviewer"),
        sa.PrimaryKeyConstraint("id", name="pk_lease"),
        sa.UniqueConstraint("queue_item_id", "reviewer_id", name="uq_lease_queue_item_id_reviewer_id"),
        sa.UniqueConstraint("queue_item_id", "slot", name="uq_lease_queue_item_id_slot"),
        sa.UniqueConstraint("token", name="uq_lease_token"),
    )
    op.create_index("ix_lease_reviewer", "lease", ["reviewer_id", "queue_id", "done"], unique=False)
    op.create_index(
        "ix_lease_waiting",
        "lease",
        ["queue_id", "position", "queue_item_id", "slot"],
        unique=False,
        sqlite_where=sa.text("NOT done"),
        postgresql_where=sa.text("NOT done"),
    )
    if op.get_bind().dialect.name == "postgresql":
        op.create_foreign_key("fk_review_queue_item_id_queue_item", "review", "queue_item", ["queue_item_id"], ["id"])
    _add_columns()
    op.create_index("ix_event_actor", "event", ["actor", "id"])
    op.create_index("ix_event_kind", "event", ["kind", "id"])


def _add_columns() -> None:
    """Add to tables full of rows, in place: a copied table would lose its triggers and what refers to it."""
    for statement in (
        "ALTER TABLE review ADD COLUMN seen JSON",
        (
            "ALTER TABLE review ADD COLUMN why_differs VARCHAR CONSTRAINT ck_review_why_differs CHECK (why_differs IN "
            "('missed_support', 'fluent_text', 'refusal', 'partial_support', 'rubric_unclear', 'person', 'other'))"
        ),
        "ALTER TABLE review ADD COLUMN claim_marks JSON",
    ):
        op.execute(statement)
    op.create_index(
        "ix_review_queue_item",
        "review",
        ["queue_item_id"],
        sqlite_where=sa.text(_GIVEN),
        postgresql_where=sa.text(_GIVEN),
    )


_BIG = {"sqlite": "INTEGER", "postgresql": "BIGINT"}

"""Traces and the keys that send them, judging rules, alerts, and what other tools get and give."""

from alembic import op

from judgeboard.store.tables import (
    ALERT_DELIVERY,
    ALERT_EVENT,
    ALERT_RULE,
    API_KEY,
    CLAIM,
    JUDGING_RULE,
    METADATA,
    PULL,
    PUSH_TARGET,
    PUSHED,
    RATE_LIMIT,
    RUN_SHARE,
    SPAN,
    TRACE,
    WAITING_FEEDBACK,
    WORKER,
)

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

RECEIVED = (API_KEY, TRACE, SPAN, WAITING_FEEDBACK)
JUDGED = (JUDGING_RULE, RUN_SHARE, RATE_LIMIT, CLAIM)
OTHER_TOOLS = (PUSHED, PUSH_TARGET, PULL, ALERT_RULE, ALERT_EVENT, ALERT_DELIVERY)


def upgrade() -> None:
    """Create the tables. A later revision that changes one of them writes here how it was before.

    The table of workers is made anew: its rows describe running processes, and none runs during an upgrade.
    """
    op.drop_table("worker")
    METADATA.create_all(op.get_bind(), tables=[*RECEIVED, *JUDGED, *OTHER_TOOLS, WORKER])

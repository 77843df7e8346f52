"""The initial revision: the tables as their metadata describe them.

Revisions 0001 to 0004 were those of databases made before the first release. From the first release on, every change of
the tables is a revision of its own, and this one lists the tables as they were.
"""

from alembic import op

from judgeboard.store.columns import METADATA

revision = "0005"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    METADATA.create_all(op.get_bind())

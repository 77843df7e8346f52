"""The first revision: a new database is created from the tables' metadata and starts at the newest revision.

Revisions 0001 to 0005 were made before the first release; their databases cannot be upgraded.
"""

revision = "0006"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Do nothing: no database has an earlier revision that can be upgraded."""

"""Which database engines a test runs on: both with the fixture `store`, or SQLite alone."""

import pytest

# Other tests send PostgreSQL what the same functions of the store send, with the same constructs of
# SQL: here only the logic around them differs.
on_sqlite = pytest.mark.parametrize("store", ["sqlite"], indirect=True)

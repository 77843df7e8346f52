"""Which database engines a test runs on: both with the fixture `store`, or SQLite alone."""

import pytest

# Other tests run the same statements on PostgreSQL, each at least twice: here only the logic around them differs.
on_sqlite = pytest.mark.parametrize("store", ["sqlite"], indirect=True)

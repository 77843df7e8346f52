"""A receiver over HTTP for each test."""

import pytest

from sent_traces import receiving


@pytest.fixture
def http(request):
    """A receiver that stores in the database of the test, ``store`` or ``sqlite_store``."""
    of_sqlite = "sqlite_store" in request.fixturenames
    with receiving(request.getfixturevalue("sqlite_store" if of_sqlite else "store")) as client:
        yield client

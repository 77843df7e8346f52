"""A receiver over HTTP for each test."""

import pytest

from sent_traces import receiving


@pytest.fixture
def http(request):
    """A receiver that stores in the database of the test, ``store`` or else ``sqlite_store``."""
    both_engines = "store" in request.fixturenames
    with receiving(request.getfixturevalue("store" if both_engines else "sqlite_store")) as client:
        yield client

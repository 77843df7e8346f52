"""A receiver over HTTP for each test."""

import pytest

from sent_traces import receiving


@pytest.fixture
def http(own_store):
    with receiving(own_store) as client:
        yield client

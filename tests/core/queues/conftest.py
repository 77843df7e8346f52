"""The desk on which the tests of queues work, on each engine."""

import pytest

from judgeboard.store.engine import Store
from queue_desk import QueueDesk, queue_desk


@pytest.fixture
def desk(store: Store) -> QueueDesk:
    return queue_desk(store)

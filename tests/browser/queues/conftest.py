"""A server on a database with queues, one per module: each test makes queues of its own there."""

from collections.abc import Callable, Iterator

import pytest

from judgeboard.store.engine import Store
from served_queues import ServedQueues, served_queues


@pytest.fixture(scope="module")
def site(new_store: Callable[[], Store], port: int) -> Iterator[ServedQueues]:
    with served_queues(new_store(), port) as started:
        yield started

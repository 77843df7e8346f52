"""A server on a database with queues, one per module: each test makes queues of its own there."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from served_queues import ServedQueues, served_queues


@pytest.fixture(scope="module")
def site(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedQueues]:
    path = tmp_path_factory.mktemp("queues") / "queues.db"
    shutil.copyfile(sqlite_template, path)
    with served_queues(path) as started:
        yield started

"""A log, and workers in other processes."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from job_steps import WorkerProcess, fill
from judgeboard.runs.share import Share
from judgeboard.store.engine import Store


@pytest.fixture
def log(store: Store) -> Store:
    """A database with some answers."""
    fill(store)
    return store


@pytest.fixture
def sqlite_log(sqlite_store: Store) -> Store:
    fill(sqlite_store)
    return sqlite_store


@pytest.fixture
def postgres_log(postgres_store: Store) -> Store:
    fill(postgres_store)
    return postgres_store


@pytest.fixture
def stopped(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The workers of this process that drop a chunk, as soon as they are told."""
    workers: list[str] = []
    forget = Share._forget

    def noted(share: Share, chunk: Any) -> None:
        forget(share, chunk)
        workers.append(share._executor_id)

    monkeypatch.setattr(Share, "_forget", noted)
    return workers


@pytest.fixture
def worker_process(tmp_path: Path) -> Iterator[Callable[[Store], WorkerProcess]]:
    started: list[WorkerProcess] = []

    def start(store: Store) -> WorkerProcess:
        started.append(WorkerProcess(store, tmp_path / f"worker-{len(started)}.txt"))
        return started[-1]

    yield start
    for one in started:
        one.kill()

"""A log, and workers in other processes."""

import pytest

from job_steps import WorkerProcess, fill
from judgeboard.runs.share import Share


@pytest.fixture
def log(store):
    """A database with some answers."""
    fill(store)
    return store


@pytest.fixture
def sqlite_log(sqlite_store):
    fill(sqlite_store)
    return sqlite_store


@pytest.fixture
def postgres_log(postgres_store):
    fill(postgres_store)
    return postgres_store


@pytest.fixture
def stopped(monkeypatch):
    """The workers of this process that drop a chunk, as soon as they are told."""
    workers = []
    forget = Share._forget

    def noted(share, chunk):
        forget(share, chunk)
        workers.append(share._executor_id)

    monkeypatch.setattr(Share, "_forget", noted)
    return workers


@pytest.fixture
def worker_process(tmp_path):
    started = []

    def start(store):
        started.append(WorkerProcess(store, tmp_path / f"worker-{len(started)}.txt"))
        return started[-1]

    yield start
    for one in started:
        one.kill()

"""A log, and workers in other processes."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from job_steps import WorkerProcess, fill
from judgeboard.runs.runner import Runner
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
    """Why the runners of this process ask nothing more, as soon as they are told."""
    reasons: list[str] = []
    stop = Runner.stop

    def noted(runner: Runner[Any, Any], why: str) -> None:
        stop(runner, why)
        reasons.append(why)

    monkeypatch.setattr(Runner, "stop", noted)
    return reasons


@pytest.fixture
def worker_process(tmp_path: Path) -> Iterator[Callable[[Store], WorkerProcess]]:
    started: list[WorkerProcess] = []

    def start(store: Store) -> WorkerProcess:
        started.append(WorkerProcess(store, tmp_path / f"worker-{len(started)}.txt"))
        return started[-1]

    yield start
    for one in started:
        one.kill()

"""What tests do with jobs: ask for one, wait for it, work in this process or in another."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from forked_commands import ForkedCommand
from held_endpoint import HeldEndpoint
from judgeboard.domain import Response
from judgeboard.runs.jobs import JobProgress, job_progress, request_rejudge
from judgeboard.runs.worker import Worker
from judgeboard.store.engine import Store
from judgeboard.store.storing import store_responses
from judging_log import address, until

ANSWERS = 24
PATIENCE = 120


def fill(store: Store, answers: int = ANSWERS) -> None:
    with store.writing() as connection:
        store_responses(
            connection,
            [
                Response(
                    "log",
                    f"a{number}",
                    "Which rock?",
                    f"It is number-{number} .",
                    ("Granite.",),
                    "simple",
                )
                for number in range(answers)
            ],
        )


def rag(endpoint: HeldEndpoint, **options: Any) -> dict[str, Any]:
    """What a job asks for: a judge at the held endpoint."""
    return {"kind": "rag", "model": "gpt-4o-mini", "base_url": endpoint.url, **options}


def ask(store: Store, judge: dict[str, Any], **options: Any) -> str:
    return request_rejudge(store, judge=judge, **{"actor": "Mara", "concurrency": 4, **options})


def ended(store: Store, job_id: str) -> JobProgress:
    """Wait until nothing further happens to a job."""
    return until(
        lambda: (job := job_progress(store, job_id)).finished and job, "the end of the job"
    )


def asked(store: Store, job_id: str, least: int) -> JobProgress:
    return until(
        lambda: (job := job_progress(store, job_id)).asked >= least and job, f"{least} verdicts"
    )


@contextmanager
def working(store: Store) -> Iterator[Worker]:
    """Take jobs in this process."""
    worker = Worker(store)
    worker.start()
    try:
        yield worker
    finally:
        worker.stop()


class WorkerProcess:
    """`judgeboard worker` in a process of its own; what it says goes to a file."""

    def __init__(self, store: Store, said: Path) -> None:
        self.said = said
        with said.open("w") as errors:
            self.process = ForkedCommand(
                ["worker", "--db", address(store)], (0, 1, errors.fileno()), os.environ, Path.cwd()
            )

    def kill(self) -> None:
        """End it as a power cut would."""
        self.process.kill()
        self.process.wait()

    def interrupt(self) -> None:
        """Press Ctrl-C; it still finishes what it has begun."""
        self.process.send_signal(signal.SIGINT)

    def wait(self) -> str:
        """Wait for its end and return what it said."""
        self.process.wait(timeout=PATIENCE)
        return self.said.read_text()

"""What tests do with jobs: ask for one, wait for it, work in this process or in another."""

import os
import signal
from contextlib import contextmanager
from pathlib import Path

from forked_commands import ForkedCommand
from judgeboard.domain import Response
from judgeboard.runs.jobs import job_progress, request_rejudge
from judgeboard.runs.worker import Worker
from judgeboard.store.storing import store_responses
from judging_log import address, until

ANSWERS = 24
PATIENCE = 120


def fill(store, answers=ANSWERS):
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


def rag(endpoint, **options):
    """What a job asks for: a judge at the held endpoint."""
    return {"kind": "rag", "model": "gpt-4o-mini", "base_url": endpoint.url, **options}


def ask(store, judge, **options):
    return request_rejudge(store, judge=judge, **{"actor": "Mara", "concurrency": 4, **options})


def ended(store, job_id):
    """Wait until nothing further happens to a job."""
    return until(
        lambda: (job := job_progress(store, job_id)).finished and job, "the end of the job"
    )


def asked(store, job_id, least):
    return until(
        lambda: (job := job_progress(store, job_id)).asked >= least and job, f"{least} verdicts"
    )


@contextmanager
def working(store):
    """Take jobs in this process."""
    worker = Worker(store)
    worker.start()
    try:
        yield worker
    finally:
        worker.stop()


class WorkerProcess:
    """`judgeboard worker` in a process of its own; what it says goes to a file."""

    def __init__(self, store, said):
        self.said = said
        with said.open("w") as errors:
            self.process = ForkedCommand(
                ["worker", "--db", address(store)], (0, 1, errors.fileno()), os.environ, Path.cwd()
            )

    def kill(self):
        """End it as a power cut would."""
        self.process.kill()
        self.process.wait()

    def interrupt(self):
        """Press Ctrl-C; it still finishes what it has begun."""
        self.process.send_signal(signal.SIGINT)

    def wait(self):
        """Wait for its end and return what it said."""
        self.process.wait(timeout=PATIENCE)
        return self.said.read_text()


def done(store, job_id):
    """Work in this process until a job has ended; return it."""
    with working(store):
        return ended(store, job_id)


def until_asked(endpoint, count):
    """Wait until a held endpoint has so many requests, answered or kept waiting."""
    until(lambda: len(endpoint.server.requests) == count, f"{count} requests")

"""Runs a server under load for a long time, kills it again and again, and counts what was lost.

A sender posts answers, a judging rule judges them against an endpoint that answers after 200 ms,
and a reviewer decides flags over the API. In the first half, SIGKILL ends the server every minute,
on PostgreSQL also the worker beside it. The second half has no kills: memory that grows there is a
leak. At the end each answer that was acknowledged must be stored once, and judged once; each review
that was acknowledged must be stored once; calls that were made twice can only be those in flight at
a kill.

    python benchmarks/soak.py [--minutes 25] [--rate 20] [--postgresql]
"""

import argparse
import contextlib
import itertools
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median
from typing import Any

import httpx
from servers import JUDGEBOARD, free_port, usage
from sqlalchemy import func, select
from worker_rate import server, until

from judgeboard.llm.recording_endpoint import RecordingEndpoint, ScriptedReply, verdict
from judgeboard.runs.judging_rules import add_rule
from judgeboard.store.engine import Store
from judgeboard.store.opening import open_store
from judgeboard.store.tables import JUDGMENT, RESPONSE, REVIEW

LATENCY_SECONDS = 0.2
CONCURRENCY = 8
KILL_EVERY = 60.0
SAMPLE_EVERY = 10.0
BATCH = 5  # answers a request
MOST_GROWTH = 1.10  # of memory in the second half, between its first and its last third
GOOD = replace(verdict(), delay_s=LATENCY_SECONDS)
POOR = replace(verdict(groundedness=0.1, quality=1), delay_s=LATENCY_SECONDS)


def reply(_request: dict[str, Any], number: int) -> ScriptedReply:
    """Return a poor verdict for each fourth call: it raises flags for the reviewer."""
    return GOOD if number % 4 else POOR


@dataclass
class Processes:
    """A server, and on PostgreSQL a worker beside it; they are killed and started again."""

    port: int
    commands: list[list[str]]
    running: list[subprocess.Popen[bytes]] = field(default_factory=list)
    kills: int = 0

    @property
    def address(self) -> str:
        """The address of the server."""
        return f"http://localhost:{self.port}"

    def start(self) -> None:
        """Start what does not run."""
        for each in self.commands[len(self.running) :]:
            quiet = subprocess.DEVNULL
            self.running.append(
                subprocess.Popen(each, start_new_session=True, stdout=quiet, stderr=quiet)
            )

    def kill(self) -> None:
        """End all with SIGKILL."""
        self.end(signal.SIGKILL)
        self.kills += 1

    def end(self, how: signal.Signals) -> None:
        """End all with a signal, and wait."""
        for process in self.running:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, how)
        for process in self.running:
            process.wait()
        self.running.clear()

    def memory(self) -> float:
        """Return the resident memory of all, in MB."""
        return sum(usage(process.pid)[0] for process in self.running)


class Client:
    """Posts to a server that is killed now and then: a request without a reply is sent again."""

    def __init__(self, address: str, closing: threading.Event) -> None:
        self._http = httpx.Client(base_url=address, timeout=10)
        self._closing = closing

    def request(self, method: str, path: str, **content: Any) -> httpx.Response | None:
        """Send until there is a reply that is no refusal for now; None at the end."""
        while not self._closing.is_set():
            with contextlib.suppress(httpx.TransportError):
                response = self._http.request(method, path, **content)
                if response.status_code not in {429, 503}:
                    return response
            self._closing.wait(0.5)
        return None


def send_answers(
    client: Client, rate: float, closing: threading.Event, acknowledged: list[str]
) -> None:
    """Send answers at a steady rate, and note the ids of those that were acknowledged."""
    due = time.monotonic()
    for batch in itertools.count():
        ids = [f"answer-{batch}-{place}" for place in range(BATCH)]
        context = [f"Passage of {id_}. " + "Nylon melts at about 250 °C. " * 20 for id_ in ids]
        answers = [
            {
                "external_id": id_,
                "query": f"Question {id_}?",
                "answer": f"Answer {id_}.",
                "context": [passage],
            }
            for id_, passage in zip(ids, context, strict=True)
        ]
        response = client.request("POST", "/api/responses", json=answers)
        if response is None:
            return
        if response.status_code != 200:
            raise SystemExit(f"answers: {response.status_code} {response.text[:300]}")
        acknowledged.extend(ids)
        due += BATCH / rate
        if closing.wait(max(0.0, due - time.monotonic())):
            return


def review_flags(client: Client, closing: threading.Event, acknowledged: list[str]) -> None:
    """Decide flags, oldest first, and note the keys of the reviews that were acknowledged."""
    after = 0
    while not closing.wait(1):
        page = client.request("GET", "/api/flags", params={"after": after, "limit": 20})
        for flag in [] if page is None else page.json()["flags"]:
            after, key = flag["flag"], f"soak-{flag['flag']}"
            sent = {
                "reviewer": "ann",
                "flag": after,
                "decision": "confirm",
                "quality": 1,
                "request_key": key,
            }
            response = client.request("POST", "/api/reviews", json=sent)
            if response is None:
                return
            if response.status_code == 200:
                acknowledged.append(key)
            elif response.status_code != 409:  # a review of the same answer has decided it
                raise SystemExit(f"reviews: {response.status_code} {response.text[:300]}")


@contextlib.contextmanager
def database(*, postgresql: bool) -> Iterator[str]:
    """Give the address of a new database."""
    if postgresql:
        with server() as uri:
            yield uri
        return
    with tempfile.TemporaryDirectory(prefix="judgeboard-soak-") as folder:
        yield str(Path(folder) / "soak.db")


def soak(chosen: argparse.Namespace, url: str, endpoint: RecordingEndpoint) -> bool:
    """Run, print, and return whether nothing was lost, nothing stored twice, and memory did not grow."""
    store = open_store(url, create=True)
    judge = {"kind": "rag", "model": "mock", "base_url": endpoint.base_url}
    add_rule(store, "all", judge=judge, concurrency=CONCURRENCY, actor="benchmark")
    port = free_port()
    commands = [[*JUDGEBOARD, "serve", "--db", url, "--port", str(port)]]
    commands += [[*JUDGEBOARD, "worker", "--db", url]] if chosen.postgresql else []
    processes = Processes(port, commands)
    answers: list[str] = []
    reviews: list[str] = []
    closing = threading.Event()
    threads = [
        threading.Thread(
            target=send_answers,
            args=(Client(processes.address, closing), chosen.rate, closing, answers),
            daemon=True,
        ),
        threading.Thread(
            target=review_flags,
            args=(Client(processes.address, closing), closing, reviews),
            daemon=True,
        ),
    ]
    memory: list[tuple[float, float]] = []
    processes.start()
    begun = time.monotonic()
    half, end = begun + 30 * chosen.minutes, begun + 60 * chosen.minutes
    try:
        for thread in threads:
            thread.start()
        killed = begun
        while (now := time.monotonic()) < end:
            if now < half and now - killed >= KILL_EVERY:
                processes.kill()
                processes.start()
                killed = now
            if not all(thread.is_alive() for thread in threads):
                raise SystemExit("a client ended early")
            memory.append((now, processes.memory()))
            time.sleep(SAMPLE_EVERY)
        closing.set()
        for thread in threads:
            thread.join()
        until(
            lambda: _count(store, JUDGMENT.c.id) >= _count(store, RESPONSE.c.id),
            "the judgments",
            every_s=1,
        )
    finally:
        processes.end(signal.SIGTERM)
    grown = _growth([each for at, each in memory if at >= half + KILL_EVERY])
    return report(store, processes, answers, reviews, len(endpoint.requests), grown)


def _growth(memory: list[float]) -> tuple[float, float]:
    """Return the memory in the first and in the last third, in MB."""
    third = max(1, len(memory) // 3)
    return median(memory[:third]), median(memory[-third:])


def _count(store: Store, column: Any) -> int:
    with store.reading() as connection:
        return int(connection.execute(select(func.count(column))).scalar_one())


def report(
    store: Store,
    processes: Processes,
    answers: list[str],
    reviews: list[str],
    calls: int,
    memory: tuple[float, float],
) -> bool:
    """Print what is stored beside what was acknowledged; return whether all of it is as it must be."""
    with store.reading() as connection:
        stored = connection.execute(select(RESPONSE.c.external_id)).scalars().all()
        judged = connection.execute(select(JUDGMENT.c.response_id)).scalars().all()
        keys = [
            key.rpartition(":")[2]
            for key in connection.execute(select(REVIEW.c.request_key)).scalars()
        ]
    repeated = calls - len(judged)
    most_repeated = processes.kills * CONCURRENCY * len(processes.commands)
    first, last = memory
    checks = {
        f"{len(answers):,} answers acknowledged, {len(stored):,} stored": set(answers)
        <= set(stored),
        f"{len(stored):,} answers, {len(judged):,} judgments": len(judged)
        == len(set(judged))
        == len(stored),
        f"{len(reviews):,} reviews acknowledged, {len(keys):,} stored": set(reviews) <= set(keys),
        f"{calls:,} calls, {repeated:,} of them made again after {processes.kills} kills, at most {most_repeated:,}": (
            0 <= repeated <= most_repeated
        ),
        f"memory without kills: {first:.0f} MB, then {last:.0f} MB, at most {MOST_GROWTH:g} times as much": (
            last <= MOST_GROWTH * first
        ),
    }
    for words, holds in checks.items():
        print(f"{words}: {'ok' if holds else 'WRONG'}", flush=True)
    return all(checks.values())


def main() -> int:
    """Run, print; exit code 1 if anything was lost or stored twice, or memory grew."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=25)
    parser.add_argument("--rate", type=float, default=20, help="answers per second")
    parser.add_argument(
        "--postgresql", action="store_true", help="a server and a worker on PostgreSQL"
    )
    chosen = parser.parse_args()
    with database(postgresql=chosen.postgresql) as url, RecordingEndpoint(reply) as endpoint:
        return 0 if soak(chosen, url, endpoint) else 1


if __name__ == "__main__":
    sys.exit(main())

"""Measures how many traces the receiver acknowledges per second, each durable, and how much memory it needs.

    python benchmarks/receiving.py [--traces 20000] [--batch 100] [--senders 4] [--db URL]

Each trace has three spans and about 5 kB. The senders are processes of their own on the same machine.
"""

import argparse
import multiprocessing
import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from sqlalchemy import func, select

from judgeboard.store.engine import open_store
from judgeboard.store.tables import SPAN, TRACE

WORDS = [f"word{number}" for number in range(4000)]


def batch(first: int, traces: int, chance: random.Random) -> bytes:
    """Return a request with traces of three spans: a root, a retrieval and a call of a model."""
    request = ExportTraceServiceRequest()
    group = request.resource_spans.add()
    group.resource.attributes.add(key="service.name").value.string_value = "benchmark"
    spans = group.scope_spans.add().spans

    def text(words: int) -> str:
        return " ".join(chance.choices(WORDS, k=words))

    for number in range(first, first + traces):
        question, answer, passage = text(15), text(80), text(250)
        parts = (
            ("CHAIN", {"input.value": question, "output.value": answer}),
            ("RETRIEVER", {"input.value": question, "retrieval.documents.0.document.content": passage}),
            ("LLM", {"input.value": question, "output.value": answer, "llm.model_name": "m"}),
        )
        for place, (kind, attributes) in enumerate(parts):
            span = spans.add(
                trace_id=number.to_bytes(16), span_id=(number * 4 + place + 1).to_bytes(8), name=kind.lower()
            )
            span.start_time_unix_nano, span.end_time_unix_nano = 10**18 + place, 10**18 + 10**9
            if place:
                span.parent_span_id = (number * 4 + 1).to_bytes(8)
            for key, value in (("openinference.span.kind", kind), *attributes.items()):
                span.attributes.add(key=key).value.string_value = value
    return request.SerializeToString()


def send(port: int, sender: int, traces: int, size: int, start: float) -> None:
    """Send a sender's share of the traces, and try again after 503."""
    chance = random.Random(sender)
    bodies = [batch(sender * 10**9 + at, size, chance) for at in range(1, traces + 1, size)]
    if not sender:
        print(f"one trace has {len(bodies[0]) / size / 1000:.1f} kB")
    time.sleep(max(0.0, start - time.time()))
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as http:
        for body in bodies:
            while (
                http.post("/v1/traces", content=body, headers={"content-type": "application/x-protobuf"}).status_code
                == 503
            ):
                time.sleep(1)


def memory(pid: int) -> float:
    """Return the resident memory of a process in MB."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def processor(pid: int) -> float:
    """Return the processor time of a process in seconds, which other load on the machine hardly changes."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Start a receiver, send, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--traces", type=int, default=20_000)
    parser.add_argument("--batch", type=int, default=100)
    parser.add_argument("--senders", type=int, default=4)
    parser.add_argument("--db", help="database URL (default: a new SQLite file)")
    chosen = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="receiving-"))
    database = chosen.db or str(folder / "receiving.db")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [str(Path(sys.executable).with_name("judgeboard")), "receive", "--port", str(port), "--db", database]
    with subprocess.Popen(command) as process:
        try:
            measure(process.pid, port, chosen, database)
        finally:
            process.terminate()
    shutil.rmtree(folder)


def answers(database: str) -> int:
    """Return the number of answers so far."""
    store = open_store(database)
    with store.reading() as connection:
        made = connection.execute(select(func.count()).where(TRACE.c.state == "made")).scalar_one()
    store.close()
    return int(made)


def measure(pid: int, port: int, chosen: argparse.Namespace, database: str) -> None:
    """Send while the receiver runs, and print the figures."""
    while True:
        try:
            httpx.get(f"http://127.0.0.1:{port}/healthz")
            break
        except httpx.TransportError:
            time.sleep(0.1)
    idle, used, share = memory(pid), processor(pid), chosen.traces // chosen.senders
    start = time.time() + 5 + chosen.traces / 5_000  # the senders make their requests before
    senders = [
        multiprocessing.Process(target=send, args=(port, number, share, chosen.batch, start))
        for number in range(chosen.senders)
    ]
    for each in senders:
        each.start()
    most = idle
    while any(each.is_alive() for each in senders):
        most = max(most, memory(pid))
        time.sleep(0.1)
    seconds, used = time.time() - start, processor(pid) - used
    store = open_store(database)
    with store.reading() as connection:
        spans = connection.execute(select(func.count()).select_from(SPAN)).scalar_one()
    traces = share * chosen.senders
    print(
        f"acknowledged: {traces:,} traces in {seconds:.1f} s: {traces / seconds:,.0f} traces/s, stored {spans:,} spans"
    )
    print(f"processor time of the receiver: {used:.1f} s, of which a part made {answers(database):,} answers")
    print(f"memory: {idle:.0f} MB idle, at most {most:.0f} MB under load")
    began = time.time()
    store.close()
    while (made := answers(database)) < traces and time.time() - began < 600:
        time.sleep(0.5)
    print(
        f"answers: {made:,}, the last {time.time() - began:.0f} s after the last request; memory {memory(pid):.0f} MB"
    )
    store.close()


if __name__ == "__main__":
    main()

"""Sends traces as assistants do: from several processes, over connections that stay open, at full or at a steady rate.

Each trace has three spans (a root, a retrieval, a call of a model) and about 5 kB.
"""

import multiprocessing
import random
import struct
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

WORDS = [f"word{number}" for number in range(4000)]
TEMPLATES = 8  # different requests of a sender; only the ids of the others differ
IN_TRACE, IN_SPAN = (
    b"\xfe\xfd\xfc\xfb\xfa\xf9\xf8\xf7",
    b"\xfe\xfd\xfc\xfb",
)  # where ids are put in; no text has them
PROTOBUF = {"content-type": "application/x-protobuf"}


@dataclass(frozen=True)
class Load:
    """What to send: ``traces`` in all, for at most ``seconds``; ``rate`` is traces per second (None: no limit)."""

    address: str
    traces: int
    batch: int = 100
    senders: int = 4
    seconds: float = 3600.0
    rate: float | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


def batch(traces: int, chance: random.Random) -> bytes:
    """Return a request whose ids have a place for the number of the request."""
    request = ExportTraceServiceRequest()
    group = request.resource_spans.add()
    group.resource.attributes.add(key="service.name").value.string_value = "benchmark"
    spans = group.scope_spans.add().spans

    def text(words: int) -> str:
        return " ".join(chance.choices(WORDS, k=words))

    now = time.time_ns()
    for number in range(1, traces + 1):
        question, answer, passage = text(15), text(80), text(320)
        parts = (
            ("CHAIN", {"input.value": question, "output.value": answer}),
            (
                "RETRIEVER",
                {"input.value": question, "retrieval.documents.0.document.content": passage},
            ),
            ("LLM", {"input.value": question, "output.value": answer, "llm.model_name": "m"}),
        )
        for place, (kind, attributes) in enumerate(parts):
            span = spans.add(
                trace_id=IN_TRACE + number.to_bytes(8),
                span_id=IN_SPAN + (number * 4 + place).to_bytes(4),
            )
            span.name = kind.lower()
            span.start_time_unix_nano, span.end_time_unix_nano = now + place, now + 10**9
            if place:
                span.parent_span_id = IN_SPAN + (number * 4).to_bytes(4)
            for key, value in (("openinference.span.kind", kind), *attributes.items()):
                span.attributes.add(key=key).value.string_value = value
    return bytes(request.SerializeToString())


def _send(load: Load, sender: int, start: Any, results: Any) -> None:
    """Send the share of one sender, and put (traces, refusals, bytes of a trace, end) into ``results``."""
    chance = random.Random(sender)
    templates = [batch(load.batch, chance) for _ in range(TEMPLATES)]
    share, acknowledged, refused = load.traces // load.senders, 0, 0
    pause = 0.0 if load.rate is None else load.batch * load.senders / load.rate
    mark = int(time.time()) % 2**16
    with httpx.Client(timeout=120, headers={**PROTOBUF, **load.headers}) as http:
        start.wait()
        began = due = time.monotonic()
        number = 0
        while acknowledged < share and time.monotonic() - began < load.seconds:
            stamp = struct.pack(">HHI", mark, sender, number)
            body = (
                templates[number % TEMPLATES]
                .replace(IN_TRACE, stamp)
                .replace(IN_SPAN, bytes([sender]) + number.to_bytes(3))
            )
            while (status := http.post(load.address, content=body).status_code) in {429, 503}:
                refused += 1
                time.sleep(0.5)
            if status != 200:
                raise SystemExit(f"{load.address} answered {status}")
            acknowledged, number, due = acknowledged + load.batch, number + 1, due + pause
            time.sleep(max(0.0, due - time.monotonic()))
    results.put((acknowledged, refused, len(templates[0]) / load.batch, time.time()))


@dataclass
class Sending:
    """Senders at work; `result` waits for them."""

    processes: Sequence[Any]
    results: Any
    began: float

    @property
    def busy(self) -> bool:
        """Whether any still sends."""
        return any(each.is_alive() for each in self.processes)

    def result(self) -> tuple[int, float, int, float]:
        """Return the acknowledged traces, the seconds until the last, the refusals, and the bytes of a trace."""
        each = [self.results.get(timeout=7200) for _ in self.processes]
        for process in self.processes:
            process.join()
        traces, refused = (sum(sender[place] for sender in each) for place in (0, 1))
        return traces, max(sender[3] for sender in each) - self.began, refused, each[0][2]


def start_sending(load: Load) -> Sending:
    """Start the senders once all have made their requests."""
    start = multiprocessing.Barrier(load.senders + 1)
    results: multiprocessing.Queue[Any] = multiprocessing.Queue()
    processes = [
        multiprocessing.Process(target=_send, args=(load, number, start, results))
        for number in range(load.senders)
    ]
    for each in processes:
        each.start()
    start.wait()
    return Sending(processes, results, time.time())

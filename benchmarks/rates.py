"""Shared by the benchmarks of rates: the clock, the plain client, the endpoint, alternating turns.

This file is no benchmark; `judging_rate` and `pair_rate` are.
"""

import argparse
import asyncio
import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import openai

from judgeboard.llm.chat import ChatRequest

MODEL = "mock"


@dataclass
class Clock:
    """Wall and CPU time of so many calls from ``start``, which counts once, until ``stop``."""

    calls: int
    seconds: float = 0.0
    cpu: float = 0.0
    _began: tuple[float, float] | None = field(default=None, repr=False)

    def start(self) -> None:
        """Note the first request."""
        if self._began is None:
            self._began = time.perf_counter(), time.process_time()

    def stop(self) -> None:
        """Note the end."""
        assert self._began is not None
        self.seconds = time.perf_counter() - self._began[0]
        self.cpu = time.process_time() - self._began[1]

    @property
    def rate(self) -> float:
        """Calls a second."""
        return self.calls / self.seconds

    @property
    def cpu_ms(self) -> float:
        """CPU milliseconds a call."""
        return 1000 * self.cpu / self.calls


# One way to make the calls, at a concurrency, to a base URL.
Turn = Callable[[str, int], Clock]


def plain(requests: Sequence[ChatRequest]) -> Turn:
    """Return the turn that asks the same questions with the client alone, as its documentation shows it."""

    def turn(base_url: str, concurrency: int) -> Clock:
        clock = Clock(len(requests))

        async def ask_all() -> list[Any]:
            clock.start()
            client = openai.AsyncOpenAI(base_url=base_url, api_key="none")
            free = asyncio.Semaphore(concurrency)

            async def ask(request: ChatRequest) -> Any:
                messages: Any = request.messages
                schema: Any = {
                    "name": request.schema_name,
                    "strict": True,
                    "schema": request.schema,
                }
                async with free:
                    reply = await client.chat.completions.create(
                        model=MODEL,
                        messages=messages,
                        temperature=0,
                        max_tokens=request.max_output,
                        response_format={"type": "json_schema", "json_schema": schema},
                    )
                return json.loads(reply.choices[0].message.content or "")

            verdicts = await asyncio.gather(*(ask(request) for request in requests))
            clock.stop()
            await client.close()
            return verdicts

        if len(asyncio.run(ask_all())) != len(requests):
            sys.exit("the plain client lost calls")
        return clock

    return turn


@contextlib.contextmanager
def endpoint(
    given: str | None, content: str | None = None, latency_ms: float = 200.0
) -> Iterator[str]:
    """Give the address of the mock, starting our own where none is given; ``content`` is what its replies say."""
    if given is not None:
        yield given
        return
    command = [
        sys.executable,
        "-m",
        "judgeboard.llm.recording_endpoint",
        "--latency-ms",
        str(latency_ms),
    ]
    command += [] if content is None else ["--content", content]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield server.stdout.readline().strip()
        finally:
            server.terminate()


def parsed(description: str | None) -> argparse.Namespace:
    """Read the options that these benchmarks have."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mock", metavar="URL", help="a running endpoint, with /v1")
    parser.add_argument("--rows", type=int, default=2048)
    parser.add_argument("--concurrency", type=int, nargs="+", default=[64, 256])
    parser.add_argument("--rounds", type=int, default=3)
    return parser.parse_args()


def take_turns(
    turns: Mapping[str, Turn], chosen: argparse.Namespace, base_url: str, unit: str
) -> None:
    """Let every turn run in each round, and print its rate and the ratios of the medians to that of the plain client.

    Args:
        turns: ``plain`` and ``judgeboard``, in the order in which they run.
        chosen: What `parsed` read.
        base_url: Where the calls go.
        unit: What a call is for: "row".
    """
    for concurrency in chosen.concurrency:
        print(f"{chosen.rows:,} rows, {concurrency} at once:")
        taken: dict[str, list[Clock]] = {name: [] for name in turns}
        for _ in range(chosen.rounds):
            for name, turn in turns.items():
                clock = turn(base_url, concurrency)
                taken[name].append(clock)
                print(
                    f"  {name:10} {clock.rate:8,.0f} {unit}s/s  {clock.cpu_ms:6.2f} CPU ms/{unit}",
                    flush=True,
                )
        rate, cpu = (
            {
                name: median(getattr(clock, what) for clock in clocks)
                for name, clocks in taken.items()
            }
            for what in ("rate", "cpu_ms")
        )
        print(
            f"  medians: {rate['judgeboard']:,.0f} against {rate['plain']:,.0f} {unit}s/s = "
            f"{rate['judgeboard'] / rate['plain']:.2f} x; {cpu['judgeboard']:.2f} against {cpu['plain']:.2f} "
            f"CPU ms/{unit} = {cpu['judgeboard'] / cpu['plain']:.2f} x"
        )

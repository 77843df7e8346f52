"""Measures how many traces the receiver acknowledges per second, each durable, and how much memory it needs.

    python benchmarks/receiving.py [--traces 20000] [--batch 100] [--senders 4] [--db URL]
    python benchmarks/receiving.py --spans 1000000           # memory and the making of answers over a long time
    python benchmarks/receiving.py --steady                  # the highest rate at which answers do not fall behind
    python benchmarks/receiving.py --beside phoenix,mlflow   # the same load to each tool in turn, for --seconds

Each trace has three spans and about 5 kB. The senders are processes of their own on the same
machine. A 200 of Judgeboard means that the spans are stored. Phoenix and MLflow run from the group
`integrations` with their defaults on SQLite; Phoenix acknowledges spans before it stores them, so
the rate until all are in its database is printed too.
"""

import argparse
import shutil
import sqlite3
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from statistics import mean

from servers import free_port, served, tool_server, usage
from span_load import Load, start_sending
from sqlalchemy import func, select
from sqlalchemy.exc import OperationalError

from judgeboard.store.engine import Store
from judgeboard.store.opening import open_store
from judgeboard.store.tables import SPAN, TRACE

FLAT = 1.1  # the memory of the last quarter may be this many times that of the first
SAMPLE_SECONDS, COUNT_SECONDS = 0.25, 5.0
STORED_SECONDS = 300.0  # how long acknowledged spans are waited for
STEADY_SECONDS, FASTER = 20.0, 1.2  # of one rate, and the next rate to this one
MOST_BEHIND = 5.0  # seconds from a trace to its answer: 2 are the pause after which a trace counts as complete


def main() -> None:
    """Start a receiver, send, and print the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--traces", type=int, default=20_000)
    parser.add_argument("--spans", type=int, help="as many spans instead, three in each trace")
    parser.add_argument("--batch", type=int, default=100, help="traces in a request")
    parser.add_argument("--senders", type=int, default=4)
    parser.add_argument(
        "--steady", action="store_true", help="find the rate at which answers keep up"
    )
    parser.add_argument("--db", help="database URL (default: a new SQLite file)")
    parser.add_argument(
        "--beside", default="", help="tools that get the same load: phoenix, mlflow"
    )
    parser.add_argument(
        "--seconds", type=float, default=30, help="how long each gets it beside others (default 30)"
    )
    chosen = parser.parse_args()
    chosen.traces = chosen.spans // 3 if chosen.spans else chosen.traces
    folder = Path(tempfile.mkdtemp(prefix="receiving-"))
    try:
        if chosen.beside:
            side_by_side(chosen.beside.split(","), chosen, folder)
        elif chosen.steady:
            steady(chosen, folder)
        else:
            receive(chosen, folder)
    finally:
        shutil.rmtree(folder)


@contextmanager
def receiver(database: str | None, folder: Path) -> Iterator[tuple[str, int, str]]:
    """Run a receiver; yields its address, its session, and its database, by default one in the folder."""
    database, port = database or str(folder / "receiving.db"), str(free_port())
    command = [
        str(Path(sys.executable).with_name("judgeboard")),
        "sources",
        "receive",
        "--port",
        port,
        "--db",
        database,
    ]
    address = f"http://127.0.0.1:{port}"
    with served(command, f"{address}/healthz", folder=folder) as session:
        yield address, session, database


def receive(chosen: argparse.Namespace, folder: Path) -> None:
    """Send to a receiver, watch its memory, and wait until all traces are answers."""
    with receiver(chosen.db, folder) as (address, session, database):
        store = open_store(database)
        idle, used = usage(session)
        before = rows(store)
        sending = start_sending(
            Load(f"{address}/v1/traces", chosen.traces, chosen.batch, chosen.senders)
        )
        memory, counted = [], time.monotonic()
        while sending.busy:
            memory.append(usage(session)[0])
            if time.monotonic() - counted > COUNT_SECONDS:
                made, counted = rows(store)[1] - before[1], time.monotonic()
                print(
                    f"  {time.time() - sending.began:5.0f} s: {memory[-1]:4.0f} MB, {made:,} answers",
                    flush=True,
                )
            time.sleep(SAMPLE_SECONDS)
        traces, seconds, refused, size = sending.result()
        spans, made = (now - then for now, then in zip(rows(store), before, strict=True))
        print(
            f"acknowledged: {traces:,} traces of {size / 1000:.1f} kB in {seconds:.1f} s:"
            f" {traces / seconds:,.0f} traces/s, {3 * traces / seconds:,.0f} spans/s; refused and sent again: {refused}"
        )
        print(
            f"stored: {spans:,} spans of {3 * traces:,} acknowledged{'' if spans == 3 * traces else '   LOST'}"
        )
        took = usage(session)[1] - used
        print(
            f"processor time: {took:.1f} s, {1000 * took / traces:.2f} s for 1,000 traces, also for {made:,} answers"
        )
        quarter = max(1, len(memory) // 4)
        first, last = mean(memory[:quarter]), mean(memory[-quarter:])
        print(
            f"memory: {idle:.0f} MB idle; first quarter {first:.0f} MB, last {last:.0f} MB, most {max(memory):.0f} MB"
        )
        print(
            f"memory, last quarter to first: {last / first:.2f}   limit {FLAT} (over 1,000,000 spans)"
        )
        began, left = time.monotonic(), traces - made
        while made < traces and time.monotonic() - began < 3600:
            time.sleep(0.5)
            made = rows(store)[1] - before[1]
        behind = time.monotonic() - began
        print(
            f"answers: {left:,} behind after the last request, made {behind:.0f} s later:"
            f" {left / behind if behind else 0:,.0f} answers/s; memory {usage(session)[0]:.0f} MB"
        )
        store.close()


def steady(chosen: argparse.Namespace, folder: Path) -> None:
    """Send at higher and higher rates until the traces that wait for their answer become more and more."""
    rate, kept = 200.0, 0.0
    with receiver(chosen.db, folder) as (address, _, database):
        store = open_store(database)
        while True:
            load = Load(
                f"{address}/v1/traces", int(rate * STEADY_SECONDS), 20, chosen.senders, rate=rate
            )
            before = rows(store)[1]
            traces, seconds, _, _ = start_sending(load).result()
            behind = traces - (rows(store)[1] - before)
            print(
                f"  {rate:,.0f} traces/s: {traces / seconds:,.0f} acknowledged, {behind:,} behind at the end",
                flush=True,
            )
            if behind > MOST_BEHIND * rate or traces / seconds < 0.95 * rate:
                break
            kept, rate = rate, rate * FASTER
            while rows(store)[1] < before + traces:
                time.sleep(0.5)
        print(f"answers: keeps up with {kept:,.0f} traces/s")
        store.close()


def rows(store: Store) -> tuple[int, int]:
    """Return the numbers of spans and of answers so far."""
    try:
        with store.reading() as connection:
            spans = connection.execute(select(func.count()).select_from(SPAN)).scalar_one()
            made = connection.execute(
                select(func.count()).where(TRACE.c.state == "made")
            ).scalar_one()
    except OperationalError:
        return 0, 0
    return int(spans), int(made)


# Beside other tools


def side_by_side(names: Sequence[str], chosen: argparse.Namespace, folder: Path) -> None:
    """Send the same load to Judgeboard and to other tools, one after the other, and print the ratios."""
    rates: dict[str, float] = {}
    for name in ("judgeboard", *names):
        place = folder / name
        place.mkdir()
        with ExitStack() as running:
            headers: dict[str, str] = {}
            if name == "judgeboard":
                address, session, _ = running.enter_context(receiver(chosen.db, place))
            else:
                address, session, headers = running.enter_context(tool_server(name, place))
            used, target = usage(session)[1], f"{address}/v1/traces"
            load = Load(
                target, chosen.traces, chosen.batch, chosen.senders, chosen.seconds, headers=headers
            )
            traces, seconds, refused, _ = start_sending(load).result()
            memory, took = usage(session)
            took = 1000 * (took - used) / max(1, traces)
            rates[name] = traces / (seconds + stored_after(name, place, 3 * traces))
            print(
                f"{name:12} {traces:7,} traces in {seconds:5.1f} s: {traces / seconds:7,.0f} traces/s acknowledged,"
                f" {rates[name]:7,.0f} stored;"
                f" processor {took:6.2f} s for 1,000; {memory:5.0f} MB; refused {refused}",
                flush=True,
            )
    for name in names:
        print(
            f"traces/s stored, judgeboard to {name}: {rates['judgeboard'] / max(rates[name], 1e-9):.1f}"
        )


def stored_after(name: str, folder: Path, spans: int) -> float:
    """Return the seconds until all acknowledged spans are in the database of a tool; infinite if they never are."""
    if name == "judgeboard":
        return 0.0  # it acknowledges what is stored
    began = time.monotonic()
    while time.monotonic() - began < STORED_SECONDS:
        with closing(sqlite3.connect(f"file:{folder / name}.db?mode=ro", uri=True)) as database:
            if database.execute("SELECT count(*) FROM spans").fetchone()[0] >= spans:
                return time.monotonic() - began
        time.sleep(0.2)
    return float("inf")


if __name__ == "__main__":
    main()

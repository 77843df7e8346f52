"""Measures the cost of storing: CPU milliseconds per response and per judgment, flags and current judgments included.

Example: `python benchmarks/storing_rate.py --rows 3200 --batch 16 --batch 64 [--db URL]`
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from judgeboard.domain import (
    Attempt,
    Feedback,
    FeedbackKind,
    JudgeVersion,
    Response,
    Status,
    Verdict,
)
from judgeboard.store.engine import Store
from judgeboard.store.judge_versions import ensure_version
from judgeboard.store.judgments import NewJudgment
from judgeboard.store.opening import open_store
from judgeboard.store.storing import store_judgments, store_responses
from judgeboard.store.tables import StoredVersion

START = datetime(2026, 1, 1, tzinfo=UTC)
RAW = '{"groundedness": 0.8, "quality": 3}' * 10


def answers(rows: int, source: str) -> list[Response]:
    """Answers of a few hundred words; every third has feedback."""
    return [
        Response(
            source,
            f"answer-{number}",
            f"question {number}",
            "an answer of some words " * 20,
            ("a passage of some more words " * 40,),
            query_type=("simple", "complex", "sql")[number % 3],
            asked_at=START + timedelta(hours=number),
            feedback=(Feedback(FeedbackKind.THUMBS, number % 2),) if number % 3 == 0 else (),
        )
        for number in range(rows)
    ]


def verdict(number: int) -> Verdict:
    """A verdict with its raw text; every fifth is low and raises flags."""
    low = number % 5 == 0
    attempts = (Attempt("first", "ok", RAW, 500, 100, 200),)
    return Verdict(
        Status.OK,
        raw=RAW,
        attempts=attempts,
        groundedness=0.3 if low else 0.8,
        quality=1 if low else 3,
        reasoning="because " * 30,
    )


def timed(rows: int, work: Callable[[], None]) -> str:
    """Run it; return CPU and elapsed milliseconds a row."""
    cpu, elapsed = time.process_time(), time.perf_counter()
    work()
    spent = (time.process_time() - cpu, time.perf_counter() - elapsed)
    return "   ".join(f"{1_000 * seconds / rows:7.3f}" for seconds in spent)


def measure(store: Store, rows: int, batch: int) -> None:
    """Store the same log in batches of one size: new, again, judged by two judges and by a new version of the first."""
    log = answers(rows, f"log in batches of {batch}")
    ids: list[int] = []

    def store_log() -> None:
        for start in range(0, rows, 1_000):
            with store.writing() as connection:
                ids.extend(store_responses(connection, log[start : start + 1_000]).new)

    print(f"batch {batch}: {'CPU ms/row':>26}   elapsed")
    print(f"  responses, new          {timed(rows, store_log)}")
    print(f"  responses, again        {timed(rows, store_log)}")
    judges: tuple[tuple[str, dict[str, int]], ...] = (
        ("rag", {}),
        ("nli", {}),
        ("rag", {"temperature": 1}),
    )
    for name, params in judges:
        with store.writing() as connection:
            version = ensure_version(connection, JudgeVersion(name, name, params=params))

        def judge(version: StoredVersion = version) -> None:  # bound for the loop
            for start in range(0, rows, batch):
                items = [
                    NewJudgment(ids[at], 0, 0, verdict(at))
                    for at in range(start, min(start + batch, rows))
                ]
                with store.writing() as connection:
                    store_judgments(connection, version, None, items)

        print(f"  judgments of {version.title:<10} {timed(rows, judge)}")


def main() -> None:
    """Measure on a database of its own, or on the one that is named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=3_200)
    parser.add_argument("--batch", type=int, action="append")
    parser.add_argument("--db")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(options.db or Path(folder) / "storing.db", create=True)
        for batch in options.batch or [16, 64]:
            measure(store, options.rows, batch)
        store.close()


if __name__ == "__main__":
    main()

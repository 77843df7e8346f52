"""Measures memory and speed of importing 100,000 answers into a new SQLite file.

Prints the highest memory in use (resident set) before the import, after a tenth of the rows and at
the end, and the rows per second. Memory may grow by the digest of each id (16 bytes in a set), but
not by the rows. Each format is read in its own process, because a process keeps its highest value.

    python benchmarks/import_memory.py [--rows 100000] [--formats jsonl json csv]
"""

import argparse
import csv
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from judgeboard.imports.importing import import_file
from judgeboard.store.opening import open_store

WORDS = (
    "route",
    "rope",
    "metre",
    "wall",
    "grade",
    "slab",
    "crack",
    "anchor",
    "bolt",
    "chalk",
    "sun",
    "rock",
    "hold",
)
FORMATS = ("jsonl", "json", "csv")


def main() -> None:
    """Import in each format and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--formats", nargs="+", choices=FORMATS, default=FORMATS)
    parser.add_argument("--one", choices=FORMATS, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.one:
        _measure(chosen.one, chosen.rows)
        return
    for format_ in chosen.formats:
        subprocess.run(
            [sys.executable, __file__, "--rows", str(chosen.rows), "--one", format_], check=True
        )


def _measure(format_: str, count: int) -> None:
    early: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"log.{format_}"
        _write(file, count)
        store = open_store(Path(folder) / "memory.db", create=True)

        def note(rows: int, share: float | None) -> None:  # noqa: ARG001  what an import tells
            if rows >= count // 10 and not early:
                early.append(_peak_mb())

        before = _peak_mb()
        started = time.perf_counter()
        summary = import_file(store, file, on_progress=note)
        seconds = time.perf_counter() - started
        size = file.stat().st_size / 1e6
        store.close()
    if summary.new != count:
        sys.exit(f"of {count} rows {summary.new} came in")
    print(
        f"{format_:5} {size:6.0f} MB, {count:,} rows: {count / seconds:7,.0f} rows/s; highest memory {before:.0f} MB "
        f"before, {early[0]:.0f} MB after {count // 10:,} rows, {_peak_mb():.0f} MB after {count:,}"
    )


def _peak_mb() -> float:
    """Highest resident set of this process so far; macOS counts it in bytes, Linux in kilobytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (
        1e6 if sys.platform == "darwin" else 1e3
    )


def _write(file: Path, rows: int) -> None:
    with file.open("w", encoding="utf-8", newline="") as out:
        if file.suffix == ".csv":
            table = csv.DictWriter(out, fieldnames=list(_row(0)))
            table.writeheader()
            table.writerows(
                row | {"context": json.dumps(row["context"])} for row in map(_row, range(rows))
            )
        elif file.suffix == ".jsonl":
            out.writelines(f"{json.dumps(row)}\n" for row in map(_row, range(rows)))
        else:
            out.writelines(_array(rows))


def _array(rows: int) -> Iterator[str]:
    yield "["
    for number in range(rows):
        yield f"{',' if number else ''}\n{json.dumps(_row(number))}"
    yield "]"


def _row(number: int) -> dict[str, Any]:
    return {
        "id": f"answer-{number}",
        "query": f"{_text(number, 12)}?",
        "answer": _text(number + 1, 40),
        "context": [_text(number + part, 90) for part in range(3)],
        "query_type": ("simple", "complex", "sql")[number % 3],
        "asked_at": 1_770_000_000 + number * 60,
    }


def _text(seed: int, words: int) -> str:
    return " ".join(
        f"{WORDS[(seed * 7 + place * place) % len(WORDS)]}{seed % 97}" for place in range(words)
    )


if __name__ == "__main__":
    main()

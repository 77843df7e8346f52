"""Small files that unpack to very large ones: memory above the file's own size, seconds, and the answer of an import.

    uv run --group test python benchmarks/file_bombs.py            # all
    uv run --group test python benchmarks/file_bombs.py open_quote

Each file is checked by a dry run in a process of its own, as the page Import does. The reading ends
after `SECONDS`: then the progress must have been told, as for a person who closes the page.
"""

import gzip
import io
import json
import resource
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

SECONDS = 20.0
MB = 1024 * 1024
HEADER = b"query,answer\n"


def _gzipped(piece: bytes, times: int, start: bytes = b"", end: bytes = b"") -> bytes:
    file = io.BytesIO()
    with gzip.GzipFile(fileobj=file, mode="wb") as stream:
        stream.write(start)
        for _ in range(times):
            stream.write(piece)
        stream.write(end)
    return file.getvalue()


def _parquet(columns: dict[str, list[object]], repeated: int = 1) -> bytes:
    import pyarrow as pa
    from pyarrow import parquet

    file = io.BytesIO()
    table = pa.table(columns)
    with parquet.ParquetWriter(file, table.schema, compression="zstd") as writer:
        for _ in range(repeated):
            writer.write_table(table)
    return file.getvalue()


def _zip() -> bytes:
    file = io.BytesIO()
    with (
        zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("samples/1.json", "w") as sample,
    ):
        sample.write(b'{"input": "')
        for _ in range(512):
            sample.write(b"a" * MB)
        sample.write(b'"}')
    return file.getvalue()


def _directory() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for number in range(200_000):
            archive.writestr(f"samples/{number}.json", b"{}")
    return file.getvalue()


BOMBS: dict[str, tuple[str, Callable[[], bytes]]] = {
    "parquet_cell": ("a.parquet", lambda: _parquet({"query": ["q"], "answer": ["a" * (512 * MB)]})),
    "parquet_dictionary": (
        "a.parquet",
        lambda: _parquet({"query": ["q" * (7 * MB)] * 1_000, "answer": ["a"] * 1_000}),
    ),
    "parquet_empty_rows": (
        "a.parquet",
        lambda: _parquet({"query": [None] * MB, "answer": [None] * MB}, 40),
    ),
    "parquet_list": (
        "a.parquet",
        lambda: _parquet({"query": ["q"], "contexts": [["p" * 1_000] * 500_000]}),
    ),
    "open_quote": ("a.csv", lambda: HEADER + b'q,"' + b"one line of text\n" * (8 * MB)),
    "blank_lines": ("a.jsonl.gz", lambda: _gzipped(b"\n" * MB, 4_000)),
    "blank_csv": ("a.csv.gz", lambda: _gzipped(b"\n" * MB, 1_000, HEADER)),
    "json_line": ("a.jsonl.gz", lambda: _gzipped(b"a" * MB, 1_000, b'{"query": "', b'"}\n')),
    "json_values": ("a.jsonl.gz", lambda: _gzipped(b"[]," * MB, 2, b'{"query": [', b"0]}\n")),
    "json_array": ("a.json.gz", lambda: _gzipped(b"a" * MB, 1_000, b'[{"query": "', b'"}]')),
    "large_rows": (
        "a.jsonl.gz",
        lambda: _gzipped(json.dumps({"query": "q", "answer": "a" * (7 * MB)}).encode() + b"\n", 60),
    ),
    "commas": ("a.csv.gz", lambda: _gzipped(b"," * MB, 64)),
    "inspect": ("a.eval", _zip),
    "inspect_directory": ("a.eval", _directory),
}
CHILD = """
import sys, time
from judgeboard import open_store
from judgeboard.imports.importing import import_file
from judgeboard.errors import JudgeboardError
import pyarrow.parquet
import yaml

class Closed(BaseException):
    pass

def peak():  # ru_maxrss would begin with the peak of the parent
    status = open("/proc/self/status").read()
    return int(status.partition("VmHWM:")[2].split()[0])

start, notes = time.monotonic(), 0
def note(rows, share):
    global notes
    notes += 1
    if time.monotonic() - start > float(sys.argv[2]):
        raise Closed

store = open_store(sys.argv[3], create=True)
import_file(store, sys.argv[4], dry_run=True, on_rejected=lambda row: None)
idle = peak()
start = time.monotonic()
try:
    summary = import_file(store, sys.argv[1], dry_run=True, on_progress=note, on_rejected=lambda row: None)
    answer = summary.unreadable or (f"{summary.new} new, {summary.rejected} rejected " +
        "; ".join(f"line {each.line}: {each.reason}" for each in summary.first_rejected[:1]))
except JudgeboardError as error:
    answer = str(error)
except Closed:
    answer = "reading, and ended when the page was closed"
print(f"{(peak() - idle) / 1024:.0f}|{time.monotonic() - start:.1f}|{notes}|{answer}")
"""


def measure(path: Path, folder: Path, seconds: float = SECONDS) -> tuple[float, float, int, str]:
    """Return the MB above idle, the seconds, the notes of progress and the answer of a dry run."""
    plain = folder / "plain.csv"
    plain.write_bytes(HEADER + b"q,a\n")
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(path), str(seconds), str(folder / "log.db"), str(plain)],
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (4_000 * MB, 4_000 * MB)),
        check=False,
    )
    if done.returncode:
        return float("nan"), float("nan"), 0, (done.stderr.strip().splitlines() or ["ended"])[-1]
    memory, duration, notes, answer = done.stdout.strip().split("|", 3)
    return float(memory), float(duration), int(notes), answer


def main() -> None:
    """Measure each file."""
    wanted = sys.argv[1:] or list(BOMBS)
    print(f"{'file':20} {'own MB':>8} {'MB above':>9} {'seconds':>8} {'notes':>6}  answer")
    for name in wanted:
        with tempfile.TemporaryDirectory() as folder:
            file_name, content = BOMBS[name]
            path = Path(folder) / file_name
            path.write_bytes(content())
            start = time.monotonic()
            memory, seconds, notes, answer = measure(path, Path(folder))
            own = path.stat().st_size / MB
            print(
                f"{name:20} {own:8.2f} {memory:9.0f} {seconds:8.1f} {notes:6}  {answer[:150]}",
                flush=True,
            )
            assert time.monotonic() - start < 10 * SECONDS


if __name__ == "__main__":
    main()

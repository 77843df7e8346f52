"""Small files that unpack to very large ones: the row is rejected, or reading ends, and little memory is used."""

import gzip
import io
import json
import resource
import subprocess
import sys
import zipfile

import pyarrow as pa
import pytest
from pyarrow import ipc, parquet

from judgeboard.domain import Rejected, Response
from judgeboard.errors import BadInput
from judgeboard.formats import inspect_archive
from judgeboard.formats.files import LEAST_ROW_BYTES, MAX_ROW_BYTES
from judgeboard.health.models import model_table
from judgeboard.imports.importing import import_file
from judgeboard.llm.endpoint import price_of
from judgeboard.settings.project_file import project_file

MB = 1024 * 1024
MOST_MB = 75  # above the idle process: 60, and a margin for other machines


def gzipped(*parts):
    return gzip.compress(b"".join(parts), 1)


def parquet_of(rows_per_page=1024, **columns):
    file = io.BytesIO()
    options = {"compression": "zstd", "write_batch_size": rows_per_page}
    # The least and the greatest value of a long text take seconds to find.
    parquet.write_table(pa.table(columns), file, write_statistics=False, **options)
    return file.getvalue()


def archive_of(sample):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("samples/1.json", sample)
    return file.getvalue()


LARGE = b"a" * (LEAST_ROW_BYTES + MB)
GOOD = b'{"query": "q", "answer": "a"}'


@pytest.mark.parametrize("encode", [bytes, gzipped], ids=["plain", "gzipped"])
def test_a_cell_of_70_mb_is_rejected_with_its_line_and_the_next_row_is_read(reading, encode):
    bad, good = reading(encode(b"query,answer\nq," + b"a" * (70 * MB) + b"\nq2,a2\n"), "log.csv")
    assert (bad.line, "longer" in bad.reason) == (2, True)
    assert len(bad.row) < MB
    assert (good.query, good.answer) == ("q2", "a2")


def test_a_long_record_is_read_as_a_short_one_is(reading):
    text = 'one "quoted"\n, ; part ' * 200_000
    data = 'query,answer\nq,"{}"\nq2,a2\n'.format(text.replace('"', '""'))
    long, short = reading(data.encode(), "log.csv")
    assert long.answer in {text, text.strip()}
    assert short.query == "q2"


def test_a_quote_that_is_never_closed_is_one_rejected_record(reading):
    (bad,) = reading(b'query,answer\nq,"' + b"line\n" * (MB // 2), "log.csv")
    assert (bad.line, "quote" in bad.reason) == (2, True)


@pytest.mark.parametrize("end", [b"", b"]"], ids=["jsonl", "json"])
def test_a_compressed_row_that_is_longer_than_its_file_is_refused(reading, end):
    start, name = (b"[", "log.json") if end else (b"", "a.jsonl")
    *_, bad = reading(gzipped(start, b'{"query": "', LARGE, b'", "answer": "a"}\n', end), name)
    assert isinstance(bad, Rejected)
    assert "4 MB" in bad.reason


def test_a_row_of_very_many_values_is_rejected_but_not_a_text_with_as_many_commas(reading):
    many = b'{"query": [' + b"[]," * 400_000 + b'0], "answer": "a"}\n'
    long = b'{"query": "q", "answer": "' + b",[" * 400_000 + b'"}\n'
    bad, good = reading(many + long)
    assert isinstance(bad, Rejected)
    assert isinstance(good, Response)


def test_a_parquet_cell_that_is_too_long_is_refused(reading):
    (item,) = reading(parquet_of(query=["q"], answer=["a" * (64 * MB)]), "log.parquet")
    assert isinstance(item, Rejected)
    rows = {"query": ["q"] * 3, "answer": ["a", "b" * len(LARGE), "c"]}
    first, bad, last = reading(parquet_of(1, **rows), "log.parquet")
    assert (first.answer, bad.line, last.answer) == ("a", 2, "c")


def test_a_parquet_text_that_many_rows_share_is_read_for_each(reading):
    text = "q" * (2 * MB)
    data = parquet_of(query=[text] * 5, answer=list("abcde"), contexts=[["p", "p"]] * 5)
    assert [
        (len(each.query), each.answer, each.passages) for each in reading(data, "log.parquet")
    ] == [(len(text), letter, ("p", "p")) for letter in "abcde"]


@pytest.mark.parametrize("codec", ["lz4", "zstd"])
def test_a_compressed_arrow_file_that_unpacks_to_far_more_is_refused(reading, codec):
    for new in (ipc.new_file, ipc.new_stream):

        def answers(letters, new=new):
            table = pa.table({"query": ["q"] * 3, "answer": ["a" * letters] * 3})
            file = io.BytesIO()
            with new(file, table.schema, options=ipc.IpcWriteOptions(compression=codec)) as writer:
                writer.write_table(table)
            return [each.answer for each in reading(file.getvalue(), "log.arrow")]

        assert answers(1) == ["a"] * 3
        with pytest.raises(BadInput):
            answers(64 * MB)


def test_a_sample_of_an_archive_that_is_too_long_is_rejected(reading):
    sample = json.dumps({"id": 1, "input": "q" * len(LARGE)})
    assert all(isinstance(item, Rejected) for item in reading(archive_of(sample), "log.eval"))


def test_an_archive_of_very_many_files_is_refused(reading, monkeypatch):
    monkeypatch.setattr(inspect_archive, "MOST_DIRECTORY", 50)
    with pytest.raises(BadInput):
        list(reading(archive_of(GOOD), "log.eval"))


def project_at(path):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUDGEBOARD_CONFIG", str(path))
        return project_file()


@pytest.mark.parametrize(
    "read",
    [model_table, lambda path: price_of("m", path), project_at],
    ids=["models", "prices", "project"],
)
def test_a_toml_file_of_very_many_tables_is_refused_before_it_is_parsed(tmp_path, read):
    file = tmp_path / "large.toml"
    file.write_text("".join(f"[models.f{number}]\n" for number in range(100_000)))
    with pytest.raises(BadInput, match="bytes"):
        read(file)


class Closed(BaseException):
    """The page of the import was closed."""


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.jsonl.gz", lambda: gzipped(b"\n" * (64 * MB))),
        ("a.csv.gz", lambda: gzipped(b"query,answer\n", b"\n" * (64 * MB))),
        ("a.csv", lambda: b'query,answer\nq,"' + b"line\n" * (4 * MB)),
        ("a.parquet", lambda: parquet_of(query=pa.nulls(4 * MB), answer=pa.nulls(4 * MB))),
    ],
)
def test_reading_tells_its_progress_before_any_row_is_stored_and_ends_when_that_fails(
    sqlite_store, name, data
):
    shares = []

    def close(rows, share):
        assert rows >= 0
        shares.append(share)
        raise Closed

    with pytest.raises(Closed):
        import_file(sqlite_store, io.BytesIO(data()), name=name, dry_run=True, on_progress=close)
    assert len(shares) == 1
    assert 0 <= shares[0] <= 1


BOMBS = {
    "cell.parquet": lambda: parquet_of(query=["q"], answer=["a" * (100 * MB)]),
    "dictionary.parquet": lambda: parquet_of(query=["q" * (7 * MB)] * 30, answer=["a"] * 30),
    "list.parquet": lambda: parquet_of(query=["q"], contexts=[["p" * 1_000] * 300_000]),
    "line.jsonl.gz": lambda: gzipped(b'{"query": "', b"a" * (100 * MB), b'"}\n'),
    "values.jsonl.gz": lambda: gzipped(b'{"query": [', b"[]," * (2 * MB), b"0]}\n"),
    "rows.jsonl.gz": lambda: gzipped(
        *[b'{"query": "q", "answer": "' + b"a" * (LEAST_ROW_BYTES - 1000) + b'"}\n'] * 24
    ),
    "commas.csv.gz": lambda: gzipped(b"," * (64 * MB)),
    "quote.csv.gz": lambda: gzipped(b'query,answer\nq,"' + b"a\n" * (2 * MB)),
    "text.csv.gz": lambda: gzipped(b'query,answer\nq,"' + (b"a" * 63 + b"\n") * (MB // 2)),
    "archive.eval": lambda: archive_of(b'{"input": "' + b"a" * (100 * MB)),
}
MEASURED = """
import os, sys
from judgeboard import open_store
from judgeboard.imports.importing import import_file
from judgeboard.errors import BadInput
import pyarrow.parquet

def peak():
    return int(open("/proc/self/status").read().partition("VmHWM:")[2].split()[0]) // 1024

database, plain, *bombs = sys.argv[1:]
open_store(database, create=True).close()
for bomb in bombs:
    if os.fork() == 0:
        store = open_store(database)
        import_file(store, plain, dry_run=True, on_rejected=lambda row: None)
        idle = peak()
        try:
            import_file(store, bomb, dry_run=True, on_rejected=lambda row: None)
        except BadInput:
            pass
        print(bomb, peak() - idle, flush=True)
        os._exit(0)
    assert os.wait()[1] == 0, bomb
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak of memory from /proc")
def test_a_small_file_takes_little_memory(tmp_path):
    plain = tmp_path / "plain.csv"
    plain.write_bytes(b"query,answer\nq,a\n")
    for name, data in BOMBS.items():
        assert (tmp_path / name).write_bytes(data()) < 5 * MB
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, "log.db", plain, *BOMBS],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (3_000 * MB, 3_000 * MB)),
    )
    peaks = dict(line.split() for line in done.stdout.splitlines())
    assert peaks.keys() == BOMBS.keys()
    assert {name: mb for name, mb in peaks.items() if int(mb) >= MOST_MB} == {}


def test_a_row_may_have_64_mb_if_its_file_has_them(reading):
    (response,) = reading(b'{"query": "q", "answer": "' + b"a" * (MAX_ROW_BYTES - 100) + b'"}\n')
    assert len(response.answer) == MAX_ROW_BYTES - 100

"""The public sets come in whole: the counts of their own documentation, unchanged when rows come again."""

import gzip
import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from sqlalchemy import func, select

from judgeboard.domain import Label, Rejected
from judgeboard.imports.importing import import_file
from judgeboard.imports.reading import read_records
from judgeboard.store.engine import Store
from judgeboard.store.opening import open_store
from judgeboard.store.responses import evidence_group
from judgeboard.store.tables import METADATA
from stored_rows import row_count

pytestmark = pytest.mark.shared


def counts(store: Store, *names: str) -> dict[str, int]:
    return {name: row_count(store, METADATA.tables[name]) for name in names}


def where(
    store: Store, table: str, column: str, *, null: bool = False, value: object = None
) -> int:
    found = METADATA.tables[table].c[column]
    condition = (
        found == value if value is not None else found.is_(None) if null else found.is_not(None)
    )
    with store.reading() as connection:
        return connection.execute(select(func.count()).where(condition)).scalar_one()


def some_rows(file: Path, folder: Path, wanted: Callable[[int, bytes], bool]) -> Path:
    """A file of the rows that are ``wanted`` by their number and text."""
    some = folder / file.name
    with gzip.open(file) as whole, gzip.open(some, "wb", compresslevel=1) as part:
        part.writelines(line for number, line in enumerate(whole) if wanted(number, line))
    return some


@pytest.fixture
def brought(
    public_database: Callable[..., Path], shared: Path, tmp_path: Path
) -> Iterator[Callable[..., Store]]:
    """Return ``brought((file, kind), …)``: a database of a public set, in which some rows came twice."""
    with ExitStack() as stores:

        def again(*files: tuple[str, str]) -> Store:
            shutil.copyfile(public_database(*files), tmp_path / "copy.db")
            store = stores.enter_context(closing(open_store(tmp_path / "copy.db")))
            before = counts(store, *METADATA.tables)
            for name, kind in files:
                rows = some_rows(
                    shared / "data" / f"{name}.jsonl.gz",
                    tmp_path,
                    lambda number, _line: number % 31 == 0,
                )
                summary = import_file(store, rows, kind=kind, rejected=tmp_path / "rejected.jsonl")
                assert (summary.new, summary.differing) == (0, 0)
                assert summary.unchanged == summary.rows - summary.rejected > 0
            assert counts(store, *before) == before
            return store

        yield again


def test_llmbar_is_read_in_whole(shared: Path) -> None:
    """Every row has both orders, of which those without a verdict are unusable."""
    rows = list(read_records(shared / "data" / "llmbar.pairwise.jsonl.gz", kind="pairs"))
    assert not any(isinstance(row, Rejected) for row in rows)
    pairs = {row.pair.external_id: row.pair for row in rows}
    assert (len(pairs), len({row.judge for row in rows}), 2 * len(rows)) == (734, 65, 73_370)
    assert 2 * len(rows) - sum(len(row.verdicts) for row in rows) == 209
    assert all(pair.gold is not None for pair in pairs.values())


def test_llmbar(sqlite_store: Store, shared: Path, tmp_path: Path) -> None:
    """All 65 judges on a tenth of the pairs: storing them all takes longest by far."""
    file = shared / "data" / "llmbar.pairwise.jsonl.gz"
    part = some_rows(file, tmp_path, lambda _number, line: json.loads(line)["id"].endswith("7"))
    summary = import_file(sqlite_store, part, kind="pairs", rejected=tmp_path / "rejected.jsonl")
    assert (summary.differing, summary.rejected) == (0, 0)
    assert counts(sqlite_store, "pair", "comparison", "judge_version") == {
        "pair": 71,
        "comparison": 2 * summary.rows,
        "judge_version": 65,
    }
    assert where(sqlite_store, "comparison", "status", value="unparsable") == 33
    assert where(sqlite_store, "pair", "gold") == 71


def test_pandalm(brought: Callable[..., Store]) -> None:
    store = brought(("pandalm.pairwise", "pairs"))
    assert counts(store, "pair", "comparison", "review") == {
        "pair": 999,
        "comparison": 1_998,
        "review": 2_997,
    }
    assert where(store, "comparison", "status", value="unparsable") == 25
    assert where(store, "review", "replaces") == 0


def test_cragc25(brought: Callable[..., Store]) -> None:
    store = brought(("cragc25.responses", "responses"), ("cragc25.pairwise", "pairs"))
    assert counts(store, "pair", "comparison", "comparison_score", "review") == {
        "pair": 480,
        "comparison": 768,
        "comparison_score": 768 * 7,
        "review": 3_360,
    }
    assert where(store, "comparison", "status", value="ok") == 768
    assert where(store, "response", "derived_from") > 0


def test_ragchecker(brought: Callable[..., Store]) -> None:
    store = brought(
        ("ragchecker.responses", "responses"),
        ("ragchecker.pairwise", "pairs"),
        ("ragchecker.human", "grades"),
        ("ragchecker.judgements", "verdicts"),
    )
    assert counts(store, "pair", "comparison", "review") == {
        "pair": 280,
        "comparison": 280,
        "review": 560,
    }
    assert where(store, "comparison", "status", value="ok") == 280
    assert where(store, "judgment", "quality") == 0


def test_prometheus(brought: Callable[..., Store]) -> None:
    store = brought(("prometheus.samples", "repeats"))
    assert counts(store, "response", "judgment", "judgment_score", "judge_version") == {
        "response": 640,
        "judgment": 1_920,
        "judgment_score": 1_920,
        "judge_version": 117,
    }


def test_mmlu_pro(brought: Callable[..., Store]) -> None:
    store = brought(("mmlu_pro.samples", "samples"))
    assert counts(store, "pair", "sample") == {"pair": 10_326, "sample": 72_282}
    assert where(store, "sample", "answer", null=True) == 2_866
    assert where(store, "sample", "status", value="unparsable") == 2_866


def test_ragtruth_responses(shared):
    responses = list(read_records(shared / "data" / "ragtruth.responses.jsonl.gz"))
    assert len(responses) == 2912
    assert not any(isinstance(response, Rejected) for response in responses)
    assert {response.source for response in responses} == {"default"}
    assert sum("quality_flag" in response.metadata for response in responses) == 1718
    assert len({evidence_group(response.query, response.passages) for response in responses}) == 617
    records = [response for response in responses if response.query_type == "Data2txt"]
    assert len(records) == 450
    assert all(
        len(response.passages) == 1 and response.passages[0].startswith("{") for response in records
    )


def test_ragtruth_grades_and_verdicts(shared):
    grades = list(read_records(shared / "data" / "ragtruth.human.jsonl.gz", kind="grades"))
    assert len(grades) == 2912
    assert sum(graded.grade.label is Label.HALLUCINATED for graded in grades) == 1179
    verdicts = list(read_records(shared / "data" / "ragtruth.judgements.jsonl.gz", kind="verdicts"))
    assert len(verdicts) == 9408
    assert len({verdict.judge for verdict in verdicts}) == 7
    assert sum(verdict.verdict.groundedness is None for verdict in verdicts) == 9408 - 5376


@pytest.mark.parametrize(
    ("name", "rows", "no_answer"), [("cragc25", 192, 0), ("ragchecker", 560, 6)]
)
def test_other_logs(shared, name, rows, no_answer):
    items = list(read_records(shared / "data" / f"{name}.responses.jsonl.gz"))
    assert len(items) == rows
    assert [item.field for item in items if isinstance(item, Rejected)] == ["answer"] * no_answer

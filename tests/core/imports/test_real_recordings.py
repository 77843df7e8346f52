"""The public sets come in whole: the counts of their own documentation, unchanged when imported again."""

from pathlib import Path

import pytest
from sqlalchemy import func, select

from judgeboard.domain import Label, Rejected
from judgeboard.imports.importing import ImportSummary, import_file
from judgeboard.imports.reading import read_records
from judgeboard.store.engine import Store
from judgeboard.store.responses import evidence_group
from judgeboard.store.tables import METADATA
from stored_rows import row_count

pytestmark = pytest.mark.shared


def counts(store: Store, *names: str) -> dict[str, int]:
    return {name: row_count(store, METADATA.tables[name]) for name in names}


def where(store: Store, table: str, column: str, *, null: bool = False, value: object = None) -> int:
    found = METADATA.tables[table].c[column]
    condition = found == value if value is not None else found.is_(None) if null else found.is_not(None)
    with store.reading() as connection:
        return connection.execute(select(func.count()).where(condition)).scalar_one()


def bring(store: Store, shared: Path, *files: tuple[str, str]) -> list[ImportSummary]:
    beside = Path(str(store.engine.url.database)).with_name("rejected.jsonl")  # the labelled data stay as they are
    return [
        import_file(store, shared / "data" / f"{name}.jsonl.gz", kind=kind, rejected=beside) for name, kind in files
    ]


def bring_twice(store: Store, shared: Path, *files: tuple[str, str]) -> None:
    assert all(first.differing == 0 for first in bring(store, shared, *files))
    before = counts(store, *(name for name in METADATA.tables))
    for again in bring(store, shared, *files):
        assert (again.new, again.unchanged) == (0, again.rows - again.rejected)
    assert counts(store, *before) == before


def test_llmbar(sqlite_store: Store, shared: Path) -> None:
    (summary,) = bring(sqlite_store, shared, ("llmbar.pairwise", "pairs"))  # by far the longest: once
    assert summary.differing == 0
    assert counts(sqlite_store, "pair", "comparison", "judge_version") == {
        "pair": 734,
        "comparison": 73_370,
        "judge_version": 65,
    }
    assert where(sqlite_store, "comparison", "status", value="unparsable") == 209
    assert where(sqlite_store, "pair", "gold") == 734


def test_pandalm(sqlite_store: Store, shared: Path) -> None:
    bring_twice(sqlite_store, shared, ("pandalm.pairwise", "pairs"))
    assert counts(sqlite_store, "pair", "comparison", "review") == {
        "pair": 999,
        "comparison": 1_998,
        "review": 2_997,
    }
    assert where(sqlite_store, "comparison", "status", value="unparsable") == 25
    assert where(sqlite_store, "review", "replaces") == 0


def test_cragc25(sqlite_store: Store, shared: Path) -> None:
    bring_twice(sqlite_store, shared, ("cragc25.responses", "responses"), ("cragc25.pairwise", "pairs"))
    assert counts(sqlite_store, "pair", "comparison", "comparison_score", "review") == {
        "pair": 480,
        "comparison": 768,
        "comparison_score": 768 * 7,
        "review": 3_360,
    }
    assert where(sqlite_store, "comparison", "status", value="ok") == 768
    assert where(sqlite_store, "response", "derived_from") > 0


def test_ragchecker(sqlite_store: Store, shared: Path) -> None:
    bring_twice(
        sqlite_store,
        shared,
        ("ragchecker.responses", "responses"),
        ("ragchecker.pairwise", "pairs"),
        ("ragchecker.human", "grades"),
        ("ragchecker.judgements", "verdicts"),
    )
    assert counts(sqlite_store, "pair", "comparison", "review") == {
        "pair": 280,
        "comparison": 280,
        "review": 560,
    }
    assert where(sqlite_store, "comparison", "status", value="ok") == 280
    assert where(sqlite_store, "judgment", "quality") == 0


def test_prometheus(sqlite_store: Store, shared: Path) -> None:
    bring_twice(sqlite_store, shared, ("prometheus.samples", "repeats"))
    assert counts(sqlite_store, "response", "judgment", "judgment_score", "judge_version") == {
        "response": 640,
        "judgment": 1_920,
        "judgment_score": 1_920,
        "judge_version": 117,
    }


def test_mmlu_pro(sqlite_store: Store, shared: Path) -> None:
    bring_twice(sqlite_store, shared, ("mmlu_pro.samples", "samples"))
    assert counts(sqlite_store, "pair", "sample") == {"pair": 10_326, "sample": 72_282}
    assert where(sqlite_store, "sample", "answer", null=True) == 2_866
    assert where(sqlite_store, "sample", "status", value="unparsable") == 2_866


def test_ragtruth_responses(shared):
    responses = list(read_records(shared / "data" / "ragtruth.responses.jsonl.gz"))
    assert len(responses) == 2912
    assert not any(isinstance(response, Rejected) for response in responses)
    assert {response.source for response in responses} == {"default"}
    assert sum("quality_flag" in response.metadata for response in responses) == 1718
    assert len({evidence_group(response.query, response.passages) for response in responses}) == 617
    records = [response for response in responses if response.query_type == "Data2txt"]
    assert len(records) == 450
    assert all(len(response.passages) == 1 and response.passages[0].startswith("{") for response in records)


def test_ragtruth_grades_and_verdicts(shared):
    grades = list(read_records(shared / "data" / "ragtruth.human.jsonl.gz", kind="grades"))
    assert len(grades) == 2912
    assert sum(graded.grade.label is Label.HALLUCINATED for graded in grades) == 1179
    verdicts = list(read_records(shared / "data" / "ragtruth.judgements.jsonl.gz", kind="verdicts"))
    assert len(verdicts) == 9408
    assert len({verdict.judge for verdict in verdicts}) == 7
    assert sum(verdict.verdict.groundedness is None for verdict in verdicts) == 9408 - 5376


@pytest.mark.parametrize(("name", "rows", "no_answer"), [("cragc25", 192, 0), ("ragchecker", 560, 6)])
def test_other_logs(shared, name, rows, no_answer):
    items = list(read_records(shared / "data" / f"{name}.responses.jsonl.gz"))
    assert len(items) == rows
    assert [item.field for item in items if isinstance(item, Rejected)] == ["answer"] * no_answer

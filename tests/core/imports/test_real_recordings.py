"""Public sets are read whole: the counts of their own documentation. Published figures hold the counts of others."""

import shutil
from contextlib import closing

import pytest

from judgeboard.domain import Rejected
from judgeboard.imports.importing import import_file
from judgeboard.imports.reading import read_records
from judgeboard.store.opening import open_store
from judgeboard.store.responses import evidence_group
from judgeboard.store.tables import COMPARISON, JUDGMENT, METADATA
from stored_rows import row_count, values_of

pytestmark = pytest.mark.shared


def test_llmbar_is_read_in_whole(shared):
    """Every row has both orders, of which those without a verdict are unusable."""
    rows = list(read_records(shared / "data" / "llmbar.pairwise.jsonl.gz", kind="pairs"))
    assert not any(isinstance(row, Rejected) for row in rows)
    pairs = {row.pair.external_id: row.pair for row in rows}
    assert (len(pairs), len({row.judge for row in rows}), 2 * len(rows)) == (734, 65, 73_370)
    assert 2 * len(rows) - sum(len(row.verdicts) for row in rows) == 209
    assert all(pair.gold is not None for pair in pairs.values())


def test_ragchecker_comes_in_whole_and_unchanged_when_rows_come_again(
    public_database, shared, tmp_path
):
    files = (
        ("ragchecker.responses", "responses"),
        ("ragchecker.pairwise", "pairs"),
        ("ragchecker.human", "grades"),
        ("ragchecker.judgements", "verdicts"),
    )
    shutil.copyfile(public_database(*files), tmp_path / "copy.db")
    with closing(open_store(tmp_path / "copy.db")) as store:

        def sizes():
            return {name: row_count(store, table) for name, table in METADATA.tables.items()}

        before = sizes()
        assert [before[name] for name in ("pair", "comparison", "review")] == [280, 280, 560]
        rejected = tmp_path / "rejected.jsonl"
        for name, kind in files:
            file = shared / "data" / f"{name}.jsonl.gz"
            summary = import_file(store, file, kind=kind, rejected=rejected)
            assert (summary.new, summary.differing) == (0, 0)
            assert summary.unchanged == summary.rows - summary.rejected > 0
        assert sizes() == before
        assert {*values_of(store, COMPARISON.c.status)} == {"ok"}
        assert {*values_of(store, JUDGMENT.c.quality)} == {None}


def test_ragtruth_responses(shared):
    responses = list(read_records(shared / "data" / "ragtruth.responses.jsonl.gz"))
    assert len(responses) == 2912
    assert not any(isinstance(response, Rejected) for response in responses)
    assert {response.source for response in responses} == {"default"}
    assert sum("quality_flag" in response.metadata for response in responses) == 1718
    assert len({evidence_group(response.query, response.passages) for response in responses}) == 617
    passages = [each.passages for each in responses if each.query_type == "Data2txt"]
    assert len(passages) == 450
    assert all(len(each) == 1 and each[0].startswith("{") for each in passages)


@pytest.mark.parametrize(
    ("name", "rows", "no_answer"), [("cragc25", 192, 0), ("ragchecker", 560, 6)]
)
def test_other_logs(shared, name, rows, no_answer):
    items = list(read_records(shared / "data" / f"{name}.responses.jsonl.gz"))
    assert len(items) == rows
    assert [item.field for item in items if isinstance(item, Rejected)] == ["answer"] * no_answer

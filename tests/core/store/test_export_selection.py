"""Every exported table can be limited to the answers that a filter selects, and have their texts beside each row."""

import json
import shutil
from collections import Counter
from contextlib import closing

import pytest

from judgeboard.cli.export import TABLES, WITHOUT_SUBJECT
from judgeboard.errors import BadInput
from judgeboard.store.export import TEXTS, export_tables, exports
from judgeboard.store.filters import RowFilter
from judgeboard.store.opening import open_store
from judging_log import address

ABOUT_PAIRS = {"pairs", "comparisons", "preferences", "samples"}


@pytest.fixture(scope="module")
def filled(demo, tmp_path_factory):
    path = tmp_path_factory.mktemp("selection") / "demo.db"
    shutil.copyfile(demo, path)
    with closing(open_store(path)) as store:
        yield store


def exported(store, folder, table, **options):
    file = folder / f"{table}.jsonl"
    export_tables(store, {table: file}, **options)
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def test_the_command_knows_the_tables_without_a_subject():
    whole = {
        name for name, table in exports().items() if table.response is None and table.pair is None
    }
    assert (whole, set(TABLES)) == (set(WITHOUT_SUBJECT), set(exports()))


@pytest.mark.parametrize("table", [name for name in TABLES if name not in WITHOUT_SUBJECT])
def test_each_table_has_the_rows_and_texts_of_the_selected_answers(filled, tmp_path, table):
    everything = exported(filled, tmp_path, table)
    tables = ("pairs", "samples") if table in ABOUT_PAIRS else ("responses",)
    subjects = {
        row["external_id"]: row for each in tables for row in exported(filled, tmp_path, each)
    }
    logged = {name: row for name, row in subjects.items() if row.get("kind", "log") == "log"}
    counts = Counter(
        logged[row["external_id"]]["query_type"]
        for row in everything
        if row["external_id"] in logged
    )
    of_pairs, of_answers = ("question", "answer_a", "answer_b"), ("query", "answer", "context")
    texts = of_pairs if table in ABOUT_PAIRS else of_answers
    for query_type in sorted(counts)[:2]:
        where = RowFilter(query_types=(query_type,))
        rows = exported(filled, tmp_path, table, where=where, texts=TEXTS)
        assert len(rows) == counts[query_type]
        for row in rows:
            subject = logged[row["external_id"]]
            assert [row[name] for name in texts] == [subject[name] for name in texts]


def test_a_field_that_pairs_do_not_have_is_refused(filled, tmp_path):
    with pytest.raises(BadInput, match="query_type, source, model"):
        exported(filled, tmp_path, "comparisons", where=RowFilter(min_quality=2))


def test_a_table_of_the_whole_database_takes_no_filter(filled, tmp_path, shell):
    line = f"export issues --where source=sample -o {tmp_path / 'issues.jsonl'}"
    assert "--where" in shell(line, "--db", address(filled), code=2)


def test_the_table_of_ratings_has_each_review_beside_the_verdict_and_the_unreviewed_verdicts(
    filled, tmp_path, shell
):
    file = tmp_path / "ratings.jsonl"
    options = f"--judge-version lexical -o {file} --db {address(filled)}"
    shell(f"export ratings {options}")
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    every = exported(filled, tmp_path, "reviews")
    replaced = {row["replaces"] for row in every}
    reviews = [
        row for row in every if row["review"] not in replaced and row["decision"] != "withdrawn"
    ]
    verdicts = {
        (row["source"], row["external_id"]): row
        for row in exported(filled, tmp_path, "judgments")
        if row["judge"] == "lexical"
    }
    reviewed = [row for row in rows if row["reviewer"] is not None]
    keys = ("external_id", "reviewer", "label", "groundedness", "quality")
    listed, expected = (
        sorted(str([row[name] for name in keys]) for row in each) for each in (reviewed, reviews)
    )
    assert listed == expected
    assert {row["external_id"] for row in rows} == {
        row["external_id"] for row in (*reviews, *verdicts.values())
    }
    for row in rows:
        verdict = verdicts.get((row["source"], row["external_id"]), {})
        assert row["judge"] == "lexical v1"
        assert row["judge_groundedness"] == verdict.get("groundedness")
    alone = Counter(row["external_id"] for row in rows if row["reviewer"] is None)
    assert set(alone.values()) == {1}
    assert "`judgeboard export reviews" in shell(f"export reviews {options}", code=2)

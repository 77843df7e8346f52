"""Every exported table can be limited to the answers that a filter selects, and have their texts beside each row."""

import json
import shutil

import pytest

from judgeboard.cli.app import run
from judgeboard.cli.export import TABLES, WITHOUT_SUBJECT
from judgeboard.errors import BadInput
from judgeboard.store.export import TEXTS, export_tables, exports
from judgeboard.store.filters import RowFilter
from judgeboard.store.opening import open_store

ABOUT_PAIRS = {"pairs", "comparisons", "preferences", "samples"}


@pytest.fixture(scope="module")
def filled(demo, tmp_path_factory):
    path = tmp_path_factory.mktemp("selection") / "demo.db"
    shutil.copyfile(demo, path)
    store = open_store(str(path))
    yield store
    store.close()


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
    types = sorted(
        {
            logged[row["external_id"]]["query_type"]
            for row in everything
            if row["external_id"] in logged
        }
    )
    for query_type in types[:2]:
        rows = exported(
            filled, tmp_path, table, where=RowFilter(query_types=(query_type,)), texts=TEXTS
        )
        expected = [
            row
            for row in everything
            if logged.get(row["external_id"], {}).get("query_type") == query_type
        ]
        assert 0 < len(rows) == len(expected)
        for row in rows:
            subject = logged[row["external_id"]]
            texts = (
                ("question", "answer_a", "answer_b")
                if table in ABOUT_PAIRS
                else ("query", "answer", "context")
            )
            assert [row[name] for name in texts] == [subject[name] for name in texts]


def test_a_field_that_pairs_do_not_have_is_refused(filled, tmp_path):
    with pytest.raises(BadInput, match="query_type, source, model"):
        exported(filled, tmp_path, "comparisons", where=RowFilter(min_quality=2))


def test_a_table_of_the_whole_database_takes_no_filter(filled, tmp_path, capsys):
    command = ["export", "issues", "--where", "source=sample", "-o", str(tmp_path / "issues.jsonl")]
    assert run([*command, "--db", str(filled.engine.url.database)]) == 2
    assert "--where" in capsys.readouterr().err


def test_the_table_of_ratings_has_each_review_beside_the_verdict_and_the_unreviewed_verdicts(
    filled, tmp_path, capsys
):
    db, file = ["--db", str(filled.engine.url.database)], tmp_path / "ratings.jsonl"
    assert run(["export", "ratings", "--judge-version", "lexical", "-o", str(file), *db]) == 0
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    replaced = {row["replaces"] for row in exported(filled, tmp_path, "reviews")}
    reviews = [
        row for row in exported(filled, tmp_path, "reviews") if row["review"] not in replaced
    ]
    reviews = [row for row in reviews if row["decision"] != "withdrawn"]
    verdicts = {
        (row["source"], row["external_id"]): row
        for row in exported(filled, tmp_path, "judgments")
        if row["judge"] == "lexical"
    }
    reviewed = [row for row in rows if row["reviewer"] is not None]
    keys = ("external_id", "reviewer", "label", "groundedness", "quality")
    listed, expected = (
        [str([row[name] for name in keys]) for row in each] for each in (reviewed, reviews)
    )
    assert sorted(listed) == sorted(expected)
    assert {row["external_id"] for row in rows} == {
        row["external_id"] for row in (*reviews, *verdicts.values())
    }
    for row in rows:
        verdict = verdicts.get((row["source"], row["external_id"]), {})
        assert (row["judge"], row["judge_groundedness"]) == (
            "lexical v1",
            verdict.get("groundedness"),
        )
    alone = [row for row in rows if row["reviewer"] is None]
    assert alone
    assert len({row["external_id"] for row in alone}) == len(alone)
    assert run(["export", "reviews", "--judge-version", "lexical", "-o", str(file), *db]) == 2
    assert "`judgeboard export reviews" in capsys.readouterr().err

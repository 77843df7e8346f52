"""What is exported of pairs, comparisons and samples imports again without a change, here and into a new database."""

import json

import pytest

from judgeboard.imports.importing import import_file
from judgeboard.store.export import export_tables
from tool_files import written

AGAIN = ("pairs", "samples", "comparisons")
HUMAN = [
    {
        "annotator": "ada",
        "shown": "ba",
        "note": "so",
        "at": "2026-03-01T00:00:00Z",
        "depth": "a",
        "style": "tie",
    },
    {"annotator": "bo", "scale": "-2..2", "depth": -1, "preference": "b", "overall": 1},
]


LOGGED = {"id": "r1", "query": "which?", "answer": "left"}


@pytest.fixture
def recorded(store, bring, bring_answers):
    """A database with something of everything that is recorded of pairs."""
    bring_answers(LOGGED)
    asked = {"id": "p1", "question": "which?", "options": ["x", "y"], "reference": "x"}
    thus = {"answer_a": "so", "answer_b": "thus"}
    bring(
        {
            **asked,
            "answer_a": "left",
            "answer_b": "",
            "response_a": "r1",
            "gold": "tie",
            "model_a": "m",
            "subset": "math",
            "human": HUMAN,
            "extra": {"k": 1},
            "judge": "j",
            "verdict_order_ab": {"depth": "a", "style": "n"},
            "raw_ab": "[[A]]",
        },
        {"id": "p2", "question": "how?", **thus, "judge": "j", "raw_ab": "neither"},
        {"id": "p3", "question": "why?", **thus, "judge": "k", "verdict_order_ba": "b"},
    )
    refused = {"pair_id": "p3", "judge": "j", "order": "ba", "status": "refused", "raw": "no"}
    bring(refused, kind="comparisons")
    bring({**asked, "samples": ["x"]}, kind="samples")
    tries = {
        "id": "q",
        "question": "how many?",
        "samples": ["1", None],
        "models": ["m1", "m2"],
        "raw": ["it is 1", None],
        "verdicts": {"A": {"ab": "a", "ba": None}},
        "model": "m",
    }
    bring(tries, kind="samples", source="quiz")
    return store


def export(store, folder, format_name="jsonl"):
    folder.mkdir(exist_ok=True)
    files = {table: folder / f"{table}.{format_name}" for table in AGAIN}
    export_tables(store, files, format=format_name)
    return files


@pytest.mark.parametrize("order", [AGAIN, ("samples", "pairs", "comparisons")])
def test_a_new_database_says_the_same(recorded, tmp_path, new_store, order):
    files = export(recorded, tmp_path / "out", "parquet" if recorded.is_sqlite else "jsonl")
    new = new_store()
    import_file(new, written(tmp_path, LOGGED))
    for kind in order:
        assert import_file(new, files[kind], kind=kind).rejected == 0
    assert told(export(new, tmp_path / "again")) == told(export(recorded, tmp_path / "first"))
    new.close()


def rows_in(file):
    return [json.loads(line) for line in file.read_text().splitlines()]


def told(files):
    """The lines of an export in a fixed order, without what differs between two databases."""
    here = ("judge_version", "created_at", "run")
    return {
        table: sorted(
            json.dumps({name: row[name] for name in row if name not in here}, sort_keys=True)
            for row in rows_in(file)
        )
        for table, file in files.items()
    }


def test_an_empty_side_of_a_pair_comes_into_a_new_database(recorded, tmp_path, new_store):
    file = tmp_path / "responses.jsonl"
    export_tables(recorded, {"responses": file})
    assert "" in [row["answer"] for row in rows_in(file)]
    new = new_store()
    assert import_file(new, file).rejected == 0
    new.close()


def test_a_pair_is_told_with_all_that_it_came_with(recorded, tmp_path):
    first, *_ = rows_in(export(recorded, tmp_path / "out")["pairs"])
    ada, bo = first["human"]
    assert (ada, bo.pop("at")[-1], bo) == (HUMAN[0], "Z", HUMAN[1])
    assert (first["source"], first["external_id"], first["query_type"]) == ("default", "p1", "math")
    assert (first["options"], first["gold"], first["response_a"]) == (["x", "y"], "tie", "r1")
    assert first["metadata"] == {"extra": {"k": 1}}


def test_preferences_are_told_with_those_they_replaced(recorded, bring_grades, tmp_path):
    bring_grades({"pair_id": "p1", "annotator": "bo", "depth": 2})
    file = tmp_path / "preferences.jsonl"
    export_tables(recorded, {"preferences": file})
    rows = rows_in(file)
    assert [
        (row["reviewer"], row["replaces"], row["aspects"]["depth"]["value"]) for row in rows
    ] == [
        ("ada", None, None),
        ("bo", None, -1),
        ("bo", rows[1]["review"], 2),
    ]

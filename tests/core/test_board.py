"""The door for notebooks: frames in, verdicts, frames and figures out."""

import asyncio
import gzip
import json
import subprocess
import sys
from datetime import UTC, datetime

import nbformat
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from run_notebook import NOTEBOOK, executed

import judgeboard
from graded_log import read
from judgeboard.board import Board
from judgeboard.errors import JudgeboardError
from judgeboard.llm.recording_endpoint import RecordingEndpoint, always, failure, verdict
from judgeboard.reports.terminal import local_user
from judgeboard.store.export import export_tables
from judgeboard.store.storing import list_batches
from marked_answer import mark_answer
from queue_case import queue_case
from result_fields import check_fields
from stored_rows import columns

PASSAGES = ["Slings. Dyneema melts at about 145 degrees."]
ROWS = [
    {"id": id_, "query": query, "answer": answer, "context": PASSAGES}
    for id_, query, answer in (
        ("a", "Does Dyneema melt?", "Dyneema melts at about 145 degrees."),
        ("b", "Does nylon melt?", "Whales sing at night."),
    )
]


@pytest.fixture
def board(store):
    return Board(store)


@pytest.fixture
def sqlite_board(sqlite_store):
    return Board(sqlite_store)


def test_a_frame_is_added_once_and_comes_back(board):
    frame = pd.DataFrame(ROWS).assign(
        asked_at=[pd.Timestamp("2026-03-01 10:00"), pd.NaT],
        tenant=["acme", np.nan],
        tokens=np.array([7, 8]),
    )
    assert [board.add(frame).new for _ in range(2)] == [2, 0]
    answers = board.answers()
    assert list(answers.external_id) == ["a", "b"]
    assert [*answers.asked_at] == [datetime(2026, 3, 1, 10, tzinfo=UTC), pd.NaT]
    assert list(answers.metadata) == [{"tenant": "acme", "tokens": 7}, {"tokens": 8}]
    assert list(board.answers(where="metadata.tenant=acme").external_id) == ["a"]


def written(rows, file):
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


def test_frames_dicts_files_and_other_tables_enter_in_the_same_way(sqlite_board, tmp_path):
    """What one of them brought, the others do not bring again."""
    file = written(ROWS, tmp_path / "rows.jsonl")
    arrays = pd.DataFrame(ROWS).assign(context=[np.array(PASSAGES)] * 2)
    named = pd.DataFrame(ROWS).set_index("id")
    assert sqlite_board.add(ROWS, dry_run=True).new == 2
    new = [
        sqlite_board.add(rows).new
        for rows in (ROWS, file, str(file), arrays, named, pa.Table.from_pylist(ROWS))
    ]
    assert new == [2, 0, 0, 0, 0, 0]
    (batch,) = read(sqlite_board.store, list_batches)
    assert batch.actor == local_user()


def test_columns_with_other_names_are_mapped_and_unknown_ones_are_named(sqlite_board):
    frame = pd.DataFrame(ROWS).rename(columns={"query": "Spalte"})
    with pytest.raises(JudgeboardError, match="Frage"):
        sqlite_board.add(frame, columns={"Frage": "query"})
    assert sqlite_board.add(frame, columns={"Spalte": "query"}).new == 2
    assert list(sqlite_board.answers()["query"]) == columns(ROWS, "query")


@pytest.mark.parametrize(
    ("row", "advice"),
    [
        ({"frage": "Does Dyneema melt?", "antwort": "It melts at about 145 degrees."}, "columns="),
        ({"query": "Who?", "answer": "Ann.", "asked_at": "03/04/2026"}, "dates="),
    ],
)
def test_what_is_not_clear_is_advised_in_python(sqlite_board, row, advice):
    with pytest.raises(JudgeboardError, match=advice):
        sqlite_board.add([row])


def test_rejected_rows_are_named_by_their_place_or_line_and_what_was_read_is_shown(
    sqlite_board, tmp_path
):
    frame = pd.DataFrame([*ROWS, {"id": "c", "query": "Who?", "answer": None}])
    added = sqlite_board.add(frame)
    check_fields(added.imports[0], new=2, rejected=1)
    assert added.rejected[["row", "field"]].to_numpy().tolist() == [[2, "answer"]]
    assert frame.iloc[added.rejected.row[0]].id == "c"
    assert "external_id" in repr(added)
    assert "<table>" in added._repr_html_()
    file = written([*ROWS, {"query": "Who?"}], tmp_path / "rows.jsonl")
    assert list(sqlite_board.add(file).rejected.row) == [3]


def test_verdicts_and_grades_beside_the_answers_are_added_too(sqlite_board):
    rows = [row | {"label": "grounded", "annotator": "mara"} for row in ROWS]
    columns = {"label": "grades.label", "annotator": "grades.annotator"}
    added = sqlite_board.add(rows, columns=columns)
    assert [(each.kind, each.new) for each in added.imports] == [("responses", 2), ("grades", 2)]
    assert list(sqlite_board.reviews().label) == ["grounded", "grounded"]


@pytest.mark.parametrize(
    "rows",
    [
        7,
        {"query": ["a"]},
        ["a text"],
        [],
        "no_such_file.csv",
        [{"unknown": 1}],
        [{"query": object(), "answer": "a"}],
        pd.DataFrame([["a", "b"]], columns=["query", "query"]),
    ],
)
def test_what_is_no_rows_is_refused(sqlite_board, rows):
    with pytest.raises(JudgeboardError):
        sqlite_board.add(rows)
    assert sqlite_board.answers().empty


def test_an_answer_is_judged_and_its_tables_are_frames(board):
    board.add(ROWS)
    assert board.judge("lexical").ok == 2
    board.add([{"response_id": "b", "annotator": "mara", "label": "hallucinated"}], kind="grades")
    ratings = board.ratings().set_index("external_id")
    assert list(board.judgments().external_id) == ["a", "b"]
    assert set(board.flags().external_id) == {"b"}
    assert list(board.reviews().reviewer) == ["mara"]
    assert board.pairs().empty
    assert (ratings.judge_groundedness["a"], ratings.label["b"]) == (1.0, "hallucinated")


def test_every_frame_has_the_columns_of_the_export_also_without_rows(sqlite_board, tmp_path):
    file = tmp_path / "flags.csv"
    export_tables(sqlite_board.store, {"flags": file}, format="csv")
    flags = sqlite_board.flags()
    assert list(flags.columns) == list(pd.read_csv(file).columns)
    assert (flags.created_at.dtype, flags.quality.dtype) == ("datetime64[us, UTC]", "Int64")


def test_judging_works_while_an_event_loop_runs(sqlite_board):
    async def in_a_notebook():
        sqlite_board.add(ROWS)
        return sqlite_board.judge("lexical").ok, len(judgeboard.judge(ROWS))

    assert asyncio.run(in_a_notebook()) == (2, 2)


def test_a_new_name_with_a_model_is_a_new_judge_and_judges_again_by_its_name(sqlite_board):
    sqlite_board.add(ROWS)
    with RecordingEndpoint(always(verdict(groundedness=0.25, quality=2))) as endpoint:
        first = sqlite_board.judge("house", model="scripted", base_url=endpoint.base_url, limit=1)
        second = sqlite_board.judge("house")
    assert [(each.judge, each.ok) for each in (first, second)] == [("house v1", 1)] * 2
    assert list(sqlite_board.judgments().groundedness) == [0.25, 0.25]


@pytest.mark.parametrize(
    ("name", "options"),
    [("oracle", {}), ("lexical", {"model": "m"}), ("rag", {}), ("new", {"kind": "oracle"})],
)
def test_a_judge_that_cannot_be_asked_is_refused(sqlite_board, name, options):
    with pytest.raises(JudgeboardError):
        sqlite_board.judge(name, **options)


def test_a_frame_is_judged_without_a_database():
    frame = pd.DataFrame([*ROWS, {"id": "c", "query": "Who?"}], index=[7, 7, 9])
    judged = judgeboard.judge(frame)
    assert list(judged.index) == [7, 7, 9]
    assert list(judged.judge_status) == ["ok", "ok", "rejected"]
    assert list(judged.judge_groundedness[:2]) == [1.0, 0.0]
    assert "answer" in judged.judge_error.iloc[2]
    assert judged[frame.columns].equals(frame)
    with pytest.raises(JudgeboardError, match="judge_"):
        judgeboard.judge(judged)


def test_a_model_judges_a_frame_until_its_cost_limit_or_a_refusal():
    with RecordingEndpoint(always(verdict(quality=3))) as endpoint:
        judged = judgeboard.judge(ROWS, "rag", model="gpt-4o-mini", base_url=endpoint.base_url)
    assert list(judged.judge_quality) == [3, 3]
    unpriced = {"model": "unpriced", "base_url": "https://models.example.com/v1", "max_cost": 1}
    with pytest.raises(JudgeboardError):
        judgeboard.judge(ROWS, "rag", **unpriced)
    refusing = RecordingEndpoint(always(failure(401, "no such key")))
    with refusing as endpoint, pytest.raises(JudgeboardError):
        judgeboard.judge(ROWS, "rag", model="scripted", base_url=endpoint.base_url)


@pytest.fixture
def graded(graded_once):
    def fill(log):
        board = Board(log.store)
        board.add(
            row | {"id": f"{row['id']}{n}", "query": f"{n} {row['query']}"}
            for n in range(20)
            for row in ROWS
        )
        board.judge("lexical")
        board.judge("second", kind="lexical")
        labels = {"a": "grounded", "b": "hallucinated"}
        grades = [
            {"response_id": f"{name}{n}", "annotator": "mara", "label": label if n else "grounded"}
            for n in range(20)
            for name, label in labels.items()
        ]
        board.add(grades, kind="grades")

    log, _ = graded_once("board", fill)
    return Board(log.store)


def test_figures_are_those_of_the_commands(graded):
    assert graded.agreement(by="query_type").n == 40
    assert graded.rate().share.value == pytest.approx(19 / 40)
    assert graded.trend().panels
    assert graded.threshold(recall=0.8)[0].headline.code.startswith("threshold_")
    assert graded.compare("lexical", "second").figure("n").value == 40
    assert graded.plan(width=0.1)[0].headline.code.startswith("plan_")
    judges = graded.plan(difference=0.1, question="judges", judge_versions=["lexical", "second"])
    assert judges[0].headline.code.startswith("plan_")


@pytest.mark.parametrize(
    "measure",
    [
        lambda board: board.threshold(),
        lambda board: board.threshold(recall=0.8, precision=0.8),
        lambda board: board.plan(),
        lambda board: board.plan(width=0.1, question="judges"),
        lambda board: board.rate(where="query_typ=complex"),
        lambda board: board.agreement(by="colour"),
        lambda board: board.compare("lexical", "oracle"),
        lambda board: board.ratings(judge_version="oracle"),
    ],
)
def test_a_figure_that_cannot_be_measured_is_an_error(graded, measure):
    with pytest.raises(JudgeboardError):
        measure(graded)


def test_rows_that_the_user_reviews_blind_are_left_out(sqlite_store, capsys):
    case, board = queue_case(sqlite_store), Board(sqlite_store)
    mark_answer(sqlite_store, case.ada)

    def tables():
        frames = (board.answers, board.judgments, board.flags, board.reviews)
        return "".join(frame().to_string() for frame in (*frames, board.pairs, board.ratings))

    assert "mark-" in tables()
    user = judgeboard.ensure_reviewer(sqlite_store, "cli", local_user())
    where = judgeboard.RowFilter(ids=("marked",))
    case.queue(where=where, blind_judge=True, order="oldest", assigned=(user,))
    assert "mark-" not in tables()
    assert "plain-reasoning" in board.judgments().to_string()
    assert "hidden: 1 answer" in capsys.readouterr().err


def test_a_missing_database_is_created_and_closed_at_the_end(tmp_path):
    with judgeboard.open(tmp_path / "new" / "shop.db") as board:
        board.add(ROWS)
    with judgeboard.open(f"sqlite:///{tmp_path}/new/shop.db") as board:
        assert len(board.answers()) == 2
    with pytest.raises(JudgeboardError):
        judgeboard.open("postgresql://nobody@127.0.0.1:1/nothing")


@pytest.mark.postgres
def test_a_database_of_postgresql_is_created(empty_postgres):
    with judgeboard.open(empty_postgres) as board:
        assert board.add(ROWS).new == 2


def test_the_package_and_a_file_of_rows_load_no_pandas(tmp_path):
    file = tmp_path / "rows.jsonl.gz"
    file.write_bytes(gzip.compress(b"".join(json.dumps(row).encode() + b"\n" for row in ROWS)))
    script = (
        "import sys, judgeboard as jb; board = jb.open(sys.argv[1]); board.add(sys.argv[2]); board.judge('lexical'); "
        "board.rate(); print('pandas' in sys.modules)"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "new.db"), str(file)]
    assert subprocess.run(command, check=True, capture_output=True, text=True).stdout == "False\n"


@pytest.mark.filterwarnings("default")  # of the kernel
def test_the_how_to_is_a_notebook_with_the_outputs_of_today(tmp_path):
    """`python docs/run_notebook.py` writes new outputs."""
    assert executed(tmp_path).cells == nbformat.read(NOTEBOOK, as_version=4).cells

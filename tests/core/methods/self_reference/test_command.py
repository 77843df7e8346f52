"""`judgeboard compare ssr`, as a person types it: what it says before, its JSON, and being killed in the middle."""

import json
import signal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from command_lines import run_line
from forked_commands import ReadCommand
from held_endpoint import held_endpoint
from judgeboard.cli.app import run
from judgeboard.llm.recording_endpoint import RecordingEndpoint, failure
from judgeboard.methods.self_reference.tables import SAMPLE
from judgeboard.store.tables import COMPARISON
from judging_log import address, runs, time_passes, until
from solving_log import OPTIONS, TORN, Solver
from stored_rows import row_count
from tool_files import written as written_rows

AT_ONCE = 2
COUNTS = ("asked", "ok", "unparsable", "refused", "error", "not_reached")


def pairs_file(folder, count):
    rows = [
        {
            "id": f"q{number}",
            "question": f"Question-{number}?",
            "options": OPTIONS,
            "reference": "B",
            "answer_a": f"left-{number}",
            "answer_b": f"right-{number}",
            "gold": "a",
            "query_type": "geo",
        }
        for number in range(count)
    ]
    return str(written_rows(folder, *rows, name="pairs.jsonl"))


def words(endpoint, store, file, *more):
    model = ["--model", "scripted", "--base-url", endpoint.base_url, "--concurrency", str(AT_ONCE)]
    return ["compare", "ssr", "--pairs", file, *model, "--db", address(store), *more]


def stored(store):
    """How many samples and verdicts are stored."""
    return row_count(store, SAMPLE, COMPARISON)


def test_json_alone_with_all_that_was_promised_and_the_calls_said_before(
    sqlite_store, tmp_path, capsys
):
    prices = tmp_path / "prices.toml"
    prices.write_text("[models]\nscripted = { input = 1, output = 1 }\n")
    with RecordingEndpoint(Solver({0: TORN})) as endpoint:
        command = words(endpoint, sqlite_store, pairs_file(tmp_path, 3), "--prices", str(prices))
        assert run([*command, "--json"]) == 0
        assert len(endpoint.requests) == 27
    out, err = capsys.readouterr()
    result = json.loads(out)
    assert err.startswith("up to 27 calls ")
    assert [result["account"][name] for name in COUNTS] == [27, 27, 0, 0, 0, 0]
    rows = {(row["figure"], row["slice"]): row for row in result["rows"]}
    assert rows["n", None]["n"] == 3
    assert {name for name, part in rows if part is None} >= {
        "without",
        "always",
        "selective",
        "gain_without",
    }
    assert {each["code"] for each in result["caveats"]} == {"tied_samples"}
    assert [part["headline"]["code"] for part in result["parts"]] == [
        "verdicts_by_condition",
        "right_by_level",
        "other_gates",
        "by_category",
        "tuned",
    ]
    assert all(part["rows"] for part in result["parts"])
    assert result["account"]["cost"] > 0


def test_the_same_command_asks_nothing_twice_and_recorded_needs_no_model(
    sqlite_store, tmp_path, capsys
):
    with RecordingEndpoint(Solver()) as endpoint:
        command = words(endpoint, sqlite_store, pairs_file(tmp_path, 3), "--conditions", "c")
        assert run([*command, "--limit", "2"]) == 0
        assert "14 calls " in capsys.readouterr().err
        assert run(command) == 0
        assert "7 calls " in capsys.readouterr().err
        assert len(endpoint.requests) == 21
    capsys.readouterr()
    assert run(["compare", "ssr", "--recorded", "--json", "--db", address(sqlite_store)]) == 0
    result = json.loads(capsys.readouterr().out)
    assert [result["account"][name] for name in COUNTS] == [21, 21, 0, 0, 0, 0]
    accuracy = {row["figure"]: row["value"] for row in result["rows"] if row["slice"] is None}
    assert ("without" in accuracy, accuracy["selective"]) == (False, 1)


def test_after_an_outage_the_command_says_what_is_stored_and_rejudge_asks_again(
    sqlite_store, tmp_path, capsys
):
    with RecordingEndpoint(lambda *_: failure(400, "no such thing")) as endpoint:
        command = words(endpoint, sqlite_store, pairs_file(tmp_path, 1))
        assert run(command) == 1
        asked = len(endpoint.requests)
        capsys.readouterr()
        assert run([*command, "--json"]) == 1
        assert len(endpoint.requests) == asked
        account = json.loads(capsys.readouterr().out)["account"]
        assert [account[name] for name in COUNTS] == [5, 0, 0, 0, 5, 0]
        endpoint.script = Solver()
        assert run([*command, "--rejudge", "failed"]) == 0
        capsys.readouterr()
        assert run([*command, "--json"]) == 0
    account = json.loads(capsys.readouterr().out)["account"]
    assert [account[name] for name in COUNTS] == [9, 9, 0, 0, 0, 0]


def test_killed_in_the_middle_the_same_command_repeats_only_the_calls_in_flight(
    sqlite_store, tmp_path
):
    with held_endpoint(Solver({0: TORN})) as held:
        held.hold_after(13)
        server = held.server
        command = words(server, sqlite_store, pairs_file(tmp_path, 4))
        with ReadCommand(*command) as first:
            until(
                lambda: len(server.requests) == 13 + AT_ONCE and stored(sqlite_store) == 13,
                "13 stored, 2 in flight",
            )
            first.send_signal(signal.SIGKILL)
        time_passes(sqlite_store)
        held.release()
        assert run([*command, "--json"]) == 0
        assert len(server.requests) == 4 * 9 + AT_ONCE
    assert stored(sqlite_store) == 4 * 9
    assert [(row["state"], row["selected"]) for row in runs(sqlite_store)] == [("done", 4 * 9)]


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ("", "--pairs FILE to ask a judge, or --recorded"),
        ("--recorded --pairs x", "--pairs FILE to ask a judge, or --recorded"),
        ("--recorded --model m", "makes no model calls: remove --model"),
        ("--pairs x --judge-version j --model m", "--judge-version needs --recorded"),
        ("--pairs x --model m", "no file x"),
        ("--pairs {pairs}", "needs a model"),
        ("--recorded --conditions A", "--conditions"),
        ("--pairs {pairs} --conditions X --model m", "A, B or C"),
        ("--recorded", "no judge has samples yet"),
    ],
)
def test_what_cannot_be_done_is_one_line_that_says_why(sqlite_store, tmp_path, shell, given, why):
    options = given.format(pairs=pairs_file(tmp_path, 1))
    assert why in shell(f"compare ssr {options} --db {address(sqlite_store)}", code=2)


def test_pairs_are_made_from_questions(tmp_path, capsys):
    questions = tmp_path / "questions.jsonl"
    good = {"id": 1, "question": "Capital of Italy?", "options": OPTIONS, "answer": "Rome"}
    questions.write_text(json.dumps(good) + "\n" + json.dumps({**good, "answer": "Athens"}) + "\n")
    assert run(["compare", "make-pairs", "--questions", str(questions)]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["reference"] == "B"
    assert "1 pair made, " in err
    assert "line 2: " in err
    assert "'Athens'" in err
    beyond = str(tmp_path / "no" / "x")
    assert run(["compare", "make-pairs", "--questions", str(questions), "-o", beyond]) == 2


MMLU_PRO = [
    {
        "question_id": 70 + number,
        "question": f"{country}: which is its capital?",
        "options": OPTIONS,
        "answer": "ABCD"[number],
        "answer_index": number,
        "cot_content": "",
        "category": "geography",
        "src": "ori",
    }
    for number, country in enumerate(("France", "Italy"))
]


@pytest.mark.parametrize("name", ["mmlu.jsonl", "mmlu.parquet"])
def test_the_rows_of_mmlu_pro_make_pairs(name, tmp_path, capsys):
    questions, pairs = written_rows(tmp_path, *MMLU_PRO, name=name), tmp_path / "pairs.jsonl"
    if name.endswith("parquet"):
        pq.write_table(pa.Table.from_pylist(MMLU_PRO), questions)
    assert run(["compare", "make-pairs", "--questions", str(questions), "-o", str(pairs)]) == 0
    assert capsys.readouterr().err == "2 pairs made, 0 questions left out\n"
    made = [json.loads(line) for line in pairs.read_text().splitlines()]
    assert [(pair["id"], pair["reference"], pair["query_type"]) for pair in made] == [
        ("70", "A", "geography"),
        ("71", "B", "geography"),
    ]


def test_questions_in_the_place_of_pairs_name_the_command_that_makes_pairs(tmp_path, capsys):
    questions = written_rows(tmp_path, *MMLU_PRO)
    judge = f"--model m --base-url http://127.0.0.1:9/v1 --db {tmp_path / 'x.db'}"
    assert run_line(f"compare ssr --pairs {questions} {judge}") == 2
    assert "`judgeboard compare make-pairs`" in capsys.readouterr().err

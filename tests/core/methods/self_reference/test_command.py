"""`judgeboard compare ssr`, as a person types it: what it says before, its JSON, and being killed in the middle."""

import json
import shlex

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from held_endpoint import held_endpoint
from judgeboard.llm.recording_endpoint import RecordingEndpoint, failure
from judgeboard.methods.self_reference.tables import SAMPLE
from judgeboard.store.tables import COMPARISON
from judging_log import address, runs
from killed_command import killed_after
from solving_log import OPTIONS, TORN, Solver
from stored_rows import row_count
from tool_files import written as written_rows

AT_ONCE = 2
COUNTS = ("asked", "ok", "unparsable", "refused", "error", "not_reached")


@pytest.fixture
def pairs_file(tmp_path):
    """Return ``pairs_file(count)``: a file of so many questions with two answers each."""

    def written(count):
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
        return written_rows(tmp_path, *rows, name="pairs.jsonl")

    return written


def asking(endpoint, file):
    model = f"--model scripted --base-url {endpoint.base_url} --concurrency {AT_ONCE}"
    return f"compare ssr --pairs {file} {model}"


def counts(result):
    return [result["account"][name] for name in COUNTS]


def test_json_alone_with_all_that_was_promised_and_the_calls_said_before(
    tmp_path, pairs_file, command
):
    prices = tmp_path / "prices.toml"
    prices.write_text("[models]\nscripted = { input = 1, output = 1 }\n")
    with RecordingEndpoint(Solver({0: TORN})) as endpoint:
        out, err = command(f"{asking(endpoint, pairs_file(3))} --prices {prices} --json")
        assert len(endpoint.requests) == 27
    result = json.loads(out)
    assert err.startswith("up to 27 calls ")
    assert counts(result) == [27, 27, 0, 0, 0, 0]
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
    pairs_file, command, json_of
):
    with RecordingEndpoint(Solver()) as endpoint:
        line = f"{asking(endpoint, pairs_file(3))} --conditions c"
        assert "14 calls " in command(f"{line} --limit 2").err
        assert "7 calls " in command(line).err
        assert len(endpoint.requests) == 21
    result = json_of("compare ssr --recorded")
    assert counts(result) == [21, 21, 0, 0, 0, 0]
    accuracy = {row["figure"]: row["value"] for row in result["rows"] if row["slice"] is None}
    assert ("without" in accuracy, accuracy["selective"]) == (False, 1)


def test_after_an_outage_the_command_says_what_is_stored_and_rejudge_asks_again(
    pairs_file, command, json_of
):
    with RecordingEndpoint(lambda *_: failure(400, "no such thing")) as endpoint:
        line = asking(endpoint, pairs_file(1))
        command(line, code=1)
        asked = len(endpoint.requests)
        assert counts(json_of(line, code=1)) == [5, 0, 0, 0, 5, 0]
        assert len(endpoint.requests) == asked
        endpoint.script = Solver()
        command(f"{line} --rejudge failed")
        assert counts(json_of(line)) == [9, 9, 0, 0, 0, 0]


def test_killed_in_the_middle_the_same_command_repeats_only_the_calls_in_flight(
    sqlite_store, pairs_file
):
    def stored():
        return row_count(sqlite_store, SAMPLE, COMPARISON)

    with held_endpoint(Solver({0: TORN})) as held:
        line = f"{asking(held.server, pairs_file(4))} --db {address(sqlite_store)}"
        killed_after(13, AT_ONCE, held, stored, sqlite_store, shlex.split(line))
        assert len(held.server.requests) == 4 * 9 + AT_ONCE
    assert stored() == 4 * 9
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
def test_what_cannot_be_done_is_one_line_that_says_why(pairs_file, command, given, why):
    options = given.format(pairs=pairs_file(1))
    assert why in command(f"compare ssr {options}", code=2).err


def test_pairs_are_made_from_questions(tmp_path, command):
    good = {"id": 1, "question": "Capital of Italy?", "options": OPTIONS, "answer": "Rome"}
    make = f"compare make-pairs --questions {written_rows(tmp_path, good, good | {'answer': 'Athens'})}"
    out, err = command(make)
    assert json.loads(out)["reference"] == "B"
    assert "1 pair made, " in err
    assert "line 2: " in err
    assert "'Athens'" in err
    command(f"{make} -o {tmp_path / 'no' / 'x'}", code=2)


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
def test_the_rows_of_mmlu_pro_make_pairs(name, tmp_path, command):
    questions, pairs = written_rows(tmp_path, *MMLU_PRO, name=name), tmp_path / "pairs.jsonl"
    if name.endswith("parquet"):
        pq.write_table(pa.Table.from_pylist(MMLU_PRO), questions)
    output = command(f"compare make-pairs --questions {questions} -o {pairs}")
    assert output.err == "2 pairs made, 0 questions left out\n"
    made = [json.loads(line) for line in pairs.read_text().splitlines()]
    assert [(pair["id"], pair["reference"], pair["query_type"]) for pair in made] == [
        ("70", "A", "geography"),
        ("71", "B", "geography"),
    ]


def test_questions_in_the_place_of_pairs_name_the_command_that_makes_pairs(tmp_path, command):
    questions = written_rows(tmp_path, *MMLU_PRO)
    judge = "--model m --base-url http://127.0.0.1:9/v1"
    refused = command(f"compare ssr --pairs {questions} {judge}", code=2)
    assert "`judgeboard compare make-pairs`" in refused.err

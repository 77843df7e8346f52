"""`judgeboard compare`, as a person types it: which pairs, what it says, and being killed in the middle."""

import json
import shlex
import signal

import pytest

from command_lines import run_line
from forked_commands import ReadCommand
from held_endpoint import held_endpoint
from judgeboard.cli.app import run
from judgeboard.domain import Response
from judgeboard.llm.recording_endpoint import RecordingEndpoint, always
from judgeboard.store.comparisons import latest_asks, versions_that_compared
from judgeboard.store.storing import store_responses
from judgeboard.store.tables import PAIR
from judging_log import address, runs, until
from pair_log import add_pairs, asked, by_pair, record, said
from stored_rows import rows_of, write_to
from tool_files import written as written_rows

AT_ONCE = 4


def compare(store, script, *more):
    with RecordingEndpoint(script) as endpoint:
        return run(words(store, endpoint, *more)), endpoint


def words(store, endpoint, *more):
    options = f"--model scripted --base-url {endpoint.base_url} --concurrency {AT_ONCE} --yes"
    return shlex.split(f"compare {options} --db {address(store)} {' '.join(more)}")


def pairs_file(folder, count):
    rows = [
        {
            "id": f"p{n}",
            "question": f"Which, {n}?",
            "answer_a": f"left-{n}",
            "answer_b": f"right-{n}",
        }
        for n in range(count)
    ]
    return written_rows(folder, *rows, name="pairs.jsonl")


def answers(store, source, *given):
    responses = [
        Response(source, f"{source}-{place}", query, answer, passages)
        for place, (query, answer, passages) in enumerate(given)
    ]
    write_to(store, store_responses, responses)


def test_a_file_is_imported_and_compared_and_the_same_command_again_asks_nothing(
    sqlite_store, tmp_path, capsys
):
    file = str(pairs_file(tmp_path, 5))
    code, endpoint = compare(sqlite_store, always(said("first")), f"--pairs {file} --json")
    content = json.loads(capsys.readouterr().out)
    # Two calls per pair.
    assert (code, len(endpoint.requests), content["pairs"]) == (0, 10, 5)
    account = content["account"]
    assert (account["asked"], account["ok"], account["not_reached"]) == (10, 10, 0)
    (group,) = content["aspects"]
    rows = {row["figure"]: row["value"] for row in group["rows"]}
    assert rows["flips"] == 5
    assert rows["self_consistency"] == 0.0
    assert rows["first_position"] == 1.0
    code, endpoint = compare(sqlite_store, always(said("first")), f"--pairs {file} --json")
    content = json.loads(capsys.readouterr().out)
    assert code == 0
    assert endpoint.requests == []
    assert content["account"]["asked"] == 0
    assert content["account"]["run_id"] is None
    # The figures are of all pairs of the file, whenever they were asked.
    assert content["aspects"] == [group]


def test_answers_of_two_sources_are_paired_by_question_and_passages_and_not_copied(
    sqlite_store, capsys
):
    answers(
        sqlite_store,
        "old",
        ("one?", "left-1", ("p",)),
        ("two?", "left-2", ("p",)),
        ("three?", "left-3", None),
    )
    answers(
        sqlite_store,
        "new",
        ("three?", "right-3", ("q",)),
        ("two?", "right-2", ("other",)),
        ("one?", "right-1", ("p",)),
        ("four?", "right-4", None),
    )
    script = by_pair({(1, "ab"): said("first"), (1, "ba"): said("second")})
    code, endpoint = compare(sqlite_store, script, "--a old --b new --json")
    content = json.loads(capsys.readouterr().out)
    assert (code, content["pairs"], content["left_out"]) == (0, 2, 3)
    assert set(asked(endpoint)) == {(number, order) for number in (1, 3) for order in ("ab", "ba")}
    rows = {row["figure"]: row["value"] for row in content["aspects"][0]["rows"]}
    assert rows["wins_a"] == 1
    assert rows["ties"] == 1
    pairs = {
        row["external_id"]: (row["response_a_id"], row["response_b_id"])
        for row in rows_of(sqlite_store, PAIR)
    }
    assert pairs == {"old-0 / new-2": (1, 6), "old-2 / new-0": (3, 4)}
    shown = [request.body["messages"][1]["content"] for request in endpoint.requests]
    # Passages are shown where both answers had them.
    assert sum("[BEGIN PASSAGE 1" in text for text in shown) == 2


def test_the_first_answer_to_a_repeated_question_meets_the_first(sqlite_store):
    answers(sqlite_store, "old", ("one?", "left-1", None), ("one?", "left-2", None))
    answers(
        sqlite_store,
        "new",
        ("one?", "right-1", None),
        ("one?", "right-2", None),
        ("one?", "right-3", None),
    )
    compare(sqlite_store, always(said("tie")), "--a old --b new")
    assert [
        (row["response_a_id"], row["response_b_id"]) for row in rows_of(sqlite_store, PAIR)
    ] == [(1, 3), (2, 4)]


def test_several_aspects_are_asked_in_one_call(sqlite_store, tmp_path, capsys):
    script = always(said("first", "style", "truth"))
    file = str(pairs_file(tmp_path, 2))
    _, endpoint = compare(
        sqlite_store, script, f"--pairs {file} --aspect style --aspect truth --json"
    )
    assert [each["about"]["grade"] for each in json.loads(capsys.readouterr().out)["aspects"]] == [
        "style",
        "truth",
    ]
    assert len(endpoint.requests) == 4


def test_a_recording_is_read_without_asking_and_said_in_words(sqlite_store, shell):
    record(sqlite_store, add_pairs(sqlite_store, 4), {"ab": "aabt", "ba": "aaba"}, name="old judge")
    out = shell(f"compare --recorded --judge-version 'old judge' --db {address(sqlite_store)}")
    assert "old judge v1" in out
    # The same preference in both orders.
    assert "75 %" in out


@pytest.mark.parametrize(
    ("options", "why"),
    {
        "": "choose the pairs",
        "--a x": "choose the pairs",
        "--a x --b y --recorded": "choose the pairs",
        "--recorded": "judgeboard import --kind comparisons",
        "--a x --b y --judge-version j": "needs --recorded",
        "--recorded --judge-version j --model m": "remove --model",
        "lexical --recorded": "--judge-version lexical",
        "--recorded --judge-version nobody": "no judge version 'nobody'",
        "--a x --b x --model m --base-url http://localhost:1/v1": "different sources",
        "--a x --b y --model m --base-url http://localhost:1/v1": "no answers with source 'x'",
    }.items(),
)
def test_a_command_that_cannot_be_meant_says_why(sqlite_store, capsys, options, why):
    assert run_line(f"compare --db {address(sqlite_store)} {options}") == 2
    captured = capsys.readouterr()
    assert why in captured.err
    assert captured.out == ""


def stored(store):
    """What is stored: which pair in which order."""
    with store.reading() as connection:
        versions = versions_that_compared(connection)
        asks = latest_asks(connection, versions[0].id, range(1, 100)) if versions else {}
    return {(pair_id - 1, shown.value) for pair_id, shown in asks}


def test_a_second_command_says_which_process_makes_the_run_and_repeats_its_calls_after_a_kill(
    store, tmp_path, capsys
):
    with held_endpoint() as endpoint:
        endpoint.reply = said("first")
        endpoint.hold_after(11)
        command = words(store, endpoint.server, f"--pairs {pairs_file(tmp_path, 15)}")
        with ReadCommand(*command) as first:
            until(
                lambda: len(endpoint.server.requests) == 11 + AT_ONCE and len(stored(store)) == 11,
                "11 stored, 4 in flight",
            )
            assert run(command) == 2
            assert f"process {first.pid} on " in capsys.readouterr().err
            first.send_signal(signal.SIGKILL)
        endpoint.release()
        until(lambda: run(command) == 0, "the lock of a killed process ends with it")
        # Only the calls that were in flight are repeated.
        assert len(endpoint.server.requests) == 30 + AT_ONCE
    assert len(stored(store)) == 30
    assert [(row["kind"], row["state"], row["selected"]) for row in runs(store)][-1] == (
        "compare",
        "done",
        30,
    )

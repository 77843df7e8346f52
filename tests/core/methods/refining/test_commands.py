"""`judgeboard refine reflect` and `judgeboard refine`, as a person types them; and killed in the middle."""

import json
import re
import shlex
import signal

from forked_commands import ReadCommand
from held_endpoint import held_endpoint
from judgeboard.cli.app import run
from judgeboard.llm.recording_endpoint import RecordingEndpoint, completion
from judgeboard.runs.jobs import judge_spec
from judgeboard.runs.judging import judge_options
from judgeboard.store.judge_versions import get_version
from judging_log import address, judgments, runs, time_passes, until
from refining_log import (
    both,
    generations,
    made,
    rated,
    ratings,
    refinements,
    scored,
    store_bad,
    written,
)
from tool_files import written as written_rows


def reflect_words(store, endpoint, *more):
    judge = f"--judge rag --model reader --base-url {endpoint.base_url}"
    line = f"refine reflect --generator writer {judge} --concurrency 2 --db {address(store)}"
    return [*shlex.split(line), *more]


def refine_words(database, endpoint, *more):
    judge = f"--model reader --base-url {endpoint.base_url}"
    line = f"refine --generator writer {judge} --concurrency 2 --db {database}"
    return [*shlex.split(line), *more]


def printed(capsys):
    output = json.loads(capsys.readouterr().out)
    assert isinstance(output, dict)
    return output


def test_reflect_in_words_names_what_would_reach_the_rest(sqlite_store, capsys):
    store_bad(sqlite_store, 2, messages=None)
    with RecordingEndpoint(
        both(lambda _request: "granite", scored({"granite": (0.9, 4)}))
    ) as endpoint:
        assert run(reflect_words(sqlite_store, endpoint)) == 0
        assert "2 eligible answers" in capsys.readouterr().out
        assert run(reflect_words(sqlite_store, endpoint, "--rebuild-messages")) == 0
        assert re.search(r"kept +2", capsys.readouterr().out)
        assert run(reflect_words(sqlite_store, endpoint, "--rebuild-messages")) == 0
        assert "nothing to do" in capsys.readouterr().out


def test_reflect_takes_thresholds_types_and_an_offline_judge(sqlite_store):
    store_bad(sqlite_store, query_type="QA", answer="Marble sings.")
    with RecordingEndpoint(lambda _request, _number: rated(1)) as endpoint:
        generator = f"--generator writer --generator-base-url {endpoint.base_url}"
        rule = "--max-quality 3 --min-chars 5 --query-type QA --query-type complex"
        limits = f"--generator-max-output 64 --timeout 9 --db {address(sqlite_store)}"
        line = f"refine reflect {generator} --judge lexical {rule} {limits}"
        assert run(shlex.split(line)) == 0
    assert [request["max_tokens"] for request in written(endpoint)] == [64]


def test_refine_in_words_shows_the_ratings_and_what_did_not_pass(sqlite_store, capsys):
    store_bad(sqlite_store)
    words = [
        "--where",
        "query_type=complex",
        "--max-repeats",
        "1",
        "--success-rating",
        "3",
        "--keep",
        "best",
    ]
    with RecordingEndpoint(ratings(2, 1)) as endpoint:
        assert run(refine_words(address(sqlite_store), endpoint, *words)) == 0
    output = capsys.readouterr().out
    assert "0 of 1 " in output
    assert "4 calls" in output
    assert [line.split()[1:3] for line in output.splitlines()[-2:]] == [["1", "2"], ["2", "1"]]


def test_refine_wants_to_know_what_to_answer(sqlite_store, capsys):
    with RecordingEndpoint() as endpoint:
        assert run(refine_words(address(sqlite_store), endpoint)) == 2
    assert "--prompts FILE" in capsys.readouterr().err


def recorded(tmp_path, *ratings):
    """Return the command with recorded answers and ratings."""
    prompts, answers, replies = (
        tmp_path / name for name in ("prompts.jsonl", "answers.jsonl", "replies.jsonl")
    )
    prompts.write_text('{"id": "a", "prompt": "How warm is it?"}')
    lines = [
        {"response_id": f"a/{number}", "raw": f"{number * 15} degrees"} for number in range(1, 5)
    ]
    answers.write_text("\n".join(map(json.dumps, lines)))
    raws = [{"evaluation": "so", "rating": rating, "feedback": "More."} for rating in ratings]
    replies.write_text(
        "\n".join(
            json.dumps({"response_id": f"a/{number}", "raw": raw})
            for number, raw in enumerate(raws, start=1)
        )
    )
    files = f"--generator-replies {answers} --replies {replies} --prompts {prompts}"
    return shlex.split(f"refine --generator writer {files} --db {tmp_path / 'd.db'}")


def test_each_attempt_has_its_own_recorded_answer_and_shows_it(tmp_path, capsys):
    assert run([*recorded(tmp_path, 1, 4), "--json"]) == 0
    attempts = printed(capsys)["items"][0]["attempts"]
    assert [(one["answer"], one["rating"]) for one in attempts] == [
        ("15 degrees", 1),
        ("30 degrees", 4),
    ]
    assert run(recorded(tmp_path, 1, 4)) == 0
    out = capsys.readouterr().out
    rows = [line.split() for line in out.splitlines()]
    assert [row for row in rows if row[-1:] == ["degrees"]] == [
        ["a", "1", "1", "15", "degrees"],
        ["a", "2", "4", "30", "degrees"],
    ]


def test_a_judge_that_rates_answers_of_its_own_model_is_warned_of(tmp_path, capsys):
    assert run([*recorded(tmp_path, 4), "--model", "writer"]) == 0
    assert "warning: writer " in capsys.readouterr().err
    assert run([*recorded(tmp_path, 4), "--model", "reader"]) == 0
    assert "warning: " not in capsys.readouterr().err


def test_an_attempt_without_a_recorded_answer_is_not_rated(tmp_path, capsys):
    words = recorded(tmp_path, 1, 4)
    (tmp_path / "answers.jsonl").write_text('{"response_id": "a/1", "raw": "15 degrees"}')
    assert run([*words, "--max-repeats", "1"]) == 1
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    (row,) = (row for row in rows if row[:3] == ["a", "2", "–"])
    assert "'a/2'" in row


def test_ratings_in_free_text_are_read_after_their_word_and_are_the_feedback(tmp_path, capsys):
    words = [*recorded(tmp_path), "--rating-word", "Gesamtnote", "--json"]
    raws = "Zu kurz.\nGesamtnote: 2", "Gut. Gesamtnote: 4"
    lines = [{"response_id": f"a/{number}", "raw": raw} for number, raw in enumerate(raws, start=1)]
    written_rows(tmp_path, *lines, name="replies.jsonl")
    assert run(words) == 0
    attempts = printed(capsys)["items"][0]["attempts"]
    assert [(one["answer"], one["rating"], one["feedback"]) for one in attempts] == [
        ("15 degrees", 2, "Zu kurz."),
        ("30 degrees", 4, "Gut."),
    ]


def test_a_model_is_asked_for_free_text_and_the_version_can_judge_again(sqlite_store, capsys):
    store_bad(sqlite_store)
    reply = completion("Zu kurz.\nGesamtnote: 2")
    with RecordingEndpoint(lambda _request, _number: reply) as endpoint:
        words = ["judge", "--judge", "rating", "--model", "reader", "--base-url", endpoint.base_url]
        assert run([*words, "--rating-word", "Gesamtnote", "--db", address(sqlite_store)]) == 0
    (request,) = endpoint.requests
    assert "response_format" not in request.body
    assert "Gesamtnote: 2" in request.body["messages"][0]["content"]
    assert "JSON" not in request.body["messages"][0]["content"]
    with sqlite_store.reading() as connection:
        version = get_version(connection, "refine")
        assert (judge_spec(connection, version) or {})["rating_word"] == "Gesamtnote"
    assert "--rating-word Gesamtnote" in str(judge_options(version))
    assert "--prompt" not in str(judge_options(version))
    assert run(["versions", "prompt", "refine v1", "--db", address(sqlite_store)]) == 0
    assert "{word}: 2" in capsys.readouterr().out


def test_reflect_killed_in_the_middle_repeats_only_the_calls_in_flight(sqlite_store):
    store_bad(sqlite_store, 6)
    with held_endpoint(both(lambda _request: "granite", scored({"granite": (0.9, 4)}))) as held:
        held.hold_after(8)
        words = reflect_words(sqlite_store, held.server)
        with ReadCommand(*words) as first:
            until(
                lambda: len(held.server.requests) == 10 and steps(sqlite_store) == 8,
                "8 stored, 2 in flight",
            )
            first.send_signal(signal.SIGKILL)
        time_passes(sqlite_store)
        held.release()
        assert run(words) == 0
        assert len(held.server.requests) == 6 * 3 + 2
    assert [row["outcome"] for row in refinements(sqlite_store)] == ["kept_new"] * 6
    assert len(made(sqlite_store)) == 6
    assert [row["state"] for row in runs(sqlite_store)] == ["done"]


def test_refine_killed_in_the_middle_repeats_only_the_calls_in_flight(sqlite_store, tmp_path):
    file = tmp_path / "prompts.txt"
    file.write_text("".join(f"How warm is it in town {number}?\n" for number in range(4)))
    replies = {"1": rated(2, "colder"), "2": rated(2, "warmer"), "3": rated(4)}
    with held_endpoint(both(attempt_of, lambda answer: replies[answer[-1]])) as held:
        held.hold_after(13)
        words = refine_words(address(sqlite_store), held.server, "--prompts", str(file))
        with ReadCommand(*words) as first:
            until(
                lambda: len(held.server.requests) == 15 and steps(sqlite_store) == 13,
                "13 stored, 2 in flight",
            )
            first.send_signal(signal.SIGKILL)
        time_passes(sqlite_store)
        held.release()
        assert run(words) == 0
        assert len(held.server.requests) == 4 * 6 + 2
    by_subject = {}
    for row in refinements(sqlite_store):
        by_subject.setdefault(row["subject"], []).append(row["rating"])
    assert by_subject == {str(number): [2, 2, 4] for number in range(1, 5)}


def attempt_of(request):
    """Name the attempt by the feedback that it comes with."""
    messages = str(request["messages"])
    return (
        "attempt 2"
        if "colder" in messages
        else "attempt 3"
        if "warmer" in messages
        else "attempt 1"
    )


def steps(store):
    return len(generations(store)) + len(judgments(store))

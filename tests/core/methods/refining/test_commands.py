"""`judgeboard refine reflect` and `judgeboard refine`, as a person types them; and killed in the middle."""

import re
import shlex

from held_endpoint import held_endpoint
from judgeboard.llm.recording_endpoint import RecordingEndpoint, completion
from judgeboard.runs.jobs import judge_spec
from judgeboard.runs.judging import judge_options
from judgeboard.store.judge_versions import get_version
from judgeboard.store.tables import GENERATION, JUDGMENT
from judging_log import address, runs
from killed_command import killed_after
from refining_log import (
    both,
    made,
    rated,
    ratings,
    refinements,
    scored,
    store_bad,
    written,
)
from stored_rows import row_count
from tool_files import written as written_rows

GRANITE = both(lambda _request: "granite", scored({"granite": (0.9, 4)}))


def reflect_line(endpoint):
    judge = f"--judge rag --model reader --base-url {endpoint.base_url}"
    return f"refine reflect --generator writer {judge} --concurrency 2"


def refine_line(endpoint):
    judge = f"--model reader --base-url {endpoint.base_url}"
    return f"refine --generator writer {judge} --concurrency 2"


def test_reflect_in_words_names_what_would_reach_the_rest(sqlite_store, command):
    store_bad(sqlite_store, 2, messages=None)
    with RecordingEndpoint(GRANITE) as endpoint:
        line = reflect_line(endpoint)
        assert "2 eligible answers" in command(line).out
        assert re.search(r"kept +2", command(f"{line} --rebuild-messages").out)
        assert "nothing to do" in command(f"{line} --rebuild-messages").out


def test_reflect_takes_thresholds_types_and_an_offline_judge(sqlite_store, command):
    store_bad(sqlite_store, query_type="QA", answer="Marble sings.")
    with RecordingEndpoint(lambda _request, _number: rated(1)) as endpoint:
        generator = f"--generator writer --generator-base-url {endpoint.base_url}"
        rule = "--max-quality 3 --min-chars 5 --query-type QA --query-type complex"
        limits = "--generator-max-output 64 --timeout 9"
        command(f"refine reflect {generator} --judge lexical {rule} {limits}")
    assert [request["max_tokens"] for request in written(endpoint)] == [64]


def test_refine_in_words_shows_the_ratings_and_what_did_not_pass(sqlite_store, command):
    store_bad(sqlite_store)
    rule = "--where query_type=complex --max-repeats 1 --success-rating 3 --keep best"
    with RecordingEndpoint(ratings(2, 1)) as endpoint:
        output = command(f"{refine_line(endpoint)} {rule}").out
    assert "0 of 1 " in output
    assert "4 calls" in output
    assert [line.split()[1:3] for line in output.splitlines()[-2:]] == [["1", "2"], ["2", "1"]]


def test_refine_wants_to_know_what_to_answer(command):
    with RecordingEndpoint() as endpoint:
        assert "--prompts FILE" in command(refine_line(endpoint), code=2).err


def replies_to_a(folder, name, *raws):
    """Write a recorded reply to each attempt at the prompt a, and return the file."""
    lines = [{"response_id": f"a/{number}", "raw": raw} for number, raw in enumerate(raws, 1)]
    return written_rows(folder, *lines, name=name)


def recorded(tmp_path, *ratings):
    """Return the command with recorded answers and ratings."""
    prompts = written_rows(tmp_path, {"id": "a", "prompt": "How warm is it?"}, name="prompts.jsonl")
    answers = replies_to_a(tmp_path, "answers.jsonl", *(f"{n} degrees" for n in (15, 30, 45, 60)))
    raws = [{"evaluation": "so", "rating": rating, "feedback": "More."} for rating in ratings]
    replies = replies_to_a(tmp_path, "replies.jsonl", *raws)
    files = f"--generator-replies {answers} --replies {replies} --prompts {prompts}"
    return f"refine --generator writer {files}"


def words_of(output):
    return [line.split() for line in output.out.splitlines()]


def test_each_attempt_has_its_own_recorded_answer_and_shows_it(tmp_path, command, json_of):
    line = recorded(tmp_path, 1, 4)
    attempts = json_of(line)["items"][0]["attempts"]
    assert [(one["answer"], one["rating"]) for one in attempts] == [
        ("15 degrees", 1),
        ("30 degrees", 4),
    ]
    assert [row for row in words_of(command(line)) if row[-1:] == ["degrees"]] == [
        ["a", "1", "1", "15", "degrees"],
        ["a", "2", "4", "30", "degrees"],
    ]


def test_a_judge_that_rates_answers_of_its_own_model_is_warned_of(tmp_path, command):
    line = recorded(tmp_path, 4)
    assert "warning: writer " in command(f"{line} --model writer").err
    assert "warning: " not in command(f"{line} --model reader").err


def test_an_attempt_without_a_recorded_answer_is_not_rated(tmp_path, command):
    line = recorded(tmp_path, 1, 4)
    replies_to_a(tmp_path, "answers.jsonl", "15 degrees")
    rows = words_of(command(f"{line} --max-repeats 1", code=1))
    (row,) = (row for row in rows if row[:3] == ["a", "2", "–"])
    assert "'a/2'" in row


def test_ratings_in_free_text_are_read_after_their_word_and_are_the_feedback(tmp_path, json_of):
    line = recorded(tmp_path)
    replies_to_a(tmp_path, "replies.jsonl", "Zu kurz.\nGesamtnote: 2", "Gut. Gesamtnote: 4")
    attempts = json_of(f"{line} --rating-word Gesamtnote")["items"][0]["attempts"]
    assert [(one["answer"], one["rating"], one["feedback"]) for one in attempts] == [
        ("15 degrees", 2, "Zu kurz."),
        ("30 degrees", 4, "Gut."),
    ]


def test_a_model_is_asked_for_free_text_and_the_version_can_judge_again(sqlite_store, command):
    store_bad(sqlite_store)
    reply = completion("Zu kurz.\nGesamtnote: 2")
    with RecordingEndpoint(lambda _request, _number: reply) as endpoint:
        judge = f"judge --judge rating --model reader --base-url {endpoint.base_url}"
        command(f"{judge} --rating-word Gesamtnote")
    (request,) = endpoint.requests
    assert "response_format" not in request.body
    system = request.body["messages"][0]["content"]
    assert "Gesamtnote: 2" in system
    assert "JSON" not in system
    with sqlite_store.reading() as connection:
        version = get_version(connection, "refine")
        assert judge_spec(connection, version)["rating_word"] == "Gesamtnote"
    options = str(judge_options(version))
    assert "--rating-word Gesamtnote" in options
    assert "--prompt" not in options
    assert "{word}: 2" in command("versions prompt 'refine v1'").out


def kill(count, held, store, line):
    """Kill a command, given on a database, in the middle, and give it again."""
    words = shlex.split(f"{line} --db {address(store)}")
    killed_after(count, 2, held, lambda: steps(store), store, words)


def test_reflect_killed_in_the_middle_repeats_only_the_calls_in_flight(sqlite_store):
    store_bad(sqlite_store, 6)
    with held_endpoint(GRANITE) as held:
        kill(8, held, sqlite_store, reflect_line(held.server))
        assert len(held.server.requests) == 6 * 3 + 2
    assert [row["outcome"] for row in refinements(sqlite_store)] == ["kept_new"] * 6
    assert len(made(sqlite_store)) == 6
    assert [row["state"] for row in runs(sqlite_store)] == ["done"]


def test_refine_killed_in_the_middle_repeats_only_the_calls_in_flight(sqlite_store, tmp_path):
    file = tmp_path / "prompts.txt"
    file.write_text("".join(f"How warm is it in town {number}?\n" for number in range(4)))
    replies = {"1": rated(2, "colder"), "2": rated(2, "warmer"), "3": rated(4)}
    with held_endpoint(both(attempt_of, lambda answer: replies[answer[-1]])) as held:
        kill(13, held, sqlite_store, f"{refine_line(held.server)} --prompts {file}")
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
    return row_count(store, GENERATION, JUDGMENT)

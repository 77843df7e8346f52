"""The first tries of a new user: what is understood, and which command a refusal ends with."""

import json
import re
import shlex
from datetime import UTC, datetime

import pytest

from cli_commands import every_command
from command_lines import run_line
from judgeboard.cli.app import root, run
from judgeboard.domain import JudgeVersion, Response
from judgeboard.llm.recording_endpoint import RecordingEndpoint, always, verdict
from judgeboard.runs.jobs import job_progress, request_rejudge
from judgeboard.store.jobs import get_job, set_run
from judgeboard.store.judge_versions import ensure_version, list_versions
from judgeboard.store.overview import count_open_flags
from judgeboard.store.runs import start_or_continue_run
from judgeboard.store.storing import store_responses
from judging_log import address, store_answers
from stored_rows import read, write_to


def last_command(text):
    """Return the words of the last command of a message."""
    command = re.findall(r"judgeboard [^`\n]+", text)[-1]
    return shlex.split(command)[1:]


@pytest.mark.parametrize("command", ["judge", "rule add judge live"])
def test_a_model_without_a_kind_of_judge_means_the_rag_judge(sqlite_store, capsys, command):
    store_answers(sqlite_store, 2)
    with RecordingEndpoint(always(verdict())) as endpoint:
        words = f"--model m1 --base-url {endpoint.base_url} --db {address(sqlite_store)} --json"
        assert run_line(f"{command} {words}") == 0
    assert json.loads(capsys.readouterr().out)["judge"] == "rag v1"


@pytest.mark.parametrize(
    ("words", "command"),
    {
        "judge": "judge --judge lexical",
        "judge --judge lexicl": "judge --judge lexical",
        "judge --judge=lexicl": "judge --judge=lexical",
        "rule add judge live": "rule add judge live --judge lexical",
        "judge --claims": "judge --claims --model gpt-4o-mini",
    }.items(),
)
def test_without_a_judge_the_refusal_ends_with_the_command_that_names_one(
    sqlite_store, shell, words, command
):
    db = f" --db {address(sqlite_store)}"
    suggested = last_command(shell(words + db, code=2))
    assert sorted(suggested) == sorted((command + db).split())
    if "lexical" in command:
        store_answers(sqlite_store, 1)
        assert run(suggested) == 0


def two_judges_and_a_queue(store):
    store_answers(store, 2)
    for line in ("judge --judge lexical", "judge other --judge lexical", "queue create legal"):
        assert run_line(f"{line} --db {address(store)}") == 0


@pytest.mark.parametrize(
    ("words", "command"),
    {
        "test health lexicl": "test health lexical",
        "test repeats": "judge --judge lexical --repeats 3",
        "export": "export responses -o responses.jsonl",
        "export flags": "export flags -o flags.jsonl",
        "labels threshold": "labels threshold --recall 0.9",
        "export issues -o - --where text=a": "export issues -o -",
        "queue create q --plan rate": "queue create q --plan rate --n 200",
        "queue create q --all-answers": "queue create q --all-answers --limit 200",
        "judge --judge rag": "judge --judge rag --model gpt-4o-mini",
        "judge --model m": "judge --model m --base-url http://localhost:8000/v1",
        "test audit lexical": "test audit lexical --model gpt-4o",
    }.items(),
)
def test_a_refusal_ends_with_the_command_of_this_database(
    sqlite_store, fill_once, shell, monkeypatch, words, command
):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    fill_once("two judges and a queue", sqlite_store, two_judges_and_a_queue)
    db = f" --db {address(sqlite_store)}"
    suggested = last_command(shell(words + db, code=2))
    assert sorted(suggested) == sorted((command + db).split())


def test_flag_says_how_many_are_open_and_lists_the_flagged_answers(
    sqlite_store, capsys, typed, monkeypatch
):
    question, passages = "How long is a rope? " * 20, ("A rope is 60 m long.",)
    answers = [
        Response("log", f"a{n}", question, "Bananas are yellow.", passages) for n in range(3)
    ]
    write_to(sqlite_store, store_responses, answers)
    typed("judge --judge lexical")
    shown = typed("flags apply")
    assert f" {read(sqlite_store, count_open_flags):,} open\n" in shown
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("JUDGEBOARD_URL", "http://pages.example/")
    assert run([*last_command(shown), "--where", "rule=low_groundedness", "--limit", "2"]) == 0
    output = capsys.readouterr()
    lines = output.out.splitlines()
    assert lines[0].startswith("a0  groundedness 0, ")
    assert max(map(len, lines[::3])) <= 60
    assert "(threshold 0.5)" in lines[1]
    assert lines[2].partition("?flag=")[0].strip() == "http://pages.example/item"
    assert len(lines) == 6
    assert output.err.endswith("--limit 3\n")
    listed = typed("flags list --where id=a1 --json")
    assert [(flag["external_id"], listed["total"]) for flag in listed["flags"]] == [("a1", 1)]


def test_versions_alone_lists_them_and_the_version_names_the_program(sqlite_store, typed, shell):
    store_answers(sqlite_store, 1)
    typed("judge --judge lexical")
    assert typed("versions").startswith("lexical v1  lexical")
    assert [version["name"] for version in typed("versions --json")["versions"]] == ["lexical"]
    assert shell("--version").startswith("judgeboard, version ")


def test_every_command_that_selects_answers_takes_since_and_until(
    sqlite_store, tmp_path, capsys, typed
):
    for day in (1, 2, 3, 4):
        store_answers(
            sqlite_store, 1, first=day, asked_at=datetime(2026, 5, day, 23, 59, tzinfo=UTC)
        )
    output = tmp_path / "answers.jsonl"
    days = "--since 2026-05-02 --until 2026-05-03"
    typed(f"export responses -o {output} {days}")
    exported = [json.loads(line)["asked_at"][:10] for line in output.read_text().splitlines()]
    assert exported == ["2026-05-02", "2026-05-03"]
    assert "2 asked" in typed(f"judge --judge lexical {days}")
    twice = "judge --judge lexical --where from=2026-05-04 --since 2026-05-03"
    assert "given once" in typed(twice, code=2)
    for wrong in ("2026-05", "yesterday", "2026-05-02T10:00"):
        refusal = typed(f"agreement --until {wrong}", code=2)
        assert refusal.startswith(f"judgeboard: --until {wrong}: ")
    for path in every_command(root):
        assert run([*path, "--help"]) == 0
        text = capsys.readouterr().out
        assert "  --where FIELD=VALUE" not in text or (
            "  --since DAY" in text and "  --until DAY" in text
        ), path


def test_a_rule_that_does_not_exist_is_refused_with_the_rules(sqlite_store, typed, shell):
    rule = "--where rule=judges_differ"
    for line in (
        f"flags list {rule}",
        f"export responses -o - {rule}",
        f"judge lexical {rule}",
        f"labels rate {rule}",
        "labels rate --labels-from rule=judges_differ",
        f"agreement {rule}",
        f"queue create q {rule}",
        f"rule add judge live --judge lexical {rule}",
    ):
        error = typed(line, code=2)
        assert "'judges_differ'; rules: low_groundedness, " in error, line
    assert "rules: low_groundedness, " in shell(f"judge lexical {rule} --db none.db", code=2)
    assert not read(sqlite_store, list_versions)
    confirmed = "flags list --where state=confirmed"
    assert "leave out state=confirmed" in typed(confirmed, code=2)


def test_a_job_is_cancelled_from_a_terminal(sqlite_store, typed, shell):
    store_answers(sqlite_store, 3)
    # It starts no worker.
    early = f"worker --db {address(sqlite_store)} cancel"
    assert "judgeboard worker cancel" in shell(early, code=2)
    assert "subcommands: cancel" in typed("worker cancl", code=2)
    # A command in another terminal is stopped there.
    assert "Ctrl-C" in typed("worker cancel", code=2)
    job = request_rejudge(sqlite_store, judge={"kind": "lexical"}, mode="plain", actor="cli:mara")
    typed("worker cancel")
    assert job_progress(sqlite_store, job).state == "cancelled"
    typed("judge --judge lexical")
    assert "job 1: " in typed("worker cancel 1", code=2)
    first, second = (
        request_rejudge(
            sqlite_store, judge={"kind": "lexical", "name": name}, mode="all", actor="cli:mara"
        )
        for name in ("one", "two")
    )
    listed = typed("worker cancel", code=2)
    # A job that waits has no run, so its id names it.
    assert first in listed
    assert second in listed
    typed(f"worker cancel {first}")
    states = [job_progress(sqlite_store, each).state for each in (first, second)]
    assert states == ["cancelled", "waiting"]
    with sqlite_store.writing() as connection:  # as a worker does
        version = ensure_version(connection, JudgeVersion("two", "lexical"))
        begun = start_or_continue_run(connection, version, mode="all", actor="cli:mara")
        set_run(connection, second, begun.id)
    # The id of a job names it also after its run has begun.
    assert "0 of 3" in typed(f"worker cancel {second}")
    assert read(sqlite_store, get_job, second).cancelled_at is not None

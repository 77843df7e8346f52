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
    [
        ("judge", "judge --judge lexical"),
        ("judge --judge lexicl", "judge --judge lexical"),
        ("judge --judge=lexicl", "judge --judge=lexical"),
        ("rule add judge live", "rule add judge live --judge lexical"),
        ("judge --claims", "judge --claims --model gpt-4o-mini"),
    ],
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
    db = f"--db {address(store)}"
    for name in ("lexical", "other"):
        assert run_line(f"judge {name} --judge lexical {db}") == 0
    assert run_line(f"queue create legal {db}") == 0


@pytest.mark.parametrize(
    ("words", "command"),
    [
        ("test health lexicl", "test health lexical"),
        ("test repeats", "judge --judge lexical --repeats 3"),
        ("export", "export responses -o responses.jsonl"),
        ("export flags", "export flags -o flags.jsonl"),
        ("labels threshold", "labels threshold --recall 0.9"),
        ("export issues -o - --where text=a", "export issues -o -"),
        ("queue create q --plan rate", "queue create q --plan rate --n 200"),
        ("queue create q --all-answers", "queue create q --all-answers --limit 200"),
        ("judge --judge rag", "judge --judge rag --model gpt-4o-mini"),
        ("judge --model m", "judge --model m --base-url http://localhost:8000/v1"),
        ("test audit lexical", "test audit lexical --model gpt-4o"),
    ],
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
    sqlite_store, capsys, shell, monkeypatch
):
    question, passages = "How long is a rope? " * 20, ("A rope is 60 m long.",)
    answers = [
        Response(
            source="log",
            external_id=f"a{n}",
            query=question,
            answer="Bananas are yellow.",
            passages=passages,
        )
        for n in range(3)
    ]
    write_to(sqlite_store, store_responses, answers)
    db = f"--db {address(sqlite_store)}"
    assert run_line(f"judge --judge lexical {db}") == 0
    capsys.readouterr()
    shown = shell(f"flags apply {db}")
    assert f" {read(sqlite_store, count_open_flags):,} open\n" in shown
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("JUDGEBOARD_URL", "http://pages.example/")
    assert run([*last_command(shown), "--where", "rule=low_groundedness", "--limit", "2"]) == 0
    output = capsys.readouterr()
    lines = output.out.splitlines()
    assert lines[0].startswith("a0  groundedness 0, ")
    assert max(map(len, lines[::3])) <= 60
    assert "(threshold 0.5)" in lines[1]
    assert (lines[2].partition("?flag=")[0].strip(), len(lines)) == ("http://pages.example/item", 6)
    assert output.err.endswith("--limit 3\n")
    listed = json.loads(shell(f"flags list --where id=a1 --json {db}"))
    assert [(flag["external_id"], listed["total"]) for flag in listed["flags"]] == [("a1", 1)]


def test_versions_alone_lists_them_and_the_version_names_the_program(sqlite_store, shell):
    store_answers(sqlite_store, 1)
    db = f"--db {address(sqlite_store)}"
    shell(f"judge --judge lexical {db}")
    assert shell(f"versions {db}").startswith("lexical v1  lexical")
    assert [
        version["name"] for version in json.loads(shell(f"versions --json {db}"))["versions"]
    ] == ["lexical"]
    assert shell("--version").startswith("judgeboard, version ")


def test_every_command_that_selects_answers_takes_since_and_until(
    sqlite_store, tmp_path, capsys, shell
):
    for day in (1, 2, 3, 4):
        store_answers(
            sqlite_store, 1, first=day, asked_at=datetime(2026, 5, day, 23, 59, tzinfo=UTC)
        )
    db, output = f"--db {address(sqlite_store)}", tmp_path / "answers.jsonl"
    days = "--since 2026-05-02 --until 2026-05-03"
    assert run_line(f"export responses -o {output} {days} {db}") == 0
    exported = [json.loads(line)["asked_at"][:10] for line in output.read_text().splitlines()]
    assert exported == ["2026-05-02", "2026-05-03"]
    capsys.readouterr()
    assert "2 asked" in shell(f"judge --judge lexical {days} {db}")
    assert "given once" in shell(
        f"judge --judge lexical --where from=2026-05-04 --since 2026-05-03 {db}", code=2
    )
    for wrong in ("2026-05", "yesterday", "2026-05-02T10:00"):
        assert shell(f"agreement --until {wrong} {db}", code=2).startswith(
            f"judgeboard: --until {wrong}: "
        )
    for path in every_command(root):
        assert run([*path, "--help"]) == 0
        text = capsys.readouterr().out
        assert "  --where FIELD=VALUE" not in text or (
            "  --since DAY" in text and "  --until DAY" in text
        ), path


def test_a_rule_that_does_not_exist_is_refused_with_the_rules(sqlite_store, shell):
    rule = "--where rule=judges_differ"
    commands = (
        f"flags list {rule}",
        f"export responses -o - {rule}",
        f"judge lexical {rule}",
        f"labels rate {rule}",
        "labels rate --labels-from rule=judges_differ",
        f"agreement {rule}",
        f"queue create q {rule}",
        f"rule add judge live --judge lexical {rule}",
    )
    for line in commands:
        error = shell(f"{line} --db {address(sqlite_store)}", code=2)
        assert "'judges_differ'; rules: low_groundedness, " in error, line
    assert "rules: low_groundedness, " in shell(f"judge lexical {rule} --db none.db", code=2)
    assert not read(sqlite_store, list_versions)
    assert "leave out state=confirmed" in shell(
        f"flags list --where state=confirmed --db {address(sqlite_store)}", code=2
    )


def test_a_job_is_cancelled_from_a_terminal(sqlite_store, shell):
    db = f"--db {address(sqlite_store)}"
    store_answers(sqlite_store, 3)
    # It starts no worker.
    assert "judgeboard worker cancel" in shell(f"worker {db} cancel", code=2)
    assert "subcommands: cancel" in shell(f"worker cancl {db}", code=2)
    # A command in another terminal is stopped there.
    assert "Ctrl-C" in shell(f"worker cancel {db}", code=2)
    job = request_rejudge(sqlite_store, judge={"kind": "lexical"}, mode="plain", actor="cli:mara")
    shell(f"worker cancel {db}")
    assert job_progress(sqlite_store, job).state == "cancelled"
    shell(f"judge --judge lexical {db}")
    assert "job 1: " in shell(f"worker cancel 1 {db}", code=2)
    first, second = (
        request_rejudge(
            sqlite_store, judge={"kind": "lexical", "name": name}, mode="all", actor="cli:mara"
        )
        for name in ("one", "two")
    )
    listed = shell(f"worker cancel {db}", code=2)
    # A job that waits has no run, so its id names it.
    assert first in listed
    assert second in listed
    shell(f"worker cancel {first} {db}")
    assert [job_progress(sqlite_store, each).state for each in (first, second)] == [
        "cancelled",
        "waiting",
    ]
    with sqlite_store.writing() as connection:  # as a worker does
        version = ensure_version(connection, JudgeVersion("two", "lexical"))
        begun = start_or_continue_run(
            connection, version, mode="all", where=None, limit=None, actor="cli:mara"
        )
        set_run(connection, second, begun.id)
    # The id of a job names it also after its run has begun.
    assert "0 of 3" in shell(f"worker cancel {second} {db}")
    assert read(sqlite_store, get_job, second).cancelled_at is not None

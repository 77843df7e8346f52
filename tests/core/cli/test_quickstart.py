"""From a file to flags in one command, the next command that each names, and the warning before a judge is asked."""

import json
import shlex

import pytest

from command_lines import run_line
from forked_commands import ReadCommand
from judgeboard.cli.app import run
from judgeboard.llm.recording_endpoint import RecordingEndpoint
from judging_log import address, store_answers, until
from served import answers, free_port
from tool_files import written as written_rows

WALL = "A wall of 30 m."
ROWS = [
    {"id": "1", "Frage": "How high?", "answer": "The moon is made of cheese.", "context": [WALL]},
    {"id": "2", "Frage": "How high is it?", "answer": WALL, "context": [WALL]},
]
QUERIES = [row | {"query": row["Frage"]} for row in ROWS]


def next_of(captured):
    (line,) = [line for line in captured.err.splitlines() if line.startswith("next: ")]
    return shlex.split(line.removeprefix("next: "))


@pytest.fixture
def next_after(capsys):
    """Return ``next_after(line, …)``: the command that this one names as the next."""

    def ran(line, *more):
        assert run_line(line, *more) == 0
        return next_of(capsys.readouterr())

    return ran


def test_one_command_imports_judges_and_flags_and_again_changes_nothing(tmp_path, capsys, shell):
    file, database = written_rows(tmp_path, *ROWS), str(tmp_path / "a b.db")
    command = f"quickstart {file} --map Frage=query --db '{database}' --no-serve"
    assert run_line(command) == 0
    first = capsys.readouterr()
    assert "2 new" in first.out
    assert "2 asked " in first.out
    open_flags = first.out.splitlines()[-1]
    assert open_flags in {"open flags: 2", "open flags: 3"}  # the random sample may have one more
    assert next_of(first) == ["judgeboard", "serve", "--db", database]
    again = shell(command)
    assert "0 new" in again
    assert open_flags in again
    assert run_line(f"quickstart {tmp_path / 'none.jsonl'} --db '{database}' --no-serve") == 2


@pytest.mark.parametrize("words", ["quickstart --no-serve", "import"])
def test_a_file_that_cannot_be_read_leaves_no_database(words, tmp_path, shell):
    database = tmp_path / "judgeboard.db"
    assert "none.jsonl" in shell(f"{words} {tmp_path / 'none.jsonl'} --db {database}", code=2)
    assert not database.exists()


def test_without_answers_the_next_step_is_the_import(sqlite_store, next_after):
    database = address(sqlite_store)
    for words in ("judge --judge lexical", "flags apply"):
        named = next_after(f"{words} --db {database}")
        assert named == ["judgeboard", "import", "FILE", "--db", database]


def test_it_ends_in_pages_that_are_served(tmp_path):
    file, port = written_rows(tmp_path, *QUERIES), free_port()
    url, place = f"http://localhost:{port}", ("--db", str(tmp_path / "log.db"), "--port", str(port))
    with ReadCommand("quickstart", str(file), *place) as process:
        served = f"Judgeboard is at {url}   (Ctrl-C stops it)\n"
        assert any("2 new" in line for line in iter(process.stdout.readline, served))
        until(lambda: answers(f"{url}/"), "the pages")
        process.terminate()


def test_each_command_names_the_next_which_can_be_typed(
    sqlite_store, tmp_path, next_after, typed, capsys
):
    file, database = written_rows(tmp_path, *QUERIES), address(sqlite_store)
    judge = next_after(f"import {file} --db {database}")
    assert judge == ["judgeboard", "judge", "--judge", "lexical", "--db", database]
    assert next_after("", *judge[1:])[1] == "serve"
    queue = next_after(f"flags apply --db {database}")
    assert queue[1:3] == ["queue", "create"]
    assert run(next_after("", *queue[1:])[1:]) == 0
    typed("test controls make")
    health = next_after(f"test controls judge --judge lexical --db {database}")
    assert health[1:4] == ["test", "health", "lexical v1"]
    assert run(health[1:]) == 0
    capsys.readouterr()
    assert run_line(f"judge --judge lexical --db {database} --json") == 0
    assert "next: " not in capsys.readouterr().err


def test_a_judge_of_the_generators_own_family_is_warned_of_with_the_answers_that_it_judged(
    sqlite_store, capsys
):
    store_answers(sqlite_store, 3, generator_model="gpt-4o")
    store_answers(sqlite_store, 1, first=3, generator_model="claude-sonnet-4")
    with RecordingEndpoint() as endpoint:

        def warnings(words, command="judge --judge rag"):
            run_line(
                f"{command} {words} --base-url {endpoint.base_url} --db {address(sqlite_store)} --json"
            )
            out, err = capsys.readouterr()
            named = json.loads(out)["warnings"]
            assert all(f"warning: {each}" in err for each in named)
            return named

        sentence = "gpt-4o-mini (OpenAI) judges its own family"
        for words in (
            "--model gpt-4o-mini",
            "two --model gpt-4o-mini --limit 2",
            "--model gpt-4o-mini --repeats 2",
            "--jury gpt-4o-mini,qwen3",
        ):
            (warning,) = warnings(words)
            assert warning.startswith(sentence)
        # No answer was judged.
        assert warnings("--model gpt-4o-mini") == []
        assert warnings("--model qwen3 --where source=log") == []
        prompts = "--where source=log --generator gpt-4o --model o4-mini"
        (refine_warning,) = warnings(prompts, "refine")
    assert refine_warning.startswith("o4-mini (OpenAI) ")
    assert ": gpt-4o." in refine_warning


def test_without_a_log_the_options_of_one_are_refused(tmp_path, shell):
    database = tmp_path / "sample.db"
    assert "remove --map, --source" in shell(
        f"quickstart --no-serve --source shop --map a=b --db {database}", code=2
    )
    assert not database.exists()

"""`judgeboard test health`, as a person types it."""

import json

from command_lines import run_line
from judgeboard.domain import RunState, Status
from judgeboard.store.runs import finish_run, start_or_continue_run
from judging_log import address
from stored_rows import write_to


def test_a_warning_fails_a_gate_and_nothing_else(sqlite_log, shell):
    sqlite_log.say_all(sqlite_log.version("flat"), sqlite_log.answers(30), quality=4)
    command = f"test health flat --db {address(sqlite_log.store)}"
    out = shell(command)
    assert out.splitlines()[1].startswith("warning  score collapse, ")
    assert "controls make --kinds other_answer" in out
    shell(f"{command} --gate", code=1)
    assert json.loads(shell(f"{command} --json --gate", code=1))["warnings"] == 1


def test_a_table_of_models_comes_by_option_or_environment(
    sqlite_log, tmp_path, monkeypatch, capsys, shell
):
    sqlite_log.say_all(
        sqlite_log.version("house"), sqlite_log.answers(3, generator_model="house-7"), quality=4
    )
    file = tmp_path / "models.toml"
    file.write_text('[families]\n"house*" = "House"\n')
    command = f"test health 'house v1' --db {address(sqlite_log.store)} --json"

    def family():
        checks = json.loads(capsys.readouterr().out)["checks"]
        return str(checks[0]["state"])

    assert run_line(command) == 0
    assert family() == "not_measured"
    assert run_line(f"{command} --families {file}") == 0
    assert family() == "warning"
    monkeypatch.setenv("JUDGEBOARD_FAMILIES", str(file))
    assert run_line(command) == 0
    assert family() == "warning"
    assert "cannot be read" in shell(f"{command} --families {tmp_path / 'none.toml'}", code=2)


def test_the_json_counts_every_request_of_the_version_and_what_its_runs_left(sqlite_log, shell):
    store, version, ids = sqlite_log.store, sqlite_log.version("rag"), sqlite_log.answers(9)
    started = write_to(store, start_or_continue_run, version, actor="test")
    statuses = [Status.OK] * 3 + [Status.UNPARSABLE, Status.REFUSED, Status.ERROR]
    given = {each: {"status": status} for each, status in zip(ids, statuses, strict=False)}
    sqlite_log.say(version, given, started.id)
    write_to(store, finish_run, started.id, RunState.STOPPED)
    sqlite_log.say_all(sqlite_log.version("other"), ids, quality=4)
    shown = json.loads(shell(f"test health rag --json --db {address(store)}"))
    names = ("asked", "ok", "unparsable", "refused", "error", "not_reached")
    assert [shown[name] for name in names] == [6, 3, 1, 1, 1, 3]


def test_a_judge_that_there_is_not_is_2(sqlite_log, shell):
    assert "nobody" in shell(f"test health nobody --db {address(sqlite_log.store)}", code=2)


def test_without_a_name_the_primary_judge_is_checked(sqlite_log, shell, monkeypatch):
    ids = sqlite_log.answers(30)
    for name in ("flat", "newer"):
        sqlite_log.say_all(sqlite_log.version(name), ids, groundedness=0.5)
    monkeypatch.setenv("JUDGEBOARD_PRIMARY_JUDGE", "flat")
    command = f"test health --db {address(sqlite_log.store)}"
    assert shell(command).startswith("flat v1: 2 ")
    monkeypatch.setenv("JUDGEBOARD_PRIMARY_JUDGE", "nobody")
    assert "nobody " in shell(command, code=2)

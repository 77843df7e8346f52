"""`judgeboard test health`, as a person types it."""

from judgeboard.domain import RunState, Status
from judgeboard.store.runs import finish_run, start_or_continue_run
from stored_rows import write_to


def test_a_warning_fails_a_gate_and_nothing_else(sqlite_log, typed):
    sqlite_log.say_all(sqlite_log.version("flat"), sqlite_log.answers(30), quality=4)
    out = typed("test health flat")
    assert out.splitlines()[1].startswith("warning  score collapse, ")
    assert "controls make --kinds other_answer" in out
    typed("test health flat --gate", code=1)
    assert typed("test health flat --json --gate", code=1)["warnings"] == 1


def test_a_table_of_models_comes_by_option_or_environment(sqlite_log, tmp_path, monkeypatch, typed):
    sqlite_log.say_all(
        sqlite_log.version("house"), sqlite_log.answers(3, generator_model="house-7"), quality=4
    )
    file = tmp_path / "models.toml"
    file.write_text('[families]\n"house*" = "House"\n')
    command = "test health 'house v1' --json"

    def family(options=""):
        return typed(f"{command} {options}")["checks"][0]["state"]

    assert family() == "not_measured"
    assert family(f"--families {file}") == "warning"
    monkeypatch.setenv("JUDGEBOARD_FAMILIES", str(file))
    assert family() == "warning"
    assert "cannot be read" in typed(f"{command} --families {tmp_path / 'none.toml'}", code=2)


def test_the_json_counts_every_request_of_the_version_and_what_its_runs_left(sqlite_log, typed):
    store, version, ids = sqlite_log.store, sqlite_log.version("rag"), sqlite_log.answers(9)
    started = write_to(store, start_or_continue_run, version, actor="test")
    statuses = [Status.OK] * 3 + [Status.UNPARSABLE, Status.REFUSED, Status.ERROR]
    given = {each: {"status": status} for each, status in zip(ids, statuses, strict=False)}
    sqlite_log.say(version, given, started.id)
    write_to(store, finish_run, started.id, RunState.STOPPED)
    sqlite_log.say_all(sqlite_log.version("other"), ids, quality=4)
    shown = typed("test health rag --json")
    names = ("asked", "ok", "unparsable", "refused", "error", "not_reached")
    assert [shown[name] for name in names] == [6, 3, 1, 1, 1, 3]


def test_a_judge_that_there_is_not_is_2(sqlite_log, typed):
    assert "nobody" in typed("test health nobody", code=2)


def test_without_a_name_the_primary_judge_is_checked(sqlite_log, typed, monkeypatch):
    ids = sqlite_log.answers(30)
    for name in ("flat", "newer"):
        sqlite_log.say_all(sqlite_log.version(name), ids, groundedness=0.5)
    monkeypatch.setenv("JUDGEBOARD_PRIMARY_JUDGE", "flat")
    assert typed("test health").startswith("flat v1: 2 ")
    monkeypatch.setenv("JUDGEBOARD_PRIMARY_JUDGE", "nobody")
    assert "nobody " in typed("test health", code=2)

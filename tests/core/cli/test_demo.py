"""The demo fills a database once, the same on both engines."""

import json
import os
import re
import shlex
import shutil
from datetime import timedelta

import pytest

from judgeboard.cli.demo import fill
from judgeboard.formats.output import to_json
from judgeboard.health.record import State
from judgeboard.health.report import measure_health
from judgeboard.imports.importing import import_file
from judgeboard.methods.control_answers.run import CONTROL_KINDS
from judgeboard.methods.suites.gate import FAIL
from judgeboard.methods.suites.results import list_results, suite_result
from judgeboard.reports.stats import stats
from judgeboard.store.clock import utc_now
from judgeboard.store.overview import count_flags, overview
from judgeboard.store.tables import RESPONSE, REVIEW
from stored_rows import read, values_of


def numbers(store):
    return to_json(read(store, stats))


def stop_after(words):
    def say(line):
        if words in line:
            raise RuntimeError

    return say


def reading(kinds):
    """Import as ever, and note what was read."""

    def noted(*args, **options):
        kinds.append(options["kind"])
        return import_file(*args, **options)

    return noted


@pytest.fixture
def filled(fill_once, tmp_path, monkeypatch, shell):
    """Fills a database as the demo does; returns what it prints.

    An SQLite database is filled on the way that has most obstacles: the demo breaks off once, and
    the folder has a project file. Without the primary judge of the sample, the demo would have no
    flags for low scores; and 7 is no threshold.
    """

    def fill_and_listen(store):
        if not store.is_sqlite:
            fill(store)
            return ""
        with pytest.raises(RuntimeError):
            fill(store, stop_after("answers judged"))
        (tmp_path / "judgeboard.toml").write_text('primary_judge = "rag"\nlow_quality = 7\n')
        with monkeypatch.context() as here:
            here.chdir(tmp_path)
            here.delenv("JUDGEBOARD_CONFIG", raising=False)
            printed = shell(f"quickstart --no-serve --db '{store.engine.url.database}'")
            assert "JUDGEBOARD_CONFIG" not in os.environ
        (tmp_path / "judgeboard.toml").unlink()
        return printed

    return lambda store: fill_once("demo", store, fill_and_listen)


def test_the_demo_brings_answers_verdicts_flags_and_grades(sqlite_store, filled):
    project, *steps, last = filled(sqlite_store).splitlines()
    assert "judgeboard.toml " in project
    assert len(steps) >= 12
    *serve, config, nowhere = shlex.split(last.partition(": ")[2])
    assert serve[:2] == ["judgeboard", "serve"]
    assert config == "--config"
    assert nowhere == os.devnull
    brought = json.loads(numbers(sqlite_store))
    assert brought["responses"] == 448
    assert brought["judgments"]["ok"] == 648
    # Grades from the file, and decisions in the queue.
    assert brought["reviews"] > 198
    assert brought["flags"]["by_state"]["open"] > 100


def test_the_demo_has_enough_control_answers_of_each_kind(sqlite_store, filled):
    filled(sqlite_store)
    checks = measure_health(sqlite_store, "lexical").checks
    states = {check.name: check.state for check in checks}
    assert State.NOT_MEASURED not in {states[kind.check] for kind in CONTROL_KINDS.values()}


def test_the_suite_of_the_demo_has_enough_cases_to_compare_its_runs(sqlite_store, filled):
    filled(sqlite_store)
    latest, before = list_results(sqlite_store)
    result = suite_result(sqlite_store, latest.run, baseline=before.run)
    assert result.pass_rate.low is not None
    # The later model is worse.
    assert result.gate.code == FAIL


def test_no_review_of_the_demo_is_of_the_day_on_which_it_was_made(sqlite_store, filled):
    filled(sqlite_store)
    last_answer = max(
        values_of(sqlite_store, RESPONSE.c.asked_at, RESPONSE.c.asked_at.is_not(None))
    )
    assert max(values_of(sqlite_store, REVIEW.c.at)) - last_answer < timedelta(days=7)
    assert not read(sqlite_store, overview, None, utc_now().date()).today.decided


def test_a_second_demo_changes_nothing(sqlite_store, filled):
    filled(sqlite_store)
    before = numbers(sqlite_store)
    lines = []
    fill(sqlite_store, lines.append)
    assert numbers(sqlite_store) == before
    stored_before = [re.findall(r"\d+", line) for line in lines if ": 0 new" in line]
    assert stored_before == [["0", each] for each in ("400", "48", "200", "198", "163", "53", "40")]


def test_a_demo_of_another_release_is_completed(sqlite_store, filled, monkeypatch):
    filled(sqlite_store)
    before = numbers(sqlite_store)
    read = []
    monkeypatch.setattr("judgeboard.cli.demo.version", lambda _name: "later")
    monkeypatch.setattr("judgeboard.imports.importing.import_file", reading(read))
    fill(sqlite_store)
    assert read == ["responses", "responses", "verdicts", "grades", "grades", "pairs", "samples"]
    fill(sqlite_store)
    # The same release again reads nothing.
    assert len(read) == 7
    assert numbers(sqlite_store) == before


def test_both_engines_give_the_same_numbers_to_the_byte_whatever_breaks_off(
    sqlite_store, postgres_store, filled
):
    filled(sqlite_store)
    filled(postgres_store)
    assert numbers(sqlite_store) == numbers(postgres_store)
    assert read(sqlite_store, count_flags) == read(postgres_store, count_flags)


def test_a_demo_that_does_not_serve_ends_with_the_command_that_opens_it(
    sqlite_store, filled, tmp_path, shell
):
    filled(sqlite_store)
    database = shutil.copyfile(str(sqlite_store.engine.url.database), str(tmp_path / "my demo.db"))
    *_, last = shell(f"quickstart --no-serve --db '{database}'").splitlines()
    assert shlex.split(last.partition(": ")[2]) == ["judgeboard", "serve", "--db", database]

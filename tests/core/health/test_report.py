"""The report on a judge's health: planted faults are found, and a sound judge is not warned of."""

import json

import health_truth as truth
import pytest

from engines import on_sqlite
from judgeboard.cli.app import run
from judgeboard.health.record import State
from judgeboard.health.report import CHECKS, measure_health
from judging_log import address

SEEDS = range(20)


@pytest.mark.parametrize("fault", truth.FAULTS)
def test_a_planted_fault_is_warned_of_with_the_truth_inside_its_interval(fault):
    planted = truth.FAULTS[fault]
    tally = truth.recovered(planted, SEEDS)
    assert tally.inside >= 17
    assert tally.warned[planted.check] >= 19


def test_a_sound_judge_is_hardly_ever_warned_of():
    tally = truth.false_alarms(SEEDS)
    assert {name: n for name, n in tally.warned.items() if n > 1} == {}
    # No size of a gpt-4o is known.
    assert {name for name in CHECKS if not tally.measured[name]} == {"weaker"}


@on_sqlite
@pytest.mark.parametrize("fault", ["order", "unstable"])
def test_a_judge_is_found_out_from_answers_to_report(store, fault):
    version = truth.fill(store, fault, 0, answers=60)
    report = measure_health(store, version.name)
    (found,) = report.in_state(State.WARNING)
    assert found.name == truth.FAULTS[fault].check
    assert found.statistic.low <= truth.STORED_TRUTH[fault]() <= found.statistic.high
    unmeasured = {check.name for check in report.checks if check.state is State.NOT_MEASURED}
    assert unmeasured == {"self_enhancement", "weaker", "verbosity_at_equal_grades"}


def test_the_command_says_the_same_of_a_sound_judge(sqlite_store, capsys):
    truth.fill(sqlite_store, None, 1, answers=60)
    command = ["test", "health", "sound", "--db", address(sqlite_store)]
    assert run([*command, "--json", "--gate"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert [check["name"] for check in shown["checks"]] == list(CHECKS)
    assert shown["warnings"] == 0
    for check in shown["checks"]:
        assert check.keys() >= {"name", "state", "statistic", "notes", "command"}
        assert check["statistic"].keys() >= {"value", "low", "high", "n", "method"}
        measured = check["state"] != "not_measured"
        assert (check["statistic"]["value"] is not None) == measured
        assert measured or (check["command"] and check["statistic"]["reason"])
    assert run(command) == 0
    assert "not measured" in capsys.readouterr().out

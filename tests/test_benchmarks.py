"""Every benchmark can be started: what it imports is there."""

from pathlib import Path

import equal_figures
import numpy as np
import plan_widths
from simulated_logs import NOT_SIMULATED, WORLDS, world_estimates

from judgeboard.measure.label_plans import PlanGoal, plan_number
from judgeboard.measure.plans import plan_of_rate
from judgeboard.stats.pair_statistics import STATISTICS
from served import fork_server

FOLDER = Path(__file__).parents[1] / "benchmarks"
IMPORT_ALL = """
import importlib, sys, traceback

sys.path[:] = [str(folder), *(place for place in sys.path if place != str(tests))]
said = "all imported"
try:
    for name in names:
        importlib.import_module(name)
except BaseException:
    said = traceback.format_exc()
output.write_text(said)
"""


def test_every_benchmark_imports_what_is_there(tmp_path):
    """In a process that has imported judgeboard, and finds nothing of the tests."""
    names = sorted(path.stem for path in FOLDER.glob("*.py"))
    output = tmp_path / "said.txt"
    given = {"folder": FOLDER, "tests": Path(__file__).parent, "names": names, "output": output}

    process = fork_server().Process(target=exec, args=(IMPORT_ALL, given), daemon=True)
    process.start()
    process.join()

    assert names
    assert output.read_text() == "all imported"


def test_a_made_log_is_a_sample_from_which_a_plan_is_made():
    rng = np.random.default_rng(0)
    bad, judged_bad, groups = plan_widths.log(rng, 400)
    sample = plan_widths.sample_of(bad, judged_bad, groups, rng.random(400) < 0.5)
    assert (
        plan_number(plan_of_rate(PlanGoal("rate", 0.05, "app", ("made v1",)), sample), "labels") > 0
    )


def test_every_statistic_is_simulated_or_named_as_one_that_is_not():
    rng = np.random.default_rng(0)
    simulated = {
        key.rsplit(" ", 1)[-1]
        for world in WORLDS.values()
        for key, _ in world_estimates(world, world.n, rng, 10)
    }
    assert not simulated & NOT_SIMULATED
    assert STATISTICS.keys() <= simulated | NOT_SIMULATED


def test_rows_of_results_are_compared_by_what_they_are_about_whatever_their_order():
    older = {
        "slices": [{"name": "web", "n": 3}, {"name": "app", "n": 4}],
        "sentence": "About 3 answers.",
    }
    today = {
        "slices": [{"name": "app", "n": 4 + 1e-12}, {"name": "web", "n": 5}],
        "sentence": "About 5 answers.",
    }
    comparison = equal_figures.Comparison()
    comparison.add("stats", dict(equal_figures.leaves(older)), dict(equal_figures.leaves(today)))
    assert comparison.moved == {("stats", "slices[web].n"): (3, 5)}
    assert (comparison.equal, comparison.gone) == (3, {})


def test_a_value_that_is_gone_or_appears_where_none_was_is_a_difference():
    comparison = equal_figures.Comparison()
    comparison.add("stats", {"low": None, "high": 1.0}, {"low": 0.5})
    assert comparison.moved == {("stats", "low"): (None, 0.5)}
    assert comparison.gone == {("stats", "high"): 1.0}
    assert len(list(comparison.unknown())) == 2


def test_each_combination_of_alternatives_is_a_command_of_its_database():
    commands = equal_figures.commands_by_database(
        "# why\ndemo:\nlabels rate [|--by source] [--target app|--target these]\n"
    )
    assert [command.split() for command in commands["demo"][:2]] == [
        ["labels", "rate", "--target", target] for target in ("app", "these")
    ]
    assert len(commands["demo"]) == 4
    assert (
        equal_figures.commands_by_database(equal_figures.COMMANDS.read_text()).keys()
        == equal_figures.DATABASES.keys()
    )

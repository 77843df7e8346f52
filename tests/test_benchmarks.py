"""Every benchmark can be started: what it imports is there."""

from pathlib import Path

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


def test_every_benchmark_imports_what_is_there(tmp_path: Path) -> None:
    """In a process that has imported judgeboard, and finds nothing of the tests."""
    names = sorted(path.stem for path in FOLDER.glob("*.py"))
    output = tmp_path / "said.txt"
    given = {"folder": FOLDER, "tests": Path(__file__).parent, "names": names, "output": output}

    process = fork_server().Process(target=exec, args=(IMPORT_ALL, given), daemon=True)
    process.start()
    process.join()

    assert names
    assert output.read_text() == "all imported"


def test_a_made_log_is_a_sample_from_which_a_plan_is_made() -> None:
    rng = np.random.default_rng(0)
    bad, judged_bad, groups = plan_widths.log(rng, 400)
    sample = plan_widths.sample_of(bad, judged_bad, groups, rng.random(400) < 0.5)
    assert plan_number(plan_of_rate(PlanGoal("rate", 0.05, "app", ("made v1",)), sample), "labels") > 0


def test_every_statistic_is_simulated_or_named_as_one_that_is_not() -> None:
    rng = np.random.default_rng(0)
    simulated = {
        key.rsplit(" ", 1)[-1] for world in WORLDS.values() for key, _ in world_estimates(world, world.n, rng, 10)
    }
    assert not simulated & NOT_SIMULATED
    assert STATISTICS.keys() <= simulated | NOT_SIMULATED

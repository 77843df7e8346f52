"""Every benchmark can be started: what it imports is there."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import plan_widths
from simulated_logs import NOT_SIMULATED, WORLDS, world_estimates

from judgeboard.agreement.label_plans import LabelPlan
from judgeboard.agreement.plans import plan_of_rate
from judgeboard.stats.pair_statistics import STATISTICS

FOLDER = Path(__file__).parents[1] / "benchmarks"


def test_every_benchmark_imports_what_is_there() -> None:
    names = sorted(path.stem for path in FOLDER.glob("*.py"))
    script = "import importlib, sys\nfor name in sys.argv[1:]: importlib.import_module(name)"

    command = [sys.executable, "-c", script, *names]
    imported = subprocess.run(command, cwd=FOLDER, capture_output=True, check=False, text=True)

    assert names
    assert imported.returncode == 0, imported.stderr


def test_a_made_log_is_a_sample_from_which_a_plan_is_made() -> None:
    rng = np.random.default_rng(0)
    bad, judged_bad, groups = plan_widths.log(rng, 400)
    sample = plan_widths.sample_of(bad, judged_bad, groups, rng.random(400) < 0.5)
    assert plan_of_rate(LabelPlan("rate", 0.05, "app", ("made v1",)), sample).labels > 0


def test_every_statistic_is_simulated_or_named_as_one_that_is_not() -> None:
    rng = np.random.default_rng(0)
    simulated = {
        key.rsplit(" ", 1)[-1] for world in WORLDS.values() for key, _ in world_estimates(world, world.n, rng, 10)
    }
    assert not simulated & NOT_SIMULATED
    assert STATISTICS.keys() <= simulated | NOT_SIMULATED

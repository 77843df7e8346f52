"""Every benchmark can be started: what it imports is there."""

import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "benchmarks"


def test_every_benchmark_imports_what_is_there() -> None:
    names = sorted(path.stem for path in FOLDER.glob("*.py"))
    script = "import importlib, sys\nfor name in sys.argv[1:]: importlib.import_module(name)"

    command = [sys.executable, "-c", script, *names]
    imported = subprocess.run(command, cwd=FOLDER, capture_output=True, check=False, text=True)

    assert names
    assert imported.returncode == 0, imported.stderr

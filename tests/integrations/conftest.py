"""These tests need real tools: `uv run --isolated --group integrations pytest -n 0 -W default tests/integrations`.

They are no part of the ordinary run, because the tools take a minute to start and pin older packages.
"""

import shutil

collect_ignore_glob = [] if shutil.which("phoenix") and shutil.which("mlflow") else ["test_*.py"]

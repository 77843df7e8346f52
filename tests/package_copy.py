"""A copy of the packages, to which a test adds what CONTRIBUTING describes."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import judgeboard
import judgeboard_dashboard
from judgeboard.store.migrations import HEAD

PACKAGE = Path(judgeboard.__file__).parent
DASHBOARD = Path(judgeboard_dashboard.__file__).parent
TESTS = Path(__file__).parent
GENERATE = TESTS.parent / "docs" / "generate.py"
# Compiled modules, which all processes of a run share.
SHARED = {name: os.environ[name] for name in ("PYTHONPYCACHEPREFIX",) if name in os.environ}
REVISION = """\"""A {name}.\"""

import sqlalchemy as sa
from alembic import op

revision = "9999"
down_revision = "{head}"
branch_labels = None
depends_on = None


def upgrade() -> None:
    \"""Add it.\"""
    {operations}
"""


class Copy:
    """A copy of the package that takes a new file and a new line."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.package = folder / "judgeboard"
        shutil.copytree(PACKAGE, self.package, ignore=shutil.ignore_patterns("__pycache__"))

    def add(self, file: str, text: str, table: str, *changes: tuple[str, str]) -> None:
        (self.package / file).write_text(text, encoding="utf-8")
        path = self.package / table
        listed = path.read_text(encoding="utf-8")
        for old, new in changes:
            assert listed.count(old) == 1, old
            listed = listed.replace(old, new)
        path.write_text(listed, encoding="utf-8")

    def run(self, *arguments: str, **environment: str) -> str:
        done = subprocess.run(
            [sys.executable, *arguments],
            capture_output=True,
            text=True,
            cwd=self.folder,
            env={"PYTHONPATH": f"{self.folder}:{TESTS}", "PATH": "", **SHARED, **environment},
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def judgeboard(self, *arguments: str) -> str:
        return self.run("-c", "from judgeboard.cli import main; main()", *arguments, "--db", "log.db")

    def line(self, file: str, old: str, new: str) -> None:
        """Change one line of a file of the package."""
        path = self.package / file
        text = path.read_text(encoding="utf-8")
        assert text.count(old) == 1, old
        path.write_text(text.replace(old, new), encoding="utf-8")

    def revise(self, name: str, *operations: str) -> None:
        """Add a revision of the database that does this, and raise the head to it."""
        text = REVISION.format(name=name, head=HEAD, operations="\n    ".join(operations))
        (self.package / "store" / "migrations" / "versions" / f"9999_{name}.py").write_text(text, encoding="utf-8")
        self.line("store/migrations/__init__.py", f'"{HEAD}"', '"9999"')

    def documented(self, table: str) -> str:
        """Return a table of the documentation, generated from the copy."""
        return self.run(
            "-c", f"import runpy; print(runpy.run_path({str(GENERATE)!r}, run_name='')['TABLES'][{table!r}]())"
        )

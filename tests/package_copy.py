"""A copy of the packages, to which a test adds what CONTRIBUTING describes."""

import compileall
import json
import os
import shlex
import shutil
import subprocess
import sys
from importlib.util import cache_from_source
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


COMMAND = "from judgeboard.cli.app import run; code = run({words}); assert code == 0, code"
# Runs the code of each line that comes in, and answers with what it printed.
INTERPRETER = """
import contextlib, io, json, os, sys

for line in sys.stdin:
    output = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    with contextlib.redirect_stdout(output):
        exec(json.loads(line), {"__name__": "__main__"})
    print(json.dumps(output.buffer.getvalue().decode()), flush=True)
os._exit(0)  # to take all modules apart needs a quarter of a second
"""


def copy_package(package, copy):
    """Copy a package with what is compiled of it: a process that imports the copy compiles only what is changed."""
    compileall.compile_dir(package, quiet=1)
    shutil.copytree(package, copy, ignore=shutil.ignore_patterns("__pycache__"))
    for module in copy.rglob("*.py"):
        compiled = Path(cache_from_source(str(module)))
        compiled.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(cache_from_source(str(package / module.relative_to(copy))), compiled)


def describe_package(folder, name, version, entry_points):
    """Write the metadata of an installed package, whose entry points are bytes."""
    info = folder / f"{name}-{version}.dist-info"
    info.mkdir(exist_ok=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (info / "entry_points.txt").write_bytes(entry_points)


class Copy:
    """A copy of the package that takes a new file and a new line.

    One process runs all code of a test until the next change of the copy; its database is
    ``log.db``.
    """

    def __init__(self, folder):
        self.folder = folder
        self.package = folder / "judgeboard"
        self.errors = folder / "errors.txt"
        self.interpreter = None
        copy_package(PACKAGE, self.package)

    def move(self, folder):
        """Go on in another folder, with another database."""
        self.folder = folder
        if self.interpreter is not None:
            database = str(folder / "log.db")
            self.run(
                f"import os; os.chdir({str(folder)!r}); os.environ['JUDGEBOARD_DB'] = {database!r}"
            )

    def add(self, file, text, table, *changes):
        (self.package / file).write_text(text, encoding="utf-8")
        for old, new in changes:
            self.line(table, old, new)

    def run(self, code, **environment):
        """Run code, and return what it prints. The first code also sets the environment of the later ones."""
        if self.interpreter is None:
            database = str(self.folder / "log.db")
            with self.errors.open("w") as errors:
                self.interpreter = subprocess.Popen(
                    [sys.executable, "-c", INTERPRETER],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=errors,
                    text=True,
                    cwd=self.folder,
                    env={
                        "PYTHONPATH": f"{self.package.parent}:{TESTS}",
                        "PATH": "",
                        "JUDGEBOARD_DB": database,
                    }
                    | SHARED
                    | environment,
                )
        assert self.interpreter.stdin is not None
        print(json.dumps(code), file=self.interpreter.stdin, flush=True)
        answer = self.interpreter.stdout.readline()
        assert answer, self.errors.read_text(encoding="utf-8")
        return json.loads(answer)

    def commands(self, *lines):
        """Run commands, and return what each prints."""
        return [self.run(COMMAND.format(words=shlex.split(line))) for line in lines]

    def close(self):
        """End the process: the next one reads the copy as it is then."""
        if self.interpreter is not None:
            self.interpreter.communicate()
            self.interpreter = None

    def line(self, file, old, new):
        """Change one line of a file of the package."""
        self.close()
        path = self.package / file
        text = path.read_text(encoding="utf-8")
        assert text.count(old) == 1, old
        path.write_text(text.replace(old, new), encoding="utf-8")

    def revise(self, name, *operations):
        """Add a revision of the database that does this."""
        text = REVISION.format(name=name, head=HEAD, operations="\n    ".join(operations))
        (self.package / "store" / "migrations" / "versions" / f"9999_{name}.py").write_text(
            text, encoding="utf-8"
        )

    def documented(self, table):
        """Return a table of the documentation, generated from the copy."""
        return self.run(
            f"import runpy; print(runpy.run_path({str(GENERATE)!r}, run_name='')['TABLES'][{table!r}]())"
        )

    def with_dashboard(self):
        """Add a copy of the app's package, and return its folder."""
        dashboard = self.package.parent / DASHBOARD.name
        copy_package(DASHBOARD, dashboard)
        return dashboard

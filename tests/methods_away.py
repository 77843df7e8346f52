"""Removes each method and room from a copy of the packages, one after the other, and shows that the rest still works.

`python tests/methods_away.py [METHOD ...]` prints a table. A method or a room is its folder, its line in
`registry/methods.py`, its page, its sections of other pages, and its public names in
`__init__.pyi`.
"""

import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from importlib import import_module
from pathlib import Path

from judgeboard.registry.methods import KNOWN_METHODS, KNOWN_ROOMS
from package_copy import DASHBOARD, PACKAGE, SHARED, copy_package

ROOT = Path(__file__).parents[1]
OLD_DATABASE = Path(__file__).parent / "data" / "demo_0007_sqlite.tar.xz"
START = """
from judgeboard.cli.app import run
code = run({words})
assert code == 0, code
"""
IMPORTS = """
import importlib, pkgutil
import judgeboard, judgeboard_dashboard
for package in (judgeboard, judgeboard_dashboard):
    for found in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        # A view is a script, and so are the revisions, which Alembic runs.
        if ".views." not in found.name and ".migrations.versions" not in found.name and not found.name.endswith(".env"):
            importlib.import_module(found.name)
for name in judgeboard.__all__:
    getattr(judgeboard, name)
"""
CREATED = """
from judgeboard.store.integrity import check_integrity
from judgeboard.store.opening import open_store
store = open_store("new.db", create=True)
assert not check_integrity(store.engine).faults
store.close()
"""
PAGES = """
import os
os.environ["JUDGEBOARD_DB"] = "demo.db"
from pathlib import Path
import judgeboard_dashboard
from judgeboard_dashboard.app import TABS
from streamlit.testing.v1 import AppTest
app_file = str(Path(judgeboard_dashboard.__file__).parent / "app.py")
for view in TABS:
    app = AppTest.from_file(app_file, default_timeout=120)
    app.session_state["reviewer_name"] = "Mara"
    app.switch_page(f"views/{view}.py").run()
    assert not app.exception, (view, app.exception)
    text = str([each.proto.body for each in app.get("html")])
    assert "Something went wrong" not in text, view
print(len(TABS), "pages")
"""
CHEAP = {
    "--help": START.format(words=["--help"]),
    "imports": IMPORTS,
    "new database": CREATED,
}
WHOLE = {
    **CHEAP,
    "old database": START.format(words=["db", "migrate", "--db", "old.db"]),
    "quickstart": START.format(words=["quickstart", "--no-serve", "--db", "demo.db"]),
    "pages": PAGES,
}
"""What is tried without a method, as code."""


def copy_without(folder, methods):
    """Copy the packages and the sample log to a folder, and remove these methods from the copy."""
    package = folder / "core" / "judgeboard"
    copy_package(PACKAGE, package)
    copy_package(DASHBOARD, folder / "dashboard" / "judgeboard_dashboard")
    shutil.copytree(ROOT / "data" / "sample", folder / "data" / "sample")
    for method in methods:
        module = method if method in KNOWN_ROOMS else f"methods.{method}"
        registration = import_module(f"judgeboard.{module}").REGISTRATION
        shutil.rmtree(package / module.replace(".", "/"))
        for view in registration.pages:
            (folder / "dashboard" / "judgeboard_dashboard" / "views" / f"{view}.py").unlink()
        sections = (
            *registration.item_sections,
            *registration.people_sections,
            *([registration.sign_in] if registration.sign_in else []),
            *registration.judge_sections,
            *registration.wide_judge_sections,
            *([registration.checks_maker] if registration.checks_maker else []),
        )
        for place in {place.partition(":")[0] for place in sections}:
            (folder / "dashboard" / f"{place.replace('.', '/')}.py").unlink()
        _remove(package / "registry" / "methods.py", rf'^    "{method}",.*\n')
        public = rf"^from \.methods\.{method}\b[.\w]* import (?:\([^)]*\)|.*)\n"
        _remove(package / "__init__.pyi", public, at_least=0)
    with tarfile.open(OLD_DATABASE) as archive:
        old = archive.extractfile("demo.db")
        (folder / "old.db").write_bytes(old.read())


def _remove(file, lines, *, at_least=1):
    text, removed = re.subn(lines, "", file.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert removed >= at_least, (file, lines)
    file.write_text(text, encoding="utf-8")


def attempt(folder, code):
    """Run code in a copy; return None if it works, otherwise the last line of its error."""
    path = f"{folder / 'core'}:{folder / 'dashboard'}"
    environment = {"PYTHONPATH": path, "PATH": "", **SHARED}
    command = [sys.executable, "-c", code]
    ran = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=folder, env=environment
    )
    return (
        None if ran.returncode == 0 else (ran.stderr.strip() or ran.stdout.strip()).splitlines()[-1]
    )


def main():
    """Print a line for each method; return 1 if the rest does not work without one of them."""
    methods = sys.argv[1:] or (*KNOWN_METHODS, *KNOWN_ROOMS)
    print(f"| without | {' | '.join(WHOLE)} |\n|{'---|' * (len(WHOLE) + 1)}")
    faults = []
    for method in methods:
        cells = []
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            copy_without(folder, [method])
            for what, code in WHOLE.items():
                began = time.monotonic()
                fault = attempt(folder, code)
                cells.append(f"{time.monotonic() - began:.1f} s" if fault is None else "fails")
                faults += [] if fault is None else [f"without {method}, {what}: {fault}"]
        print(f"| {method} | {' | '.join(cells)} |", flush=True)
    print("\n".join(faults))
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())

"""The arrows between the packages, read from the imports."""

import ast
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CORE = ROOT / "core" / "judgeboard"
DASHBOARD = ROOT / "dashboard" / "judgeboard_dashboard"

# A layer may import itself and the layers before it; parts of one layer never import each other in a circle.
LAYERS: list[set[str]] = [
    {"domain", "errors", "settings", "text", "client"},
    {"llm", "judges", "flags", "formats", "stats", "traces"},
    {"store"},
    {"runs", "imports", "people", "targets"},
    {"reviews", "agreement", "trends", "receiving"},
    {"methods", "health", "alerts"},
    {"reports"},
    {"cli"},
]
LEVELS = {name: level for level, layer in enumerate(LAYERS) for name in layer}


def imports_of(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def package_of(path: Path) -> str:
    return path.relative_to(CORE).parts[0].removesuffix(".py")


def files(root: Path) -> list[Path]:
    return sorted(path for path in root.rglob("*.py") if "migrations/versions" not in path.as_posix())


def parts_imported(path: Path) -> set[str]:
    """The modules and packages at the top of judgeboard that a file imports."""
    parts = (name.split(".") for name in imports_of(path))
    return {each[1] for each in parts if each[0] == "judgeboard" and len(each) > 1 and each[1] in LEVELS}


@pytest.mark.parametrize("path", files(CORE), ids=lambda path: path.relative_to(CORE).as_posix())
def test_core_arrows_point_one_way(path: Path) -> None:
    own = package_of(path)
    if own == "__init__":  # the library's interface names its homes and imports none of them
        return
    assert own in LEVELS, f"{own} stands in no layer"
    later = {name for name in parts_imported(path) if LEVELS[name] > LEVELS[own]}
    assert not later, f"{own} may not import {', '.join(sorted(later))}"


def test_every_part_of_core_stands_in_a_layer_and_no_name_stands_for_nothing() -> None:
    assert {package_of(path) for path in files(CORE)} - {"__init__"} == set(LEVELS)


def test_no_arrows_go_in_a_circle() -> None:
    arrows: dict[str, set[str]] = {name: set() for name in LEVELS}
    for path in files(CORE):
        if package_of(path) in LEVELS:
            arrows[package_of(path)] |= parts_imported(path) - {package_of(path)}
    order = tuple(TopologicalSorter(arrows).static_order())  # raises CycleError, which names the circle
    assert set(order) == set(LEVELS)


@pytest.mark.parametrize("path", files(CORE), ids=lambda path: path.relative_to(CORE).as_posix())
def test_core_knows_no_dashboard_library(path: Path) -> None:
    roots = {name.split(".")[0] for name in imports_of(path)}
    assert not roots & {"streamlit", "altair"}
    if package_of(path) != "cli":  # `serve` and `demo` start the dashboard
        assert "judgeboard_dashboard" not in roots


@pytest.mark.parametrize("path", files(DASHBOARD), ids=lambda path: path.relative_to(DASHBOARD).as_posix())
def test_the_dashboard_holds_no_sql(path: Path) -> None:
    roots = {name.split(".")[0] for name in imports_of(path)}
    assert not roots & {"sqlalchemy", "sqlmodel", "alembic"}
    assert "groupby" not in path.read_text(encoding="utf-8")


@pytest.mark.parametrize("use", ["import judgeboard", "from judgeboard.cli.app import run; run(['--help'])"])
def test_importing_judgeboard_and_listing_its_commands_is_cheap(use: str) -> None:
    heavy = {"pandas", "openai", "streamlit", "altair", "pyarrow", "numpy", "sqlalchemy", "alembic", "rich"}
    code = f"import sys; {use}; print(sorted({heavy!r} & set(sys.modules)))"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.splitlines()[-1] == "[]"


def test_sources_stay_readable_in_one_sitting() -> None:
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in (*files(CORE), *files(DASHBOARD))}
    long = {path.name: lines for path, lines in lengths.items() if lines > 600}
    assert not long


def test_every_module_says_what_it_is_for() -> None:
    for path in (*files(CORE), *files(DASHBOARD)):
        assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))), path

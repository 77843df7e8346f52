"""The list of methods: each line stands for a folder, and without the folders the rest works."""

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from judgeboard import methods as package
from judgeboard.registry.methods import KNOWN_METHODS, registrations
from judgeboard_dashboard import views
from methods_away import CHEAP, attempt, copy_without


def test_every_folder_of_a_method_has_its_line_and_its_pages_are_there() -> None:
    folders = [path.parent.name for path in Path(package.__file__).parent.glob("*/__init__.py")]
    assert sorted(KNOWN_METHODS) == sorted(folders)
    pages = {view for each in registrations() for view in each.pages}
    assert pages <= {path.stem for path in Path(views.__file__).parent.glob("*.py")}


def test_without_any_method_the_rest_starts_and_creates_a_database(tmp_path: Path) -> None:
    """`methods_away.py` tries more, without each method."""
    copy_without(tmp_path, KNOWN_METHODS)
    faults = {what: fault for what, code in CHEAP.items() if (fault := attempt(tmp_path, code))}
    assert not faults


OF_ANOTHER_PACKAGE = """
import click
from judgeboard.registry.methods import Page, Registration

@click.command()
def polly_command() -> None:
    \"""Let the parrot speak.\"""
    print("Polly")

COMMAND = "parrots:polly_command"
PARROT = Registration(commands={("Measure", "compare", "polly"): COMMAND, ("Parrots", "polly"): COMMAND})
WITH_PAGE = Registration(pages={"parrots": Page("Parrots", "Parrots", "index.md", before="Runs")})
"""


@pytest.mark.parametrize(
    ("place", "command", "printed", "warned"),
    [
        ("parrots:PARROT", "polly", "Polly", ""),
        ("parrots:PARROT", "compare polly", "Polly", ""),
        ("parrots:PARROT", "--help", "Parrots:\n  polly", ""),
        ("parrots:GONE", "labels --help", "Usage", "the method parrot (parrots:GONE) is left out: module 'parrots'"),
        ("nowhere:PARROT", "labels --help", "Usage", "is left out: No module named 'nowhere'"),
        (
            "parrots:WITH_PAGE",
            "labels --help",
            "Usage",
            "is left out: only methods of Judgeboard have tables and pages",
        ),
    ],
)
def test_another_package_adds_a_method_with_an_entry_point(
    tmp_path: Path, place: str, command: str, printed: str, warned: str
) -> None:
    (tmp_path / "parrots.py").write_text(OF_ANOTHER_PACKAGE, encoding="utf-8")
    info = tmp_path / "parrots-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: parrots\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text(f"[judgeboard.methods]\nparrot = {place}\n", encoding="utf-8")
    code = f"import sys; sys.path.append({str(tmp_path)!r}); from judgeboard.cli.app import run; "
    code += f"sys.exit(run({shlex.split(command)}))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert printed in ran.stdout
    assert len(ran.stderr.splitlines()) == bool(warned)
    assert warned in ran.stderr

"""The list of methods: each line stands for a folder, and without the folders the rest works."""

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from judgeboard import methods as package
from judgeboard.registry.methods import KNOWN_METHODS, KNOWN_ROOMS, registrations
from judgeboard_dashboard import views
from methods_away import CHEAP, attempt, copy_without
from package_copy import describe_package


def test_every_folder_of_a_method_has_its_line_and_its_pages_are_there():
    folders = [path.parent.name for path in Path(package.__file__).parent.glob("*/__init__.py")]
    assert sorted(KNOWN_METHODS) == sorted(folders)
    pages = {view for each in registrations() for view in each.pages}
    assert pages <= {path.stem for path in Path(views.__file__).parent.glob("*.py")}


def test_without_any_method_or_room_the_rest_starts_and_creates_a_database(tmp_path):
    """`methods_away.py` tries more, without each method."""
    copy_without(tmp_path, (*KNOWN_METHODS, *KNOWN_ROOMS))
    ended = "import os; os._exit(0)"  # to take all modules apart takes half a second
    assert attempt(tmp_path, "\n".join([*CHEAP.values(), ended])) is None


OF_ANOTHER_PACKAGE = """
import click
from judgeboard.registry.methods import Dataset, JudgeOption, Kind, Page, Registration

@click.command()
def polly_command() -> None:
    \"""Let the parrot speak.\"""
    print("Polly")

COMMAND = "parrots:polly_command"
PARROT = Registration(commands={("Measure", "compare", "polly"): COMMAND, ("Parrots", "polly"): COMMAND})
WITH_PAGE = Registration(pages={"parrots": Page("Parrots", "Parrots", "index.md")})
GREEDY = Registration(
    commands={
        ("Parrots", "polly"): COMMAND,
        ("Parrots", "agreement"): COMMAND,
        ("Review", "queue", "create"): COMMAND,
        ("Measure", "agreement", "polly"): COMMAND,
        ("Parrots", "nests", "polly"): COMMAND,
        ("Parrots", "eggs"): "parrots:eggs_command",
    },
    judge_options=(JudgeOption("--rejudge", "", COMMAND), JudgeOption("--parrots", "", COMMAND, "NAMES")),
    imports={"grades": Kind(COMMAND, "Eggs", "egg", "eggs")},
    exports={"flags": COMMAND},
    datasets={"ragas": Dataset(COMMAND, "eggs")},
    checks="parrots:CHECKS",
)
"""
NOT_USED = "The plugin parrot of the package parrots 1.0, judgeboard.methods, is not used: "


def installed(folder, place, *lines):
    """Run commands beside a package of parrots, whose entry point names a place."""
    (folder / "parrots.py").write_text(OF_ANOTHER_PACKAGE)
    entry_point = f"[judgeboard.methods]\nparrot = {place}\n"
    describe_package(folder, "parrots", "1.0", entry_point.encode())
    code = f"import sys; sys.path.append({str(folder)!r}); from judgeboard.cli.app import run; "
    code += f"sys.exit(max(run(words) for words in {[shlex.split(line) for line in lines]}))"
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=folder
    )


@pytest.mark.parametrize(
    ("place", "command", "printed", "warned"),
    [
        ("parrots:PARROT", "polly", "Polly", ""),
        ("parrots:PARROT", "compare polly", "Polly", ""),
        ("parrots:PARROT", "--help", "Parrots:\n  polly", ""),
        (
            "parrots:GONE",
            "labels --help",
            "Usage",
            f"{NOT_USED}it cannot be loaded: AttributeError: module 'parrots'",
        ),
        ("parrots:COMMAND", "labels --help", "Usage", f"{NOT_USED}it must be a `Registration`"),
        (
            "parrots:WITH_PAGE",
            "labels --help",
            "Usage",
            f"{NOT_USED}only methods of Judgeboard have tables and pages",
        ),
    ],
)
def test_another_package_adds_a_method_with_an_entry_point(
    tmp_path, place, command, printed, warned
):
    ran = installed(tmp_path, place, command)
    assert ran.returncode == 0
    assert printed in ran.stdout
    assert len(ran.stderr.splitlines()) == bool(warned)
    assert warned in ran.stderr


def test_a_method_of_another_package_replaces_nothing_of_judgeboard_and_doctor_lists_it(tmp_path):
    """Each part that it cannot have is one warning, and the rest of the method is used."""
    others = ("agreement", "queue create", "judge", "export", "agreement polly")
    helps = installed(tmp_path, "parrots:GREEDY", *(f"{words} --help" for words in others)).stdout
    assert "--parrots NAMES" in helps
    assert "egg" not in helps
    more = installed(tmp_path, "parrots:GREEDY", "import --help", "polly").stdout
    assert "parrot speak" not in helps + more
    assert more.endswith("\nPolly\n")
    ran = installed(tmp_path, "parrots:GREEDY", "doctor --json")
    plugins = json.loads(ran.stdout)["plugins"]
    named = {"group": "judgeboard.methods", "name": "parrot", "package": "parrots"}
    assert plugins == [each | named for each in plugins]
    faults = [each["fault"].removeprefix("it is used without its ") for each in plugins]
    assert sorted(fault.partition(":")[0].removeprefix("kind of ") for fault in faults) == [
        "checks",
        "command agreement",
        "command agreement polly",
        "command eggs",
        "command nests polly",
        "command queue create",
        "dataset ragas",
        "import grades",
        "option --rejudge",
        "table flags",
    ]
    missing = [fault.split("'")[-2] for fault in faults if "AttributeError" in fault]
    assert sorted(missing) == ["CHECKS", "eggs_command"]
    warnings = ran.stderr.splitlines()
    assert len(warnings) == len(faults)
    assert all("parrot of the package parrots 1.0, judgeboard.methods" in each for each in warnings)
    listed = installed(tmp_path, "parrots:PARROT", "doctor").stdout
    assert any(line.startswith("ok ") and "parrots 1.0" in line for line in listed.splitlines())

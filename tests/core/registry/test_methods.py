"""The list of methods: each line stands for a folder, and without the folders the rest works."""

from pathlib import Path

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

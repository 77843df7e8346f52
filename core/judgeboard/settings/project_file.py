"""The project file ``judgeboard.toml``: where it is, and the line of each value."""

import logging
import os
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from stat import S_IWOTH
from typing import Any

from judgeboard.errors import BadInput
from judgeboard.text import file_text

_log = logging.getLogger("judgeboard.settings")
CONFIG = "JUDGEBOARD_CONFIG"
"""The variable that names the project file."""
PROJECT_FILE = "judgeboard.toml"
MOST_BYTES = 1_000_000
COMMANDS = ("alert_command",)
"""The settings that a worker runs as a command."""
FILES = ("prices", "families", "checks")
SECTION_FILES: Mapping[str, tuple[str, ...]] = {
    "judges": ("prompt", "rubric", "judge_file"),
    "suites": ("file",),
    "queues": ("guidelines",),
}
"""The names of files in the tables of a section."""


@dataclass(frozen=True)
class ProjectFile:
    """A ``judgeboard.toml``: the text, and its values as Python reads them without the ``ignored`` ones."""

    path: Path
    text: str
    values: Mapping[str, Any] = field(hash=False, compare=False)
    ignored: tuple[str, ...] = ()

    def line_of(self, *keys: str) -> str:
        """Return the place of a value: "judgeboard.toml, line 3". Tables count, and keys with dots before them."""
        return f"{self.path.name}, line {_line(self.text, keys)}"

    def fail(self, reason: str, *keys: str) -> BadInput:
        """Return an error that names the line and the setting."""
        return BadInput(f"{self.path}, line {_line(self.text, keys)}: {'.'.join(keys)} {reason}")


def _line(text: str, keys: Sequence[str]) -> int:
    """Return the number of the line that gives a value; that of its table if the value is written in another way."""
    best, depth = 1, 0
    table: tuple[str, ...] = ()
    for number, line in enumerate(text.splitlines(), 1):
        if head := re.match(r"\s*\[+([^\]#]+)\]+\s*(?:#.*)?$", line):
            table = _parts(head[1])
            path = table
        elif head := re.match(r"\s*([^=#\[]+?)\s*=", line):
            path = (*table, *_parts(head[1]))
        else:
            continue
        if len(path) > depth and tuple(keys[: len(path)]) == path:
            best, depth = number, len(path)
    return best


def _parts(dotted: str) -> tuple[str, ...]:
    return tuple(part[0] or part[1] or part[2] for part in re.findall(r"\"([^\"]*)\"|'([^']*)'|([\w-]+)", dotted))


def use_project_file(path: str) -> None:
    """Use this project file in this process and the processes that it starts."""
    os.environ[CONFIG] = str(Path(path).expanduser().absolute())


def leave_project_file() -> Path | None:
    """Stop using the project file that JUDGEBOARD_CONFIG names in this process, and return its path."""
    named = os.environ.pop(CONFIG, None)
    return Path(named) if named else None


@contextmanager
def without_project_file() -> Iterator[Path | None]:
    """Use no project file but one that JUDGEBOARD_CONFIG names; yield the path of the one that is not used."""
    left_out = None if os.environ.get(CONFIG) else next((path for path in _paths() if path.is_file()), None)
    if left_out is None:
        yield None
        return
    os.environ[CONFIG] = os.devnull  # an empty file, also for the processes that this one starts
    try:
        yield left_out
    finally:
        del os.environ[CONFIG]


def _paths() -> Iterator[Path]:
    """Yield where a project file may be, the nearest first."""
    here = Path.cwd()
    return (folder / PROJECT_FILE for folder in (here, *here.parents))


def project_file() -> ProjectFile | None:
    """Return the file that JUDGEBOARD_CONFIG names, otherwise the nearest ``judgeboard.toml`` above, None without one.

    A file above the working folder may lie where other people can write, such as in ``/tmp``. So it is ignored if
    another user can change it, and its commands never count. Raises BadInput if the file cannot be read.
    """
    if named := os.environ.get(CONFIG):
        path = Path(named).expanduser().absolute()
        return _read(path, file_text(path, most=MOST_BYTES))
    here = Path.cwd()
    for path in _paths():
        if not path.is_file():
            continue
        if path.parent == here:
            return _read(path, file_text(path, most=MOST_BYTES))
        if _is_own(path):
            return _without_commands(_read(path, file_text(path, most=MOST_BYTES)))
        _warn_once(f"{path} is ignored, because another user can change it. To use it: --config {path}")
    return None


def _is_own(path: Path) -> bool:
    """Return whether only this user and the administrator can change a file."""
    about = path.stat()
    return not hasattr(os, "getuid") or (about.st_uid in {0, os.getuid()} and not about.st_mode & S_IWOTH)


def _without_commands(file: ProjectFile) -> ProjectFile:
    for name in (name for name in COMMANDS if name in file.values):
        _warn_once(
            f"{file.line_of(name)}: {name} is ignored, because {file.path} is above this folder and a command runs "
            f"only from a file in it. To use it: --config {file.path}"
        )
    counting = {name: value for name, value in file.values.items() if name not in COMMANDS}
    return replace(file, values=counting, ignored=COMMANDS)


@lru_cache(maxsize=16)
def _warn_once(sentence: str) -> None:
    _log.warning(sentence)


@lru_cache(maxsize=4)
def _read(path: Path, text: str) -> ProjectFile:
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        reason, _, place = str(error).rstrip(")").partition(" (at ")
        line = re.match(r"line (\d+)", place) or (None, str(len(text.splitlines())))
        if twice := re.match(r"Cannot declare \((.*)\) twice", reason):
            table = ".".join(_parts(twice[1]))
            reason = f"[{table}] stands twice: remove one, or rename it"
        raise BadInput(f"{path}, line {line[1]}: {reason}") from None
    for section, names in SECTION_FILES.items():
        tables = values.get(section)
        for table in tables.values() if isinstance(tables, dict) else ():
            if isinstance(table, dict):
                _in_folder(table, names, path.parent)
                if str(table.get("schema")).endswith((".yaml", ".yml", ".json")):
                    _in_folder(table, ("schema",), path.parent)
    is_url = "://" in str(values.get("db"))
    _in_folder(values, FILES if is_url else (*FILES, "db"), path.parent)
    return ProjectFile(path, text, values)


def _in_folder(values: dict[str, Any], names: Iterable[str], folder: Path) -> None:
    """Make the paths with these names absolute: they are relative to the folder of the project file."""
    for name in names:
        if isinstance(values.get(name), str):
            values[name] = str(folder / Path(values[name]).expanduser())

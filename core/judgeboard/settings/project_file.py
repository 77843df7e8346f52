"""The project file ``judgeboard.toml``: where the file is, and the line of each value."""

import hashlib
import logging
import os
import re
import shlex
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from stat import S_ISVTX, S_IWOTH
from typing import Any

from judgeboard.errors import BadInput, UnconfirmedFile
from judgeboard.settings.masking import masked
from judgeboard.text import file_text, unstorable

_log = logging.getLogger("judgeboard.settings")
CONFIG = "JUDGEBOARD_CONFIG"
"""The variable that names the project file."""
PROJECT_FILE = "judgeboard.toml"
REACHING = frozenset(
    (
        *("url", "admin", "receive_grpc", "smtp", "smtp_from", "alert_command", "alert_networks"),
        *("trusted_header", "trusted_proxies"),
        *("judges.base_url", "judging_rules.base_url", "suites.candidate_base_url"),
    )
)
"""The settings with which a file sends, listens, runs a command or gives a right; in tables with the section"""
_TEXTS = (
    "sources",
    "checks",
    "queues",
)  # such texts may look like addresses, and nothing is sent there
FILES = ("prices", "families", "checks")
SECTION_FILES: Mapping[str, tuple[str, ...]] = {
    "judges": ("prompt", "rubric", "judge_file"),
    "suites": ("file",),
    "queues": ("guidelines",),
}
"""The names of files in the tables of a section."""


@dataclass(frozen=True)
class ProjectFile:
    """A ``judgeboard.toml``: the text, and the values in Python."""

    path: Path
    text: str
    values: Mapping[str, Any] = field(hash=False, compare=False)

    def check_confirmed(self) -> None:
        """Raise UnconfirmedFile if the file reaches out of the folder, and the user has not confirmed this content."""
        reaching = [f"{'.'.join(keys)} = {masked(value)}" for keys, value in self._reaching()]
        if not reaching:
            return
        path = (
            self.path.parent.resolve() / self.path.name
        )  # a link to a confirmed file is another file
        # The folder with an empty file for each confirmed content of a project file.
        config = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
        mark = (Path(config).expanduser() / "judgeboard" / "confirmed") / hashlib.sha256(
            f"{path}\0{self.text}".encode()
        ).hexdigest()
        if not mark.exists():
            command = shlex.join(["judgeboard", "config", "--confirm", "--config", str(path)])
            raise UnconfirmedFile(
                f"{path} is not in force, because nobody has confirmed what it names: {', '.join(reaching)}. "
                f"Read the file. To use it: `{command}`",
                mark,
            )

    def _reaching(self) -> Iterator[tuple[tuple[str, ...], str]]:
        """Yield what the file names outside of the folder: addresses, commands, databases and files."""
        folder = self.path.parent.resolve()
        for keys, value in _texts(self.values):
            section, name = keys[0], ".".join(keys[::2])  # without the name of the table
            is_file = (
                keys[-1] in (*FILES, "db")
                if len(keys) == 1
                else keys[-1] in SECTION_FILES.get(section, ())
            )
            if (
                name in REACHING
                or ("://" in value and section not in _TEXTS)
                or (
                    (is_file or keys[-1] == "schema")
                    and not (folder / value).resolve().is_relative_to(folder)
                )
                or (name == "suites.candidate" and value.startswith("python:"))
                or (name == "alerts.to" and value.startswith("email:"))
            ):
                yield keys, value

    def line_of(self, *keys: str) -> str:
        """Return the place of a value: "judgeboard.toml, line 3". Tables count, and dotted keys."""
        return f"{self.path.name}, line {_line(self.text, keys)}"

    def fail(self, reason: str, *keys: str) -> BadInput:
        """Return an error that names the line and the setting."""
        return BadInput(f"{self.path}, line {_line(self.text, keys)}: {'.'.join(keys)} {reason}")


def _line(text: str, keys: Sequence[str]) -> int:
    """Return the number of the line that gives a value; for a value in another form, the line of the table."""
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
    return tuple(
        part[0] or part[1] or part[2]
        for part in re.findall(r"\"([^\"]*)\"|'([^']*)'|([\w-]+)", dotted)
    )


def use_project_file(path: str) -> None:
    """Use this project file in this process and in child processes."""
    os.environ[CONFIG] = str(Path(path).expanduser().absolute())


def leave_project_file() -> Path | None:
    """Stop using the project file that JUDGEBOARD_CONFIG names in this process, and return the path."""
    path = os.environ.pop(CONFIG, None)
    return Path(path) if path else None


@contextmanager
def without_project_file() -> Iterator[Path | None]:
    """Use no project file except a file that JUDGEBOARD_CONFIG names; yield the path of the unused file."""
    left_out = (
        None
        if os.environ.get(CONFIG)
        else next((path for path in _paths() if path.is_file()), None)
    )
    if left_out is None:
        yield None
        return
    os.environ[CONFIG] = os.devnull  # an empty file, also for child processes
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

    A file may lie where other people can write, such as in ``/tmp``. So a file that nobody has
    named is ignored if another user can change it. Raises BadInput if the file cannot be read.
    """
    if config_path := os.environ.get(CONFIG):
        path = Path(config_path).expanduser().absolute()
        return _read(path, file_text(path))
    for path in _paths():
        if not path.is_file():
            continue
        # Only this user and the administrator may change the file, a link to the file, or the folder.
        if hasattr(os, "getuid"):
            status, folder = path.stat(), path.parent.stat().st_mode
            owners = {status.st_uid, path.lstat().st_uid}
            is_open = status.st_mode & S_IWOTH or (folder & S_IWOTH and not folder & S_ISVTX)
            if is_open or not owners <= {0, os.getuid()}:
                _warn_once(
                    f"{path} is ignored, because another user can change it. To use it: --config {path}"
                )
                continue
        return _read(path, file_text(path))
    return None


def _texts(value: object, *keys: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield each text in tables and lists with the keys; a number is a text, too."""
    if isinstance(value, Mapping):
        for name, entry in value.items():
            yield from _texts(entry, *keys, name)
    elif isinstance(value, list):
        for entry in value:
            yield from _texts(entry, *keys)
    else:
        yield keys, str(value)


def confirm(unconfirmed: UnconfirmedFile) -> None:
    """Keep that this user has confirmed the content of a project file."""
    unconfirmed.mark.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    unconfirmed.mark.touch(mode=0o600)


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
    file = ProjectFile(path, text, values)
    for keys, value in _texts(values):
        if fault := unstorable(value):
            raise file.fail(f"contains {fault}", *keys)
    for section, names in SECTION_FILES.items():
        tables = values.get(section)
        for table in tables.values() if isinstance(tables, dict) else ():
            if isinstance(table, dict):
                _in_folder(table, names, path.parent)
                if "." in str(table.get("schema")):  # a file: no name of a schema has a dot
                    _in_folder(table, ("schema",), path.parent)
    is_url = "://" in str(values.get("db"))
    _in_folder(values, FILES if is_url else (*FILES, "db"), path.parent)
    return file


def _in_folder(values: dict[str, Any], names: Iterable[str], folder: Path) -> None:
    """Make the paths with these names absolute, from the folder of the project file."""
    for name in names:
        if isinstance(values.get(name), str):
            values[name] = str(folder / Path(values[name]).expanduser())

"""The file of the rejected rows of an import: a line for each, with the reason. A corrected file can be imported."""

import json
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TextIO

from judgeboard.domain import Rejected
from judgeboard.formats.files import Row, owner_only

_REJECTED = ("line", "field", "reason", "row")
_START = b'{"line": '  # the start of every line in a file of rejected rows


def rejected_path(file: str | Path) -> Path:
    """Return the default file of rejected rows: ``FILE.rejected.jsonl``; for ``-`` in the current folder."""
    return Path("stdin.rejected.jsonl") if str(file) == "-" else Path(f"{file}.rejected.jsonl")


class RejectedFile(AbstractContextManager["RejectedFile"]):
    """A file of rejected rows: JSON lines with line, field, reason and row. The first row creates the file.

    Only an older file of rejected rows is replaced, because a person may name the log or the
    database by mistake. ``problem`` is the reason if rows could not be written. The usable rows are
    stored anyway.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.count = 0
        self.problem: str | None = None
        self._file: TextIO | None = None

    def __exit__(self, *_error: object) -> None:
        try:
            if self._file is not None:
                self._file.close()
        except OSError as failure:  # a full disk may cause an error only here
            self.problem = self.problem or self._unwritten(failure)

    def add(self, rejected: Rejected) -> None:
        """Write one rejected row."""
        self.count += 1
        if self.problem is not None:
            return
        try:
            if self._file is None:
                if self.path.is_file() and _start_of(self.path) not in {b"", _START}:
                    self.problem = f"{self.path} is not a file of rejected rows: choose another with --rejected PATH"
                    return
                self._file = open(self.path, "w", encoding="utf-8", opener=owner_only)  # noqa: SIM115
            self._file.write(rejected_line(rejected))
        except OSError as error:
            self.problem = self._unwritten(error)

    def _unwritten(self, error: OSError) -> str:
        return f"the rejected rows cannot be written to {self.path} ({error.strerror}): use --rejected PATH"


def is_rejected_file(path: Path) -> bool:
    """Whether a file is one of rejected rows."""
    return _start_of(path) == _START


def _start_of(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(len(_START))


def rejected_line(rejected: Rejected) -> str:
    """Return a rejected row as a line of JSON; a row that JSON cannot represent becomes a text."""
    line = {name: getattr(rejected, name) for name in _REJECTED}
    try:  # as ASCII: a row may be rejected for a lone surrogate, which UTF-8 cannot encode
        return json.dumps(line, allow_nan=False) + "\n"
    except (ValueError, RecursionError):
        try:
            row = repr(rejected.row)
        except RecursionError:
            row = "nested too deeply to show it"
        return json.dumps({**line, "row": row}) + "\n"


def rejected_before(item: Row | Rejected) -> Row | Rejected:
    """Return the original row in a line of a file of rejected rows. Return any other item unchanged."""
    if (
        isinstance(item, Row)
        and tuple(item.values) == _REJECTED
        and isinstance(item.values["row"], dict)
    ):
        return Row(item.line, item.values["row"])
    return item

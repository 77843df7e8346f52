"""Writes the rows that could not come in beside their file, so that they can be mended and imported again."""

import json
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TextIO

from judgeboard.domain import Rejected


def rejected_path(file: str | Path) -> Path:
    """Return where the rejected rows of a file go: ``FILE.rejected.jsonl``; for ``-`` into the current folder."""
    return Path("stdin.rejected.jsonl") if str(file) == "-" else Path(f"{file}.rejected.jsonl")


_START = b'{"line": '  # how every line of such a file starts


class RejectedFile:
    """JSON lines of line, field, reason and row; the file is made with the first of them.

    It replaces an older one of its kind and nothing else: the log itself, or the database, may have been named.

    Attributes:
        path: Where it is written.
        count: How many rows were rejected, written or not.
        problem: Why they could not be written, None where they could: the good rows come in all the same.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.count = 0
        self.problem: str | None = None
        self._file: TextIO | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is None:
            return
        try:
            self._file.close()
        except OSError as failure:  # a full disk shows here at the latest, after the good rows came in
            self.problem = self.problem or self._unwritten(failure)

    def add(self, rejected: Rejected) -> None:
        """Write one rejected row."""
        self.count += 1
        if self.problem is not None:
            return
        try:
            if self._file is None:
                if not _replaceable(self.path):
                    self.problem = f"{self.path} holds something else than rejected rows: use --rejected PATH"
                    return
                self._file = self.path.open("w", encoding="utf-8")
            self._file.write(rejected_line(rejected))
        except OSError as error:
            self.problem = self._unwritten(error)

    def _unwritten(self, error: OSError) -> str:
        return f"the rejected rows cannot be written to {self.path} ({error.strerror}): use --rejected PATH"


def _replaceable(path: Path) -> bool:
    """Whether nothing is there, or what an earlier import wrote (pipes and devices lose nothing)."""
    if not path.is_file():
        return True
    with path.open("rb") as file:
        return file.read(len(_START)) in {b"", _START}


def rejected_line(rejected: Rejected) -> str:
    """Return a rejected row as a line of JSON, whatever it holds."""
    line = {"line": rejected.line, "field": rejected.field, "reason": rejected.reason, "row": rejected.row}
    return _json(line) + "\n"


def _json(line: dict[str, Any]) -> str:
    # Escaped to ASCII: half characters, one reason to be rejected, have no bytes in UTF-8.
    try:
        return json.dumps(line, allow_nan=False)
    except (ValueError, RecursionError):
        return json.dumps({**line, "row": _shown(line["row"])})


def _shown(row: Any) -> str:
    try:
        return repr(row)
    except RecursionError:
        return "nested too deeply to be shown"

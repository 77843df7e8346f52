"""Reads an uploaded file without writing anything, then imports it: the same rows, the same words."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from judgeboard.domain import Rejected
from judgeboard.importers import Preview, preview
from judgeboard.importers.rejected import rejected_line
from judgeboard.importing import ImportSummary, import_file
from judgeboard.review import Reviewer
from judgeboard.store.engine import Store

MOST_REJECTED = 50_000_000  # bytes of rejected rows that are kept to be downloaded


@dataclass(frozen=True, slots=True)
class Choice:
    """Which file, and how it is meant; equal choices give equal trials. ``source`` empty is the default."""

    file_id: str
    name: str
    kind: str
    source: str
    mapping: tuple[tuple[str, str], ...] = ()

    @property
    def options(self) -> dict[str, Any]:
        """The arguments of an import."""
        mapping: Mapping[str, str] = dict(self.mapping)
        return {"kind": self.kind, "mapping": mapping, "source": self.source or None, "name": self.name}


@dataclass(slots=True)
class RejectedRows:
    """Rejected rows as lines of JSON; what is beyond the limit is counted only."""

    lines: list[str] = field(default_factory=list)
    size: int = 0
    left_out: int = 0

    def add(self, rejected: Rejected) -> None:
        """Keep one."""
        line = rejected_line(rejected)
        if self.size + len(line) > MOST_REJECTED:
            self.left_out += 1
            return
        self.lines.append(line)
        self.size += len(line)

    def file(self) -> bytes:
        """Return them as a file that can be mended and imported again."""
        return "".join(self.lines).encode()


@dataclass(frozen=True, slots=True)
class Trial:
    """What would come of a file: its columns as they stand without a mapping, its start, and the whole of it."""

    choice: Choice
    unmapped: Preview
    start: Preview
    summary: ImportSummary
    rejected: RejectedRows


def try_file(store: Store, stream: BinaryIO, choice: Choice, on_rows: Callable[[int], None]) -> Trial:
    """Read a file through, told the number of rows now and then; nothing is written.

    Raises:
        BadInput: It is no file of rows, or the mapping cannot be used.
    """
    options = choice.options
    unmapped = _preview(stream, {**options, "mapping": {}})
    start = _preview(stream, options) if choice.mapping else unmapped
    summary, rejected = _import(store, stream, choice, on_rows, dry_run=True)
    return Trial(choice, unmapped, start, summary, rejected)


def bring_in(
    store: Store, stream: BinaryIO, choice: Choice, on_rows: Callable[[int], None], actor: Reviewer
) -> tuple[ImportSummary, RejectedRows]:
    """Import the file for good.

    Raises:
        BadInput: As `try_file`.
    """
    return _import(store, stream, choice, on_rows, actor=actor)


def _preview(stream: BinaryIO, options: dict[str, Any]) -> Preview:
    stream.seek(0)
    return preview(stream, **options)


def _import(
    store: Store, stream: BinaryIO, choice: Choice, on_rows: Callable[[int], None], **more: Any
) -> tuple[ImportSummary, RejectedRows]:
    stream.seek(0)
    rejected = RejectedRows()
    summary = import_file(
        store,
        stream,
        on_progress=lambda rows, _share: on_rows(rows),
        on_rejected=rejected.add,
        **choice.options,
        **more,
    )
    return summary, rejected

"""Writes tables of the store to files."""

from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

from judgeboard.errors import BadInput
from judgeboard.formats.table import write_rows
from judgeboard.store.engine import Store
from judgeboard.store.export import EXPORTS
from judgeboard.store.hidden_rows import Seen


def export_tables(
    store: Store,
    targets: Mapping[str, str | Path | BinaryIO],
    *,
    format: str = "jsonl",  # noqa: A002 - the name of the command's option
    viewer: int | None = None,
) -> dict[str, int]:
    """Write tables as they are at one moment, a line per row, and return how many lines each has.

    Args:
        store: Where from.
        targets: Where to, by table (a key of `EXPORTS`: ``responses``, ``pairs``, …): a path, replaced only when
            all of it is written, or a stream opened for bytes, which stays open.
        format: ``jsonl`` or ``parquet``, both exact, or ``csv``, in which formulas are defused.
        viewer: The reviewer for whose eyes it is: what they are to review blind is left out. None: for everybody's.

    Raises:
        BadInput: No such table or format, a file cannot be written, or it is the database itself.
    """
    unknown = sorted(targets.keys() - EXPORTS.keys())
    if unknown:
        raise BadInput(f"there is no table {unknown[0]!r} to export; choose {', '.join(EXPORTS)}")
    for target in targets.values():
        if isinstance(target, str | Path) and store.lives_in(Path(target)):
            raise BadInput(f"{target} is the database itself: export to another file")
    with Seen(store, viewer).reading() as connection:
        return {
            name: write_rows(EXPORTS[name].rows(connection), EXPORTS[name].columns, target, format)
            for name, target in targets.items()
        }

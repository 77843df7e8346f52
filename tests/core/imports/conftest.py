"""Files of pairs on their way in, and what of them is stored."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from judgeboard.imports.importing import ImportSummary, import_file
from judgeboard.store.engine import Store
from judgeboard.store.tables import METADATA

Bring = Callable[..., ImportSummary]


@pytest.fixture
def bring(store: Store, tmp_path: Path) -> Bring:
    """Return ``bring(rows, kind=…)``, which imports rows from a file."""

    def bring_in(
        *rows: dict[str, Any], kind: str = "pairs", name: str = "file.jsonl", **options: Any
    ) -> ImportSummary:
        path = tmp_path / name
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return import_file(store, path, kind=kind, **options)

    return bring_in


@pytest.fixture
def contents(store: Store) -> Callable[[], dict[str, list[tuple[Any, ...]]]]:
    """Return a function that reads every row of every table but the batches of imports."""

    def read() -> dict[str, list[tuple[Any, ...]]]:
        with store.reading() as connection:
            tables = [table for table in METADATA.sorted_tables if table.name != "import_batch"]
            return {
                table.name: sorted(
                    tuple(map(str, row)) for row in connection.execute(table.select())
                )
                for table in tables
            }

    return read

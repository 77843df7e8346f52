"""Files of pairs on their way in, and what of them is stored."""

import json

import pytest

from judgeboard.imports.importing import import_file
from judgeboard.store.tables import METADATA


@pytest.fixture
def bring(store, tmp_path):
    """Return ``bring(rows, kind=…)``, which imports rows from a file."""

    def bring_in(*rows, kind="pairs", name="file.jsonl", **options):
        path = tmp_path / name
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return import_file(store, path, kind=kind, **options)

    return bring_in


@pytest.fixture
def contents(store):
    """Return a function that reads every row of every table but the batches of imports."""

    def read():
        with store.reading() as connection:
            tables = [table for table in METADATA.sorted_tables if table.name != "import_batch"]
            return {
                table.name: sorted(
                    tuple(map(str, row)) for row in connection.execute(table.select())
                )
                for table in tables
            }

    return read

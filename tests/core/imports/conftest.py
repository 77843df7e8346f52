"""Files of pairs on their way in, and what of them is stored."""

import json
from contextlib import contextmanager
from functools import partial

import pytest

from judgeboard.imports.importing import import_file
from judgeboard.store.tables import METADATA
from tool_files import written


@pytest.fixture
def bring(store, tmp_path):
    """Return ``bring(rows, kind=…)``, which imports rows from a file."""

    def bring_in(*rows, kind="pairs", name="file.jsonl", **options):
        return import_file(store, written(tmp_path, *rows, name=name), kind=kind, **options)

    return bring_in


@pytest.fixture
def bring_answers(bring):
    """Return ``bring_answers(rows)``, which imports answers from a file."""
    return partial(bring, kind="responses")


@pytest.fixture
def bring_grades(bring):
    """Return ``bring_grades(rows)``, which imports grades from a file."""
    return partial(bring, kind="grades")


@pytest.fixture
def several(reading):
    """Return ``several(rows, kind=…)``: what becomes of rows of JSON lines."""

    def read(*rows, **options):
        return list(reading("\n".join(map(json.dumps, rows)).encode(), **options))

    return read


@pytest.fixture
def nothing_changes(store):
    """Return ``nothing_changes()``: within it, no row of any table changes but those of the batches of imports."""

    def contents():
        with store.reading() as connection:
            return {
                table.name: sorted(
                    tuple(map(str, row)) for row in connection.execute(table.select())
                )
                for table in METADATA.sorted_tables
                if table.name != "import_batch"
            }

    @contextmanager
    def comparing():
        before = contents()
        yield
        assert contents() == before

    return comparing

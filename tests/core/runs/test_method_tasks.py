"""Tasks by their keys: each once, in order, less what is gone."""

from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection

from judgeboard.runs.method import id_reader, task_reader
from judgeboard.store.engine import Store

keys = st.lists(st.integers(), unique=True, max_size=30)


def even(_connection: Connection, some: Sequence[int]) -> list[int]:
    return [key for key in some if key % 2 == 0]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=50)
@given(keys=keys, limit=st.integers(1, 8), backwards=st.booleans())
def test_each_task_comes_once_and_only_the_last_part_is_short(
    sqlite_store: Store, *, keys: list[int], limit: int, backwards: bool
) -> None:
    read = task_reader(sqlite_store, keys, even, backwards=backwards)
    parts = [read(limit)]
    while parts[-1]:
        parts.append(read(limit))
    left = [key for key in (reversed(keys) if backwards else keys) if key % 2 == 0]
    assert [task for part in parts for task in part] == left
    assert all(len(part) == limit for part in parts[:-2]), "what is gone is no reason to end early"


@pytest.mark.parametrize("backwards", [False, True])
def test_a_task_is_read_no_earlier_than_it_is_handed_out(sqlite_store: Store, *, backwards: bool) -> None:
    seen: list[int] = []

    def load(_connection: Connection, some: Sequence[int]) -> list[int]:
        seen.extend(some)
        return list(some)

    read = task_reader(sqlite_store, range(10), load, backwards=backwards)
    assert seen == []
    assert read(3) == seen == ([9, 8, 7] if backwards else [0, 1, 2])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=50)
@given(keys=keys.map(sorted), limit=st.integers(1, 8))
def test_ids_without_a_task_do_not_end_the_reading(sqlite_store: Store, *, keys: list[int], limit: int) -> None:
    def load(connection: Connection, after_id: int | None, most: int) -> tuple[int, list[int]] | None:
        ids = [key for key in keys if after_id is None or key > after_id][:most]
        return (ids[-1], even(connection, ids)) if ids else None

    read = id_reader(sqlite_store, load)
    parts = [read(limit)]
    while parts[-1]:
        parts.append(read(limit))
    assert [task for part in parts for task in part] == [key for key in keys if key % 2 == 0]
    assert all(len(part) == limit for part in parts[:-2])

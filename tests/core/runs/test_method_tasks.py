"""Tasks by their keys: each once, in order, less what is gone."""

from collections.abc import Sequence
from itertools import islice

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection

from judgeboard.runs.method import id_tasks, key_tasks
from judgeboard.runs.runner import LEAST_READ_AHEAD
from judgeboard.store.engine import Store

keys = st.lists(st.integers(), unique=True, max_size=200)


def even(_connection: Connection, some: Sequence[int]) -> list[int]:
    return [key for key in some if key % 2 == 0]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=50)
@given(keys=keys, backwards=st.booleans())
def test_each_task_comes_once_in_order(sqlite_store: Store, *, keys: list[int], backwards: bool) -> None:
    tasks = list(key_tasks(sqlite_store, keys, even, backwards=backwards))
    assert tasks == [key for key in (reversed(keys) if backwards else keys) if key % 2 == 0]


@pytest.mark.parametrize("backwards", [False, True])
def test_a_task_is_read_no_earlier_than_its_batch_is_asked_for(sqlite_store: Store, *, backwards: bool) -> None:
    seen: list[int] = []

    def load(_connection: Connection, some: Sequence[int]) -> list[int]:
        seen.extend(some)
        return list(some)

    tasks = key_tasks(sqlite_store, range(1000), load, backwards=backwards)
    assert seen == []
    assert list(islice(tasks, 3)) == ([999, 998, 997] if backwards else [0, 1, 2])
    assert len(seen) == LEAST_READ_AHEAD


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=50)
@given(keys=keys.map(sorted))
def test_ids_without_a_task_do_not_end_the_reading(sqlite_store: Store, *, keys: list[int]) -> None:
    def load(connection: Connection, after_id: int | None, most: int) -> tuple[int, list[int]] | None:
        ids = [key for key in keys if after_id is None or key > after_id][:most]
        return (ids[-1], even(connection, ids)) if ids else None

    assert list(id_tasks(sqlite_store, load)) == [key for key in keys if key % 2 == 0]

"""Hands out the tasks of a run that are known by their keys, each once."""

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from sqlalchemy import Connection

from judgeboard.runner import T
from judgeboard.store.engine import Store

K = TypeVar("K")


class HandOut(Generic[K, T]):
    """Reads each task just before it is done, and leaves out what is gone by then.

    Args:
        store: Where the tasks are read.
        keys: What is to be done, in this order.
        load: Returns the tasks of some keys, in their order, without those that are forgotten or done meanwhile.
        backwards: Begin at the other end, where another process is at the same run: the two then meet, instead of
            paying for each answer twice.
    """

    def __init__(
        self,
        store: Store,
        keys: Sequence[K],
        load: Callable[[Connection, Sequence[K]], list[T]],
        *,
        backwards: bool = False,
    ) -> None:
        self._store = store
        self._keys = keys[::-1] if backwards else keys
        self._load = load
        self._at = 0

    def read(self, limit: int) -> list[T]:
        """Return up to ``limit`` further tasks; fewer only at the end."""
        found: list[T] = []
        while self._at < len(self._keys) and len(found) < limit:
            batch = self._keys[self._at : self._at + limit - len(found)]
            self._at += len(batch)
            with self._store.reading() as connection:
                found += self._load(connection, batch)
        return found

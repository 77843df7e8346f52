"""Rows with a list of results, such as several answers to one question, or several scores of one answer."""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from judgeboard.formats.jsonl import json_kind
from judgeboard.imports.fields import Cells, Unusable
from judgeboard.imports.recorded import RecordedImport
from judgeboard.text import counted

Value = TypeVar("Value")
Item = TypeVar("Item")


class ListImport(RecordedImport[Value]):
    """Rows with a list of samples, and further lists with one item for each sample."""

    def __init__(self, source: str | None, actor: str = "library") -> None:
        super().__init__(source, actor)
        self._other_length: Counter[str] = Counter()

    def messages(self) -> Iterator[str]:
        """Yield the columns that are left out because the list has another length than the samples."""
        for column, rows in self._other_length.items():
            left_out = f"{column!r} is left out in {counted(rows, 'row')}"
            yield f"{left_out}: the length of its list differs from that of the samples"

    def beside(
        self, cells: Cells, field: str, read: Callable[[Any], Item], length: int
    ) -> list[Item] | None:
        """Return a list beside the samples; None if absent.

        A list of another length counts as absent and is reported.
        """
        values = listed(cells, field, read)
        if values is not None and len(values) != length:
            self._other_length[cells.taken.get(field, field)] += 1
            return None
        return values


def listed(cells: Cells, field: str, read: Callable[[Any], Item]) -> list[Item] | None:
    """Return the results of ``read`` for the items of a list; None if the list is absent."""
    value = cells.json(field)
    if value is None:
        return None
    if not isinstance(value, list):
        raise Unusable(field, f"expected a list, found {json_kind(value)}")
    return [read(item) for item in value]

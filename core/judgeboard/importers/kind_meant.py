"""Tells which other kind of file a row belongs to, where it lacks what its own kind needs."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from judgeboard.domain import Rejected
from judgeboard.importers.columns import simple_name
from judgeboard.importers.kinds import ROWS


@dataclass(frozen=True, slots=True, kw_only=True)
class OfAnotherKind(Rejected):
    """A rejected row that has what ``other_kind`` needs: that kind would read it, other names of columns would not."""

    other_kind: str


def kind_meant(said: str, taken: Collection[str], columns: Iterable[str]) -> str | None:
    """Return the kind whose columns a row has, None where it has those of the kind that was ``said``, or of none.

    Args:
        said: A kind of file.
        taken: The fields of that kind that a column was found for.
        columns: The columns of the row.
    """
    if all(field in taken for field in ROWS[said].needed):
        return None
    names = {simple_name(column) for column in columns}
    for kind, one in ROWS.items():
        if kind != said and not any(names.isdisjoint(one.fields[field]) for field in one.needed):
            return kind
    return None

"""What turns the rows of one kind of file into records."""

from collections.abc import Collection
from typing import ClassVar, Protocol, TypeVar

from judgeboard.importers.cells import Cells
from judgeboard.importers.column_names import FieldNames

T_co = TypeVar("T_co", covariant=True)


class RecordRows(Protocol[T_co]):
    """Builds the records of one file.

    Attributes:
        kind: The kind of file.
        fields: Its fields and their other names.
        needed: Fields that no row goes without: what tells the kind of a row.
        left_over: What becomes of a column that is no field, in words.
    """

    kind: str
    fields: FieldNames
    needed: ClassVar[tuple[str, ...]]
    left_over: str

    def __init__(self, source: str | None) -> None:
        """Begin a file; ``source`` is the source of rows without their own, or where what they name is looked for."""

    def build(self, cells: Cells) -> T_co:
        """Return the record of a row, or raise Unusable."""

    def reads_left_over(self, fields: Collection[str]) -> bool:  # noqa: ARG002 - most kinds read none
        """Whether a file with columns for these fields is read in the columns, too, that are no field."""
        return False

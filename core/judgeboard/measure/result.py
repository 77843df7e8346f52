"""What an estimator returns: rows of figures, which answers they count, caveats and next steps as codes."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any

from judgeboard.domain import Estimate
from judgeboard.formats.output import OF_ESTIMATES, Column, Table, text_lines, to_html, to_plain
from judgeboard.measure.notes import Note, note
from judgeboard.measure.words import FIGURES, LEFT_OUT

if TYPE_CHECKING:  # pandas takes two seconds to load
    import pandas as pd

ALL: None = None
"""The slice of all answers that the result counts: no query type can have this name."""


@dataclass(frozen=True, slots=True)
class Row:
    """A figure of a slice (None: of all answers), with its 95 % interval.

    ``n`` counts the answers or labels behind the figure. If ``value`` or the interval is None,
    ``reason`` says why.
    """

    figure: str
    slice: str | None
    value: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0
    reason: str | None = None

    @classmethod
    def of(cls, figure: str, slice_: str | None, estimate: Estimate) -> "Row":
        """Return the row of an estimate."""
        return cls(
            figure, slice_, estimate.value, estimate.low, estimate.high, estimate.n, estimate.reason
        )

    @property
    def estimate(self) -> Estimate:
        """The figure without its name."""
        return Estimate(self.value, self.low, self.high, self.n, reason=self.reason)


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """The judge, people and answers that the figures of a result count.

    ``judges`` are titles of judge versions ("rag v3"), ``people`` tells how grades of several
    people become one, ``grade`` is what is compared or counted, ``where`` the filter, and ``by``
    the field of the slices. ``counts`` are numbers of answers by their state. ``left_out`` counts
    by reason the answers that are not in the figures. ``unit`` is what is counted.
    """

    judges: tuple[str, ...] = ()
    people: str | None = None
    grade: str = "label"
    where: Mapping[str, Any] = field(default_factory=dict)
    by: str | None = None
    unit: str = "answers"
    counts: Mapping[str, int] = field(default_factory=dict)
    left_out: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """Figures, with their scope, their limits, and what to do next. All estimators return a result."""

    about: About
    headline: Note
    rows: tuple[Row, ...]
    caveats: tuple[Note, ...] = ()
    next: tuple[Note, ...] = ()

    @property
    def sentence(self) -> str:
        """The headline in words."""
        return self.headline.text

    @property
    def slices(self) -> list[str]:
        """The names of the slices, without the slice of all answers."""
        return [each for each in dict.fromkeys(row.slice for row in self.rows) if each is not None]

    def has(self, name: str, slice_: str | None = ALL) -> bool:
        """Return whether the result has a figure of a slice, with or without a value."""
        return any(row.figure == name and row.slice == slice_ for row in self.rows)

    def figure(self, name: str, slice_: str | None = ALL) -> Estimate:
        """Return a figure of a slice.

        Raises:
            KeyError: The result has no such figure.
        """
        for row in self.rows:
            if row.figure == name and row.slice == slice_:
                return row.estimate
        raise KeyError(f"{name} of {slice_ or 'all answers'}")

    @property
    def frame(self) -> "pd.DataFrame":
        """The rows as a DataFrame with the columns of `Row`."""
        return frame_of(map(asdict, self.rows))

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON values: ``about``, ``headline``, ``rows``, ``caveats`` and ``next``."""
        plain: dict[str, Any] = to_plain(self)
        return plain

    def table(self, *figures: str) -> Table:
        """Return a table with a line for each slice and a column for each of the ``figures`` (default: all).

        Slices that have none of the figures are left out, and figures without a value or a reason.
        """
        cells = {(row.slice, row.figure): row.estimate for row in self.rows}
        available = dict.fromkeys(
            row.figure for row in self.rows if {row.value, row.low, row.reason} != {None}
        )
        names = [each for each in figures or available if each in available and each in FIGURES]
        columns = [FIGURES[each] for each in names]
        title = (self.about.by or self.about.unit).replace("_", " ").capitalize()
        lines = []
        for name in (*self.slices, ALL):
            if any((name, each) in cells for each in names):
                estimates = [cells.get((name, each)) for each in names]
                of_slice = (
                    each
                    if each is None or column.format in OF_ESTIMATES
                    else round(each.value)
                    if column.format == "count" and each.value is not None
                    else each.value
                    for each, column in zip(estimates, columns, strict=True)
                )
                lines.append((f"all {self.about.unit}" if name is None else name, *of_slice))
        return Table((Column(title), *columns), tuple(lines))

    def lines(self, *tables: Sequence[str]) -> Iterator[str]:
        """Yield lines for a terminal: the headline, a table of each list of figures, caveats, next steps, left out."""
        yield self.sentence
        for figures in tables:
            if (table := self.table(*figures)).rows:
                yield from text_lines(table)
        yield from (each.text for each in (*self.caveats, *self.next))
        if self.about.left_out:
            yield note(
                "left_out",
                reasons=[f"{LEFT_OUT[why]} ({n:,})" for why, n in self.about.left_out.items()],
            ).text

    def _repr_html_(self) -> str:
        return to_html(
            self.table(), [each.text for each in (self.headline, *self.caveats, *self.next)]
        )


def without_zeros(counts: Mapping[str, int]) -> dict[str, int]:
    """Return the counts above 0, by reason."""
    return {reason: n for reason, n in counts.items() if n}


def frame_of(rows: Iterable[Mapping[str, object]], *first: str) -> "pd.DataFrame":
    """Return a DataFrame with the columns of `Row`; the columns ``first`` stand before."""
    import pandas as pd  # takes two seconds to load

    return pd.DataFrame(list(rows), columns=[*first, *(each.name for each in fields(Row))])

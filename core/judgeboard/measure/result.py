"""What an estimator returns: rows of figures, which answers they count, caveats and next steps as codes."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any

from judgeboard.domain import Estimate
from judgeboard.formats.output import Column, Table, to_html, to_plain
from judgeboard.measure.notes import Note
from judgeboard.measure.words import FIGURES

if TYPE_CHECKING:  # pandas takes two seconds to load
    import pandas as pd

ALL = "all"
"""The slice of all answers that the result counts."""


@dataclass(frozen=True, slots=True)
class Row:
    """A figure of a slice, with its 95 % interval.

    ``n`` counts the answers or labels behind the figure. If ``value`` or the interval is None, ``reason`` says why.
    """

    figure: str
    slice: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    reason: str | None

    @classmethod
    def of(cls, figure: str, slice_: str, estimate: Estimate) -> "Row":
        """Return the row of an estimate."""
        return cls(figure, slice_, estimate.value, estimate.low, estimate.high, estimate.n, estimate.reason)

    @property
    def estimate(self) -> Estimate:
        """The figure without its name."""
        return Estimate(self.value, self.low, self.high, self.n, reason=self.reason)


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """Which judge, people and answers the figures of a result count.

    ``judges`` are titles of judge versions ("rag v3"), ``people`` tells how grades of several people become one,
    ``grade`` is what is compared or counted, ``where`` the filter, and ``by`` the field of the slices. ``counts`` are
    numbers of answers by what happened to them; ``left_out`` are those that the figures do not count, by reason.
    """

    judges: tuple[str, ...] = ()
    people: str | None = None
    grade: str = "label"
    where: Mapping[str, Any] = field(default_factory=dict)
    by: str | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    left_out: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """Figures, with what they count, what limits them, and what to do next. All estimators return a result."""

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
        """The names of the slices, without that of all answers."""
        return [each for each in dict.fromkeys(row.slice for row in self.rows) if each != ALL]

    def figure(self, name: str, slice_: str = ALL) -> Estimate:
        """Return a figure of a slice.

        Raises:
            KeyError: The result has no such figure.
        """
        for row in self.rows:
            if row.figure == name and row.slice == slice_:
                return row.estimate
        raise KeyError(f"{name} of {slice_}")

    @property
    def frame(self) -> "pd.DataFrame":
        """The rows as a DataFrame with the columns of `Row`."""
        import pandas as pd

        return pd.DataFrame([asdict(row) for row in self.rows], columns=[each.name for each in fields(Row)])

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON values: ``about``, ``headline``, ``rows``, ``caveats`` and ``next``."""
        plain: dict[str, Any] = to_plain(self)
        return plain

    def table(self, *figures: str) -> Table:
        """Return a table with a column for each of the ``figures`` (default: all), and their slices as lines."""
        names = figures or tuple(dict.fromkeys(row.figure for row in self.rows))
        estimates = {(row.slice, row.figure): row.estimate for row in self.rows if row.figure in names}
        slices = {name for name, _ in estimates}
        title = (self.about.by or "answers").replace("_", " ").capitalize()
        lines = (
            (name, *(estimates.get((name, each)) for each in names)) for name in (*self.slices, ALL) if name in slices
        )
        return Table((Column(title), *(FIGURES[each] for each in names)), tuple(lines))

    def _repr_html_(self) -> str:
        from html import escape  # it loads all names of characters, which no short command needs

        texts = (self.sentence, *(each.text for each in (*self.caveats, *self.next)))
        return "".join(f"<p>{escape(text)}</p>" for text in texts) + to_html(self.table())

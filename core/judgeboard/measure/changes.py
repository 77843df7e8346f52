"""The changes that detectors found over time, in all answers and in each group, as a result."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from judgeboard.domain import Estimate
from judgeboard.measure.notes import Note, note
from judgeboard.measure.result import ALL, About, Result, Row
from judgeboard.measure.trend_figures import ALL_ANSWERS, Change
from judgeboard.stats.estimates import measured, two_decimals, unmeasured
from judgeboard.store.tables import Alarm
from judgeboard.text import counted

CLEAR = 0.15
"""A group in which a change of this share of the scale would not have been found is too small for "no change"."""
ERRORS = ("sensitivity_before", "sensitivity_since", "specificity_before", "specificity_since")


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure over time with its ``name`` ("the share of bad answers").

    ``kind`` begins the codes of sentences and the names of rows. ``scale`` is the length of the
    figure's scale. Changes of a mean are in the unit of the mean, other changes in points.
    """

    name: str
    kind: Literal["bad", "share", "mean"] = "share"
    scale: float = 1.0

    def size(self, change: float) -> str:
        """Return "15 points" or "0.15"; a mean has at least "0.01"."""
        return (
            two_decimals(max(change, 0.01))
            if self.kind == "mean"
            else counted(math.ceil(change * 100), "point")
        )

    def unchanged(self, smallest: float | None, span: str) -> Note:
        """Return that no change was found in a ``span`` of time. A change of size ``smallest`` would have been."""
        if smallest is None:
            return note("change_unfindable", figure=self.name, span=span)
        code = "no_change" if smallest <= CLEAR * self.scale else "change_unclear"
        return note(code, figure=self.name, span=span, size=self.size(smallest))


class Finding(NamedTuple):
    """The changes that the detectors of a panel found, and the smallest change that the detectors would have found.

    ``seen`` is None if no possible change would have been found. With a ``known`` alarm, which was
    acknowledged, both are of the time since the change of the alarm.
    """

    panel: str
    changes: Sequence[Change] = ()
    seen: float | None = None
    known: Alarm | None = None


def changes_of(findings: Sequence[Finding], figure: Figure, span: str, about: About) -> Result:
    """Return the latest change of each panel: the headline describes all answers, the first finding.

    Rows ``…_before`` and ``…_since`` are the figure before and since the change, ``changed`` is the
    day of the change, and ``detectable`` the smallest change that would have been found.
    """
    whole, rows = findings[0], list[Row]()
    for finding in findings:
        name, change = ALL if finding.panel == ALL_ANSWERS else finding.panel, _latest(finding)
        if change is not None:
            rows += (
                Row.of("changed", name, measured(change.from_day, change.after.n, reason="a day")),
                Row.of(f"{figure.kind}_before", name, change.before),
                Row.of(f"{figure.kind}_since", name, change.after),
            )
        detectable = unmeasured(0, "too few answers")
        if finding.seen is not None:
            detectable = measured(finding.seen, 0, reason="found in 80 % of cases")
        rows.append(
            Row.of("mean_detectable" if figure.kind == "mean" else "detectable", name, detectable)
        )
    headline, change = figure.unchanged(whole.seen, span), _latest(whole)
    if change is not None:
        headline = note(
            f"{figure.kind}_{change.direction}",
            day=change.from_day,
            before=change.before,
            since=change.after,
        )
    alarm_notes = [
        note("acknowledged", alarm=each.known.id, part=each.panel, day=each.known.from_day)
        for each in findings
        if each.known is not None
    ]
    return Result(
        about=about, headline=headline, rows=tuple(rows), caveats=(*alarm_notes, note("detectable"))
    )


def _latest(finding: Finding) -> Change | None:
    return max(finding.changes, key=lambda each: each.from_day, default=None)


def extent(change: Change) -> tuple[float, float]:
    """Return the 95 % interval of the size of a change, by the MOVER; a side without an interval counts as exact."""
    low, high = (
        (change.before, change.after)
        if change.direction == "rose"
        else (change.after, change.before)
    )
    (low_from, low_value, low_to), (high_from, high_value, high_to) = map(
        _ends_or_value, (low, high)
    )
    size = high_value - low_value
    return (
        size - math.hypot(high_value - high_from, low_to - low_value),
        size + math.hypot(high_to - high_value, low_value - low_from),
    )


def _ends_or_value(side: Estimate) -> tuple[float, float, float]:
    """Return the lower end, the value and the upper end; without an interval, the value three times."""
    value = side.value or 0.0
    return (
        (value, value, value)
        if side.low is None or side.high is None
        else (side.low, value, side.high)
    )


@dataclass(frozen=True, slots=True)
class ErrorRates:
    """The judge's sensitivity and specificity in all answers, before and since a change of the judge's error.

    The judge's error also moves with constant rates, if more answers are bad.
    """

    sensitivity: tuple[Estimate, Estimate]
    specificity: tuple[Estimate, Estimate]

    @property
    def have_moved(self) -> bool:
        """Whether the intervals of one rate have no value in common."""
        for before, since in (self.sensitivity, self.specificity):
            if before.value is None or since.value is None:
                continue
            # Without an interval, all labels of the class are judged alike.
            (low, _, high), (low_since, _, high_since) = map(_ends_or_value, (before, since))
            if high < low_since or high_since < low:
                return True
        return False

    def rows(self, name: str | None) -> list[Row]:
        """Return the four figures as rows of a slice."""
        return list(map(Row.of, ERRORS, [name] * 4, (*self.sensitivity, *self.specificity)))

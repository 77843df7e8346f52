"""Measures of answers over time: means of scores, and shares of answers, with their detectors."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sqlalchemy import Connection

from judgeboard.domain import Estimate
from judgeboard.errors import BadInput, NotFound
from judgeboard.flags.rules import FAILED_CHECK
from judgeboard.imports.scales import scale_in
from judgeboard.measure.periods import PERIODS_A_YEAR, Period, PeriodSums, PlausibleDays, start_of
from judgeboard.stats.arrays import TIE, FloatArray, IntArray, grouping, no_floats, no_ints
from judgeboard.stats.intervals import share_intervals
from judgeboard.stats.means import mean_interval
from judgeboard.stats.monitor import (
    DIRECTIONS,
    Direction,
    alarm_limit,
    detect,
    difference_effect,
    found_changes,
    likeliest_start,
    mean_errors,
)
from judgeboard.stats.sample_size import design_effect_of_mean
from judgeboard.store.criteria import Criterion, criteria_by_judge, criteria_of
from judgeboard.store.day_sums import (
    DaySums,
    Groups,
    flagged_sums,
    low_sums,
    newest_values,
    score_sums,
)
from judgeboard.store.filters import MeasureName, RowFilter, ScoreName
from judgeboard.store.judge_versions import get_version
from judgeboard.store.label_schemas import list_schemas
from judgeboard.store.own_labels import OwnLabel, own_label_sums, own_label_values
from judgeboard.store.settings import primary_judge

if TYPE_CHECKING:
    from judgeboard.formats.label_schema import SchemaField

ALL_ANSWERS = "All answers"
"""The name of the panel of all answers, which comes before the panels of groups."""


def alarm_limits(panels: Iterable[str], period: Period) -> dict[str, float]:
    """Return the evidence at which the detectors of each panel find a change.

    All answers have one false alarm a year on average, and all groups together have one. So a fine
    division into groups does not hide a change of the whole.
    """
    names = list(panels)
    groups = sum(name != ALL_ANSWERS for name in names)
    return {
        name: alarm_limit(1 if name == ALL_ANSWERS else groups, PERIODS_A_YEAR[period])
        for name in names
    }


class GroupedValues:
    """Values of answers with their days and evidence groups, for the effects of the groups.

    An effect is how many times larger a variance is by evidence group than by answer, at least 1.
    Days are UTC days.
    """

    def __init__(self, days: IntArray, values: FloatArray, evidence_groups: IntArray) -> None:
        """Every answer has a day; the arrays have one entry per answer."""
        self._days, self._values = days, values
        self._groups = grouping(evidence_groups, len(values))

    def period_effect(self, period: Period) -> float:
        """Return the effect on the figure of a period, pooled over the periods."""
        periods, _, apart = self._by_period(period)
        # Here the same group in two periods counts as two.
        within = grouping(periods * self._groups.count + self._groups.codes, len(apart)).sums(apart)
        squares = float(apart @ apart)
        return max(1.0, float(within @ within) / squares) if squares > TIE else 1.0

    def change_effect(self, period: Period) -> float:
        """Return the effect on the difference of a period's figure from the periods before (`difference_effect`)."""
        periods, counts, apart = self._by_period(period)
        return difference_effect(apart / counts[periods], periods, self._groups, counts)

    def window_effect(self, first: float = -math.inf, end: float = math.inf) -> float:
        """Return the effect on the figure of all days from ``first`` to before ``end``.

        Only the newest answers are read. A window before the newest answers has the effect of all
        answers read.
        """
        inside = (first <= self._days) & (self._days < end)
        if not inside.any():
            inside[:] = True
        return design_effect_of_mean(self._values[inside], self._groups.at(inside))

    def _by_period(self, period: Period) -> tuple[IntArray, FloatArray, FloatArray]:
        """Return the position of each answer's period, the answers of each period, and deviations from the mean."""
        _, periods, counts = np.unique(
            start_of(self._days, period), return_inverse=True, return_counts=True
        )
        means = np.bincount(periods, weights=self._values) / counts
        return periods, counts.astype(np.float64), self._values - means[periods]


@dataclass(frozen=True, slots=True)
class Change:
    """A change that a detector found, dated to the period that starts on ``from_day``.

    The detector's evidence reached the limit in the period that starts on ``seen_day``. ``before``
    and ``after`` are the figure before the change and since then.
    """

    direction: Direction
    from_day: int
    seen_day: int
    evidence: float
    before: Estimate
    after: Estimate


class Asked(NamedTuple):
    """The request for a trend; ``judge`` is a name (current verdicts), a version's id, or None if nothing is judged."""

    connection: Connection
    judge: str | int | None
    threshold: float
    groups: Groups = None


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure: a mean within ``bounds``, or a share if ``bounds`` is None.

    ``counts`` are the words for what n counts. With ``of_judge``, n counts verdicts with a
    ``score``; otherwise n counts all logged answers. A share of flagged answers may count one
    ``rule`` only. With an ``own_label``, n counts the logged answers that people labelled in this
    field.
    """

    title: str
    counts: str
    sums: Callable[[Asked], list[DaySums]]
    bounds: tuple[float, float] | None = None
    worse_when_higher: bool = False
    of_judge: bool = True
    score: ScoreName | Criterion = "groundedness"
    rule: str | None = None
    own_label: OwnLabel | None = None

    @property
    def is_share(self) -> bool:
        """Whether the figure is a share of answers, not the mean of a score."""
        return self.bounds is None

    @property
    def name(self) -> str:
        """The title within a sentence: "groundedness", "share flagged"."""
        return f"{self.title[0].lower()}{self.title[1:]}"

    @property
    def words(self) -> str:
        """The figure within a sentence: "mean groundedness", "share flagged", "mean score for completeness"."""
        if isinstance(self.score, Criterion):
            return criterion_words(self.title)
        return self.name if self.is_share else f"mean {self.name}"

    def estimates(self, sums: PeriodSums, design_effect: float) -> tuple[Estimate, ...]:
        """Return one estimate per period: Student's t for a mean, Wilson for a share."""
        if self.bounds is None:
            return share_intervals([round(hits) for hits in sums.total], sums.n, design_effect)
        bounds, squares = self.bounds, sums.squares
        return mean_interval(
            sums.n, sums.total, squares, bounds=bounds, design_effect=design_effect
        )

    @property
    def span(self) -> float:
        """The length of the scale."""
        low, high = self.bounds or (0.0, 1.0)
        return high - low

    def largest_change(self, sums: PeriodSums) -> float:
        """Return the largest change that the scale allows from the figure of all periods."""
        low, high = self.bounds or (0.0, 1.0)
        mean = sum(sums.total) / max(sum(sums.n), 1)
        return max(mean - low, high - mean)

    def errors(self, sums: PeriodSums, change_effect: float) -> FloatArray:
        """Return the standard error of each period for tests."""
        if not sums.n:
            return no_floats()
        return mean_errors(
            sums.n, sums.total, sums.squares, self.bounds or (0.0, 1.0), change_effect
        )

    def change(
        self, sums: PeriodSums, values: GroupedValues, errors: FloatArray, limit: float
    ) -> Change | None:
        """Return the change that a detector found: the rise or the fall, whichever has more evidence.

        ``values`` of the answers give the intervals of the figure before and since the change.
        """
        if not sums.n:
            return None
        means = [total / n for n, total in zip(sums.n, sums.total, strict=True)]
        rates = list(zip(means, errors.tolist(), strict=True))
        changes = found_changes(
            {direction: detect(rates, direction) for direction in DIRECTIONS}, limit
        )
        if not changes:
            return None
        clearest = max(changes, key=lambda each: each.evidence)
        start = likeliest_start(rates, clearest)
        from_day = sums.starts[start]
        (before,) = self.estimates(sums.whole(0, start), values.window_effect(end=from_day))
        (after,) = self.estimates(
            sums.whole(start, len(sums.n)), values.window_effect(first=from_day)
        )
        return Change(
            clearest.direction,
            from_day,
            sums.starts[clearest.seen],
            clearest.evidence,
            before,
            after,
        )

    def values(self, request: Asked, days: PlausibleDays) -> Callable[[str], GroupedValues]:
        """Return a function that gives the newest values of a panel, of these UTC days."""
        if self.own_label is not None:
            newest = own_label_values(request.connection, self.own_label, request.groups)
        elif request.judge is None:
            return lambda _panel: GroupedValues(no_ints(), no_floats(), no_ints())
        else:
            threshold = request.threshold if self.of_judge and self.is_share else None
            score = self.score if self.of_judge else None
            newest = newest_values(
                request.connection, request.judge, score, threshold, self.rule, request.groups
            )
        rows = newest.at((newest.days >= days.first) & (newest.days <= days.last))

        def of_panel(panel: str) -> GroupedValues:
            values = rows if panel == ALL_ANSWERS else rows.at(rows.names.equal(panel))
            return GroupedValues(values.days, values.values, values.evidence_groups)

        return of_panel

    def rows(self, judge: str | int | None) -> RowFilter:
        """Return the filter of the answers that the measure counts; for a criterion, all answers of the judge."""
        if self.own_label is not None:
            return RowFilter(own_labels=(self.own_label.field,))
        fields = {} if isinstance(self.score, Criterion) else _SCORED[self.score]
        return RowFilter(**(fields | of_judge(judge) if self.of_judge else {}))


_SCORED: Mapping[ScoreName, dict[str, Any]] = {
    "groundedness": {"min_score": 0.0, "max_score": 1.0},
    "quality": {"min_quality": 1, "max_quality": 4},
}
"""The filter of the answers that have a score."""


def of_judge(judge: str | int | None) -> dict[str, Any]:
    """Return the fields of a filter that select the verdicts of a judge, by name, or of a version, by id."""
    return {"judge_version": judge} if isinstance(judge, int) else {"judge": judge}


def _scores(score: ScoreName | Criterion) -> Callable[[Asked], list[DaySums]]:
    return lambda request: (
        []
        if request.judge is None
        else score_sums(request.connection, request.judge, score, request.groups)
    )


MEASURES: dict[MeasureName, Measure] = {
    "groundedness": Measure(
        "Groundedness", "answers judged", _scores("groundedness"), bounds=(0.0, 1.0)
    ),
    "quality": Measure(
        "Quality", "answers judged", _scores("quality"), bounds=(1.0, 4.0), score="quality"
    ),
    "low_share": Measure(
        "Share of low groundedness",
        "answers judged",
        lambda request: (
            []
            if request.judge is None
            else low_sums(request.connection, request.judge, request.threshold, request.groups)
        ),
        worse_when_higher=True,
    ),
    "flagged_share": Measure(
        "Share flagged",
        "answers, judged or not",
        lambda request: flagged_sums(request.connection, request.groups),
        worse_when_higher=True,
        of_judge=False,
    ),
    "failed_check_share": Measure(
        "Share failing a check",
        "answers, judged or not",
        lambda request: flagged_sums(request.connection, request.groups, FAILED_CHECK),
        worse_when_higher=True,
        of_judge=False,
        rule=FAILED_CHECK,
    ),
}


def criterion_words(name: str) -> str:
    """Return the words for the figure of a criterion, which alert rules know by name only."""
    return f"mean score for {name}"


def measure_of(
    name: MeasureName | None, criterion: Criterion | None, own_label: OwnLabel | None = None
) -> Measure:
    """Return the measure of an own label or of a criterion of a rubric judge; without one, the measure with this name.

    The default of the name is groundedness.
    """
    if own_label is not None:
        ends = own_label.low, own_label.high
        return Measure(
            f"Share of {own_label.name}" if own_label.value is not None else own_label.name,
            "answers labelled",
            lambda request: own_label_sums(request.connection, own_label, request.groups),
            bounds=None if ends[0] is None or ends[1] is None else (ends[0], ends[1]),
            of_judge=False,
            own_label=own_label,
        )
    if criterion is None:
        return MEASURES[name or "groundedness"]
    scale = scale_in("scale", criterion.scale)
    bounds = (scale.low, scale.high)
    return Measure(
        criterion.name, "answers judged", _scores(criterion), bounds=bounds, score=criterion
    )


def find_own_label(connection: Connection, text: str) -> OwnLabel:
    """Return the figure of an own label: ``tone`` is the mean of a scale, ``verdict=fix`` the share of a value.

    The newest version of a schema with the field counts. Raises NotFound without such a field, and
    BadInput if the field has no such value, or no mean.
    """
    name, _, value = (part.strip() for part in text.partition("="))
    fields = _own_fields(connection)
    field = fields.get(name)
    if field is None:
        names = ", ".join(fields) or "none"
        raise NotFound(f"no label schema has the field {name!r}; known: {names}")
    values = _named_values(field)
    if value and value not in values:
        raise BadInput(
            f"{name}: no value {value!r}; its values are {', '.join(values) or 'not listed'}"
        )
    if value:
        return OwnLabel(name, values[value])
    ends = _ends(field)
    if ends is not None:
        return OwnLabel(name, None, *ends)
    next_step = (
        f"name one of its values: {name}={next(iter(values))}"
        if values
        else "give it a low and a high end"
    )
    raise BadInput(f"{name} has no mean: {next_step}")


def own_label_figures(connection: Connection) -> list[str]:
    """Return the names that `find_own_label` accepts: the means, then the shares."""
    fields = _own_fields(connection).values()
    means = [field.name for field in fields if _ends(field) is not None]
    return [
        *means,
        *(f"{field.name}={value}" for field in fields for value in _named_values(field)),
    ]


def _own_fields(connection: Connection) -> "dict[str, SchemaField]":
    return {
        field.name: field
        for schema in reversed(list_schemas(connection))
        for field in schema.content.own
    }


def _named_values(field: "SchemaField") -> dict[str, Any]:
    """Return the values of a field by name; a field of spans has types of spans in place of values."""
    if field.type.value == "spans":
        return {}
    return {
        ("no", "yes")[each] if isinstance(each, bool) else str(each): each for each in field.values
    }


def _ends(field: "SchemaField") -> tuple[float, float] | None:
    """Return the ends of a field's numbers; None for a field without numbers or with an open end."""
    if field.levels:
        return float(field.values[0]), float(field.values[-1])
    return None if field.low is None or field.high is None else (field.low, field.high)


def find_criterion(
    connection: Connection, name: str, judge: str | int | None = None
) -> tuple[str | int, Criterion]:
    """Return a judge and its criterion with this name.

    ``judge`` is a name, a version's id, or None. None means the primary judge if this judge has the
    criterion, otherwise the only judge with the criterion. Raises NotFound without such a
    criterion, and BadInput if several judges have one.
    """
    if isinstance(judge, int):
        version = get_version(connection, judge)
        criteria = {each.name: each for each in criteria_of(connection, version)}
        if name not in criteria:
            raise NotFound(
                f"{version.title} does not have the criterion {name!r}; known: {', '.join(criteria) or 'none'}"
            )
        return judge, criteria[name]
    by_judge = criteria_by_judge(connection)
    judges = [each for each, criteria in by_judge.items() if name in criteria]
    primary = primary_judge(connection)
    if judge is None and len(judges) > 1 and primary not in judges:
        raise BadInput(
            f"several judges have the criterion {name!r}: choose one of {', '.join(judges)}"
        )
    if judge is None and judges:
        judge = primary if primary in judges else judges[0]
    if judge is None or name not in by_judge.get(judge, {}):
        names = sorted(
            {
                each
                for whose, criterion_names in by_judge.items()
                if judge in {None, whose}
                for each in criterion_names
            }
        )
        whose = "no judge has" if judge is None else f"the judge {judge} does not have"
        raise NotFound(f"{whose} the criterion {name!r}; known: {', '.join(names) or 'none'}")
    return judge, by_judge[judge][name]

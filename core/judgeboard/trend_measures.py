"""What a trend can show: where each measure's sums come from, and how they become estimates."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from sqlalchemy import Connection

from judgeboard.domain import Estimate
from judgeboard.filters import RowFilter, ScoreName
from judgeboard.stats.means import mean_interval
from judgeboard.stats.moved import Move, moved, share_moved
from judgeboard.stats.proportions import share_intervals
from judgeboard.store.figures.trend_sums import DaySums, flagged_sums, low_sums, score_sums
from judgeboard.trend_periods import PeriodSums

MeasureName = Literal["groundedness", "quality", "low_share", "flagged_share"]


class Asked(NamedTuple):
    """Of whom a trend is asked: a judge's name (its current verdicts), a version's id, or nobody has judged."""

    connection: Connection
    judge: str | int | None
    threshold: float


@dataclass(frozen=True, slots=True)
class Measure:
    """One thing to show: a mean within ``bounds``, or a share where they are None.

    ``counts`` says what n counts. ``scored`` narrows a filter to the answers that have a value; where the measure is
    not ``of_judge``, every logged answer counts. ``score`` is what a verdict needs to count.
    """

    title: str
    counts: str
    sums: Callable[[Asked], list[DaySums]]
    bounds: tuple[float, float] | None = None
    worse_when_higher: bool = False
    scored: Mapping[str, Any] = field(default_factory=dict)
    of_judge: bool = True
    has_threshold: bool = False
    score: ScoreName = "groundedness"

    def estimates(self, sums: PeriodSums) -> tuple[Estimate, ...]:
        """Return one estimate per period: Student's t for a mean, Wilson for a share."""
        if self.bounds is None:
            return share_intervals([round(hits) for hits in sums.total], sums.n)
        return mean_interval(sums.n, sums.total, sums.squares, bounds=self.bounds)

    def move(self, filled: PeriodSums) -> Move | None:
        """Return where the measure moved beyond its intervals; ``filled`` has a row for every period."""
        if self.bounds is None:
            return share_moved(filled.total, filled.n)
        return moved(filled.n, filled.total, filled.squares, bounds=self.bounds)

    def rows(self, judge: str | int | None, **narrowed: Any) -> RowFilter:
        """Return the filter that opens the answers which the measure counts."""
        whose = {"judge_version": judge} if isinstance(judge, int) else {"judge": judge}
        return RowFilter(**(dict(self.scored) | whose if self.of_judge else {}), **narrowed)


def _scores(score: ScoreName) -> Callable[[Asked], list[DaySums]]:
    return lambda asked: [] if asked.judge is None else score_sums(asked.connection, asked.judge, score)


def _low(asked: Asked) -> list[DaySums]:
    return [] if asked.judge is None else low_sums(asked.connection, asked.judge, asked.threshold)


MEASURES: dict[MeasureName, Measure] = {
    "groundedness": Measure(
        "Groundedness",
        "answers judged",
        _scores("groundedness"),
        bounds=(0.0, 1.0),
        scored={"min_score": 0.0, "max_score": 1.0},
        has_threshold=True,
    ),
    "quality": Measure(
        "Quality",
        "answers judged",
        _scores("quality"),
        bounds=(1.0, 4.0),
        scored={"min_quality": 1, "max_quality": 4},
        score="quality",
    ),
    "low_share": Measure(
        "Share of low groundedness",
        "answers judged",
        _low,
        worse_when_higher=True,
        scored={"min_score": 0.0, "max_score": 1.0},
        has_threshold=True,
    ),
    "flagged_share": Measure(
        "Share flagged",
        "answers, judged or not",
        lambda asked: flagged_sums(asked.connection),
        worse_when_higher=True,
        of_judge=False,
    ),
}

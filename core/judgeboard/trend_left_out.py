"""The answers that a trend does not draw, with the reason: no verdict, no score in it, no time."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from sqlalchemy import Connection

from judgeboard.filters import RowFilter
from judgeboard.store.figures.totals import count_responses
from judgeboard.store.figures.trend_sums import DaySums
from judgeboard.trend_measures import Measure

Reason = Literal["no_verdict", "no_score", "no_time"]


@dataclass(frozen=True, slots=True)
class LeftOut:
    """``n`` logged answers that no point counts; each answer is named once, with the first reason that holds.

    ``where`` opens them.
    """

    reason: Reason
    n: int
    words: str
    where: RowFilter


def left_out(
    connection: Connection, measure: Measure, judge: str | int | None, sums: Iterable[DaySums]
) -> tuple[LeftOut, ...]:
    """Return what a measure leaves out of the whole log, reasons without an answer left out in their turn.

    Args:
        connection: An open transaction.
        measure: What is drawn.
        judge: Whose verdicts, by name or version id.
        sums: All that was added up for it.
    """
    every = list(sums)
    timeless = sum(row.n for row in every if row.day is None)
    found = [LeftOut("no_time", timeless, f"{timeless:,} without a time", measure.rows(judge, no_time=True))]
    if measure.of_judge and judge is not None:
        unscored = sum(row.unscored for row in every)
        unjudged = count_responses(connection) - sum(row.n + row.unscored for row in every)
        whose = {"judge_version": judge} if isinstance(judge, int) else {"judge": judge}
        no_score, no_verdict = RowFilter(**whose, unscored=measure.score), RowFilter(**whose, judge_side="none")
        found += [
            LeftOut("no_score", unscored, f"{unscored:,} without a {measure.score}", no_score),
            LeftOut("no_verdict", unjudged, f"{unjudged:,} without a usable verdict", no_verdict),
        ]
    return tuple(each for each in found if each.n > 0)

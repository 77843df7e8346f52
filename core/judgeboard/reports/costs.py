"""The cost of the calls of runs, by week, purpose and judge version."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection

from judgeboard.formats.output import Column, Columns, Table
from judgeboard.measure.notes import Note, note
from judgeboard.store.judge_versions import version_titles
from judgeboard.store.runs import run_counts, runs_since
from judgeboard.text import money, utc_day

WEEKS = 13
"""The number of weeks that `costs` returns by default: a quarter of a year."""

_NO_VERSION = "–"


@dataclass(frozen=True, slots=True)
class CostLine:
    """The calls of the runs with one purpose (their kind, such as "judge") and judge version.

    ``by_week`` are the known costs in millionths of a dollar, the oldest week first. ``unpriced``
    calls have no known cost.
    """

    purpose: str
    judge: str
    calls: int
    unpriced: int
    by_week: tuple[int, ...]

    @property
    def cost_micro(self) -> int | None:
        """The known cost; None if no call has a known cost."""
        return sum(self.by_week) if self.calls > self.unpriced else None


@dataclass(frozen=True, slots=True)
class Costs:
    """The costs of ``weeks``, which begin on Mondays (UTC); the most expensive line is the first."""

    weeks: tuple[datetime, ...]
    lines: tuple[CostLine, ...]

    @property
    def total(self) -> CostLine:
        """The sum of all lines."""
        return CostLine(
            "all",
            "all",
            sum(line.calls for line in self.lines),
            sum(line.unpriced for line in self.lines),
            tuple(
                sum(line.by_week[place] for line in self.lines) for place in range(len(self.weeks))
            ),
        )


def costs(connection: Connection, now: datetime, weeks: int = WEEKS) -> Costs:
    """Return the costs of the runs that started in the last ``weeks``, this one included.

    All calls of a run count in the week in which the run started. Imported verdicts do not count:
    other programs made these calls.
    """
    monday = now.replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=now.weekday())
    starts = tuple(monday - timedelta(weeks=place) for place in reversed(range(weeks)))
    runs = runs_since(connection, starts[0])
    counts = run_counts(connection, [run.id for run in runs])
    titles = version_titles(connection)
    sums: dict[tuple[str, str], CostLine] = {}
    for run in runs:
        of_run = counts[run.id]
        key = (run.kind, titles.get(run.judge_version_id or 0, _NO_VERSION))
        line = sums.get(key, CostLine(*key, 0, 0, (0,) * weeks))
        week = min((run.started_at - starts[0]).days // 7, weeks - 1)
        by_week = [*line.by_week]
        by_week[week] += of_run.cost_micro or 0
        sums[key] = CostLine(
            *key, line.calls + of_run.asked, line.unpriced + of_run.unpriced, tuple(by_week)
        )
    lines = (line for line in sums.values() if line.calls)
    return Costs(
        starts,
        tuple(sorted(lines, key=lambda line: (-(line.cost_micro or 0), line.purpose, line.judge))),
    )


def costs_notes(all_costs: Costs) -> Iterator[Note]:
    """Yield the cost of the calls of all weeks, and how many calls have no known cost."""
    total, day = all_costs.total, utc_day(all_costs.weeks[0])
    if not total.calls:
        yield note("no_calls", day=day)
    elif total.cost_micro is None:
        yield note("calls_unpriced", calls=total.calls, day=day)
    else:
        yield note("calls_cost", calls=total.calls, day=day, cost=money(total.cost_micro))
        if total.unpriced:
            yield note("calls_left_out", calls=total.unpriced)


def costs_table(lines: Sequence[CostLine]) -> Table:
    """Return one row per purpose and judge version."""
    columns: Columns[CostLine] = {
        Column("Purpose", width=95): lambda line: line.purpose,
        Column("Judge version", width=150): lambda line: line.judge,
        Column("Calls", "count", width=65): lambda line: line.calls,
        Column("Cost", width=80, right=True): lambda line: money(line.cost_micro),
        Column(
            "Unknown cost", "count", width=105, help="Calls of models without a price"
        ): lambda line: line.unpriced,
        Column("This week", width=82, right=True): lambda line: (
            money(line.by_week[-1]) if line.cost_micro is not None else None
        ),
        Column("Last week", width=82, right=True): lambda line: (
            money(line.by_week[-2])
            if line.cost_micro is not None and len(line.by_week) > 1
            else None
        ),
    }
    return Table.of(lines, columns)

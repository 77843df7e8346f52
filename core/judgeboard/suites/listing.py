"""Runs of suites at a glance: each with its average."""

from dataclasses import dataclass
from typing import Any

from judgeboard.domain import Estimate
from judgeboard.stats.estimates import as_json
from judgeboard.stats.means import mean_interval
from judgeboard.store.engine import Readable
from judgeboard.store.suites.suite_rows import StoredSuiteRun, list_suite_runs, suite_averages


@dataclass(frozen=True, slots=True)
class ListedRun:
    """A suite run with the mean overall score of its measured cases."""

    run: StoredSuiteRun
    average: Estimate

    @property
    def total_cases(self) -> int:
        """How many cases its suite has."""
        return len(self.run.spec["cases"])

    @property
    def measured(self) -> int:
        """How many of them have a score."""
        return self.average.n

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "run": self.run.run_id,
            "suite": self.run.name,
            "candidate": self.run.candidate,
            "judge": self.run.judge,
            "state": self.run.state.value,
            "at": self.run.created_at.isoformat(),
            "total_cases": self.total_cases,
            "measured": self.measured,
            "unmeasured": self.total_cases - self.measured,
            "average_score": as_json(self.average),
        }


def list_results(store: Readable, name: str | None = None, *, limit: int = 200) -> list[ListedRun]:
    """Return suite runs, newest first, of one suite where it is named."""
    with store.reading() as connection:
        runs = list_suite_runs(connection, name, limit=limit)
        sums = suite_averages(connection, [run.id for run in runs])
    columns = [sums.get(run.id, (0, 0.0, 0.0)) for run in runs]
    if not runs:
        return []
    n, total, squares = (list(column) for column in zip(*columns, strict=True))
    means = mean_interval(n, total, squares, bounds=(1.0, 5.0))
    return [ListedRun(run, mean) for run, mean in zip(runs, means, strict=True)]

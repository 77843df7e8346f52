"""The prepared judging of the command `judge`, for the method of an option."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from judgeboard.cli import options
from judgeboard.cli.asking import at_last_address, run_options, warned
from judgeboard.store.filters import RowFilter

if TYPE_CHECKING:
    from judgeboard.judges.judge import Judge
    from judgeboard.runs.judging import JudgingSummary
    from judgeboard.store.engine import Store


KEEP = "To keep these flags open, use `--rejudge keep-flags`."


@dataclass(frozen=True, slots=True)
class Judging:
    """What the command `judge` was told to do.

    ``asked`` describes the judge; ``rejudge`` is a mode of `judge_pending`. ``warnings`` are shown
    at the end. ``options`` are the names of all options of methods that were typed.
    """

    store: "Store"
    named: str | None
    number: int | None
    kind: str
    asked: dict[str, object]
    where: RowFilter
    limit: int | None
    rejudge: str | None
    max_cost: float | None
    options: tuple[str, ...]
    warnings: dict[str, list[str]]

    def make_judges(self, described: Sequence[dict[str, object]], *combined: str) -> list["Judge"]:
        """Return the judges, each at the address of the last run; ``combined`` are the names of combined verdicts.

        Raises BadInput if the primary judge would be none of these judges.
        """
        from judgeboard.runs.judging import make_judge
        from judgeboard.store.settings import check_primary_judge

        make = partial(make_judge, self.kind)
        judges = [make(**at_last_address(self.store, make, each)) for each in described]
        with self.store.reading() as connection:
            check_primary_judge(connection, *(each.version.name for each in judges), *combined)
        return judges

    def ask(
        self,
        judge: "Judge",
        max_cost: float | None,
        run: "Callable[..., JudgingSummary] | None" = None,
    ) -> "JudgingSummary":
        """Let a judge judge, and return the summary; ``run`` takes the options of `judge_pending` (the default)."""
        from judgeboard.health.family import run_warning
        from judgeboard.runs.estimates import flag_words
        from judgeboard.runs.jobs import flags_at_stake
        from judgeboard.runs.judging import judge_pending

        flags = flag_words(
            flags_at_stake(self.store, judge.version, self.where, self.rejudge or "plain")
        )
        if flags and run is None:
            options.echo(f"{flags} {KEEP}", err=True)
        begin = run or partial(judge_pending, mode=self.rejudge or "plain")
        with run_options(self.asked, max_cost) as how:
            summary = begin(self.store, judge, where=self.where, limit=self.limit, **how)
        self.warnings["warnings"] += warned(
            [run_warning(self.store, judge.version.model, summary.run_id)]
        )["warnings"]
        return summary

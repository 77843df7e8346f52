"""What a run of judging has come to."""

from dataclasses import dataclass
from typing import Any

from judgeboard.ask_counts import AskCounts
from judgeboard.domain import RunState
from judgeboard.store.engine import Store
from judgeboard.store.runs.runs import get_run, run_counts


@dataclass(frozen=True, slots=True)
class JudgingSummary(AskCounts):
    """What a run has come to, earlier parts of a continued run included; ``run_id`` None where nothing was to ask.

    not_reached = selected - asked. ``cost_micro`` is in millionths, None where any call's cost is unknown.
    """

    run_id: int | None
    judge: str
    state: RunState
    why_stopped: str | None
    selected: int
    cost_micro: int | None

    @property
    def not_reached(self) -> int:
        """Selected responses that nobody was asked about."""
        return max(0, self.selected - self.asked)

    def as_json(self) -> dict[str, Any]:
        """Return the counts as JSON values; ``cost`` is in the price file's currency, null where unknown."""
        return {
            "judge": self.judge,
            "run": self.run_id,
            "selected": self.selected,
            "asked": self.asked,
            **self.by_status,
            "not_reached": self.not_reached,
            "cost": None if self.cost_micro is None else self.cost_micro / 1_000_000,
            "state": self.state.value,
            "why_stopped": self.why_stopped,
        }


def nothing_to_ask(judge: str) -> JudgingSummary:
    """Return the summary of a selection in which nothing is left to ask."""
    return JudgingSummary(None, judge, RunState.DONE, None, selected=0, cost_micro=0)


def summary_of(
    store: Store, run_id: int, *, state: RunState | None = None, why_stopped: str | None = None
) -> JudgingSummary:
    """Return what a run has come to so far, from the store."""
    with store.reading() as connection:
        run = get_run(connection, run_id)
        counts = run_counts(connection, [run_id])[run_id]
    return JudgingSummary(
        run_id=run_id,
        judge=run.version_title or "",
        state=state or run.state,
        why_stopped=why_stopped if state else run.why_stopped,
        selected=run.selected or 0,
        cost_micro=None if counts.unpriced else counts.cost_micro or 0,
        **counts.by_status,
    )

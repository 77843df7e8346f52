"""What a run of any method has come to, in the counts that every ``--json`` gives."""

from dataclasses import dataclass

from judgeboard.ask_counts import AskCounts
from judgeboard.domain import RunState
from judgeboard.runner import INTERRUPTED, Ended
from judgeboard.store.engine import Readable
from judgeboard.store.runs.runs import get_run, run_counts

DONE, SOME_FAILED, STOPPED, CTRL_C = 0, 1, 2, 130


@dataclass(frozen=True, slots=True, kw_only=True)
class RunAccount(AskCounts):
    """The steps of a run, earlier parts of a continued one included; not_reached is what it did not get to.

    ``run_id`` is None where nothing was to ask or a recording was read. ``cost`` is in the price file's currency, None
    where any call's cost is unknown.
    """

    run_id: int | None = None
    not_reached: int = 0
    cost: float | None = 0.0
    state: RunState = RunState.DONE
    why_stopped: str | None = None

    @property
    def cost_micro(self) -> int | None:
        """The cost in millionths."""
        return None if self.cost is None else round(self.cost * 1_000_000)

    @property
    def exit_code(self) -> int:
        """0 done, 1 some are errors, 2 stopped, 130 Ctrl-C: as every command that asks."""
        if self.state is RunState.INTERRUPTED or self.why_stopped == INTERRUPTED:
            return CTRL_C
        if self.state is RunState.STOPPED:
            return STOPPED
        return SOME_FAILED if self.error else DONE


def account_of(
    store: Readable, run_id: int, ended: Ended | None = None, *, not_reached: int | None = None
) -> RunAccount:
    """Return what a run has come to, its earlier parts included.

    Args:
        store: Where it is.
        run_id: Which run.
        ended: How it ended just now; the stored state by default.
        not_reached: Items that it did not get to; by default selected less asked, for methods that know their steps.
    """
    with store.reading() as connection:
        run = get_run(connection, run_id)
        counts = run_counts(connection, [run_id])[run_id]
    return RunAccount(
        run_id=run_id,
        not_reached=max(0, (run.selected or 0) - counts.asked) if not_reached is None else not_reached,
        cost=None if counts.unpriced else (counts.cost_micro or 0) / 1_000_000,
        state=ended.state if ended else run.state,
        why_stopped=ended.why_stopped if ended else run.why_stopped,
        **counts.by_status,
    )

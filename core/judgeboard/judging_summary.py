"""What a run of judging has come to."""

from dataclasses import dataclass
from typing import Any

from judgeboard.run_account import RunAccount, account_of
from judgeboard.step_run import Ended
from judgeboard.store.engine import Store
from judgeboard.store.runs.runs import StoredRun


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgingSummary(RunAccount):
    """The account of a run that asks a judge once about each answer, or repeat of one; not_reached = selected - asked.

    ``judge`` is the title of the judge version. ``run_id`` is None where nothing was to ask.
    """

    judge: str
    selected: int = 0

    def as_json(self) -> dict[str, Any]:
        """Return the counts as JSON values; ``cost`` is in the price file's currency, null where unknown."""
        return {"judge": self.judge, "selected": self.selected, **RunAccount.as_json(self)}


def summary_of(store: Store, run: StoredRun, ended: Ended) -> JudgingSummary:
    """Return what a run has come to so far, from the store."""
    account = account_of(store, run.id, ended)
    fields = {name: getattr(account, name) for name in RunAccount.__dataclass_fields__}
    return JudgingSummary(judge=run.version_title or "", selected=run.selected or 0, **fields)

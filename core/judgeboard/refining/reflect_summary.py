"""What a run of self-reflection has come to."""

from dataclasses import dataclass, field
from typing import Any

from judgeboard.refining.reflection import Outcome
from judgeboard.run_account import RunAccount, account_of
from judgeboard.step_run import Ended
from judgeboard.store.engine import Store
from judgeboard.store.refine_candidates import ReflectSelection, count_no_messages, count_waiting
from judgeboard.store.refinements import count_calls, outcome_counts


@dataclass(frozen=True, slots=True)
class ReflectSummary:
    """What a run of self-reflection has come to.

    eligible = no_messages + identical + no_answer + regenerated + those not reached; regenerated = kept_new +
    kept_original; second_failed are those of kept_original whose second judgment was not usable. ``calls`` counts
    requests to models, repairs and retries among them.
    """

    judge: str
    account: RunAccount = field(default_factory=RunAccount)
    eligible: int = 0
    no_messages: int = 0
    identical: int = 0
    no_answer: int = 0
    regenerated: int = 0
    kept_new: int = 0
    kept_original: int = 0
    second_failed: int = 0
    calls: int = 0

    def as_json(self) -> dict[str, Any]:
        """Return all counts as JSON values; ``cost`` is in the price file's currency."""
        own = {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "account"}
        return own | self.account.as_json()


def reflect_summary(store: Store, judge: str, selection: ReflectSelection, run_id: int, ended: Ended) -> ReflectSummary:
    """Return what a run has come to, its earlier parts included."""
    with store.reading() as connection:
        outcomes = outcome_counts(connection, run_id)
        without = count_no_messages(connection, selection)
        left, known = count_waiting(connection, selection), count_waiting(connection, selection, judged=True)
        calls = count_calls(connection, run_id)
    kept_original = outcomes[Outcome.KEPT_ORIGINAL] + outcomes[Outcome.SECOND_FAILED]
    return ReflectSummary(
        judge=judge,
        account=account_of(store, run_id, ended, not_reached=left),
        eligible=without + outcomes.total() + known,
        no_messages=without,
        identical=outcomes[Outcome.IDENTICAL],
        no_answer=outcomes[Outcome.NO_ANSWER],
        regenerated=outcomes[Outcome.KEPT_NEW] + kept_original,
        kept_new=outcomes[Outcome.KEPT_NEW],
        kept_original=kept_original,
        second_failed=outcomes[Outcome.SECOND_FAILED],
        calls=calls,
    )

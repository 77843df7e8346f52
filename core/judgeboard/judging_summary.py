"""The summary of a run, for methods that do not go through `judgeboard.method` yet."""

from judgeboard.judging import JudgingSummary
from judgeboard.run_account import account_of
from judgeboard.runner import Ended
from judgeboard.store.engine import Store
from judgeboard.store.judgments.judge_versions import get_version
from judgeboard.store.runs.runs import StoredRun

__all__ = ["JudgingSummary", "summary_of"]


def summary_of(store: Store, run: StoredRun, ended: Ended) -> JudgingSummary:
    """Return what a run has come to so far, from the store."""
    with store.reading() as connection:
        version = get_version(connection, run.version_id or 0)
    return JudgingSummary.of(version, run, account_of(store, run.id, ended))

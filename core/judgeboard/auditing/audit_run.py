"""The stored run of an audit: what fixes it, so that the same command goes on where an earlier one ended."""

from collections.abc import Callable

from sqlalchemy import Connection

from judgeboard.auditing.sample import AuditSample
from judgeboard.domain import JudgeVersion
from judgeboard.judge_kinds import AUDIT
from judgeboard.step_run import RunOptions
from judgeboard.store.judgments.judge_versions import StoredVersion, ensure_version
from judgeboard.store.responses.response_frontier import last_logged_id
from judgeboard.store.runs.method_runs import start_or_continue_method_run
from judgeboard.store.runs.runs import StoredRun, keep_if_selected


def start_audit(
    connection: Connection,
    supreme: JudgeVersion,
    audited: StoredVersion,
    sample: AuditSample,
    how: RunOptions,
    waiting: Callable[[StoredVersion], int],
    *,
    again: bool,
    endpoint_host: str | None,
) -> tuple[StoredVersion, StoredRun | None]:
    """Return the supreme judge's version with a running run of this audit, None where there is nothing to ask.

    Args:
        connection: A writing transaction.
        supreme: Who audits.
        audited: Whose verdicts.
        sample: Which of them.
        how: Who asks.
        waiting: Told the supreme judge's version, returns how many asks are left.
        again: Whether what was not usable is asked again.
        endpoint_host: Where the texts go.
    """
    attempt = connection.begin_nested()
    own = ensure_version(connection, supreme)
    question = {
        "audited": audited.fingerprint,
        "again": again,
        **sample.as_dict(),
        "up_to": last_logged_id(connection),
    }
    run = start_or_continue_method_run(
        connection, AUDIT, own, question, selected=waiting(own), actor=how.actor, endpoint_host=endpoint_host
    )
    return own, keep_if_selected(attempt, run)

"""Runs of the methods beside plain judging: continued while their question is the same, else begun anew."""

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, select

from judgeboard.domain import RunState
from judgeboard.store.judgments.judge_versions import VERSION, StoredVersion
from judgeboard.store.judgments.retired_versions import refuse_retired
from judgeboard.store.runs.runs import RESUMABLE, RUN, StoredRun, insert_run, resume_run


def start_or_continue_method_run(
    connection: Connection,
    kind: str,
    version: StoredVersion,
    question: Mapping[str, Any],
    *,
    selected: int,
    actor: str,
    endpoint_host: str | None = None,
    now: datetime | None = None,
) -> StoredRun:
    """Return a running run of this method: the unfinished one of the same version and question, else a new one.

    The frontier (``up_to``, the highest id) is no part of the comparison: an unfinished run goes on up to its own,
    which its ``question`` holds, however far the log has grown; so nothing that it asked already is asked again. What
    has landed since is for the run after it.

    Args:
        connection: A writing transaction.
        kind: The method: ``compare``, ``reflect``, ``refine``, ``audit``, ``ssr``, ``suite``, …
        version: Who judges; two processes with the same command share one run.
        question: JSON values that fix what is asked about, kept as the filter; a frontier is called ``up_to``.
        selected: Steps that the method needs for all of it, as far as that is known at the start.
        actor: Who asks.
        endpoint_host: Where the texts go.
        now: When; the present by default.

    Raises:
        BadInput: The judge version is retired.
    """
    connection.execute(select(VERSION.c.id).where(VERSION.c.id == version.id).with_for_update(key_share=True))
    refuse_retired(connection, version)
    same = (RUN.c.judge_version_id == version.id) & (RUN.c.kind == kind)
    unfinished = select(RUN.c.id, RUN.c.filter, RUN.c.state).where(same, RUN.c.state.in_(RESUMABLE))
    for run_id, stored, state in connection.execute(unfinished.order_by(RUN.c.id.desc())):
        if _comparable(stored) == _comparable(question):
            return replace(resume_run(connection, run_id, actor), shared=state == RunState.RUNNING.value)
    return insert_run(
        connection,
        {
            "kind": kind,
            "judge_version_id": version.id,
            "filter": dict(question),
            "actor": actor,
            "endpoint_host": endpoint_host,
            "selected": selected,
            "started_at": now or datetime.now(UTC),
        },
    )


def _comparable(question: Mapping[str, Any]) -> str:
    return json.dumps({name: value for name, value in question.items() if name != "up_to"}, sort_keys=True)

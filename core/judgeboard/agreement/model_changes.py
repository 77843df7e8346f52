"""Alarms about the model of a judge: its provider reports another name than before."""

from datetime import datetime
from itertools import groupby, pairwise
from typing import Any

from sqlalchemy import Connection

from judgeboard.store.alarms import list_alarms
from judgeboard.store.anchors import reported_models
from judgeboard.store.judge_versions import list_versions
from judgeboard.text import utc_day

MODEL_CHANGED = "model_changed"
"""The measure of these alarms. ``direction`` names the judge version and both models, ``query_type`` is empty."""


def new_models(connection: Connection, by: str, at: datetime) -> list[dict[str, Any]]:
    """Return the rows of new alarms: one for each model name after the first that a provider reported for a version.

    ``evidence`` is the number of judgments with the new name; one is enough. ``rate_before`` and ``rate_after`` are the
    shares of judgments with the new name before it was first reported (0), and of all judgments.
    """
    known = {(each.judge_version_id, each.direction) for each in list_alarms(connection)}
    titles = {version.id: version.title for version in list_versions(connection)}
    rows = []
    for version_id, each in groupby(reported_models(connection), key=lambda model: model.judge_version_id):
        models = list(each)
        judgments = sum(model.judgments for model in models)
        for before, model in pairwise(models):
            direction = f"{titles[version_id]} from {before.model} to {model.model}"
            if (version_id, direction) not in known:
                row = {
                    "measure": MODEL_CHANGED,
                    "direction": direction,
                    "query_type": "",
                    "judge_version_id": version_id,
                }
                days = {"from_day": utc_day(model.first_at), "seen_day": utc_day(at)}
                evidence = {"evidence": float(model.judgments), "evidence_limit": 1.0}
                rates = {"rate_before": 0.0, "rate_after": model.judgments / judgments}
                rows.append({**row, **days, **evidence, **rates, "by": by, "at": at})
    return rows

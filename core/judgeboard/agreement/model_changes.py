"""Alarms about the model of a judge: its provider reports another name than before."""

from dataclasses import replace
from datetime import datetime
from itertools import groupby
from typing import Any

from sqlalchemy import Connection

from judgeboard.store.alarms import Alarm, list_alarms
from judgeboard.store.anchors import reported_models
from judgeboard.store.judge_versions import list_versions
from judgeboard.text import utc_day

MODEL_CHANGED = "model_changed"
"""The measure of these alarms. ``direction`` names the judge version and both models, ``query_type`` is empty."""


def new_models(connection: Connection, by: str, at: datetime) -> list[dict[str, Any]]:
    """Return the rows of new alarms: one for each judge version whose provider reports another model name than before.

    The name before is the last one when the version's latest alarm was acknowledged; without an alarm, it is the first
    one. A version with an open alarm has no new one (`with_later_change`). ``evidence`` is the number of judgments with
    the new name; one is enough. ``rate_before`` and ``rate_after`` are the shares of judgments with the new name before
    the change (0), and of all judgments since the acknowledgement.
    """
    of_versions: dict[int | None, list[Alarm]] = {}
    for alarm in list_alarms(connection):
        if alarm.measure == MODEL_CHANGED:
            of_versions.setdefault(alarm.judge_version_id, []).append(alarm)
    titles = {version.id: version.title for version in list_versions(connection)}
    rows = []
    for version_id, each in groupby(reported_models(connection), key=lambda model: model.judge_version_id):
        models = list(each)
        alarms = of_versions.get(version_id, [])
        if len(models) == 1 or any(alarm.is_open for alarm in alarms):
            continue
        before = models[0]
        if acknowledged := [alarm.acknowledged_at for alarm in alarms if alarm.acknowledged_at is not None]:
            known = reported_models(connection, version_id, until=max(acknowledged))
            before = max(known, key=lambda model: model.last_at, default=before)
            models = reported_models(connection, version_id, after=max(acknowledged))
        model = next((model for model in models if model.model != before.model), None)
        if model is not None:
            models_changed = f"from {before.model} to {model.model}"
            is_known = any(alarm.direction.endswith(models_changed) for alarm in alarms)
            row = {
                "measure": MODEL_CHANGED,
                "direction": f"{titles[version_id]} {'again ' if is_known else ''}{models_changed}",
                "query_type": "",
                "judge_version_id": version_id,
            }
            days = {"from_day": utc_day(model.first_at), "seen_day": utc_day(at)}
            evidence = {"evidence": float(model.judgments), "evidence_limit": 1.0}
            rates = {"rate_before": 0.0, "rate_after": model.judgments / sum(each.judgments for each in models)}
            rows.append({**row, **days, **evidence, **rates, "by": by, "at": at})
    return rows


def with_later_change(connection: Connection, alarm: Alarm) -> Alarm:
    """Return an open alarm with the latest change of the model, if the model changed again."""
    if alarm.measure != MODEL_CHANGED or alarm.judge_version_id is None:
        return alarm
    models = sorted(reported_models(connection, alarm.judge_version_id), key=lambda model: model.last_at)
    if len(models) < 2:
        return alarm
    now, other = models[-1], models[-2]
    since = reported_models(connection, alarm.judge_version_id, after=other.last_at)
    first = next((model.first_at for model in since if model.model == now.model), None)
    if first is None:  # both names were reported at once
        return alarm
    day = utc_day(first)
    if alarm.direction.endswith(f" to {now.model}") and day == alarm.from_day:
        return alarm
    return replace(alarm, later_model=now.model, later_day=day)

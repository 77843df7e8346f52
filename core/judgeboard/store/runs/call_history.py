"""What calls to a model took so far, to estimate further ones by."""

from dataclasses import dataclass

from sqlalchemy import Connection, func, select

from judgeboard.store.schema.tables import JUDGMENT, VERSION

LATEST = 1_000


@dataclass(frozen=True, slots=True)
class CallHistory:
    """Means over the latest judgments (1,000 at most) of a kind of judge with a model; None where none is known."""

    judgments: int
    prompt_tokens: float | None
    completion_tokens: float | None
    latency_ms: float | None


def call_history(connection: Connection, kind: str, model: str | None) -> CallHistory:
    """Return what the latest judgments by this kind of judge with this model took."""
    versions = select(VERSION.c.id).where(VERSION.c.kind == kind, VERSION.c.model.is_not_distinct_from(model))
    newest = connection.execute(versions.order_by(VERSION.c.id.desc()).limit(1)).scalar()
    if newest is None:
        return CallHistory(0, None, None, None)
    latest = (
        select(JUDGMENT.c.prompt_tokens, JUDGMENT.c.completion_tokens, JUDGMENT.c.latency_ms)
        .where(JUDGMENT.c.judge_version_id == newest)
        .order_by(JUDGMENT.c.response_id.desc())
        .limit(LATEST)
        .subquery()
    )
    means = [func.avg(latest.c[name]) for name in ("prompt_tokens", "completion_tokens", "latency_ms")]
    count, *found = connection.execute(select(func.count(), *means).select_from(latest)).one()
    return CallHistory(count, *(None if mean is None else float(mean) for mean in found))

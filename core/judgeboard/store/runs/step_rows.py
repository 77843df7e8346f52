"""The columns that every step has in common, on their way into the store."""

from datetime import datetime
from typing import Any

from judgeboard.domain import StepRecord, Verdict
from judgeboard.storable_text import storable_or_none
from judgeboard.store.judgments.verdict_json import attempts_json


def step_columns(record: StepRecord | Verdict, run_id: int | None, now: datetime) -> dict[str, Any]:
    """Return the account of a step as columns of its row."""
    return {
        "run_id": run_id,
        "status": record.status.value,
        "raw": storable_or_none(record.raw),
        "model_reported": storable_or_none(record.model_reported),
        "prompt_tokens": record.prompt_tokens,
        "completion_tokens": record.completion_tokens,
        "cost_micro": record.cost_micro,
        "latency_ms": record.latency_ms,
        "attempts": attempts_json(record.attempts),
        "reply_format": record.reply_format,
        "dropped_parameters": list(record.dropped_parameters),
        "error": storable_or_none(record.error),
        "created_at": now,
    }

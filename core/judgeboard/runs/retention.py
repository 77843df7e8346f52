"""Workers forget expired texts once a night."""

import threading
from datetime import timedelta

from sqlalchemy import Connection

from judgeboard.runs.work import Duty
from judgeboard.settings.model import load_settings
from judgeboard.store.clock import utc_now
from judgeboard.store.engine import Store
from judgeboard.store.events import EventFilter, latest_events
from judgeboard.store.retention import ACTOR, ENDED, forget_expired

AFTER_MIDNIGHT = timedelta(hours=1)  # in UTC


def _due(connection: Connection) -> list[str] | None:
    """Return today if nothing was forgotten tonight; None if all texts are kept."""
    if not load_settings().any_text_expires:
        return None
    night = (utc_now() - AFTER_MIDNIGHT).date()
    # Not the events of a person, who may have chosen one source.
    ends = latest_events(connection, EventFilter(kind=ENDED, actor=ACTOR), limit=1)
    return [] if ends and (ends[0].at - AFTER_MIDNIGHT).date() >= night else [night.isoformat()]


def _forget(store: Store, _night: str, _executor_id: str, closing: threading.Event) -> None:
    forget_expired(store, utc_now(), closing=closing)
    store.checkpoint()  # the write-ahead log still has the texts


RETENTION = Duty("retention", _due, _forget)

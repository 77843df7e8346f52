"""One round of a worker's work on alert rules, at a time that a test chooses."""

from datetime import timedelta

from judgeboard.alerts.delivery import deliver_due
from judgeboard.alerts.events import evaluate
from judgeboard.store.clock import utc_now


def check(store, now=None):
    """Evaluate all active rules, and send the messages that are due."""
    evaluate(store, now or utc_now(), every=timedelta(0))
    deliver_due(store, lambda: now or utc_now())

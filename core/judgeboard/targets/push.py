"""Sends judgments, reviews and gold labels to a target: each once, again only after it changed."""

import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from judgeboard.errors import NotSent
from judgeboard.settings import ENVIRONMENT
from judgeboard.store.engine import Store
from judgeboard.store.events import record_event
from judgeboard.store.hidden_rows import Seen
from judgeboard.store.pushed import PushItem, What, due_items, known_judges, store_pushed
from judgeboard.store.statements import batches
from judgeboard.targets.label_studio import LABEL_STUDIO
from judgeboard.targets.langfuse import LANGFUSE
from judgeboard.targets.langsmith import LANGSMITH
from judgeboard.targets.mlflow import MLFLOW
from judgeboard.targets.otlp import OTLP
from judgeboard.targets.phoenix import PHOENIX
from judgeboard.targets.target import Http, Refused, Target

TARGETS: Mapping[str, Target] = {
    target.name: target for target in (PHOENIX, MLFLOW, LANGFUSE, LANGSMITH, LABEL_STUDIO, OTLP)
}
"""The targets by name. A new target is one file and its name here."""


INTERRUPTED = "it was interrupted; the next push continues"


@dataclass(frozen=True, slots=True)
class PushResult:
    """What one push sent: items by kind, refused items by reason, and why it stopped before the end."""

    target: str
    sent: Mapping[str, int]
    refused: Mapping[str, int] = field(default_factory=dict)
    stopped: str | None = None


def push(
    store: Store,
    to: str,
    *,
    what: Collection[What] = tuple(What),
    since: datetime | None = None,
    judges: Collection[str] = (),
    source: str | None = None,
    with_notes: bool = False,
    address: str | None = None,
    refused_again_s: float = 0,
    seen: Seen | None = None,
    actor: str = "library",
    environment: Mapping[str, str] = ENVIRONMENT,
    progress: Callable[[int], None] = lambda _sent: None,
    wait: Callable[[float], object] = time.sleep,
    goes_on: Callable[[], bool] = lambda: True,
) -> PushResult:
    """Send to a tool what it has not got yet.

    Refused items are stored with the reason and sent again by a later push. If the tool does not answer, the push
    stops; the next one continues. A tool gets the notes and corrected answers of people only ``with_notes``.

    Args:
        store: The database.
        to: Name of the target in `TARGETS`.
        what: Kinds of items.
        since: Only judgments and reviews made from this time on.
        judges: Only judgments of judges with these names (default: all but imported ones).
        source: Only judgments and reviews of answers of this source.
        with_notes: Whether to send the texts that people wrote.
        address: Address of the tool (default: of its own environment variable).
        refused_again_s: After how many seconds a refused item is sent again.
        seen: What may be sent: the database as a reviewer may see it (default: everything).
        actor: Who pushes, for the event.
        environment: Where the keys of the tool are.
        progress: Is called with the number of items sent so far.
        wait: Waits some seconds before a request is repeated.
        goes_on: Is called before each request; when it returns False, the push stops.
    """
    target = TARGETS[to]
    access = target.access(target.find_address(address, environment), environment)
    name = f"{target.name} {access.address}"
    sent: Counter[str] = Counter({each.value: 0 for each in What if each in what})
    refused: Counter[str] = Counter()
    stopped = None
    refused_since = datetime.now(UTC) - timedelta(seconds=refused_again_s) if refused_again_s else None
    chosen: dict[str, Any] = {"since": since, "judges": judges, "source": source, "refused_since": refused_since}
    readable = seen or Seen(store, None)
    with store.reading() as connection:
        known_judges(connection, judges)
    with Http(access, wait) as http:
        try:
            for each in (each for each in What if each in what):
                after = 0
                while True:
                    with readable.reading() as connection:
                        items = due_items(connection, name, each, after=after, **chosen)
                    if not items:
                        break
                    after = items[-1].row_id
                    if not with_notes:
                        items = [replace(item, note=None, corrected_answer=None) for item in items]
                    for batch in batches(items, target.batch_size):
                        if not goes_on():
                            raise NotSent(INTERRUPTED)
                        outcomes = _deliver(target, http, batch)
                        with store.writing() as connection:
                            store_pushed(connection, name, outcomes, datetime.now(UTC))
                        reasons = [reason for _, reason in outcomes]
                        sent[each.value] += reasons.count(None)
                        refused.update(reason for reason in reasons if reason is not None)
                        progress(sent.total())
        except NotSent as error:
            stopped = str(error)
    if sent.total():
        with store.writing() as connection:
            details = {"target": name, **sent, "refused": refused.total(), "with_notes": with_notes}
            record_event(connection, "push", actor, details=details)
    return PushResult(name, dict(sent), dict(refused.most_common()), stopped)


def _deliver(target: Target, http: Http, items: Sequence[PushItem]) -> list[tuple[PushItem, str | None]]:
    """Return each item with None, or with the reason why it was refused. A refused batch is divided."""
    try:
        target.send(http, items)
    except Refused as error:
        if len(items) == 1:
            return [(items[0], str(error))]
        half = len(items) // 2
        return [*_deliver(target, http, items[:half]), *_deliver(target, http, items[half:])]
    return [(item, None) for item in items]

"""Applies the flag rules anew to everything stored, by the settings in force: what `judgeboard flag` does."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from sqlalchemy import func, select

from judgeboard.domain import ResponseKind
from judgeboard.people import Action, Actor, actor_name, allowed
from judgeboard.store.engine import Store
from judgeboard.store.events import record_event
from judgeboard.store.landing import reapply_flags, rebuild_current
from judgeboard.store.schema.tables import RESPONSE
from judgeboard.store.sql.batches import AT_ONCE


@dataclass(slots=True)
class FlagSummary:
    """What applying the rules anew came to; ``repaired`` counts current judgments that were not what they should be.

    ``logged`` of the responses are the log's; the others are sides of pairs, controls and answers made anew.
    """

    responses: int = 0
    logged: int = 0
    raised_by_rule: Counter[str] = field(default_factory=Counter)
    superseded_by_rule: Counter[str] = field(default_factory=Counter)
    repaired: int = 0

    @property
    def raised(self) -> int:
        """How many flags were raised."""
        return self.raised_by_rule.total()

    @property
    def superseded(self) -> int:
        """How many open flags were superseded."""
        return self.superseded_by_rule.total()


def raise_flags(
    store: Store,
    *,
    actor: Actor = "library",
    progress: Callable[[int, int], None] | None = None,
    now: datetime | None = None,
) -> FlagSummary:
    """Apply every rule to every response, 1,000 in a transaction; a second time changes nothing.

    A crash leaves whole batches, which the next run finds done. ``progress`` is told how many of how many are done.

    Raises:
        NotAllowed: The actor is neither lead nor admin.
        BadInput: The environment sets a threshold outside its range.
    """
    summary = FlagSummary()
    with store.reading() as connection:
        total = connection.execute(select(func.count()).select_from(RESPONSE)).scalar_one()
    last = 0
    while True:
        with allowed(store, actor, Action.CHANGE_SETTINGS) as connection:
            following = select(RESPONSE.c.id, RESPONSE.c.kind).where(RESPONSE.c.id > last)
            rows = connection.execute(following.order_by(RESPONSE.c.id).limit(AT_ONCE)).all()
            ids = [row.id for row in rows]
            if not ids:
                return summary
            repaired = rebuild_current(connection, ids)
            changes = reapply_flags(connection, ids, now)
            counts = {"raised": changes.raised.total(), "superseded": changes.superseded.total(), "repaired": repaired}
            if any(counts.values()):
                record_event(connection, "apply_rules", actor_name(actor), details=counts | {"up_to": ids[-1]}, now=now)
        last = ids[-1]
        summary.repaired += repaired
        summary.responses += len(ids)
        summary.logged += sum(row.kind == ResponseKind.LOG.value for row in rows)
        summary.raised_by_rule += changes.raised
        summary.superseded_by_rule += changes.superseded
        if progress is not None:
            progress(summary.responses, max(total, summary.responses))

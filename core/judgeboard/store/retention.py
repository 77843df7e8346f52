"""Forgets texts after the time in `keep_texts` of the project file, by source."""

import threading
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Select, select, union

from judgeboard.domain import QueueState, ResponseKind
from judgeboard.errors import NotFound
from judgeboard.settings.model import load_settings
from judgeboard.store.engine import Store
from judgeboard.store.events import record_event
from judgeboard.store.forgetting import forget_all_unused, forget_answers, with_derived
from judgeboard.store.queue_items import UNFINISHED
from judgeboard.store.tables import (
    COMMENT,
    DRAFT,
    METADATA,
    PAIR,
    QUEUE,
    QUEUE_ITEM,
    RESPONSE,
    REVIEW,
    TRACE,
)
from judgeboard.store.traces import count_unused_traces

ENDED = "forget_expired"  # the kind of the event at the end
ACTOR = "retention"
AT_ONCE = 200  # answers of one transaction
_OF_METHODS = {"suite_case": "in a suite", "anchor": "anchor", "machine_draft": "under review"}


@dataclass(slots=True)
class Expired:
    """The answers of a source with texts older than ``days``: ``answers`` to forget, and ``kept`` answers by reason.

    ``derived`` counts the answers derived from forgotten answers, ``traces`` the traces without an
    answer.
    """

    source: str
    days: int
    answers: int = 0
    derived: int = 0
    traces: int = 0
    kept: Counter[str] = field(default_factory=Counter)


def forget_expired(
    store: Store,
    now: datetime,
    *,
    actor: str = ACTOR,
    source: str | None = None,
    dry_run: bool = False,
    closing: threading.Event | None = None,
) -> list[Expired]:
    """Forget the expired texts of one source (default: of each source); return what was forgotten, and what stays.

    Small transactions follow each other, so after a process was killed, the next process continues
    there. An event is stored at the end, unless ``closing`` was set before. A ``dry_run`` changes
    nothing. Raises NotFound if the source has neither answers nor traces.
    """
    settings = load_settings()
    with store.reading() as connection:
        # A source may have traces without an answer, and no answers.
        names = sorted(connection.scalars(union(select(RESPONSE.c.source), select(TRACE.c.source))))
    if source is not None:
        if source not in names:
            raise NotFound(f"there is no source {source!r}")
        names = [source]
    results = []
    for name in names:
        days = settings.days_kept(name)
        if days is None:
            continue
        result = Expired(name, days)
        results.append(result)
        before, after = now - timedelta(days=days), 0
        while True:
            with store.reading() if dry_run else store.writing() as connection:
                roots = _next_expired(connection, name, before, after, lock=not dry_run)
                if not roots:
                    break
                after = max(roots)
                reasons = _kept_roots(connection, roots)
                to_forget = {id_: (roots[id_], name) for id_ in roots if id_ not in reasons}
                ids = (
                    with_derived(connection, to_forget)
                    if dry_run
                    else forget_answers(connection, to_forget, actor)
                )
            result.answers += len(to_forget)
            result.derived += len(ids) - len(to_forget)
            result.kept.update(reasons.values())
            if closing is not None and closing.is_set():
                return results
        if dry_run:
            with store.reading() as connection:
                result.traces = count_unused_traces(connection, source=name, before=before)
            continue
        for traces in forget_all_unused(store, source=name, before=before, actor=actor):
            result.traces += traces
            if closing is not None and closing.is_set():
                return results
    if not dry_run:
        with store.writing() as connection:
            sources = {each.source: [each.answers, each.derived, each.traces] for each in results}
            record_event(connection, ENDED, actor, details={"sources": sources}, now=now)
    return results


def _next_expired(
    connection: Connection, source: str, before: datetime, after: int, *, lock: bool
) -> dict[int, str]:
    """Return the next answers that were stored before a time and have texts, as external ids by id."""
    query = select(RESPONSE.c.id, RESPONSE.c.external_id).where(
        RESPONSE.c.source == source,
        RESPONSE.c.id > after,
        RESPONSE.c.imported_at < before,
        RESPONSE.c.answer.is_not(None),
        RESPONSE.c.derived_from.is_(None),  # a derived answer goes with the original answer
        RESPONSE.c.kind
        != ResponseKind.CANDIDATE,  # the answers of suite runs are compared with later runs
    )
    query = query.order_by(RESPONSE.c.id).limit(AT_ONCE)
    if lock:  # no review of these answers is stored at the same time
        query = query.with_for_update()
    return {row.id: row.external_id for row in connection.execute(query)}


def _kept_roots(connection: Connection, roots: Collection[int]) -> dict[int, str]:
    """Return which of these answers keep the texts, with the first reason (also of a derived answer)."""
    family_ids = with_derived(connection, roots)
    reasons: dict[int, str] = {}  # by id, the first reason why the texts of an answer stay
    for reason, query in _keeping():
        column = query.selected_columns[0]
        for id_ in connection.scalars(query.where(column.in_(family_ids))):
            reasons.setdefault(id_, reason)
    if not reasons:
        return {}
    families = {root: with_derived(connection, [root]) for root in roots}
    return {
        root: next(reasons[id_] for id_ in ids if id_ in reasons)
        for root, ids in families.items()
        if reasons.keys() & ids
    }


def _keeping() -> Iterator[tuple[str, Select[Any]]]:
    """Yield (reason, query) for the answers that keep the texts."""
    in_queue = (
        QUEUE_ITEM.c.state.in_(UNFINISHED),
        QUEUE_ITEM.c.queue_id.in_(select(QUEUE.c.id).where(QUEUE.c.state == QueueState.OPEN)),
    )
    sides = PAIR.c.response_a_id, PAIR.c.response_b_id
    for reason, table, conditions in (
        ("reviewed", REVIEW, ()),
        ("reviewed", COMMENT, ()),
        ("under review", QUEUE_ITEM, in_queue),
        ("under review", DRAFT, ()),
    ):
        yield reason, select(table.c.response_id).where(*conditions)
        if "pair_id" in table.c:
            for side in sides:
                yield (
                    reason,
                    select(side).join(table, table.c.pair_id == PAIR.c.id).where(*conditions),
                )
    for side in sides:
        yield "gold", select(side).where(PAIR.c.gold.is_not(None))
    for name, reason in _OF_METHODS.items():
        if name in METADATA.tables:
            columns = METADATA.tables[name].c
            is_open = (columns.state == "open",) if "state" in columns else ()
            yield reason, select(columns.response_id).where(*is_open)

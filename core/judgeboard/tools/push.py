"""Sends judgments, reviews and gold labels to a target: each once, and again only after a change.

Workers push to push targets again and again, one worker at a time to each target. After each
request, the sent items are stored, so that the next push continues a killed push.
"""

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection

from judgeboard.domain import Action
from judgeboard.errors import BadInput, JudgeboardError, NotSent
from judgeboard.people.permissions import Actor, actor_name, allowed
from judgeboard.registry.tools import tools
from judgeboard.runs.rules import checked_name
from judgeboard.runs.work import Duty
from judgeboard.settings.model import ENVIRONMENT
from judgeboard.store.clock import utc_now
from judgeboard.store.engine import Store
from judgeboard.store.events import record_event
from judgeboard.store.hidden_rows import Seen
from judgeboard.store.jobs import worker_name
from judgeboard.store.judge_versions import known_judges
from judgeboard.store.rules import active_rules, get_rule, insert_rule, take_rule, update_rule
from judgeboard.store.statements import batches
from judgeboard.store.tables import PUSH_TARGET, PushTarget
from judgeboard.store.tools import (
    PushItem,
    What,
    count_due,
    due_items,
    due_targets,
    store_pushed,
    target_states,
)
from judgeboard.tools.http import Http
from judgeboard.tools.target import Refused, Target

INTERRUPTED = "it was interrupted; the next push continues"


def known_targets() -> Mapping[str, Target]:
    """Return the targets of all tools by name."""
    return {tool.target.name: tool.target for tool in tools() if tool.target is not None}


def target_of(tool: str) -> Target:
    """Return the target of a tool; raises BadInput if there is none, for example because the package is gone."""
    targets = known_targets()
    if tool not in targets:
        raise BadInput(f"there is no tool {tool!r} to push to; choose {', '.join(targets)}")
    return targets[tool]


@dataclass(frozen=True, slots=True)
class PushResult:
    """The result of one push: sent items by kind, refused items by reason, and why the push stopped before the end."""

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
    """Send new and changed items to a tool.

    Refused items are stored with the reason and sent again by a later push. If the tool does not
    answer, the push stops; the next one continues. The texts that people wrote are sent only
    ``with_notes``.

    Args:
        store: The database.
        to: Name of the target in `known_targets`.
        what: Kinds of items.
        since: Only judgments and reviews made from this time on.
        judges: Only judgments of judges with these names (default: all but imported ones).
        source: Only judgments and reviews of answers of this source.
        with_notes: Whether to send the texts that people wrote.
        address: Address of the tool (default: from the tool's environment variable).
        refused_again_s: After how many seconds a refused item is sent again.
        seen: What may be sent: the database as a reviewer may see it (default: everything).
        actor: Who pushes, for the event.
        environment: Where the keys of the tool are.
        progress: Is called with the number of items sent so far.
        wait: Waits some seconds before a request is repeated.
        goes_on: Is called before each request; when it returns False, the push stops.
    """
    target = target_of(to)
    access = target.access(target.find_address(address, environment), environment)
    name = f"{target.name} {access.address}"
    sent_counts: Counter[str] = Counter({each.value: 0 for each in What if each in what})
    refusals: Counter[str] = Counter()
    stopped = None
    refused_since = utc_now() - timedelta(seconds=refused_again_s) if refused_again_s else None
    filters: dict[str, Any] = {
        "since": since,
        "judges": judges,
        "source": source,
        "refused_since": refused_since,
    }
    readable = seen or Seen(store, None)
    with store.reading() as connection:
        known_judges(connection, judges)
    with Http(access, wait) as http:
        try:
            for each in (each for each in What if each in what):
                after = 0
                while True:
                    with readable.reading() as connection:
                        items = due_items(connection, name, each, after=after, **filters)
                    if not items:
                        break
                    after = items[-1].row_id
                    if not with_notes:
                        items = [replace(item, texts={}) for item in items]
                    for batch in batches(items, target.batch_size):
                        if not goes_on():
                            raise NotSent(INTERRUPTED)
                        outcomes = _deliver(target, http, batch)
                        with store.writing() as connection:
                            store_pushed(connection, name, outcomes, utc_now())
                        reasons = [reason for _, reason in outcomes]
                        sent_counts[each.value] += reasons.count(None)
                        refusals.update(reason for reason in reasons if reason is not None)
                        progress(sent_counts.total())
        except NotSent as error:
            stopped = str(error)
    if sent_counts.total():
        with store.writing() as connection:
            details = {
                "target": name,
                **sent_counts,
                "refused": refusals.total(),
                "with_notes": with_notes,
            }
            record_event(connection, "push", actor, details=details)
    return PushResult(name, dict(sent_counts), dict(refusals.most_common()), stopped)


def _deliver(
    target: Target, http: Http, items: Sequence[PushItem]
) -> list[tuple[PushItem, str | None]]:
    """Return each item with None, or with the reason why it was refused. A refused batch is divided."""
    try:
        target.send(http, items)
    except Refused as error:
        if len(items) == 1:
            return [(items[0], str(error))]
        half = len(items) // 2
        return [*_deliver(target, http, items[:half]), *_deliver(target, http, items[half:])]
    return [(item, None) for item in items]


SHORTEST_S, LONGEST_S = 1.0, 30 * 86_400.0
REFUSED_AGAIN_S = 3_600.0  # a tool mostly refuses an item for good: not every minute again
TRY_AGAIN_S = 30.0  # after an error of the database

_log = logging.getLogger("judgeboard.jobs")


def add_target(
    store: Store,
    to: str,
    *,
    name: str | None = None,
    what: Sequence[What] = tuple(What),
    judges: Sequence[str] = (),
    source: str | None = None,
    since: datetime | None = None,
    with_notes: bool = False,
    address: str | None = None,
    every_s: float = 60.0,
    actor: Actor,
    environment: Mapping[str, str] = ENVIRONMENT,
) -> PushTarget:
    """Add a push target, to which workers push from now on, and return the target. The default name is the tool's name.

    The other arguments are those of `push`. Keys are not stored: each worker reads the keys from
    the environment. Raises BadInput if a value is not usable or the name is taken, and NotFound for
    an unknown judge.
    """
    if not SHORTEST_S <= every_s <= LONGEST_S:
        raise BadInput("the time between two pushes must be 1 second to 30 days")
    target = PushTarget(
        name=checked_name(PushTarget, to if name is None else name),
        tool=to,
        address=target_of(to).find_address(address, environment),
        what=tuple(each.value for each in What if each in what),
        judges=tuple(judges),
        source=source,
        since=since,
        with_notes=with_notes,
        every_s=every_s,
        by=actor_name(actor),
    )
    with allowed(store, actor, Action.KEEP_RULES) as connection:
        known_judges(connection, judges)
        return insert_rule(connection, target)


PUSHING = "pushing"


def target_state(target: PushTarget, living: set[str]) -> str:
    """Return the state of a push target, given the living workers: active, paused, pushing, no worker or problem."""
    doing = PUSHING if target.executor_id in living else None
    return target.state_now(has_worker=bool(living), doing=doing)


def next_push(target: PushTarget, living: set[str]) -> datetime | None:
    """Return when a worker pushes to a target again; None if no worker will, or a worker is pushing now."""
    waits = target.is_active and living and target.executor_id not in living
    return target.next_at if waits else None


def push_to(store: Store, target: PushTarget, closing: threading.Event, actor: str) -> PushTarget:
    """Push new and changed items to a target, and return the target with the new counts."""
    what = [What(each) for each in target.what]
    filters: dict[str, Any] = {
        "since": target.since,
        "judges": target.judges,
        "source": target.source,
    }
    result = PushResult(f"{target.tool} {target.address}", {})
    problem = None

    def goes_on() -> bool:
        if closing.is_set():
            return False
        with store.reading() as connection:
            return get_rule(connection, PushTarget, target.id).is_active

    try:
        result = push(
            store,
            target.tool,
            what=what,
            with_notes=target.with_notes,
            address=target.address,
            refused_again_s=REFUSED_AGAIN_S,
            actor=actor,
            wait=closing.wait,
            goes_on=goes_on,
            **filters,
        )
        problem = result.stopped
    except JudgeboardError as error:  # a key is missing, or a named judge is no longer stored
        problem = str(error)
    except Exception as error:  # noqa: BLE001 - a fault of ours: the target shows it, and the next push tries again
        _log.warning("push to %s: %s", target.name, type(error).__name__, exc_info=error)
        problem = f"unexpected error ({type(error).__name__}); the worker's log has the details"
    with store.reading() as connection:
        states = [
            state for state in target_states(connection, result.target) if state.what in target.what
        ]
        waiting = (
            0
            if problem is None
            else sum(count_due(connection, result.target, each, **filters) for each in what)
        )
    return target.changed(
        pushed=sum(state.sent for state in states),
        refused=sum(state.refused for state in states),
        waiting=waiting,
        reason=next(
            (state.error for state in sorted(states, key=lambda each: each.last_at, reverse=True)),
            None,
        ),
        problem=problem,
    )


def _due(connection: Connection) -> list[str] | None:
    """Return the targets whose time has come; None if no target is active."""
    if not active_rules(connection, PushTarget):
        return None
    return [str(target.id) for target in due_targets(connection, utc_now())]


def push_due(
    store: Store,
    target_id: str,
    executor_id: str,
    closing: threading.Event,
    now: datetime | None = None,
) -> None:
    """Push to a target whose time has come, if no other worker does; ``closing`` stops after the current request."""
    now = now or utc_now()
    with store.writing() as connection:
        due = [target for target in due_targets(connection, now) if str(target.id) == target_id]
        if not due or not take_rule(connection, due[0], "tried_at", now, executor_id=executor_id):
            return
    try:
        pushed = push_to(store, due[0], closing, worker_name(executor_id))
        ended_at = utc_now()
        with store.writing() as connection:
            # Unless another worker, which took this worker for dead, pushes to the target now.
            is_own = PUSH_TARGET.c.executor_id == executor_id
            update_rule(
                connection,
                pushed,
                is_own,
                executor_id=None,
                next_at=ended_at + timedelta(seconds=pushed.every_s),
                succeeded_at=ended_at if pushed.problem is None else pushed.succeeded_at,
                pushed=pushed.pushed,
                refused=pushed.refused,
                waiting=pushed.waiting,
                reason=pushed.reason,
                problem=pushed.problem,
            )
    except Exception as error:  # noqa: BLE001 - whatever the database raises: it comes back, and nothing is lost
        _log.warning(
            "push to %s: %s; trying again", due[0].name, type(error).__name__, exc_info=error
        )
        closing.wait(TRY_AGAIN_S)


PUSHES = Duty("push", _due, push_due)

"""Push targets: tools to which workers push again and again, with the state of the latest push."""

from collections.abc import Collection
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection, or_, select, update

from judgeboard.domain import RuleState
from judgeboard.errors import BadInput
from judgeboard.store.events import record_event
from judgeboard.store.statements import columns_of, insert_or_skip, record_named, record_of
from judgeboard.store.tables import PUSH_TARGET


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTarget:
    """A push target before it is stored.

    ``tool`` is a name in `TARGETS`, ``what`` are values of `What`. ``judges``, ``source`` and ``since`` restrict what
    is sent; empty or None: no restriction. A worker pushes every ``every_s`` seconds.
    """

    name: str
    tool: str
    address: str
    what: tuple[str, ...]
    judges: tuple[str, ...]
    source: str | None
    since: datetime | None
    with_notes: bool
    every_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PushTarget(NewTarget):
    """A stored push target.

    ``pushed``, ``refused`` and ``waiting`` count items after the latest push; ``reason`` says why the tool refused the
    latest one, ``problem`` why the push stopped before its end. A worker pushes while ``executor_id`` names it.
    """

    id: int
    state: RuleState
    executor_id: str | None
    next_at: datetime
    tried_at: datetime | None
    succeeded_at: datetime | None
    pushed: int
    refused: int
    waiting: int
    reason: str | None
    problem: str | None
    by: str
    at: datetime


_LISTED = PUSH_TARGET.c.state != RuleState.REMOVED.value


def list_targets(connection: Connection) -> list[PushTarget]:
    """Return the push targets that are not removed, oldest first."""
    query = select(*columns_of(PushTarget, PUSH_TARGET)).where(_LISTED).order_by(PUSH_TARGET.c.id)
    return [record_of(PushTarget, row) for row in connection.execute(query)]


def target_named(connection: Connection, name: str) -> PushTarget:
    """Return the push target with this name, or raise NotFound."""
    return record_named(list_targets(connection), name, "push target")


def insert_target(connection: Connection, target: NewTarget, by: str, now: datetime) -> None:
    """Store a push target; raise BadInput if another one has its name."""
    row = asdict(target) | {"by": by, "at": now, "next_at": now}
    inserted = insert_or_skip(connection, PUSH_TARGET).returning(PUSH_TARGET.c.id)
    target_id = connection.execute(inserted, row).scalar()
    if target_id is None:
        raise BadInput(f"there is a push target {target.name!r} already: choose another with --name, or remove it")
    record_event(connection, "add_push_target", by, details={"target": target_id}, now=now)


def set_target_state(connection: Connection, target: PushTarget, state: RuleState, by: str, now: datetime) -> None:
    """Pause, resume or remove a push target. A resumed one is pushed at once."""
    changed = update(PUSH_TARGET).where(PUSH_TARGET.c.id == target.id, _LISTED, PUSH_TARGET.c.state != state.value)
    if connection.execute(changed.values(state=state.value, next_at=now)).rowcount:
        record_event(connection, "set_push_target_state", by, details={"target": target.id, "state": state.value})


def due_targets(connection: Connection, executor_id: str, now: datetime) -> list[PushTarget]:
    """Return the active push targets whose time has come, and to which no other worker is pushing."""
    active = [target for target in list_targets(connection) if target.state is RuleState.ACTIVE]
    return [target for target in active if target.executor_id in {None, executor_id} and target.next_at <= now]


def claim_target(connection: Connection, target: PushTarget, executor_id: str, now: datetime) -> bool:
    """Claim a due push target for a worker; return whether no other worker has it.

    A worker that was killed and has started again with its id takes its own claim.
    """
    free = or_(PUSH_TARGET.c.executor_id.is_(None), PUSH_TARGET.c.executor_id == executor_id)
    due = PUSH_TARGET.c.state == RuleState.ACTIVE.value, PUSH_TARGET.c.next_at <= now
    claimed = update(PUSH_TARGET).where(PUSH_TARGET.c.id == target.id, free, *due)
    return connection.execute(claimed.values(executor_id=executor_id, tried_at=now)).rowcount == 1


@dataclass(frozen=True, slots=True)
class PushOutcome:
    """What a target has after a push, and why the push stopped (None: it did not)."""

    pushed: int
    refused: int
    waiting: int
    reason: str | None
    problem: str | None


def finish_push(
    connection: Connection, target: PushTarget, executor_id: str, outcome: PushOutcome, now: datetime
) -> None:
    """Store the outcome of a push, and release the claim of the worker."""
    values = asdict(outcome) | {"executor_id": None, "next_at": now + timedelta(seconds=target.every_s)}
    if outcome.problem is None:
        values["succeeded_at"] = now
    own = PUSH_TARGET.c.id == target.id, PUSH_TARGET.c.executor_id == executor_id
    connection.execute(update(PUSH_TARGET).where(*own).values(values))


def release_abandoned_targets(connection: Connection, living: Collection[str]) -> None:
    """Release the claims of workers that are not among the ``living``."""
    others = PUSH_TARGET.c.executor_id.not_in(living)
    connection.execute(update(PUSH_TARGET).where(others).values(executor_id=None))
